/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of an HTTP/2 backend for two streams. The first byte says in what pieces they arrive, the second how they are written (as they are, or
 * from steps of type, flags, stream, length and payload) and the length of the request's body. The cuts change nothing; what is
 * sent are whole frames, and no more data than the backend's windows let.
 * Covers: server/proxy/proxy_h2.c server/proxy/proxy_h2_answer.c server/proxy/proxy_h2_control.c server/proxy/proxy_h2_frames.c server/proxy/proxy_h2_send.c
 */
#include "proxy_h2_private.h"
#include "test_exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 20000

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static uint32_t stream_of(unsigned byte)
{
    return byte < 4 ? byte : byte == 255 ? H2_STREAM_MAX : 1;
}

/* @return bytes of frames */
static size_t frames(uint8_t *to, const uint8_t *at, const uint8_t *end)
{
    uint8_t *p = to;

    while (end - at >= 4 && p - to < MOST) {
        const size_t n = least(at[3], (size_t)(end - at - 4));

        p = h2_put_frame(p, n, (h2_frame_type)(at[0] & 15), at[1], stream_of(at[2]));
        memcpy(p, at + 4, n);
        p += n;
        at += 4 + n;
    }
    return (size_t)(p - to);
}

/* The request's body, in two pieces. */
static void body(proxy_exchange *x, size_t len)
{
    apr_bucket_alloc_t *alloc = x->r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(x->r->pool, alloc);
    char *text = apr_pcalloc(x->r->pool, len);

    for (int last = 0; last < 2; last++) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_pool_create(text, len / 2, x->r->pool, alloc));
        x->codec->body(x, bb, last);
        exchange_check(APR_BRIGADE_EMPTY(bb));
    }
}

/* DATA that was sent, with what waits, is the body. */
static void check_sent(proxy_exchange *x, size_t len)
{
    const h2c_session *s = x->cc->session;
    const uint8_t *p = s->out + s->out_from + H2_PREFACE_LEN, *end = s->out + s->out_to;
    size_t sent = 0;

    exchange_check(s->out_from == 0 && s->out_to >= H2_PREFACE_LEN);
    while (p < end) {
        const h2_frame f = h2_get_frame(p);

        exchange_check(end - p >= H2_FRAME_HEAD && f.len <= 65536 &&
                       (size_t)(end - p) >= H2_FRAME_HEAD + f.len);
        if (f.type == H2_DATA)
            sent += f.len;
        p += H2_FRAME_HEAD + f.len;
    }
    exchange_check(s->bad || sent + (size_t)x->body.held == len / 2 * 2);
}

/* Both exchanges take what came of their streams. */
static void take(proxy_exchange *x, exchange_body_text *to)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !x->answer.complete && !x->answer.bad) {
        rv = h2c_take(x, x->script);
        exchange_check(rv == APR_SUCCESS || rv == APR_EAGAIN || x->answer.bad);
    }
    if (!x->answer.bad)
        exchange_collect(x, to);
}

/* The answers to two requests of one connection; the first has a body. */
static const char *outcome(apr_pool_t *p, const uint8_t *data, size_t size, size_t step, size_t len)
{
    proxy_exchange *x =
        exchange_make(p, &proxy_h2_codec, PROXY_SCHEME_H2C, "h2c", (apr_off_t)(len / 2 * 2));
    proxy_exchange *other = exchange_make_on(p, &proxy_h2_codec, PROXY_SCHEME_H2C, "h2c", 0, x->cc);
    exchange_body_text text = {0}, others_text = {0};
    const char *all;

    if (len)
        body(x, len);
    for (size_t at = 0; at < size; at += step) {
        exchange_append(x->cc, data + at, least(step, size - at));
        h2c_demux(x->cc->session);
        take(x, &text);
        take(other, &others_text);
    }
    all = apr_pstrcat(p, exchange_text(x, &text), "\n", exchange_text(other, &others_text), NULL);
    check_sent(x, len);
    apr_brigade_destroy(other->in);
    apr_brigade_destroy(other->out);
    exchange_free(x);
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t made[MOST + 512];
    apr_pool_t *p;
    const uint8_t *bytes = data + 2;
    const char *whole;
    size_t len;

    if (size < 3 || size > MOST)
        return 0;
    exchange_server();
    len = (data[1] >> 1) * 2048u;
    size -= 2;
    if (data[1] & 1) {
        size = frames(made, bytes, bytes + size);
        bytes = made;
    }
    apr_pool_create(&p, test_process->pool);
    whole = outcome(p, bytes, size, size ? size : 1, len);
    exchange_check(!strcmp(whole, outcome(p, bytes, size, (size_t)data[0] + 1, len)));
    apr_pool_destroy(p);
    return 0;
}
