/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that are part of the program. The core has to be the first; the others stand in the
 * order in which Apache's default configuration loads them, on which the order of hooks of equal
 * rank depends. */
#include "httpd.h"
#include "http_config.h"

#define BUILTIN_MODULES(X) \
    X(core)                \
    X(so)                  \
    X(http)                \
    X(mpm_event)           \
    X(authz_host)          \
    X(authz_core)          \
    X(access_compat)       \
    X(reqtimeout)          \
    X(watchdog)            \
    X(filter)              \
    X(mime)                \
    X(log_config)          \
    X(env)                 \
    X(expires)             \
    X(headers)             \
    X(setenvif)            \
    X(version)             \
    X(unixd)               \
    X(status)              \
    X(autoindex)           \
    X(dir)                 \
    X(alias)               \
    X(file)

#define BUILTIN_EXTERN(name) extern module AP_MODULE_DECLARE_DATA name##_module;
#define BUILTIN_POINTER(name) &name##_module,
#define BUILTIN_SYMBOL(name) {#name "_module", &name##_module},

BUILTIN_MODULES(BUILTIN_EXTERN)

AP_DECLARE_DATA module *ap_prelinked_modules[] = {BUILTIN_MODULES(BUILTIN_POINTER) NULL};
AP_DECLARE_DATA module *ap_preloaded_modules[] = {BUILTIN_MODULES(BUILTIN_POINTER) NULL};
AP_DECLARE_DATA ap_module_symbol_t ap_prelinked_module_symbols[] = {
    BUILTIN_MODULES(BUILTIN_SYMBOL){NULL, NULL}};
