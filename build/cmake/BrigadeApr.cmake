# SPDX-License-Identifier: Apache-2.0
# How programs with our pools are linked with APR and APR-util, so that calls which are made inside these libraries
# arrive at our functions, too.
#
# shared: the loader binds the libraries' calls to the program's functions, unless a distribution linked them so that
#         they bind to themselves (-Bsymbolic). A probe tells.
# static: the archives of the same packages, without their pools, become part of the program as a whole. It exports
#         everything, so modules are bound to it, also such as bring the shared libraries along. What else the server has
#         in place of a function of theirs wins, since theirs are made weak.
set(BRIGADE_APR auto CACHE STRING "APR and APR-util: auto, shared or static")
set_property(CACHE BRIGADE_APR PROPERTY STRINGS auto shared static)

# Functions in whose place the server has one that calls them: MEMBER FUNCTION... They get a second name, stock_FUNCTION
# (server/stock_function.h).
set(BRIGADE_APR_WRAPPED
    "sockets.o apr_socket_close"
    "apr_hooks.o apr_hook_sort_register apr_hook_deregister_all apr_hook_sort_all"
    "apr_buckets_alloc.o apr_bucket_alloc_create_ex apr_bucket_alloc_destroy apr_bucket_alloc apr_bucket_free"
    "apr_buckets_alloc.o apr_bucket_alloc_aligned_floor")

# A program that has two functions of the pools, as the server has all of them. What it passes for a pool is none.
set(BRIGADE_APR_PROBE [[
#include <apr_buckets.h>
#include <apr_general.h>
#include <apr_strings.h>
#include <signal.h>
#include <unistd.h>
static int calls, registered;
static volatile int asked = 10;
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
static void no_pool(int signal)
{
    _exit(asked);
}
int main(void)
{
    static char pool[4096], list[4096];

    signal(SIGSEGV, no_pool);
    apr_pstrdup((apr_pool_t *)pool, "text");
    if (calls == 0)
        return asked;
    calls = 0;
    asked = 11;
    apr_brigade_create((apr_pool_t *)pool, (apr_bucket_alloc_t *)list);
    return calls == 0 || registered == 0 ? asked : 0;
}
]])

# brigade_apr_probe(WAY library...): BRIGADE_APR_PROBE_<WAY> is 0 where calls arrive; 10, 11: those of APR, of APR-util
# do not; a text: it does not link.
function(brigade_apr_probe way)
    if(DEFINED BRIGADE_APR_PROBE_${way})
        return()
    endif()
    set(source ${CMAKE_BINARY_DIR}/apr_probe.c)
    file(WRITE ${source} "${BRIGADE_APR_PROBE}")
    try_run(BRIGADE_APR_PROBE_${way} linked ${CMAKE_BINARY_DIR}/apr_probe_${way} ${source}
        CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${APR_INCLUDE_DIRS};${APU_INCLUDE_DIRS}" -DCMAKE_ENABLE_EXPORTS=ON
        COMPILE_DEFINITIONS ${APR_CFLAGS_OTHER} ${APU_CFLAGS_OTHER}
        LINK_LIBRARIES ${ARGN}
        COMPILE_OUTPUT_VARIABLE output)
    if(NOT linked)
        file(WRITE ${CMAKE_BINARY_DIR}/apr_probe_${way}.log "${output}")
        set(BRIGADE_APR_PROBE_${way} "it does not link, see ${CMAKE_BINARY_DIR}/apr_probe_${way}.log" CACHE INTERNAL "")
    endif()
endfunction()

# Why the shared libraries will not do; empty: they do.
function(brigade_apr_bound out)
    brigade_apr_probe(shared PkgConfig::APR PkgConfig::APU)
    set(result "${BRIGADE_APR_PROBE_shared}")
    set(bound "does not call the program's functions in place of its own (it was linked with -Bsymbolic)")
    if(result STREQUAL "0")
        set(${out} "" PARENT_SCOPE)
    elseif(result STREQUAL "10")
        set(${out} "libapr ${bound}" PARENT_SCOPE)
    elseif(result STREQUAL "11")
        set(${out} "libaprutil ${bound}" PARENT_SCOPE)
    else()
        set(${out} "the probe of the shared libraries: ${result}" PARENT_SCOPE)
    endif()
endfunction()

# brigade_apr_second_names(ARCHIVE): those of BRIGADE_APR_WRAPPED that are in it.
function(brigade_apr_second_names archive)
    get_filename_component(dir ${archive} DIRECTORY)
    execute_process(COMMAND ${CMAKE_AR} t ${archive} OUTPUT_VARIABLE members COMMAND_ERROR_IS_FATAL ANY)
    foreach(line ${BRIGADE_APR_WRAPPED})
        string(REPLACE " " ";" functions "${line}")
        list(POP_FRONT functions member)
        if(NOT "\n${members}" MATCHES "\n${member}\n")
            continue()
        endif()
        execute_process(COMMAND ${CMAKE_AR} x ${archive} ${member} WORKING_DIRECTORY ${dir} COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND ${CMAKE_OBJDUMP} -t ${member} WORKING_DIRECTORY ${dir} OUTPUT_VARIABLE symbols)
        set(options "")
        foreach(function ${functions})
            if(symbols MATCHES "\n([0-9a-f]+) g +F ([^ \t]+)[ \t]+[0-9a-f]+ ${function}\n")
                list(APPEND options --add-symbol stock_${function}=${CMAKE_MATCH_2}:0x${CMAKE_MATCH_1},global,function)
            else()
                message(FATAL_ERROR "${function} is not in ${member} of ${archive}")
            endif()
        endforeach()
        execute_process(COMMAND ${CMAKE_OBJCOPY} ${options} ${member} WORKING_DIRECTORY ${dir} COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND ${CMAKE_AR} r ${archive} ${member} WORKING_DIRECTORY ${dir} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
endfunction()

# brigade_apr_weaken(ARCHIVE): definitions give way to the program's. References to other libraries stay as they are: a
# weak one would not make the linker keep the library.
function(brigade_apr_weaken archive)
    execute_process(COMMAND ${CMAKE_NM} -g --defined-only ${archive} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL " [A-Z] [A-Za-z0-9_]+" names "${names}")
    list(TRANSFORM names REPLACE "^ [A-Z] " "")
    list(FILTER names EXCLUDE REGEX "^stock_")
    string(REPLACE ";" "\n" names "${names}")
    file(WRITE ${archive}.names "${names}\n")
    execute_process(COMMAND ${CMAKE_OBJCOPY} --weaken-symbols=${archive}.names ${archive} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# brigade_apr_archive(NAME PREFIX FILE OUT): an imported target for the archive, without its pools; empty if there is none.
function(brigade_apr_archive name prefix file out)
    find_library(BRIGADE_${prefix}_ARCHIVE NAMES ${file} HINTS ${${prefix}_LIBDIR} ${${prefix}_LIBRARY_DIRS})
    mark_as_advanced(BRIGADE_${prefix}_ARCHIVE)
    set(${out} "" PARENT_SCOPE)
    if(NOT BRIGADE_${prefix}_ARCHIVE)
        return()
    endif()
    set(copy ${CMAKE_BINARY_DIR}/apr/${file})
    if(NOT EXISTS ${copy} OR ${BRIGADE_${prefix}_ARCHIVE} IS_NEWER_THAN ${copy})
        configure_file(${BRIGADE_${prefix}_ARCHIVE} ${copy} COPYONLY)
        execute_process(COMMAND ${CMAKE_AR} d ${copy} apr_pools.o COMMAND_ERROR_IS_FATAL ANY)
        brigade_apr_second_names(${copy})
        brigade_apr_weaken(${copy})
    endif()
    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${copy})
    foreach(library ${${prefix}_STATIC_LIBRARIES})
        if(NOT library MATCHES "^apr|^pthread$")
            find_library(BRIGADE_APR_NEEDS_${library} ${library})
            mark_as_advanced(BRIGADE_APR_NEEDS_${library})
            if(BRIGADE_APR_NEEDS_${library}) # else: for a part that is opened late, or the link says what is missing
                target_link_libraries(${name} INTERFACE ${BRIGADE_APR_NEEDS_${library}})
            endif()
        endif()
    endforeach()
    set(${out} ${name} PARENT_SCOPE)
endfunction()

# brigade_apr_stubs(OUT): options for the linker of the probe, with nothing in the place of the other pool functions.
function(brigade_apr_stubs out)
    set(object ${CMAKE_BINARY_DIR}/apr/apr_pools.o)
    execute_process(COMMAND ${CMAKE_AR} p ${BRIGADE_APR_ARCHIVE} apr_pools.o OUTPUT_FILE ${object})
    execute_process(COMMAND ${CMAKE_NM} -g --defined-only ${object} OUTPUT_VARIABLE names)
    string(REGEX MATCHALL "apr_[a-z_]+" names "${names}")
    list(REMOVE_ITEM names apr_palloc apr_pool_cleanup_register)
    list(TRANSFORM names REPLACE "(.+)" "-Wl,--defsym=\\1=0")
    set(${out} "${names}" PARENT_SCOPE)
endfunction()

# Why the archives will not do; empty: they do, and brigade_apr is made of them.
function(brigade_apr_static out)
    brigade_apr_archive(brigade_apr_archive APR libapr-1.a apr)
    brigade_apr_archive(brigade_apu_archive APU libaprutil-1.a apu)
    if(NOT apr OR NOT apu)
        set(${out} "there are no archives libapr-1.a and libaprutil-1.a beside the shared libraries" PARENT_SCOPE)
        return()
    endif()
    brigade_apr_stubs(stubs)
    brigade_apr_probe(static ${stubs} ${BRIGADE_APU_ARCHIVE} ${BRIGADE_APR_ARCHIVE} ${CMAKE_DL_LIBS} Threads::Threads)
    if(NOT BRIGADE_APR_PROBE_static STREQUAL "0")
        set(${out} "the probe of the archives: ${BRIGADE_APR_PROBE_static}" PARENT_SCOPE)
        return()
    endif()
    target_link_libraries(brigade_apr INTERFACE brigade_apr_headers $<LINK_LIBRARY:WHOLE_ARCHIVE,${apr}>
        $<LINK_LIBRARY:WHOLE_ARCHIVE,${apu}> Threads::Threads ${CMAKE_DL_LIBS})
    set(${out} "" PARENT_SCOPE)
endfunction()

# Targets: brigade_apr for programs with our pools, brigade_apr_headers for modules, which are bound when they are loaded.
# What has stock pools links PkgConfig::APR. BRIGADE_APR_BOUND: why the shared libraries do not call others' functions.
function(brigade_apr_choose)
    add_library(brigade_apr_headers INTERFACE)
    target_include_directories(brigade_apr_headers SYSTEM INTERFACE ${APR_INCLUDE_DIRS} ${APU_INCLUDE_DIRS})
    target_compile_options(brigade_apr_headers INTERFACE ${APR_CFLAGS_OTHER} ${APU_CFLAGS_OTHER})
    add_library(brigade_apr INTERFACE)
    set(bound "")
    if(NOT BRIGADE_APR MATCHES "^(auto|shared|static)$")
        message(FATAL_ERROR "BRIGADE_APR is auto, shared or static, and not ${BRIGADE_APR}")
    endif()
    if(BRIGADE_MEMORY)
        brigade_apr_bound(bound)
    elseif(BRIGADE_APR STREQUAL "static")
        message(FATAL_ERROR "BRIGADE_APR=static is for memory systems: it needs BRIGADE_MEMORY=ON")
    endif()
    set(BRIGADE_APR_BOUND "${bound}" PARENT_SCOPE)
    if(NOT bound AND NOT BRIGADE_APR STREQUAL "static")
        target_link_libraries(brigade_apr INTERFACE PkgConfig::APR PkgConfig::APU)
        message(STATUS "APR and APR-util: shared libraries")
        return()
    endif()
    set(failed "not asked for (BRIGADE_APR=shared)")
    if(NOT BRIGADE_APR STREQUAL "shared")
        brigade_apr_static(failed)
    endif()
    if(NOT failed)
        if(bound)
            set(bound ": ${bound}")
        endif()
        message(STATUS "APR and APR-util: archives, with this program's pools${bound}")
        return()
    endif()
    message(FATAL_ERROR "Memory systems cannot work with this APR. Shared libraries: ${bound}. Archives: ${failed}.\n"
        "Use another build of APR, or configure with -DBRIGADE_MEMORY=OFF for stock APR pools.")
endfunction()
