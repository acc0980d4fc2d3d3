/* SPDX-License-Identifier: Apache-2.0 */
/* How streams of HTTP/2 begin and end: windows, END_STREAM, RST_STREAM. */
#include "h2_private.h"
#include "hpack_encode.h"
#include "hpack_known.h"
#include "hpack_table.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http2);

http_stream *h2_stream_open(h2_session *h, uint32_t id)
{
    http_stream *s = stream_open(&h->streams, id);

    if (s)
        s->window = h->peer_window;
    return s;
}

void h2_reset_id(h2_session *h, uint32_t id, h2_error code)
{
    uint8_t payload[4];

    BRG_ASSERT(id && id <= h->last_id); /* a stream that there was */
    h->reset_ids[h->reset_at++ % (sizeof h->reset_ids / sizeof *h->reset_ids)] = id;
    h2_put32(payload, code);
    h2_ctl(h, H2_RST_STREAM, 0, id, payload, sizeof payload);
}

int h2_was_reset(const h2_session *h, uint32_t id)
{
    for (size_t i = 0; i < sizeof h->reset_ids / sizeof *h->reset_ids; i++)
        if (h->reset_ids[i] == id)
            return 1;
    return 0;
}

void h2_stream_reset(http_stream *s, h2_error code)
{
    BRG_ASSERT_TAG(s, STREAM_TAG);
    if (!s->local_closed)
        h2_reset_id(h2_session_of(s), s->id, code);
    stream_cancel(s);
}

/* END_STREAM was sent. s may be gone afterwards. */
static void stream_sent(http_stream *s)
{
    h2_session *h = h2_session_of(s);

    BRG_ASSERT(!s->local_closed);
    stream_limit_earn(&h->streams);
    stream_unready(s);
    stream_closed(s);
    if (!s->remote_closed) { /* the rest of the body is of no use: RFC 9113, 8.1 */
        s->remote_closed = 1;
        h2_reset_id(h, s->id, H2_NO_ERROR);
        if (s->bc)
            stream_pipe_abandon(s);
    }
    stream_release(s);
}

/* ---- callbacks of the room of streams ---- */

_Static_assert(STREAM_CHUNK == H2_FRAME_MAX - H2_FRAME_HEAD, "a chunk is a frame");

static uint8_t *protocol_put_plain(uint8_t *out, const char *name, size_t name_len,
                                   const char *value, size_t value_len)
{
    const unsigned index = hpack_static_of_name(name, name_len);

    out = hpack_put_integer(out, 0, 4, index);
    if (!index)
        out = hpack_put_string(out, name, name_len);
    out = hpack_put_integer(out, 0, 7, value_len);
    memcpy(out, value, value_len);
    return out + value_len;
}

static void protocol_wants(http_streams *all)
{
    h2_wants((h2_session *)(void *)all);
}

static void protocol_credit(http_streams *all, http_stream *s, uint32_t bytes)
{
    h2_session *h = (h2_session *)(void *)all;

    h2_credit(h, 0, bytes);
    if (s && !s->remote_closed) {
        s->recv_window += (int32_t)bytes;
        h2_credit(h, s->id, bytes);
    }
}

static void protocol_fail(http_stream *s)
{
    h2_stream_reset(s, H2_INTERNAL_ERROR);
}

static void protocol_file_failed(const http_stream *s, int error)
{
    const server_rec *server = s->session->bc->base;

    if (error)
        ap_log_error(APLOG_MARK, APLOG_ERR, error, server, "HTTP/2 stream %u: cannot read a file",
                     (unsigned)s->id);
    else
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "HTTP/2 stream %u: a file became shorter while it was sent", (unsigned)s->id);
}

const stream_protocol h2_protocol = {.name = "HTTP/2.0",
                                     .name_len = 8,
                                     .major = 2,
                                     .put_status = hpack_put_status,
                                     .put_line = hpack_put_known,
                                     .put_plain = protocol_put_plain,
                                     .window = h2_output_window,
                                     .put_data = h2_output_data,
                                     .put_block = h2_output_block,
                                     .sent = stream_sent,
                                     .wants = protocol_wants,
                                     .credit = protocol_credit,
                                     .answer_stored = h2_answer_stored,
                                     .fail = protocol_fail,
                                     .file_failed = protocol_file_failed};
