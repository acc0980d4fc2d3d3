/* SPDX-License-Identifier: Apache-2.0 */
/* Field sections: a request head, or the trailers of one (streams/stream_request.c). */
#include "h3_private.h"
#include "qpack.h"
#include "http_log.h"
#include <string.h>

APLOG_USE_MODULE(http3);

/* ---- faults ---- */

int h3_limit_fault(h3_session *h, const char *what)
{
    if (!stream_limit_fault(&h->streams))
        return 0;
    h3_fail(h, H3_EXCESSIVE_LOAD, what);
    return 1;
}

int h3_limit_waste(h3_session *h, const char *what)
{
    if (!stream_limit_waste(&h->streams))
        return 0;
    h3_fail(h, H3_EXCESSIVE_LOAD, what);
    return 1;
}

int h3_limit_cheap(h3_session *h, const char *what)
{
    if (!stream_limit_cheap(&h->streams))
        return 0;
    h3_fail(h, H3_EXCESSIVE_LOAD, what);
    return 1;
}

static void request_malformed(h3_stream *x, const char *why)
{
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, x->h->streams.bc->base,
                 "HTTP/3 stream %u: malformed request: %s", h3_id_of(quic_stream_id(x->qs)), why);
    h3_stream_reset(x, H3_MESSAGE_ERROR);
    h3_limit_fault(x->h, "malformed requests, again and again");
}

/* ---- running it ---- */

/* 1: memory answers the request of x. */
static int request_from_memory(h3_stream *x, const http_head *head, const http_stream *as,
                               http_stream *instead, cache_entry **planned)
{
    uint8_t room[HTTP_HEAD_ROOM + 2 * H3_HEAD_ROOM];
    cache_reply reply;

    if (!stream_request_stored(&x->h->streams, head, &h3_codec, (char *)room + H3_HEAD_ROOM, &reply,
                               planned))
        return 0;
    if (instead) { /* a stored answer needs nothing of it */
        h3_stream_detach(x);
        stream_cancel(instead);
    }
    if (h3_output_stored(x, room, &reply, as))
        h3_stream_reset(x, H3_INTERNAL_ERROR);
    return 1;
}

int h3_answer_stored(http_stream *s, const http_head *head, cache_entry **planned)
{
    const http_stream as = {
        .urgency = s->urgency, .incremental = s->incremental, .asked = s->asked};
    h3_stream *x = s->carrier;

    *planned = NULL;
    return x && request_from_memory(x, head, &as, s, planned);
}

static void request_wait(h3_stream *x, stream_scratch *t, const http_stream *as,
                         cache_entry *planned)
{
    h3_session *h = x->h;
    http_stream *s = stream_open(&h->streams, h3_id_of(quic_stream_id(x->qs)));

    BRG_ASSERT(x->got_head && !x->s);
    if (!s) {
        h3_stream_reset(x, H3_INTERNAL_ERROR);
        return;
    }
    s->carrier = x;
    x->s = s;
    if (stream_request_wait(s, t, as, planned))
        h3_stream_reset(x, H3_INTERNAL_ERROR);
}

/* A client may tell the end of a request that has no body behind its head. */
static int request_end_is_open(const http_head *head, int fin, int more)
{
    return !fin && !more && head->known[HTTP_F_CONTENT_LENGTH] < 0 && !head->status &&
           (head->method_id == HTTP_METHOD_GET || head->method_id == HTTP_METHOD_HEAD);
}

static int request_take(h3_stream *x, stream_scratch *t, const http_field_block *list,
                        const stream_request *p, int fin, int more)
{
    h3_session *h = x->h;
    http_stream as = {0};
    cache_entry *planned = NULL;
    const char *why =
        stream_request_read(&h->streams, t, list, p, h3_id_of(quic_stream_id(x->qs)), fin, &as);

    if (why) {
        request_malformed(x, why);
        return 0;
    }
    if (!p->protocol && request_end_is_open(&t->head, fin, more))
        return 1;
    x->got_head = 1;
    h3_stream_head_over(x);
    h->streams.bc->input.began = h->streams.bc->loop->monotonic;
    h->requests++;
    if (!fin || p->protocol || !request_from_memory(x, &t->head, &as, NULL, &planned))
        request_wait(x, t, &as, planned);
    return 0;
}

static int block_of_request(h3_stream *x, stream_scratch *t, const http_field_block *list, int fin,
                            int more)
{
    h3_session *h = x->h;
    stream_request parts;

    if (h->streams.open_n >= (unsigned)h->conf->max_streams) {
        h3_stream_reset(x, H3_REQUEST_REJECTED);
        h3_limit_waste(h, "more streams than H3MaxConcurrentStreams, again and again");
        return 0;
    }
    stream_parts_of(&parts, list, h->conf->websockets);
    if (!parts.why)
        return request_take(x, t, list, &parts, fin, more);
    request_malformed(x, parts.why);
    return 0;
}

/* ---- trailers ---- */

static void block_of_trailers(h3_stream *x, const http_field_block *list)
{
    const char *why;

    BRG_ASSERT(x->got_head && !x->got_trailers);
    x->got_trailers = 1;
    if (!x->s || x->s->remote_closed)
        return;
    if ((why = stream_trailers_why(x->s, list)) != NULL)
        request_malformed(x, why);
    else if (stream_trailers_take(x->s, list))
        h3_stream_reset(x, H3_INTERNAL_ERROR);
}

int h3_take_block(h3_stream *x, const uint8_t *block, size_t len, int fin, int more)
{
    http_field_block list;
    stream_scratch *t = stream_scratch_of(&x->h->streams, &list);

    BRG_ASSERT(!x->over && x->kind == H3_REQUEST);
    if (qpack_decode(block, len, &list)) {
        h3_fail(x->h, H3_QPACK_DECOMPRESSION_FAILED, "field section that cannot be decoded");
        return 0;
    }
    if (!x->got_head)
        return block_of_request(x, t, &list, fin, more);
    block_of_trailers(x, &list);
    return 0;
}
