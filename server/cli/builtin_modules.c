/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that are part of the program. The core has to be the first; the others stand in the
 * order in which Apache's default configuration loads them, on which the order of hooks of equal
 * rank depends. */
#include "httpd.h"
#include "http_config.h"

#define HIDDEN_DATA __attribute__((visibility("hidden")))

#if BRIGADE_TLS
#define BUILTIN_TLS(HIDDEN) HIDDEN(ssl)
#else
#define BUILTIN_TLS(HIDDEN)
#endif

#if BRIGADE_ASN
#define BUILTIN_ASN(HIDDEN) HIDDEN(asn)
#else
#define BUILTIN_ASN(HIDDEN)
#endif
#if BRIGADE_AUTOINDEX
#define BUILTIN_AUTOINDEX(HIDDEN) HIDDEN(autoindex)
#else
#define BUILTIN_AUTOINDEX(HIDDEN)
#endif

#if BRIGADE_HAS_DEFLATE
#define BUILTIN_DEFLATE(HIDDEN) HIDDEN(deflate)
#else
#define BUILTIN_DEFLATE(HIDDEN)
#endif
#if BRIGADE_HAS_BROTLI
#define BUILTIN_BROTLI(HIDDEN) HIDDEN(brotli)
#else
#define BUILTIN_BROTLI(HIDDEN)
#endif
#if BRIGADE_HAS_ZSTD
#define BUILTIN_ZSTD(HIDDEN) HIDDEN(zstd)
#else
#define BUILTIN_ZSTD(HIDDEN)
#endif

#define BUILTIN_MODULES(HIDDEN, EXPORTED) \
    EXPORTED(core)                        \
    EXPORTED(so)                          \
    EXPORTED(http)                        \
    EXPORTED(mpm_event)                   \
    HIDDEN(memory)                        \
    HIDDEN(authz_host)                    \
    HIDDEN(authz_core)                    \
    HIDDEN(access_compat)                 \
    HIDDEN(reqtimeout)                    \
    HIDDEN(request)                       \
    HIDDEN(remoteip)                      \
    EXPORTED(watchdog)                    \
    HIDDEN(filter)                        \
    BUILTIN_BROTLI(HIDDEN)                \
    BUILTIN_ZSTD(HIDDEN)                  \
    BUILTIN_DEFLATE(HIDDEN)               \
    HIDDEN(mime)                          \
    EXPORTED(log_config)                  \
    EXPORTED(logio)                       \
    HIDDEN(env)                           \
    HIDDEN(expires)                       \
    HIDDEN(headers)                       \
    HIDDEN(setenvif)                      \
    EXPORTED(version)                     \
    EXPORTED(unixd)                       \
    HIDDEN(status)                        \
    HIDDEN(metrics)                       \
    HIDDEN(request_id)                    \
    BUILTIN_ASN(HIDDEN)                   \
    BUILTIN_AUTOINDEX(HIDDEN)             \
    HIDDEN(include)                       \
    BUILTIN_TLS(HIDDEN)                   \
    HIDDEN(http2)                         \
    HIDDEN(dir)                           \
    HIDDEN(alias)                         \
    HIDDEN(rewrite)                       \
    HIDDEN(file)

/* Those that Apache exports too are EXPORTED. Of the others, the binary of the same module
 * (BuiltinModule NAME Off) would take our structure for its own; one hidden reference is enough for
 * the linker to hide a symbol. */
#define BUILTIN_HIDDEN(name) extern module HIDDEN_DATA name##_module;
#define BUILTIN_EXPORTED(name) extern module AP_MODULE_DECLARE_DATA name##_module;
#define BUILTIN_POINTER(name) &name##_module,
#define BUILTIN_SYMBOL(name) {#name "_module", &name##_module},

BUILTIN_MODULES(BUILTIN_HIDDEN, BUILTIN_EXPORTED)

AP_DECLARE_DATA module *ap_prelinked_modules[] = {BUILTIN_MODULES(BUILTIN_POINTER, BUILTIN_POINTER)
                                                      NULL};
AP_DECLARE_DATA module *ap_preloaded_modules[] = {BUILTIN_MODULES(BUILTIN_POINTER, BUILTIN_POINTER)
                                                      NULL};
AP_DECLARE_DATA ap_module_symbol_t ap_prelinked_module_symbols[] = {
    BUILTIN_MODULES(BUILTIN_SYMBOL, BUILTIN_SYMBOL){NULL, NULL}};
