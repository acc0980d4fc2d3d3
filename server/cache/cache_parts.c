/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with a range, from memory: one part, several, 416, or the whole where Range counts for
 * nothing. Heads come from the full way's answer to such a request: modules may treat a 206 unlike
 * a 200, and may have removed Range.
 */
#include "cache_parts_private.h"
#include "apr_date.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define PARTS_TYPE "multipart/byteranges"

cache_ranges *cache_ranges_make(cache_entry *e)
{
    if (!e->ranges)
        e->ranges = calloc(1, sizeof *e->ranges);
    return e->ranges;
}

void cache_ranges_drop(cache_entry *e)
{
    if (!e->ranges)
        return;
    cache_head_drop(&e->ranges->part);
    cache_head_drop(&e->ranges->parts);
    cache_head_drop(&e->ranges->outside);
    free(e->ranges->page);
    free(e->ranges->part_type);
    free(e->ranges);
    e->ranges = NULL;
}

int cache_is_multipart(const request_rec *r)
{
    return r->content_type && !strncmp(r->content_type, PARTS_TYPE, sizeof PARTS_TYPE - 1);
}

/* ---- choosing ---- */

enum { IF_RANGE_HOLDS, IF_RANGE_FAILS, IF_RANGE_ASK };

http_validators cache_validators_of(const cache_entry *e, const http_head *h, apr_time_t now)
{
    const char *date = e->head.answer ? e->head.answer->date : NULL;

    if (date) /* of its origin */
        now = apr_date_parse_http(date);
    return (http_validators){.tag = e->etag_len ? e->etag : NULL,
                             .modified = apr_time_from_sec(apr_time_sec(e->mtime)),
                             .now = apr_time_from_sec(apr_time_sec(now)),
                             .ranged = h->known[HTTP_F_RANGE] >= 0};
}

int cache_condition_text(char *out, const http_field *f)
{
    if (f->value_len >= CACHE_CONDITION_ROOM)
        return -1;
    memcpy(out, f->value, f->value_len);
    out[f->value_len] = '\0';
    return 0;
}

static int parts_if_range(const cache_entry *e, const http_head *h, apr_time_t now)
{
    const http_field *f = &h->field[h->known[HTTP_F_IF_RANGE]];
    const http_validators v = cache_validators_of(e, h, now);
    const int by_tag =
        f->value_len > 1 && (f->value[0] == '"' || (f->value[0] == 'W' && f->value[1] == '/'));
    char value[CACHE_CONDITION_ROOM];

    if (!(by_tag ? e->etag_len : e->last_modified_len) || cache_condition_text(value, f))
        return IF_RANGE_ASK;
    return http_if_range(&v, value) == AP_CONDITION_NOMATCH ? IF_RANGE_FAILS : IF_RANGE_HOLDS;
}

/* So much of the scratch area: all heads of parts have room behind the head of the response. */
static int parts_fit(const char *type, int n)
{
    return HTTP_HEAD_ROOM + (size_t)n * http_part_head_room(type) + http_parts_end_room() <=
           GATHER_SCRATCH - GATHER_HEAD_MAX;
}

static cache_range_verdict parts_choose(const cache_entry *e, cache_choice *out)
{
    cache_ranges *ranges = e->ranges;

    BRG_ASSERT_DEBUG(out->n > 0 && out->n <= CACHE_PARTS_MOST);
    out->head = out->n > 1 ? &ranges->parts : &ranges->part;
    if (!out->head->answer)
        return CACHE_RANGE_ASK;
    if (out->n == 1) {
        out->len = out->part->last - out->part->first + 1;
        return CACHE_RANGE_CHOSEN;
    }
    if (!parts_fit(ranges->part_type, out->n))
        return CACHE_RANGE_ASK;
    out->len = http_parts_length(ranges->part_type, out->part, out->n);
    return CACHE_RANGE_CHOSEN;
}

/* HTTP/1.0 knows no chunks. */
static cache_range_verdict outside_choose(const cache_entry *e, const http_head *h,
                                          cache_choice *out)
{
    if (!e->ranges->outside.answer || (e->ranges->page_before && h->major == 1 && h->minor == 0))
        return CACHE_RANGE_ASK;
    BRG_ASSERT(e->filled && e->ranges->page); /* cache_fill_416() */
    out->before = e->ranges->page_before;
    out->after = e->ranges->page_after;
    out->head = &e->ranges->outside;
    out->page = e->ranges->page;
    out->len = (apr_off_t)e->ranges->page_len;
    return CACHE_RANGE_CHOSEN;
}

cache_range_verdict cache_choose(const cache_entry *e, const http_head *h, const http_codec *codec,
                                 apr_time_t now, cache_choice *out)
{
    const http_field *f;
    int if_range = IF_RANGE_HOLDS;

    out->page = NULL;
    out->n = out->before = out->after = 0;
    if (h->known[HTTP_F_RANGE] < 0 || h->method_id != HTTP_METHOD_GET || e->status != HTTP_OK)
        return CACHE_RANGE_WHOLE;
    if (!e->ranges || !e->body || !codec->put_part)
        return CACHE_RANGE_ASK;
    if (h->known[HTTP_F_IF_RANGE] >= 0)
        if_range = parts_if_range(e, h, now);
    if (if_range != IF_RANGE_HOLDS)
        return if_range == IF_RANGE_FAILS ? CACHE_RANGE_WHOLE : CACHE_RANGE_ASK;
    f = &h->field[h->known[HTTP_F_RANGE]];
    switch (http_parts_read(f->value, f->value_len, e->body->len, &e->ranges->limits, out->part,
                            CACHE_PARTS_MOST, &out->n)) {
    case HTTP_PARTS_WHOLE:
        return CACHE_RANGE_WHOLE;
    case HTTP_PARTS_SOME:
        return parts_choose(e, out);
    case HTTP_PARTS_OUTSIDE:
        return outside_choose(e, h, out);
    default:
        return CACHE_RANGE_ASK;
    }
}

/* ---- sending ---- */

void cache_put_parts(response_cache *c, cache_entry *e, brg_conn *bc, const cache_choice *choice)
{
    const cache_body *b = e->body;
    const char *type = e->ranges->part_type;
    gather *g = bc->loop->out;

    BRG_ASSERT(choice->n > 1 && choice->n <= CACHE_PARTS_MOST && !choice->page);
    for (int i = 0; i < choice->n; i++) {
        const http_part *part = &choice->part[i];
        const apr_off_t len = part->last - part->first + 1;

        gather_add_head(g, http_part_head(gather_head(g), type, part));
        if (b->data) {
            cache_put_bytes(c, e, bc, part->first, (size_t)len);
        } else {
            gather_flush(g, bc, 1);
            gather_send_file(bc, &e->ref, &e->body->kept, b->fd, part->first, len, e->way);
        }
    }
    gather_add_head(g, http_parts_end(gather_head(g)));
}

/* ---- for protocols that frame bodies ---- */

/* The text between the parts, as long as it is sent. */
typedef struct parts_reply {
    shared_ref ref; /* first */
    cache_entry *e;
    cache_piece piece[]; /* 2n + 1, and the text between parts */
} parts_reply;

static void parts_reply_end(shared_ref *ref)
{
    parts_reply *p = (parts_reply *)(void *)ref;

    shared_release(&p->e->ref);
    free(p);
}

static parts_reply *parts_reply_new(cache_entry *e, int n)
{
    const size_t text =
        (size_t)n * http_part_head_room(e->ranges->part_type) + http_parts_end_room();
    parts_reply *p = malloc(sizeof *p + (2 * (size_t)n + 1) * sizeof *p->piece + text);

    if (!p)
        return NULL;
    p->ref = (shared_ref){1, parts_reply_end};
    p->e = e;
    shared_hold(&e->ref);
    return p;
}

int cache_reply_parts(cache_entry *e, const cache_choice *choice, cache_reply *reply)
{
    parts_reply *p = parts_reply_new(e, choice->n);
    cache_piece *piece;
    char *text;

    BRG_ASSERT(choice->n > 1 && choice->n <= CACHE_PARTS_MOST);
    if (!p)
        return -1;
    piece = p->piece;
    text = (char *)(piece + 2 * choice->n + 1);
    for (int i = 0; i < choice->n; i++) {
        const http_part *part = &choice->part[i];
        const size_t len = http_part_head(text, e->ranges->part_type, part);

        *piece++ = (cache_piece){.data = text, .len = len};
        *piece++ = cache_piece_of(e->body, part->first, (size_t)(part->last - part->first + 1));
        text += len;
    }
    *piece = (cache_piece){.data = text, .len = http_parts_end(text)};
    reply->owner = &p->ref;
    reply->piece = p->piece[0];
    reply->more = p->piece + 1;
    reply->more_n = 2 * (unsigned)choice->n;
    reply->len = (size_t)choice->len;
    return 0;
}
