/* SPDX-License-Identifier: Apache-2.0 */
/* Responses in frames. QUIC holds its bytes until the client has them, and asks for more when there
 * is room: then streams send by urgency (RFC 9218), those of one urgency one after the other, or,
 * if they are incremental, a piece of each in turn. */
#include "h3_private.h"
#include "qpack.h"
#include "http_answer.h"
#include <string.h>

#define OUTPUT_COPIED 1024 /* bytes of a field section that are copied beside their frame's head */

static void output_write(h3_stream *x, const void *data, size_t len, shared_ref *owner, int fin)
{
    BRG_ASSERT_DEBUG(x->qs && !x->over);
    if (quic_stream_write(x->qs, data, len, owner, fin))
        h3_fail(x->h, H3_INTERNAL_ERROR, "no memory");
    x->h->room -= (int64_t)len;
}

/* ---- stored responses ---- */

/* The head of a HEADERS frame goes before the section at room + H3_HEAD_ROOM, that of a DATA frame behind it. @return the length */
static size_t output_frame(uint8_t *room, size_t section, uint64_t body, uint8_t **begin)
{
    uint8_t head[16], *end = h3_put_frame(head, H3_HEADERS, section + QPACK_PREFIX);
    const size_t n = (size_t)(end - head);
    uint8_t *at = room + H3_HEAD_ROOM - QPACK_PREFIX - n, *behind = room + H3_HEAD_ROOM + section;

    BRG_ASSERT(n + QPACK_PREFIX <= H3_HEAD_ROOM);
    memcpy(at, head, n);
    memset(at + n, 0, QPACK_PREFIX);
    if (body)
        behind = h3_put_frame(behind, H3_DATA, body);
    *begin = at;
    return (size_t)(behind - at);
}

int h3_output_stored(h3_stream *x, uint8_t *room, const cache_reply *reply, const http_stream *as)
{
    h3_session *h = x->h;
    http_stream now = {.tag = STREAM_TAG,
                       .session = &h->streams,
                       .carrier = x,
                       .owner = reply->owner,
                       .now = reply->piece,
                       .more = reply->more,
                       .more_n = reply->more_n,
                       .left = reply->len},
                *s;
    uint8_t *begin;
    const size_t n = output_frame(room, reply->head_len, reply->len, &begin);

    h->room = H3_FRAME_DATA + (int64_t)n;
    output_write(x, begin, n, NULL, !reply->len);
    x->data_left = reply->len;
    if (!reply->len || stream_stored_at_once(&now)) {
        shared_release(reply->owner);
        stream_limit_earn(&h->streams);
        return 0;
    }
    if (!(s = stream_open(&h->streams, h3_id_of(quic_stream_id(x->qs))))) {
        shared_release(reply->owner);
        return -1;
    }
    s->carrier = x;
    x->s = s;
    stream_stored_wait(s, &now, as, reply);
    return 0;
}

/* ---- streams ---- */

/* The room of a stream: terms.frame_most bounds a piece, and a file is read as far as there is room. Where the connection has none,
 * a byte: so the stream stays ready for the next time. */
int64_t h3_output_window(const http_stream *s)
{
    const h3_stream *x = s->carrier;
    const h3_session *h = h3_session_of(s);
    uint64_t room;

    if (!x)
        return 0;
    room = quic_stream_room(x->qs);
    if (!room)
        return 0;
    return h->room < (int64_t)room ? (h->room > 0 ? h->room : 1) : (int64_t)room;
}

void h3_output_data(http_stream *s, const char *data, size_t len, shared_ref *owner, int last)
{
    h3_stream *x = s->carrier;
    uint8_t head[16];

    BRG_ASSERT(x && x->h == h3_session_of(s));
    if (len && !x->data_left) {
        x->data_left = len;
        output_write(x, head, (size_t)(h3_put_frame(head, H3_DATA, len) - head), NULL, 0);
    }
    BRG_ASSERT(x->data_left >= len);
    x->data_left -= len;
    output_write(x, data, len, owner, last);
    s->session->progress = s->session->bc->loop->monotonic;
}

void h3_output_block(http_stream *s, stream_block *b)
{
    uint8_t head[16 + QPACK_PREFIX + OUTPUT_COPIED];
    uint8_t *end = h3_put_frame(head, H3_HEADERS, (uint64_t)b->len + QPACK_PREFIX);
    h3_stream *x = s->carrier;

    BRG_ASSERT(x && !x->data_left);
    memset(end, 0, QPACK_PREFIX);
    end += QPACK_PREFIX;
    if (b->len <= OUTPUT_COPIED) {
        memcpy(end, b->data, b->len);
        output_write(x, head, (size_t)(end - head) + b->len, NULL, b->last);
        return;
    }
    output_write(x, head, (size_t)(end - head), NULL, 0);
    output_write(x, b->data, b->len, &b->ref, b->last);
}

int h3_output_fill(quic_conn *qc, size_t room)
{
    h3_session *h = quic_conn_bc(qc)->above;
    http_stream *s;

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    BRG_ASSERT(h->qc == qc && !h->running);
    h->room = (int64_t)room;
    while (h->room > 0 && !h->streams.ending && (s = stream_first(h->streams.ready)) != NULL)
        if (stream_output(s) && s->incremental) {
            stream_unready(s);
            stream_ready(s);
        }
    if (!h->streams.n)
        h3_wants(h); /* it may be the end */
    return !h->streams.ending && stream_first(h->streams.ready) != NULL;
}

/* ---- heads of stored responses ---- */

static http_stored_head *codec_serialise(const http_answer *a, http_stored_head *room)
{
    return stream_codec_serialise(&h3_protocol, a, room);
}

static size_t codec_put_part(char *to, http_stored_head *head, const http_answer *a,
                             const http_answer_terms *t, const http_part *part, apr_off_t length)
{
    return stream_codec_put_part(&h3_protocol, to, head, a, t, part, length);
}

const http_codec h3_codec = {.protocol = CONN_HTTP3,
                             .serialise = codec_serialise,
                             .put = stream_codec_put,
                             .put_part = codec_put_part};
