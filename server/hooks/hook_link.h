/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_HOOK_LINK_H
#define BRIGADE_HOOKS_HOOK_LINK_H

/** @file hook_link.h
 * An entry of the lists of ap_hook_get_NAME(). */
#include "httpd.h"
#include "http_config.h"
#include <stddef.h>

/**
 * One function that is registered for a hook. APR_DECLARE_EXTERNAL_HOOK makes a type for each hook; they differ
 * in the type of the function alone.
 */
typedef struct hook_link {
    void (*function)(void);
    const char *module; /**< module->name; NULL where no register_hooks function registered it */
    /** names of modules that come before it, ended by NULL; or NULL */
    const char *const *predecessors;
    const char *const *successors; /**< names of the hooks after it */
    int order;                     /**< APR_HOOK_FIRST and so on */
} hook_link;

_Static_assert(sizeof(hook_link) == sizeof(ap_LINK_handler_t) &&
                   offsetof(hook_link, function) == offsetof(ap_LINK_handler_t, pFunc) &&
                   offsetof(hook_link, module) == offsetof(ap_LINK_handler_t, szName) &&
                   offsetof(hook_link, predecessors) ==
                       offsetof(ap_LINK_handler_t, aszPredecessors) &&
                   offsetof(hook_link, successors) == offsetof(ap_LINK_handler_t, aszSuccessors) &&
                   offsetof(hook_link, order) == offsetof(ap_LINK_handler_t, nOrder),
               "APR-util's hooks have another shape");

/** The @a n th function in @a list, in the order in which they run; NULL after the last. */
static inline const hook_link *hook_link_at(const apr_array_header_t *list, int n)
{
    return list && n < list->nelts ? (const hook_link *)(const void *)list->elts + n : NULL;
}

#endif
