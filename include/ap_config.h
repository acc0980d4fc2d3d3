/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_CONFIG_H
#define AP_CONFIG_H

/**
 * @file ap_config.h Declaration of public symbols, and features of the platform. The build hides
 * every symbol that is not declared with one of these macros.
 */
#include "ap_hooks.h"

/** Before the type of a function that the program offers to modules. */
#define AP_DECLARE(type) __attribute__((visibility("default"))) type
/** The same for functions with variable arguments, or that are called through a pointer. */
#define AP_DECLARE_NONSTD(type) AP_DECLARE(type)
/** The same for data. */
#define AP_DECLARE_DATA __attribute__((visibility("default")))

/* Symbols that a module offers to the program or to other modules: above all its module structure.
 */
#define AP_MODULE_DECLARE(type) AP_DECLARE(type)
#define AP_MODULE_DECLARE_NONSTD(type) AP_DECLARE(type)
#define AP_MODULE_DECLARE_DATA AP_DECLARE_DATA

#include "os.h"
#include "ap_config_auto.h"
#include "ap_config_layout.h"

#ifndef DEFAULT_PIDLOG
#define DEFAULT_PIDLOG DEFAULT_REL_RUNTIMEDIR "/httpd.pid"
#endif

/* Static probes are not compiled in; the macros that place them expand to nothing. */
#undef _DTRACE_VERSION
#include "apache_noprobes.h"

#if APR_HAS_OTHER_CHILD
#define AP_HAVE_RELIABLE_PIPED_LOGS TRUE
#endif

/* Language features. C++ lacks C's variadic-macro and designated-initializer promises. */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define AP_HAVE_C99
#endif
#ifndef __cplusplus
#define AP_HAVE_DESIGNATED_INITIALIZER
#endif

/* Function attributes. */
#ifndef __has_attribute
#define __has_attribute(x) 0
#endif
#if defined(__GNUC__)
#define AP_FN_ATTR_SENTINEL __attribute__((sentinel))
#define AP_FN_ATTR_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define AP_FN_ATTR_ALLOC_SIZE(x) __attribute__((alloc_size(x)))
#define AP_FN_ATTR_ALLOC_SIZE2(x, y) __attribute__((alloc_size(x, y)))
#else
#define AP_FN_ATTR_SENTINEL
#define AP_FN_ATTR_WARN_UNUSED_RESULT
#define AP_FN_ATTR_ALLOC_SIZE(x)
#define AP_FN_ATTR_ALLOC_SIZE2(x, y)
#endif

#endif
