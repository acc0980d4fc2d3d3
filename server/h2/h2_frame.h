/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_H2_FRAME_H
#define BRIGADE_H2_H2_FRAME_H

/**
 * @file h2_frame.h
 * Frames of HTTP/2 as bytes. Source: RFC 9113, 4.1 and 6; RFC 9218, 7.1.
 */
#include <stddef.h>
#include <stdint.h>

#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define H2_PREFACE_LEN 24
#define H2_FRAME_HEAD 9
#define H2_FRAME_MAX 16384 /**< payload that every peer takes; this server takes no more */
#define H2_WINDOW_DEFAULT 65535
#define H2_WINDOW_MAX 0x7fffffff
#define H2_STREAM_MAX 0x7fffffffu

typedef enum h2_frame_type {
    H2_DATA,
    H2_HEADERS,
    H2_PRIORITY,
    H2_RST_STREAM,
    H2_SETTINGS,
    H2_PUSH_PROMISE,
    H2_PING,
    H2_GOAWAY,
    H2_WINDOW_UPDATE,
    H2_CONTINUATION,
    H2_PRIORITY_UPDATE = 16
} h2_frame_type;

enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4, H2_PADDED = 8, H2_HAS_PRIORITY = 32 };

typedef enum h2_error {
    H2_NO_ERROR,
    H2_PROTOCOL_ERROR,
    H2_INTERNAL_ERROR,
    H2_FLOW_CONTROL_ERROR,
    H2_SETTINGS_TIMEOUT,
    H2_STREAM_CLOSED,
    H2_FRAME_SIZE_ERROR,
    H2_REFUSED_STREAM,
    H2_CANCEL,
    H2_COMPRESSION_ERROR,
    H2_CONNECT_ERROR,
    H2_ENHANCE_YOUR_CALM
} h2_error;

typedef enum h2_setting {
    H2_SET_HEADER_TABLE_SIZE = 1,
    H2_SET_ENABLE_PUSH,
    H2_SET_MAX_CONCURRENT_STREAMS,
    H2_SET_INITIAL_WINDOW_SIZE,
    H2_SET_MAX_FRAME_SIZE,
    H2_SET_MAX_HEADER_LIST_SIZE,
    H2_SET_ENABLE_CONNECT_PROTOCOL = 8,
    H2_SET_NO_RFC7540_PRIORITIES = 9
} h2_setting;

/** The head of a frame. */
typedef struct h2_frame {
    uint32_t len;
    uint8_t type, flags;
    uint32_t stream;
} h2_frame;

static inline uint32_t h2_get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint8_t *h2_put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
    return p + 4;
}

/** @param in  H2_FRAME_HEAD bytes */
static inline h2_frame h2_get_frame(const uint8_t *in)
{
    return (h2_frame){.len = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2],
                      .type = in[3],
                      .flags = in[4],
                      .stream = h2_get32(in + 5) & H2_STREAM_MAX};
}

/** @return behind the H2_FRAME_HEAD bytes */
static inline uint8_t *h2_put_frame(uint8_t *out, size_t len, h2_frame_type type, unsigned flags,
                                    uint32_t stream)
{
    out[0] = (uint8_t)(len >> 16);
    out[1] = (uint8_t)(len >> 8);
    out[2] = (uint8_t)len;
    out[3] = (uint8_t)type;
    out[4] = (uint8_t)flags;
    return h2_put32(out + 5, stream);
}

#endif
