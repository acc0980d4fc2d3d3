/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in mod_cache: its hooks and filters. */
#include "cached_composed_private.h"
#include "cached_named_private.h"
#include "cached_litespeed_private.h"
#include "cached_save_private.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "brigade/litespeed.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "brigade/status.h"
#include "brigade/transaction.h"
#include "http_log.h"
#include "http_core.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "limit.h"
#include "proxy.h"
#include <string.h>

APLOG_USE_MODULE(cache);

/* It is not answered from the store: a filter looks at the answer when that comes. */
static int cache_miss(cached_request *q)
{
    request_rec *r = q->r;

    /* Requests that wait for this answer, or have a stale one, need to know of its failure. */
    apr_table_setn(r->notes, PROXY_ANSWERS_FAILURES, "1");
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, APLOGNO(00750) "Adding CACHE_SAVE filter for %s",
                  r->uri);
    for (ap_filter_t *f = r->output_filters; f && f->r == r; f = f->next)
        if (f->frec == cached_place_filter) { /* SetOutputFilter says where */
            f->frec = cached_save_filter;
            f->ctx = q;
            return DECLINED;
        }
    cached_add_save(q, r);
    if (q->ls && !r->main)
        ap_add_output_filter_handle(cached_ls_raw_filter_rec, q, r, r->connection);
    return DECLINED;
}

/* Why the handler is asked, if it is: RFC 9211, 2.2. */
static uint8_t cache_forward(const cached_request *q)
{
    if (q->found.part.view.reader)
        return FRESH_FWD_PARTIAL;
    if (!q->found.view.reader)
        return q->key.has_variant ? FRESH_FWD_VARY_MISS : FRESH_FWD_URI_MISS;
    return q->request.cc.has && !q->found.soft && fresh_left(&q->found.terms, brg_now()) > 0
               ? FRESH_FWD_REQUEST
               : FRESH_FWD_STALE;
}

/* Send the stored object, or ask the handler. */
static int cache_answer(cached_request *q)
{
    request_rec *r = q->r;

    if (q->ls)
        cached_ls_find(q);
    else
        cached_find(q);
    q->ask.forward = cache_forward(q);
    switch (q->found.use) {
    case FRESH_SERVE:
    case FRESH_SERVE_STALE:
    case FRESH_SERVE_REFRESH: {
        const int status = cached_serve(q, q->quick ? r->output_filters : cached_filters_behind(r),
                                        "cache hit", 0);

        return status == DECLINED ? cache_miss(q) : status;
    }
    case FRESH_REFUSE:
        return HTTP_GATEWAY_TIME_OUT;
    default:
        return cache_miss(q);
    }
}

static int cache_query(cached_request *q);

static int cache_query_go_on(request_rec *r, void *baton, int came)
{
    const int status = came == BRG_WAIT_TIMEOUT ? HTTP_REQUEST_TIME_OUT : cache_query(baton);

    return status == DECLINED ? ap_run_handler(r) : status;
}

static int cache_query(cached_request *q)
{
    const int status = cached_query_read(q, cache_query_go_on);

    if (status != OK)
        return status;
    return q->ask.refused ? cache_miss(q) : cache_answer(q);
}

static int cache_consider(request_rec *r, int sections, int quick)
{
    const cached_tier tier =
        cached_store() ? cached_is_enabled(cached_first(r), sections) : CACHED_NOWHERE;
    cached_request *q;

    if (!tier || cached_env_forbids(r) || cached_section_of(r)->disable == CACHED_ON ||
        (cached_is_bypassed(r) && fresh_method_of(r->method, strlen(r->method)) != FRESH_UNSAFE))
        return DECLINED;
    brg_cache_each_time(cached_first(r));
    if (!(q = cached_request_begin(r)))
        return DECLINED;
    q->tier = (uint8_t)tier;
    q->quick = (uint8_t)quick;
    if (cached_ls_is_on(r->server) && !q->ls && q->request.method != FRESH_UNSAFE) {
        for (request_rec *at = r; at; at = at->prev) /* its folder does not look up */
            ap_set_module_config(at->request_config, &cache_module, NULL);
        return DECLINED;
    }
    if (q->request.method == FRESH_UNSAFE) {
        const int status = cached_purge_request(q);

        if (status != DECLINED)
            return status;
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(02463) "PUT/POST/DELETE: Adding CACHE_INVALIDATE filter for %s",
                      r->uri);
        ap_add_output_filter_handle(cached_invalidate_filter, q, r, r->connection);
        return DECLINED;
    }
    if (q->request.method == FRESH_QUERY)
        return cache_query(q);
    return ap_request_has_body(r) ? DECLINED : cache_answer(q);
}

/* Its body has to be read first, which handlers do. */
static int cache_is_query(const request_rec *r)
{
    return *r->method == 'Q' && !strcmp(r->method, "QUERY");
}

static int cache_is_hit(const cached_request *q)
{
    return q && q->found.known && q->found.view.reader && !q->save.decided &&
           cached_serves(q->found.use);
}

/* Would a part of a page come from the store? If so its object is held until the part is run. */
static int cache_look(request_rec *r)
{
    const cached_tier tier = cached_store() && r->filename && cached_is_part(r)
                                 ? cached_is_enabled(r, 0)
                                 : CACHED_NOWHERE;
    cached_request *q;

    if (cached_store() && r->filename && cached_is_part(r))
        cached_composed_ask(r);
    if (!tier || apr_table_get(r->subprocess_env, "no-cache") || !(q = cached_request_begin(r)))
        return DECLINED;
    q->tier = (uint8_t)tier;
    q->quick = 1;
    cached_find(q);
    q->ask.forward = cache_forward(q);
    if (cache_is_hit(q))
        return OK;
    ap_set_module_config(r->request_config, &cache_module, NULL); /* it is asked about once more */
    return DECLINED;
}

/* Before its phases nothing is answered: the handler looks. Behind redirects it is the last one's, for the first URL. Limits of sections, and by user, count in phases. */
static int cache_is_not_quick(const request_rec *r)
{
    return cached_server_of(r->server)->quick == CACHED_OFF || cache_is_query(r) ||
           cached_ls_is_on(r->server) || (!r->main && limit_is_of_phases(r->parsed_uri.path));
}

static int cache_quick(request_rec *r, int lookup)
{
    if (r->prev || cache_is_not_quick(r))
        return DECLINED;
    if (lookup)
        return cache_look(r);
    if (r->main && cache_is_hit(cached_of(r)))
        return cached_serve(cached_of(r), r->output_filters, "cache hit", 0);
    return cache_consider(r, 0, 1);
}

/* The store's key of the first request serves the answer to the one that it was redirected to. */
static cached_request *cache_go_on(request_rec *r)
{
    cached_request *q = cached_request_go_on(r);

    if (q && !cached_serves(q->found.use))
        (void)cache_miss(q);
    return q;
}

static int cache_handler(request_rec *r)
{
    cached_request *q = cached_store() ? cached_of(r) : NULL;
    int status;

    if (!cached_store() || cached_is_led_on(r))
        return DECLINED;
    if (!q && r->prev)
        q = cache_go_on(r);
    if (!q && cache_is_not_quick(r)) {
        status = cache_consider(
            r, cached_server_of(r->server)->quick == CACHED_OFF || cached_ls_is_on(r->server), 0);
        if (status != DECLINED)
            return status;
        q = cached_of(r);
    }
    if (!q || !q->found.known || q->save.decided || q->ask.refused)
        return DECLINED;
    if (r->prev && cached_serves(q->found.use) && !q->found.ahead)
        return cached_serve(q, cached_filters_behind(r), "cache hit", 0);
    status = cached_lead(q);
    if (status == DECLINED)
        cached_ask(q);
    return status;
}

/* The handler failed, so its filters are gone. A stale answer may be sent in place of the error page. */
static void cache_error_filter(request_rec *r)
{
    cached_request *q = cached_of(r);

    if (q && q->stale.answered) { /* the client has an answer: this one is for nobody */
        cached_land(q, 1);
        ap_add_output_filter_handle(cached_drop_filter, q, r, r->connection);
        return;
    }
    if (!q || !q->found.known || q->save.decided)
        return;
    cached_ask_restore(q);
    if (cached_stale_on_error(q, r->status))
        cached_add_save(q, r);
    else
        cached_land(q, r->status >= 500);
}

static apr_status_t cache_drop(ap_filter_t *f, apr_bucket_brigade *in)
{
    (void)f;
    apr_brigade_cleanup(in);
    return APR_SUCCESS;
}

/* The log has the answer that the client got. */
static int cache_log(request_rec *r)
{
    const cached_request *q = cached_of(r);

    if (q) {
        cached_restore_answer(q);
        cached_count(q);
    }
    return DECLINED;
}

/* "CACHE" in SetOutputFilter is a place, and does nothing by itself. */
static apr_status_t cache_place(ap_filter_t *f, apr_bucket_brigade *in)
{
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, in);
}

/* An answer that the cache had to do with is not kept as one made of files; only as a stored one, if that was offered. */
static int cache_depends(request_rec *r)
{
    for (const request_rec *at = cached_store() ? r : NULL; at; at = at->prev) {
        const cached_request *q = cached_of(at);

        if (q && !q->found.offered)
            return BRG_CACHE_VOLATILE;
    }
    return BRG_CACHE_STATIC;
}

static int cache_pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)p;
    (void)plog;
    (void)ptemp;
    cached_sections_forget();
    return OK;
}

static int cache_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main)
{
    (void)plog;
    (void)ptemp;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
        return OK; /* all is read once more */
    cached_sites(p, main);
    return cached_map(p, main);
}

static void cache_hooks(apr_pool_t *p)
{
    BRG_ASSERT(p);
    brg_cache_declare(&cache_module, cache_depends);
    brg_cache_name_declare(&cache_module, cached_name);
    brg_hooks_need_directive(&cache_module, "quick_handler handler insert_filter log_transaction",
                             NULL, BRG_HOOKS_BY_SERVER);
    brg_handlers_are_for(&cache_module, "cache-manager");
    brg_cache_leaves_query(&cache_module);
    /* Answers of the loop's own cache count as hits there (cached_count_hits()). */
    brg_transaction_log_declare(&cache_module, NULL, NULL);
    APR_REGISTER_OPTIONAL_FN(brg_status_cache_get);
    APR_REGISTER_OPTIONAL_FN(brg_litespeed_variable);
    ap_hook_insert_filter(cached_ls_insert_filter, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_insert_error_filter(cached_ls_insert_filter, NULL, NULL, APR_HOOK_MIDDLE);
    cached_ls_raw_filter_rec = ap_register_output_filter(
        "CACHE_SAVE_RAW", cached_ls_raw_filter, NULL, (ap_filter_type)(AP_FTYPE_RESOURCE - 1));
    cached_ls_filter_rec = ap_register_output_filter("CACHE_LITESPEED", cached_ls_filter, NULL,
                                                     (ap_filter_type)(AP_FTYPE_PROTOCOL - 1));
    cache_seek_by(&cached_seeker);
    ap_hook_pre_config(cache_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(cache_post_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_quick_handler(cache_quick, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(cache_handler, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_handler(cached_manager, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_insert_error_filter(cache_error_filter, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(cache_log, NULL, NULL, APR_HOOK_REALLY_FIRST);
    cached_query_filter = ap_register_input_filter("CACHE_QUERY", cached_query_input, NULL,
                                                   (ap_filter_type)(AP_FTYPE_PROTOCOL - 1));
    cached_drop_filter =
        ap_register_output_filter("CACHE_DROP", cache_drop, NULL, AP_FTYPE_RESOURCE);
    cached_save_filter = ap_register_output_filter("CACHE_SAVE", cached_save, NULL,
                                                   (ap_filter_type)(AP_FTYPE_CONTENT_SET + 1));
    cached_part_filter = ap_register_output_filter("CACHE_SAVE_PART", cached_save, NULL,
                                                   (ap_filter_type)(AP_FTYPE_CONTENT_SET - 1));
    cached_place_filter = ap_register_output_filter("CACHE", cache_place, NULL,
                                                    (ap_filter_type)(AP_FTYPE_CONTENT_SET - 1));
    cached_invalidate_filter = ap_register_output_filter("CACHE_INVALIDATE", cached_invalidate,
                                                         NULL, (ap_filter_type)(AP_FTYPE_PROTOCOL));
}

module AP_MODULE_DECLARE_DATA cache_module = {
    STANDARD20_MODULE_STUFF, cached_section_create, cached_section_merge, cached_server_create,
    cached_server_merge,     cached_commands,       cache_hooks,          0};
