/* SPDX-License-Identifier: Apache-2.0 */
/* Field blocks: a request head, or the trailers of one (stream_request.c). */
#include "h2_private.h"
#include "http_log.h"
#include "response_cache.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(http2);

/* ---- running it ---- */

static void request_malformed(h2_session *h, uint32_t id, const char *why)
{
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, h->streams.bc->base,
                 "HTTP/2 stream %u: malformed request: %s", (unsigned)id, why);
    h2_reset_id(h, id, H2_PROTOCOL_ERROR);
    h2_limit_fault(h, "malformed requests, again and again");
}

int h2_answer_stored(http_stream *s, const http_head *head, cache_entry **planned)
{
    h2_session *h = h2_session_of(s);
    const http_stream as = {.urgency = s->urgency,
                            .incremental = s->incremental,
                            .asked = s->asked,
                            .window = s->window};
    const uint32_t id = s->id;
    cache_reply reply;

    if (!stream_request_stored(&h->streams, head, &h2_codec, h2_output_room(h), &reply, planned))
        return 0;
    stream_cancel(s); /* a stored answer needs nothing of it */
    if (h2_output_stored(h, id, &reply, &as))
        h2_reset_id(h, id, H2_INTERNAL_ERROR);
    return 1;
}

static void request_take(h2_session *h, uint32_t id, unsigned flags, stream_scratch *t,
                         const http_field_block *list, const stream_request *p)
{
    const int fin = (flags & H2_END_STREAM) != 0;
    http_stream as = {.window = h->peer_window}, *s;
    cache_entry *planned = NULL;
    cache_reply reply;
    const char *why = stream_request_read(&h->streams, t, list, p, id, fin, &as);

    if (why) {
        request_malformed(h, id, why);
        return;
    }
    h->requests++;
    if (fin && !p->protocol &&
        stream_request_stored(&h->streams, &t->head, &h2_codec, h2_output_room(h), &reply,
                              &planned)) {
        if (h2_output_stored(h, id, &reply, &as))
            h2_reset_id(h, id, H2_INTERNAL_ERROR);
        return;
    }
    if (!(s = h2_stream_open(h, id))) {
        h2_reset_id(h, id, H2_INTERNAL_ERROR);
        return;
    }
    BRG_ASSERT(id & 1 && id == h->last_id); /* a stream of the client's, and the newest */
    if (stream_request_wait(s, t, &as, planned))
        h2_stream_reset(s, H2_INTERNAL_ERROR);
}

/* ---- trailers ---- */

static void block_of_trailers(h2_session *h, http_stream *s, unsigned flags,
                              const http_field_block *list)
{
    const char *why = flags & H2_END_STREAM ? stream_trailers_why(s, list) : "a second head";

    if (!why) {
        if (stream_trailers_take(s, list))
            h2_stream_reset(s, H2_INTERNAL_ERROR);
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, h->streams.bc->base,
                 "HTTP/2 stream %u: bad trailers: %s", (unsigned)s->id, why);
    h2_stream_reset(s, H2_PROTOCOL_ERROR);
    h2_limit_fault(h, "malformed requests, again and again");
}

/* ---- blocks ---- */

/* A block on a stream that there was. */
static void block_late(h2_session *h, uint32_t id, unsigned flags, const http_field_block *list)
{
    http_stream *s = stream_find(&h->streams, id);

    if (s && !s->local_closed && !s->remote_closed) {
        block_of_trailers(h, s, flags, list);
    } else if (s && !s->local_closed) {
        h2_stream_reset(s, H2_STREAM_CLOSED);
        h2_limit_fault(h, "HEADERS on streams that ended, again and again");
    } else if (!s && !h2_was_reset(h, id)) {
        h2_fail(h, H2_STREAM_CLOSED, "HEADERS on a stream that ended");
    }
}

static void block_of_request(h2_session *h, uint32_t id, unsigned flags, stream_scratch *t,
                             http_field_block *list)
{
    stream_request parts;

    h->last_id = id;
    if (h2_limit_streams(h)) {
        h2_reset_id(h, id, H2_REFUSED_STREAM);
        h2_limit_waste(h, "more streams than H2MaxSessionStreams, again and again");
        return;
    }
    stream_parts_of(&parts, list, h->conf.websockets);
    if (parts.why)
        request_malformed(h, id, parts.why);
    else
        request_take(h, id, flags, t, list, &parts);
}

void h2_take_block(h2_session *h, uint32_t id, unsigned flags, const uint8_t *block, size_t len)
{
    http_field_block list;
    stream_scratch *t = stream_scratch_of(&h->streams, &list);

    BRG_ASSERT_DEBUG(!h->block.stream); /* the block is complete */
    switch (hpack_decode(&h->decoder, block, len, &list)) {
    case HPACK_OK:
        break;
    case HPACK_NO_MEMORY:
        h2_fail(h, H2_INTERNAL_ERROR, "no memory");
        return;
    default:
        h2_fail(h, H2_COMPRESSION_ERROR, "field block that cannot be decoded");
        return;
    }
    if (id <= h->last_id)
        block_late(h, id, flags, &list);
    else if (!h->goaway_sent)
        block_of_request(h, id, flags, t, &list);
}
