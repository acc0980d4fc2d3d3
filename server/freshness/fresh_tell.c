/* SPDX-License-Identifier: Apache-2.0 */
/* Cache-Status (RFC 9211), Cache-Groups (RFC 9875), and fields with tags. */
#include "fresh_tell.h"
#include "brigade/assert.h"
#include "http_scan.h"
#include "structured_field.h"

#include <string.h>

static void fresh_add_number(fresh_text *out, int64_t n)
{
    char digits[21], *p = digits + sizeof digits;
    uint64_t left = n < 0 ? (uint64_t)-n : (uint64_t)n;

    do
        *--p = (char)('0' + left % 10);
    while (left /= 10);
    if (n < 0)
        *--p = '-';
    fresh_text_add(out, p, (size_t)(digits + sizeof digits - p));
}

/* As a string; characters that a string cannot have are left out. */
static void fresh_add_string(fresh_text *out, const char *p, size_t len)
{
    FRESH_TEXT_ADD(out, "\"");
    for (size_t i = 0; i < len; i++) {
        if (p[i] < 0x20 || p[i] > 0x7e)
            continue;
        if (p[i] == '"' || p[i] == '\\')
            FRESH_TEXT_ADD(out, "\\");
        fresh_text_add(out, p + i, 1);
    }
    FRESH_TEXT_ADD(out, "\"");
}

static void fresh_add_name(fresh_text *out, const char *name)
{
    const size_t len = strlen(name);
    const char first = (char)(*name | 0x20);

    if (len && ((first >= 'a' && first <= 'z') || *name == '*') &&
        h1_scan_token(name, name + len) == name + len)
        fresh_text_add(out, name, len);
    else
        fresh_add_string(out, name, len);
}

void fresh_status_text(fresh_text *out, const fresh_status *status)
{
    static const char *const fwd[] = {"hit",          "fwd=bypass",    "fwd=method",
                                      "fwd=uri-miss", "fwd=vary-miss", "fwd=miss",
                                      "fwd=request",  "fwd=stale",     "fwd=partial"};
    const char *how = fwd[status->fwd <= FRESH_FWD_PARTIAL ? status->fwd : FRESH_FWD_MISS];

    fresh_add_name(out, status->name);
    FRESH_TEXT_ADD(out, "; ");
    fresh_text_add(out, how, strlen(how));
    if (status->fwd_status) {
        FRESH_TEXT_ADD(out, "; fwd-status=");
        fresh_add_number(out, status->fwd_status);
    }
    if (status->has_ttl) {
        FRESH_TEXT_ADD(out, "; ttl=");
        fresh_add_number(out, status->ttl);
    }
    if (status->stored)
        FRESH_TEXT_ADD(out, "; stored");
    if (status->collapsed)
        FRESH_TEXT_ADD(out, "; collapsed");
    if (status->key) {
        FRESH_TEXT_ADD(out, "; key=");
        fresh_add_string(out, status->key, status->key_len);
    }
    if (status->detail) {
        FRESH_TEXT_ADD(out, "; detail=");
        fresh_add_name(out, status->detail);
    }
}

int fresh_groups_valid(const char *value, size_t len)
{
    sf_cursor at;
    sf_item item;
    int more;

    sf_begin(&at, value, len);
    while ((more = sf_list_next(&at, &item)) > 0)
        if (item.type != SF_STRING)
            return 0;
    return !more;
}

int fresh_group_next(const char **p, const char *end, const char **group, size_t *len)
{
    sf_cursor at = {*p, end, 0};
    sf_item item;

    for (;;) {
        while (at.p < end && (*at.p == ' ' || *at.p == '\t' || *at.p == ','))
            at.p++;
        at.begun = 0;
        if (sf_list_next(&at, &item) <= 0)
            return 0;
        *p = at.p;
        if (item.type == SF_STRING && item.len <= FRESH_GROUP_BYTES) {
            *group = item.text;
            *len = item.len;
            return 1;
        }
    }
}

fresh_tags fresh_tags_of(const http_field *field)
{
    if (fresh_name_is(field->name, field->name_len, "surrogate-key", 13) ||
        fresh_name_is(field->name, field->name_len, "xkey", 4))
        return FRESH_TAGS_SPACE;
    return fresh_name_is(field->name, field->name_len, "cache-tag", 9) ? FRESH_TAGS_COMMA
                                                                       : FRESH_TAGS_NONE;
}

static int fresh_tag_ends(fresh_tags kind, char c)
{
    return c == ',' || (kind == FRESH_TAGS_SPACE && (c == ' ' || c == '\t'));
}

int fresh_tags_next(fresh_tags kind, const char **p, const char *end, const char **tag, size_t *len)
{
    const char *at = *p;

    while (at < end && (*at == ',' || *at == ' ' || *at == '\t'))
        at++;
    *tag = at;
    while (at < end && !fresh_tag_ends(kind, *at))
        at++;
    *p = at;
    for (*len = (size_t)(at - *tag); *len && ((*tag)[*len - 1] == ' ' || (*tag)[*len - 1] == '\t');)
        --*len;
    return *len > 0;
}
