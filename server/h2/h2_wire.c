/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of frames, field blocks of several frames, values of settings: the same for clients and backends. */
#include "h2_wire.h"
#include "brigade/assert.h"
#include <string.h>

static const h2_breach wire_right = {H2_NO_ERROR, NULL};

/* ---- heads of frames ---- */

enum { ON_ANY, ON_STREAM, ON_CONNECTION };

static const struct {
    uint8_t on, least, most; /* most 0: any */
    const char *why;
} wire_rules[] = {
    [H2_DATA] = {ON_STREAM, 0, 0, "malformed DATA"},
    [H2_HEADERS] = {ON_STREAM, 0, 0, "malformed HEADERS"},
    [H2_PRIORITY] = {ON_STREAM, 0, 0, "malformed PRIORITY"}, /* its length concerns its stream */
    [H2_RST_STREAM] = {ON_STREAM, 4, 4, "malformed RST_STREAM"},
    [H2_SETTINGS] = {ON_CONNECTION, 0, 0, "malformed SETTINGS"},
    [H2_PING] = {ON_CONNECTION, 8, 8, "malformed PING"},
    [H2_GOAWAY] = {ON_CONNECTION, 8, 0, "malformed GOAWAY"},
    [H2_WINDOW_UPDATE] = {ON_ANY, 4, 4, "malformed WINDOW_UPDATE"},
    [H2_PRIORITY_UPDATE] = {ON_CONNECTION, 4, 0, "malformed PRIORITY_UPDATE"},
};

static int wire_length_is_right(const h2_frame *f)
{
    if (f->type == H2_SETTINGS)
        return f->flags & H2_ACK ? !f->len : f->len % 6 == 0;
    return f->len >= wire_rules[f->type].least &&
           (!wire_rules[f->type].most || f->len <= wire_rules[f->type].most);
}

h2_breach h2_frame_judge(const h2_frame *f, const h2_block *block)
{
    const int known = f->type < sizeof wire_rules / sizeof *wire_rules && wire_rules[f->type].why;
    const unsigned on = known ? wire_rules[f->type].on : ON_ANY;

    if (f->len > H2_FRAME_MAX)
        return (h2_breach){H2_FRAME_SIZE_ERROR, "frame longer than SETTINGS_MAX_FRAME_SIZE"};
    if (block->stream && (f->type != H2_CONTINUATION || f->stream != block->stream))
        return (h2_breach){H2_PROTOCOL_ERROR, "another frame within a field block"};
    if (f->type == H2_CONTINUATION && !block->stream)
        return (h2_breach){H2_PROTOCOL_ERROR, "CONTINUATION without HEADERS"};
    if (f->type == H2_PUSH_PROMISE)
        return (h2_breach){H2_PROTOCOL_ERROR, "PUSH_PROMISE, which nobody may send"};
    if (f->stream ? on == ON_CONNECTION : on == ON_STREAM)
        return (h2_breach){H2_PROTOCOL_ERROR, wire_rules[f->type].why};
    if (known && !wire_length_is_right(f))
        return (h2_breach){H2_FRAME_SIZE_ERROR, wire_rules[f->type].why};
    return wire_right;
}

int h2_unpad(const h2_frame *f, const uint8_t **payload, uint32_t *len)
{
    uint32_t pad;

    *len = f->len;
    if (!(f->flags & H2_PADDED))
        return 0;
    if (!f->len || (pad = (*payload)[0]) >= f->len)
        return -1;
    (*payload)++;
    *len = f->len - 1 - pad;
    return 0;
}

/* ---- field blocks ---- */

static h2_breach block_begin(h2_block *b, const h2_frame *f, const uint8_t **payload, uint32_t *len)
{
    BRG_ASSERT_DEBUG(!b->stream && !b->own);
    b->flags = f->flags;
    b->len = b->frames = 0;
    if (h2_unpad(f, payload, len))
        return (h2_breach){H2_PROTOCOL_ERROR, "padding longer than its frame"};
    if (!(f->flags & H2_HAS_PRIORITY))
        return wire_right;
    if (*len < 5)
        return (h2_breach){H2_FRAME_SIZE_ERROR, "HEADERS too short for a priority"};
    if ((h2_get32(*payload) & H2_STREAM_MAX) == f->stream)
        return (h2_breach){H2_PROTOCOL_ERROR, "a stream that depends on itself"};
    *payload += 5;
    *len -= 5;
    return wire_right;
}

/* Append to the collected block. @return 0; -1: no memory */
static int block_add(h2_block *b, const uint8_t *data, uint32_t len)
{
    uint32_t cap = b->cap ? b->cap : 4096;
    uint8_t *own;

    while (cap < b->len + len)
        cap *= 2;
    if (cap != b->cap) {
        if (!(own = realloc(b->own, cap)))
            return -1;
        b->own = own;
        b->cap = cap;
    }
    memcpy(b->own + b->len, data, len);
    b->data = b->own;
    return 0;
}

h2_breach h2_block_take(h2_block *b, const h2_frame *f, const uint8_t *payload, uint32_t most,
                        uint32_t frames)
{
    uint32_t len = f->len;
    h2_breach breach = wire_right;

    BRG_ASSERT_DEBUG(f->type == H2_HEADERS || (b->stream && f->stream == b->stream));
    if (f->type == H2_HEADERS)
        breach = block_begin(b, f, &payload, &len);
    else if (++b->frames > frames)
        breach = (h2_breach){H2_ENHANCE_YOUR_CALM, "CONTINUATION without end"};
    if (breach.why)
        return breach;
    if (b->len + len > most)
        return (h2_breach){H2_ENHANCE_YOUR_CALM,
                           "field block over H2MaxHeaderBlockLen, or 256 KB of a backend"};
    b->data = payload;
    b->stream = f->flags & H2_END_HEADERS ? 0 : f->stream;
    if ((b->stream || b->own) && block_add(b, payload, len))
        return (h2_breach){H2_INTERNAL_ERROR, "no memory"};
    b->len += len;
    return wire_right;
}

/* ---- settings ---- */

static h2_breach settings_check(unsigned id, uint32_t value)
{
    if (id == H2_SET_ENABLE_PUSH && value > 1)
        return (h2_breach){H2_PROTOCOL_ERROR, "SETTINGS_ENABLE_PUSH over 1"};
    if (id == H2_SET_INITIAL_WINDOW_SIZE && value > H2_WINDOW_MAX)
        return (h2_breach){H2_FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE over 2^31 - 1"};
    if (id == H2_SET_MAX_FRAME_SIZE && (value < H2_FRAME_MAX || value > 0xffffff))
        return (h2_breach){H2_PROTOCOL_ERROR, "SETTINGS_MAX_FRAME_SIZE out of bounds"};
    return wire_right;
}

h2_breach h2_settings_read(const uint8_t *payload, uint32_t len, h2_setting_take *take, void *baton)
{
    h2_breach breach = wire_right;

    BRG_ASSERT(len % 6 == 0);
    for (const uint8_t *p = payload; p < payload + len && !breach.why; p += 6) {
        const unsigned id = (unsigned)p[0] << 8 | p[1];
        const uint32_t value = h2_get32(p + 2);

        breach = settings_check(id, value);
        if (!breach.why)
            breach = take(baton, id, value);
    }
    return breach;
}
