/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_QUIC_QUIC_WIRE_H
#define BRIGADE_QUIC_QUIC_WIRE_H

/**
 * @file quic_wire.h
 * Bytes of QUIC: numbers of variable length (RFC 9000, 16), heads of packets (17), types of frames (19), error codes (20).
 *
 * Threads: any. Blocking: no.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define QUIC_V1 0x00000001u
#define QUIC_V2 0x6b3343cfu /**< RFC 9369 */

#define QUIC_CID_MOST 20        /**< bytes of a connection id */
#define QUIC_TAG 16             /**< bytes that the AEAD adds */
#define QUIC_DATAGRAM_MIN 1200  /**< of UDP, with an Initial packet; every path takes it */
#define QUIC_DATAGRAM_MOST 1472 /**< that is sent: an Ethernet frame with IPv4 */
#define QUIC_RESET_TOKEN 16     /**< bytes of a stateless reset token */
#define QUIC_VARINT_MOST ((1ull << 62) - 1)

/** A connection id. */
typedef struct quic_cid {
    uint8_t len;
    uint8_t id[QUIC_CID_MOST];
} quic_cid;

static inline int quic_cid_equal(const quic_cid *a, const quic_cid *b)
{
    return a->len == b->len && !memcmp(a->id, b->id, a->len);
}

typedef enum quic_packet_type {
    QUIC_INITIAL,
    QUIC_0RTT,
    QUIC_HANDSHAKE,
    QUIC_RETRY,
    QUIC_1RTT,
    QUIC_VERSIONS, /**< version negotiation, or a version that is not known */
} quic_packet_type;

/** Transport error codes: RFC 9000, 20.1; RFC 9368, 10.2. */
typedef enum quic_error {
    QUIC_NO_ERROR,
    QUIC_INTERNAL_ERROR,
    QUIC_CONNECTION_REFUSED,
    QUIC_FLOW_CONTROL_ERROR,
    QUIC_STREAM_LIMIT_ERROR,
    QUIC_STREAM_STATE_ERROR,
    QUIC_FINAL_SIZE_ERROR,
    QUIC_FRAME_ENCODING_ERROR,
    QUIC_TRANSPORT_PARAMETER_ERROR,
    QUIC_CONNECTION_ID_LIMIT_ERROR,
    QUIC_PROTOCOL_VIOLATION,
    QUIC_INVALID_TOKEN,
    QUIC_APPLICATION_ERROR,
    QUIC_CRYPTO_BUFFER_EXCEEDED,
    QUIC_KEY_UPDATE_ERROR,
    QUIC_AEAD_LIMIT_REACHED,
    QUIC_NO_VIABLE_PATH,
    QUIC_VERSION_NEGOTIATION_ERROR,
    QUIC_CRYPTO_ERROR = 0x100 /**< and the alert of TLS */
} quic_error;

typedef enum quic_frame_type {
    QUIC_F_PADDING,
    QUIC_F_PING,
    QUIC_F_ACK,
    QUIC_F_ACK_ECN,
    QUIC_F_RESET_STREAM,
    QUIC_F_STOP_SENDING,
    QUIC_F_CRYPTO,
    QUIC_F_NEW_TOKEN,
    QUIC_F_STREAM, /**< up to 0x0f, with QUIC_STREAM_* */
    QUIC_F_MAX_DATA = 0x10,
    QUIC_F_MAX_STREAM_DATA,
    QUIC_F_MAX_STREAMS_BIDI,
    QUIC_F_MAX_STREAMS_UNI,
    QUIC_F_DATA_BLOCKED,
    QUIC_F_STREAM_DATA_BLOCKED,
    QUIC_F_STREAMS_BLOCKED_BIDI,
    QUIC_F_STREAMS_BLOCKED_UNI,
    QUIC_F_NEW_CONNECTION_ID,
    QUIC_F_RETIRE_CONNECTION_ID,
    QUIC_F_PATH_CHALLENGE,
    QUIC_F_PATH_RESPONSE,
    QUIC_F_CLOSE,
    QUIC_F_CLOSE_APPLICATION,
    QUIC_F_HANDSHAKE_DONE
} quic_frame_type;

enum { QUIC_STREAM_FIN = 1, QUIC_STREAM_LEN = 2, QUIC_STREAM_OFF = 4 };

/* ---- reading ---- */

/** Bytes that are read from the front. Once a read went beyond the end, bad is set and all that is read is 0. */
typedef struct quic_reader {
    const uint8_t *at, *end;
    int bad;
} quic_reader;

static inline quic_reader quic_reader_of(const uint8_t *data, size_t len)
{
    return (quic_reader){data, data + len, 0};
}

static inline size_t quic_left(const quic_reader *r)
{
    return (size_t)(r->end - r->at);
}

/** @a n bytes; NULL: there are fewer. */
static inline const uint8_t *quic_get_bytes(quic_reader *r, uint64_t n)
{
    const uint8_t *p = r->at;

    if (n > quic_left(r)) {
        r->bad = 1;
        r->at = r->end;
        return NULL;
    }
    r->at += n;
    return p;
}

static inline uint8_t quic_get8(quic_reader *r)
{
    const uint8_t *p = quic_get_bytes(r, 1);

    return p ? *p : 0;
}

static inline uint32_t quic_get32(quic_reader *r)
{
    const uint8_t *p = quic_get_bytes(r, 4);

    return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

/** A number of variable length. */
uint64_t quic_get_varint(quic_reader *r);

/** A connection id of @a len bytes; more than QUIC_CID_MOST are bad. */
void quic_get_cid(quic_reader *r, size_t len, quic_cid *out);

/* ---- writing; there is room ---- */

/** Bytes that @a v takes, which is at most QUIC_VARINT_MOST. */
static inline size_t quic_varint_len(uint64_t v)
{
    return v < 1u << 6 ? 1 : v < 1u << 14 ? 2 : v < 1u << 30 ? 4 : 8;
}

uint8_t *quic_put_varint(uint8_t *p, uint64_t v);

/** The same in 2 bytes; @a v is below 2^14. */
static inline uint8_t *quic_put_varint2(uint8_t *p, size_t v)
{
    p[0] = (uint8_t)(0x40 | v >> 8);
    p[1] = (uint8_t)v;
    return p + 2;
}

static inline uint8_t *quic_put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
    return p + 4;
}

static inline uint8_t *quic_put_bytes(uint8_t *p, const void *data, size_t len)
{
    if (len)
        memcpy(p, data, len);
    return p + len;
}

/* ---- heads of packets ---- */

/** The part of a packet's head that is not protected. */
typedef struct quic_head {
    quic_packet_type type;
    uint32_t version;
    quic_cid dcid, scid;
    const uint8_t *token; /**< Initial: of token_len bytes */
    size_t token_len;
    size_t pn_off; /**< where the packet number begins */
    size_t len;    /**< of the whole packet */
} quic_head;

/**
 * Read the head of the packet at the front of a datagram.
 * @param data  @a len bytes; with a short head, the connection id is one of QUIC_CID_LEN bytes
 * @return 0; -1: not a head, and the rest of the datagram is of no use
 */
int quic_head_read(quic_head *h, const uint8_t *data, size_t len);

/** The first byte of a long head: type and version, without the low bits. */
uint8_t quic_long_first(quic_packet_type type, uint32_t version);

/** A packet number from its low @a bytes bytes. Source: RFC 9000, A.3 */
uint64_t quic_pn_of(uint64_t truncated, unsigned bytes, uint64_t largest);

#endif
