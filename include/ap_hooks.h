/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_HOOKS_H
#define AP_HOOKS_H

/**
 * @file ap_hooks.h
 * The server's hooks, which are APR-util's with the prefix ap. A hook NAME gives ap_hook_NAME() to register a
 * function and ap_run_NAME() to call all or the first that does not decline.
 * Threads: register while the configuration is read, never later; run from any thread.
 */
#if defined(AP_HOOK_PROBES_ENABLED) && !defined(APR_HOOK_PROBES_ENABLED)
#define APR_HOOK_PROBES_ENABLED 1
#endif
#ifdef APR_HOOK_PROBES_ENABLED
#include "ap_hook_probes.h"
#endif

#include "apr.h"
#include "apr_hooks.h"
#include "apr_optional_hooks.h"

/** Declare a hook: type ap_HOOK_name_t and functions ap_hook_name, ap_hook_get_name, ap_run_name. */
#define AP_DECLARE_HOOK(ret, name, args) APR_DECLARE_EXTERNAL_HOOK(ap, AP, ret, name, args)

/** Implement registration only; write the run function by hand. */
#define AP_IMPLEMENT_HOOK_BASE(name) APR_IMPLEMENT_EXTERNAL_HOOK_BASE(ap, AP, name)

/** Run every function; they return nothing. */
#define AP_IMPLEMENT_HOOK_VOID(name, args_decl, args_use) \
    APR_IMPLEMENT_EXTERNAL_HOOK_VOID(ap, AP, name, args_decl, args_use)

/** Run until one returns other than @a ok or @a decline; that is the result, else @a ok. */
#define AP_IMPLEMENT_HOOK_RUN_ALL(ret, name, args_decl, args_use, ok, decline) \
    APR_IMPLEMENT_EXTERNAL_HOOK_RUN_ALL(ap, AP, ret, name, args_decl, args_use, ok, decline)

/** Run until one returns other than @a decline. */
#define AP_IMPLEMENT_HOOK_RUN_FIRST(ret, name, args_decl, args_use, decline) \
    APR_IMPLEMENT_EXTERNAL_HOOK_RUN_FIRST(ap, AP, ret, name, args_decl, args_use, decline)

/** As AP_IMPLEMENT_HOOK_RUN_ALL, for a hook that callers may use whether or not its owner is loaded. */
#define AP_IMPLEMENT_OPTIONAL_HOOK_RUN_ALL(ret, name, args_decl, args_use, ok, decline) \
    APR_IMPLEMENT_OPTIONAL_HOOK_RUN_ALL(ap, AP, ret, name, args_decl, args_use, ok, decline)

/** Register for a hook whose owner may be absent. */
#define AP_OPTIONAL_HOOK(name, fn, pre, succ, order) APR_OPTIONAL_HOOK(ap, name, fn, pre, succ, order)

#endif
