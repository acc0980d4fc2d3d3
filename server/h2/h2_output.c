/* SPDX-License-Identifier: Apache-2.0 */
/* Output and its order: frames that answer frames; then streams by urgency (RFC 9218), those of one
 * urgency one after the other, or, if they are incremental, a frame of each in turn. All of a turn
 * is gathered, and leaves in few writes.
 *
 * A frame of data fits a TLS record, so a small response waits for no more than one record of a
 * large one that is not more urgent. */
#include "h2_private.h"
#include "connection.h"
#include "gather.h"
#include "response_cache.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define OUTPUT_PAD_MOST 256 /* with the byte that tells its length */
/* a block that is copied */
#define OUTPUT_SCRATCH (GATHER_HEAD_MAX - H2_FRAME_HEAD - OUTPUT_PAD_MOST)

static gather *output_gather(const h2_session *h)
{
    return h->streams.bc->loop->out;
}

/* Room for a frame, and the scratch that it needs. */
static gather *output_room(h2_session *h)
{
    gather *g = output_gather(h);

    if (!gather_has_room(g))
        gather_flush(g, h->streams.bc, 0);
    return g;
}

/* ---- frames that answer frames ---- */

void h2_ctl(h2_session *h, h2_frame_type type, unsigned flags, uint32_t stream, const void *payload,
            size_t len)
{
    size_t need = h->ctl_len + H2_FRAME_HEAD + len;
    uint8_t *p;

    BRG_ASSERT(h->ctl_len <= h->ctl_cap && len <= H2_FRAME_MAX);
    if (need > H2_CTL_MOST) {
        h->streams.bc->failed = 1; /* it takes nothing, and makes us answer all the time */
        return;
    }
    if (need > h->ctl_cap) {
        uint32_t cap = h->ctl_cap ? h->ctl_cap * 2 : 128;

        while (cap < need)
            cap *= 2;
        if (!(p = realloc(h->ctl, cap))) {
            h->streams.bc->failed = 1;
            return;
        }
        h->ctl = p;
        h->ctl_cap = cap;
    }
    p = h2_put_frame(h->ctl + h->ctl_len, len, type, flags, stream);
    if (len)
        memcpy(p, payload, len);
    h->ctl_len = (uint32_t)need;
}

static void output_update(h2_session *h, uint32_t stream, uint32_t bytes)
{
    uint8_t payload[4];

    h2_put32(payload, bytes);
    h2_ctl(h, H2_WINDOW_UPDATE, 0, stream, payload, sizeof payload);
}

void h2_credit(h2_session *h, uint32_t stream, uint32_t bytes)
{
    if (!bytes)
        return;
    if (stream) {
        output_update(h, stream, bytes);
        return;
    }
    h->owed += bytes;
    if (h->owed < H2_CONN_WINDOW / 4)
        return;
    h->recv_window += (int32_t)h->owed;
    output_update(h, 0, h->owed);
    h->owed = 0;
}

static void output_ctl(h2_session *h)
{
    for (uint32_t at = 0; at < h->ctl_len && !h->streams.bc->failed;) {
        gather *g = output_room(h);
        uint32_t n = h->ctl_len - at < GATHER_HEAD_MAX ? h->ctl_len - at : GATHER_HEAD_MAX;

        memcpy(gather_head(g), h->ctl + at, n);
        gather_add_head(g, n);
        at += n;
    }
    h->ctl_len = 0;
    if (h->ctl_cap > 1024) {
        free(h->ctl);
        h->ctl = NULL;
        h->ctl_cap = 0;
    }
}

/* ---- padding ---- */

/* How many bytes of padding a frame gets, less than 2^H2Padding and none that does not fit; -1: not even the byte that
 * tells it. */
static int output_padding(h2_session *h, int64_t room)
{
    uint64_t z;

    if (!h->conf.padding || room < 1)
        return -1;
    h->padding += 0x9e3779b97f4a7c15ULL; /* splitmix64 */
    z = (h->padding ^ (h->padding >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z = (z ^ (z >> 31)) & ((1U << h->conf.padding) - 1);
    return (int64_t)z < room ? (int)z : (int)(room - 1);
}

/* Behind the padded bytes. */
static void output_pad(gather *g, int padding)
{
    if (padding <= 0)
        return;
    BRG_ASSERT(padding < OUTPUT_PAD_MOST);
    memset(gather_head(g), 0, (size_t)padding);
    gather_add_head(g, (size_t)padding);
}

/* The head of a frame of len bytes and its padding. @return behind it, and the length of the
 * padding */
static uint8_t *output_put_padded(uint8_t *out, size_t len, h2_frame_type type, unsigned flags,
                                  uint32_t stream, int padding)
{
    if (padding < 0)
        return h2_put_frame(out, len, type, flags, stream);
    BRG_ASSERT(len + 1 + (size_t)padding <= H2_FRAME_MAX);
    out = h2_put_frame(out, len + 1 + (size_t)padding, type, flags | H2_PADDED, stream);
    *out++ = (uint8_t)padding;
    return out;
}

/* ---- frames of streams ---- */

int64_t h2_output_window(const http_stream *s)
{
    const h2_session *h = h2_session_of(s);

    return s->window < h->window ? s->window : h->window;
}

void h2_output_data(http_stream *s, const char *data, size_t len, shared_ref *owner, int last)
{
    h2_session *h = h2_session_of(s);
    gather *g = output_room(h);
    const int64_t room = h2_output_window(s);
    uint8_t *head = (uint8_t *)gather_head(g), *p;
    int padding;

    BRG_ASSERT(len <= H2_FRAME_MAX && (!len || (int64_t)len <= room));
    padding = output_padding(h, (room < H2_FRAME_MAX ? room : H2_FRAME_MAX) - (int64_t)len);
    p = output_put_padded(head, len, H2_DATA, last ? H2_END_STREAM : 0, s->id, padding);
    gather_add_head(g, (size_t)(p - head));
    if (len)
        gather_add_body(g, data, len, owner);
    output_pad(g, padding);
    h->window -= (int64_t)len + padding + 1;
    s->window -= (int64_t)len + padding + 1;
    h->streams.progress = h->streams.bc->loop->monotonic;
}

void h2_output_block(http_stream *s, stream_block *b)
{
    h2_session *h = h2_session_of(s);

    for (uint32_t at = 0; at < b->len || !at;) {
        gather *g = output_room(h);
        uint32_t n = b->len - at < H2_FRAME_MAX ? b->len - at : H2_FRAME_MAX;
        unsigned flags =
            (at + n == b->len ? H2_END_HEADERS : 0) | (b->last && !at ? H2_END_STREAM : 0);
        const int padding = at || n > OUTPUT_SCRATCH ? -1 : output_padding(h, OUTPUT_PAD_MOST);
        uint8_t *head = (uint8_t *)gather_head(g);
        uint8_t *p =
            output_put_padded(head, n, at ? H2_CONTINUATION : H2_HEADERS, flags, s->id, padding);

        if (n <= OUTPUT_SCRATCH) {
            memcpy(p, b->data + at, n);
            gather_add_head(g, (size_t)(p - head) + n);
            output_pad(g, padding);
        } else {
            gather_add_head(g, H2_FRAME_HEAD);
            gather_add_body(g, (const char *)b->data + at, n, &b->ref);
        }
        at += n;
        if (!b->len)
            break;
    }
}

/* ---- stored responses ---- */

char *h2_output_room(h2_session *h)
{
    gather *g;

    if (h->ctl_len)
        output_ctl(h); /* SETTINGS come first */
    g = output_room(h);
    if (g->used + HTTP_HEAD_ROOM + 2 * (H2_FRAME_HEAD + OUTPUT_PAD_MOST) > GATHER_SCRATCH)
        gather_flush(g, h->streams.bc, 0);
    return gather_head(g) + H2_FRAME_HEAD + (h->conf.padding != 0);
}

int h2_output_stored(h2_session *h, uint32_t id, const cache_reply *reply, const http_stream *as)
{
    gather *g = output_gather(h);
    const int padding = output_padding(h, OUTPUT_PAD_MOST);
    http_stream now = {.tag = STREAM_TAG,
                       .id = id,
                       .session = &h->streams,
                       .window = as->window,
                       .owner = reply->owner,
                       .now = reply->piece,
                       .more = reply->more,
                       .more_n = reply->more_n,
                       .left = reply->len},
                *s;

    output_put_padded((uint8_t *)gather_head(g), reply->head_len, H2_HEADERS,
                      H2_END_HEADERS | (reply->len ? 0 : H2_END_STREAM), id, padding);
    gather_add_head(g, H2_FRAME_HEAD + (padding >= 0) + reply->head_len);
    output_pad(g, padding);
    if (!reply->len || stream_stored_at_once(&now)) {
        shared_release(reply->owner);
        stream_limit_earn(&h->streams);
        return 0;
    }
    if (!(s = h2_stream_open(h, id))) {
        shared_release(reply->owner);
        return -1;
    }
    s->window = now.window;
    stream_stored_wait(s, &now, as, reply);
    return 0;
}

void h2_output(h2_session *h)
{
    brg_conn *bc = h->streams.bc;
    int64_t until = h->window - H2_TURN_BYTES;
    http_stream *s;

    BRG_ASSERT_DEBUG(loop_self() == bc->loop && h->running);
    output_ctl(h);
    while (!bc->failed && !bc->pending && h->window > until &&
           (s = stream_first(h->streams.ready)) != NULL)
        if (stream_output(s) && s->incremental) {
            stream_unready(s);
            stream_ready(s);
        }
    output_ctl(h); /* of streams that ended */
    gather_flush(output_gather(h), bc, 0);
    if (!bc->failed && !bc->pending && stream_first(h->streams.ready))
        h->streams.more = 1;
}
