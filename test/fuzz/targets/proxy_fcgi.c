/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a FastCGI backend. The first byte says in what pieces they arrive, the second how they are written: as they are, or
 * from steps (type, length, padding, content), so that most are well formed. The cuts change nothing.
 * Covers: server/proxy/proxy_fcgi.c server/proxy/proxy_script.c
 */
#include "test_exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 20000

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* @return bytes of records */
static size_t records(uint8_t *to, const uint8_t *at, const uint8_t *end)
{
    uint8_t *p = to;

    while (end - at >= 3 && p - to < MOST) {
        const size_t n = least(at[1], (size_t)(end - at - 3)), padding = at[2] & 15;

        *p++ = 1;
        *p++ = at[0] & 15;
        *p++ = 0;
        *p++ = at[0] & 16 ? 2 : 1;
        *p++ = 0;
        *p++ = (uint8_t)n;
        *p++ = (uint8_t)padding;
        *p++ = 0;
        memcpy(p, at + 3, n);
        memset(p + n, 0, padding);
        p += n + padding;
        at += 3 + n;
    }
    return (size_t)(p - to);
}

static const char *outcome(apr_pool_t *p, const uint8_t *data, size_t size, size_t step)
{
    proxy_exchange *x = exchange_make(p, &proxy_fcgi_codec, PROXY_SCHEME_FCGI, "fcgi", 0);
    const char *text = exchange_run(x, data, size, step);

    exchange_free(x);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t made[MOST + 512];
    apr_pool_t *p;
    const uint8_t *bytes = data + 2;
    const char *whole;

    if (size < 3 || size > MOST)
        return 0;
    exchange_server();
    size -= 2;
    if (data[1] & 1) {
        size = records(made, bytes, bytes + size);
        bytes = made;
    }
    apr_pool_create(&p, test_process->pool);
    whole = outcome(p, bytes, size, size ? size : 1);
    exchange_check(!strcmp(whole, outcome(p, bytes, size, (size_t)data[0] + 1)));
    apr_pool_destroy(p);
    return 0;
}
