# SPDX-License-Identifier: Apache-2.0
# brigade_embed(TARGET FILE NAME): the bytes of FILE as NAME in the target's include path, "0x3c,0x21,...,0x00".
function(brigade_embed target file name)
    set(folder ${CMAKE_BINARY_DIR}/embedded)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x0a,)" "\\1\n" bytes "${bytes}")
    file(GENERATE OUTPUT ${folder}/${name} CONTENT "${bytes}0x00\n")
    target_include_directories(${target} PRIVATE ${folder})
endfunction()
