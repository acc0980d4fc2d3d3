/* SPDX-License-Identifier: Apache-2.0 */
/* HEADERS and CONTINUATION: field blocks, collected where they come in several frames. */
#include "h2_private.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define INPUT_CONTINUATIONS 8 /* frames that one field block may come in, empty ones among them */

/* Append to the block that is being collected. */
static int input_block_add(h2_session *h, const uint8_t *data, uint32_t len)
{
    uint32_t cap = h->block_cap ? h->block_cap : 4096;
    char *block;

    BRG_ASSERT(h->block_stream && h->block_len <= h->block_cap);
    if (h->block_len + len > (uint32_t)h->conf.max_block) {
        h2_fail(h, H2_ENHANCE_YOUR_CALM, "field block over H2MaxHeaderBlockLen");
        return -1;
    }
    while (cap < h->block_len + len)
        cap *= 2;
    if (cap != h->block_cap) {
        if (!(block = realloc(h->block, cap))) {
            h2_fail(h, H2_INTERNAL_ERROR, "no memory");
            return -1;
        }
        h->block = block;
        h->block_cap = cap;
    }
    memcpy(h->block + h->block_len, data, len);
    h->block_len += len;
    return 0;
}

void h2_input_headers(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    uint32_t len;

    BRG_ASSERT_DEBUG(!h->block_stream && !h->streams.ending); /* input_frame(), h2_input() */
    if (!(f->stream & 1)) {
        h2_fail(h, H2_PROTOCOL_ERROR, "HEADERS on a stream that is not the client's");
        return;
    }
    if (h2_input_unpad(f, &payload, &len) || (f->flags & H2_HAS_PRIORITY && len < 5)) {
        h2_fail(h, f->flags & H2_PADDED ? H2_PROTOCOL_ERROR : H2_FRAME_SIZE_ERROR,
                "HEADERS too short for what they should have");
        return;
    }
    h->block_flags = f->flags;
    if (f->flags & H2_HAS_PRIORITY) {
        if ((h2_get32(payload) & H2_STREAM_MAX) == f->stream) {
            h2_fail(h, H2_PROTOCOL_ERROR, "a stream that depends on itself");
            return;
        }
        payload += 5;
        len -= 5;
    }
    if (f->flags & H2_END_HEADERS) {
        if (len > (uint32_t)h->conf.max_block)
            h2_fail(h, H2_ENHANCE_YOUR_CALM, "field block over H2MaxHeaderBlockLen");
        else
            h2_take_block(h, f->stream, f->flags, payload, len);
        return;
    }
    h->block_stream = f->stream;
    h->block_len = 0;
    h->block_frames = 0;
    (void)input_block_add(h, payload, len);
}

void h2_input_continuation(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    if (!h->block_stream || f->stream != h->block_stream) {
        h2_fail(h, H2_PROTOCOL_ERROR, "CONTINUATION without HEADERS");
        return;
    }
    if (++h->block_frames > INPUT_CONTINUATIONS) {
        h2_fail(h, H2_ENHANCE_YOUR_CALM, "CONTINUATION without end");
        return;
    }
    if (input_block_add(h, payload, f->len) || !(f->flags & H2_END_HEADERS))
        return;
    h->block_stream = 0;
    h2_take_block(h, f->stream, h->block_flags, (const uint8_t *)h->block, h->block_len);
    free(h->block);
    h->block = NULL;
    h->block_len = h->block_cap = 0;
}
