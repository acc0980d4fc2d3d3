/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that the error log gets for refused requests, one for each, since tools watch the log for
 * "client denied". So it is kept with the answer, and said again with each that is sent from
 * memory. */
#include "cache_absent_private.h"
#include "cache_fill_private.h"
#include "cache_observed_private.h"
#include "cache_vary_private.h"
#include "http_head.h"
#include "log_settings.h"
#include "request_context.h"
#include "brigade/transaction.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

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

/* The error log shows it: a line that a module changed is not in the head. */
static int messages_changed_referer(const struct cache_observed *o)
{
    const observed_pair *pair = o->pair + o->env_n + o->notes_n;

    for (uint32_t i = 0; i < o->changed_n; i++)
        if (!strcasecmp(pair[i].name, "Referer"))
            return 1;
    return 0;
}

/* Its own name may take the place of a shorter one. */
static int messages_may_be_said(const struct cache_observed *o, size_t more)
{
    for (uint32_t i = 0; i < o->messages_n; i++) {
        const request_message *m = &o->message[i].said;

        if (m->status || (m->level & APLOG_TOCLIENT) ||
            (m->level & APLOG_LEVELMASK) >= APLOG_DEBUG || strlen(m->text) + more > LOG_SAID_MOST)
            return 0;
    }
    return 1;
}

int cache_messages_begin(log_said *said, const cache_entry *e, const brg_conn *bc,
                         const http_head *h)
{
    const core_dir_config *core = ap_get_core_module_config(e->server->lookup_defaults);
    const http_field *referer =
        h->known[HTTP_F_REFERER] < 0 ? NULL : &h->field[h->known[HTTP_F_REFERER]];

    *said = (log_said){.s = e->server,
                       .c = bc->c,
                       .now = bc->loop->wall,
                       .shows_id = core_pages_of(core) != BRG_PAGES_APACHE};
    if (referer)
        said->referer = (brg_text){referer->value, referer->value_len};
    return !messages_changed_referer(e->log) &&
           messages_may_be_said(e->log, h->uri_len + said->referer.len) && log_said_begin(said);
}

void cache_messages_say(log_said *said, const cache_entry *e, const http_head *h)
{
    char text[CACHE_MESSAGE_ROOM];

    for (uint32_t i = 0; i < e->log->messages_n; i++) {
        const observed_message *m = &e->log->message[i];

        log_say(said, m->said.module_index, m->said.level, cache_absent_message(text, e, m, h));
    }
}

static void messages_child(apr_pool_t *p, server_rec *s)
{
    log_tell(messages_hear);
}

void cache_messages_register(void)
{
    ap_hook_child_init(messages_child, NULL, NULL, APR_HOOK_MIDDLE);
}
