/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request line: method, target, version (RFC 9112 section 3). Strict takes exactly the grammar;
 * Unsafe takes more spaces, other methods and a fragment, as Apache does.
 */
#include "h1_cursor.h"
#include "brigade/assert.h"
#include <string.h>

#define H1_WHY_MALFORMED APLOGNO(00566) "request failed: malformed request line"
#define H1_WHY_BLANK APLOGNO(03447) "HTTP Request Line; Invalid whitespace"
#define H1_WHY_BLANKS                                   \
    APLOGNO(03448)                                      \
    "HTTP Request Line; Excess whitespace (disallowed " \
    "by HttpProtocolOptions Strict)"

#define H1_PLAIN_TAIL 11                   /* bytes of " HTTP/1.1" and the end of the line */
#define H1_PLAIN_LEAST (5 + H1_PLAIN_TAIL) /* of "GET /" and that */

static h1_result h1_skip_blank_lines(h1_cursor *cur)
{
    for (int n = 0; cur->p < cur->end && (*cur->p == '\r' || *cur->p == '\n'); n++) {
        const int eol = h1_eol(cur);

        if (eol == 0)
            return H1_MORE;
        if (eol < 0)
            return h1_bad(cur, 400, H1_WHY_MALFORMED);
        if (n == H1_MAX_BLANK_LINES) {
            return h1_bad(cur, 400,
                          APLOGNO(03445) "HTTP Request Line; Invalid method token: '%.*s'");
        }
        cur->line = cur->p;
    }
    return cur->p < cur->end ? H1_DONE : H1_MORE;
}

static uint8_t h1_method_of(const char *m, size_t len)
{
    BRG_ASSERT(len > 0);
    switch (len) {
    case 3:
        return memcmp(m, "GET", 3) == 0 ? HTTP_METHOD_GET : HTTP_METHOD_OTHER;
    case 4:
        return memcmp(m, "HEAD", 4) == 0   ? HTTP_METHOD_HEAD
               : memcmp(m, "POST", 4) == 0 ? HTTP_METHOD_POST
                                           : HTTP_METHOD_OTHER;
    case 5:
        return memcmp(m, "TRACE", 5) == 0 ? HTTP_METHOD_TRACE : HTTP_METHOD_OTHER;
    case 7:
        return memcmp(m, "OPTIONS", 7) == 0 ? HTTP_METHOD_OPTIONS : HTTP_METHOD_OTHER;
    default:
        return HTTP_METHOD_OTHER;
    }
}

/* Unsafe accepts other bytes in a method, but no blanks, CR, LF or NUL. */
static const char *h1_scan_lenient(const char *p, const char *end)
{
    while (p < end && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\n' && *p != '\0')
        p++;
    return p;
}

/* Between two elements of the request line: one space, or in Unsafe any number of them. 0 = none.
 */
static int h1_line_gap(h1_cursor *cur)
{
    const char *p = cur->p;

    if (p == cur->end || *p != ' ')
        return 0;
    p++;
    if (cur->limits->unsafe)
        while (p < cur->end && *p == ' ')
            p++;
    cur->p = p;
    return 1;
}

/* The method ends at p, where no blank follows. */
static h1_result h1_bad_method(h1_cursor *cur, const char *p)
{
    const char *end = p;

    if (*p == '\0')
        return h1_bad(cur, 400, H1_WHY_MALFORMED);
    if (*p == '\t' || (*p == ' ' && p == cur->line))
        return h1_bad(cur, 400, H1_WHY_BLANK);
    if (p > cur->line && (*p == '\r' || *p == '\n'))
        return h1_bad(cur, 400, APLOGNO(03446) "HTTP Request Line; Missing URI");
    while (end < cur->end && *end != ' ' && *end != ':' && *end != '\r' && *end != '\n' && *end)
        end++;
    return h1_bad_part(cur, 400, APLOGNO(03445) "HTTP Request Line; Invalid method token: '%.*s'",
                       cur->line, end);
}

static h1_result h1_take_method(h1_cursor *cur)
{
    http_head *head = cur->head;

    head->method = cur->p;
    cur->p = h1_scan_token(cur->p, cur->end);
    if (cur->limits->unsafe)
        cur->p = h1_scan_lenient(cur->p, cur->end);
    head->method_len = (uint32_t)(cur->p - head->method);
    if (cur->p == cur->end)
        return h1_short(cur, 0);
    if (head->method_len == 0 || !h1_line_gap(cur))
        return h1_bad_method(cur, cur->p);
    head->method_id = h1_method_of(head->method, head->method_len);
    return H1_DONE;
}

/* A byte that no target may have stands at p. */
static h1_result h1_bad_target(h1_cursor *cur, const char *p)
{
    switch (*p) {
    case '\0':
    case '\n':
        return h1_bad(cur, 400, H1_WHY_MALFORMED);
    case '\t':
        return h1_bad(cur, 400, H1_WHY_BLANK);
    case ' ':
        return h1_bad(cur, 400, H1_WHY_BLANKS);
    case '#':
        return h1_bad(cur, 400,
                      APLOGNO(02421) "HTTP Request Line; URI must not contain a fragment");
    case '\r':
        if (p > cur->head->uri)
            return h1_bad(cur, 400, H1_WHY_BLANKS);
        break;
    default:
        break;
    }
    return h1_bad_part(cur, 400,
                       APLOGNO(03454) "HTTP Request Line; URI incorrectly encoded: '%.*s'",
                       cur->head->uri, h1_text_end(cur, p, ' '));
}

static h1_result h1_take_target(h1_cursor *cur)
{
    http_head *head = cur->head;

    BRG_ASSERT(cur->p <= cur->end);
    head->uri = cur->p;
    cur->p = http_scan_target(cur->p, cur->end);
    while (cur->limits->unsafe && cur->p < cur->end && *cur->p == '#')
        cur->p = http_scan_target(cur->p + 1, cur->end);
    head->uri_len = (uint32_t)(cur->p - head->uri);
    if (cur->p == cur->end)
        return h1_short(cur, 0);
    if (head->uri_len == 0)
        return h1_bad_target(cur, cur->p);
    return H1_DONE;
}

/* A request line without a version is HTTP/0.9: GET only, nothing follows it. */
static h1_result h1_take_09(h1_cursor *cur)
{
    http_head *head = cur->head;

    head->protocol = "HTTP/0.9";
    head->protocol_len = 8;
    head->major = 0;
    head->minor = 9;
    if (head->uri_len >= 5 && !memcmp(head->uri, "HTTP/", 5)) {
        /* The version stands in its place. */
        return h1_bad_part(cur, 400,
                           APLOGNO(03450) "HTTP Request Line; Unable to parse URI: '%.*s'",
                           head->uri, head->uri + head->uri_len);
    }
    if (!cur->limits->allow_09)
        return h1_bad(cur, 400, APLOGNO(02401) "HTTP Request Line; Rejected HTTP/0.9 request");
    if (head->method_id != HTTP_METHOD_GET && !cur->limits->unsafe) {
        return h1_bad_part(cur, 400,
                           APLOGNO(03444) "HTTP Request Line; Invalid method token: '%.*s' (only "
                                          "GET is allowed for HTTP/0.9 requests)",
                           head->method, head->method + head->method_len);
    }
    return H1_DONE;
}

/* The text at p, behind the target, is no version. */
static h1_result h1_bad_version(h1_cursor *cur, const char *p)
{
    const char *end = h1_text_end(cur, p, ' ');
    const int more = end == p || (end < cur->end && *end == ' ');

    BRG_ASSERT(p < cur->end);
    if (more && !cur->limits->unsafe)
        return h1_bad(cur, 400, H1_WHY_BLANKS);
    if (more) {
        while (end < cur->end && *end == ' ')
            end++;
        return h1_bad_part(cur, 400,
                           APLOGNO(03449) "HTTP Request Line; Extraneous text found '%.*s' "
                                          "(perhaps whitespace was injected?)",
                           end, h1_text_end(cur, end, '\0'));
    }
    return h1_bad_part(cur, 400,
                       APLOGNO(02418) "HTTP Request Line; Unrecognized protocol '%.*s' (perhaps "
                                      "whitespace was injected?)",
                       p, end);
}

static h1_result h1_take_version(h1_cursor *cur)
{
    http_head *head = cur->head;
    const char *p = cur->p;

    head->protocol = p;
    while (cur->p < cur->end && cur->p - p < 9 && http_is(*cur->p, HTTP_C_TARGET))
        cur->p++;
    head->protocol_len = (uint32_t)(cur->p - p);
    if (cur->p == cur->end)
        return h1_short(cur, 0);
    if (head->protocol_len != 8 || p[6] != '.' || !http_is(p[5], HTTP_C_DIGIT) ||
        !http_is(p[7], HTTP_C_DIGIT) ||
        (memcmp(p, "HTTP/", 5) != 0 && !(cur->limits->unsafe && http_same(p, "http/", 5))))
        return h1_bad_version(cur, p);
    head->major = (uint8_t)(p[5] - '0');
    head->minor = (uint8_t)(p[7] - '0');
    if (head->major == 0)
        return h1_bad_version(cur, p);
    if (head->major > 1 && !cur->limits->any_major)
        return h1_bad_part(cur, 505, "HTTP version not supported: %.*s", p, p + 8);
    return H1_DONE;
}

/* A line that is both too long and malformed is too long, however much of it came at a time. */
static h1_result h1_judge_line(h1_cursor *cur, h1_result res)
{
    if (res == H1_BAD && cur->head->status != 414 && h1_over(cur->line, cur->p, cur->limits->line))
        return h1_too_long(cur, 0);
    return res;
}

/* The end of the request line, after blanks in Unsafe. */
static h1_result h1_end_line(h1_cursor *cur)
{
    http_head *head = cur->head;
    const char *stop = cur->p, *blanks_end;
    int eol;

    BRG_ASSERT(head->method && head->uri_len > 0);
    if (cur->limits->unsafe)
        h1_line_gap(cur);
    blanks_end = cur->p;
    eol = h1_eol(cur);
    if (eol == 0)
        return h1_short(cur, 0);
    if (eol < 0) {
        return h1_bad(cur, 400,
                      *cur->p == '\0' || *cur->p == '\n' ? H1_WHY_MALFORMED : H1_WHY_BLANKS);
    }
    head->line = cur->line;
    head->line_len = (uint32_t)(stop - cur->line);
    if (h1_over(cur->line, blanks_end, cur->limits->line))
        return h1_too_long(cur, 0);
    cur->line = cur->p;
    return H1_DONE;
}

static h1_result h1_line_elements(h1_cursor *cur)
{
    h1_result res;

    if ((res = h1_take_method(cur)) != H1_DONE || (res = h1_take_target(cur)) != H1_DONE)
        return res;
    if (h1_line_gap(cur) && cur->p == cur->end)
        return h1_short(cur, 0);
    if (*cur->p == '\r' || *cur->p == '\n') {
        const char *after = cur->p;

        /* The line must be whole before its method is judged. */
        if (*after == '\r' && after + 1 == cur->end)
            return h1_short(cur, 0);
        if ((res = h1_take_09(cur)) != H1_DONE)
            return res;
    } else if (cur->p[-1] != ' ' && cur->p[-1] != '\t') {
        return h1_bad_target(cur, cur->p);
    } else if ((res = h1_take_version(cur)) != H1_DONE) {
        return res;
    }
    return h1_end_line(cur);
}

/* The method at the line's begin, with H1_PLAIN_LEAST bytes there; OTHER: see h1_take_method(). */
static uint8_t h1_plain_method(const char *p, uint32_t *len)
{
    *len = 3;
    if (memcmp(p, "GET ", 4) == 0)
        return HTTP_METHOD_GET;
    *len = 4;
    if (memcmp(p, "POST ", 5) == 0)
        return HTTP_METHOD_POST;
    return memcmp(p, "HEAD ", 5) == 0 ? HTTP_METHOD_HEAD : HTTP_METHOD_OTHER;
}

/* Nearly all request lines: a usual method, one space, a target, one space, HTTP/1.x, and the end
 * of the line, all of it there. Such a line means the same with any options, so that it is read in
 * a few steps. 0: another line, and nothing was done. */
static int h1_plain_line(h1_cursor *cur)
{
    http_head *head = cur->head;
    const char *uri, *p;
    uint32_t len;
    uint8_t method;

    if (cur->end - cur->p < H1_PLAIN_LEAST)
        return 0;
    method = h1_plain_method(cur->p, &len);
    uri = cur->p + len + 1;
    if (method == HTTP_METHOD_OTHER)
        return 0;
    p = http_scan_target(uri, cur->end);
    if (p == uri || cur->end - p < H1_PLAIN_TAIL || memcmp(p, " HTTP/1.", 8) != 0 ||
        !http_is(p[8], HTTP_C_DIGIT) || p[9] != '\r' || p[10] != '\n' ||
        h1_over(cur->p, p + 9, cur->limits->line))
        return 0;
    head->method = head->line = cur->p;
    head->method_len = len;
    head->method_id = method;
    head->uri = uri;
    head->uri_len = (uint32_t)(p - uri);
    head->protocol = p + 1;
    head->protocol_len = 8;
    head->major = 1;
    head->minor = (uint8_t)(p[8] - '0');
    head->line_len = (uint32_t)(p + 9 - cur->p);
    cur->line = cur->p = p + H1_PLAIN_TAIL;
    return 1;
}

h1_result h1_request_line(h1_cursor *cur)
{
    h1_result res;

    if (h1_plain_line(cur))
        return H1_DONE;
    res = h1_skip_blank_lines(cur);

    return res == H1_DONE ? h1_judge_line(cur, h1_line_elements(cur)) : res;
}
