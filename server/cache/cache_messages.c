/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that the error log gets for refused requests, one for each, since tools watch the log for
 * "client denied". So it is kept with the answer, and said again with each that is sent from
 * memory. */
#include "cache_fill_private.h"
#include "cache_vary_private.h"
#include "log_settings.h"
#include "request_context.h"
#include "brigade/transaction.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"

/* A log_hear_fn. */
static void messages_hear(const ap_errorlog_info *info, const char *text)
{
    const request_rec *first = info->r ? cache_vary_first(info->r) : NULL;
    apr_array_header_t **list = first ? request_messages(first) : NULL;

    if (!list || brg_request_is_stored(first))
        return;
    if (!*list)
        *list = apr_array_make(first->pool, 2, sizeof(request_message));
    if ((*list)->nelts <= REQUEST_MESSAGES_MOST)
        APR_ARRAY_PUSH(*list, request_message) = (request_message){
            info->level, info->module_index, info->status, apr_pstrdup(first->pool, text)};
}

const apr_array_header_t *cache_messages_of(const request_rec *r)
{
    apr_array_header_t **list =
        request_is_refused(r) || r->status >= HTTP_BAD_REQUEST ? request_messages(r) : NULL;

    return list ? *list : NULL;
}

int cache_messages_last(const request_rec *r)
{
    const apr_array_header_t *list = cache_messages_of(r);

    if (list && list->nelts > REQUEST_MESSAGES_MOST)
        return 0;
    for (int i = 0; list && i < list->nelts; i++) {
        const request_message *m = &APR_ARRAY_IDX(list, i, request_message);

        /* LogLevel of a section asked for it, which is not known of the next request. */
        if (!APLOG_MODULE_IS_LEVEL(r->server, m->module_index, m->level))
            return 0;
    }
    return 1;
}

static void messages_child(apr_pool_t *p, server_rec *s)
{
    log_tell(messages_hear);
}

void cache_messages_register(void)
{
    ap_hook_child_init(messages_child, NULL, NULL, APR_HOOK_MIDDLE);
}
