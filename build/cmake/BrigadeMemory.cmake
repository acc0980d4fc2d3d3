# SPDX-License-Identifier: Apache-2.0
# Our pools instead of APR's: the program exports the functions of apr_pools.h and apr_allocator.h, and libapr,
# libaprutil and modules are bound to them when they are loaded. BRIGADE_MEMORY=OFF keeps APR's own, for comparison.
option(BRIGADE_MEMORY "Pools on memory systems; OFF: stock APR pools" ON)

# brigade_memory_sources(OUT): which files of memory/ belong into the program.
function(brigade_memory_sources out)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/memory/*.c)
    list(FILTER sources EXCLUDE REGEX "/memory/preload[^/]*\\.c$")
    if(BRIGADE_MEMORY)
        list(FILTER sources EXCLUDE REGEX "/memory/memory_stock\\.c$")
    else()
        list(FILTER sources EXCLUDE REGEX "/memory/(apr_|pool_|memory_scope|memory_counts|memory_check|memory_bucket)[^/]*\\.c$")
    endif()
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

# The program has these only: with our pools or with the scopes of stock ones, and nothing of the preloaded library.
function(brigade_memory_select)
    brigade_memory_sources(sources)
    set_property(TARGET brigade_memory PROPERTY SOURCES ${sources})
endfunction()

# Do calls that are made inside the two libraries arrive at functions of the program?
function(brigade_memory_probe)
    if(NOT BRIGADE_MEMORY OR DEFINED BRIGADE_MEMORY_PROBE_EXIT)
        return()
    endif()
    set(probe ${CMAKE_BINARY_DIR}/memory_probe.c)
    file(WRITE ${probe} [[
#include <apr_buckets.h>
#include <apr_general.h>
#include <apr_strings.h>
static int calls, registered;
static char space[4096];
__attribute__((visibility("default"))) void *apr_palloc(apr_pool_t *p, apr_size_t size)
{
    calls++;
    return space;
}
__attribute__((visibility("default")))
void apr_pool_cleanup_register(apr_pool_t *p, const void *data, apr_status_t (*plain)(void *),
                               apr_status_t (*child)(void *))
{
    registered++;
}
int main(void)
{
    static char pool[4096], list[4096];

    apr_pstrdup((apr_pool_t *)pool, "text");
    if (calls == 0)
        return 10;
    calls = 0;
    apr_brigade_create((apr_pool_t *)pool, (apr_bucket_alloc_t *)list);
    return calls == 0 || registered == 0 ? 11 : 0;
}
]])
    try_run(BRIGADE_MEMORY_PROBE_EXIT compiled ${CMAKE_BINARY_DIR}/memory_probe ${probe}
        CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${APR_INCLUDE_DIRS};${APU_INCLUDE_DIRS}" -DCMAKE_ENABLE_EXPORTS=ON
        COMPILE_DEFINITIONS ${APR_CFLAGS_OTHER} ${APU_CFLAGS_OTHER}
        LINK_LIBRARIES PkgConfig::APR PkgConfig::APU)
    if(NOT compiled)
        message(FATAL_ERROR "The probe of APR's pools does not compile; see ${CMAKE_BINARY_DIR}/CMakeFiles")
    elseif(BRIGADE_MEMORY_PROBE_EXIT EQUAL 10)
        set(library libapr)
    elseif(BRIGADE_MEMORY_PROBE_EXIT EQUAL 11)
        set(library libaprutil)
    elseif(NOT BRIGADE_MEMORY_PROBE_EXIT EQUAL 0)
        set(library "libapr or libaprutil (the probe ended with ${BRIGADE_MEMORY_PROBE_EXIT})")
    else()
        message(STATUS "Memory systems: libapr and libaprutil call the program's pools")
        return()
    endif()
    unset(BRIGADE_MEMORY_PROBE_EXIT CACHE)
    message(FATAL_ERROR "${library} does not call the program's functions in place of its own: it was linked with "
        "-Bsymbolic or -Bsymbolic-functions, and memory systems cannot work with it. Use an APR that was linked without "
        "them, or configure with -DBRIGADE_MEMORY=OFF for stock APR pools.")
endfunction()

# The server's own calls of apr_palloc and apr_pcalloc are the inline ones of memory/pool_inline.h.
function(brigade_memory_inline)
    if(BRIGADE_MEMORY)
        target_compile_options(brigade_server PRIVATE -include ${CMAKE_SOURCE_DIR}/memory/pool_inline.h)
        target_compile_definitions(brigade_server PRIVATE BRIGADE_POOL_INLINE)
    endif()
endfunction()

# libbrigade-memory.so: the same layer for other programs, by LD_PRELOAD.
function(brigade_memory_preload)
    if(NOT BRIGADE_MEMORY OR BRIGADE_SANITIZE)
        return()
    endif()
    brigade_memory_sources(sources)
    list(FILTER sources EXCLUDE REGEX "/memory/memory_(check|buckets?)\\.c$")
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
endfunction()
