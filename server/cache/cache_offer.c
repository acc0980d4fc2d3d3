/* SPDX-License-Identifier: Apache-2.0 */
/* Offers of handlers and filters to store a body: a file, a page, or the output of filters that
 * compress them. cache_store.c decides when the request is over. */
#include "coding.h"
#include "connection.h"
#include "http_condition.h"
#include "cache_absent_private.h"
#include "cache_fill_private.h"
#include "filter_registry.h"
#include "brigade/memory.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

response_cache *cache_store_cache(void)
{
    brg_loop *loop = loop_self();

    if (!loop)
        return cache_of_worker();
    return loop->cache->buckets_n ? loop->cache : NULL;
}

/* As filters_leave_body(), but for filters that make the *codings. */
static int filters_leave_or_code(const ap_filter_t *f, int *codings)
{
    *codings = 0;
    for (; f; f = f->next)
        if (!filter_leaves_body(f->frec) && !coding_add(codings, f))
            return 0;
    return 1;
}

/* The coding that filters will be asked for: 0 none, -1 nobody can tell. */
static int offer_coding(const request_rec *r, int codings)
{
    const char *accepted = codings ? apr_table_get(r->headers_in, "Accept-Encoding") : NULL;

    if (codings && apr_table_get(r->subprocess_env, "force-gzip"))
        return codings;
    return accepted ? coding_accepted((void *)(intptr_t)codings, accepted, strlen(accepted)) : 0;
}

static int filters_leave_body(const ap_filter_t *f)
{
    for (; f; f = f->next)
        if (!filter_leaves_body(f->frec))
            return 0;
    return 1;
}

BRG_DECLARE(int) brg_output_is_plain(request_rec *r)
{
    return filters_leave_body(r->output_filters);
}

/* Something changes the form of the answer's head for this one request. */
static int offer_head_is_special(const request_rec *r)
{
    const apr_table_t *env = r->subprocess_env;

    return apr_table_get(env, "nokeepalive") || apr_table_get(env, "force-response-1.0") ||
           apr_table_get(env, "downgrade-1.0");
}

int cache_request_is_plain(const request_rec *r)
{
    return !r->header_only && cache_request_may_arm(r);
}

int cache_request_may_arm(const request_rec *r)
{
    return r->method_number == M_GET && r->unparsed_uri && r->unparsed_uri[0] == '/' &&
           r->proto_num >= HTTP_VERSION(1, 0) && connection_of(r->connection) &&
           apr_table_get(r->headers_in, "Host") && !offer_head_is_special(r);
}

cache_entry *cache_find_for(response_cache *c, const request_rec *r, uint64_t *hash)
{
    const brg_conn *bc = connection_of(r->connection);
    const char *host = apr_table_get(r->headers_in, "Host");
    const cache_asked asked = {.r = r};
    const cache_place at = cache_place_of(bc);
    const char *absent = cache_absent_target(r), *uri = absent ? absent : r->unparsed_uri;

    return cache_find(c, &at, host, strlen(host), uri, strlen(uri), &asked, hash);
}

size_t cache_target_len(const request_rec *r)
{
    size_t len = strlen(r->unparsed_uri);

    return policy_query_counts(r) ? len : cache_path_len(r->unparsed_uri, len);
}

/* An answer that fills an entry has to be seen after all filters. @param sender  whose filters they are */
static void offer_capture(response_cache *c, request_rec *r, request_rec *sender,
                          request_offer *offer)
{
    const cache_entry *e;
    uint64_t hash;

    if (!c->watches || !cache_request_is_plain(r) || !(e = cache_find_for(c, r, &hash)) ||
        e->filled || e->uncacheable || e->fill)
        return;
    BRG_ASSERT(e->in_cache && !offer->capture && offer->coded);
    offer->capture =
        cache_capture_begin(sender, (apr_size_t)core_conf_of(r->server)->file_cache_max_file_bytes);
}

static int offer_is_file(const request_rec *r)
{
    return r->finfo.filetype == APR_REG &&
           (!r->handler || !*r->handler || !strcmp(r->handler, "default-handler"));
}

/* Conditions of filters are looked at last: Vary and the log show that, and the fields that they
 * ask for may come only later. */
int cache_offer_early(request_rec *r)
{
    const brg_core_conf *conf = core_conf_of(r->server);
    request_offer *offer;
    int codings;

    request_offer_drop(r);
    if (r->status != HTTP_OK || r->main || r->prev || r->no_cache || r->no_local_copy ||
        !offer_is_file(r) || r->finfo.size > conf->file_cache_max_file_bytes ||
        !cache_request_is_plain(r) || !filters_leave_or_code(r->output_filters, &codings) ||
        offer_coding(r, codings) <= 0 || !(offer = request_offer_begin(r)))
        return 0;
    offer->codings = codings;
    offer->coded = 1;
    offer->path = r->filename;
    return 1;
}

/* Every offer replaces the one before: a filter's comes after that of the handler whose data it
 * changed. */
static request_offer *offer_take(request_rec *r, const ap_filter_t *next)
{
    response_cache *c = cache_store_cache();
    request_offer *offer;
    int codings, coding;

    if (!c) {
        cache_seen_on_worker(r);
        return NULL;
    }
    request_offer_drop(r);
    if (r->main || r->prev || r->no_cache || !filters_leave_or_code(next, &codings) ||
        (coding = offer_coding(r, codings)) < 0 || !(offer = request_offer_begin(r)))
        return NULL;
    offer->codings = codings;
    offer->coded = coding > 0;
    offer->etag = http_condition_tag(r, r->headers_out);
    if (coding > 0)
        offer_capture(c, r, r, offer);
    return offer;
}

/* A client asked for @a first by GET, and a phase or the handler for files refused it. */
static int offer_is_error(const request_rec *first)
{
    const char *method = apr_table_get(first->subprocess_env, "REQUEST_METHOD");

    return ap_is_HTTP_ERROR(first->status) && !first->prev && !first->main && !first->header_only &&
           !first->user && method && !strcmp(method, "GET");
}

/* An error document of the site's own: the answer is that of the request that it is for. */
static void offer_document(request_rec *r, const char *path)
{
    request_rec *first = r->prev;
    response_cache *c = cache_store_cache();
    request_offer *offer;
    int codings, coding;

    request_offer_drop(r);
    if (!c || !c->watches || c->is_workers || r->main || r->status != first->status ||
        !offer_is_error(first) || r->no_cache ||
        !filters_leave_or_code(r->output_filters, &codings) ||
        (coding = offer_coding(r, codings)) < 0 || !policy_stored_log() ||
        !(offer = request_offer_begin(first)))
        return;
    offer->document = r;
    offer->path = path;
    offer->codings = codings;
    offer->coded = coding > 0;
    offer->etag = http_condition_tag(r, r->headers_out);
    if (coding > 0)
        offer_capture(c, first, r, offer);
    offer->absent_asked = 0; /* filters may still look at the name */
}

BRG_DECLARE(void) brg_cache_offer_file(request_rec *r, const char *path)
{
    request_offer *offer;

    if (r->prev) {
        offer_document(r, path);
        return;
    }
    offer = r->no_local_copy ? NULL : offer_take(r, r->output_filters);
    if (offer)
        offer->path = path;
}

BRG_DECLARE(void)
brg_cache_offer_body(request_rec *r, ap_filter_t *next, const char *body, apr_size_t len,
                     const char *const *paths)
{
    request_offer *offer = offer_take(r, next);

    if (!offer)
        return;
    offer->body = body;
    offer->len = len;
    offer->from = paths;
}

/* A page's entry is filled by a request that finds it armed (store_entry()). */
static int offer_may_fill(response_cache *c, request_rec *r)
{
    const cache_entry *e;
    uint64_t hash;

    return cache_request_is_plain(r) && (e = cache_find_for(c, r, &hash)) != NULL && !e->filled &&
           !e->uncacheable && !e->fill;
}

static apr_status_t offer_flat_end(void *flat)
{
    free(((cache_flat *)flat)->data);
    return APR_SUCCESS;
}

/* NULL: no memory, or its length is another one. */
static cache_flat *offer_flatten(request_rec *r, apr_bucket_brigade *bb, apr_size_t len)
{
    cache_flat *flat = apr_palloc(r->pool, sizeof *flat);
    apr_size_t n = len;

    if (!(flat->data = malloc(len + 1)))
        return NULL;
    apr_pool_cleanup_register(r->pool, flat, offer_flat_end, apr_pool_cleanup_null);
    brg_buffer_created();
    brg_buffer_copied(len);
    return apr_brigade_flatten(bb, flat->data, &n) == APR_SUCCESS && n == len ? flat : NULL;
}

BRG_DECLARE(void)
brg_cache_offer_brigade(request_rec *r, ap_filter_t *next, apr_bucket_brigade *bb, apr_size_t len,
                        const char *const *paths)
{
    request_offer *offer = offer_take(r, next);

    if (!offer)
        return;
    offer->len = len;
    offer->from = paths;
    if (!offer->coded && offer_may_fill(cache_store_cache(), r))
        offer->flat = offer_flatten(r, bb, len);
}
