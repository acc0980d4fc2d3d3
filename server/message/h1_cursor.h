/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_CURSOR_H
#define BRIGADE_H1_H1_CURSOR_H

/**
 * @file h1_cursor.h
 * Shared by the two halves of the head parser: the position, the end of a line,
 * the refusal of a head.
 */
#include "h1_fields.h"
#include "http_scan.h"
#include "http_log.h"

/** Blank lines tolerated before a request line, as many as Apache tolerates. */
#define H1_MAX_BLANK_LINES 10

typedef struct h1_cursor {
    const char *buf, *p, *end;
    const char *line; /* start of the line that p is on */
    http_head *head;
    const h1_limits *limits;
} h1_cursor;

/** Bytes of the offending text that are kept for the log. */
#define H1_BAD_MOST 80

/** Refuse because of the text in [from, to). */
static inline h1_result h1_bad_part(h1_cursor *cur, int status, const char *why, const char *from,
                                    const char *to)
{
    http_head *head = cur->head;
    const size_t len = (size_t)(to - from);

    head->status = status;
    head->why = why;
    head->bad = from;
    head->bad_len = (uint32_t)(len < H1_BAD_MOST ? len : H1_BAD_MOST);
    return H1_BAD;
}

/** Where the text that starts at p ends: at the end of its line, or at the byte stop. */
static inline const char *h1_text_end(const h1_cursor *cur, const char *p, char stop)
{
    while (p < cur->end && *p != '\r' && *p != '\n' && *p != '\0' && *p != stop)
        p++;
    return p;
}

/** Refuse for the line that p is on. */
static inline h1_result h1_bad(h1_cursor *cur, int status, const char *why)
{
    return h1_bad_part(cur, status, why, cur->line, h1_text_end(cur, cur->line, '\0'));
}

static inline h1_result h1_too_long(h1_cursor *cur, int is_field)
{
    http_head *head = cur->head;

    head->bad_is_long = 1;
    if (!is_field)
        return h1_bad(cur, 414, "request failed: client's request-line exceeds LimitRequestLine");
    head->note = h1_note_field_size;
    return h1_bad_part(cur, 400,
                       APLOGNO(00561) "Request header exceeds LimitRequestFieldSize: %.*s",
                       cur->line, h1_text_end(cur, cur->line, ':'));
}

/* Apache lets one byte more than the limit pass. */
static inline int h1_over(const char *from, const char *to, uint32_t limit)
{
    return (size_t)(to - from) > (size_t)limit + 1;
}

/* The bytes ended within a line: more are needed, unless the line is too long already. */
static inline h1_result h1_short(h1_cursor *cur, int is_field)
{
    const char *end = cur->end;

    if (end > cur->line && end[-1] == '\r')
        end--;
    if (h1_over(cur->line, end, is_field ? cur->limits->field_size : cur->limits->line))
        return h1_too_long(cur, is_field);
    return H1_MORE;
}

/*
 * p stands on the byte that ended a scan: take a line end there. 1 = taken (p on the next line), 0
 * = the bytes ended, -1 = no line end.
 */
static inline int h1_eol(h1_cursor *cur)
{
    const char *p = cur->p;

    if (p == cur->end)
        return 0;
    if (*p == '\r') {
        if (p + 1 == cur->end)
            return 0;
        if (p[1] != '\n')
            return -1;
        cur->p = p + 2;
        return 1;
    }
    if (*p == '\n' && cur->limits->unsafe) {
        cur->p = p + 1;
        return 1;
    }
    return -1;
}

/** h1_line.c: blank lines and the request line. H1_DONE: p is behind it, head's elements are set.
 */
h1_result h1_request_line(h1_cursor *cur);

/** h1_parse.c: all as in a head of which nothing was read, for limits->room. */
void h1_head_reset(http_head *head, const h1_limits *limits);

/** h1_parse.c: a head of which the first @a from bytes were walked in vain has grown to @a len. Is there anything new to
 * judge? */
int h1_worth_a_walk(const char *buf, size_t from, size_t len, const h1_limits *limits);

/** h1_parse.c: field lines up to the empty one. H1_DONE: p is behind that. */
h1_result h1_field_lines(h1_cursor *cur);

#endif
