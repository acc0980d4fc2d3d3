/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_H2_WIRE_H
#define BRIGADE_H2_H2_WIRE_H

/**
 * @file h2_wire.h
 * Rules of frames that hold for both ends of an HTTP/2 connection: this server's towards clients (h2_input.c) and towards
 * backends (proxy_h2_frames.c). Threads: the owner of the connection. Blocking: no. Source: RFC 9113, 4 and 6.
 */
#include "h2_frame.h"
#include <stdlib.h>

/** A rule that the peer broke: an error of the connection. why NULL: none */
typedef struct h2_breach {
    h2_error code;
    const char *why; /**< constant */
} h2_breach;

/** A field block, collected where it comes in several frames. All 0: none. */
typedef struct h2_block {
    uint32_t stream;     /**< CONTINUATION is due for it; 0: the block is complete */
    uint8_t flags;       /**< of its HEADERS */
    const uint8_t *data; /**< complete: @a len bytes, in its frame or in own */
    uint32_t len, cap, frames;
    uint8_t *own; /**< malloc(); NULL: it came in one frame */
} h2_block;

/** h2_frame_check() of unusual frames. */
h2_breach h2_frame_judge(const h2_frame *f, const h2_block *block);

/** Judge the head of a frame: its length, its stream, its place among those of @a block. */
static inline h2_breach h2_frame_check(const h2_frame *f, const h2_block *block)
{
    const int usual = f->type <= H2_HEADERS ? f->stream && f->len <= H2_FRAME_MAX
                                            : f->type == H2_WINDOW_UPDATE && f->len == 4;

    if (usual && !block->stream)
        return (h2_breach){H2_NO_ERROR, NULL};
    return h2_frame_judge(f, block);
}

/** The payload without padding. @return 0; -1: the padding is as long as the frame */
int h2_unpad(const h2_frame *f, const uint8_t **payload, uint32_t *len);

/**
 * Take HEADERS or CONTINUATION that h2_frame_check() found right.
 * @param most      bytes of a block
 * @param frames    CONTINUATION frames that it may come in, empty ones among them
 */
h2_breach h2_block_take(h2_block *b, const h2_frame *f, const uint8_t *payload, uint32_t most,
                        uint32_t frames);

/** b->data was read, or is not wanted. */
static inline void h2_block_free(h2_block *b)
{
    if (!b->own)
        return;
    free(b->own);
    b->own = NULL;
    b->cap = 0;
}

/** The action of one end on a setting whose value is right. */
typedef h2_breach h2_setting_take(void *baton, unsigned id, uint32_t value);

/** Give each setting of a payload to @a take, up to a breach. @param len  a multiple of 6 */
h2_breach h2_settings_read(const uint8_t *payload, uint32_t len, h2_setting_take *take,
                           void *baton);

/** @return behind the setting */
static inline uint8_t *h2_put_setting(uint8_t *out, h2_setting id, uint32_t value)
{
    *out++ = 0;
    *out++ = (uint8_t)id;
    return h2_put32(out, value);
}

/** WINDOW_UPDATE, or another SETTINGS_INITIAL_WINDOW_SIZE. */
static inline h2_breach h2_window_add(int64_t *window, int64_t bytes)
{
    *window += bytes;
    if (*window > H2_WINDOW_MAX)
        return (h2_breach){H2_FLOW_CONTROL_ERROR, "window over 2^31 - 1"};
    return (h2_breach){H2_NO_ERROR, NULL};
}

#endif
