/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CacheNoVarySearch: a backend's No-Vary-Search holds for the path. It is kept as a rule beside the
 * answers, by a key of its own behind a blank, and makes the keys of all requests for the path. The
 * first answer that has a rule is stored where the rule does not change its own key.
 */
#include "cached_named_private.h"
#include "cached_save_private.h"
#include "fresh_search.h"
#include "fresh_vary.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "apr_strings.h"
#include <string.h>

#define SEARCH_RULE_MOST 1024

static uint32_t search_path_len(const cached_request *q, const char *text)
{
    const char *query = memchr(text, '?', q->key.target_len);

    return query ? (uint32_t)(query - text) : q->key.target_len;
}

static const char *search_rule_text(const cached_request *q, uint32_t *len)
{
    const char *text = apr_pstrcat(
        q->r->pool, apr_pstrmemdup(q->r->pool, q->key.text, search_path_len(q, q->key.text)),
        " SEARCH", NULL);

    *len = (uint32_t)strlen(text);
    return text;
}

/* "path?query" with the counting part of the query. */
static const char *search_apply(apr_pool_t *p, const fresh_search *search, const char *target)
{
    const char *query = ap_strchr_c(target, '?'), *from = query ? query + 1 : "";
    char *out = apr_palloc(p, strlen(from) + 1), *to = out;

    if (!query)
        return target;
    while (*from) {
        const size_t len = strcspn(from, "&"), name = strcspn(from, "&=");

        if (len && fresh_search_counts(search, from, name)) {
            if (to > out)
                *to++ = '&';
            memcpy(to, from, len);
            to += len;
        }
        from += len + (from[len] == '&');
    }
    *to = '\0';
    target = apr_pstrmemdup(p, target, (apr_size_t)(query - target));
    if (to == out)
        return target;
    return apr_pstrcat(p, target, "?", search->key_order ? cached_query_sorted(p, out) : out, NULL);
}

void cached_search_find(cached_request *q)
{
    uint32_t len;
    const char *text = search_rule_text(q, &len);
    const store_key key = store_key_of(cached_store(), text, len, NULL, 0);
    cached_place *place = cached_place_here();
    fresh_search search;
    store_found found;

    q->key.unsearched = q->key.text = apr_pstrmemdup(q->r->pool, q->key.text, q->key.text_len);
    if (!place || !store_find(cached_reader(place), &key, brg_now(), &found) || !found.view.reader)
        return;
    if (found.view.vary && found.view.head_len <= SEARCH_RULE_MOST)
        q->key.search = apr_pstrmemdup(q->r->pool, found.view.head, found.view.head_len);
    store_release(&found.view);
    if (!q->key.search || !fresh_search_read(&search, q->key.search, strlen(q->key.search)))
        return;
    q->key.text = search_apply(q->r->pool, &search, q->key.text);
    q->key.text_len = q->key.target_len = (uint32_t)strlen(q->key.text);
}

/* @return 1: it is stored */
static int search_store(cached_request *q, const char *rule)
{
    static const char none[STORE_TERMS];
    uint32_t len;
    const char *text = search_rule_text(q, &len);
    const store_head head = {.key = store_key_of(cached_store(), text, len, NULL, 0),
                             .text = text,
                             .text_len = len,
                             .terms = none,
                             .head = rule,
                             .head_len = (uint32_t)strlen(rule),
                             .vary = 1,
                             .length = 0,
                             .epoch = q->ask.epoch};

    return cached_save_rule(q, &head);
}

/* All lines of the field, as one value. */
static const char *search_said(const cached_request *q, const fresh_head *head)
{
    const char *said = NULL;

    for (uint32_t i = 0; i < head->n; i++)
        if (FRESH_FIND(&((fresh_head){.field = head->field + i, .n = 1}), "no-vary-search"))
            said = said ? apr_pstrcat(q->r->pool, said, ",", head->field[i].value, NULL)
                        : head->field[i].value;
    return said;
}

const char *cached_search_decide(cached_request *q, const fresh_head *head)
{
    const char *said = search_said(q, head), *text = q->key.unsearched;
    fresh_search search;
    uint32_t len;

    if (!q->key.unsearched || q->r->status >= HTTP_BAD_REQUEST)
        return NULL;
    if (said &&
        (strlen(said) > SEARCH_RULE_MOST || !fresh_search_read(&search, said, strlen(said))))
        said = NULL;
    if (said && q->key.search && !strcmp(said, q->key.search))
        return NULL;
    if (said)
        text = search_apply(q->r->pool, &search, text);
    if (!said && q->key.search) {
        const char *rule = search_rule_text(q, &len);

        cached_purge(rule, len);
    } else if (said && !search_store(q, said)) {
        return "what No-Vary-Search says could not be kept";
    }
    return strcmp(text, q->key.text) != 0 ? "No-Vary-Search gives it another key from now on"
                                          : NULL;
}
