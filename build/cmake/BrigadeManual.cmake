# SPDX-License-Identifier: Apache-2.0
# The manual, from docs/manual/directives and docs/guides (build/tools/manual.py): in the program (brigade -L NAME), as
# brigade.conf(5), and as pages. Without Python there are neither man page nor pages.
find_package(Python3 COMPONENTS Interpreter)

function(brigade_manual)
    file(GLOB entries CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/manual/directives/*.txt)
    brigade_embed(brigade_server_config directives.inc ${entries})
    file(GLOB guides CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/guides/[0-9]*.md)
    brigade_embed(brigade_server_cli guides.inc ${CMAKE_SOURCE_DIR}/docs/guides/README.md ${guides})
    brigade_embed(brigade_server_cli synonyms.inc ${CMAKE_SOURCE_DIR}/docs/manual/html/synonyms.txt)
    if(NOT Python3_FOUND)
        message(STATUS "The manual's pages: not made (no Python)")
        return()
    endif()
    file(GLOB other CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/guides/*.md ${CMAKE_SOURCE_DIR}/docs/manual/html/*)
    file(GLOB tools ${CMAKE_SOURCE_DIR}/build/tools/manual*.py)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/manual/brigade.conf.5 ${CMAKE_BINARY_DIR}/manual/html/index.html
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/build/tools/manual.py --man ${CMAKE_BINARY_DIR}/manual/brigade.conf.5
            --html ${CMAKE_BINARY_DIR}/manual/html
        DEPENDS ${entries} ${other} ${tools} COMMENT "The manual" VERBATIM)
    add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/manual/brigade.conf.5 ${CMAKE_BINARY_DIR}/manual/html/index.html)
    install(FILES ${CMAKE_BINARY_DIR}/manual/brigade.conf.5 DESTINATION share/man/man5)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/html DESTINATION share/doc/brigade)
endfunction()
