/* SPDX-License-Identifier: Apache-2.0 */
/* Structured fields, read in place (RFC 9651, 4.2). */
#include "structured_field.h"
#include "brigade/assert.h"
#include "http_scan.h"

#include <string.h>

void sf_begin(sf_cursor *at, const char *value, size_t len)
{
    BRG_ASSERT(value || !len);
    *at = (sf_cursor){value, value + len, 0};
    while (at->p < at->end && *at->p == ' ')
        at->p++;
    while (at->end > at->p && at->end[-1] == ' ')
        at->end--;
}

static int sf_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int sf_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static int sf_number(sf_cursor *at, sf_item *item)
{
    int digits = 0, after = 0, minus = at->p < at->end && *at->p == '-';
    int64_t n = 0;

    at->p += minus;
    item->type = SF_INTEGER;
    for (; at->p < at->end && (sf_is_digit(*at->p) || (*at->p == '.' && item->type == SF_INTEGER));
         at->p++) {
        if (*at->p == '.') {
            if (!digits || digits > 12)
                return -1;
            item->type = SF_DECIMAL;
        } else if (item->type == SF_DECIMAL) {
            after++;
        } else {
            n = n * 10 + (*at->p - '0');
            if (++digits > 15)
                return -1;
        }
    }
    item->number = minus ? -n : n;
    return !digits || (item->type == SF_DECIMAL && (!after || after > 3)) ? -1 : 0;
}

static int sf_string(sf_cursor *at, sf_item *item)
{
    item->type = SF_STRING;
    item->text = ++at->p;
    for (; at->p < at->end; at->p++) {
        const unsigned char c = (unsigned char)*at->p;

        if (c == '\\') {
            if (++at->p == at->end || (*at->p != '"' && *at->p != '\\'))
                return -1;
        } else if (c == '"') {
            item->len = (size_t)(at->p++ - item->text);
            return 0;
        } else if (c < 0x20 || c > 0x7e) {
            return -1;
        }
    }
    return -1;
}

static int sf_bytes(sf_cursor *at, sf_item *item)
{
    item->type = SF_BYTES;
    item->text = ++at->p;
    for (; at->p < at->end; at->p++) {
        const char c = *at->p;

        if (c == ':') {
            item->len = (size_t)(at->p++ - item->text);
            return 0;
        }
        if (!sf_is_digit(c) && !sf_is_lower((char)(c | 0x20)) && c != '+' && c != '/' && c != '=')
            return -1;
    }
    return -1;
}

static int sf_display(sf_cursor *at, sf_item *item)
{
    if (at->end - at->p < 2 || at->p[1] != '"')
        return -1;
    at->p += 2;
    item->type = SF_DISPLAY;
    item->text = at->p;
    for (; at->p < at->end; at->p++) {
        const unsigned char c = (unsigned char)*at->p;

        if (c == '"') {
            item->len = (size_t)(at->p++ - item->text);
            return 0;
        }
        if (c < 0x20 || c > 0x7e)
            return -1;
        if (c == '%') {
            for (int i = 1; i < 3; i++)
                if (at->end - at->p <= i ||
                    !(sf_is_digit(at->p[i]) || (at->p[i] >= 'a' && at->p[i] <= 'f')))
                    return -1;
            at->p += 2;
        }
    }
    return -1;
}

static int sf_token(sf_cursor *at, sf_item *item)
{
    item->type = SF_TOKEN;
    item->text = at->p;
    while (at->p < at->end && (http_is(*at->p, HTTP_C_TOKEN) || *at->p == ':' || *at->p == '/'))
        at->p++;
    item->len = (size_t)(at->p - item->text);
    return 0;
}

static int sf_boolean(sf_cursor *at, sf_item *item)
{
    if (at->end - at->p < 2 || (at->p[1] != '0' && at->p[1] != '1'))
        return -1;
    item->type = SF_BOOLEAN;
    item->number = at->p[1] == '1';
    at->p += 2;
    return 0;
}

static int sf_date(sf_cursor *at, sf_item *item)
{
    at->p++;
    if (sf_number(at, item) || item->type != SF_INTEGER)
        return -1;
    item->type = SF_DATE;
    return 0;
}

static int sf_bare(sf_cursor *at, sf_item *item)
{
    const char c = at->p < at->end ? *at->p : 0;
    const char *begin = at->p;
    int bad;

    if (c == '"')
        return sf_string(at, item);
    if (c == ':')
        return sf_bytes(at, item);
    if (c == '%')
        return sf_display(at, item);
    if (c == '?')
        return sf_boolean(at, item);
    if (c == '*' || sf_is_lower((char)(c | 0x20)))
        return sf_token(at, item);
    if (c == '@')
        bad = sf_date(at, item);
    else if (c == '-' || sf_is_digit(c))
        bad = sf_number(at, item);
    else
        return -1;
    item->text = begin;
    item->len = (size_t)(at->p - begin);
    return bad;
}

static int sf_key(sf_cursor *at, const char **key, size_t *len)
{
    *key = at->p;
    if (at->p == at->end || (!sf_is_lower(*at->p) && *at->p != '*'))
        return -1;
    while (at->p < at->end &&
           (sf_is_lower(*at->p) || sf_is_digit(*at->p) || strchr("_-.*", *at->p)))
        at->p++;
    *len = (size_t)(at->p - *key);
    return 0;
}

static int sf_params(sf_cursor *at, sf_item *item)
{
    const char *key;
    size_t len;
    sf_item value;

    item->params = at->p;
    while (at->p < at->end && *at->p == ';') {
        at->p++;
        while (at->p < at->end && *at->p == ' ')
            at->p++;
        if (sf_key(at, &key, &len))
            return -1;
        if (at->p < at->end && *at->p == '=') {
            at->p++;
            if (sf_bare(at, &value))
                return -1;
        }
    }
    BRG_ASSERT(at->p >= item->params && at->p <= at->end);
    item->params_len = (size_t)(at->p - item->params);
    return 0;
}

static int sf_inner(sf_cursor *at, sf_item *item)
{
    sf_item member;

    item->type = SF_INNER_LIST;
    item->text = ++at->p;
    for (;;) {
        while (at->p < at->end && *at->p == ' ')
            at->p++;
        if (at->p == at->end)
            return -1;
        if (*at->p == ')') {
            item->len = (size_t)(at->p++ - item->text);
            return 0;
        }
        if (sf_bare(at, &member) || sf_params(at, &member) ||
            (at->p < at->end && *at->p != ' ' && *at->p != ')'))
            return -1;
    }
}

static int sf_member(sf_cursor *at, sf_item *item)
{
    BRG_ASSERT(at->p <= at->end);
    *item = (sf_item){0};
    if ((at->p < at->end && *at->p == '(' ? sf_inner : sf_bare)(at, item))
        return -1;
    return sf_params(at, item);
}

/* To the next member: 1 there is one, 0 the end, -1 no comma, or one with nothing behind it. */
static int sf_step(sf_cursor *at)
{
    if (!at->begun) {
        at->begun = 1;
        return at->p < at->end;
    }
    while (at->p < at->end && (*at->p == ' ' || *at->p == '\t'))
        at->p++;
    if (at->p == at->end)
        return 0;
    if (*at->p++ != ',')
        return -1;
    while (at->p < at->end && (*at->p == ' ' || *at->p == '\t'))
        at->p++;
    return at->p < at->end ? 1 : -1;
}

int sf_list_next(sf_cursor *at, sf_item *item)
{
    const int more = sf_step(at);

    return more > 0 ? (sf_member(at, item) ? -1 : 1) : more;
}

int sf_dictionary_next(sf_cursor *at, const char **key, size_t *key_len, sf_item *item)
{
    const int more = sf_step(at);

    if (more <= 0)
        return more;
    if (sf_key(at, key, key_len))
        return -1;
    if (at->p < at->end && *at->p == '=') {
        at->p++;
        return sf_member(at, item) ? -1 : 1;
    }
    *item = (sf_item){.type = SF_BOOLEAN, .number = 1};
    return sf_params(at, item) ? -1 : 1;
}
