# SPDX-License-Identifier: Apache-2.0
# Two thirds of the time of a build go into headers of APR and of the module API, which nearly every file reads. The presets of
# sanitizers read them once. Others do not: there a file that forgets to include a header does not build.
option(BRIGADE_PRECOMPILED "Precompile the headers of the module API" OFF)

set(BRIGADE_COMMON_HEADERS <errno.h> <stdio.h> <stdlib.h> <string.h> <unistd.h> <httpd.h> <http_config.h> <http_core.h>
    <http_log.h> <http_protocol.h> <http_request.h> <util_filter.h> <apr_lib.h> <apr_strings.h> <brigade/assert.h>
    <brigade/response_cache.h>)

# brigade_precompiled(NAME FIRST...): an object library that offers the headers, FIRST before all others.
function(brigade_precompiled name)
    file(CONFIGURE OUTPUT ${name}.c CONTENT "/* The headers alone. */\n")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(${name} PRIVATE brigade_flags brigade_apr)
    target_precompile_headers(${name} PRIVATE ${ARGN} ${BRIGADE_COMMON_HEADERS})
endfunction()

# For the rooms, those of the server with the pools' inline path in it as brigade_memory_inline() has it. Not for memory, which
# declares APR's functions as its own to offer before it reads a header (memory/apr_declared.h).
function(brigade_precompile_rooms)
    if(NOT BRIGADE_PRECOMPILED)
        return()
    endif()
    brigade_precompiled(brigade_headers)
    set(server brigade_headers)
    if(BRIGADE_MEMORY)
        brigade_precompiled(brigade_headers_server ${CMAKE_SOURCE_DIR}/memory/pool_inline.h)
        target_compile_definitions(brigade_headers_server PRIVATE BRIGADE_POOL_INLINE)
        set(server brigade_headers_server)
    endif()
    set(targets ${BRIGADE_ROOM_TARGETS})
    list(REMOVE_ITEM targets brigade_memory)
    foreach(target ${targets})
        if(target IN_LIST BRIGADE_SERVER_TARGETS)
            target_precompile_headers(${target} REUSE_FROM ${server})
        else()
            target_precompile_headers(${target} REUSE_FROM brigade_headers)
        endif()
    endforeach()
endfunction()
