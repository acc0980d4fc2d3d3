/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks that http_config.h declares. */
#include "httpd.h"
#include "http_config.h"
#include "hook_lists.h"

/* clang-format off */
APR_HOOK_STRUCT(
    APR_HOOK_LINK(header_parser)
    APR_HOOK_LINK(pre_config)
    APR_HOOK_LINK(check_config)
    APR_HOOK_LINK(test_config)
    APR_HOOK_LINK(post_config)
    APR_HOOK_LINK(open_logs)
    APR_HOOK_LINK(child_init)
    APR_HOOK_LINK(handler)
    APR_HOOK_LINK(quick_handler)
    APR_HOOK_LINK(optional_fn_retrieve)
    APR_HOOK_LINK(open_htaccess)
)

HOOK_IMPLEMENT_RUN_ALL(int, header_parser, (request_rec *r), (r), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, pre_config,
                          (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp),
                          (pconf, plog, ptemp), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, check_config,
                          (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s),
                          (pconf, plog, ptemp, s), OK, DECLINED)
AP_IMPLEMENT_HOOK_VOID(test_config, (apr_pool_t *pconf, server_rec *s), (pconf, s))
AP_IMPLEMENT_HOOK_RUN_ALL(int, post_config,
                          (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s),
                          (pconf, plog, ptemp, s), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, open_logs,
                          (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s),
                          (pconf, plog, ptemp, s), OK, DECLINED)
AP_IMPLEMENT_HOOK_VOID(child_init, (apr_pool_t *pchild, server_rec *s), (pchild, s))
AP_IMPLEMENT_HOOK_BASE(handler)
HOOK_IMPLEMENT_RUN_FIRST(int, quick_handler, (request_rec *r, int lookup_uri), (r, lookup_uri),
                            DECLINED)
AP_IMPLEMENT_HOOK_VOID(optional_fn_retrieve, (void), ())
AP_IMPLEMENT_HOOK_RUN_FIRST(apr_status_t, open_htaccess,
                            (request_rec *r, const char *dir_name, const char *access_name,
                             ap_configfile_t **conffile, const char **full_name),
                            (r, dir_name, access_name, conffile, full_name), AP_DECLINED)
/* clang-format on */

/* The handlers behind @a from in the list of all, or all of them. */
static int handler_run_behind(request_rec *r, const hook_link *from)
{
    const hook_link *link = NULL;
    int i = 0, rv = DECLINED;

    while (from && (link = hook_link_at(_hooks.link_handler, i++)) != NULL &&
           link->function != from->function)
        ;
    while (rv == DECLINED && (link = hook_link_at(_hooks.link_handler, i++)) != NULL)
        rv = HOOK_CALL(handler, link)(r);
    return rv;
}

AP_DECLARE(int) ap_run_handler(request_rec *r)
{
    const char *name = r->handler;
    const hook_list *l =
        name && _hooks.link_handler ? hook_list_of(r, HOOK_handler, _hooks.link_handler) : NULL;

    if (l)
        l = hook_lists_handlers(hook_lists_of(r->server), name);
    if (!l)
        return handler_run_behind(r, NULL);
    for (int i = 0; i < l->n; i++) {
        const int rv = HOOK_CALL(handler, &l->links[i])(r);

        if (rv != DECLINED)
            return rv;
        if (r->handler != name) /* a handler that declined chose another */
            return handler_run_behind(r, &l->links[i]);
    }
    return DECLINED;
}
