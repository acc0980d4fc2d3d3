/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Response heads. The first byte chooses limits, the second where the input is cut. The outcome must not depend on how the
 * bytes arrive, and every pointer of a good head must lie within it.
 * Covers: server/message/h1_response_head.c server/message/h1_parse.c
 */
#include "h1_response_head.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_within(const char *p, size_t len, const char *buf, size_t size)
{
    check(p >= buf && p + len <= buf + size);
}

static void check_good(const http_head *head, const char *buf)
{
    const char *reason;
    size_t n = h1_response_reason(head, &reason);

    check(head->status == 0 && head->code >= 100 && head->code <= 999);
    check_within(head->line, head->line_len, buf, head->head_len);
    check_within(reason, n, buf, head->head_len);
    check(!(head->chunked && head->content_length));
    check(h1_response_body(head, HTTP_METHOD_HEAD, 0) == H1_BODY_NONE || head->code == 101);
    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];

        check_within(f->name, f->name_len, buf, head->head_len);
        check_within(f->value, f->value_len, buf, head->head_len);
        check(f->name_len && !memchr(f->value, '\n', f->value_len) &&
              !memchr(f->value, '\0', f->value_len));
    }
}

/* What arrives in pieces, in memory of just its size. */
static h1_result feed(http_head *head, const char *buf, size_t from, size_t upto, size_t step,
                      const h1_limits *limits)
{
    size_t scanned = 0;
    h1_result res = H1_MORE;

    for (size_t n = from; res == H1_MORE; n = n + step < upto ? n + step : upto) {
        char *exact = malloc(n ? n : 1);

        check(exact != NULL);
        memcpy(exact, buf, n);
        res = h1_parse_response(head, exact, n, &scanned, limits);
        free(exact);
        if (n == upto)
            break;
    }
    return res;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static http_head whole, parts;
    h1_limits limits = {.line = 8190, .field_size = 8190, .fields = 100};
    const char *buf = (const char *)data + 2;
    size_t scanned = 0;
    h1_result res;

    if (size < 2)
        return 0;
    limits.unsafe = data[0] & 1;
    if (data[0] & 4)
        limits.line = limits.field_size = 30, limits.fields = 3;
    size -= 2;
    res = h1_parse_response(&whole, buf, size, &scanned, &limits);
    if (res == H1_DONE)
        check_good(&whole, buf);
    if (res == H1_BAD)
        check(whole.status == 502 && whole.why);
    for (size_t step = size; step; step = step > 1 && size < 2000 ? 1 : 0) {
        h1_result other = feed(&parts, buf, step > 1 ? data[1] % size : 0, size, step, &limits);

        check(res == other || (res == H1_BAD && other == H1_MORE));
        check(res != H1_DONE ||
              (parts.head_len == whole.head_len && parts.n_fields == whole.n_fields));
    }
    return 0;
}
