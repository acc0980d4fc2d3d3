/* SPDX-License-Identifier: Apache-2.0 */
/* No-Vary-Search. */
#include "fresh_search.h"
#include "structured_field.h"
#include <string.h>

/* The next string of an inner list, with its escapes. @return 1; 0: the end; -1: another item */
static int search_next(const char **p, const char *end, const char **text, size_t *len)
{
    const char *at = *p;

    while (at < end && *at == ' ')
        at++;
    if (at == end)
        return 0;
    if (*at++ != '"')
        return -1;
    *text = at;
    while (at < end && *at != '"')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    if (at >= end)
        return -1;
    *len = (size_t)(at - *text);
    while (at < end && *at != ' ') /* and its parameters */
        at++;
    *p = at;
    return 1;
}

static int search_is_strings(const sf_item *list)
{
    const char *p = list->text, *text;
    size_t len;
    int more;

    while ((more = search_next(&p, list->text + list->len, &text, &len)) > 0)
        ;
    return more == 0;
}

/* @return -1: the value is not valid */
static int search_member(fresh_search *to, int *has_except, const char *key, size_t len,
                         const sf_item *item)
{
    const int is_params = len == 6 && !memcmp(key, "params", 6);
    const int is_except = len == 6 && !memcmp(key, "except", 6);

    if (len == 9 && !memcmp(key, "key-order", 9)) {
        if (item->type != SF_BOOLEAN)
            return -1;
        to->key_order = item->number != 0;
    } else if (is_params && item->type == SF_BOOLEAN) {
        to->all = item->number != 0;
    } else if ((is_params || is_except) && item->type == SF_INNER_LIST && search_is_strings(item)) {
        to->names = item->text;
        to->names_len = item->len;
        *has_except |= is_except;
        if (is_params)
            to->all = 0;
    } else if (is_params || is_except) {
        return -1;
    }
    return 0;
}

int fresh_search_read(fresh_search *to, const char *value, size_t len)
{
    const char *key;
    size_t key_len;
    sf_cursor at;
    sf_item item;
    int more, wrong = 0, has_except = 0;

    *to = (fresh_search){0};
    sf_begin(&at, value, len);
    while ((more = sf_dictionary_next(&at, &key, &key_len, &item)) > 0)
        wrong |= search_member(to, &has_except, key, key_len, &item);
    if (more < 0 || wrong || (has_except && !to->all))
        return 0;
    return to->key_order || to->all || to->names_len;
}

static int search_hex(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* The next byte of a name, as forms encode it; of a string its escapes are taken off before. */
static int search_byte(const char **p, const char *end, int is_string)
{
    const char *at = *p;

    if (is_string && *at == '\\' && at + 1 < end)
        at++;
    *p = at + 1;
    if (*at == '+')
        return ' ';
    if (*at != '%' || end - at < 3 || search_hex(at[1]) < 0 || search_hex(at[2]) < 0)
        return (unsigned char)*at;
    *p = at + 3;
    return search_hex(at[1]) << 4 | search_hex(at[2]);
}

static int search_is_same(const char *name, size_t len, const char *text, size_t text_len)
{
    const char *end = name + len, *text_end = text + text_len;

    while (name < end && text < text_end)
        if (search_byte(&name, end, 0) != search_byte(&text, text_end, 1))
            return 0;
    return name == end && text == text_end;
}

int fresh_search_counts(const fresh_search *search, const char *name, size_t len)
{
    const char *p = search->names, *text;
    size_t text_len;

    while (p && search_next(&p, search->names + search->names_len, &text, &text_len) > 0)
        if (search_is_same(name, len, text, text_len))
            return search->all;
    return !search->all;
}
