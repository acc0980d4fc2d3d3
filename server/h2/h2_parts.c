/* SPDX-License-Identifier: Apache-2.0 */
/* The response of a running request in parts (transport.h): heads and trailers as fields, which become field blocks on the
 * thread that runs the request, and data between them.
 *
 *   H2_ANSWER_HEAD   a part is a head; after 1xx the next one
 *   H2_ANSWER_PARTS  data, of the length that the head told if it does; a part is the end
 *   H2_ANSWER_OVER   what still comes is dropped
 *
 * Bytes before a head are text of HTTP/1: h2_answer.c. */
#include "h2_private.h"
#include "hpack_encode.h"
#include "http_fields.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int parts_is(const http_field *f, const char *name, size_t len)
{
    return f->name_len == len && !strncasecmp(f->name, name, len);
}

#define PARTS_IS(f, name) parts_is(f, name, sizeof(name) - 1)

/* Fields of one connection: RFC 9113, 8.2.2. */
static int parts_leave_out(const http_field *f)
{
    switch (f->name[0] | 0x20) {
    case 'c':
        return PARTS_IS(f, "connection");
    case 'k':
        return PARTS_IS(f, "keep-alive");
    case 'p':
        return PARTS_IS(f, "proxy-connection");
    case 't':
        return PARTS_IS(f, "transfer-encoding");
    case 'u':
        return PARTS_IS(f, "upgrade");
    default:
        return 0;
    }
}

/* What a head says of its body. */
static void parts_note(h2_block *b, const http_field *f)
{
    if ((f->name[0] | 0x20) != 'c')
        return;
    if (PARTS_IS(f, "content-length")) {
        if (http_parse_length(f->value, f->value_len, &b->length))
            b->length = UINT64_MAX;
    } else if (PARTS_IS(f, "content-type")) {
        b->urgency = h2_urgency_of_type(f->value, f->value_len);
    }
}

static void parts_free(shared_ref *ref)
{
    free(ref);
}

/* HPACK has names in lower case: they are made so behind the block, where there is room. */
static const char *parts_lower(char *to, const http_field *f)
{
    for (uint32_t i = 0; i < f->name_len; i++)
        to[i] = f->name[i] >= 'A' && f->name[i] <= 'Z' ? (char)(f->name[i] | 0x20) : f->name[i];
    return to;
}

static size_t parts_room(const stream_fields *fields, size_t *longest)
{
    size_t room = HPACK_LINE_ROOM(7, 3);

    *longest = 0;
    for (int i = 0; i < fields->n; i++) {
        const http_field *f = &fields->field[i];

        room += HPACK_LINE_ROOM(f->name_len, f->value_len);
        if (f->name_len > *longest)
            *longest = f->name_len;
    }
    return room;
}

/* A 101 to the extended CONNECT is 200 (RFC 8441, 5). @return behind the status */
static uint8_t *parts_tunnel(const brg_conn *bc, h2_block *b)
{
    const h2_stream *s = bc->below;

    b->is_tunnel = s->is_tunnel;
    if (b->is_tunnel)
        b->status = HTTP_OK;
    return hpack_put_status(b->data, b->status);
}

/* It answers the nonce of this server. */
static int parts_is_accept(const http_field *f)
{
    return f->name_len == 20 && !strncasecmp(f->name, "Sec-WebSocket-Accept", 20);
}

shared_ref *h2_parts_encode(brg_conn *bc, const stream_fields *fields)
{
    size_t longest, room = parts_room(fields, &longest);
    h2_block *b = malloc(sizeof *b + room + longest);
    uint8_t *p;

    if (!b)
        return NULL;
    *b = (h2_block){.ref = {1, parts_free},
                    .status = (uint16_t)fields->status,
                    .last = !fields->status || fields->is_whole,
                    .urgency = H2_URGENCY_DEFAULT,
                    .length = UINT64_MAX};
    p = fields->status ? hpack_put_status(b->data, fields->status) : b->data;
    if (fields->status == HTTP_SWITCHING_PROTOCOLS)
        p = parts_tunnel(bc, b);
    for (int i = 0; i < fields->n; i++) {
        const http_field *f = &fields->field[i];

        if (!f->name_len || parts_leave_out(f) || (b->is_tunnel && parts_is_accept(f)))
            continue;
        if (fields->status)
            parts_note(b, f);
        p = hpack_put_line(p, parts_lower((char *)b->data + room, f), f->name_len, f->value,
                           f->value_len, 0);
    }
    b->len = (uint32_t)(p - b->data);
    BRG_ASSERT(b->len <= room);
    return &b->ref;
}

/* ---- under the session's lock ---- */

static void parts_begin_body(h2_stream *s, h2_block *b)
{
    h2_pipe *p = s->pipe;
    h2_answer *a = &p->answer;

    if (s->is_head || b->status == 204 || b->status == 304)
        b->last = 1;
    a->left = b->length;
    a->state = b->last ? H2_ANSWER_OVER : b->is_tunnel ? H2_ANSWER_TO_END : H2_ANSWER_PARTS;
    p->over = b->last;
    p->ranked = s->session->unranked = 1;
    p->urgency = b->urgency;
    p->length = b->length;
}

/* @return 0; -1: it cannot be sent */
static int parts_take_head(h2_stream *s, h2_block *b)
{
    h2_pipe *p = s->pipe;

    if (p->answer.head_len || b->len > (uint32_t)s->session->conf.max_block)
        return -1;
    if (s->is_tunnel && !b->is_tunnel && b->status >= 200 && b->status < 300)
        return -1; /* the client would take it for a tunnel */
    if (b->status == 103 && !s->session->conf.early_hints) {
        shared_release(&b->ref);
        return 0;
    }
    if (b->status >= 200)
        parts_begin_body(s, b);
    BRG_ASSERT(!*p->blocks_tail && !b->next);
    *p->blocks_tail = b;
    p->blocks_tail = &b->next;
    return 0;
}

/* A response without what it announced is none. */
static int parts_take_end(h2_stream *s, h2_block *b)
{
    h2_pipe *p = s->pipe;

    BRG_ASSERT(!p->trailers && !p->over);
    if (p->answer.left && p->answer.left != UINT64_MAX)
        return -1;
    if (b && b->len)
        p->trailers = b;
    else if (b)
        shared_release(&b->ref);
    p->answer.state = H2_ANSWER_OVER;
    p->over = 1;
    return 0;
}

ssize_t h2_parts_put(h2_stream *s, shared_ref *part)
{
    h2_block *b = (h2_block *)(void *)part;
    h2_answer *a = &s->pipe->answer;
    const ssize_t counts = b ? b->len : 0;
    int rc = -1;

    if (a->state == H2_ANSWER_OVER) {
        if (b)
            shared_release(&b->ref);
        return 0;
    }
    if (a->state == H2_ANSWER_HEAD && b && b->status)
        rc = parts_take_head(s, b);
    else if (a->state == H2_ANSWER_PARTS && (!b || !b->status))
        rc = parts_take_end(s, b);
    if (!rc)
        return counts;
    if (b)
        shared_release(&b->ref);
    a->bad = 1;
    return -1;
}

/* ---- pieces of data ---- */

static void chunk_end(shared_ref *ref)
{
    h2_chunk *c = (h2_chunk *)(void *)ref;

    free(c->given);
    free(c);
}

h2_chunk *h2_chunk_new(size_t cap)
{
    h2_chunk *c = malloc(sizeof *c + cap);

    if (!c)
        return NULL;
    *c = (h2_chunk){.ref = {1, chunk_end}, .cap = (uint32_t)cap};
    c->data = c->own;
    return c;
}

h2_chunk *h2_chunk_of(void *base, const char *data, size_t len)
{
    h2_chunk *c = malloc(sizeof *c);

    BRG_ASSERT(len > 0 && len <= UINT32_MAX);
    if (c)
        *c = (h2_chunk){.ref = {1, chunk_end},
                        .len = (uint32_t)len,
                        .cap = (uint32_t)len,
                        .data = (uint8_t *)(uintptr_t)data,
                        .given = base};
    return c;
}

size_t h2_answer_room(const h2_stream *s, size_t len, int *own)
{
    const h2_chunk *last = s->pipe->out_last;
    const uint32_t left = last ? last->cap - last->len : 0;

    *own = 0;
    if (!h2_pipe_has_room(s))
        return 0;
    if (len <= left)
        return len;
    *own = 1;
    return len < H2_CHUNK ? len : H2_CHUNK;
}

size_t h2_answer_add(h2_stream *s, h2_chunk *c)
{
    h2_pipe *p = s->pipe;
    h2_answer *a = &p->answer;
    const uint32_t len = c->len;

    BRG_ASSERT(a->state == H2_ANSWER_PARTS && !c->next && !c->off && len);
    if (a->left < len)
        c->len = (uint32_t)a->left;
    if (a->left != UINT64_MAX)
        a->left -= c->len;
    if (!c->len) {
        shared_release(&c->ref);
        return len;
    }
    if (p->out_last)
        p->out_last->next = c;
    else
        p->out = c;
    p->out_last = c;
    p->out_bytes += c->len;
    s->session->out_bytes += c->len;
    return len;
}
