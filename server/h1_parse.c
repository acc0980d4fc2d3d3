/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1 request heads, parsed in place in one pass.
 *
 * A head that is there as a whole, as nearly all are, is walked once. One that comes in pieces must
 * not be walked from its start for each piece; then *scanned remembers how far the search for the
 * end went, and the walk is repeated only when there is something new to judge: the end, the first
 * line's end, a line that outgrows its limit, or twice as many bytes as before. So the work stays
 * linear and a refusal never waits for bytes that may not come.
 */
#include "h1_parse.h"
#include "h1_fields.h"
#include "h1_scan.h"
#include <string.h>

/* Blank lines tolerated before a request line, as many as Apache tolerates. */
#define H1_MAX_BLANK_LINES 10

typedef struct h1_cursor {
    const char *buf, *p, *end;
    const char *line; /* start of the line that p is on */
    h1_head *head;
    const h1_limits *limits;
} h1_cursor;

static h1_result h1_bad(h1_cursor *cur, int status, const char *why)
{
    h1_head *head = cur->head;

    head->status = status;
    head->why = why;
    if (!head->bad) {
        const size_t rest = (size_t)(cur->end - cur->line);
        head->bad = cur->line;
        head->bad_len = (uint32_t)(rest < 80 ? rest : 80);
    }
    return H1_BAD;
}

static h1_result h1_too_long(h1_cursor *cur, int is_field)
{
    if (!is_field) {
        return h1_bad(cur, 414, "request line exceeds LimitRequestLine");
    }
    cur->head->note = "Size of a request header field exceeds server limit.";
    return h1_bad(cur, 400, "field line exceeds LimitRequestFieldSize");
}

/* Apache lets one byte more than the limit pass. */
static inline int h1_over(const char *from, const char *to, uint32_t limit)
{
    return (size_t)(to - from) > (size_t)limit + 1;
}

/* The bytes ended within a line: more are needed, unless what is there is too long already. */
static h1_result h1_short(h1_cursor *cur, int is_field)
{
    const char *end = cur->end;

    if (end > cur->line && end[-1] == '\r') {
        end--;
    }
    if (h1_over(cur->line, end, is_field ? cur->limits->field_size : cur->limits->line)) {
        return h1_too_long(cur, is_field);
    }
    return H1_MORE;
}

/*
 * p stands on the byte that ended a scan: take a line end there. 1 = taken (p on the next line), 0
 * = the bytes ended, -1 = no line end.
 */
static inline int h1_eol(h1_cursor *cur)
{
    const char *p = cur->p;

    if (p == cur->end) {
        return 0;
    }
    if (*p == '\r') {
        if (p + 1 == cur->end) {
            return 0;
        }
        if (p[1] != '\n') {
            return -1;
        }
        cur->p = p + 2;
        return 1;
    }
    if (*p == '\n' && cur->limits->unsafe) {
        cur->p = p + 1;
        return 1;
    }
    return -1;
}

static h1_result h1_skip_blank_lines(h1_cursor *cur)
{
    for (int n = 0; cur->p < cur->end && (*cur->p == '\r' || *cur->p == '\n'); n++) {
        const int eol = h1_eol(cur);

        if (eol == 0) {
            return H1_MORE;
        }
        if (eol < 0) {
            return h1_bad(cur, 400, "bare CR or LF before the request line");
        }
        if (n == H1_MAX_BLANK_LINES) {
            return h1_bad(cur, 400, "too many blank lines before the request line");
        }
        cur->line = cur->p;
    }
    return cur->p < cur->end ? H1_DONE : H1_MORE;
}

static uint8_t h1_method_of(const char *m, size_t len)
{
    switch (len) {
    case 3:
        return memcmp(m, "GET", 3) == 0 ? H1_M_GET : H1_M_OTHER;
    case 4:
        return memcmp(m, "HEAD", 4) == 0   ? H1_M_HEAD
               : memcmp(m, "POST", 4) == 0 ? H1_M_POST
                                           : H1_M_OTHER;
    case 5:
        return memcmp(m, "TRACE", 5) == 0 ? H1_M_TRACE : H1_M_OTHER;
    case 7:
        return memcmp(m, "OPTIONS", 7) == 0 ? H1_M_OPTIONS : H1_M_OTHER;
    default:
        return H1_M_OTHER;
    }
}

/* Unsafe forgives other bytes in a method, but no blanks, CR, LF or NUL. */
static const char *h1_scan_lenient(const char *p, const char *end)
{
    while (p < end && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\n' && *p != '\0') {
        p++;
    }
    return p;
}

/* Between two elements of the request line: one space, or in Unsafe any number of them. 0 = none.
 */
static int h1_line_gap(h1_cursor *cur)
{
    const char *p = cur->p;

    if (p == cur->end || *p != ' ') {
        return 0;
    }
    p++;
    if (cur->limits->unsafe) {
        while (p < cur->end && *p == ' ') {
            p++;
        }
    }
    cur->p = p;
    return 1;
}

static h1_result h1_take_method(h1_cursor *cur)
{
    h1_head *head = cur->head;

    head->method = cur->p;
    cur->p = h1_scan_token(cur->p, cur->end);
    if (cur->limits->unsafe) {
        cur->p = h1_scan_lenient(cur->p, cur->end);
    }
    head->method_len = (uint32_t)(cur->p - head->method);
    if (cur->p == cur->end) {
        return h1_short(cur, 0);
    }
    if (head->method_len == 0 || !h1_line_gap(cur)) {
        return h1_bad(cur, 400, "no method and target in the request line");
    }
    head->method_id = h1_method_of(head->method, head->method_len);
    return H1_DONE;
}

static h1_result h1_take_target(h1_cursor *cur)
{
    h1_head *head = cur->head;

    head->uri = cur->p;
    cur->p = h1_scan_target(cur->p, cur->end);
    while (cur->limits->unsafe && cur->p < cur->end && *cur->p == '#') {
        cur->p = h1_scan_target(cur->p + 1, cur->end);
    }
    head->uri_len = (uint32_t)(cur->p - head->uri);
    if (cur->p == cur->end) {
        return h1_short(cur, 0);
    }
    if (head->uri_len == 0) {
        return h1_bad(cur, 400, "no target in the request line");
    }
    return H1_DONE;
}

/* A request line without a version is HTTP/0.9: GET only, nothing follows it. */
static h1_result h1_take_09(h1_cursor *cur)
{
    h1_head *head = cur->head;

    head->protocol = "HTTP/0.9";
    head->protocol_len = 8;
    head->major = 0;
    head->minor = 9;
    if (!cur->limits->allow_09) {
        return h1_bad(cur, 400, "HTTP/0.9 is not allowed");
    }
    if (head->method_id != H1_M_GET && !cur->limits->unsafe) {
        return h1_bad(cur, 400, "HTTP/0.9 knows GET only");
    }
    return H1_DONE;
}

static h1_result h1_take_version(h1_cursor *cur)
{
    h1_head *head = cur->head;
    const char *p = cur->p;

    head->protocol = p;
    while (cur->p < cur->end && cur->p - p < 9 && h1_is(*cur->p, H1_C_TARGET)) {
        cur->p++;
    }
    head->protocol_len = (uint32_t)(cur->p - p);
    if (cur->p == cur->end) {
        return h1_short(cur, 0);
    }
    if (head->protocol_len != 8 || p[6] != '.' || !h1_is(p[5], H1_C_DIGIT) ||
        !h1_is(p[7], H1_C_DIGIT) ||
        (memcmp(p, "HTTP/", 5) != 0 && !(cur->limits->unsafe && h1_same(p, "http/", 5)))) {
        return h1_bad(cur, 400, "malformed HTTP version");
    }
    head->major = (uint8_t)(p[5] - '0');
    head->minor = (uint8_t)(p[7] - '0');
    if (head->major == 0) {
        return h1_bad(cur, 400, "HTTP/0.x in a request with a version");
    }
    if (head->major > 1) {
        return h1_bad(cur, 505, "HTTP version not supported");
    }
    return H1_DONE;
}

/* The end of the request line, after blanks in Unsafe. */
static h1_result h1_end_line(h1_cursor *cur)
{
    h1_head *head = cur->head;
    const char *stop = cur->p;
    int eol;

    if (cur->limits->unsafe) {
        h1_line_gap(cur);
    }
    eol = h1_eol(cur);
    if (eol == 0) {
        return h1_short(cur, 0);
    }
    if (eol < 0) {
        return h1_bad(cur, 400, "junk in the request line");
    }
    head->line = cur->line;
    head->line_len = (uint32_t)(stop - cur->line);
    if (h1_over(cur->line, stop, cur->limits->line)) {
        return h1_too_long(cur, 0);
    }
    cur->line = cur->p;
    return H1_DONE;
}

static h1_result h1_request_line(h1_cursor *cur)
{
    h1_result res = h1_skip_blank_lines(cur);

    if (res != H1_DONE) {
        return res;
    }
    if ((res = h1_take_method(cur)) != H1_DONE || (res = h1_take_target(cur)) != H1_DONE) {
        return res;
    }
    if (h1_line_gap(cur) && cur->p == cur->end) {
        return h1_short(cur, 0);
    }
    if (*cur->p == '\r' || *cur->p == '\n') {
        const char *after = cur->p;

        /* The line must be whole before its method is judged. */
        if (*after == '\r' && after + 1 == cur->end) {
            return h1_short(cur, 0);
        }
        if ((res = h1_take_09(cur)) != H1_DONE) {
            return res;
        }
    } else if (cur->p[-1] != ' ' && cur->p[-1] != '\t') {
        return h1_bad(cur, 400, "byte not allowed in the request target");
    } else if ((res = h1_take_version(cur)) != H1_DONE) {
        return res;
    }
    return h1_end_line(cur);
}

static h1_result h1_take_name(h1_cursor *cur, h1_field *field)
{
    const char *p = cur->p;

    field->name = p;
    p = h1_scan_token(p, cur->end);
    if (cur->limits->unsafe) {
        while (p < cur->end && *p != ':' && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\n' &&
               *p != '\0') {
            p++;
        }
    }
    cur->p = p;
    if (p == cur->end) {
        return h1_short(cur, 1);
    }
    if (*p != ':' || p == field->name) {
        if (h1_over(cur->line, p, cur->limits->field_size)) {
            return h1_too_long(cur, 1);
        }
        return h1_bad(cur, 400,
                      *cur->line == ' ' || *cur->line == '\t' ? "folded field line"
                                                              : "malformed field name");
    }
    field->name_len = (uint32_t)(p - field->name);
    field->id = (uint8_t)h1_field_id_of(field->name, field->name_len);
    return H1_DONE;
}

static h1_result h1_take_value(h1_cursor *cur, h1_field *field)
{
    const char *start = cur->p + 1, *stop;
    int eol;

    cur->p = h1_scan_value(start, cur->end);
    if (cur->limits->unsafe) {
        while (cur->p < cur->end && *cur->p != '\r' && *cur->p != '\n' && *cur->p != '\0') {
            cur->p++;
        }
    }
    stop = cur->p;
    eol = h1_eol(cur);
    if (eol == 0) {
        return h1_short(cur, 1);
    }
    if (h1_over(cur->line, stop, cur->limits->field_size)) {
        return h1_too_long(cur, 1);
    }
    if (eol < 0) {
        return h1_bad(cur, 400, "byte not allowed in a field value");
    }
    while (start < stop && (*start == ' ' || *start == '\t')) {
        start++;
    }
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t')) {
        stop--;
    }
    field->value = start;
    field->value_len = (uint32_t)(stop - start);
    return H1_DONE;
}

static h1_result h1_field_lines(h1_cursor *cur)
{
    h1_head *head = cur->head;
    const uint32_t limit = cur->limits->fields && cur->limits->fields < H1_MAX_FIELDS
                               ? cur->limits->fields
                               : H1_MAX_FIELDS;
    for (;;) {
        h1_result res;

        if (cur->p == cur->end) {
            return H1_MORE;
        }
        if (*cur->p == '\r' || *cur->p == '\n') {
            const int eol = h1_eol(cur);

            if (eol < 0) {
                return h1_bad(cur, 400, "bare CR or LF");
            }
            return eol ? H1_DONE : H1_MORE;
        }
        if (head->n_fields >= limit) {
            head->note = "The number of request header fields exceeds this server's limit.";
            return h1_bad(cur, 400, "more fields than LimitRequestFields allows");
        }
        if ((res = h1_take_name(cur, &head->field[head->n_fields])) != H1_DONE ||
            (res = h1_take_value(cur, &head->field[head->n_fields])) != H1_DONE) {
            return res;
        }
        h1_field_note(head, head->n_fields++);
        cur->line = cur->p;
    }
}

static void h1_head_reset(h1_head *head)
{
    memset(head, 0, offsetof(h1_head, known));
    memset(head->known, 0xff, sizeof(head->known));
    head->head_len = 0;
    head->status = 0;
    head->why = head->note = head->bad = NULL;
    head->bad_len = 0;
}

/* For the log: the request line of a refused head, as far as it came. */
static void h1_keep_line(h1_cursor *cur, const char *start)
{
    const char *p = start;
    const size_t most = (size_t)cur->limits->line + 1;

    while (p < cur->end && (size_t)(p - start) < most && *p != '\r' && *p != '\n') {
        p++;
    }
    cur->head->line = start;
    cur->head->line_len = (uint32_t)(p - start);
}

static h1_result h1_walk(h1_cursor *cur)
{
    h1_head *head = cur->head;
    h1_result res;

    h1_head_reset(head);
    res = h1_request_line(cur);
    if (res == H1_BAD) {
        h1_keep_line(cur, cur->line);
    }
    if (res == H1_DONE && head->major) {
        res = h1_field_lines(cur);
    }
    head->head_len = (uint32_t)(cur->p - cur->buf);
    if (res == H1_DONE && head->major) {
        const int status = h1_fields_judge(head, cur->limits->unsafe);

        if (status) {
            return h1_bad(cur, status, head->why);
        }
    }
    return res;
}

/* Where the line that holds buf[at] begins. */
static size_t h1_line_start(const char *buf, size_t at)
{
    const char *lf = memrchr(buf, '\n', at);

    return lf ? (size_t)(lf - buf) + 1 : 0;
}

/* A head of which the first @a from bytes were walked in vain has grown to @a len: is there
 * anything new to judge? */
static int h1_worth_a_walk(const char *buf, size_t from, size_t len, const h1_limits *limits)
{
    size_t line = h1_line_start(buf, from);
    const char *p = buf + from, *lf;
    const uint32_t least = limits->line < limits->field_size ? limits->line : limits->field_size;

    while ((lf = memchr(p, '\n', len - (size_t)(p - buf)))) {
        const size_t at = (size_t)(lf - buf);

        /* The end of the first line, of a blank line, or of a line that went over. */
        if (line < 2 * (H1_MAX_BLANK_LINES + 1) + 1 || at - line <= 1 || at - line > least) {
            return 1;
        }
        line = at + 1;
        p = lf + 1;
    }
    if (len - line > least) {
        return 1;
    }
    /* Another power of two was passed: too many fields, a bad byte in them. */
    return len >> (63 - __builtin_clzll((unsigned long long)from)) > 1;
}

h1_result h1_parse(h1_head *head, const char *buf, size_t len, size_t *scanned,
                   const h1_limits *limits)
{
    h1_cursor cur = {
        .buf = buf, .p = buf, .end = buf + len, .line = buf, .head = head, .limits = limits};
    h1_result res;

    if (*scanned != 0 && !h1_worth_a_walk(buf, *scanned, len, limits)) {
        *scanned = len;
        return H1_MORE;
    }
    res = h1_walk(&cur);
    *scanned = res == H1_MORE ? len : 0;
    return res;
}

h1_result h1_parse_request_line(h1_head *head, const char *buf, size_t len, const h1_limits *limits)
{
    h1_cursor cur = {
        .buf = buf, .p = buf, .end = buf + len, .line = buf, .head = head, .limits = limits};
    h1_result res;

    h1_head_reset(head);
    res = h1_request_line(&cur);
    if (res == H1_BAD) {
        h1_keep_line(&cur, cur.line);
    }
    return res;
}
