# SPDX-License-Identifier: Apache-2.0
# P/bin/brigade, P/bin/brigade-apxs, P/modules, P/conf, P/include, P/htdocs, P/logs, P/share/man

set(BRIGADE_APXS_CC ${CMAKE_C_COMPILER})
list(JOIN APR_CFLAGS " " apr_flags)
list(JOIN APU_CFLAGS " " apu_flags)
set(BRIGADE_APXS_CFLAGS "${apr_flags} ${apu_flags}")
configure_file(build/tools/brigade-apxs.in ${CMAKE_BINARY_DIR}/brigade-apxs @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

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
install(PROGRAMS ${CMAKE_BINARY_DIR}/brigade-apxs DESTINATION bin)
install(DIRECTORY ${CMAKE_BINARY_DIR}/modules/ DESTINATION modules OPTIONAL FILES_MATCHING PATTERN "*.so")
install(FILES build/conf/mime.types DESTINATION conf)
install(DIRECTORY include/ DESTINATION include FILES_MATCHING PATTERN "*.h")
install(DIRECTORY test/site/ DESTINATION htdocs)
install(DIRECTORY DESTINATION logs)
install(FILES build/man/brigade.8 DESTINATION share/man/man8)
install(FILES build/man/brigade-apxs.1 build/man/brigade-filter-test.1 DESTINATION share/man/man1)
