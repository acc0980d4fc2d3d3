# SPDX-License-Identifier: Apache-2.0

# brigade_program(NAME source...): the server as a program.
function(brigade_program name)
    add_executable(${name} ${ARGN})
    target_include_directories(${name} PRIVATE include memory ${BRIGADE_SERVER_ROOMS})
    target_link_options(${name} PRIVATE -Wl,--as-needed)
    if(BRIGADE_ORDER_FLAG AND BRIGADE_LINKER_ORDERS)
        target_link_options(${name} PRIVATE ${BRIGADE_ORDER_FLAG})
        set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/build/cmake/hot_functions.ld)
    endif()
    target_link_libraries(${name} PRIVATE ${BRIGADE_ROOM_TARGETS} brigade_flags brigade_apr
        PkgConfig::PCRE2 ${BRIGADE_OPENSSL} ${BRIGADE_CODINGS} ${BRIGADE_MAXMIND} Threads::Threads crypt ${CMAKE_DL_LIBS})
    set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()

# The server once more, which tells which look-ups in tables it makes: calls of these functions go to lookups.c.
function(brigade_lookups)
    if(NOT BRIGADE_MEMORY OR NOT BRIGADE_TESTS OR BRIGADE_SANITIZE OR BRIGADE_TRAIN OR BRIGADE_FUZZ)
        return()
    endif()
    set(wrapped pool_table_find)
    foreach(call make copy get set setn add addn merge mergen unset)
        list(APPEND wrapped apr_table_${call})
    endforeach()
    list(TRANSFORM wrapped PREPEND "-Wl,--wrap=")
    brigade_program(brigade_lookups ${CMAKE_SOURCE_DIR}/server/main.c ${CMAKE_SOURCE_DIR}/test/profile/lookups.c)
    target_link_options(brigade_lookups PRIVATE ${wrapped})
    set_target_properties(brigade_lookups PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
endfunction()

# test/kit/*.c: brigade-filter-test, a program with the same server inside, so that modules load into it.
function(brigade_filter_test)
    set(checked server/filter/filter_chain.c server/filter/filter_check.c server/filter/filter_check_alloc.c)
    set(others ${BRIGADE_ROOM_TARGETS})
    list(REMOVE_ITEM others brigade_server_filter)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/kit/*.c)
    # These with their checks, whatever the rest is built for.
    add_executable(brigade-filter-test ${sources} ${checked}
        "$<FILTER:$<TARGET_OBJECTS:brigade_server_filter>,EXCLUDE,/filter_(chain|check|check_alloc)[.]c>")
    foreach(target ${others})
        target_sources(brigade-filter-test PRIVATE $<TARGET_OBJECTS:${target}>)
    endforeach()
    target_compile_definitions(brigade-filter-test PRIVATE BRIGADE_FILTER_CHECK)
    target_include_directories(brigade-filter-test PRIVATE include memory ${BRIGADE_SERVER_ROOMS})
    target_link_options(brigade-filter-test PRIVATE -Wl,--as-needed)
    target_link_libraries(brigade-filter-test PRIVATE brigade_flags brigade_apr
        PkgConfig::PCRE2 ${BRIGADE_OPENSSL} ${BRIGADE_CODINGS} ${BRIGADE_MAXMIND} Threads::Threads crypt ${CMAKE_DL_LIBS})
    set_target_properties(brigade-filter-test PROPERTIES ENABLE_EXPORTS ON
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()

# modules/loadable/mod_x.c and filters/loadable/mod_x.c become modules/mod_x.so.
function(brigade_loadable_modules)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/modules/loadable/*.c
        ${CMAKE_SOURCE_DIR}/filters/loadable/*.c)
    list(FILTER sources EXCLUDE REGEX "/mod_sms_") # BrigadeSms.cmake knows their libraries
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        add_library(${name} MODULE ${source})
        target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
        target_link_libraries(${name} PRIVATE brigade_flags brigade_apr_headers)
        set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/modules)
    endforeach()
endfunction()

# Targets for builds that run none of the unit tests, or few: "programs" is all but unit tests and fuzz replays, "thread_tests"
# adds those whose subjects threads share (build/test runs them by the same expression).
function(brigade_parts)
    get_property(left_out GLOBAL PROPERTY BRIGADE_TEST_PROGRAMS)
    set(programs)
    foreach(target manual sample sbom)
        if(TARGET ${target})
            list(APPEND programs ${target})
        endif()
    endforeach()
    foreach(folder ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/test)
        get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
        foreach(target ${targets})
            get_target_property(type ${target} TYPE)
            get_target_property(on_demand ${target} EXCLUDE_FROM_ALL)
            if(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$" AND NOT on_demand AND NOT target IN_LIST left_out)
                list(APPEND programs ${target})
            endif()
        endforeach()
        if(NOT BRIGADE_TESTS)
            break()
        endif()
    endforeach()
    add_custom_target(programs DEPENDS ${programs})
    set(shared ${left_out})
    list(FILTER shared INCLUDE REGEX "memory|model|unit_tls|worker_pool|threads")
    add_custom_target(thread_tests DEPENDS programs ${shared})
endfunction()
