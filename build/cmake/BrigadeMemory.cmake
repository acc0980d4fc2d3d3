# SPDX-License-Identifier: Apache-2.0
# Our pools instead of APR's: the program exports the functions of apr_pools.h and apr_allocator.h, and APR, APR-util and
# modules call them (BrigadeApr.cmake). BRIGADE_MEMORY=OFF keeps APR's own, for comparison.
option(BRIGADE_MEMORY "Pools on memory systems; OFF: stock APR pools" ON)

# Files of memory/ that are the pools, and have no place beside APR's. Unit tests of these names are about them.
set(BRIGADE_MEMORY_POOLS "(apr_|pool_|memory_scope|memory_counts|memory_check|memory_bucket)[^/]*\\.c$")

# brigade_memory_sources(OUT): which files of memory/ belong into the program.
function(brigade_memory_sources out)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/memory/*.c)
    list(FILTER sources EXCLUDE REGEX "/memory/preload[^/]*\\.c$")
    if(BRIGADE_MEMORY)
        list(FILTER sources EXCLUDE REGEX "/memory/memory_stock\\.c$")
    else()
        list(FILTER sources EXCLUDE REGEX "/memory/${BRIGADE_MEMORY_POOLS}")
    endif()
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

# The program has these only: with our pools or with the scopes of stock ones, and nothing of the preloaded library.
function(brigade_memory_select)
    brigade_memory_sources(sources)
    set_property(TARGET brigade_memory PROPERTY SOURCES ${sources})
endfunction()

# The server's own calls of apr_palloc and apr_pcalloc are the inline ones of memory/pool_inline.h.
function(brigade_memory_inline)
    if(BRIGADE_MEMORY)
        foreach(target ${BRIGADE_SERVER_TARGETS})
            if(NOT BRIGADE_PRECOMPILED) # which begin with it
                target_compile_options(${target} PRIVATE -include ${CMAKE_SOURCE_DIR}/memory/pool_inline.h)
            endif()
            target_compile_definitions(${target} PRIVATE BRIGADE_POOL_INLINE)
        endforeach()
    endif()
endfunction()

# libbrigade-memory.so: the same pools for other programs that use the shared libraries, by LD_PRELOAD.
function(brigade_memory_preload)
    if(NOT BRIGADE_MEMORY OR BRIGADE_SANITIZE OR BRIGADE_APR_BOUND)
        return()
    endif()
    brigade_memory_sources(sources)
    list(FILTER sources EXCLUDE REGEX "/memory/(memory_(check|buckets?)|apr_tables)\\.c$")
    file(GLOB preload CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/memory/preload*.c)
    add_library(brigade-memory SHARED ${sources} ${preload})
    target_include_directories(brigade-memory PRIVATE include memory)
    target_link_libraries(brigade-memory PRIVATE brigade_flags PkgConfig::APR Threads::Threads)
    set_target_properties(brigade-memory PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    install(TARGETS brigade-memory LIBRARY DESTINATION lib)
endfunction()

# Ours against stock APR's pools, in processes of their own, on systems of each class.
function(brigade_memory_tests)
    if(NOT TARGET brigade-memory)
        return()
    endif()
    add_executable(pool_diff ${CMAKE_SOURCE_DIR}/test/model/pool_diff.c)
    target_link_libraries(pool_diff PRIVATE brigade_flags PkgConfig::APR)
    set_target_properties(pool_diff PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    set(seed 1)
    foreach(spec "arena" "trivial" "system" "guard" "tracking arena" "limit(64M) arena")
        string(MAKE_C_IDENTIFIER "model_pool_diff_${spec}" name)
        add_test(NAME ${name} COMMAND pool_diff compare $<TARGET_FILE:brigade-memory> ${seed} 6 3000)
        set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS model ENVIRONMENT "BRIGADE_MEMORY=${spec}")
        math(EXPR seed "${seed} + 100")
    endforeach()
    add_executable(table_diff ${CMAKE_SOURCE_DIR}/test/model/table_diff.c)
    target_link_libraries(table_diff PRIVATE brigade_flags PkgConfig::APR)
    set_target_properties(table_diff PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    add_test(NAME model_memory_table_diff COMMAND table_diff 1 30 3000)
    set_tests_properties(model_memory_table_diff PROPERTIES TIMEOUT 120 LABELS model)
endfunction()
