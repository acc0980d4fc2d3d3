/* SPDX-License-Identifier: Apache-2.0 */
/* The response of a running request in parts (transport.all): heads and trailers as fields, which
 * become field blocks on the thread that runs the request, and data between them.
 *
 *   STREAM_ANSWER_HEAD   a part is a head; after 1xx the next one
 *   STREAM_ANSWER_PARTS  data, of the length that the head told if it does; a part is the end
 *   STREAM_ANSWER_OVER   the rest is dropped
 *
 * Bytes before a head are text of HTTP/1: stream_answer.c. */
#include "streams.h"
#include "http_field_traits.h"
#include "http_fields.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

/* Fields of a head that describe its body. */
static void parts_note(stream_block *b, const http_field *f)
{
    if ((f->name[0] | 0x20) != 'c')
        return;
    if (HTTP_FIELD_IS(f, "content-length")) {
        if (http_parse_length(f->value, f->value_len, &b->length))
            b->length = UINT64_MAX;
    } else if (HTTP_FIELD_IS(f, "content-type")) {
        b->urgency = stream_urgency_of_type(f->value, f->value_len);
    }
}

static void parts_free(shared_ref *ref)
{
    free(ref);
}

#define PARTS_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight characters with A to Z in lower case. */
static uint64_t parts_lower_eight(uint64_t text)
{
    const uint64_t low = text & PARTS_EACH(0x7f), from_a = low + PARTS_EACH(0x80 - 'A'),
                   behind_z = low + PARTS_EACH(0x7f - 'Z');

    return text | ((from_a ^ behind_z) & ~text & PARTS_EACH(0x80)) >> 2;
}

/* Field blocks have names in lower case: they are made so behind the block, where there is room for the next multiple of eight
 * bytes. */
static const char *parts_lower(char *to, const http_field *f)
{
    memcpy(to, f->name, f->name_len);
    for (uint32_t i = 0; i < f->name_len; i += 8) {
        uint64_t text;

        memcpy(&text, to + i, sizeof text);
        text = parts_lower_eight(text);
        memcpy(to + i, &text, sizeof text);
    }
    return to;
}

static size_t parts_room(const stream_fields *fields, size_t *longest)
{
    size_t room = STREAM_LINE_ROOM(7, 3) + STREAM_LINE_ROOM(STREAM_FIELD_ADDED, 0);

    *longest = 0;
    for (int i = 0; i < fields->n; i++) {
        const http_field *f = &fields->field[i];

        room += STREAM_LINE_ROOM(f->name_len, f->value_len);
        if (f->name_len > *longest)
            *longest = f->name_len;
    }
    return room;
}

/* A 101 to the extended CONNECT is 200 (RFC 8441, 5). @return behind the status */
static uint8_t *parts_tunnel(const http_stream *s, stream_block *b)
{
    b->is_tunnel = s->is_tunnel;
    if (b->is_tunnel)
        b->status = HTTP_OK;
    return s->session->protocol->put_status(b->data, b->status);
}

/* It answers the nonce of this server. */
static int parts_is_accept(const http_field *f)
{
    return HTTP_FIELD_IS(f, "Sec-WebSocket-Accept");
}

stream_block *stream_parts_block(const http_stream *s, const stream_fields *fields)
{
    const stream_protocol *protocol = s->session->protocol;
    size_t longest, room = parts_room(fields, &longest);
    stream_block *b = malloc(sizeof *b + room + longest + 8);
    uint8_t *p;

    if (!b)
        return NULL;
    *b = (stream_block){.ref = {1, parts_free},
                        .status = (uint16_t)fields->status,
                        .last = !fields->status || fields->is_whole,
                        .is_wanted = fields->is_wanted != 0,
                        .urgency = STREAM_URGENCY_DEFAULT,
                        .length = UINT64_MAX};
    p = fields->status ? protocol->put_status(b->data, fields->status) : b->data;
    if (fields->status == HTTP_SWITCHING_PROTOCOLS)
        p = parts_tunnel(s, b);
    for (int i = 0; i < fields->n; i++) {
        const http_field *f = &fields->field[i];

        if (!f->name_len || http_field_traits_of(f->name, f->name_len, HTTP_FIELD_OF_CONNECTION) ||
            (b->is_tunnel && parts_is_accept(f)))
            continue;
        if (fields->status)
            parts_note(b, f);
        p = protocol->put_line(p, parts_lower((char *)b->data + room, f), f->name_len, f->value,
                               f->value_len);
    }
    b->len = (uint32_t)(p - b->data);
    BRG_ASSERT(b->len <= room);
    return b;
}

shared_ref *stream_parts_encode(brg_conn *bc, const stream_fields *fields)
{
    stream_block *b = stream_parts_block(bc->below, fields);

    return b ? &b->ref : NULL;
}

size_t stream_parts_add(brg_conn *bc, shared_ref *part, const http_field *f)
{
    const http_stream *s = bc->below;
    stream_block *b = (stream_block *)(void *)part;
    char name[STREAM_FIELD_ADDED + 8];

    if (!f)
        return b->len;
    BRG_ASSERT(b->status && f->name_len + f->value_len <= STREAM_FIELD_ADDED);
    parts_note(b, f);
    b->len = (uint32_t)(s->session->protocol->put_line(b->data + b->len, parts_lower(name, f),
                                                       f->name_len, f->value, f->value_len) -
                        b->data);
    return b->len;
}

/* ---- under the session's lock ---- */

static void parts_begin_body(http_stream *s, stream_block *b)
{
    stream_pipe *p = s->pipe;
    stream_answer *a = &p->answer;

    if (s->is_head || b->status == 204 || b->status == 304)
        b->last = 1;
    a->left = b->length;
    a->state = b->last        ? STREAM_ANSWER_OVER
               : b->is_tunnel ? STREAM_ANSWER_TO_END
                              : STREAM_ANSWER_PARTS;
    p->over = b->last;
    p->ranked = 1;
    p->urgency = b->urgency;
    p->length = b->length;
    stream_rank_told(s);
}

int stream_parts_head(http_stream *s, stream_block *b)
{
    stream_pipe *p = s->pipe;

    if (p->answer.head_len || b->len > (uint32_t)s->session->terms.max_block)
        return -1;
    if (s->is_tunnel && !b->is_tunnel && b->status >= 200 && b->status < 300)
        return -1; /* the client would take it for a tunnel */
    if (b->status == 103 && !b->is_wanted && !s->session->terms.early_hints) {
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

int stream_parts_end(http_stream *s, stream_block *b)
{
    stream_pipe *p = s->pipe;

    BRG_ASSERT(!p->trailers && !p->over);
    if (p->answer.left && p->answer.left != UINT64_MAX)
        return -1;
    if (b && b->len)
        p->trailers = b;
    else if (b)
        shared_release(&b->ref);
    p->answer.state = STREAM_ANSWER_OVER;
    p->over = 1;
    return 0;
}

ssize_t stream_parts_put(http_stream *s, shared_ref *part)
{
    stream_block *b = (stream_block *)(void *)part;
    stream_answer *a = &s->pipe->answer;
    const ssize_t counts = b ? b->len : 0;
    int rc = -1;

    if (a->state == STREAM_ANSWER_OVER) {
        if (b)
            shared_release(&b->ref);
        return 0;
    }
    if (a->state == STREAM_ANSWER_HEAD && b && b->status)
        rc = stream_parts_head(s, b);
    else if (a->state == STREAM_ANSWER_PARTS && (!b || !b->status))
        rc = stream_parts_end(s, b);
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
    stream_chunk *c = (stream_chunk *)(void *)ref;

    if (c->given)
        c->given_end(c->given);
    free(c);
}

stream_chunk *stream_chunk_new(size_t cap)
{
    stream_chunk *c = malloc(sizeof *c + cap);

    if (!c)
        return NULL;
    *c = (stream_chunk){.ref = {1, chunk_end}, .cap = (uint32_t)cap};
    c->data = c->own;
    return c;
}

stream_chunk *stream_chunk_of(void *base, void (*end)(void *), const char *data, size_t len)
{
    stream_chunk *c = malloc(sizeof *c);

    BRG_ASSERT(base && end && len > 0 && len <= UINT32_MAX);
    if (c)
        *c = (stream_chunk){.ref = {1, chunk_end},
                            .len = (uint32_t)len,
                            .cap = (uint32_t)len,
                            .data = (uint8_t *)(uintptr_t)data,
                            .given = base,
                            .given_end = end};
    return c;
}

size_t stream_answer_room(const http_stream *s, size_t len, int *own)
{
    const stream_chunk *last = s->pipe->out_last;
    const uint32_t left = last ? last->cap - last->len : 0;

    *own = 0;
    if (!stream_pipe_has_room(s))
        return 0;
    if (len <= left)
        return len;
    *own = 1;
    return len < STREAM_CHUNK ? len : STREAM_CHUNK;
}

/* The chunk that was kept to be filled further. */
static void answer_drop_sent(stream_pipe *p)
{
    stream_chunk *sent = p->out;

    BRG_ASSERT(sent == p->out_last && !sent->next);
    p->out = p->out_last = NULL;
    shared_release(&sent->ref);
}

size_t stream_answer_add(http_stream *s, stream_chunk *c)
{
    stream_pipe *p = s->pipe;
    stream_answer *a = &p->answer;
    const uint32_t len = c->len;

    BRG_ASSERT(a->state == STREAM_ANSWER_PARTS && !c->next && !c->off && len);
    if (a->left < len)
        c->len = (uint32_t)a->left;
    if (a->left != UINT64_MAX)
        a->left -= c->len;
    if (!c->len) {
        shared_release(&c->ref);
        return len;
    }
    if (p->out &&
        p->out->off == p->out->len) /* sent, and not filled further: nothing would pass it */
        answer_drop_sent(p);
    if (p->out_last)
        p->out_last->next = c;
    else
        p->out = c;
    p->out_last = c;
    p->out_bytes += c->len;
    s->session->out_bytes += c->len;
    return len;
}
