/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a packet, as they stand in it. They are read a second time, by the wire alone: so they
 * are told exactly as received, or sent. */
#include "quic_qlog.h"
#include "brigade/assert.h"

#define FRAMES_MOST 32 /* of a packet that are told */
#define RANGES_MOST 32 /* of an ACK */

/* Frames that are numbers alone. */
static const struct {
    const char *name, *key[3];
} frames_plain[QUIC_F_HANDSHAKE_DONE + 1] = {
    [QUIC_F_PING] = {"ping", {NULL}},
    [QUIC_F_RESET_STREAM] = {"reset_stream", {"stream_id", "error_code", "final_size"}},
    [QUIC_F_STOP_SENDING] = {"stop_sending", {"stream_id", "error_code"}},
    [QUIC_F_MAX_DATA] = {"max_data", {"maximum"}},
    [QUIC_F_MAX_STREAM_DATA] = {"max_stream_data", {"stream_id", "maximum"}},
    [QUIC_F_MAX_STREAMS_BIDI] = {"max_streams\",\"stream_type\":\"bidirectional", {"maximum"}},
    [QUIC_F_MAX_STREAMS_UNI] = {"max_streams\",\"stream_type\":\"unidirectional", {"maximum"}},
    [QUIC_F_DATA_BLOCKED] = {"data_blocked", {"limit"}},
    [QUIC_F_STREAM_DATA_BLOCKED] = {"stream_data_blocked", {"stream_id", "limit"}},
    [QUIC_F_STREAMS_BLOCKED_BIDI] = {"streams_blocked\",\"stream_type\":\"bidirectional",
                                     {"limit"}},
    [QUIC_F_STREAMS_BLOCKED_UNI] = {"streams_blocked\",\"stream_type\":\"unidirectional",
                                    {"limit"}},
    [QUIC_F_RETIRE_CONNECTION_ID] = {"retire_connection_id", {"sequence_number"}},
    [QUIC_F_HANDSHAKE_DONE] = {"handshake_done", {NULL}}};

static void frame_name(qlog_text *t, const char *name)
{
    qlog_put(t, "{\"frame_type\":\"");
    qlog_put(t, name);
    qlog_put(t, "\"");
}

static void frame_raw(qlog_text *t, uint64_t len)
{
    qlog_put(t, ",\"raw\":{\"length\":");
    qlog_put_number(t, len);
    qlog_put(t, "}");
}

static void frame_plain(qlog_text *t, unsigned type, quic_reader *r)
{
    BRG_ASSERT(frames_plain[type].name);
    frame_name(t, frames_plain[type].name);
    for (int i = 0; i < 3 && frames_plain[type].key[i]; i++)
        qlog_put_pair(t, frames_plain[type].key[i], quic_get_varint(r));
}

static void frame_padding(qlog_text *t, quic_reader *r)
{
    uint64_t n = 1;

    for (; r->at < r->end && !*r->at; r->at++)
        n++;
    frame_name(t, "padding");
    frame_raw(t, n);
}

static void ack_range(qlog_text *t, uint64_t from, uint64_t to)
{
    qlog_put(t, "[");
    qlog_put_number(t, from);
    if (from != to) {
        qlog_put(t, ",");
        qlog_put_number(t, to);
    }
    qlog_put(t, "]");
}

static void frame_ack(qlog_text *t, quic_reader *r, int with_ecn, unsigned exponent)
{
    static const char *const marks[] = {"ect0", "ect1", "ce"};
    uint64_t at = quic_get_varint(r), delay = quic_get_varint(r), n = quic_get_varint(r);
    uint64_t len = quic_get_varint(r);

    frame_name(t, "ack");
    qlog_put(t, ",\"ack_delay\":");
    qlog_put_ms(t, (apr_interval_time_t)((delay & 0xffffffff) << exponent));
    qlog_put(t, ",\"acked_ranges\":[");
    ack_range(t, at - len, at);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        at -= len + quic_get_varint(r) + 2;
        len = quic_get_varint(r);
        if (i >= RANGES_MOST)
            continue;
        qlog_put(t, ",");
        ack_range(t, at - len, at);
    }
    qlog_put(t, "]");
    for (int i = 0; i < 3 && with_ecn; i++)
        qlog_put_pair(t, marks[i], quic_get_varint(r));
}

static void frame_crypto(qlog_text *t, quic_reader *r)
{
    const uint64_t off = quic_get_varint(r), len = quic_get_varint(r);

    frame_name(t, "crypto");
    qlog_put_pair(t, "offset", off);
    frame_raw(t, len);
    quic_get_bytes(r, len);
}

static void frame_stream(qlog_text *t, unsigned type, quic_reader *r)
{
    const uint64_t id = quic_get_varint(r), off = type & QUIC_STREAM_OFF ? quic_get_varint(r) : 0;
    const uint64_t len = type & QUIC_STREAM_LEN ? quic_get_varint(r) : quic_left(r);

    frame_name(t, "stream");
    qlog_put_pair(t, "stream_id", id);
    qlog_put_pair(t, "offset", off);
    if (type & QUIC_STREAM_FIN)
        qlog_put(t, ",\"fin\":true");
    frame_raw(t, len);
    quic_get_bytes(r, len);
}

static void frame_bytes(qlog_text *t, const char *name, const char *key, quic_reader *r, size_t len)
{
    const uint8_t *data = quic_get_bytes(r, len);

    frame_name(t, name);
    qlog_put(t, ",\"");
    qlog_put(t, key);
    qlog_put(t, "\":\"");
    qlog_put_hex(t, data, data ? len : 0);
    qlog_put(t, "\"");
}

static void frame_new_cid(qlog_text *t, quic_reader *r)
{
    const uint64_t seq = quic_get_varint(r), retire = quic_get_varint(r);

    frame_bytes(t, "new_connection_id", "connection_id", r, quic_get8(r));
    qlog_put_pair(t, "sequence_number", seq);
    qlog_put_pair(t, "retire_prior_to", retire);
    quic_get_bytes(r, QUIC_RESET_TOKEN);
}

static void frame_close(qlog_text *t, quic_reader *r, int is_application)
{
    const uint64_t code = quic_get_varint(r);

    frame_name(t, "connection_close");
    qlog_put(t, is_application ? ",\"error_space\":\"application\""
                               : ",\"error_space\":\"transport\"");
    qlog_put_pair(t, "error_code", code);
    if (!is_application)
        quic_get_varint(r);
    quic_get_bytes(r, quic_get_varint(r));
}

static void frame_other(qlog_text *t, unsigned type, quic_reader *r, unsigned exponent)
{
    switch (type) {
    case QUIC_F_PADDING:
        frame_padding(t, r);
        break;
    case QUIC_F_ACK:
    case QUIC_F_ACK_ECN:
        frame_ack(t, r, type == QUIC_F_ACK_ECN, exponent);
        break;
    case QUIC_F_CRYPTO:
        frame_crypto(t, r);
        break;
    case QUIC_F_NEW_TOKEN: /* its holder is let in: its length alone */
        frame_name(t, "new_token");
        quic_get_bytes(r, quic_get_varint(r));
        break;
    case QUIC_F_NEW_CONNECTION_ID:
        frame_new_cid(t, r);
        break;
    case QUIC_F_PATH_CHALLENGE:
    case QUIC_F_PATH_RESPONSE:
        frame_bytes(t, type == QUIC_F_PATH_CHALLENGE ? "path_challenge" : "path_response", "data",
                    r, 8);
        break;
    case QUIC_F_CLOSE:
    case QUIC_F_CLOSE_APPLICATION:
        frame_close(t, r, type == QUIC_F_CLOSE_APPLICATION);
        break;
    default:
        frame_stream(t, type, r);
    }
}

void qlog_put_frames(qlog_text *t, const uint8_t *payload, size_t len, unsigned ack_exponent)
{
    quic_reader r = quic_reader_of(payload, len);

    BRG_ASSERT(ack_exponent <= 20);

    qlog_put(t, ",\"frames\":[");
    for (int i = 0; quic_left(&r) && i < FRAMES_MOST; i++) {
        const uint64_t type = quic_get_varint(&r);

        if (r.bad || type > QUIC_F_HANDSHAKE_DONE)
            break;
        if (i)
            qlog_put(t, ",");
        if (frames_plain[type].name)
            frame_plain(t, (unsigned)type, &r);
        else
            frame_other(t, (unsigned)type, &r, ack_exponent);
        qlog_put(t, "}");
    }
    qlog_put(t, "]");
}
