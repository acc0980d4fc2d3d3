/* SPDX-License-Identifier: Apache-2.0 */
/* Under which head, and under which key, an answer is stored. */
#include "cached_save_private.h"
#include "cached_litespeed_private.h"
#include "apr_strings.h"
#include "fresh_vary.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_protocol.h"
#include "util_time.h"

static apr_table_t *save_table(request_rec *r)
{
    apr_table_t *t = apr_table_overlay(r->pool, r->headers_out, r->err_headers_out);
    const char *type = r->content_type ? ap_make_content_type(r, r->content_type) : NULL;

    if (type)
        apr_table_setn(t, "Content-Type", type);
    if (r->content_encoding)
        apr_table_setn(t, "Content-Encoding", r->content_encoding);
    if (!apr_table_get(t, "Date")) {
        char *date = apr_palloc(r->pool, APR_RFC822_DATE_LEN);

        ap_recent_rfc822_date(date, brg_now());
        apr_table_setn(t, "Date", date);
    }
    return t;
}

uint32_t cached_response_fields(request_rec *r, http_field **field)
{
    return cached_fields(r->pool, save_table(r), field);
}

void cached_head_fill(cached_request *q, store_head *head, const fresh_terms *terms,
                      const char *bytes, uint32_t len, const fresh_head *fields)
{
    uint64_t *marks = apr_palloc(q->r->pool, CACHED_MARKS * sizeof *marks);

    *head = (store_head){.key = q->key.hash,
                         .text = q->key.text,
                         .text_len = q->key.text_len,
                         .terms = terms,
                         .head = bytes,
                         .head_len = len,
                         .marks = marks,
                         .marks_n = cached_marks(q, fields, marks),
                         .length = STORE_LENGTH_UNKNOWN,
                         .epoch = q->ask.epoch};
    BRG_ASSERT(head->marks_n <= CACHED_MARKS);
}

/* ---- variants ---- */

int cached_save_rule(const cached_request *q, const store_head *head)
{
    const char *why;
    store_writer *w;
    int stored = 0;

    BRG_ASSERT(head->vary && !head->length);
    cached_lock(q->save.place);
    w = store_write_begin(cached_reader(q->save.place), head, 0, &why);
    if (w)
        stored = store_write_end(&w) == APR_SUCCESS;
    cached_unlock(q->save.place);
    return stored;
}

/* Under the key itself lie the names of the fields that tell variants apart. @return 0: it was not stored */
static int save_names(cached_request *q, const char *names, uint32_t len)
{
    static const char none[STORE_TERMS];
    const store_head head = {.key = q->key.hash,
                             .text = q->key.text,
                             .text_len = q->key.text_len,
                             .terms = none,
                             .head = names,
                             .head_len = len,
                             .vary = 1,
                             .length = 0,
                             .epoch = q->ask.epoch};

    return cached_save_rule(q, &head);
}

/* The lead for the key becomes one for the variant. Requests that wait for another variant begin anew. */
static void save_lead_variant(cached_request *q)
{
    uint32_t flight = 0;

    BRG_ASSERT(q->key.has_variant);
    if (!q->lead.flight || (q->lead.key.a == q->key.variant.a && q->lead.key.b == q->key.variant.b))
        return;
    if (store_flight_begin(cached_reader(q->save.place), &q->key.variant,
                           store_mark_of_key(&q->key.hash), brg_now(), &flight) != STORE_LEAD)
        flight = 0;
    cached_land(q, 0);
    q->lead.flight = flight;
    q->lead.key = q->key.variant;
    if (flight)
        cached_stay(q, 1);
}

int cached_save_variant(cached_request *q, const fresh_response *response, store_head *head)
{
    fresh_text names = {.room = FRESH_VARY_TEXT}, text = {.room = FRESH_VARIANT_MOST};

    q->key.has_variant = 0;
    q->key.names = NULL;
    if (!response->has_vary && !(q->ls && q->ls->cookies))
        return 1;
    names.at = apr_palloc(q->r->pool, names.room);
    text.at = apr_palloc(q->r->pool, text.room);
    if (fresh_vary_names(&names, &response->head))
        return 0;
    if (q->ls && q->ls->cookies)
        cached_ls_vary_names(&names, q->ls->cookies);
    if (names.over)
        return 0;
    if (!names.len)
        return 1;
    fresh_variant(&text, names.at, names.len, &q->request.head);
    if (text.over || !save_names(q, names.at, (uint32_t)names.len))
        return 0;
    q->key.has_variant = 1;
    q->key.names = apr_pstrmemdup(q->r->pool, names.at, names.len);
    q->key.variant_text = text.at;
    q->key.variant_text_len = (uint32_t)text.len;
    q->key.variant = store_key_of(cached_store(), q->key.text, q->key.text_len, text.at, text.len);
    head->key = q->key.variant;
    head->mark = store_mark_of_key(&q->key.hash);
    save_lead_variant(q);
    return 1;
}
