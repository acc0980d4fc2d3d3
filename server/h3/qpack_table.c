/* SPDX-License-Identifier: Apache-2.0 */
/* The static table of QPACK (RFC 9204, appendix A). */
#include "qpack.h"
#include "brigade/assert.h"
#include <string.h>

#define QPACK_SLOTS 128

#define LINE(name, value)                              \
    {                                                  \
        name, value, sizeof name - 1, sizeof value - 1 \
    }

/* RFC 9204, appendix A. */
static const qpack_line static_table[QPACK_STATIC_ENTRIES] = {
    LINE(":authority", ""),
    LINE(":path", "/"),
    LINE("age", "0"),
    LINE("content-disposition", ""),
    LINE("content-length", "0"),
    LINE("cookie", ""),
    LINE("date", ""),
    LINE("etag", ""),
    LINE("if-modified-since", ""),
    LINE("if-none-match", ""),
    LINE("last-modified", ""),
    LINE("link", ""),
    LINE("location", ""),
    LINE("referer", ""),
    LINE("set-cookie", ""),
    LINE(":method", "CONNECT"),
    LINE(":method", "DELETE"),
    LINE(":method", "GET"),
    LINE(":method", "HEAD"),
    LINE(":method", "OPTIONS"),
    LINE(":method", "POST"),
    LINE(":method", "PUT"),
    LINE(":scheme", "http"),
    LINE(":scheme", "https"),
    LINE(":status", "103"),
    LINE(":status", "200"),
    LINE(":status", "304"),
    LINE(":status", "404"),
    LINE(":status", "503"),
    LINE("accept", "*/*"),
    LINE("accept", "application/dns-message"),
    LINE("accept-encoding", "gzip, deflate, br"),
    LINE("accept-ranges", "bytes"),
    LINE("access-control-allow-headers", "cache-control"),
    LINE("access-control-allow-headers", "content-type"),
    LINE("access-control-allow-origin", "*"),
    LINE("cache-control", "max-age=0"),
    LINE("cache-control", "max-age=2592000"),
    LINE("cache-control", "max-age=604800"),
    LINE("cache-control", "no-cache"),
    LINE("cache-control", "no-store"),
    LINE("cache-control", "public, max-age=31536000"),
    LINE("content-encoding", "br"),
    LINE("content-encoding", "gzip"),
    LINE("content-type", "application/dns-message"),
    LINE("content-type", "application/javascript"),
    LINE("content-type", "application/json"),
    LINE("content-type", "application/x-www-form-urlencoded"),
    LINE("content-type", "image/gif"),
    LINE("content-type", "image/jpeg"),
    LINE("content-type", "image/png"),
    LINE("content-type", "text/css"),
    LINE("content-type", "text/html; charset=utf-8"),
    LINE("content-type", "text/plain"),
    LINE("content-type", "text/plain;charset=utf-8"),
    LINE("range", "bytes=0-"),
    LINE("strict-transport-security", "max-age=31536000"),
    LINE("strict-transport-security", "max-age=31536000; includesubdomains"),
    LINE("strict-transport-security", "max-age=31536000; includesubdomains; preload"),
    LINE("vary", "accept-encoding"),
    LINE("vary", "origin"),
    LINE("x-content-type-options", "nosniff"),
    LINE("x-xss-protection", "1; mode=block"),
    LINE(":status", "100"),
    LINE(":status", "204"),
    LINE(":status", "206"),
    LINE(":status", "302"),
    LINE(":status", "400"),
    LINE(":status", "403"),
    LINE(":status", "421"),
    LINE(":status", "425"),
    LINE(":status", "500"),
    LINE("accept-language", ""),
    LINE("access-control-allow-credentials", "FALSE"),
    LINE("access-control-allow-credentials", "TRUE"),
    LINE("access-control-allow-headers", "*"),
    LINE("access-control-allow-methods", "get"),
    LINE("access-control-allow-methods", "get, post, options"),
    LINE("access-control-allow-methods", "options"),
    LINE("access-control-expose-headers", "content-length"),
    LINE("access-control-request-headers", "content-type"),
    LINE("access-control-request-method", "get"),
    LINE("access-control-request-method", "post"),
    LINE("alt-svc", "clear"),
    LINE("authorization", ""),
    LINE("content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"),
    LINE("early-data", "1"),
    LINE("expect-ct", ""),
    LINE("forwarded", ""),
    LINE("if-range", ""),
    LINE("origin", ""),
    LINE("purpose", "prefetch"),
    LINE("server", ""),
    LINE("timing-allow-origin", "*"),
    LINE("upgrade-insecure-requests", "1"),
    LINE("user-agent", ""),
    LINE("x-forwarded-for", ""),
    LINE("x-frame-options", "deny"),
    LINE("x-frame-options", "sameorigin"),
};

const qpack_line *qpack_static(unsigned index)
{
    BRG_ASSERT_DEBUG(index < QPACK_STATIC_ENTRIES);
    return &static_table[index];
}

/* Entries by name: the first of a slot, and the next one of the same slot, each by its index and 1; 0: none. */
static uint8_t static_slot[QPACK_SLOTS], static_next[QPACK_STATIC_ENTRIES];

static unsigned qpack_slot(const char *name, size_t len)
{
    return (unsigned)(len * 5 + (uint8_t)name[0] * 3 + (uint8_t)name[len - 1] * 11) % QPACK_SLOTS;
}

/* Before any thread is there. From the last on, so that the first of a name is found first. */
__attribute__((constructor)) static void qpack_static_make(void)
{
    for (unsigned i = QPACK_STATIC_ENTRIES; i--;) {
        const unsigned slot = qpack_slot(static_table[i].name, static_table[i].name_len);

        static_next[i] = static_slot[slot];
        static_slot[slot] = (uint8_t)(i + 1);
    }
}

int qpack_static_of_name(const char *name, size_t len)
{
    unsigned i = len ? static_slot[qpack_slot(name, len)] : 0;

    while (i && (static_table[i - 1].name_len != len ||
                 memcmp(static_table[i - 1].name, name, len) != 0))
        i = static_next[i - 1];
    return (int)i - 1;
}
