/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a representation (RFC 9111, 3.3 and 3.4). A 206 is stored, and so are the bytes that came of a 200 that was cut. A stored part
 * answers ranges that lie within it. Another part that touches it, with the same strong tag, is joined to it. For a request for the
 * whole the rest is fetched.
 */
#include "cached_part_private.h"
#include "cached_save_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_condition.h"
#include "http_part.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_date.h"
#include "apr_strings.h"
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(cache);

#define PART_COPY_MOST (4u << 20) /* bytes that are copied to join parts, in one go */
#define PART_CUT_LEAST 4096       /* fewer bytes of a 200 are not worth a request for the rest */
#define PART_VAIN 1024            /* keys whose origin does not send the rest */

static _Atomic uint64_t part_vain[PART_VAIN]; /* of this process */

static uint64_t part_length(const fresh_range *range)
{
    return range->last - range->first + 1;
}

/* ---- looking up ---- */

static char *part_text(const cached_request *q, const fresh_range *range)
{
    const http_part part = {(apr_off_t)range->first, (apr_off_t)range->last,
                            (apr_off_t)q->found.part.total};
    char *text = apr_palloc(q->r->pool, HTTP_PART_ROOM);

    http_part_text(text, &part);
    return text;
}

static int part_content_range(const fresh_head *head, fresh_range *range, uint64_t *total)
{
    const http_field *f = FRESH_FIND(head, "content-range");

    return f && !fresh_content_range(f->value, f->value_len, range, total);
}

/* 1 if Content-Range says as many bytes as there are. */
static int part_is_sound(cached_request *q)
{
    uint64_t length;

    return part_content_range(&q->found.stored.head, &q->found.part.range, &q->found.part.total) &&
           q->found.part.total != FRESH_LENGTH_UNKNOWN &&
           store_view_state(&q->found.view, &length) == STORE_COMPLETE &&
           length == part_length(&q->found.part.range);
}

static int part_has_conditions(const fresh_request *w)
{
    return w->if_none_match || w->if_modified_since || w->if_match || w->if_unmodified_since;
}

static int part_is_meant(const fresh_request *w, const fresh_head *stored)
{
    const http_field *tag = FRESH_FIND(stored, "etag"), *date = FRESH_FIND(stored, "date"),
                     *modified = FRESH_FIND(stored, "last-modified");
    const http_validators v = {.tag = tag ? tag->value : NULL,
                               .modified = modified ? apr_date_parse_http(modified->value) : 0,
                               .now = date ? apr_date_parse_http(date->value) : 0,
                               .ranged = 1};

    return !w->if_range || http_if_range(&v, w->if_range->value) != AP_CONDITION_NOMATCH;
}

/* One range that lies within it, and If-Range, if there is one, names it. */
static int part_answers(cached_request *q)
{
    const fresh_request *w = &q->request;
    http_part_limits limits;
    http_part wanted;
    int n;

    http_part_limits_of(&limits, q->r);
    if (!fresh_is_get(w) || !w->range || part_has_conditions(w) ||
        !part_is_meant(w, &q->found.stored.head) ||
        http_parts_read(w->range->value, w->range->value_len, (apr_off_t)q->found.part.total,
                        &limits, &wanted, 1, &n) != HTTP_PARTS_SOME ||
        memchr(w->range->value, ',', w->range->value_len) ||
        (uint64_t)wanted.first < q->found.part.range.first ||
        (uint64_t)wanted.last > q->found.part.range.last)
        return 0;
    q->found.part.wanted = (fresh_range){(uint64_t)wanted.first, (uint64_t)wanted.last};
    return 1;
}

void cached_part_drop(cached_request *q)
{
    store_release(&q->found.part.view);
    q->found.part.serves = 0;
}

int cached_part_found(cached_request *q, const store_key *key)
{
    cached_part *part = &q->found.part;

    BRG_ASSERT(q->found.view.reader && !part->view.reader &&
               (q->found.terms.flags & FRESH_T_PARTIAL));
    if (!part_is_sound(q)) {
        store_release(&q->found.view);
        return 0;
    }
    if ((q->found.use == FRESH_SERVE || q->found.use == FRESH_SERVE_STALE) && part_answers(q)) {
        part->serves = 1;
        return 1;
    }
    part->view = q->found.view;
    part->head = q->found.stored;
    part->key = *key;
    q->found.view.reader = NULL;
    q->found.soft = 0;
    return 0;
}

uint64_t cached_part_apply(cached_request *q, uint64_t *begin)
{
    request_rec *r = q->r;
    const fresh_range *wanted = &q->found.part.wanted;

    BRG_ASSERT(wanted->first >= q->found.part.range.first &&
               wanted->last <= q->found.part.range.last);
    apr_table_setn(r->headers_out, "Content-Range", part_text(q, wanted));
    *begin = wanted->first - q->found.part.range.first;
    return part_length(wanted);
}

/* ---- asking for the rest ---- */

/* Its origin says that it sends ranges, and did so when it was asked last. A part alone does not show that: clients can cause parts. */
static int part_may_be_asked(const cached_request *q)
{
    const http_field *f = FRESH_FIND(&q->found.part.head.head, "accept-ranges");
    const uint64_t vain =
        atomic_load_explicit(&part_vain[q->found.part.key.b % PART_VAIN], memory_order_relaxed);

    return f && f->value_len == 5 && !strncasecmp(f->value, "bytes", 5) &&
           vain != (q->found.part.key.a | 1);
}

static const char *part_tag(const cached_request *q)
{
    const http_field *f = FRESH_FIND(&q->found.part.head.head, "etag");

    /* Combined with itself: it has a tag, and a strong one. */
    return f && fresh_parts_combine(&q->found.part.head.head, &q->found.part.head.head)
               ? apr_pstrmemdup(q->r->pool, f->value, f->value_len)
               : NULL;
}

void cached_ask_rest(cached_request *q)
{
    const fresh_request *w = &q->request;
    cached_part *part = &q->found.part;
    const char *tag;

    if (!part->view.reader || part->asked_rest || q->ask.put_away || !fresh_is_get(w) || w->range ||
        part_has_conditions(w) || (w->cc.has & FRESH_CC_NO_CACHE) || part->range.first ||
        part_length(&part->range) > PART_COPY_MOST || !part_may_be_asked(q) || !(tag = part_tag(q)))
        return;
    part->asked_rest = 1;
    q->ask.forward = FRESH_FWD_PARTIAL;
    apr_table_setn(q->r->headers_in, "Range",
                   apr_psprintf(q->r->pool, "bytes=%" APR_UINT64_T_FMT "-", part->range.last + 1));
    apr_table_setn(q->r->headers_in, "If-Range", tag);
}

void cached_rest_restore(cached_request *q)
{
    if (!q->found.part.asked_rest)
        return;
    apr_table_unset(q->r->headers_in, "Range");
    apr_table_unset(q->r->headers_in, "If-Range");
}

static int part_is_rest(const cached_request *q, const fresh_head *answer)
{
    const cached_part *part = &q->found.part;
    fresh_range rest;
    uint64_t total;

    return part_content_range(answer, &rest, &total) && rest.first == part->range.last + 1 &&
           total == part->total && rest.last + 1 == total &&
           fresh_parts_combine(&part->head.head, answer);
}

/* Fields of the stored part that the head of the rest need not repeat: RFC 9110, 15.3.7. */
static void part_fields_apply(cached_request *q)
{
    request_rec *r = q->r;
    const fresh_head *head = &q->found.part.head.head;

    for (uint32_t i = 0; i < head->n; i++) {
        const http_field *f = head->field + i;

        if (!strcasecmp(f->name, "Content-Type"))
            ap_set_content_type(r, f->value);
        else if (!strcasecmp(f->name, "Content-Encoding"))
            r->content_encoding = f->value;
        else if (!apr_table_get(r->headers_out, f->name))
            apr_table_setn(r->headers_out, f->name, f->value);
    }
}

int cached_rest_came(cached_request *q, const fresh_head *answer, apr_bucket_brigade *in)
{
    request_rec *r = q->r;
    cached_part *part = &q->found.part;

    BRG_ASSERT(part->asked_rest && part->view.reader);
    part->asked_rest = 0;
    if (r->status != HTTP_PARTIAL_CONTENT && r->status != HTTP_RANGE_NOT_SATISFIABLE)
        return 0;
    if (r->status != HTTP_PARTIAL_CONTENT || !part_is_rest(q, answer)) {
        atomic_store_explicit(&part_vain[part->key.b % PART_VAIN], part->key.a | 1,
                              memory_order_relaxed);
        return -1;
    }
    r->status = HTTP_OK;
    r->status_line = NULL;
    part_fields_apply(q);
    apr_table_unset(r->headers_out, "Content-Range");
    ap_set_content_length(r, (apr_off_t)part->total);
    APR_BRIGADE_INSERT_HEAD(
        in, cached_bucket(&part->view, 0, part_length(&part->range), r->connection->bucket_alloc));
    return 0;
}

/* ---- storing ---- */

/* 1 if the part that came touches the stored one, or overlaps it. Sets how many stored bytes are written before and behind. */
static int part_joins(cached_request *q, const fresh_range *came, uint64_t total,
                      const fresh_head *answer)
{
    cached_part *part = &q->found.part;
    const fresh_range *has = &part->range;

    if (total != part->total || part_length(has) > PART_COPY_MOST || came->first > has->last + 1 ||
        has->first > came->last + 1 || !fresh_parts_combine(&part->head.head, answer))
        return 0;
    part->before = came->first > has->first ? came->first - has->first : 0;
    part->behind = has->last > came->last ? has->last - came->last : 0;
    return 1;
}

const char *cached_part_refused(cached_request *q, const fresh_head *answer, uint64_t length)
{
    cached_part *part = &q->found.part;
    fresh_range came;
    uint64_t total;

    part->before = part->behind = 0;
    part->joins = 0;
    if (q->found.view.reader)
        return "a part of what is stored as a whole";
    if (!part_content_range(answer, &came, &total) || total == FRESH_LENGTH_UNKNOWN ||
        length != part_length(&came))
        return "its Content-Range does not say what it has";
    part->joins = part->view.reader && part_joins(q, &came, total, answer);
    if (q->request.if_range && !part->joins) /* RFC 9110, 15.3.7: the client has the others */
        return "a part for If-Range may lack fields";
    if (part->view.reader && !part->joins && part_length(&part->range) > length &&
        fresh_parts_combine(&part->head.head, answer))
        return "a larger part is stored";
    part->range = came;
    part->total = total;
    return NULL;
}

static void part_set_field(http_field *field, uint32_t *n, const char *name, const char *value)
{
    const size_t len = strlen(name);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < *n; i++)
        if (field[i].name_len != len || strncasecmp(field[i].name, name, len) != 0)
            field[kept++] = field[i];
    if (value)
        field[kept++] = (http_field){.name = name,
                                     .name_len = (uint32_t)len,
                                     .value = value,
                                     .value_len = (uint32_t)strlen(value)};
    *n = kept;
}

uint32_t cached_part_fields(cached_request *q, const fresh_head *answer, http_field **field)
{
    const fresh_head *has = &q->found.part.head.head;

    *field = apr_palloc(q->r->pool, (has->n + answer->n + 2) * sizeof **field);
    return fresh_merge(*field, has, answer, &q->policy);
}

void cached_part_head(cached_request *q, http_field *field, uint32_t *n, fresh_terms *terms,
                      uint64_t *length)
{
    const cached_part *part = &q->found.part;
    const fresh_range all = {part->range.first - part->before, part->range.last + part->behind};
    const int whole = !all.first && all.last + 1 == part->total;

    *length = part_length(&all);
    part_set_field(field, n, "Content-Range", whole ? NULL : part_text(q, &all));
    part_set_field(field, n, "Content-Length",
                   apr_psprintf(q->r->pool, "%" APR_UINT64_T_FMT, *length));
    if (!whole)
        return;
    terms->code = HTTP_OK;
    terms->flags &= (uint16_t)~FRESH_T_PARTIAL;
}

/* @a n bytes of a view from @a from on, into the writer. */
static int part_copy(cached_request *q, const store_view *view, uint64_t from, uint64_t n)
{
    int failed = 0;

    BRG_ASSERT(q->save.writer && n <= PART_COPY_MOST);
    cached_lock(q->save.place);
    while (n && !failed) {
        const char *p;
        int lost;
        size_t has = store_body(view, from, &p, &lost);

        has = has < n ? has : (size_t)n;
        failed = !has || store_write(q->save.writer, p, has);
        from += has;
        n -= has;
    }
    cached_unlock(q->save.place);
    return failed ? -1 : 0;
}

int cached_part_before(cached_request *q)
{
    q->save.written += q->found.part.before;
    return q->found.part.before ? part_copy(q, &q->found.part.view, 0, q->found.part.before) : 0;
}

int cached_part_behind(cached_request *q)
{
    uint64_t length;

    if (!q->found.part.behind)
        return 0;
    (void)store_view_state(&q->found.part.view, &length);
    q->save.written += q->found.part.behind;
    return part_copy(q, &q->found.part.view, length - q->found.part.behind, q->found.part.behind);
}

/* ---- an answer that was cut ---- */

/* Its stored head, as that of a 206. @return 0: that may not be */
static int part_of_cut(cached_request *q, const store_view *cut, uint64_t length, store_head *head)
{
    const char *bytes = apr_pmemdup(q->r->pool, cut->head, cut->head_len);
    cached_part *part = &q->found.part;
    fresh_terms *terms = apr_palloc(q->r->pool, sizeof *terms);
    http_field *field;
    cached_head read;
    uint32_t n, len;

    memcpy(terms, cut->terms, sizeof *terms);
    if (terms->code != HTTP_OK || cached_head_read(q->r->pool, bytes, cut->head_len, &read) ||
        !fresh_parts_combine(&read.head, &read.head))
        return 0;
    cached_part_drop(q);
    *part = (cached_part){.range = {0, length - 1}, .total = q->save.length};
    n = read.head.n;
    field = apr_palloc(q->r->pool, (n + 2) * sizeof *field);
    memcpy(field, read.head.field, n * sizeof *field);
    terms->code = HTTP_PARTIAL_CONTENT;
    terms->flags |= FRESH_T_PARTIAL;
    cached_part_head(q, field, &n, terms, &length);
    bytes = cached_head_write(q->r->pool, NULL, field, n, &len);
    cached_head_fill(q, head, terms, bytes, len, &(fresh_head){.field = field, .n = n});
    head->length = length;
    if (q->key.has_variant) {
        head->key = q->key.variant;
        head->mark = store_mark_of_key(&q->key.hash);
    }
    return 1;
}

void cached_part_keep(cached_request *q)
{
    store_view cut = {0};
    store_head head;
    uint64_t length = 0;
    const char *why;
    int open = q->save.length != STORE_LENGTH_UNKNOWN && store_write_view(q->save.writer, &cut);

    if (open)
        (void)store_view_state(&cut, &length);
    cached_lock(q->save.place);
    store_write_give_up(&q->save.writer);
    cached_unlock(q->save.place);
    if (open && length >= PART_CUT_LEAST && length <= PART_COPY_MOST && length < q->save.length &&
        part_of_cut(q, &cut, length, &head)) {
        cached_lock(q->save.place);
        q->save.writer = store_write_begin(cached_reader(q->save.place), &head, 0, &why);
        cached_unlock(q->save.place);
        if (q->save.writer && part_copy(q, &cut, 0, length) == 0) {
            cached_lock(q->save.place);
            (void)store_write_end(&q->save.writer);
            cached_unlock(q->save.place);
            ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, q->r,
                          "cache: %" APR_UINT64_T_FMT " of %" APR_UINT64_T_FMT
                          " bytes are stored of an answer that was cut",
                          length, q->save.length);
        } else if (q->save.writer) {
            cached_lock(q->save.place);
            store_write_give_up(&q->save.writer);
            cached_unlock(q->save.place);
        }
    }
    store_release(&cut);
}
