/* SPDX-License-Identifier: Apache-2.0 */
/* Unidirectional streams. Ours is one, of control: with no dynamic table, those of QPACK have nothing to say. */
#include "h3_private.h"
#include <string.h>

#define CONTROL_SETTINGS 32 /* in SETTINGS */

/* ---- ours ---- */

static int control_write(h3_session *h, const uint8_t *data, size_t len)
{
    if (!h->control || !quic_stream_write(h->control, data, len, NULL, 0))
        return 0;
    h3_fail(h, H3_INTERNAL_ERROR, "no memory");
    return -1;
}

int h3_control_begin(h3_session *h)
{
    uint8_t settings[48], out[64], *end = settings, *at = out;
    const size_t grease = 0x21 + 0x1f * 7; /* RFC 9114, 7.2.4.1 */

    end = h3_int_put(h3_int_put(end, H3_SET_TABLE_CAPACITY), 0);
    end = h3_int_put(h3_int_put(end, H3_SET_BLOCKED_STREAMS), 0);
    end = h3_int_put(h3_int_put(end, H3_SET_FIELD_SECTION_SIZE),
                     (uint64_t)h->streams.terms.max_block);
    if (h->conf->websockets)
        end = h3_int_put(h3_int_put(end, H3_SET_CONNECT_PROTOCOL), 1);
    end = h3_int_put(h3_int_put(end, grease), 1);
    BRG_ASSERT(!h->control && h->qc && end <= settings + sizeof settings);
    if (!(h->control = quic_open_uni(h->qc)))
        return -1;
    *at++ = H3_STREAM_CONTROL;
    at = h3_put_frame(at, H3_SETTINGS, (uint64_t)(end - settings));
    memcpy(at, settings, (size_t)(end - settings));
    return control_write(h, out, (size_t)(at - out) + (size_t)(end - settings));
}

void h3_control_goaway(h3_session *h, uint64_t id)
{
    uint8_t out[24], value[8];
    const size_t n = (size_t)(h3_int_put(value, id) - value);
    uint8_t *at = h3_put_frame(out, H3_GOAWAY, n);

    BRG_ASSERT(id <= H3_GOAWAY_ALL);
    memcpy(at, value, n);
    (void)control_write(h, out, (size_t)(at - out) + n);
}

/* ---- settings of the client ---- */

/* @return why they are wrong; NULL: they are not */
static const char *settings_read(const uint8_t *at, const uint8_t *end)
{
    uint64_t id[CONTROL_SETTINGS], value;
    int n = 0;

    while (at < end) {
        if (n == CONTROL_SETTINGS)
            return "SETTINGS with too many values";
        if (!(at = h3_int_read(at, end, &id[n])) || !(at = h3_int_read(at, end, &value)))
            return "SETTINGS that end within a value";
        if (id[n] >= 2 && id[n] <= 5)
            return "a setting of HTTP/2";
        for (int i = 0; i < n; i++)
            if (id[i] == id[n])
                return "a setting twice";
        n++;
    }
    return NULL;
}

static void control_settings(h3_session *h, const uint8_t *at, const uint8_t *end)
{
    const char *why = settings_read(at, end);

    h->got_settings = 1;
    if (why)
        h3_fail(h, H3_SETTINGS_ERROR, why);
}

/* ---- other frames ---- */

/* RFC 9218, 7.2. A request that did not come yet has the priority of its head. */
static void control_priority(h3_session *h, const uint8_t *at, const uint8_t *end)
{
    http_stream *s;
    uint64_t id;

    if (!(at = h3_int_read(at, end, &id))) {
        h3_fail(h, H3_FRAME_ERROR, "PRIORITY_UPDATE without a stream");
        return;
    }
    if (id & 3) {
        h3_fail(h, H3_ID_ERROR, "PRIORITY_UPDATE of a stream that carries no request");
        return;
    }
    if (id < h->next_request && (s = stream_find(&h->streams, h3_id_of(id))) != NULL)
        stream_set_priority(s, (const char *)at, (size_t)(end - at));
    h3_limit_cheap(h, "PRIORITY_UPDATE frames, again and again");
}

/* A frame that is one number. */
static void control_number(h3_session *h, uint64_t type, const uint8_t *at, const uint8_t *end)
{
    uint64_t id;

    if (!(at = h3_int_read(at, end, &id)) || at != end) {
        h3_fail(h, H3_FRAME_ERROR, "a frame of another length than its number");
    } else if (type == H3_CANCEL_PUSH) {
        h3_fail(h, H3_ID_ERROR, "CANCEL_PUSH of a push that was not promised");
    } else if (type == H3_MAX_PUSH_ID) {
        if (id < h->max_push)
            h3_fail(h, H3_ID_ERROR, "MAX_PUSH_ID that is lower than before");
        h->max_push = id;
        h3_limit_cheap(h, "MAX_PUSH_ID frames, again and again");
    } else {
        if (h->goaway_came && id > h->goaway_id)
            h3_fail(h, H3_ID_ERROR, "GOAWAY that is higher than before");
        h->goaway_came = 1;
        h->goaway_id = id;
        h3_limit_cheap(h, "GOAWAY frames, again and again");
    }
}

static void control_frame(h3_stream *x)
{
    static const uint8_t nothing[1]; /* an empty frame has no block */
    h3_session *h = x->h;
    const uint8_t *at = x->block ? x->block : nothing, *end = at + x->block_len;

    switch (x->type) {
    case H3_SETTINGS:
        control_settings(h, at, end);
        break;
    case H3_PRIORITY_UPDATE:
        control_priority(h, at, end);
        break;
    case H3_PRIORITY_UPDATE_PUSH:
        h3_fail(h, H3_ID_ERROR, "PRIORITY_UPDATE of a push that was not promised");
        break;
    case H3_CANCEL_PUSH:
    case H3_MAX_PUSH_ID:
    case H3_GOAWAY:
        control_number(h, x->type, at, end);
        break;
    default: /* unknown ones */
        h3_limit_cheap(h, "frames of unknown types, again and again");
    }
}

static int control_reads(uint64_t type)
{
    return type == H3_SETTINGS || type == H3_PRIORITY_UPDATE || type == H3_CANCEL_PUSH ||
           type == H3_MAX_PUSH_ID || type == H3_GOAWAY;
}

static void control_begin(h3_stream *x)
{
    h3_session *h = x->h;

    BRG_ASSERT(x->kind == H3_CONTROL && !x->in_frame);
    x->type = h3_int_get(x->head);
    x->left = h3_int_get(x->head + h3_int_len(*x->head));
    x->head_n = 0;
    x->in_frame = 1;
    x->block_len = 0;
    if (!h->got_settings && x->type != H3_SETTINGS)
        h3_fail(h, H3_MISSING_SETTINGS, "a control stream that does not begin with SETTINGS");
    else if ((h->got_settings && x->type == H3_SETTINGS) || x->type == H3_DATA ||
             x->type == H3_HEADERS || x->type == H3_PUSH_PROMISE || h3_frame_is_h2(x->type))
        h3_fail(h, H3_FRAME_UNEXPECTED, "a frame that a control stream must not have there");
    else if (control_reads(x->type) && x->left > H3_CONTROL_MOST)
        h3_fail(h, H3_EXCESSIVE_LOAD, "a frame of a control stream that is too long");
}

static void control_bytes(h3_stream *x, const uint8_t *data, size_t len)
{
    size_t n;
    int done;

    while (len && !x->h->streams.ending) {
        if (!x->in_frame) {
            n = h3_head_take(x, data, len, 2, &done);
            if (done)
                control_begin(x);
        } else {
            n = x->left < len ? (size_t)x->left : len;
            if (control_reads(x->type) && h3_stream_keep(x, data, n))
                return;
            x->left -= n;
        }
        data += n;
        len -= n;
        if (x->in_frame && !x->left && !x->h->streams.ending) {
            x->in_frame = 0;
            control_frame(x);
            h3_stream_drop_block(x); /* most connections have no second one */
        }
    }
}

/* ---- QPACK's ---- */

/* There is no table whose capacity could be another one: RFC 9204, 4.3. */
static void encoder_bytes(h3_stream *x, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (data[i] != 0x20) {
            h3_fail(x->h, H3_QPACK_ENCODER_STREAM_ERROR, "an entry of a table that there is not");
            return;
        }
    if (len)
        h3_limit_cheap(x->h, "instructions of QPACK, again and again");
}

/* Stream cancellations alone: 4.4. x->left: bytes of a number are to come */
static void decoder_bytes(h3_stream *x, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (x->left) {
            x->left = data[i] >> 7;
            continue;
        }
        if ((data[i] & 0xc0) != 0x40) {
            h3_fail(x->h, H3_QPACK_DECODER_STREAM_ERROR, "an entry that was not sent");
            return;
        }
        x->left = (data[i] & 0x3f) == 0x3f;
    }
    if (len)
        h3_limit_cheap(x->h, "instructions of QPACK, again and again");
}

/* ---- types ---- */

static void stream_typed(h3_stream *x)
{
    static const uint8_t kinds[] = {H3_CONTROL, H3_IGNORED, H3_ENCODER, H3_DECODER};
    h3_session *h = x->h;
    const uint64_t type = h3_int_get(x->head);
    uint8_t *got = type == H3_STREAM_CONTROL   ? &h->got_control
                   : type == H3_STREAM_ENCODER ? &h->got_encoder
                   : type == H3_STREAM_DECODER ? &h->got_decoder
                                               : NULL;

    BRG_ASSERT(x->kind == H3_UNTYPED && x->head_n);
    x->head_n = 0;
    x->kind = type < sizeof kinds ? kinds[type] : H3_IGNORED;
    if (type == H3_STREAM_PUSH || (got && *got)) {
        h3_fail(h, H3_STREAM_CREATION_ERROR, "a stream of a type that there must not be");
    } else if (got) {
        *got = 1;
    } else {
        x->over = 1;
        quic_stream_stop(x->qs, H3_STREAM_CREATION_ERROR);
        h3_limit_cheap(h, "streams of unknown types, again and again");
    }
}

void h3_control_data(h3_stream *x, const uint8_t *data, size_t len, int fin)
{
    size_t n = 0;
    int done = 1;

    BRG_ASSERT(x->kind != H3_REQUEST);
    quic_stream_credit(x->qs, len);
    if (x->kind == H3_UNTYPED) {
        n = h3_head_take(x, data, len, 1, &done);
        if (done)
            stream_typed(x);
    }
    if (x->h->streams.ending)
        return;
    if (x->kind == H3_CONTROL)
        control_bytes(x, data + n, len - n);
    else if (x->kind == H3_ENCODER)
        encoder_bytes(x, data + n, len - n);
    else if (x->kind == H3_DECODER)
        decoder_bytes(x, data + n, len - n);
    if (fin && (x->kind == H3_CONTROL || x->kind == H3_ENCODER || x->kind == H3_DECODER))
        h3_fail(x->h, H3_CLOSED_CRITICAL_STREAM, "a critical stream ended");
}
