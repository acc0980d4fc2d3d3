/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads. The first byte chooses limits, the second where the input is cut. The outcome must
 * not depend on how the bytes arrive, and every pointer of a good head must lie within it.
 * Covers: server/message/h1_parse.c server/message/h1_fields.c server/message/h1_line.c
 */
#include "h1_parse.h"
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
    const size_t size = head->head_len;

    check(head->status == 0 && head->line_len > 0);
    check_within(head->line, head->line_len, buf, size);
    check_within(head->method, head->method_len, buf, size);
    check_within(head->uri, head->uri_len, buf, size);
    check(head->method_len && head->uri_len && !memchr(head->uri, ' ', head->uri_len));
    check(!(head->chunked && head->content_length) && head->content_length <= INT64_MAX);
    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];

        check_within(f->name, f->name_len, buf, size);
        check_within(f->value, f->value_len, buf, size);
        check(f->name_len && !memchr(f->name, ':', f->name_len) &&
              !memchr(f->value, '\n', f->value_len));
        check(!memchr(f->value, '\r', f->value_len) && !memchr(f->value, '\0', f->value_len));
        check(f->id < HTTP_FIELD_IDS && (f->id == HTTP_F_OTHER || head->known[f->id] >= 0));
    }
}

/* A refusal may wait for the end of the head, which an input without an end never shows. */
static void check_same(h1_result one, const http_head *a, h1_result other, const http_head *b)
{
    if (one == H1_BAD && other == H1_MORE)
        return;
    check(one == other);
    check(one != H1_BAD || a->status == b->status);
    check(one != H1_DONE || (a->head_len == b->head_len && a->n_fields == b->n_fields));
}

static h1_result feed(http_head *head, const char *buf, size_t from, size_t upto, size_t step,
                      const h1_limits *limits)
{
    size_t scanned = 0;
    h1_result res = H1_MORE;

    for (size_t n = from; res == H1_MORE; n = n + step < upto ? n + step : upto) {
        char *exact = malloc(n ? n : 1); /* so that a read beyond the end shows */

        check(exact != NULL);
        memcpy(exact, buf, n);
        res = h1_parse(head, exact, n, &scanned, limits);
        free(exact);
        if (n == upto)
            break;
    }
    return res;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static http_head whole, parts;
    h1_limits limits = {.line = 8190, .field_size = 8190, .fields = 100, .allow_09 = 1};
    const char *buf = (const char *)data + 2;
    size_t scanned = 0;
    h1_result res, res_parts;

    if (size < 2)
        return 0;
    limits.unsafe = data[0] & 1;
    limits.allow_09 = !(data[0] & 2);
    if (data[0] & 4)
        limits.line = limits.field_size = 30, limits.fields = 3;
    size -= 2;
    res = h1_parse(&whole, buf, size, &scanned, &limits);
    if (res == H1_DONE)
        check_good(&whole, buf);
    if (res == H1_BAD)
        check(whole.status >= 400 && whole.why);
    res_parts = feed(&parts, buf, size ? data[1] % size : 0, size, size, &limits);
    check_same(res, &whole, res_parts, &parts);
    if (size < 2000) {
        res_parts = feed(&parts, buf, 0, size, 1, &limits);
        check_same(res, &whole, res_parts, &parts);
        check(res != H1_DONE ||
              (parts.head_len == whole.head_len && parts.n_fields == whole.n_fields));
    }
    return 0;
}
