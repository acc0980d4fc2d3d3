/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of responses over HTTP/1: status line, fields, framing (h1_response_head.h). */
#include "h1_response_head.h"
#include "h1_cursor.h"
#include "h1_fields.h"
#include "http_fields.h"
#include "brigade/assert.h"
#include <string.h>

#define RESPONSE_VERSION 8 /* bytes of "HTTP/1.1" */
#define RESPONSE_CODE 3    /* digits of a status code */

#define RESPONSE_WHY_LINE "malformed status line: %.*s"
#define RESPONSE_WHY_LENGTH "invalid Content-Length (%.*s)"
#define RESPONSE_WHY_BOTH "both Content-Length and Transfer-Encoding%.*s"
#define RESPONSE_WHY_CODING "unknown Transfer-Encoding (%.*s)"

/* Bytes that a reason phrase may have (RFC 9112, 4): as a field value. */
static h1_result response_end_line(h1_cursor *cur)
{
    const char *stop;
    int eol;

    cur->p = http_scan_value(cur->p, cur->end);
    stop = cur->p;
    eol = h1_eol(cur);
    if (eol == 0)
        return h1_short(cur, 0);
    if (h1_over(cur->line, stop, cur->limits->line))
        return h1_too_long(cur, 0);
    if (eol < 0)
        return h1_bad(cur, 502, RESPONSE_WHY_LINE);
    cur->head->line_len = (uint32_t)(stop - cur->head->line);
    cur->line = cur->p;
    return H1_DONE;
}

static int response_digits(const char *p)
{
    int n = 0;

    for (int i = 0; i < RESPONSE_CODE; i++) {
        if (!http_is(p[i], HTTP_C_DIGIT))
            return -1;
        n = n * 10 + (p[i] - '0');
    }
    return n;
}

/* Bytes of "HTTP/1.1", or of the "HTTP/2" that a head may have. */
static size_t response_version_len(const h1_cursor *cur)
{
    const size_t n = RESPONSE_VERSION - 2;

    return cur->limits->any_major && (size_t)(cur->end - cur->p) > n && cur->p[n] == ' '
               ? n
               : RESPONSE_VERSION;
}

/* One of another protocol counts as HTTP/1.1, which the rest of the head is. @return 0; -1: none */
static int response_version(const h1_cursor *cur, size_t len)
{
    const char *p = cur->p;
    http_head *head = cur->head;
    const int is_first = p[5] == '1' && len == RESPONSE_VERSION;

    if (memcmp(p, "HTTP/", 5) != 0 || !http_is(p[5], HTTP_C_DIGIT) ||
        (len == RESPONSE_VERSION && (p[6] != '.' || !http_is(p[7], HTTP_C_DIGIT))) ||
        (!is_first && !cur->limits->any_major))
        return -1;
    head->protocol = p;
    head->protocol_len = (uint32_t)len;
    head->major = 1;
    head->minor = is_first ? (uint8_t)(p[7] - '0') : 1;
    return 0;
}

/* "HTTP/1.1 200 OK"; the reason, and the space before it, may be missing (as some servers have it). */
static h1_result response_line(h1_cursor *cur)
{
    http_head *head = cur->head;
    const char *p = cur->p;
    const size_t version = response_version_len(cur), least = version + 1 + RESPONSE_CODE + 1;
    int code;

    head->line = p;
    if (p == cur->end)
        return H1_MORE; /* of nothing there may be no address */
    if ((size_t)(cur->end - p) < least) {
        const size_t n = (size_t)(cur->end - p) < 5 ? (size_t)(cur->end - p) : 5;

        if (memcmp(p, "HTTP/", n) != 0)
            return h1_bad(cur, 502, RESPONSE_WHY_LINE);
        return memchr(p, '\n', (size_t)(cur->end - p)) ? h1_bad(cur, 502, RESPONSE_WHY_LINE)
                                                       : H1_MORE;
    }
    code = response_digits(p + version + 1);
    if (response_version(cur, version) || p[version] != ' ' || code < 100)
        return h1_bad(cur, 502, RESPONSE_WHY_LINE);
    head->code = (uint16_t)code;
    cur->p = p + version + 1 + RESPONSE_CODE;
    if (*cur->p != ' ' && *cur->p != '\r' && *cur->p != '\n')
        return h1_bad(cur, 502, RESPONSE_WHY_LINE);
    return response_end_line(cur);
}

static int response_refuse(http_head *head, const http_field *field, const char *why)
{
    head->status = 502;
    head->why = why;
    head->bad = field ? field->value : "";
    head->bad_len = field ? field->value_len : 0;
    return -1;
}

/* Several equal lengths are one (RFC 9110, 8.6), but two values are a way to smuggle a response. */
static int response_length(http_head *head)
{
    const http_field *end = head->field + head->n_fields;
    uint64_t n, all = 0;
    int seen = 0;

    for (const http_field *f = head->field; f < end; f++) {
        if (f->id != HTTP_F_CONTENT_LENGTH)
            continue;
        if (http_parse_length(f->value, f->value_len, &n) || (seen && n != all))
            return response_refuse(head, f, RESPONSE_WHY_LENGTH);
        all = n;
        seen = 1;
    }
    head->content_length = all;
    return 0;
}

/* Nothing but one "chunked" is understood: another coding was not asked for (RFC 9112, 7.4). */
static int response_codings(http_head *head)
{
    const http_field *end = head->field + head->n_fields;

    if (head->known[HTTP_F_CONTENT_LENGTH] >= 0)
        return response_refuse(head, NULL, RESPONSE_WHY_BOTH);
    for (const http_field *f = head->field; f < end; f++) {
        if (f->id != HTTP_F_TRANSFER_ENCODING)
            continue;
        if (head->chunked || f->value_len != 7 || !http_same(f->value, "chunked", 7) ||
            !head->minor)
            return response_refuse(head, f, RESPONSE_WHY_CODING);
        head->chunked = 1;
    }
    return 0;
}

/* An interim answer has no body, whatever its fields say (RFC 9112, 6.3). */
static int response_judge(http_head *head)
{
    if (head->code < 200)
        return 0;
    if (head->known[HTTP_F_TRANSFER_ENCODING] >= 0)
        return response_codings(head);
    return head->known[HTTP_F_CONTENT_LENGTH] >= 0 ? response_length(head) : 0;
}

static h1_result response_walk(h1_cursor *cur, int has_line)
{
    http_head *head = cur->head;
    h1_result res;

    h1_head_reset(head, cur->limits);
    res = has_line ? response_line(cur) : H1_DONE;
    if (res == H1_DONE)
        res = h1_field_lines(cur);
    head->head_len = (uint32_t)(cur->p - cur->buf);
    if (res == H1_BAD)
        head->status = 502; /* whatever the same mistake of a client is */
    if (res == H1_DONE && has_line && response_judge(head))
        return H1_BAD;
    return res;
}

static h1_result response_parse(http_head *head, const char *buf, size_t len, size_t *scanned,
                                const h1_limits *limits, int has_line)
{
    h1_cursor cur = {
        .buf = buf, .p = buf, .end = buf + len, .line = buf, .head = head, .limits = limits};
    h1_result res;

    BRG_ASSERT(*scanned <= len);
    if (*scanned && !h1_worth_a_walk(buf, *scanned, len, limits)) {
        *scanned = len;
        return H1_MORE;
    }
    res = response_walk(&cur, has_line);
    *scanned = res == H1_MORE ? len : 0;
    return res;
}

h1_result h1_parse_response(http_head *head, const char *buf, size_t len, size_t *scanned,
                            const h1_limits *limits)
{
    return response_parse(head, buf, len, scanned, limits, 1);
}

h1_result h1_parse_trailers(http_head *head, const char *buf, size_t len, size_t *scanned,
                            const h1_limits *limits)
{
    return response_parse(head, buf, len, scanned, limits, 0);
}

size_t h1_response_reason(const http_head *head, const char **reason)
{
    const uint32_t before = head->protocol_len + 1 + RESPONSE_CODE + 1;

    BRG_ASSERT(head->code && (head->protocol_len || !head->line_len));
    *reason = head->line + head->line_len;
    if (head->line_len <= before)
        return 0;
    *reason = head->line + before;
    return head->line_len - before;
}

h1_body_end h1_response_body(const http_head *head, int method_id, int connect)
{
    BRG_ASSERT(head->code && !head->status);
    if (head->code == 101 || (connect && head->code / 100 == 2))
        return H1_BODY_TUNNEL;
    if (method_id == HTTP_METHOD_HEAD || head->code < 200 || head->code == 204 || head->code == 304)
        return H1_BODY_NONE;
    if (head->chunked)
        return H1_BODY_CHUNKED;
    return head->known[HTTP_F_CONTENT_LENGTH] >= 0 ? H1_BODY_LENGTH : H1_BODY_CLOSE;
}
