/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H3_H3_WIRE_H
#define BRIGADE_H3_H3_WIRE_H

/**
 * @file h3_wire.h
 * Numbers of HTTP/3 (RFC 9114, 11.2), and its integers (RFC 9000, 16).
 * Threads: any.
 */
#include <stddef.h>
#include <stdint.h>

typedef enum h3_error {
    H3_NO_ERROR = 0x100,
    H3_GENERAL_PROTOCOL_ERROR,
    H3_INTERNAL_ERROR,
    H3_STREAM_CREATION_ERROR,
    H3_CLOSED_CRITICAL_STREAM,
    H3_FRAME_UNEXPECTED,
    H3_FRAME_ERROR,
    H3_EXCESSIVE_LOAD,
    H3_ID_ERROR,
    H3_SETTINGS_ERROR,
    H3_MISSING_SETTINGS,
    H3_REQUEST_REJECTED,
    H3_REQUEST_CANCELLED,
    H3_REQUEST_INCOMPLETE,
    H3_MESSAGE_ERROR,
    H3_CONNECT_ERROR,
    H3_VERSION_FALLBACK,
    H3_QPACK_DECOMPRESSION_FAILED = 0x200,
    H3_QPACK_ENCODER_STREAM_ERROR,
    H3_QPACK_DECODER_STREAM_ERROR
} h3_error;

enum {
    H3_DATA = 0,
    H3_HEADERS = 1,
    H3_CANCEL_PUSH = 3,
    H3_SETTINGS = 4,
    H3_PUSH_PROMISE = 5,
    H3_GOAWAY = 7,
    H3_MAX_PUSH_ID = 13,
    H3_PRIORITY_UPDATE = 0xf0700, /**< of a request: RFC 9218, 7.2 */
    H3_PRIORITY_UPDATE_PUSH = 0xf0701
};

enum { H3_STREAM_CONTROL, H3_STREAM_PUSH, H3_STREAM_ENCODER, H3_STREAM_DECODER };

enum {
    H3_SET_TABLE_CAPACITY = 1,
    H3_SET_FIELD_SECTION_SIZE = 6,
    H3_SET_BLOCKED_STREAMS = 7,
    H3_SET_CONNECT_PROTOCOL = 8 /* RFC 9220 */
};

/** 1: a type of HTTP/2's frames, or of its settings, that HTTP/3 must not have. */
static inline int h3_frame_is_h2(uint64_t type)
{
    return type == 2 || type == 6 || type == 8 || type == 9;
}

/** Bytes of an integer by its first one. */
static inline size_t h3_int_len(uint8_t first)
{
    return (size_t)1 << (first >> 6);
}

/** All its bytes are there. */
static inline uint64_t h3_int_get(const uint8_t *at)
{
    uint64_t v = *at & 0x3f;

    for (size_t i = 1, n = h3_int_len(*at); i < n; i++)
        v = v << 8 | at[i];
    return v;
}

/** @return behind it; NULL: it is not all there */
static inline const uint8_t *h3_int_read(const uint8_t *at, const uint8_t *end, uint64_t *v)
{
    if (at == end || (size_t)(end - at) < h3_int_len(*at))
        return NULL;
    *v = h3_int_get(at);
    return at + h3_int_len(*at);
}

/** @return behind it, up to 8 bytes on */
static inline uint8_t *h3_int_put(uint8_t *out, uint64_t v)
{
    const unsigned log = v < 0x40 ? 0 : v < 0x4000 ? 1 : v < 0x40000000 ? 2 : 3;
    const size_t n = (size_t)1 << log;

    for (size_t i = n; i--; v >>= 8)
        out[i] = (uint8_t)v;
    *out |= (uint8_t)(log << 6);
    return out + n;
}

/** The head of a frame. @return behind it, up to 16 bytes on */
static inline uint8_t *h3_put_frame(uint8_t *out, uint64_t type, uint64_t len)
{
    return h3_int_put(h3_int_put(out, type), len);
}

#endif
