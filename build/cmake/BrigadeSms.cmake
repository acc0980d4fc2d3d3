# SPDX-License-Identifier: Apache-2.0
# Memory systems beyond the built-in ones, the test of all kinds against a model, and the laboratory.

set(BRIGADE_JEMALLOC AUTO CACHE STRING "The memory system jemalloc (modules/sms_jemalloc.so): AUTO, ON or OFF")
set(BRIGADE_MIMALLOC AUTO CACHE STRING "The memory system mimalloc (modules/sms_mimalloc.so): AUTO, ON or OFF")
set_property(CACHE BRIGADE_JEMALLOC BRIGADE_MIMALLOC PROPERTY STRINGS AUTO ON OFF)

# brigade_sms_module(NAME OPTION HEADER): modules/sms_NAME.so from modules/loadable/mod_sms_NAME.c.
function(brigade_sms_module name option header)
    if(${option} STREQUAL "OFF")
        message(STATUS "Memory system ${name}: not built (${option}=OFF)")
        return()
    endif()
    find_path(BRIGADE_${name}_INCLUDE ${header})
    find_library(BRIGADE_${name}_LIBRARY ${name})
    mark_as_advanced(BRIGADE_${name}_INCLUDE BRIGADE_${name}_LIBRARY)
    if(NOT BRIGADE_${name}_INCLUDE OR NOT BRIGADE_${name}_LIBRARY)
        if(${option} STREQUAL "AUTO")
            message(STATUS "Memory system ${name}: not built (lib${name} and its headers were not found)")
            return()
        endif()
        message(FATAL_ERROR "${option} is ON, but lib${name} or its header ${header} was not found")
    endif()
    add_library(sms_${name} MODULE ${CMAKE_SOURCE_DIR}/modules/loadable/mod_sms_${name}.c)
    target_include_directories(sms_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${BRIGADE_${name}_INCLUDE})
    # It calls nothing of the C library itself; a library that names none is refused by checkers of packages.
    target_link_libraries(sms_${name} PRIVATE brigade_flags brigade_apr_headers
        ${BRIGADE_${name}_LIBRARY} "-Wl,--push-state,--no-as-needed,-lc,--pop-state")
    set_target_properties(sms_${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/modules)
    message(STATUS "Memory system ${name}: built as modules/sms_${name}.so")
endfunction()

brigade_sms_module(jemalloc BRIGADE_JEMALLOC jemalloc/jemalloc.h)
brigade_sms_module(mimalloc BRIGADE_MIMALLOC mimalloc.h)

if(BRIGADE_TESTS)
    file(GLOB model_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/model/model_*.c)
    foreach(source ${model_sources})
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/memory)
        target_link_libraries(${name} PRIVATE brigade_memory brigade_flags brigade_apr
            Threads::Threads ${CMAKE_DL_LIBS})
        set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS unit)
    endforeach()
endif()

# The laboratory, and its helper on stock APR pools.
if(BRIGADE_MEMORY AND NOT BRIGADE_SANITIZE AND EXISTS ${CMAKE_SOURCE_DIR}/memory/memory_scope.c)
    set(bench ${CMAKE_SOURCE_DIR}/test/bench)
    add_executable(brigade-membench ${bench}/membench.c ${bench}/membench_report.c ${bench}/membench_plot.c ${bench}/membench_ours.c
        ${bench}/membench_kinds.c ${bench}/membench_inline.c ${bench}/membench_run.c ${bench}/membench_trace.c)
    target_include_directories(brigade-membench PRIVATE ${bench} ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/memory)
    target_link_libraries(brigade-membench PRIVATE brigade_memory brigade_flags brigade_apr
        Threads::Threads ${CMAKE_DL_LIBS})
    add_executable(brigade-membench-stock ${bench}/membench_stock.c ${bench}/membench_run.c ${bench}/membench_trace.c)
    target_include_directories(brigade-membench-stock PRIVATE ${bench})
    target_link_libraries(brigade-membench-stock PRIVATE brigade_flags PkgConfig::APR Threads::Threads)
    set_target_properties(brigade-membench brigade-membench-stock PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    set_target_properties(brigade-membench PROPERTIES ENABLE_EXPORTS ON)
    file(COPY ${bench}/traces DESTINATION ${CMAKE_BINARY_DIR})
    install(TARGETS brigade-membench brigade-membench-stock RUNTIME DESTINATION bin)
    install(DIRECTORY ${bench}/traces DESTINATION share/brigade)
    install(FILES ${CMAKE_SOURCE_DIR}/docs/manual/brigade-membench.1 ${CMAKE_SOURCE_DIR}/docs/manual/brigade-membench-stock.1
        DESTINATION share/man/man1)
endif()
