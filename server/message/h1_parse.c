/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1 request heads, parsed in place in one pass, and the field lines of all heads.
 *
 * A head that is there as a whole, as nearly all are, is walked once. A head that comes in pieces
 * must not be walked from its start for each piece; then *scanned holds how far the search for the
 * end went, and the walk is repeated only when there is something new to judge: the end, the first
 * line's end, a line that outgrows its limit, or twice as many bytes as before. So the work stays
 * linear and a refusal never waits for bytes that may not come.
 */
#include "h1_cursor.h"
#include "h1_fields.h"
#include "brigade/assert.h"
#include <string.h>

/* Bytes that may not stand in a name or value even in Unsafe, blanks aside. */
static int h1_ends_lenient(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

/* The name that ends at p is invalid. */
static h1_result h1_bad_name(h1_cursor *cur, const char *p)
{
    const char *colon = h1_text_end(cur, p, ':');

    if (*cur->line == ' ' || *cur->line == '\t')
        return h1_bad(cur, 400, "folded field line: %.*s");
    if (!cur->limits->unsafe)
        return h1_bad(cur, 400, APLOGNO(02426) "Request header field name is malformed: %.*s");
    if (*p == ':')
        return h1_bad(cur, 400, APLOGNO(03453) "Request header field name was empty");
    if (colon < cur->end && *colon == ':') {
        return h1_bad(cur, 400,
                      APLOGNO(03452) "Request header field name presented invalid whitespace");
    }
    return h1_bad(cur, 400, APLOGNO(00564) "Request header field is missing ':' separator: %.*s");
}

static h1_result h1_bad_value(h1_cursor *cur, const char *start)
{
    if (*cur->p == '\n' || *cur->p == '\0')
        return h1_bad(cur, 400, "Failed to read request header line %.*s");
    if (cur->limits->unsafe) {
        return h1_bad(cur, 400,
                      APLOGNO(03451) "Request header field value presented bad whitespace");
    }
    while (start < cur->p && (*start == ' ' || *start == '\t'))
        start++;
    return h1_bad_part(cur, 400, APLOGNO(02427) "Request header value is malformed: %.*s", start,
                       h1_text_end(cur, cur->p + 1, '\0'));
}

static h1_result h1_take_name(h1_cursor *cur, http_field *field)
{
    const char *p = cur->p;

    BRG_ASSERT(cur->p <= cur->end);
    field->name = p;
    p = h1_scan_token(p, cur->end);
    if (cur->limits->unsafe)
        while (p < cur->end && *p != ':' && !h1_ends_lenient(*p))
            p++;
    cur->p = p;
    if (p == cur->end)
        return h1_short(cur, 1);
    if (*p != ':' || p == field->name) {
        if (h1_over(cur->line, p, cur->limits->field_size))
            return h1_too_long(cur, 1);
        return h1_bad_name(cur, p);
    }
    field->name_len = (uint32_t)(p - field->name);
    field->id = (uint8_t)http_field_id_of(field->name, field->name_len);
    return H1_DONE;
}

static h1_result h1_take_value(h1_cursor *cur, http_field *field)
{
    const char *start = cur->p + 1, *stop;
    int eol;

    BRG_ASSERT(cur->p < cur->end && *cur->p == ':');
    cur->p = http_scan_value(start, cur->end);
    if (cur->limits->unsafe)
        while (cur->p < cur->end &&
               (*cur->p == ' ' || *cur->p == '\t' || !h1_ends_lenient(*cur->p)))
            cur->p++;
    stop = cur->p;
    eol = h1_eol(cur);
    if (eol == 0)
        return h1_short(cur, 1);
    if (h1_over(cur->line, stop, cur->limits->field_size))
        return h1_too_long(cur, 1);
    if (eol < 0)
        return h1_bad_value(cur, start);
    while (start < stop && (*start == ' ' || *start == '\t'))
        start++;
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    field->value = start;
    field->value_len = (uint32_t)(stop - start);
    return H1_DONE;
}

/* Nearly all field lines: a name, ":", at most one space, a value without blanks around it, and the
 * end of the line, all of it there. Such a line means the same with any options. 0: another line,
 * and nothing was done. */
static inline int h1_plain_field(h1_cursor *cur, http_field *field)
{
    const char *end = cur->end, *name = cur->p, *colon = h1_scan_token(name, end), *value, *stop;

    if (end - colon < 4 || *colon != ':' || colon == name)
        return 0;
    value = colon + 1 + (colon[1] == ' ');
    stop = http_scan_value_behind(cur->buf, value, end);
    if (end - stop < 2 || memcmp(stop, "\r\n", 2) != 0 || (uint8_t)*value <= ' ' ||
        (uint8_t)stop[-1] <= ' ' || h1_over(cur->line, stop, cur->limits->field_size))
        return 0;
    field->name = name;
    field->name_len = (uint32_t)(colon - name);
    field->id = (uint8_t)http_field_id_of(name, field->name_len);
    field->value = value;
    field->value_len = (uint32_t)(stop - value);
    cur->p = stop + 2;
    return 1;
}

static uint32_t h1_fields_most(const h1_limits *limits)
{
    const uint32_t room = limits->room ? HTTP_HEAD_MAX_FIELDS : HTTP_HEAD_OWN_FIELDS;

    return limits->fields && limits->fields < room ? limits->fields : room;
}

h1_result h1_field_lines(h1_cursor *cur)
{
    http_head *head = cur->head;
    const uint32_t limit = h1_fields_most(cur->limits);

    BRG_ASSERT(head->n_fields == 0);
    head->bad_is_field = 1; /* if any is */
    for (;;) {
        h1_result res;

        if (cur->p == cur->end)
            return H1_MORE;
        if (*cur->p == '\r' || *cur->p == '\n') {
            const int eol = h1_eol(cur);

            if (eol < 0)
                return h1_bad_name(cur, cur->p);
            return eol ? H1_DONE : H1_MORE;
        }
        if (head->n_fields >= limit) {
            head->note = "The number of request header fields exceeds this server's limit.";
            head->bad_is_long = 1;
            return h1_bad(cur, 400,
                          APLOGNO(00563) "Number of request headers exceeds LimitRequestFields");
        }
        if (!h1_plain_field(cur, &head->field[head->n_fields]) &&
            ((res = h1_take_name(cur, &head->field[head->n_fields])) != H1_DONE ||
             (res = h1_take_value(cur, &head->field[head->n_fields])) != H1_DONE))
            return res;
        h1_field_note(head, head->n_fields++);
        cur->line = cur->p;
    }
}

void h1_head_reset(http_head *head, const h1_limits *limits)
{
    head->field = limits->room ? limits->room : head->own;
    memset(head, 0, offsetof(http_head, known));
    memset(head->known, 0xff, sizeof(head->known));
    head->head_len = 0;
    head->status = 0;
    head->why = head->note = head->bad = NULL;
    head->bad_len = 0;
    head->bad_is_field = head->bad_is_long = head->no_host = 0;
    head->authority = head->scheme = NULL;
    head->authority_len = 0;
}

/* For the log: the request line of a refused head, as far as it came. */
static void h1_keep_line(h1_cursor *cur, const char *start)
{
    const char *p = start;
    const size_t most = (size_t)cur->limits->line + 1;

    BRG_ASSERT(start <= cur->end);
    while (p < cur->end && (size_t)(p - start) < most && *p != '\r' && *p != '\n')
        p++;
    cur->head->line = start;
    cur->head->line_len = (uint32_t)(p - start);
}

static h1_result h1_walk(h1_cursor *cur)
{
    http_head *head = cur->head;
    h1_result res;

    BRG_ASSERT(cur->p == cur->buf && cur->buf <= cur->end);
    h1_head_reset(head, cur->limits);
    res = h1_request_line(cur);
    if (res == H1_BAD)
        h1_keep_line(cur, cur->line);
    if (res == H1_DONE && head->major)
        res = h1_field_lines(cur);
    head->head_len = (uint32_t)(cur->p - cur->buf);
    if (res == H1_DONE && head->major) {
        head->bad_is_field = 0;
        head->status = h1_fields_judge(head, cur->limits);
        if (head->status)
            return H1_BAD;
    }
    return res;
}

/* Where the line that holds buf[at] begins. */
static size_t h1_line_start(const char *buf, size_t at)
{
    const char *lf = memrchr(buf, '\n', at);

    BRG_ASSERT_DEBUG(buf != NULL);
    return lf ? (size_t)(lf - buf) + 1 : 0;
}

int h1_worth_a_walk(const char *buf, size_t from, size_t len, const h1_limits *limits)
{
    size_t line = h1_line_start(buf, from);
    const char *p = buf + from, *lf;
    const uint32_t least = limits->line < limits->field_size ? limits->line : limits->field_size;

    BRG_ASSERT(from > 0 && from <= len);
    while ((lf = memchr(p, '\n', len - (size_t)(p - buf)))) {
        const size_t at = (size_t)(lf - buf);

        /* The end of the first line, of a blank line, or of a line that went over. */
        if (line < 2 * (H1_MAX_BLANK_LINES + 1) + 1 || at - line <= 1 || at - line > least)
            return 1;
        line = at + 1;
        p = lf + 1;
    }
    if (len - line > least)
        return 1;
    /* Another power of two was passed: too many fields, a bad byte in them. */
    return len >> (63 - __builtin_clzll((unsigned long long)from)) > 1;
}

h1_result h1_parse(http_head *head, const char *buf, size_t len, size_t *scanned,
                   const h1_limits *limits)
{
    h1_cursor cur = {
        .buf = buf, .p = buf, .end = buf + len, .line = buf, .head = head, .limits = limits};
    h1_result res;

    BRG_ASSERT(*scanned <= len);
    if (*scanned != 0 && !h1_worth_a_walk(buf, *scanned, len, limits)) {
        *scanned = len;
        return H1_MORE;
    }
    res = h1_walk(&cur);
    *scanned = res == H1_MORE ? len : 0;
    return res;
}

h1_result h1_parse_request_line(http_head *head, const char *buf, size_t len,
                                const h1_limits *limits)
{
    h1_cursor cur = {
        .buf = buf, .p = buf, .end = buf + len, .line = buf, .head = head, .limits = limits};
    h1_result res;

    h1_head_reset(head, limits);
    res = h1_request_line(&cur);
    if (res == H1_BAD)
        h1_keep_line(&cur, cur.line);
    return res;
}
