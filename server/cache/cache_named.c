/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for requests that have no field whose name matches an expression (BRG_CACHE_VARY_NAMES). Browsers send the
 * same few names again and again: of each expression it is known which of them it does not match. */
#include "cache_vary_private.h"
#include "ap_regex.h"
#include <string.h>

#define NAMED_SEEN 32      /* names that did not match, by a hash; a power of 2 */
#define NAMED_NAME_MOST 31 /* bytes of such a name */

typedef enum named_known { NAMED_UNKNOWN, NAMED_DIFFERS, NAMED_MATCHES } named_known;

struct cache_named {
    cache_named *next;
    cache_named **at; /* where the list has it */
    unsigned users;   /* keys of entries */
    ap_regex_t regex;
    uint8_t by_id[HTTP_FIELD_IDS]; /* named_known */
    struct {
        uint8_t len;
        char name[NAMED_NAME_MOST];
    } seen[NAMED_SEEN];
    char text[]; /* as brg_cache_vary() was given it */
};

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
    if (ap_regcomp(&n->regex, text + sizeof BRG_CACHE_VARY_NAMES - 1,
                   AP_REG_EXTENDED | AP_REG_NOSUB | AP_REG_ICASE)) {
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

static int named_matches_known(cache_named *n, const http_field *f)
{
    if (n->by_id[f->id] == NAMED_UNKNOWN)
        n->by_id[f->id] = named_matches(n, f->name, f->name_len) ? NAMED_MATCHES : NAMED_DIFFERS;
    return n->by_id[f->id] == NAMED_MATCHES;
}

static int named_matches_other(cache_named *n, const http_field *f)
{
    const size_t len = f->name_len;
    const unsigned place = (unsigned)(len * 5 + (unsigned char)f->name[len / 2] * 3 +
                                      (unsigned char)f->name[len - 1]) &
                           (NAMED_SEEN - 1);

    if (n->seen[place].len == len && !memcmp(n->seen[place].name, f->name, len))
        return 0;
    if (named_matches(n, f->name, len))
        return 1;
    if (len <= NAMED_NAME_MOST) {
        n->seen[place].len = (uint8_t)len;
        memcpy(n->seen[place].name, f->name, len);
    }
    return 0;
}

static int named_absent_in_head(cache_named *n, const http_head *h)
{
    for (int i = 0; i < h->n_fields; i++) {
        const http_field *f = &h->field[i];

        if (f->id == HTTP_F_OTHER ? named_matches_other(n, f) : named_matches_known(n, f))
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
    return asked->head ? named_absent_in_head(n, asked->head)
                       : named_absent_in_request(n, asked->r);
}
