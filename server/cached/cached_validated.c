/* SPDX-License-Identifier: Apache-2.0 */
/* A 304 of the backend: the stored answer still holds. And errors, for which a stale answer may be sent. */
#include "cached_below_private.h"
#include "cached_named_private.h"
#include "cached_save_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_log.h"
#include "http_protocol.h"

APLOG_USE_MODULE(cache);

int cached_stale_on_error(cached_request *q, int code)
{
    return q->found.view.reader && !q->follow.grows &&
           cached_section_of(q->first)->stale != CACHED_OFF &&
           fresh_use_on_error(&q->found.terms, &q->request, &q->policy, code, brg_now());
}

/* The merged head beside the body that stays. */
static void validated_store(cached_request *q, const fresh_terms *terms)
{
    store_head head;
    uint32_t len;
    const char *bytes = cached_head_write(q->r->pool, q->found.stored.line,
                                          q->found.stored.head.field, q->found.stored.head.n, &len);
    const uint32_t flight = q->lead.flight;
    apr_status_t rv;

    cached_head_fill(q, &head, terms, bytes, len, &q->found.stored.head);
    head.key = q->key.has_variant ? q->key.variant : q->key.hash;
    head.mark = q->key.has_variant ? store_mark_of_key(&q->key.hash) : 0;
    cached_lock(q->save.place);
    rv = store_write_refreshed(cached_reader(q->save.place), &head, &q->found.view, flight);
    cached_unlock(q->save.place);
    q->save.renewed = rv == APR_SUCCESS;
    if (rv == APR_SUCCESS) {
        q->lead.flight = 0;
        cached_stay(q, 0);
    }
    if (flight)
        cached_wake(q->save.place, flight);
    if (rv == APR_SUCCESS && q->tier == CACHED_DISK)
        cached_disk_write(&head.key, q->ask.at);
    if (rv == APR_SUCCESS && q->tier == CACHED_SOCACHE) {
        cached_tags(q, &q->found.stored.head);
        cached_tier_write(q);
    }
}

int cached_validated(cached_request *q, ap_filter_t *f, apr_status_t *rv)
{
    request_rec *r = q->r;
    http_field *field, *merged;
    fresh_head answer = {.code = HTTP_NOT_MODIFIED}, stored = q->found.stored.head;
    fresh_response response;
    fresh_request request = q->request;
    fresh_terms terms;
    fresh_why why;
    int status;

    BRG_ASSERT(r->status == HTTP_NOT_MODIFIED && q->found.view.reader);
    if (!apr_table_get(r->headers_out, "Content-Type"))
        r->content_type = NULL; /* a guess by the name of the target, and not the origin's word */
    answer.n = cached_response_fields(r, &field);
    answer.field = field;
    if (!fresh_304_selects(&stored, &answer)) {
        /* The 304 is about another representation. The client gets the stored one, and the next request fetches. */
        cached_purge(q->key.text, q->key.text_len);
        merged = (http_field *)(uintptr_t)stored.field;
    } else {
        merged = apr_palloc(r->pool, (stored.n + answer.n + 1) * sizeof *merged);
        q->found.stored.head.n = fresh_merge(merged, &stored, &answer, &q->policy);
        q->found.stored.head.field = merged;
        fresh_response_read(&response, &q->found.stored.head, &q->policy);
        fresh_terms_make(&terms, &response, &q->policy, q->ask.at, brg_now());
        q->found.terms = terms;
        request.method = FRESH_GET; /* a HEAD freshens the object of a GET */
        why = fresh_may_store(&request, &response, &q->policy);
        if (why == FRESH_STORE)
            validated_store(q, &terms);
        else if (why != FRESH_WHY_REQUEST_NO_STORE && why != FRESH_WHY_AUTHORIZATION)
            cached_purge(q->key.text, q->key.text_len);
    }
    q->phase = CACHED_SWALLOWS;
    cached_land(q, 0);
    *rv = APR_SUCCESS;
    if (q->stale.answered)
        return 1;
    apr_table_clear(r->headers_out);
    status = cached_serve(q, f->next, "conditional cache hit: entity refreshed", 1);
    *rv = status == OK ? APR_SUCCESS : APR_EGENERAL;
    return 1;
}
