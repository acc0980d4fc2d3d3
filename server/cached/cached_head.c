/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads as they lie in the store: the line's length 2, the number of fields 2, the line and its NUL; of each field the name's
 * length 2, the value's length 4, both with a NUL behind them. Numbers are the machine's. A reader holds each to
 * the bounds: other processes wrote them.
 */
#include "cached_private.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

#define HEAD_FIELD 8 /* bytes of a field beside its name and value */

static char *head_put(char *to, const void *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

const char *cached_head_write(apr_pool_t *p, const char *line, const http_field *field, uint32_t n,
                              uint32_t *len)
{
    const uint16_t line_len = (uint16_t)(line ? strnlen(line, 1024) : 0), count = (uint16_t)n;
    size_t size = 5 + line_len;
    char *bytes, *to;

    BRG_ASSERT(n <= UINT16_MAX);
    for (uint32_t i = 0; i < n; i++)
        size += HEAD_FIELD + field[i].name_len + field[i].value_len;
    bytes = to = apr_palloc(p, size);
    to = head_put(to, &line_len, 2);
    to = head_put(to, &count, 2);
    to = head_put(to, line ? line : "", line_len);
    *to++ = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t name_len = (uint16_t)field[i].name_len;

        to = head_put(to, &name_len, 2);
        to = head_put(to, &field[i].value_len, 4);
        to = head_put(to, field[i].name, name_len);
        *to++ = '\0';
        to = head_put(to, field[i].value, field[i].value_len);
        *to++ = '\0';
    }
    *len = (uint32_t)(to - bytes);
    BRG_ASSERT(*len <= size);
    return bytes;
}

/* A string of so many bytes and its NUL, without another one. */
static const char *head_string(const char **at, const char *end, size_t len)
{
    const char *p = *at;

    if ((size_t)(end - p) <= len || p[len] || memchr(p, 0, len))
        return NULL;
    *at = p + len + 1;
    return p;
}

static int head_field(const char **at, const char *end, http_field *f)
{
    uint16_t name_len;

    if (end - *at < 6)
        return -1;
    memcpy(&name_len, *at, 2);
    memcpy(&f->value_len, *at + 2, 4);
    *at += 6;
    f->name_len = name_len;
    f->id = HTTP_F_OTHER;
    if (!name_len || !(f->name = head_string(at, end, name_len)))
        return -1;
    return (f->value = head_string(at, end, f->value_len)) ? 0 : -1;
}

int cached_head_read(apr_pool_t *p, const char *bytes, uint32_t len, cached_head *head)
{
    const char *at = bytes + 4, *end = bytes + len, *line;
    uint16_t line_len, n;
    http_field *field;

    if (len < 5)
        return -1;
    memcpy(&line_len, bytes, 2);
    memcpy(&n, bytes + 2, 2);
    if (!(line = head_string(&at, end, line_len)) || n > len / HEAD_FIELD)
        return -1;
    field = apr_palloc(p, (n + 1u) * sizeof *field);
    for (uint16_t i = 0; i < n; i++)
        if (head_field(&at, end, field + i))
            return -1;
    *head = (cached_head){.line = line_len ? line : NULL, .head = {.field = field, .n = n}};
    return 0;
}

/* Fields of a connection, not of an answer; and those that say where the body ends. */
static int head_field_is_sound(const http_field *f, uint64_t len)
{
    static const char *const others[] = {"connection", "transfer-encoding", "keep-alive",
                                         "upgrade",    "trailer",           "proxy-connection"};
    char length[24];

    if (!http_is_token(f->name, f->name_len) || !http_is_value(f->value, f->value_len))
        return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcasecmp(f->name, others[i]))
            return 0;
    apr_snprintf(length, sizeof length, "%" APR_UINT64_T_FMT, len);
    return strcasecmp(f->name, "content-length") != 0 || !strcmp(f->value, length);
}

int cached_head_is_sound(const cached_head *head, int code, uint64_t len)
{
    char status[24];

    if (code < 200 || code > 599 || (len && (code == 204 || code == 205 || code == 304)))
        return 0;
    apr_snprintf(status, sizeof status, "%d ", code);
    if (head->line &&
        (strncmp(head->line, status, 4) != 0 || !http_is_value(head->line, strlen(head->line))))
        return 0;
    for (uint32_t i = 0; i < head->head.n; i++)
        if (!head_field_is_sound(head->head.field + i, len))
            return 0;
    return 1;
}

uint32_t cached_fields(apr_pool_t *p, const apr_table_t *table, http_field **field)
{
    const apr_array_header_t *rows = apr_table_elts(table);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(const void *)rows->elts;
    http_field *f = apr_palloc(p, ((apr_size_t)rows->nelts + 4) * sizeof *f);
    uint32_t n = 0;

    for (int i = 0; i < rows->nelts; i++)
        if (e[i].key && e[i].val)
            f[n++] = (http_field){.name = e[i].key,
                                  .value = e[i].val,
                                  .name_len = (uint32_t)strlen(e[i].key),
                                  .value_len = (uint32_t)strlen(e[i].val)};
    *field = f;
    return n;
}
