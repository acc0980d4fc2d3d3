/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text of qlog, in memory of fixed size. */
#include "quic_qlog.h"
#include "http_text.h"
#include "brigade/assert.h"
#include <string.h>

static void text_bytes(qlog_text *t, const char *text, size_t len)
{
    BRG_ASSERT_DEBUG(t->at <= t->end);
    if (t->cut || (size_t)(t->end - t->at) < len) {
        t->cut = 1;
        return;
    }
    memcpy(t->at, text, len);
    t->at += len;
}

void qlog_put(qlog_text *t, const char *text)
{
    text_bytes(t, text, strlen(text));
}

void qlog_put_number(qlog_text *t, uint64_t n)
{
    char digits[24];

    text_bytes(t, digits, http_put_number(digits, n));
}

void qlog_put_ms(qlog_text *t, apr_interval_time_t us)
{
    const uint64_t n = us > 0 ? (uint64_t)us : 0;
    const char rest[4] = {'.', (char)('0' + n / 100 % 10), (char)('0' + n / 10 % 10),
                          (char)('0' + n % 10)};

    qlog_put_number(t, n / 1000);
    text_bytes(t, rest, sizeof rest);
}

void qlog_put_hex(qlog_text *t, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++)
        text_bytes(t, (char[]){digits[bytes[i] >> 4], digits[bytes[i] & 15]}, 2);
}

void qlog_put_pair(qlog_text *t, const char *key, uint64_t n)
{
    qlog_put(t, ",\"");
    qlog_put(t, key);
    qlog_put(t, "\":");
    qlog_put_number(t, n);
}
