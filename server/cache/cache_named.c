/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for requests that have no field whose name matches an expression (BRG_CACHE_VARY_NAMES), or whose query does not
 * (BRG_CACHE_VARY_QUERY). Browsers send the same few names again and again: of each expression it is known which of them it does not match. */
#include "cache_vary_private.h"
#include "ap_regex.h"
#include "brigade/field_names.h"
#include <string.h>

#define NAMED_SEEN 32      /* names that did not match, by a hash; a power of 2 */
#define NAMED_NAME_MOST 31 /* bytes of such a name */

typedef enum named_known { NAMED_UNKNOWN, NAMED_DIFFERS, NAMED_MATCHES } named_known;

struct cache_named {
    cache_named *next;
    cache_named **at; /* where the list has it */
    unsigned users;   /* keys of entries */
    ap_regex_t regex;
    int of_query;
    uint8_t by_id[HTTP_FIELD_IDS]; /* named_known; of a query the first is that of no query */
    struct {
        uint8_t len;
        char name[NAMED_NAME_MOST];
    } seen[NAMED_SEEN];
    char text[]; /* as brg_cache_vary() was given it */
};

static int named_is_query(const char *text)
{
    return !strncmp(text, BRG_CACHE_VARY_QUERY, sizeof BRG_CACHE_VARY_QUERY - 1);
}

int cache_named_is(const char *text)
{
    return !strncmp(text, BRG_CACHE_VARY_NAMES, sizeof BRG_CACHE_VARY_NAMES - 1) ||
           named_is_query(text);
}

static int named_compile(cache_named *n, const char *text)
{
    const char *query = text + sizeof BRG_CACHE_VARY_QUERY - 1;

    n->of_query = named_is_query(text);
    if (n->of_query)
        return ap_regcomp(&n->regex, query + 2,
                          AP_REG_EXTENDED | (*query == 'i' ? AP_REG_ICASE : 0));
    return ap_regcomp(&n->regex, text + sizeof BRG_CACHE_VARY_NAMES - 1,
                      AP_REG_EXTENDED | AP_REG_NOSUB | AP_REG_ICASE);
}

cache_named *cache_named_take(response_cache *c, const char *text)
{
    const size_t len = strlen(text) + 1;
    cache_named *n;

    for (n = c->named; n; n = n->next)
        if (!strcmp(n->text, text)) {
            n->users++;
            return n;
        }
    if (!(n = cache_new(sizeof *n + len)))
        return NULL;
    if (named_compile(n, text)) {
        free(n);
        return NULL;
    }
    memcpy(n->text, text, len);
    n->users = 1;
    n->next = c->named;
    n->at = &c->named;
    if (n->next)
        n->next->at = &n->next;
    c->named = n;
    return n;
}

void cache_named_release(cache_named *n)
{
    BRG_ASSERT(n->users > 0 && *n->at == n);
    if (--n->users)
        return;
    *n->at = n->next;
    if (n->next)
        n->next->at = n->at;
    ap_regfree(&n->regex);
    free(n);
}

size_t cache_named_bytes(const cache_named *n)
{
    return cache_block(sizeof *n + strlen(n->text) + 1);
}

/* What cannot be told matches: such a request takes the full way. */
static int named_matches(const cache_named *n, const char *name, size_t len)
{
    return ap_regexec_len(&n->regex, name, len, 0, NULL, 0) != AP_REG_NOMATCH;
}

static int named_matches_known(cache_named *n, int id, const char *name, size_t len)
{
    if (n->by_id[id] == NAMED_UNKNOWN)
        n->by_id[id] = named_matches(n, name, len) ? NAMED_MATCHES : NAMED_DIFFERS;
    return n->by_id[id] == NAMED_MATCHES;
}

static int named_matches_other(cache_named *n, const char *name, size_t len)
{
    const unsigned place =
        (unsigned)(len * 5 + (unsigned char)name[len / 2] * 3 + (unsigned char)name[len - 1]) &
        (NAMED_SEEN - 1);

    BRG_ASSERT_DEBUG(len > 0);
    if (n->seen[place].len == len && !memcmp(n->seen[place].name, name, len))
        return 0;
    if (named_matches(n, name, len))
        return 1;
    if (len <= NAMED_NAME_MOST) {
        n->seen[place].len = (uint8_t)len;
        memcpy(n->seen[place].name, name, len);
    }
    return 0;
}

static int named_absent_in_query(cache_named *n, const char *target, size_t len)
{
    const char *mark = memchr(target, '?', len);
    const size_t query = mark ? len - (size_t)(mark + 1 - target) : 0;

    return query ? !named_matches_other(n, mark + 1, query) : !named_matches_known(n, 0, "", 0);
}

static int named_absent_in_head(cache_named *n, const http_head *h)
{
    for (int i = 0; i < h->n_fields; i++) {
        const http_field *f = &h->field[i];

        if (f->id == HTTP_F_OTHER ? named_matches_other(n, f->name, f->name_len)
                                  : named_matches_known(n, f->id, f->name, f->name_len))
            return 0;
    }
    return 1;
}

static int named_absent_in_request(const cache_named *n, const request_rec *r)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_in);

    for (int i = 0; i < fields->nelts; i++) {
        const char *name = APR_ARRAY_IDX(fields, i, apr_table_entry_t).key;

        if (named_matches(n, name, strlen(name)))
            return 0;
    }
    return 1;
}

int cache_named_absent(cache_named *n, const cache_asked *asked)
{
    const http_head *h = asked->head;

    if (n->of_query)
        return h ? named_absent_in_query(n, h->uri, h->uri_len)
                 : named_absent_in_query(n, asked->r->unparsed_uri, strlen(asked->r->unparsed_uri));
    return h ? named_absent_in_head(n, h) : named_absent_in_request(n, asked->r);
}
