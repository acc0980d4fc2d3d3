# SPDX-License-Identifier: Apache-2.0
# P/bin, P/modules, P/conf, P/include, P/lib (pkg-config, CMake), P/htdocs, P/logs, P/share (man, doc)

set(BRIGADE_APXS_CC ${CMAKE_C_COMPILER})
set(flags ${APR_CFLAGS} ${APU_CFLAGS})
list(REMOVE_DUPLICATES flags)
list(JOIN flags " " BRIGADE_APXS_CFLAGS)
file(STRINGS include/ap_mmn.h mmn REGEX "define MODULE_MAGIC_NUMBER_MAJOR [0-9]+")
string(REGEX MATCH "[0-9]+$" BRIGADE_APACHE_MMN "${mmn}")
set(BRIGADE_APACHE_VERSION 2.4.71)
pkg_get_variable(BRIGADE_APR_INCLUDEDIR apr-1 includedir)
configure_file(build/tools/brigade-apxs.in ${CMAKE_BINARY_DIR}/brigade-apxs @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# `brigade --profile` starts what lies beside it.
configure_file(build/tools/brigade-profile ${CMAKE_BINARY_DIR}/brigade-profile COPYONLY)

# For pkg-config and find_package(): both find the tree that they lie in.
include(CMakePackageConfigHelpers)
configure_file(build/cmake/brigade.pc.in ${CMAKE_BINARY_DIR}/brigade.pc @ONLY)
configure_file(build/cmake/BrigadeConfig.cmake.in ${CMAKE_BINARY_DIR}/BrigadeConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/BrigadeConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/brigade.pc DESTINATION lib/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/BrigadeConfig.cmake ${CMAKE_BINARY_DIR}/BrigadeConfigVersion.cmake
    DESTINATION lib/cmake/Brigade)
install(DIRECTORY test/samples/ DESTINATION share/doc/brigade/samples FILES_MATCHING PATTERN "*.c")
install(FILES include/README.md DESTINATION share/doc/brigade RENAME modules.md)

# The configuration names places below the prefix that `cmake --install` is given, which may differ from the one
# that this build was configured for: it is filled in when it is installed.
install(CODE "
    set(BRIGADE_ROOT \"\${CMAKE_INSTALL_PREFIX}\")
    configure_file(\"${CMAKE_SOURCE_DIR}/httpd.conf.in\" \"${CMAKE_BINARY_DIR}/httpd.conf.installed\" @ONLY)
    if(NOT EXISTS \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/conf/httpd.conf\")
        file(INSTALL \"${CMAKE_BINARY_DIR}/httpd.conf.installed\" RENAME httpd.conf
            DESTINATION \"\${CMAKE_INSTALL_PREFIX}/conf\")
    endif()
")
install(TARGETS brigade brigade-filter-test RUNTIME DESTINATION bin)
install(PROGRAMS ${CMAKE_BINARY_DIR}/brigade-apxs build/tools/brigade-migrate build/tools/brigade-site build/tools/brigade-profile
    DESTINATION bin)
install(FILES build/completion/brigade build/completion/brigade-migrate build/completion/brigade-site
    DESTINATION share/bash-completion/completions)
install(DIRECTORY DESTINATION modules) # also where no loadable module was built: brigade-apxs installs there
install(DIRECTORY ${CMAKE_BINARY_DIR}/modules/ DESTINATION modules OPTIONAL FILES_MATCHING PATTERN "*.so")
install(FILES build/apxs/rules.mk build/apxs/special.mk DESTINATION share/brigade/build)
install(FILES build/conf/mime.types DESTINATION conf)
install(DIRECTORY include/ DESTINATION include FILES_MATCHING PATTERN "*.h")
install(DIRECTORY test/site/ DESTINATION htdocs)
if(Python3_FOUND)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/downloads/sample.bin
        COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/build/tools/make_sample.py ${CMAKE_BINARY_DIR}/downloads/sample.bin
        DEPENDS build/tools/make_sample.py COMMENT "The sample site's download" VERBATIM)
    add_custom_target(sample ALL DEPENDS ${CMAKE_BINARY_DIR}/downloads/sample.bin)
    install(FILES ${CMAKE_BINARY_DIR}/downloads/sample.bin DESTINATION htdocs/downloads)
endif()
install(DIRECTORY DESTINATION logs)
install(DIRECTORY DESTINATION conf/conf.d)
install(FILES docs/manual/brigade.8 docs/manual/brigade-migrate.8 docs/manual/brigade-profile.8 docs/manual/brigade-site.8 DESTINATION share/man/man8)
install(FILES docs/manual/brigade-apxs.1 docs/manual/brigade-filter-test.1 DESTINATION share/man/man1)
