/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that come: RFC 9000, 12.4 and 19. Each handler returns 0, 1 if the packet is to be treated
 * as if it had not come, or the negative quic_error of its violation. The first of these,
 * QUIC_INTERNAL_ERROR, stands for a connection that failed or ended already. */
#include "quic_private.h"
#include <stdlib.h>

#define FRAME_TOLD (-QUIC_INTERNAL_ERROR)

/* Which frames packets of a space may have, and behind those packets of early data: a bit for each type. */
#define FRAME_BIT(type) (1u << (type))
static const uint32_t frames_allowed[QUIC_SPACES + 1] = {
    [QUIC_S_INITIAL] = FRAME_BIT(QUIC_F_PADDING) | FRAME_BIT(QUIC_F_PING) | FRAME_BIT(QUIC_F_ACK) |
                       FRAME_BIT(QUIC_F_ACK_ECN) | FRAME_BIT(QUIC_F_CRYPTO) |
                       FRAME_BIT(QUIC_F_CLOSE),
    [QUIC_S_HANDSHAKE] = FRAME_BIT(QUIC_F_PADDING) | FRAME_BIT(QUIC_F_PING) |
                         FRAME_BIT(QUIC_F_ACK) | FRAME_BIT(QUIC_F_ACK_ECN) |
                         FRAME_BIT(QUIC_F_CRYPTO) | FRAME_BIT(QUIC_F_CLOSE),
    /* NEW_TOKEN and HANDSHAKE_DONE are a server's. */
    [QUIC_S_APP] = 0x7fffffff & ~(FRAME_BIT(QUIC_F_NEW_TOKEN) | FRAME_BIT(QUIC_F_HANDSHAKE_DONE)),
    [QUIC_SPACES] = 0x7fffffff &
                    ~(FRAME_BIT(QUIC_F_ACK) | FRAME_BIT(QUIC_F_ACK_ECN) | FRAME_BIT(QUIC_F_CRYPTO) |
                      FRAME_BIT(QUIC_F_NEW_TOKEN) | FRAME_BIT(QUIC_F_PATH_RESPONSE) |
                      FRAME_BIT(QUIC_F_RETIRE_CONNECTION_ID) | FRAME_BIT(QUIC_F_HANDSHAKE_DONE))};

static int frame_crypto(quic_conn *qc, quic_came *came, quic_reader *r)
{
    const uint64_t off = quic_get_varint(r), len = quic_get_varint(r);
    const uint8_t *data = quic_get_bytes(r, len);

    if (r->bad || off + len > QUIC_VARINT_MOST)
        return -QUIC_FRAME_ENCODING_ERROR;
    if (!qc->space[came->space])
        return 0;
    return quic_tls_crypto(qc, came->space, off, data, (size_t)len);
}

static int frame_max_data(quic_conn *qc, quic_reader *r)
{
    const uint64_t v = quic_get_varint(r), before = qc->out_max;

    if (v > before)
        qc->out_max = v;
    if (v <= before || (qc->out_sent == before && v - before < QUIC_CREDIT_LEAST))
        return quic_conn_flood(qc, 4);
    return 0;
}

static int frame_max_streams(quic_conn *qc, quic_reader *r, int is_uni)
{
    const uint64_t v = quic_get_varint(r);

    if (v > 1ull << 60)
        return -QUIC_FRAME_ENCODING_ERROR;
    if (is_uni && v > qc->own_uni_most)
        qc->own_uni_most = v;
    else if (is_uni || v <= qc->peer.max_bidi)
        return quic_conn_flood(qc, 4);
    else
        qc->peer.max_bidi = v;
    return 0;
}

/* From an address that the client tries: its answer goes there, the last one's alone. */
static void frame_challenge_elsewhere(quic_conn *qc, const quic_came *came, const uint8_t *data)
{
    if (!qc->elsewhere && !(qc->elsewhere = malloc(sizeof *qc->elsewhere)))
        return;
    *qc->elsewhere = (quic_elsewhere){
        .peer = *came->peer, .local = *came->local, .is_long = came->size >= QUIC_DATAGRAM_MIN / 3};
    memcpy(qc->elsewhere->data, data, 8);
}

static int frame_path_challenge(quic_conn *qc, const quic_came *came, quic_reader *r)
{
    const uint8_t *data = quic_get_bytes(r, 8);

    BRG_ASSERT(qc->responses_n <= QUIC_RESPONSES);
    if (!data)
        return -QUIC_FRAME_ENCODING_ERROR;
    if (quic_conn_flood(qc, 16))
        return FRAME_TOLD;
    if (!quic_addr_equal(came->peer, &qc->path.peer))
        frame_challenge_elsewhere(qc, came, data);
    else if (qc->responses_n < QUIC_RESPONSES)
        memcpy(qc->responses[qc->responses_n++], data, 8);
    return 0;
}

static int frame_path_response(quic_conn *qc, quic_reader *r)
{
    const uint8_t *data = quic_get_bytes(r, 8);

    if (!data)
        return -QUIC_FRAME_ENCODING_ERROR;
    quic_path_response(qc, data);
    return 0;
}

static int frame_close(quic_conn *qc, quic_reader *r, int is_application)
{
    const uint64_t code = quic_get_varint(r), type = is_application ? 0 : quic_get_varint(r),
                   len = quic_get_varint(r);

    (void)type;
    quic_get_bytes(r, len);
    if (r->bad)
        return -QUIC_FRAME_ENCODING_ERROR;
    qc->end = (quic_end){
        .code = code, .is_application = (uint8_t)is_application, .by_peer = 1, .reason = ""};
    qc->ep->figures.handshakes_failed += qc->state == QUIC_HANDSHAKE_STATE;
    quic_conn_over(qc, QUIC_DRAINING);
    return FRAME_TOLD;
}

/* BLOCKED frames: they tell, and ask for nothing. */
static int frame_blocked(quic_conn *qc, quic_reader *r, unsigned type)
{
    if (type == QUIC_F_STREAM_DATA_BLOCKED)
        quic_get_varint(r);
    if (quic_get_varint(r) > 1ull << 60 && type >= QUIC_F_STREAMS_BLOCKED_BIDI)
        return -QUIC_FRAME_ENCODING_ERROR;
    return quic_conn_flood(qc, 4);
}

static int frame_of_conn(quic_conn *qc, quic_came *came, unsigned type, quic_reader *r)
{
    switch (type) {
    case QUIC_F_MAX_DATA:
        return frame_max_data(qc, r);
    case QUIC_F_MAX_STREAMS_BIDI:
    case QUIC_F_MAX_STREAMS_UNI:
        return frame_max_streams(qc, r, type == QUIC_F_MAX_STREAMS_UNI);
    case QUIC_F_NEW_CONNECTION_ID:
        return quic_new_cid_came(qc, r);
    case QUIC_F_RETIRE_CONNECTION_ID:
        return quic_retire_came(qc, r, came);
    case QUIC_F_PATH_CHALLENGE:
        return frame_path_challenge(qc, came, r);
    case QUIC_F_PATH_RESPONSE:
        return frame_path_response(qc, r);
    case QUIC_F_CLOSE:
    case QUIC_F_CLOSE_APPLICATION:
        return frame_close(qc, r, type == QUIC_F_CLOSE_APPLICATION);
    default:
        return frame_blocked(qc, r, type);
    }
}

static int frame_one(quic_conn *qc, quic_came *came, unsigned type, quic_reader *r)
{
    switch (type) {
    case QUIC_F_PADDING:
        while (r->at < r->end && !*r->at)
            r->at++;
        return 0;
    case QUIC_F_PING:
        return quic_conn_flood(qc, 1);
    case QUIC_F_ACK:
    case QUIC_F_ACK_ECN:
        return quic_ack_read(qc, came->space, r, type == QUIC_F_ACK_ECN);
    case QUIC_F_CRYPTO:
        return frame_crypto(qc, came, r);
    case QUIC_F_RESET_STREAM:
        return quic_reset_came(qc, r);
    case QUIC_F_STOP_SENDING:
        return quic_stop_came(qc, r);
    case QUIC_F_MAX_STREAM_DATA:
        return quic_max_stream_data_came(qc, r);
    default:
        if (type >= QUIC_F_STREAM && type < QUIC_F_MAX_DATA)
            return quic_stream_came(qc, type, r);
        return frame_of_conn(qc, came, type, r);
    }
}

static int frame_is_probing(unsigned type)
{
    return type == QUIC_F_PADDING || type == QUIC_F_NEW_CONNECTION_ID ||
           type == QUIC_F_PATH_CHALLENGE || type == QUIC_F_PATH_RESPONSE;
}

static int frame_is_eliciting(unsigned type)
{
    return type != QUIC_F_PADDING && type != QUIC_F_ACK && type != QUIC_F_ACK_ECN &&
           type != QUIC_F_CLOSE && type != QUIC_F_CLOSE_APPLICATION;
}

static int frames_failed(quic_conn *qc, int rc)
{
    BRG_ASSERT(rc <= 0);
    if (rc < FRAME_TOLD && qc->state <= QUIC_UP)
        quic_conn_fail(qc, (uint64_t)-rc, "a frame that is wrong");
    return -1;
}

int quic_frames(quic_conn *qc, quic_came *came, const uint8_t *data, size_t len)
{
    const uint32_t allowed = frames_allowed[came->type == QUIC_0RTT ? QUIC_SPACES : came->space];
    quic_reader r = quic_reader_of(data, len);
    int taken = 0;

    BRG_ASSERT(came->space < QUIC_SPACES && qc->in_call);
    while (quic_left(&r)) {
        const uint64_t type = quic_get_varint(&r);
        int rc;

        if (r.bad || type > QUIC_F_HANDSHAKE_DONE)
            return frames_failed(qc, -QUIC_FRAME_ENCODING_ERROR);
        if (!(allowed & FRAME_BIT(type)))
            return frames_failed(qc, -QUIC_PROTOCOL_VIOLATION);
        came->eliciting |= frame_is_eliciting((unsigned)type);
        came->probing_only &= frame_is_probing((unsigned)type);
        rc = frame_one(qc, came, (unsigned)type, &r);
        if (rc < 0 || qc->state > QUIC_UP)
            return frames_failed(qc, rc);
        if (r.bad)
            return frames_failed(qc, -QUIC_FRAME_ENCODING_ERROR);
        taken |= rc;
    }
    return taken;
}
