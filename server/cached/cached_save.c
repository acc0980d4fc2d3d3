/* SPDX-License-Identifier: Apache-2.0 */
/* The filter that writes a handler's answer into the store, while it goes to the client. */
#include "cached_below_private.h"
#include "cached_composed_private.h"
#include "cached_named_private.h"
#include "cached_litespeed_private.h"
#include "cached_part_private.h"
#include "cached_save_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"

APLOG_USE_MODULE(cache);

ap_filter_rec_t *cached_save_filter, *cached_place_filter, *cached_invalidate_filter,
    *cached_drop_filter, *cached_part_filter;

void cached_add_save(cached_request *q, request_rec *r)
{
    ap_add_output_filter_handle(r->main ? cached_part_filter : cached_save_filter, q, r,
                                r->connection);
}

/* ---- may it be stored ---- */

static uint64_t save_length(const request_rec *r)
{
    const char *text = apr_table_get(r->headers_out, "Content-Length");
    char *end;
    apr_int64_t n;

    if (!text)
        return STORE_LENGTH_UNKNOWN;
    n = apr_strtoi64(text, &end, 10);
    return *end || n < 0 ? STORE_LENGTH_UNKNOWN : (uint64_t)n;
}

/* @return NULL: it may be stored; else the reason, and *why: cached_is_of_request() */
static const char *save_refused(cached_request *q, const fresh_response *response, fresh_why *why)
{
    request_rec *r = q->r;
    const uint64_t length = save_length(r);
    const char *refused;

    *why = FRESH_WHY_METHOD; /* of this request alone */
    if (cached_env_forbids(r))
        return "environment variable 'no-cache' is set";
    if (r->no_cache)
        return "r->no_cache present";
    if (q->ask.refused)
        return q->ask.refused;
    *why = fresh_may_store(&q->request, response, &q->policy);
    if (*why)
        return cached_why(q, *why, r->status);
    *why = FRESH_WHY_METHOD;
    if (q->found.view.reader && !q->found.soft &&
        fresh_is_older(response, &q->found.stored.head, &q->found.terms, brg_now()))
        return "what is stored has a later Date";
    if (r->status == HTTP_PARTIAL_CONTENT) {
        refused = cached_part_refused(q, &response->head, length);
        if (refused)
            return refused;
    }
    if (cached_composed_refused(q))
        return cached_composed_refused(q);
    if (q->key.unsearched && (refused = cached_search_decide(q, &response->head)) != NULL)
        return refused;
    if (length != STORE_LENGTH_UNKNOWN && (length > q->most || length < q->least))
        return "cache miss: cache unwilling to store response";
    return NULL;
}

/* 1: the next request may get another answer, which may be stored. */
int cached_is_of_request(const request_rec *r, fresh_why why)
{
    switch (r->status) {
    case HTTP_PARTIAL_CONTENT:
    case HTTP_NOT_MODIFIED:
    case HTTP_PRECONDITION_FAILED:
    case HTTP_RANGE_NOT_SATISFIABLE:
        return 1;
    default:
        return why == FRESH_WHY_METHOD || why == FRESH_WHY_REQUEST_NO_STORE ||
               why == FRESH_WHY_AUTHORIZATION;
    }
}

/* 1 if this status says that the stored answer is out of date; others may be about this client alone. */
static int save_ends_stored(const request_rec *r)
{
    return ap_is_HTTP_SUCCESS(r->status) || r->status == HTTP_MOVED_PERMANENTLY ||
           r->status == HTTP_PERMANENT_REDIRECT || r->status == HTTP_NOT_FOUND ||
           r->status == HTTP_GONE;
}

static void save_not(cached_request *q, const char *reason, fresh_why why)
{
    request_rec *r = q->r;
    const int of_request = cached_is_of_request(r, why);

    q->phase = CACHED_PASSES;
    cached_why_note(&q->key.target, r->status, reason);
    if (q->found.view.reader && !of_request && save_ends_stored(r))
        cached_purge(q->key.text, q->key.text_len);
    cached_land(q, !of_request);
    if (!q->stale.answered)
        cached_tell(q, CACHED_PASSED, reason, 0);
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(00768) "cache: %s not cached for request %s. Reason: %s",
                  apr_pstrmemdup(r->pool, q->key.text, q->key.text_len), r->uri, reason);
}

static void save_give_up(cached_request *q)
{
    const uint32_t flight = q->lead.flight;

    q->phase = CACHED_PASSES;
    if (!q->save.writer)
        return;
    q->lead.flight = 0;
    cached_stay(q, 0);
    cached_lock(q->save.place);
    store_write_give_up(&q->save.writer);
    cached_unlock(q->save.place);
    if (flight)
        cached_wake(q->save.place, flight);
}

/* The joined bytes are of the same variant. */
static int save_fits_part(const cached_request *q, const store_head *head)
{
    const cached_part *part = &q->found.part;

    return !part->joins || (part->key.a == head->key.a && part->key.b == head->key.b);
}

/* The cost for the backend, by the time to its head: two rounds from 20 ms on, and for each time
 * that is four times as long. Objects below memory are fetched from there, too. */
static uint8_t save_worth(const cached_request *q)
{
    const apr_time_t cost = brg_now() - q->ask.at;
    uint8_t worth = 0;

    if (q->tier != CACHED_MEMORY)
        return 0;
    for (apr_time_t least = apr_time_from_msec(20); cost >= least && worth < STORE_WORTH_MOST - 1;
         least *= 4)
        worth += 2;
    return worth;
}

/* A handler stops when its client left, and then an end of the output is not the end of the answer. Only a length would show that. */
static int save_is_torn(const cached_request *q)
{
    return q->r->connection->aborted && q->save.length == STORE_LENGTH_UNKNOWN;
}

/* A body that is whole in the first piece is written where it stays, though nobody told its length. */
static uint64_t save_whole_length(const cached_request *q, const apr_bucket_brigade *in)
{
    uint64_t n = 0;

    if (q->save.length != STORE_LENGTH_UNKNOWN || save_is_torn(q))
        return q->save.length;
    for (const apr_bucket *b = APR_BRIGADE_FIRST(in); b != APR_BRIGADE_SENTINEL(in);
         b = APR_BUCKET_NEXT(b)) {
        if (APR_BUCKET_IS_EOS(b))
            return n;
        if (AP_BUCKET_IS_ERROR(b) || b->length == (apr_size_t)-1)
            break;
        n += b->length;
    }
    return STORE_LENGTH_UNKNOWN;
}

static void save_begin(cached_request *q, const fresh_response *response,
                       const apr_bucket_brigade *in)
{
    request_rec *r = q->r;
    http_field *kept = apr_palloc(r->pool, (response->head.n + 2) * sizeof *kept);
    uint32_t n = fresh_stored_fields(kept, response, &q->policy), len;
    const int is_part = r->status == HTTP_PARTIAL_CONTENT;
    fresh_terms terms;
    store_head head;
    const char *why = "cache miss: store_headers failed", *bytes;

    fresh_terms_make(&terms, response, &q->policy, q->ask.at, brg_now());
    q->save.length = save_length(r);
    if (is_part && q->found.part.joins)
        n = cached_part_fields(q, &response->head, &kept);
    if (is_part) {
        cached_part_head(q, kept, &n, &terms, &q->save.length);
        cached_land(q, 0); /* others want the rest */
    }
    bytes = cached_head_write(r->pool, is_part ? NULL : r->status_line, kept, n, &len);
    cached_head_fill(q, &head, &terms, bytes, len, &response->head);
    head.length = save_whole_length(q, in);
    head.worth = save_worth(q);
    if (q->tier == CACHED_SOCACHE)
        cached_tags(q, &response->head);
    cached_composed_apply(q, &terms, &head);
    if (!cached_save_variant(q, response, &head) || !save_fits_part(q, &head)) {
        save_not(q, why, FRESH_WHY_METHOD);
        return;
    }
    BRG_ASSERT(q->save.decided && !q->save.writer); /* once a request */
    cached_lock(q->save.place);
    q->save.writer = store_write_begin(cached_reader(q->save.place), &head, q->lead.flight, &why);
    cached_unlock(q->save.place);
    if (!q->save.writer) {
        save_not(q, why, FRESH_WHY_METHOD);
        return;
    }
    q->phase = CACHED_SAVES;
    q->found.terms = terms;
    if (r->main)
        cached_composed_save(q, &head);
    if (q->lead.flight)
        cached_wake(q->save.place, q->lead.flight);
    if (is_part && cached_part_before(q)) {
        save_give_up(q);
        save_not(q, why, FRESH_WHY_METHOD);
        return;
    }
    if (!q->stale.answered && q->ls)
        cached_ls_say(q, 0);
    if (!q->stale.answered)
        cached_tell(q, CACHED_STORED, "cache miss: attempting entity save", 0);
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(00769) "cache: Caching url %s for request %s",
                  apr_pstrmemdup(r->pool, q->key.text, q->key.text_len), r->uri);
}

/* The answer is neither the rest of the stored part nor the whole. The client asked for no range, and cannot have this one. */
static int save_no_rest(cached_request *q, ap_filter_t *f, apr_status_t *rv)
{
    request_rec *r = q->r;
    apr_bucket_alloc_t *alloc = f->c->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    cached_purge(q->key.text, q->key.text_len);
    cached_part_drop(q);
    save_not(q, "the rest of what is stored did not come", FRESH_WHY_STATUS);
    q->phase = CACHED_SWALLOWS;
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    *rv = q->stale.answered ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
    return 1;
}

/* PHP's fields decide whether it is stored, and for whom. A follower of an answer that is not for
 * all asks for one of its own. */
static void save_litespeed(cached_request *q)
{
    const store_key asked = q->key.hash;

    cached_ls_take(q->r, q->ls);
    if (!q->ask.refused)
        q->ask.refused = cached_ls_decide(q);
    if (q->ask.refused || q->key.hash.a != asked.a || q->key.hash.b != asked.b)
        cached_land(q, 1);
}

/* Redirects and refusals have no text as often as not; a page without any is an accident, which CacheMinFileSize 1, the default, keeps out. */
static int save_may_be_empty(const cached_request *q)
{
    return AP_STATUS_IS_HEADER_ONLY(q->r->status) || (q->r->status != HTTP_OK && q->least <= 1);
}

/* The head of the response is there. @return 1: the client was answered with the stored object; *rv
 */
static int save_decide(cached_request *q, ap_filter_t *f, apr_bucket_brigade *in, apr_status_t *rv)
{
    request_rec *r = q->r;
    const int validates = q->phase == CACHED_VALIDATES;
    fresh_response response;
    http_field *field;
    fresh_head head = {.code = (uint16_t)r->status};
    const char *reason;
    fresh_why why;

    q->save.decided = 1;
    if (save_may_be_empty(q))
        q->least = 0;
    cached_ask_restore(q);
    if (!q->save.writer && !q->lead.flight)
        q->save.place = cached_place_here();
    if (validates && r->status == HTTP_NOT_MODIFIED)
        return cached_validated(q, f, rv);
    if (r->status >= 500 && cached_stale_on_error(q, r->status)) {
        cached_land(q, 0);
        q->phase = CACHED_SWALLOWS;
        *rv = q->stale.answered ? APR_SUCCESS : cached_send_stale(q, f, r->status);
        return 1;
    }
    cached_composed_vary(q);
    if (q->ls)
        save_litespeed(q);
    head.n = cached_response_fields(r, &field);
    if (q->ls && !q->ask.refused)
        cached_ls_response(q, field, &head.n);
    head.field = field;
    if (q->found.part.asked_rest) {
        if (cached_rest_came(q, &head, in))
            return save_no_rest(q, f, rv);
        head.code = (uint16_t)r->status;
        head.n = cached_response_fields(r, &field);
        head.field = field;
    }
    fresh_response_read(&response, &head, &q->policy);
    reason = save_refused(q, &response, &why);
    if (reason)
        save_not(q, reason, why);
    else
        save_begin(q, &response, in);
    if (q->save.writer)
        cached_direct_offer(q, f);
    return 0;
}

/* ---- the body ---- */

static void save_end(cached_request *q)
{
    const uint32_t flight = q->lead.flight;
    apr_status_t rv;

    BRG_ASSERT(q->save.writer && q->save.written <= q->most); /* save_bytes() gives up */
    if (q->save.written < q->least || cached_part_behind(q) || cached_composed_grew(q)) {
        save_give_up(q);
        return;
    }
    q->phase = CACHED_PASSES;
    q->lead.flight = 0;
    cached_stay(q, 0);
    cached_lock(q->save.place);
    rv = store_write_end(&q->save.writer);
    cached_unlock(q->save.place);
    q->save.renewed = rv == APR_SUCCESS;
    if (rv == APR_SUCCESS && q->r->main)
        cached_composed_saved(q);
    if (flight)
        cached_wake(q->save.place, flight);
    if (rv == APR_SUCCESS && q->tier == CACHED_DISK) {
        if (q->key.has_variant)
            cached_disk_write(&q->key.hash, q->ask.at);
        cached_disk_write(q->key.has_variant ? &q->key.variant : &q->key.hash, q->ask.at);
    }
    if (rv == APR_SUCCESS && q->tier == CACHED_SOCACHE)
        cached_tier_write(q);
}

static void save_bytes(cached_request *q, const char *p, apr_size_t n)
{
    int failed;

    BRG_ASSERT(q->save.writer && n > 0);
    q->save.written += n;
    failed = q->save.written > q->most;
    if (!failed) {
        cached_lock(q->save.place);
        failed = store_write(q->save.writer, p, n);
        cached_unlock(q->save.place);
    }
    if (!failed)
        return;
    cached_why_note(&q->key.target, q->r->status,
                    "it is longer than may be stored, or no memory was free");
    save_give_up(q);
}

/* The end of the answer does not come. */
static void save_cut(cached_request *q)
{
    const uint32_t flight = q->lead.flight;

    if (!q->save.writer)
        return;
    q->phase = CACHED_PASSES;
    q->lead.flight = 0;
    cached_stay(q, 0);
    cached_part_keep(q);
    if (flight)
        cached_wake(q->save.place, flight);
}

/* One bucket. @return an error of reading it; APR_EAGAIN: its bytes are not there yet */
static apr_status_t save_bucket(cached_request *q, apr_bucket *b, apr_read_type_e block)
{
    const char *p;
    apr_size_t n;
    apr_status_t rv;

    if (AP_BUCKET_IS_ERROR(b)) {
        save_cut(q);
        return APR_SUCCESS;
    }
    if (APR_BUCKET_IS_EOS(b) && !save_is_torn(q)) {
        save_end(q);
        return APR_SUCCESS;
    }
    if (APR_BUCKET_IS_EOS(b))
        save_cut(q);
    if (APR_BUCKET_IS_METADATA(b) || cached_direct_is_of(q, b))
        return APR_SUCCESS;
    rv = apr_bucket_read(b, &p, &n, block);
    if (rv == APR_SUCCESS && n)
        save_bytes(q, p, n);
    return rv;
}

/* To the client, unless it has its answer already. */
static apr_status_t save_forward(cached_request *q, ap_filter_t *f, apr_bucket_brigade *in)
{
    if (!q->stale.answered)
        return ap_pass_brigade(f->next, in);
    apr_brigade_cleanup(in);
    return APR_SUCCESS;
}

/* Bytes of a program come at any time: earlier ones go on first. */
static apr_status_t save_pass(cached_request *q, ap_filter_t *f, apr_bucket_brigade *in,
                              apr_bucket *up_to)
{
    apr_bucket_brigade *rest = apr_brigade_split(in, up_to);
    apr_status_t rv;

    APR_BRIGADE_INSERT_TAIL(in, apr_bucket_flush_create(f->c->bucket_alloc));
    rv = save_forward(q, f, in);
    apr_brigade_cleanup(in);
    APR_BRIGADE_CONCAT(in, rest);
    return rv;
}

static apr_status_t save_body(cached_request *q, ap_filter_t *f, apr_bucket_brigade *in)
{
    apr_bucket *b = APR_BRIGADE_FIRST(in);

    while (b != APR_BRIGADE_SENTINEL(in) && q->save.writer) {
        apr_status_t rv = save_bucket(q, b, APR_NONBLOCK_READ);

        if (APR_STATUS_IS_EAGAIN(rv)) {
            rv = save_pass(q, f, in, b);
            if (rv == APR_SUCCESS && q->save.writer)
                rv = save_bucket(q, b, APR_BLOCK_READ);
        }
        if (rv != APR_SUCCESS) {
            save_cut(q);
            return rv;
        }
        b = APR_BUCKET_NEXT(b);
    }
    return save_forward(q, f, in);
}

static int save_has_begun(apr_bucket_brigade *in)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(in); b != APR_BRIGADE_SENTINEL(in);
         b = APR_BUCKET_NEXT(b))
        if (!APR_BUCKET_IS_METADATA(b) || APR_BUCKET_IS_EOS(b) || AP_BUCKET_IS_ERROR(b))
            return 1;
    return 0;
}

apr_status_t cached_save(ap_filter_t *f, apr_bucket_brigade *in)
{
    cached_request *q = f->ctx;
    apr_status_t rv;

    BRG_ASSERT(q);
    if (!q->save.decided && !save_has_begun(in))
        return save_forward(q, f, in);
    q->r = f->r; /* an internal redirect answers in place of the first request */
    if (!q->save.decided && save_decide(q, f, in, &rv)) {
        cached_restore_answer(q);
        apr_brigade_cleanup(in);
        return rv;
    }
    cached_restore_answer(q);
    if (q->phase == CACHED_SWALLOWS) {
        apr_brigade_cleanup(in);
        return APR_SUCCESS;
    }
    if (q->save.writer && cached_composed_grew(q)) /* before others have any of it */
        save_give_up(q);
    return q->save.writer ? save_body(q, f, in) : save_forward(q, f, in);
}
