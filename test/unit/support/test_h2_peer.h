/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_H2_PEER_H
#define BRIGADE_TEST_H2_PEER_H

/**
 * @file test_h2_peer.h
 * The client's end of an HTTP/2 connection, in memory: bytes for the server, and a model of what the server may send
 * back. Each frame of the server is checked against it; what is wrong ends the program.
 *
 * The model follows the frames that the server has taken. A SETTINGS frame that makes windows smaller counts from its
 * acknowledgement on (RFC 9113, 6.5.3), one that makes them larger at once.
 */
#include "h2_frame.h"
#include "hpack_decode.h"
#include "brigade/assert.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEER_STREAMS 1024  /**< with odd numbers below twice as many; others are not followed */
#define PEER_SETTINGS 2048 /**< that wait for their acknowledgement */

typedef struct peer_stream {
    int64_t credit;      /**< by WINDOW_UPDATE of the client */
    uint64_t got;        /**< bytes of data that came */
    uint64_t body;       /**< bytes of DATA that the server took */
    uint64_t body_freed; /**< by WINDOW_UPDATE of the server */
    int status;          /**< of the final head; 0: it did not come */
    uint8_t opened, ended, reset;
} peer_stream;

typedef struct peer {
    uint8_t *to; /**< for the server; to_at: taken; model: complete frames of that */
    size_t to_len, to_cap, to_at, model, limit;
    size_t room; /**< bytes that the server can send now */
    int gone;    /**< the client's socket is closed */
    uint8_t from[H2_FRAME_HEAD + H2_FRAME_MAX];
    size_t from_len;
    peer_stream stream[PEER_STREAMS];
    int64_t credit; /**< of the connection, as for streams */
    uint64_t got, body, body_freed;
    uint32_t initial[PEER_SETTINGS]; /**< acknowledged, and those that wait */
    unsigned initial_n;
    uint32_t highest; /**< stream that the client opened */
    unsigned pings;
    uint32_t block_stream; /**< CONTINUATION is due for it */
    uint8_t block[65536];
    size_t block_len;
    unsigned block_flags;
    unsigned frames, goaways;
    uint32_t goaway_code, goaway_last;
    int leaving; /**< the server said that it will go, and asks whether that was heard */
    uint32_t data_order[64]; /**< streams of the last DATA frames */
    unsigned data_n;
} peer;

#define PEER_CHECK(right)                                                                 \
    do {                                                                                  \
        if (!(right)) {                                                                   \
            fprintf(stderr, "%s:%d: the server broke: %s\n", __FILE__, __LINE__, #right); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

static inline peer *peer_new(void)
{
    peer *p = calloc(1, sizeof *p);

    PEER_CHECK(p);
    p->initial[0] = H2_WINDOW_DEFAULT;
    p->initial_n = 1;
    p->room = p->limit = SIZE_MAX;
    return p;
}

static inline void peer_free(peer *p)
{
    free(p->to);
    free(p);
}

static inline peer_stream *peer_stream_of(peer *p, uint32_t id)
{
    return id & 1 && id / 2 < PEER_STREAMS ? &p->stream[id / 2] : NULL;
}

/* ---- to the server ---- */

static inline void peer_say(peer *p, const void *bytes, size_t len)
{
    if (p->to_len + len > p->to_cap) {
        p->to_cap = (p->to_len + len) * 2;
        PEER_CHECK((p->to = realloc(p->to, p->to_cap)) != NULL);
    }
    if (len)
        memcpy(p->to + p->to_len, bytes, len);
    p->to_len += len;
}

static inline void peer_frame(peer *p, unsigned type, unsigned flags, uint32_t stream,
                              const void *payload, size_t len)
{
    uint8_t head[H2_FRAME_HEAD];

    h2_put_frame(head, len, (h2_frame_type)type, flags, stream);
    peer_say(p, head, sizeof head);
    peer_say(p, payload, len);
}

static inline void peer_number(peer *p, unsigned type, uint32_t stream, uint32_t value)
{
    uint8_t payload[4];

    h2_put32(payload, value);
    peer_frame(p, type, 0, stream, payload, sizeof payload);
}

static inline void peer_setting(peer *p, unsigned id, uint32_t value)
{
    uint8_t payload[6] = {(uint8_t)(id >> 8), (uint8_t)id};

    h2_put32(payload + 2, value);
    peer_frame(p, H2_SETTINGS, 0, 0, payload, sizeof payload);
}

/** Preface and empty SETTINGS. */
static inline void peer_begin(peer *p)
{
    peer_say(p, H2_PREFACE, H2_PREFACE_LEN);
    peer_frame(p, H2_SETTINGS, 0, 0, NULL, 0);
}

static inline uint8_t *peer_put_line(uint8_t *to, const char *name, const char *value)
{
    *to++ = 0;
    *to++ = (uint8_t)strlen(name);
    memcpy(to, name, strlen(name));
    to += strlen(name);
    *to++ = (uint8_t)strlen(value);
    memcpy(to, value, strlen(value));
    return to + strlen(value);
}

/** A request. @param priority, length  values of their fields; NULL: none */
static inline void peer_request(peer *p, uint32_t id, const char *method, const char *path,
                                const char *priority, const char *length, int end)
{
    uint8_t block[1024], *to = block;

    to = peer_put_line(to, ":method", method);
    to = peer_put_line(to, ":scheme", "http");
    to = peer_put_line(to, ":authority", "localhost");
    to = peer_put_line(to, ":path", path);
    if (priority)
        to = peer_put_line(to, "priority", priority);
    if (length)
        to = peer_put_line(to, "content-length", length);
    peer_frame(p, H2_HEADERS, H2_END_HEADERS | (end ? H2_END_STREAM : 0), id, block,
               (size_t)(to - block));
}

/* The server has taken a SETTINGS frame. */
static inline void peer_settings_taken(peer *p, const h2_frame *f, const uint8_t *payload)
{
    uint32_t initial = p->initial[p->initial_n - 1];

    if (f->flags & H2_ACK || f->len % 6)
        return;
    for (uint32_t i = 0; i < f->len; i += 6)
        if (payload[i] == 0 && payload[i + 1] == H2_SET_INITIAL_WINDOW_SIZE &&
            h2_get32(payload + i + 2) <= H2_WINDOW_MAX)
            initial = h2_get32(payload + i + 2);
    PEER_CHECK(p->initial_n < PEER_SETTINGS); /* the flood's end comes first */
    p->initial[p->initial_n++] = initial;
}

static inline void peer_frame_taken(peer *p, const h2_frame *f, const uint8_t *payload)
{
    peer_stream *s = peer_stream_of(p, f->stream);

    switch (f->type) {
    case H2_SETTINGS:
        peer_settings_taken(p, f, payload);
        break;
    case H2_PING:
        p->pings++;
        break;
    case H2_HEADERS:
        if (f->stream & 1 && f->stream > p->highest) {
            p->highest = f->stream;
            if (s)
                s->opened = 1;
        }
        break;
    case H2_DATA:
        p->body += f->len;
        if (s)
            s->body += f->len;
        break;
    case H2_WINDOW_UPDATE:
        if (f->len != 4)
            break;
        *(f->stream ? s ? &s->credit : &(int64_t){0} : &p->credit) +=
            h2_get32(payload) & H2_WINDOW_MAX;
        break;
    default:
        break;
    }
}

/* transport.recv: at most limit bytes of what there is. */
static inline size_t peer_take(peer *p, void *buf, size_t len)
{
    size_t n = p->to_len - p->to_at;

    n = n < len ? n : len;
    n = n < p->limit ? n : p->limit;
    if (n)
        memcpy(buf, p->to + p->to_at, n);
    p->to_at += n;
    p->limit -= n;
    if (p->model < H2_PREFACE_LEN && p->to_at >= H2_PREFACE_LEN)
        p->model = H2_PREFACE_LEN;
    while (p->model >= H2_PREFACE_LEN && p->to_at - p->model >= H2_FRAME_HEAD) {
        const h2_frame f = h2_get_frame(p->to + p->model);

        if (p->to_at - p->model < H2_FRAME_HEAD + f.len)
            break;
        peer_frame_taken(p, &f, p->to + p->model + H2_FRAME_HEAD);
        p->model += H2_FRAME_HEAD + f.len;
    }
    return n;
}

/* ---- from the server ---- */

/** Bytes that the server may send on a stream. */
static inline int64_t peer_window(const peer *p, const peer_stream *s)
{
    uint32_t most = 0;

    for (unsigned i = 0; i < p->initial_n; i++)
        most = p->initial[i] > most ? p->initial[i] : most;
    return (int64_t)most + s->credit - (int64_t)s->got;
}

static inline void peer_data(peer *p, const h2_frame *f)
{
    peer_stream *s = peer_stream_of(p, f->stream);

    p->got += f->len;
    PEER_CHECK((int64_t)p->got <= H2_WINDOW_DEFAULT + p->credit);
    PEER_CHECK(f->stream <= p->highest && !(f->flags & H2_PADDED));
    if (p->data_n < sizeof p->data_order / sizeof *p->data_order)
        p->data_order[p->data_n++] = f->stream;
    if (!s)
        return;
    PEER_CHECK(s->opened && s->status && !s->ended && !s->reset);
    PEER_CHECK((int64_t)f->len <= peer_window(p, s));
    PEER_CHECK(f->len || f->flags & H2_END_STREAM);
    s->got += f->len;
    s->ended = (f->flags & H2_END_STREAM) != 0;
}

/* A field block is complete. */
static inline void peer_block(peer *p)
{
    static char text[1 << 20];
    static http_field field[4096];
    http_field_block list = {.text = text, .room = sizeof text, .field = field, .most = 4096};
    peer_stream *s = peer_stream_of(p, p->block_stream);
    hpack_table t;
    int status = 0;

    hpack_table_init(&t, HPACK_DEFAULT_TABLE_SIZE);
    PEER_CHECK(hpack_decode(&t, p->block, p->block_len, &list) == HPACK_OK && !list.cut && !t.n);
    hpack_table_free(&t);
    for (uint32_t i = 0; i < list.n; i++) {
        const http_field *f = &list.field[i];

        for (uint32_t k = 0; k < f->name_len; k++)
            PEER_CHECK(f->name[k] < 'A' || f->name[k] > 'Z');
        PEER_CHECK(f->name_len && (f->name[0] != ':' || !i));
        if (f->name[0] == ':')
            status = (f->value[0] - '0') * 100 + (f->value[1] - '0') * 10 + f->value[2] - '0';
    }
    p->block_len = 0;
    p->block_stream = 0;
    if (!s)
        return;
    if (s->status) { /* trailers */
        PEER_CHECK(!status && p->block_flags & H2_END_STREAM);
    } else {
        PEER_CHECK(status >= 100 && status <= 999);
        PEER_CHECK(status >= 200 || !(p->block_flags & H2_END_STREAM));
        s->status = status >= 200 ? status : 0;
    }
    s->ended = (p->block_flags & H2_END_STREAM) != 0;
}

static inline void peer_headers(peer *p, const h2_frame *f, const uint8_t *payload)
{
    const peer_stream *s = peer_stream_of(p, f->stream);

    PEER_CHECK(f->stream & 1 && f->stream <= p->highest);
    PEER_CHECK(!s || (s->opened && !s->ended && !s->reset));
    PEER_CHECK(f->type == H2_CONTINUATION ? p->block_stream == f->stream : !p->block_stream);
    PEER_CHECK(p->block_len + f->len <= sizeof p->block);
    if (f->type == H2_HEADERS)
        p->block_flags = f->flags;
    p->block_stream = f->stream;
    memcpy(p->block + p->block_len, payload, f->len);
    p->block_len += f->len;
    if (f->flags & H2_END_HEADERS)
        peer_block(p);
}

/* The server gives back room for bodies: no more than it took. */
static inline void peer_freed(peer *p, const h2_frame *f, const uint8_t *payload)
{
    peer_stream *s = peer_stream_of(p, f->stream);
    uint32_t bytes = h2_get32(payload);

    PEER_CHECK(f->len == 4 && bytes && bytes <= H2_WINDOW_MAX);
    if (!f->stream) {
        p->body_freed += bytes;
        PEER_CHECK(p->body_freed <= p->body + (1 << 20) - H2_WINDOW_DEFAULT);
    } else if (s) {
        s->body_freed += bytes;
        PEER_CHECK(s->opened && s->body_freed <= s->body);
    }
}

static inline void peer_settings_came(peer *p, const h2_frame *f)
{
    PEER_CHECK(!f->stream && !(f->len % 6));
    if (!(f->flags & H2_ACK))
        return;
    PEER_CHECK(p->initial_n > 1 && !f->len);
    memmove(p->initial, p->initial + 1, --p->initial_n * sizeof *p->initial);
}

static inline void peer_goaway(peer *p, const h2_frame *f, const uint8_t *payload)
{
    const uint32_t last = h2_get32(payload);

    PEER_CHECK(!f->stream && f->len >= 8);
    p->leaving = last == H2_STREAM_MAX && !p->goaways; /* later it is a stream, if there is one */
    PEER_CHECK(p->leaving || last <= p->highest);
    PEER_CHECK(!p->goaways || last <= p->goaway_last);
    p->goaway_last = last;
    p->goaways++;
    p->goaway_code = h2_get32(payload + 4);
}

static inline void peer_frame_came(peer *p, const h2_frame *f, const uint8_t *payload)
{
    peer_stream *s = peer_stream_of(p, f->stream);

    PEER_CHECK(f->len <= H2_FRAME_MAX);
    PEER_CHECK(p->frames++ || (f->type == H2_SETTINGS && !(f->flags & H2_ACK)));
    PEER_CHECK(!p->block_stream || f->type == H2_CONTINUATION);
    switch (f->type) {
    case H2_DATA:
        peer_data(p, f);
        break;
    case H2_HEADERS:
    case H2_CONTINUATION:
        peer_headers(p, f, payload);
        break;
    case H2_RST_STREAM:
        PEER_CHECK(f->len == 4 && f->stream & 1 && f->stream <= p->highest);
        if (s)
            s->reset = 1;
        break;
    case H2_SETTINGS:
        peer_settings_came(p, f);
        break;
    case H2_PING:
        PEER_CHECK(f->len == 8 && !f->stream);
        if (f->flags == H2_ACK)
            PEER_CHECK(p->pings-- > 0);
        else
            PEER_CHECK(!f->flags && p->leaving); /* whether it is answered is the test's matter */
        break;
    case H2_GOAWAY:
        peer_goaway(p, f, payload);
        break;
    case H2_WINDOW_UPDATE:
        peer_freed(p, f, payload);
        break;
    default:
        PEER_CHECK(!"a type that servers send");
    }
}

/* transport.sendv: one piece. @return bytes taken */
static inline size_t peer_hear(peer *p, const uint8_t *data, size_t len)
{
    size_t done = 0, n;

    len = len < p->room ? len : p->room;
    p->room -= p->room == SIZE_MAX ? 0 : len;
    for (; done < len; done += n) {
        const size_t have = p->from_len;
        size_t need = H2_FRAME_HEAD;
        h2_frame f = {0};

        if (have >= H2_FRAME_HEAD) {
            f = h2_get_frame(p->from);
            PEER_CHECK(f.len <= H2_FRAME_MAX);
            need += f.len;
        }
        n = need - have < len - done ? need - have : len - done;
        memcpy(p->from + have, data + done, n);
        p->from_len += n;
        if (p->from_len < H2_FRAME_HEAD)
            continue;
        f = h2_get_frame(p->from);
        if (p->from_len == H2_FRAME_HEAD + f.len) {
            p->from_len = 0;
            peer_frame_came(p, &f, p->from + H2_FRAME_HEAD);
        }
    }
    return done;
}

#endif
