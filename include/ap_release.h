/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_RELEASE_H
#define AP_RELEASE_H

/**
 * @file ap_release.h The version of Apache HTTP Server whose interface is offered, for modules that
 * ask at compile time. The server's own name is ap_get_server_banner().
 */
/** The author of Apache's interface. */
#define AP_SERVER_COPYRIGHT "Copyright the Brigade authors."
#define AP_SERVER_BASEVENDOR "Brigade"
#define AP_SERVER_BASEPROJECT "Brigade"
#define AP_SERVER_BASEPRODUCT "Apache"

/** The version of Apache whose interface this is. */
#define AP_SERVER_MAJORVERSION_NUMBER 2
#define AP_SERVER_MINORVERSION_NUMBER 4
#define AP_SERVER_PATCHLEVEL_NUMBER 71
#define AP_SERVER_DEVBUILD_BOOLEAN 0
#define AP_SERVER_ADD_STRING ""

#ifndef APR_STRINGIFY
/** The value of a macro as a string. */
#define APR_STRINGIFY(n) APR_STRINGIFY_HELPER(n)
#define APR_STRINGIFY_HELPER(n) #n
#endif

/* The same as strings: "2", "4", "71", "2.4", "2.4.71", "Apache/2.4.71". */
#define AP_SERVER_MAJORVERSION APR_STRINGIFY(AP_SERVER_MAJORVERSION_NUMBER)
#define AP_SERVER_MINORVERSION APR_STRINGIFY(AP_SERVER_MINORVERSION_NUMBER)
#define AP_SERVER_PATCHLEVEL APR_STRINGIFY(AP_SERVER_PATCHLEVEL_NUMBER) AP_SERVER_ADD_STRING
#define AP_SERVER_MINORREVISION AP_SERVER_MAJORVERSION "." AP_SERVER_MINORVERSION
#define AP_SERVER_BASEREVISION AP_SERVER_MINORREVISION "." AP_SERVER_PATCHLEVEL
#define AP_SERVER_BASEVERSION AP_SERVER_BASEPRODUCT "/" AP_SERVER_BASEREVISION
#define AP_SERVER_VERSION AP_SERVER_BASEVERSION
#define AP_SERVER_PATCHLEVEL_CSV \
    AP_SERVER_MAJORVERSION_NUMBER, AP_SERVER_MINORVERSION_NUMBER, AP_SERVER_PATCHLEVEL_NUMBER

#endif
