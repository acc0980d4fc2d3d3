/* SPDX-License-Identifier: Apache-2.0 */
/* A request that took the full way is over: let the cache store its answer, and tell the reason if
 * it is not stored. */
#include "cache_fill_private.h"
#include "connection.h"
#include "request_parts.h"
#include "http_log.h"
#include <string.h>

APLOG_USE_MODULE(core);

static struct {
    cache_teller_fn *fn;
    void *baton;
} tell_whom; /* set before the loops run */

void cache_tell_to(cache_teller_fn *fn, void *baton)
{
    tell_whom.fn = fn;
    tell_whom.baton = baton;
}

/* A plan is no answer. */
static const request_offer *tell_offer(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return offer && !offer->plan ? offer : NULL;
}

/* The server's own handler was to send it; without an offer, a thread without a cache made it. */
static int tell_is_file(const request_rec *r)
{
    return r->status == HTTP_OK && r->finfo.filetype == APR_REG &&
           (!r->handler || !strcmp(r->handler, "default-handler"));
}

/* The reason that keeps the answer from being stored, but for LogLevel. */
static void tell_judge(const response_cache *c, request_rec *r, policy_reason *reason)
{
    if (policy_undeclared(reason))
        return;
    if (!tell_offer(r) && (r->next || r->prev))
        cache_refuse(reason,
                     "a redirect inside the server led to what answers it: an ErrorDocument, a "
                     "rule of a folder, or a module");
    else if (!tell_offer(r) && !c && tell_is_file(r))
        cache_refuse(reason, "a worker thread had to answer: a module may wait, as one that looks "
                             "up names of clients does");
    else if (!tell_offer(r))
        *reason = (policy_reason){r->handler ? r->handler : "its handler",
                                  "the answer is no file or page that was offered, or a filter "
                                  "makes it anew",
                                  CACHE_REFUSED_NOT};
    else if (!cache_request_may_arm(r))
        cache_refuse(reason, "it is no plain GET or HEAD request");
    else if ((request_offer_of(r)->stored ? policy_ask_early(r, reason)
                                          : policy_ask_modules(r, reason)) == BRG_CACHE_VOLATILE)
        return;
    else if (c && cache_kind_keeps_out(c, r, reason))
        return;
    else
        reason->module = NULL;
}

static void tell_log(const response_cache *c, request_rec *r)
{
    policy_reason reason = {.module = NULL};

    tell_judge(c, r, &reason);
    if (reason.module)
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "answer not kept in memory: %s: %s",
                      reason.module, reason.why);
    else
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      "answer would be kept in memory if LogLevel did not ask for debug messages");
}

/* @param reason  from cache_store(), if that was called */
static void tell_teller(const response_cache *c, request_rec *r, policy_reason *reason)
{
    if (core_conf_of(r->server)->file_cache_entries_n <= 0) {
        cache_refuse(reason, "FileCacheEntries is 0");
    } else if (!c || !tell_offer(r)) {
        tell_judge(c, r, reason);
        if (!reason->module)
            cache_refuse(reason, "a worker thread had to answer");
    }
    tell_whom.fn(tell_whom.baton, r, reason);
}

#define TELL_BUSIEST 64 /* the entries used last: busy ones are among them */

/* Of the host that clients asked for, without the port. */
static size_t tell_host_len(const cache_entry *e)
{
    size_t n = e->host_len;

    BRG_ASSERT(e->in_cache);
    while (n && e->key[n - 1] >= '0' && e->key[n - 1] <= '9')
        n--;
    return n && n < e->host_len && e->key[n - 1] == ':' ? n - 1 : e->host_len;
}

void cache_tell_busiest(response_cache *c)
{
    cache_entry *e = c->queue[CACHE_ANSWERS].newest;

    BRG_ASSERT(loop_self() == c->loop && !c->is_workers);
    for (int i = 0; e && i < TELL_BUSIEST; i++, e = e->older) {
        const char *uri = e->key + e->host_len;

        if (e->answered) {
            figures_target_busy(e->key, tell_host_len(e), uri, cache_path_len(uri, e->uri_len),
                                e->answered);
            cache_hot_note(e->key, e->host_len, uri, e->uri_len, e->answered, c->loop->monotonic);
        }
        e->answered = 0;
    }
}

static brg_figure_id tell_figure(const policy_reason *reason)
{
    static const brg_figure_id own[] = {[CACHE_REFUSED_SELDOM] = BRG_FIGURE_UNKEPT_SELDOM,
                                        [CACHE_REFUSED_RECENT] = BRG_FIGURE_UNKEPT_RECENT,
                                        [CACHE_REFUSED_REQUEST] = BRG_FIGURE_UNKEPT_REQUEST};

    if (reason->kind != CACHE_REFUSED_NOT)
        return own[reason->kind];
    return strcmp(reason->module, "the core") ? BRG_FIGURE_UNKEPT_MODULE : BRG_FIGURE_UNKEPT_OTHER;
}

/* The figures of the whole server about it. */
static void tell_count(const response_cache *c, const request_rec *r, const policy_reason *reason)
{
    const brg_conn *bc =
        connection_of(r->connection->master ? r->connection->master : r->connection);

    if (!bc)
        return;
    if (loop_self() != bc->loop)
        figures_add_shared(&bc->loop->figures->others.value[BRG_FIGURE_UNKEPT_WORKER], !c);
    else if (!tell_offer(r))
        figures_add(&bc->loop->figures->own.value[BRG_FIGURE_UNKEPT_HANDLER], 1);
    else if (reason->module)
        figures_add(&bc->loop->figures->own.value[tell_figure(reason)], 1);
}

/* Reasons that pass by themselves do not count. */
static int tell_is_final(const policy_reason *reason)
{
    return reason->module && reason->kind != CACHE_REFUSED_RECENT &&
           reason->kind != CACHE_REFUSED_SELDOM;
}

cache_verdict cache_verdict_of(const response_cache *c)
{
    return c->verdict;
}

void cache_consider(request_rec *r)
{
    response_cache *c = cache_store_cache();
    policy_reason reason = {.module = NULL};

    if (!r->main && request_is_debugged(r))
        tell_log(c, r);
    if (c && request_offer_of(r)) {
        c->verdict = CACHE_MAY_KEEP;
        cache_store(c, r, &reason);
        if (tell_is_final(&reason))
            c->verdict = CACHE_KEEPS_NOT;
    } else if (c) {
        c->verdict = CACHE_KEEPS_NOT;
    }
    if (!r->main)
        tell_count(c, r, &reason);
    if (!r->main && tell_whom.fn)
        tell_teller(c, r, &reason);
    if (c)
        request_offer_drop(r);
}

void cache_register_hooks(apr_pool_t *p)
{
    cache_arm_register();
    cache_capture_register();
    cache_hot_register();
    cache_messages_register();
    request_on_answered(cache_consider);
}
