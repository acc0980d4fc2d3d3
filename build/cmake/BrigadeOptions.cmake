# SPDX-License-Identifier: Apache-2.0
option(BRIGADE_TESTS "Build the unit tests, fuzz replays and benchmarks (the presets do)" OFF)
option(BRIGADE_TLS "Build the TLS of the server's own (needs OpenSSL)" ON)
option(BRIGADE_HTTP3 "Build HTTP/3 (needs BRIGADE_TLS)" ON)
if(BRIGADE_HTTP3 AND NOT BRIGADE_TLS)
    set(BRIGADE_HTTP3 OFF)
endif()
option(BRIGADE_ASN "Build mod_asn: networks of clients, by files and BGP" ON)
option(BRIGADE_AUTOINDEX "Build mod_autoindex: listings of directories" ON)
set(BRIGADE_ZLIB AUTO CACHE STRING "mod_deflate of the server's own (needs zlib): AUTO, ON or OFF")
set(BRIGADE_BROTLI AUTO CACHE STRING "mod_brotli of the server's own (needs libbrotlienc): AUTO, ON or OFF")
set(BRIGADE_ZSTD AUTO CACHE STRING "mod_zstd (needs libzstd): AUTO, ON or OFF")
set(BRIGADE_MAXMINDDB AUTO CACHE STRING "MaxMind's files for ASTable (needs libmaxminddb): AUTO, ON or OFF")
set_property(CACHE BRIGADE_ZLIB BRIGADE_BROTLI BRIGADE_ZSTD BRIGADE_MAXMINDDB PROPERTY STRINGS AUTO ON OFF)
option(BRIGADE_ORDER "Lay the functions that requests run side by side (optimized builds)" ON)
set(BRIGADE_TRAIN "" CACHE STRING "For build/trained: generate (the program counts which way its code goes), use, or empty")
option(BRIGADE_WERROR "Treat compiler warnings as errors" OFF)
option(BRIGADE_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)
option(BRIGADE_COVERAGE "Instrument for coverage" OFF)
set(BRIGADE_SANITIZE "" CACHE STRING "Comma-separated sanitizers: address,undefined or thread")

add_library(brigade_flags INTERFACE)
target_compile_options(brigade_flags INTERFACE
    -Wall -Wextra -Wundef -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
    -Wwrite-strings -Wvla -Wno-unused-parameter -fno-strict-aliasing -fno-common
    -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
# Rooms are parts of programs alone: their functions are no other file's to replace, so they may be inlined. Calls
# of libraries take no stub: they are bound when the program starts.
target_compile_options(brigade_flags INTERFACE "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,OBJECT_LIBRARY>:-fPIE;-fno-plt>")
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    target_compile_options(brigade_flags INTERFACE -Wno-null-pointer-subtraction) # APR's ring macros
endif()
target_compile_definitions(brigade_flags INTERFACE _GNU_SOURCE BRIGADE_VERSION="${PROJECT_VERSION}"
    BRIGADE_PREFIX="${CMAKE_INSTALL_PREFIX}")
# Checks between filters (server/filter/filter_check.h) and dear assertions (brigade/assert.h), for builds that look
# for mistakes.
target_compile_definitions(brigade_flags INTERFACE $<$<CONFIG:Debug>:BRIGADE_FILTER_CHECK>
    $<$<CONFIG:Debug>:BRG_DEBUG_ASSERTIONS>)
target_compile_definitions(brigade_flags INTERFACE BRIGADE_TLS=$<BOOL:${BRIGADE_TLS}> BRIGADE_HTTP3=$<BOOL:${BRIGADE_HTTP3}>
    BRIGADE_ASN=$<BOOL:${BRIGADE_ASN}> BRIGADE_AUTOINDEX=$<BOOL:${BRIGADE_AUTOINDEX}>)
# musl lacks calls that the GNU C library has; musl-gcc uses another folder of headers than the compiler's own.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(close_range unistd.h BRIGADE_LIBC_IS_WHOLE)
unset(CMAKE_REQUIRED_DEFINITIONS)
if(NOT BRIGADE_LIBC_IS_WHOLE)
    target_compile_options(brigade_flags INTERFACE "SHELL:-include ${CMAKE_SOURCE_DIR}/build/cmake/libc_gaps.h")
endif()
if(BRIGADE_WERROR)
    target_compile_options(brigade_flags INTERFACE -Werror)
endif()
if(BRIGADE_SANITIZE)
    target_compile_options(brigade_flags INTERFACE -fsanitize=${BRIGADE_SANITIZE} -fno-omit-frame-pointer -g
        -fno-sanitize-recover=all)
    target_link_options(brigade_flags INTERFACE -fsanitize=${BRIGADE_SANITIZE})
    # What GCC defines itself, and Clang does not: code that reads whole blocks has another form under it.
    foreach(kind IN ITEMS address thread)
        if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND BRIGADE_SANITIZE MATCHES "${kind}")
            string(TOUPPER "__SANITIZE_${kind}__=1" definition)
            target_compile_definitions(brigade_flags INTERFACE ${definition})
        endif()
    endforeach()
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND BRIGADE_SANITIZE MATCHES "undefined")
    # APR's ring macros take the offset of a member of a null pointer, as offsetof() did before there was one; it is an
    # object of no size, too.
    target_compile_options(brigade_flags INTERFACE -fno-sanitize=null,object-size)
elseif(BRIGADE_SANITIZE MATCHES "undefined" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # APR says that apr_pstrmemdup() gives one byte less than it does (alloc_size); GCC 14 believes it.
    target_compile_options(brigade_flags INTERFACE -fno-sanitize=object-size)
endif()
if(BRIGADE_FUZZ) # the coverage that steers the fuzzer is that of the code under test
    target_compile_options(brigade_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(BRIGADE_COVERAGE)
    target_compile_options(brigade_flags INTERFACE --coverage -O0 -g)
    target_link_options(brigade_flags INTERFACE --coverage)
endif()
# Debug and sanitizer builds link some 150 test programs: lld does it in half the time. Not where the order of functions
# or the exported symbols of what is installed depend on the linker.
find_program(BRIGADE_LLD ld.lld)
if(BRIGADE_LLD AND (CMAKE_BUILD_TYPE STREQUAL "Debug" OR BRIGADE_SANITIZE))
    target_link_options(brigade_flags INTERFACE -fuse-ld=lld)
endif()
# A request waits less for the processor's instruction cache where the functions that it runs lie side by side.
if(BRIGADE_ORDER AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel|None)$" AND NOT BRIGADE_SANITIZE AND NOT BRIGADE_COVERAGE)
    set(BRIGADE_ORDER_FLAG -Wl,-T,${CMAKE_SOURCE_DIR}/build/cmake/hot_functions.ld)
    include(CheckLinkerFlag)
    check_linker_flag(C ${BRIGADE_ORDER_FLAG} BRIGADE_LINKER_ORDERS)
    if(BRIGADE_LINKER_ORDERS)
        target_compile_options(brigade_flags INTERFACE -ffunction-sections)
    else()
        message(STATUS "Order of functions: off (the linker takes no script that adds to its own)")
    endif()
endif()
if(BRIGADE_TRAIN AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "BRIGADE_TRAIN needs GCC")
elseif(BRIGADE_TRAIN STREQUAL "generate")
    target_compile_options(brigade_flags INTERFACE -fprofile-generate -fprofile-update=atomic)
    target_link_options(brigade_flags INTERFACE -fprofile-generate)
elseif(BRIGADE_TRAIN STREQUAL "use")
    # Functions that no request of the training ran are compiled as ever.
    target_compile_options(brigade_flags INTERFACE -fprofile-use -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch)
    # The counts say what is worth to be put into its callers, and with the whole program at hand also across files.
    target_compile_options(brigade_flags INTERFACE -flto=auto -fno-fat-lto-objects)
    target_link_options(brigade_flags INTERFACE -flto=auto -ffunction-sections -fno-strict-aliasing)
elseif(BRIGADE_TRAIN)
    message(FATAL_ERROR "BRIGADE_TRAIN: generate, use or nothing, not ${BRIGADE_TRAIN}")
endif()
