/* SPDX-License-Identifier: Apache-2.0 */
/* Vary: which fields, and the key that their values make (section 4.1). */
#include "fresh_vary.h"
#include "brigade/assert.h"
#include "http_fields.h"
#include "http_scan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FRESH_WEIGHTED_MOST 32

void fresh_text_add(fresh_text *text, const char *bytes, size_t len)
{
    BRG_ASSERT(text->len <= text->room);
    if (len > text->room - text->len) {
        text->over = 1;
        len = text->room - text->len;
    }
    if (len)
        memcpy(text->at + text->len, bytes, len);
    text->len += len;
}

void fresh_text_lower(fresh_text *text, const char *bytes, size_t len)
{
    const size_t from = text->len;

    fresh_text_add(text, bytes, len);
    for (size_t i = from; i < text->len; i++)
        if (text->at[i] >= 'A' && text->at[i] <= 'Z')
            text->at[i] = (char)(text->at[i] | 0x20);
}

typedef struct fresh_name {
    const char *at;
    size_t len;
} fresh_name;

static int fresh_name_compare(const void *a, const void *b)
{
    const fresh_name *x = a, *y = b;
    const size_t len = x->len < y->len ? x->len : y->len;
    const int order = strncasecmp(x->at, y->at, len);

    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* 0, or -1: a "*", no name of a field, or too many. */
static int fresh_vary_add(fresh_name *names, int *n, const http_field *f)
{
    const char *p = f->value, *item;
    size_t len;

    while (http_list_next(&p, f->value + f->value_len, &item, &len)) {
        if (*item == '*' || *n == FRESH_VARY_MOST || h1_scan_token(item, item + len) != item + len)
            return -1;
        names[(*n)++] = (fresh_name){item, len};
    }
    return 0;
}

int fresh_vary_names(fresh_text *names, const fresh_head *response)
{
    fresh_name name[FRESH_VARY_MOST];
    int n = 0;

    for (uint32_t i = 0; i < response->n; i++) {
        const http_field *f = response->field + i;

        if (fresh_name_is(f->name, f->name_len, "vary", 4) && fresh_vary_add(name, &n, f))
            return -1;
    }
    qsort(name, (size_t)n, sizeof *name, fresh_name_compare);
    for (int i = 0; i < n; i++) {
        if (i && !fresh_name_compare(name + i - 1, name + i))
            continue;
        if (names->len)
            FRESH_TEXT_ADD(names, ",");
        fresh_text_lower(names, name[i].at, name[i].len);
    }
    BRG_ASSERT(n <= FRESH_VARY_MOST);
    return names->over ? -1 : 0;
}

/* ---- Accept-Encoding and Accept-Language */

typedef struct fresh_weighted {
    fresh_name name;
    int weight; /* thousandths */
} fresh_weighted;

/* "0.5" in thousandths; -1: a wrong form. */
static int fresh_weight(const char *p, const char *end)
{
    int weight = 0, unit = 1000;

    if (p == end || (*p != '0' && *p != '1'))
        return -1;
    weight = (*p++ - '0') * 1000;
    if (p < end && *p++ != '.')
        return -1;
    for (; p < end; p++) {
        if (!http_is(*p, HTTP_C_DIGIT) || unit == 1)
            return -1;
        unit /= 10;
        weight += (*p - '0') * unit;
    }
    return weight > 1000 ? -1 : weight;
}

/* One element: its name in front of ";", and q. -1: it has other parameters, or a wrong weight. */
static int fresh_weighted_read(fresh_weighted *to, const char *item, size_t len)
{
    const char *end = item + len, *semi = memchr(item, ';', len), *p = semi;

    to->name = (fresh_name){item, semi ? (size_t)(semi - item) : len};
    while (to->name.len && (item[to->name.len - 1] == ' ' || item[to->name.len - 1] == '\t'))
        to->name.len--;
    to->weight = 1000;
    if (!semi)
        return 0;
    for (p++; p < end && (*p == ' ' || *p == '\t');)
        p++;
    if (end - p < 3 || (*p != 'q' && *p != 'Q') || p[1] != '=')
        return -1;
    to->weight = fresh_weight(p + 2, end);
    return to->weight < 0 ? -1 : 0;
}

static int fresh_weighted_compare(const void *a, const void *b)
{
    const fresh_weighted *x = a, *y = b;

    return x->weight != y->weight ? y->weight - x->weight : fresh_name_compare(&x->name, &y->name);
}

static int fresh_weighted_list(fresh_weighted *list, const fresh_head *request, const char *name,
                               size_t len)
{
    int n = 0;

    for (uint32_t i = 0; i < request->n; i++) {
        const http_field *f = request->field + i;
        const char *p = f->value, *item;
        size_t item_len;

        if (!fresh_name_is(f->name, f->name_len, name, len))
            continue;
        while (http_list_next(&p, f->value + f->value_len, &item, &item_len))
            if (n == FRESH_WEIGHTED_MOST || fresh_weighted_read(list + n++, item, item_len))
                return -1;
    }
    return n;
}

/* @return 1; 0: the value has another form, and is compared as it is */
static int fresh_variant_weighted(fresh_text *key, const char *name, size_t len,
                                  const fresh_head *request)
{
    fresh_weighted list[FRESH_WEIGHTED_MOST];
    const int n = fresh_weighted_list(list, request, name, len);

    if (n < 0)
        return 0;
    BRG_ASSERT(n <= FRESH_WEIGHTED_MOST);
    qsort(list, (size_t)n, sizeof *list, fresh_weighted_compare);
    for (int i = 0; i < n; i++) {
        const char weight[6] = {';',
                                (char)('0' + list[i].weight / 1000),
                                (char)('0' + list[i].weight / 100 % 10),
                                (char)('0' + list[i].weight / 10 % 10),
                                (char)('0' + list[i].weight % 10),
                                ','};

        fresh_text_lower(key, list[i].name.at, list[i].name.len);
        if (list[i].weight == 1000)
            FRESH_TEXT_ADD(key, ",");
        else
            fresh_text_add(key, weight, sizeof weight);
    }
    return 1;
}

/* ---- all others */

static int fresh_is_no_list(const char *name, size_t len)
{
    return fresh_name_is(name, len, "cookie", 6) || fresh_name_is(name, len, "user-agent", 10) ||
           fresh_name_is(name, len, "referer", 7) || fresh_name_is(name, len, "authorization", 13);
}

static int fresh_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Leave out blanks beside commas, unless between quotes. */
static void fresh_variant_list(fresh_text *key, const char *p, const char *end)
{
    int quoted = 0;

    for (; p < end; p++) {
        const char *next = p;

        if (*p == '"' && (quoted < 2))
            quoted = !quoted;
        while (!quoted && next < end && fresh_is_blank(*next))
            next++;
        if (next > p && (next == end || *next == ','))
            p = next;
        if (p == end)
            break;
        fresh_text_add(key, p, 1);
        while (!quoted && *p == ',' && p + 1 < end && fresh_is_blank(p[1]))
            p++;
    }
}

static void fresh_variant_value(fresh_text *key, const http_field *f)
{
    const char *p = f->value, *end = p + f->value_len;

    while (p < end && fresh_is_blank(*p))
        p++;
    while (end > p && fresh_is_blank(end[-1]))
        end--;
    if (fresh_is_no_list(f->name, f->name_len))
        fresh_text_add(key, p, (size_t)(end - p));
    else
        fresh_variant_list(key, p, end);
}

const char *fresh_php_cookie(const char *part, size_t len, const char *name, size_t name_len)
{
    if (len <= name_len)
        return NULL;
    for (size_t i = 0; i < name_len; i++) {
        const char c = part[i] == '.' || part[i] == ' ' || part[i] == '[' ? '_' : part[i];

        if (c != name[i] && part[i] != name[i])
            return NULL;
    }
    return part[name_len] == '=' || part[name_len] == '[' ? part + name_len : NULL;
}

/* "cookie=NAME", which is the name of no field: the value of a cookie, as PHP reads it: parts end at semicolons alone, and the first of a
 * name counts. A client whose cookies were read another way could have the page of one value kept under another. */
static void fresh_variant_cookie(fresh_text *key, const char *name, size_t len,
                                 const fresh_head *request)
{
    const http_field *f = fresh_find(request, "cookie", 6);
    const char *p = f ? f->value : "", *end = f ? p + f->value_len : p;

    while (p < end) {
        const char *stop = memchr(p, ';', (size_t)(end - p)), *rest;

        if (!stop)
            stop = end;
        while (p < stop && fresh_is_blank(*p))
            p++;
        if ((rest = fresh_php_cookie(p, (size_t)(stop - p), name, len)) != NULL) {
            fresh_text_add(key, rest, (size_t)(stop - rest));
            break;
        }
        p = stop + (stop < end);
    }
    FRESH_TEXT_ADD(key, "\n");
}

static void fresh_variant_field(fresh_text *key, const char *name, size_t len,
                                const fresh_head *request)
{
    int lines = 0;

    fresh_text_add(key, name, len);
    if (len > 7 && !memcmp(name, "cookie=", 7)) {
        fresh_variant_cookie(key, name + 7, len - 7, request);
        return;
    }
    if (fresh_find(request, name, len))
        FRESH_TEXT_ADD(key, ":"); /* an empty field is not an absent one */
    if ((fresh_name_is(name, len, "accept-encoding", 15) ||
         fresh_name_is(name, len, "accept-language", 15)) &&
        fresh_variant_weighted(key, name, len, request)) {
        FRESH_TEXT_ADD(key, "\n");
        return;
    }
    for (uint32_t i = 0; i < request->n; i++) {
        if (!fresh_name_is(request->field[i].name, request->field[i].name_len, name, len))
            continue;
        if (lines++)
            FRESH_TEXT_ADD(key, ",");
        fresh_variant_value(key, request->field + i);
    }
    FRESH_TEXT_ADD(key, "\n");
}

void fresh_variant(fresh_text *key, const char *names, size_t names_len, const fresh_head *request)
{
    const char *p = names, *name;
    size_t len;

    while (http_list_next(&p, names + names_len, &name, &len))
        fresh_variant_field(key, name, len, request);
}
