/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_HOOK_LISTS_H
#define BRIGADE_HOOKS_HOOK_LISTS_H

/**
 * @file hook_lists.h
 * The hooks of requests, by server, without functions that have nothing to do
 * there (brigade/hooks.h). The list of ap_hook_get_NAME() is not touched; a list that was changed
 * since counts instead of these.
 */
#include "httpd.h"
#include "http_config.h"
#include "hook_needs.h"
#include "ap_hooks.h"

/** Slot of a server's configuration vector, which no module has: its hook_server. */
#define HOOK_SERVER_SLOT 1

/** The hooks that lists are kept of. */
#define HOOK_LISTS_EACH(X)                                                                      \
    X(create_request)                                                                           \
    X(post_read_request)                                                                        \
    X(quick_handler)                                                                            \
    X(pre_translate_name)                                                                       \
    X(translate_name) X(map_to_storage) X(header_parser) X(access_checker) X(access_checker_ex) \
        X(check_user_id) X(auth_checker) X(type_checker) X(fixups) X(insert_filter) X(handler)  \
            X(post_perdir_config) X(log_transaction)
#define HOOK_LISTS_ID(name) HOOK_##name,
enum { HOOK_LISTS_EACH(HOOK_LISTS_ID) HOOK_LISTS_N };

typedef struct hook_list {
    const char *of; /**< elts of the list that it was made of; and */
    int of_n;       /**< its nelts */
    int n;
    hook_link *links;
} hook_list;

typedef struct hook_lists hook_lists;

typedef struct hook_server {
    hook_needs own;          /**< of directives that stand in it */
    const hook_lists *lists; /**< NULL until they are made; changed by hook_needs_on_change() */
} hook_server;

struct hook_lists {
    hook_needs needs; /**< the requests of the servers with these lists */
    hook_lists *next; /**< others of this configuration */
    struct hook_handlers *handlers;
    unsigned char names[2]; /**< policy_names_are_told(), as atomics: 0 not asked yet, 1 no, 2 yes */
    hook_list by_hook[HOOK_LISTS_N];
};

/** Make the lists of all servers, when modules have registered all their hooks. Threads: main. */
void hook_lists_make(server_rec *main_server, apr_pool_t *pconf);

/** The handlers for requests whose r->handler is @a name; NULL: all there are. Threads: any. */
const hook_list *hook_lists_handlers(const hook_lists *lists, const char *name);

/** The lists for a server, or NULL. @a s: may be NULL, as in requests of a module's making. Threads: any. */
static inline const hook_lists *hook_lists_of(const server_rec *s)
{
    hook_server *const *at = s ? (hook_server *const *)s->module_config + HOOK_SERVER_SLOT : NULL;

    return at && *at ? __atomic_load_n(&(*at)->lists, __ATOMIC_ACQUIRE) : NULL;
}

/** The list of @a hook for r, whose functions all are in @a all; NULL: no list of that is kept. */
static inline const hook_list *hook_list_of(const request_rec *r, int hook,
                                            const apr_array_header_t *all)
{
    const hook_lists *lists = hook_lists_of(r->server);
    const hook_list *l = lists ? &lists->by_hook[hook] : NULL;

    return l && l->of == all->elts && l->of_n == all->nelts ? l : NULL;
}

/** The functions of @a hook that are to be called for r, in their order, and how many there are. */
static inline const hook_link *hook_links_for(const request_rec *r, int hook,
                                              const apr_array_header_t *all, int *n)
{
    const hook_list *l = all ? hook_list_of(r, hook, all) : NULL;

    *n = l ? l->n : all ? all->nelts : 0;
    return l ? l->links : all ? (const hook_link *)(const void *)all->elts : NULL;
}

/** Registration for the hook, and the function that runs it up to its loop. */
#define HOOK_IMPLEMENT_LOOP(ret, name, args_decl)                                     \
    AP_IMPLEMENT_HOOK_BASE(name)                                                      \
    AP_DECLARE(ret) ap_run_##name args_decl                                           \
    {                                                                                 \
        int n;                                                                        \
        const hook_link *at = hook_links_for(r, HOOK_##name, _hooks.link_##name, &n); \
                                                                                      \
        for (; n > 0; n--, at++)

#define HOOK_CALL(name, at) ((ap_HOOK_##name##_t *)(at)->function)

/** As AP_IMPLEMENT_HOOK_RUN_ALL, for hooks of requests that lists are kept of. */
#define HOOK_IMPLEMENT_RUN_ALL(ret, name, args_decl, args_use, ok, decline) \
    HOOK_IMPLEMENT_LOOP(ret, name, args_decl)                               \
    {                                                                       \
        const ret rv = HOOK_CALL(name, at) args_use;                        \
                                                                            \
        if (rv != (ok) && rv != (decline))                                  \
            return rv;                                                      \
    }                                                                       \
    return ok;                                                              \
    }

/** As AP_IMPLEMENT_HOOK_RUN_FIRST. */
#define HOOK_IMPLEMENT_RUN_FIRST(ret, name, args_decl, args_use, decline) \
    HOOK_IMPLEMENT_LOOP(ret, name, args_decl)                             \
    {                                                                     \
        const ret rv = HOOK_CALL(name, at) args_use;                      \
                                                                          \
        if (rv != (decline))                                              \
            return rv;                                                    \
    }                                                                     \
    return decline;                                                       \
    }

/** As AP_IMPLEMENT_HOOK_VOID. */
#define HOOK_IMPLEMENT_VOID(name, args_decl, args_use) \
    HOOK_IMPLEMENT_LOOP(void, name, args_decl)         \
    {                                                  \
        HOOK_CALL(name, at) args_use;                  \
    }                                                  \
    }

#endif
