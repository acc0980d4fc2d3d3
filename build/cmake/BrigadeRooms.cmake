# SPDX-License-Identifier: Apache-2.0
# The rooms of the program, from bottom to top: each is a folder with an object library of its own. A room sees the
# module API (include/), its own headers and the offered headers of the rooms below it; *_private.h stays inside its
# room. build/tools/check_rooms.py holds it (CONTRIBUTING.md, "Where things go").
set(BRIGADE_ROOMS
    memory
    server/base
    server/coder
    server/message
    server/freshness
    server/hooks
    server/log
    server/figures
    server/store
    server/watch
    server/config
    server/settings
    server/filter
    server/crash
    server/expr
    server/loop
    server/conn
    server/http
    server/transaction
    server/policy
    server/request
    server/remoteip
    server/certs
    server/tls
    server/upstream
    server/mod_ssl
    server/md
    server/cache
    server/limit
    server/h1
    server/quic
    server/streams
    server/h2
    server/h3
    server/proxy
    server/cached
    server/core
    server/loader
    server/mpm
    server/sandbox
    server/listen
    server/supervisor
    server/cli)

if(NOT BRIGADE_TLS)
    list(REMOVE_ITEM BRIGADE_ROOMS server/certs server/tls server/mod_ssl server/md)
endif()
if(NOT BRIGADE_HTTP3)
    list(REMOVE_ITEM BRIGADE_ROOMS server/quic server/h3)
endif()

# What is written against the module API alone, as a third-party module is: no room below it is seen.
set(BRIGADE_API_ROOMS
    filters
    filters/compress
    filters/ratelimit
    filters/ssi
    filters/substitute
    modules/access
    modules/alias
    modules/asn
    modules/auth
    modules/autoindex
    modules/cgid
    modules/dir
    modules/env
    modules/file
    modules/filter
    modules/headers
    modules/info
    modules/log_config
    modules/macro
    modules/mapping
    modules/mime
    modules/mime_magic
    modules/negotiation
    modules/programs
    modules/request
    modules/rewrite
    modules/socache
    modules/status
    modules/tracking
    modules/watchdog)

if(NOT BRIGADE_ASN)
    list(REMOVE_ITEM BRIGADE_API_ROOMS modules/asn)
endif()
if(NOT BRIGADE_AUTOINDEX)
    list(REMOVE_ITEM BRIGADE_API_ROOMS modules/autoindex)
endif()

# brigade_room_target(ROOM OUT): the name of a room's object library.
function(brigade_room_target room out)
    string(REPLACE "/" "_" name "${room}")
    set(${out} brigade_${name} PARENT_SCOPE)
endfunction()

# brigade_room(ROOM DIRECTORIES...): ROOM/*.c as an object library that sees these directories.
function(brigade_room room)
    brigade_room_target(${room} target)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${room}/*.c)
    if(room STREQUAL "filters/compress") # what its libraries allow
        set(sources ${BRIGADE_COMPRESS_SOURCES})
        list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/${room}/)
    elseif(room STREQUAL "server/coder")
        set(sources ${BRIGADE_CODER_SOURCES})
        list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/${room}/)
    endif()
    add_library(${target} OBJECT ${sources})
    foreach(dir ${ARGN})
        target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/${dir})
    endforeach()
    target_link_libraries(${target} PUBLIC brigade_flags brigade_apr PkgConfig::PCRE2)
endfunction()

# All rooms; sets BRIGADE_ROOM_TARGETS, BRIGADE_SERVER_TARGETS and BRIGADE_SERVER_ROOMS (the folders).
macro(brigade_rooms)
    set(BRIGADE_ROOM_TARGETS "")
    set(BRIGADE_SERVER_TARGETS "")
    set(BRIGADE_SERVER_ROOMS "")
    set(below "")
    foreach(room ${BRIGADE_ROOMS})
        list(PREPEND below ${room})
        brigade_room(${room} ${below} include)
        brigade_room_target(${room} target)
        list(APPEND BRIGADE_ROOM_TARGETS ${target})
        if(room MATCHES "^server/(certs|tls|mod_ssl|md|quic)$")
            target_link_libraries(${target} PUBLIC PkgConfig::OPENSSL)
        elseif(room STREQUAL "server/coder")
            target_link_libraries(${target} PUBLIC ${BRIGADE_CODINGS})
        endif()
        if(room MATCHES "^server/")
            list(APPEND BRIGADE_SERVER_TARGETS ${target})
            list(APPEND BRIGADE_SERVER_ROOMS ${room})
        endif()
    endforeach()
    foreach(room ${BRIGADE_API_ROOMS})
        brigade_room(${room} ${room} include)
        brigade_room_target(${room} target)
        list(APPEND BRIGADE_ROOM_TARGETS ${target})
        if(room STREQUAL "filters/compress")
            target_link_libraries(${target} PUBLIC ${BRIGADE_CODINGS})
        elseif(room STREQUAL "modules/mime_magic" AND BRIGADE_HAS_DEFLATE)
            target_link_libraries(${target} PUBLIC PkgConfig::BRIGADE_ZLIB_LIBRARY)
        elseif(room STREQUAL "modules/asn")
            target_link_libraries(${target} PUBLIC ${BRIGADE_MAXMIND})
        endif()
    endforeach()
    list(JOIN BRIGADE_ROOMS "\n" rooms)
    list(JOIN BRIGADE_API_ROOMS "\n" api_rooms)
    file(WRITE ${CMAKE_BINARY_DIR}/rooms.txt "${rooms}\n-\n${api_rooms}\n")
endmacro()
