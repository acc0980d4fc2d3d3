/* SPDX-License-Identifier: Apache-2.0 */
/* Cache-Control, Age and entity tags. */
#include "fresh_fields.h"
#include "brigade/assert.h"
#include "http_fields.h"
#include "http_scan.h"
#include "structured_field.h"

#include <string.h>
#include <strings.h>

int fresh_name_is(const char *name, size_t len, const char *lower, size_t lower_len)
{
    return len == lower_len && !strncasecmp(name, lower, len);
}

int fresh_span(const char *value, size_t len, uint32_t *seconds)
{
    uint64_t n = 0;

    if (!len)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (!http_is(value[i], HTTP_C_DIGIT))
            return -1;
        if (n < FRESH_SPAN_MOST)
            n = n * 10 + (uint64_t)(value[i] - '0');
    }
    BRG_ASSERT(n <= 10 * (uint64_t)FRESH_SPAN_MOST);
    *seconds = n > FRESH_SPAN_MOST ? FRESH_SPAN_MOST : (uint32_t)n;
    return 0;
}

int fresh_age_parse(const char *value, size_t len, uint32_t *seconds)
{
    const char *p = value, *item;
    size_t n;

    if (!http_list_next(&p, value + len, &item, &n))
        return -1;
    return fresh_span(item, n, seconds);
}

/* Which directive, and where its number goes: 0 for those without. */
typedef struct fresh_directive {
    const char *name;
    uint32_t flag;
    size_t number;
} fresh_directive;

#define FRESH_NUMBER(member) offsetof(fresh_cc, member)

static const fresh_directive fresh_directives[] = {
    {"max-age", FRESH_CC_MAX_AGE, FRESH_NUMBER(max_age)},
    {"s-maxage", FRESH_CC_S_MAXAGE, FRESH_NUMBER(s_maxage)},
    {"max-stale", FRESH_CC_MAX_STALE, FRESH_NUMBER(max_stale)},
    {"min-fresh", FRESH_CC_MIN_FRESH, FRESH_NUMBER(min_fresh)},
    {"stale-while-revalidate", FRESH_CC_SWR, FRESH_NUMBER(swr)},
    {"stale-if-error", FRESH_CC_SIE, FRESH_NUMBER(sie)},
    {"no-cache", FRESH_CC_NO_CACHE, 0},
    {"no-store", FRESH_CC_NO_STORE, 0},
    {"no-transform", FRESH_CC_NO_TRANSFORM, 0},
    {"private", FRESH_CC_PRIVATE, 0},
    {"public", FRESH_CC_PUBLIC, 0},
    {"must-revalidate", FRESH_CC_MUST_REVALIDATE, 0},
    {"proxy-revalidate", FRESH_CC_PROXY_REVALIDATE, 0},
    {"must-understand", FRESH_CC_MUST_UNDERSTAND, 0},
    {"immutable", FRESH_CC_IMMUTABLE, 0},
    {"only-if-cached", FRESH_CC_ONLY_IF_CACHED, 0},
};

static const fresh_directive *fresh_directive_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof fresh_directives / sizeof *fresh_directives; i++)
        if (fresh_name_is(name, len, fresh_directives[i].name, strlen(fresh_directives[i].name)))
            return fresh_directives + i;
    return NULL;
}

static void fresh_cc_number(fresh_cc *cc, const fresh_directive *d, uint32_t seconds)
{
    uint32_t *to = (uint32_t *)(void *)((char *)cc + d->number);

    BRG_ASSERT_DEBUG(d->number);
    if (!(cc->has & d->flag) || seconds < *to)
        *to = seconds;
    cc->has |= d->flag;
}

/* A value behind a quote ends with the next quote without a backslash in front. */
static const char *fresh_quoted_end(const char *p, const char *end)
{
    for (; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p;
}

int fresh_cc_next(const char **p, const char *end, const char **name, size_t *name_len,
                  const char **arg, size_t *arg_len, int *quoted)
{
    const char *at = *p;

    while (at < end && (*at == ',' || *at == ' ' || *at == '\t'))
        at++;
    if (at == end)
        return 0;
    *name = at;
    while (at < end && *at != ',' && *at != '=')
        at++;
    *name_len = (size_t)(at - *name);
    *arg = NULL;
    *arg_len = 0;
    *quoted = 0;
    if (at < end && *at == '=') {
        *arg = ++at;
        if (at < end && *at == '"') {
            *arg = ++at;
            at = fresh_quoted_end(at, end);
            *quoted = at < end; /* without its end it is no argument that counts */
            *arg_len = (size_t)(at - *arg);
        }
        while (at < end && *at != ',')
            at++;
        if (!*quoted)
            *arg_len = (size_t)(at - *arg);
    }
    while (!*arg && *name_len && ((*name)[*name_len - 1] == ' ' || (*name)[*name_len - 1] == '\t'))
        --*name_len;
    while (!*quoted && *arg_len && ((*arg)[*arg_len - 1] == ' ' || (*arg)[*arg_len - 1] == '\t'))
        --*arg_len;
    BRG_ASSERT(at <= end && at > *p);
    *p = at;
    return 1;
}

static void fresh_cc_one(fresh_cc *cc, const fresh_directive *d, const char *arg, size_t len)
{
    uint32_t seconds;

    if (d->number) {
        if (arg && !fresh_span(arg, len, &seconds))
            fresh_cc_number(cc, d, seconds);
        else if (d->flag == FRESH_CC_MAX_STALE && !arg)
            fresh_cc_number(cc, d, FRESH_SPAN_MOST);
        else if (d->flag & (FRESH_CC_MAX_AGE | FRESH_CC_S_MAXAGE))
            cc->has |= FRESH_CC_WRONG;
    } else if (arg && len && d->flag == FRESH_CC_NO_CACHE) {
        cc->has |= FRESH_CC_NO_CACHE_FIELDS;
    } else if (arg && len && d->flag == FRESH_CC_PRIVATE) {
        cc->has |= FRESH_CC_PRIVATE_FIELDS;
    } else {
        cc->has |= d->flag;
    }
}

void fresh_cc_add(fresh_cc *cc, const char *value, size_t len)
{
    const char *p = value, *end = value + len, *name, *arg;
    size_t name_len, arg_len;
    int quoted;

    BRG_ASSERT(value || !len);
    cc->has |= FRESH_CC_PRESENT;
    while (fresh_cc_next(&p, end, &name, &name_len, &arg, &arg_len, &quoted)) {
        const fresh_directive *d = fresh_directive_of(name, name_len);

        if (d)
            fresh_cc_one(cc, d, arg, arg_len);
    }
}

static int fresh_sf_member(fresh_cc *cc, const char *key, size_t len, const sf_item *item)
{
    const fresh_directive *d = fresh_directive_of(key, len);

    if (!d)
        return 0;
    if (!d->number) {
        if (item->type == SF_BOOLEAN && item->number)
            cc->has |= d->flag;
        else if (item->type == SF_STRING && d->flag == FRESH_CC_NO_CACHE)
            cc->has |= FRESH_CC_NO_CACHE_FIELDS;
        else if (item->type == SF_STRING && d->flag == FRESH_CC_PRIVATE)
            cc->has |= FRESH_CC_PRIVATE_FIELDS;
        return 0;
    }
    if (item->type != SF_INTEGER || item->number < 0)
        return -1;       /* a directive of another type: RFC 9213, 2.1 */
    cc->has &= ~d->flag; /* the last one counts */
    fresh_cc_number(cc, d,
                    item->number > FRESH_SPAN_MOST ? FRESH_SPAN_MOST : (uint32_t)item->number);
    return 0;
}

int fresh_cc_targeted(fresh_cc *cc, const char *value, size_t len)
{
    fresh_cc read = {FRESH_CC_PRESENT, 0, 0, 0, 0, 0, 0};
    const char *key;
    size_t key_len;
    sf_cursor at;
    sf_item item;
    int more, some = 0, wrong = 0;

    sf_begin(&at, value, len);
    while ((more = sf_dictionary_next(&at, &key, &key_len, &item)) > 0) {
        some = 1;
        wrong |= fresh_sf_member(&read, key, key_len, &item);
    }
    if (more < 0 || !some || wrong)
        return 0;
    *cc = read;
    return 1;
}

int fresh_etag_next(const char **p, const char *end, fresh_etag *tag)
{
    const char *at = *p, *begin;

    while (at < end && (*at == ',' || *at == ' ' || *at == '\t'))
        at++;
    if (at == end)
        return 0;
    *tag = (fresh_etag){0};
    if (end - at > 2 && (*at == 'W' || *at == 'w') && at[1] == '/' && at[2] == '"') {
        tag->weak = 1;
        at += 2;
    }
    if (*at == '"') {
        begin = ++at;
        while (at < end && *at != '"')
            at++;
        tag->quoted = at < end;
        tag->len = (uint32_t)(at - begin);
        at += at < end;
    } else {
        begin = at;
        while (at < end && *at != ',')
            at++;
        for (tag->len = (uint32_t)(at - begin);
             tag->len && (begin[tag->len - 1] == ' ' || begin[tag->len - 1] == '\t');)
            tag->len--;
    }
    BRG_ASSERT(at <= end && at > *p);
    tag->opaque = begin;
    *p = at;
    return 1;
}

int fresh_etag_same(const fresh_etag *a, const fresh_etag *b, int strong)
{
    return (!strong || (!a->weak && !b->weak)) && a->len == b->len &&
           !memcmp(a->opaque, b->opaque, a->len);
}
