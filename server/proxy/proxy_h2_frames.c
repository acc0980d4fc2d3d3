/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends: the frames that come, heads and bodies. Each stream gets its own frames. An
 * error of the connection ends all streams, an error of a stream that one. Source: RFC 9113, 4.3, 5.1, 6. */
#include "proxy_h2_private.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <stdlib.h>
#include <string.h>

/* A stream that was opened and has ended since. */
static int frames_is_past(const h2c_session *s, uint32_t id)
{
    return (id & 1) && id < s->next;
}

/* ---- heads ---- */

static int block_is_interim(const http_field_block *list)
{
    const http_field *f = list->field;

    return list->n && f->name_len == 7 && !memcmp(f->name, ":status", 7) && f->value_len == 3 &&
           *f->value == '1';
}

/* A copy of exactly its size. */
static h2c_block *block_copy(const http_field_block *list)
{
    apr_size_t text = 0;
    h2c_block *b;
    char *to;

    for (uint32_t i = 0; i < list->n; i++)
        text += (apr_size_t)list->field[i].name_len + list->field[i].value_len;
    b = malloc(sizeof *b + list->n * sizeof *b->field + text);
    if (!b)
        return NULL;
    BRG_ASSERT(!list->cut && list->n <= H2C_FIELDS_MOST);
    b->next = NULL;
    b->n = list->n;
    to = (char *)(b->field + b->n);
    for (uint32_t i = 0; i < list->n; i++) {
        const http_field *f = &list->field[i];

        b->field[i] = (http_field){to, to + f->name_len, f->name_len, f->value_len, HTTP_F_OTHER};
        memcpy(to, f->name, f->name_len);
        memcpy(to + f->name_len, f->value, f->value_len);
        to += f->name_len + f->value_len;
    }
    return b;
}

static void block_for(h2c_session *s, h2c_stream *st, const http_field_block *list)
{
    const int ends = (s->block.flags & H2_END_STREAM) != 0;
    h2c_block *b;

    if (st->bad || st->over)
        return;
    if (list->cut) {
        h2c_stream_fault(st, "the head is too large");
        return;
    }
    if (st->blocks_n > EXCHANGE_INTERIM_MOST + 1) {
        h2c_stream_fault(st, "too many interim answers");
        return;
    }
    if (!(b = block_copy(list))) {
        h2c_stream_fault(st, "no memory");
        return;
    }
    if (st->headed && !ends)
        h2c_stream_fault(st, "trailers that end nothing");
    if (!st->headed)
        st->headed = !block_is_interim(list);
    BRG_ASSERT(!*st->blocks_last); /* behind those that its exchange has not taken */
    *st->blocks_last = b;
    st->blocks_last = &b->next;
    st->blocks_n++;
    st->x->attempt.got += s->block.len;
    st->over = (uint8_t)ends;
    if (st->over && !st->headed)
        h2c_stream_fault(st, "the stream ended without an answer");
    h2c_stream_wake(st);
}

/* All blocks are decoded, also those of streams that are gone: the table of HPACK depends on each. */
static void block_done(h2c_session *s, uint32_t id)
{
    h2c_stream *st = h2c_stream_find(s, id);
    char *text = malloc(H2C_HEAD_MOST + sizeof(http_field) * H2C_FIELDS_MOST);
    http_field_block list = {.room = H2C_HEAD_MOST, .most = H2C_FIELDS_MOST};

    if (!text) {
        h2c_session_fault(s, "no memory");
        return;
    }
    list.field = (http_field *)(void *)text;
    list.text = text + sizeof(http_field) * H2C_FIELDS_MOST;
    if (hpack_decode(&s->table, s->block.data, s->block.len, &list) != HPACK_OK)
        h2c_session_fault(s, "a malformed field block");
    else if (st)
        block_for(s, st, &list);
    else if (++s->control > H2C_CONTROL_MOST)
        h2c_session_fault(s, "a flood of frames");
    free(text);
    h2_block_free(&s->block);
}

static void frames_block(h2c_session *s, const h2_frame *f, const uint8_t *p)
{
    if (!frames_is_past(s, f->stream))
        h2c_session_fault(s, "HEADERS of a stream that was not asked for");
    else if (h2c_is_right(s, h2_block_take(&s->block, f, p, H2C_HEAD_MOST, H2C_CONTINUATIONS)) &&
             !s->block.stream)
        block_done(s, f->stream);
}

/* ---- bodies ---- */

/* The connection's room is given back at once: a slow client holds up nobody else. */
static void data_credit(h2c_session *s, h2c_stream *st, uint32_t n)
{
    s->taken += n;
    if (s->taken >= H2C_WINDOW_ALL / 2) {
        h2c_put_number(s, H2_WINDOW_UPDATE, 0, (uint32_t)s->taken);
        s->taken = 0;
    }
    if (!st)
        return;
    st->owed += n;
    if (st->owed > H2C_WINDOW)
        h2c_stream_fault(st, "more than the window lets");
}

/* Where a filter stores the body, and nothing waits before it: into the memory of that. @return how many bytes are there now */
static uint32_t data_store(const h2c_session *s, h2c_stream *st, uint32_t n)
{
    proxy_exchange *x = st->x;
    const int is_next =
        x->answer.passed && !st->data_n && (st->stored_n || APR_BRIGADE_EMPTY(x->in));
    const request_sink *sink = is_next && x->sink->stores ? x->sink->stores(x) : NULL;
    apr_size_t room = 0;
    char *at;

    if (sink)
        room = sink->room(sink->baton, &at);
    if (!room)
        return 0;
    if (room > n)
        room = n;
    memcpy(at, upstream_in(s->cc), room);
    brg_buffer_copied(room);
    APR_BRIGADE_INSERT_TAIL(x->in, sink->take(sink->baton, room, x->alloc));
    st->stored_n += room;
    return (uint32_t)room;
}

/* All of a frame is here, nothing is behind it, and nothing before it waits: it stays where it was read. @return 0: no */
static int data_take_block(h2c_session *s, h2c_stream *st, uint32_t n)
{
    void (*end)(void *);
    uint32_t at, cap;
    apr_bucket *e;
    char *block;

    if (st->data_n || n != s->data_left || n != upstream_in_size(s->cc) ||
        !(block = upstream_in_give(s->cc, &at, &cap, &end)))
        return 0;
    BRG_ASSERT(at + n <= cap);
    e = apr_bucket_heap_create(block, cap, end, st->x->alloc);
    e->start = (apr_off_t)at;
    e->length = n;
    APR_BRIGADE_INSERT_TAIL(st->data, e);
    return 1;
}

/* @param bytes  [in, out] as many as were taken. @return 1: they are no more the connection's */
static int data_keep(h2c_session *s, h2c_stream *st, uint32_t *bytes)
{
    const uint32_t stored = st->bad ? 0 : data_store(s, st, *bytes);
    const int given = !st->bad && !stored && data_take_block(s, st, *bytes);

    if (st->bad)
        return 0;
    if (stored) {
        *bytes = stored;
    } else {
        if (!given) {
            (void)apr_brigade_write(st->data, NULL, NULL, upstream_in(s->cc), *bytes);
            brg_buffer_copied(*bytes);
        }
        st->data_n += *bytes;
    }
    st->x->attempt.got += *bytes;
    h2c_stream_wake(st);
    return given;
}

static void data_done(h2c_session *s)
{
    if (s->data_left || s->padding || !s->data_ends)
        return;
    s->data_ends = 0;
    if (!s->data_of)
        return;
    s->data_of->over = 1;
    h2c_stream_wake(s->data_of);
}

/* The present bytes of a DATA frame. */
static void data_part(h2c_session *s)
{
    uint32_t n = upstream_in_size(s->cc);
    int taken = 0;

    if (s->data_left) {
        n = n < s->data_left ? n : s->data_left;
        if (s->data_of)
            taken = data_keep(s, s->data_of, &n);
        data_credit(s, s->data_of, n);
        s->data_left -= n;
    } else {
        n = n < s->padding ? n : s->padding;
        data_credit(s, NULL, n);
        if (s->data_of)
            s->data_of->owed += n, s->data_of->given += n;
        s->padding -= n;
    }
    if (!taken)
        upstream_in_take(s->cc, n);
    data_done(s);
}

/* @return 0: more is needed */
static int data_begin(h2c_session *s, const h2_frame *f)
{
    h2c_stream *st = h2c_stream_find(s, f->stream);
    uint32_t n = f->len, head = H2_FRAME_HEAD;

    if (st && st->over) /* as after its reset */
        st = NULL;

    if (!frames_is_past(s, f->stream)) {
        h2c_session_fault(s, "DATA that was not asked for");
        return 0;
    }
    s->padding = 0;
    if (f->flags & H2_PADDED) {
        if (upstream_in_size(s->cc) < H2_FRAME_HEAD + 1)
            return 0;
        s->padding = (uint8_t)upstream_in(s->cc)[H2_FRAME_HEAD];
        head++;
        if (!n || s->padding > n - 1) {
            h2c_session_fault(s, "malformed DATA");
            return 0;
        }
        n -= s->padding + 1;
        data_credit(s, NULL, 1);
        if (st)
            st->owed++, st->given++;
    }
    if (st && !st->headed)
        h2c_stream_fault(st, "DATA that was not asked for");
    upstream_in_take(s->cc, head);
    if (n && st)
        s->control = 0;
    else if (++s->control > H2C_CONTROL_MOST)
        h2c_session_fault(s, "a flood of frames");
    s->data_of = st;
    s->data_left = n;
    s->data_ends = (f->flags & H2_END_STREAM) != 0;
    data_done(s);
    return 1;
}

/* ---- all of them ---- */

static void frames_one(h2c_session *s, const h2_frame *f, const uint8_t *p)
{
    if (f->type == H2_HEADERS || f->type == H2_CONTINUATION)
        frames_block(s, f, p);
    else if (++s->control > H2C_CONTROL_MOST)
        h2c_session_fault(s, "a flood of frames");
    else
        h2c_control(s, f, p);
}

/* @return 0: more is needed, or it is over */
static int frames_next(h2c_session *s)
{
    const uint8_t *p = (const uint8_t *)upstream_in(s->cc);
    h2_frame f;

    if (s->data_left || s->padding) {
        data_part(s);
        return 1;
    }
    if (upstream_in_size(s->cc) < H2_FRAME_HEAD)
        return 0;
    f = h2_get_frame(p);
    if (!h2c_is_right(s, h2_frame_check(&f, &s->block)))
        return 0;
    if (f.type == H2_DATA)
        return data_begin(s, &f);
    if (upstream_in_size(s->cc) < H2_FRAME_HEAD + f.len)
        return 0;
    frames_one(s, &f, p + H2_FRAME_HEAD);
    upstream_in_take(s->cc, H2_FRAME_HEAD + f.len);
    return 1;
}

void h2c_demux(h2c_session *s)
{
    while (!s->bad && upstream_in_size(s->cc) && frames_next(s)) {
    }
}
