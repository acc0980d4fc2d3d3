/* SPDX-License-Identifier: Apache-2.0 */
/* Heads as they lie in the store (cached_head.h): written in the order of sending, and read. */
#include "cached_private.h"
#include "http_field_traits.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <strings.h>

/* Fields that have a place of their own in a head that is sent, or are told in another way than as they are stored. */
typedef enum head_kind {
    HEAD_FIELD,
    HEAD_ODD,
    HEAD_DATE,
    HEAD_SERVER,
    HEAD_TYPE,
    HEAD_LENGTH,
    HEAD_VARY,
    HEAD_MODIFIED,
    HEAD_TAG,
    HEAD_KINDS
} head_kind;

#define HEAD_IS(literal, kind)                        \
    if (http_same(name, literal, sizeof literal - 1)) \
    return kind
#define HEAD_IS_WIDE(literal, kind)                        \
    if (http_same_wide(name, literal, sizeof literal - 1)) \
    return kind

static head_kind head_kind_of(const char *name, size_t len)
{
    switch (len) {
    case 3:
        HEAD_IS("age", HEAD_ODD);
        break;
    case 4:
        HEAD_IS("date", HEAD_DATE);
        HEAD_IS("etag", HEAD_TAG);
        HEAD_IS("vary", HEAD_VARY);
        break;
    case 6:
        HEAD_IS("server", HEAD_SERVER);
        break;
    case 7:
        HEAD_IS("x-cache", HEAD_ODD);
        HEAD_IS("upgrade", HEAD_ODD);
        break;
    case 10:
        HEAD_IS_WIDE("connection", HEAD_ODD);
        HEAD_IS_WIDE("keep-alive", HEAD_ODD);
        break;
    case 12:
        HEAD_IS_WIDE("content-type", HEAD_TYPE);
        HEAD_IS_WIDE("cache-status", HEAD_ODD);
        break;
    case 13:
        HEAD_IS_WIDE("last-modified", HEAD_MODIFIED);
        HEAD_IS_WIDE("content-range", HEAD_ODD);
        break;
    case 14:
        HEAD_IS_WIDE("content-length", HEAD_LENGTH);
        HEAD_IS_WIDE("x-cache-detail", HEAD_ODD);
        break;
    case 16:
        HEAD_IS_WIDE("content-encoding", HEAD_ODD);
        break;
    default:
        break;
    }
    return HEAD_FIELD;
}

/* The names, each once, as response heads have them. */
static void head_vary(apr_pool_t *p, http_field *f)
{
    char *names = apr_pstrmemdup(p, f->value, f->value_len);
    char *out = apr_pcalloc(p, f->value_len + 2), *state, *to = out;

    for (char *name = apr_strtok(names, ", \t", &state); name;
         name = apr_strtok(NULL, ", \t", &state)) {
        if (cached_names_have(out, name, strlen(name)))
            continue;
        if (to > out)
            *to++ = ',';
        to = stpcpy(to, name);
    }
    f->value = out;
    f->value_len = (uint32_t)(to - out);
}

/* The place of the only field of each kind; -1: there is none. */
static void head_find(const http_field *field, uint32_t n, int32_t at[HEAD_KINDS],
                      cached_head_top *top)
{
    memset(at, -1, HEAD_KINDS * sizeof *at);
    for (uint32_t i = 0; i < n; i++) {
        const head_kind kind = head_kind_of(field[i].name, field[i].name_len);

        if (kind == HEAD_ODD || (kind && at[kind] >= 0))
            top->has &= (uint16_t)~CACHED_HEAD_PLAIN;
        else if (kind)
            at[kind] = (int32_t)i;
    }
}

/* @return the fields in the order of sending */
static const http_field *head_sort(apr_pool_t *p, const http_field *field, uint32_t n,
                                   cached_head_top *top)
{
    http_field *sorted = apr_palloc(p, (n + 1) * sizeof *sorted), *to = sorted, *first;
    int32_t at[HEAD_KINDS];

    head_find(field, n, at, top);
    if (at[HEAD_DATE] >= 0)
        *to++ = field[at[HEAD_DATE]];
    if (at[HEAD_SERVER] >= 0)
        *to++ = field[at[HEAD_SERVER]];
    first = to;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        if (i == at[HEAD_DATE] || i == at[HEAD_SERVER] || i == at[HEAD_TYPE])
            continue;
        *to = field[i];
        if (i == at[HEAD_LENGTH])
            top->length_at = (uint16_t)(to - first);
        else if (i == at[HEAD_MODIFIED])
            top->modified_at = (uint16_t)(to - first);
        else if (i == at[HEAD_TAG] && *to->value == '"')
            top->tag_at = (uint16_t)(to - first);
        else if (i == at[HEAD_VARY])
            head_vary(p, to);
        to++;
    }
    if (at[HEAD_TYPE] >= 0)
        *to++ = field[at[HEAD_TYPE]];
    top->has |= (uint16_t)((at[HEAD_DATE] >= 0 ? CACHED_HEAD_DATE : 0) |
                           (at[HEAD_SERVER] >= 0 ? CACHED_HEAD_SERVER : 0) |
                           (at[HEAD_TYPE] >= 0 ? CACHED_HEAD_TYPE : 0));
    BRG_ASSERT(to == sorted + n);
    return sorted;
}

static char *head_put(char *to, const void *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

const char *cached_head_write(apr_pool_t *p, const char *line, const http_field *field, uint32_t n,
                              uint32_t *len)
{
    cached_head_top top = {.line_len = (uint16_t)(line ? strnlen(line, 1024) : 0),
                           .n = (uint16_t)n,
                           .length_at = HTTP_NO_FIELD,
                           .modified_at = HTTP_NO_FIELD,
                           .tag_at = HTTP_NO_FIELD,
                           .has = CACHED_HEAD_PLAIN};
    size_t size = sizeof top + top.line_len + 1;
    char *bytes, *to, *sizes;

    BRG_ASSERT(n <= UINT16_MAX);
    field = head_sort(p, field, n, &top);
    for (uint32_t i = 0; i < n; i++)
        size += CACHED_HEAD_SIZES + 2 + field[i].name_len + field[i].value_len;
    bytes = apr_palloc(p, size);
    sizes = head_put(bytes, &top, sizeof top);
    to = head_put(sizes + CACHED_HEAD_SIZES * (size_t)n, line ? line : "", top.line_len);
    *to++ = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t name_len = (uint16_t)field[i].name_len;

        sizes = head_put(head_put(sizes, &name_len, 2), &field[i].value_len, 4);
        to = head_put(to, field[i].name, name_len);
        *to++ = '\0';
        to = head_put(to, field[i].value, field[i].value_len);
        *to++ = '\0';
    }
    *len = (uint32_t)(to - bytes);
    BRG_ASSERT(*len <= size);
    return bytes;
}

int cached_head_read(apr_pool_t *p, const char *bytes, uint32_t len, cached_head *head)
{
    cached_head_reader reader;
    cached_head_top top;
    http_answer_field f;
    http_field *field;

    if (cached_head_begin(&reader, &top, bytes, len) || strlen(reader.line) != top.line_len)
        return -1;
    field = apr_palloc(p, (top.n + 1u) * sizeof *field);
    for (uint16_t i = 0; i < top.n; i++) {
        if (cached_head_next(&reader, &f) || !f.name_len || strlen(f.name) != f.name_len ||
            strlen(f.value) != f.value_len)
            return -1;
        field[i] = (http_field){f.name, f.value, f.name_len, f.value_len, HTTP_F_OTHER};
    }
    *head = (cached_head){.line = top.line_len ? reader.line : NULL,
                          .head = {.field = field, .n = top.n}};
    return 0;
}

/* Fields of a connection, not of an answer; and framing of the body. */
static int head_field_is_sound(const http_field *f, uint64_t len)
{
    char length[24];

    if (!http_is_token(f->name, f->name_len) || !http_is_value(f->value, f->value_len) ||
        http_field_traits_of(f->name, f->name_len, HTTP_FIELD_HOP_BY_HOP))
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
