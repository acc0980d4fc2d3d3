/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for all that is not there below a folder, and for all below a prefix (cache_below_private.h). */
#include "cache_below_private.h"
#include "cache_names_private.h"
#include "cache_plan.h"
#include "connection.h"
#include "util_char.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <limits.h>
#include <string.h>

#define BELOW_KIND '~'
#define BELOW_KIND_QUERY '='
#define BELOW_KIND_PREFIX '^' /* whatever the query */
#define BELOW_FOLDERS_MOST 12 /* folders of a target that are looked up */

/* ---- targets ---- */

/* Of those beyond ASCII: in paths they mean nothing to a server, in rules and queries no more than a letter does. */
static int below_is_escape(const char *at, size_t len)
{
    return len >= 3 && util_is(at[1], UTIL_C_HEX) && util_is(at[2], UTIL_C_HEX) &&
           util_hex_value(at[1]) >= 8;
}

/* Its bytes stand in a target and in a path alike, but for escapes. */
static int below_is_plain(const char *uri, size_t len, int with_escapes)
{
    /* 2: not behind a slash */
    static const char plain[UCHAR_MAX + 1] = {
        ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1, ['-'] = 1,
        ['_'] = 1,         ['.'] = 2,         ['~'] = 1,         ['/'] = 2};

    for (size_t i = 0; i < len; i++) {
        const char kind = plain[(unsigned char)uri[i]];

        if (kind == 1)
            continue;
        if (kind == 2 ? i && uri[i - 1] == '/'
                      : !with_escapes || uri[i] != '%' || !below_is_escape(uri + i, len - i))
            return 0;
        i += kind ? 0 : 2;
    }
    return len && uri[0] == '/';
}

int cache_below_is_plain(const char *uri, size_t len)
{
    return below_is_plain(uri, len, 0);
}

static size_t below_path_len(const char *uri, size_t len)
{
    const char *query = memchr(uri, '?', len);

    return query ? (size_t)(query - uri) : len;
}

/* @param room  for the path, should it have escapes; CACHE_PLANNED_PATH bytes @return of no length: it is not plain */
static brg_text below_path(const char *uri, size_t len, char *room)
{
    const size_t path_len = below_path_len(uri, len);
    const char *from = memchr(uri, '%', path_len), *end = uri + path_len;
    char *to = room;

    if (!from)
        return (brg_text){uri, cache_below_is_plain(uri, path_len) ? path_len : 0};
    if (path_len >= CACHE_PLANNED_PATH || !below_is_plain(uri, path_len, 1))
        return (brg_text){uri, 0};
    for (from = uri; from < end; from++)
        if (*from != '%') {
            *to++ = *from;
        } else {
            *to++ = (char)(util_hex_value(from[1]) << 4 | util_hex_value(from[2]));
            from += 2;
        }
    return (brg_text){room, (size_t)(to - room)};
}

brg_text cache_plan_path(const http_head *h, char *room)
{
    return below_path(h->uri, h->uri_len, room);
}

/* That of a target with such a query, or without one; 0: it is one of which plans know nothing. */
static char below_kind(const char *uri, size_t path_len, size_t len)
{
    BRG_ASSERT(path_len <= len);
    if (path_len == len)
        return BELOW_KIND;
    for (size_t i = path_len + 1; i < len; i++)
        if (!apr_isalnum(uri[i]) && !strchr("-_.~/%&=+,:;@!*()[]|?$'", uri[i]))
            return 0;
    return path_len + 1 < len ? BELOW_KIND_QUERY : 0;
}

/* Its kind, if each request with a query has its own. */
static char below_kind_of(const request_rec *r)
{
    const size_t len = strlen(r->unparsed_uri);
    const char kind = below_kind(r->unparsed_uri, below_path_len(r->unparsed_uri, len), len);

    return kind != BELOW_KIND_QUERY ||
                   (request_offer_of(r)->plan->query_led && !policy_query_counts(r))
               ? kind
               : 0;
}

static int below_path_is_lost(const request_rec *r)
{
    return !r->prev && !r->main && r->finfo.filetype == APR_NOFILE && r->uri;
}

int cache_below_path_is_plain(const request_rec *r)
{
    return below_path_is_lost(r) &&
           strlen(r->uri) == below_path_len(r->unparsed_uri, strlen(r->unparsed_uri)) &&
           !strncmp(r->uri, r->unparsed_uri, strlen(r->uri)) &&
           cache_below_is_plain(r->uri, strlen(r->uri));
}

/* Another request of this server answers r, because of rules of a folder; r's own path leads to nothing. */
static int below_is_led(const request_rec *r)
{
    char room[CACHE_PLANNED_PATH];
    brg_text path;

    if (!r->next || (r->next->next && r->next->next->next) || r->status != HTTP_OK ||
        r->next->server != r->server || !below_path_is_lost(r))
        return 0;
    path = below_path(r->unparsed_uri, strlen(r->unparsed_uri), room);
    return path.len && path.len == strlen(r->uri) && !memcmp(path.at, r->uri, path.len);
}

/* What r->uri has behind the prefix of its plan. NULL: it is of none */
static const char *below_prefix(const request_rec *r)
{
    const size_t below = request_offer_of(r)->plan->below;

    BRG_ASSERT(below <= strlen(r->uri));
    return below ? r->uri + below : NULL;
}

const char *cache_below_name(const request_rec *r, const char **rest)
{
    const request_files *files = request_files_of(r);
    const char *slash = files && files->walked ? strrchr(files->walked, '/') : NULL;
    const size_t len = slash ? strlen(slash) : 0, uri_len = strlen(r->uri);
    const size_t behind = files && files->rest ? strlen(files->rest) : 0;
    const char *at;

    if (len < 2 || len + behind > uri_len)
        return NULL;
    at = r->uri + uri_len - behind - len;
    *rest = at + len;
    return !memcmp(at, slash, len) && (!behind || !strcmp(*rest, files->rest)) ? at + 1 : NULL;
}

/* Logs are shown the URL of each request. */
static int below_table_shows(const apr_table_t *table, const char *name, size_t len)
{
    const apr_array_header_t *rows = apr_table_elts(table);

    for (int i = 0; i < rows->nelts; i++) {
        const apr_table_entry_t *row = &APR_ARRAY_IDX(rows, i, apr_table_entry_t);

        if (!cache_name_is_url(row->key) && cache_name_shows(row->val, strlen(row->val), name, len))
            return 1;
    }
    return 0;
}

/* @param name  all of the path behind its prefix */
static size_t below_prefix_key(char *key, const char *uri, const char *name, const char *end)
{
    const char *slash = memrchr(name, '/', (size_t)(end - name)), *last = slash ? slash + 1 : name;

    return cache_name_key_below(key, uri, (size_t)(name - uri), last, (size_t)(end - last),
                                BELOW_KIND_PREFIX);
}

static const char *below_make_prefix(const request_rec *r, const char *name)
{
    const size_t len = strlen(name);
    char key[CACHE_NAME_PATH_MOST];

    return !r->next && cache_below_path_is_plain(r) && !policy_query_counts(r) &&
                   below_kind(r->unparsed_uri, strlen(r->uri), strlen(r->unparsed_uri)) &&
                   below_prefix_key(key, r->uri, name, name + len) &&
                   (request_offer_of(r)->plan->sends_env ||
                    !below_table_shows(r->subprocess_env, name, len)) &&
                   !below_table_shows(r->notes, name, len) && cache_name_is_told_prefix(r)
               ? apr_pstrdup(r->pool, key)
               : NULL;
}

static int below_ends(const char *uri, const char *name)
{
    const size_t all = strlen(uri), len = strlen(name);

    return all >= len && !memcmp(uri + all - len, name, len);
}

/* Of a path that is not there, by which rules lead to something that is the same for all; or to the same names in another folder, where they are
 * not there either. NULL: neither */
static cache_names *below_names(const request_rec *r, const char *name, const char *rest)
{
    const request_rec *to = r->next;
    cache_names *names = cache_names_make_below(r, name, rest);
    const char *then = NULL;

    if (names && to->next && below_ends(to->uri, name) && to->finfo.filetype == APR_NOFILE &&
        to->status == HTTP_OK && to->next->server == r->server &&
        (then = cache_below_name(to, &rest)) != NULL && !strcmp(then, name))
        names->then = cache_names_make_below(to, then, rest);
    if (names &&
        (to->next ? names->then && !below_ends(to->next->uri, name) : !below_ends(to->uri, name)))
        return names;
    if (names)
        cache_names_end(names);
    return NULL;
}

static int below_lack(const cache_names *names, const char *name, size_t len)
{
    while (names && cache_names_lack(names, name, len))
        names = names->then;
    return !names;
}

static const char *below_make(const request_rec *r)
{
    char key[CACHE_NAME_PATH_MOST];
    const char *name = below_prefix(r), *rest;
    cache_names *names;
    int lacks;
    char kind;

    if (name)
        return below_make_prefix(r, name);
    if (!below_is_led(r) || !(kind = below_kind_of(r)) || !(name = cache_below_name(r, &rest)) ||
        !cache_name_key(key, r->uri, name, (size_t)(rest - name), kind) ||
        !cache_name_is_told_below(r, rest) || !(names = below_names(r, name, rest)))
        return NULL;
    lacks = below_lack(names, name, (size_t)(rest - name));
    cache_names_end(names);
    return lacks ? apr_pstrdup(r->pool, key) : NULL;
}

void cache_below_is_left(const request_rec *r)
{
    request_offer *offer = request_offer_of(r);

    BRG_ASSERT(offer && offer->plan);
    offer->absent = NULL;
    if (offer->plan->query_led)
        request_query_counts(r);
}

const char *cache_below_target(const request_rec *r)
{
    request_offer *offer = request_offer_of(r);

    BRG_ASSERT(offer && offer->plan);
    if (!offer->absent_asked) {
        offer->absent_asked = 1;
        offer->absent = below_make(r);
        if (!offer->absent)
            cache_below_is_left(r);
    }
    return offer->absent;
}

size_t cache_below_at(const request_rec *r)
{
    const char *rest, *name = below_prefix(r);

    if (!name)
        name = cache_below_name(r, &rest);
    BRG_ASSERT(name && name > r->uri);
    return (size_t)(name - r->uri);
}

/* ---- an entry ---- */

/* The environment that logs see is what was sent. */
static int below_log_shows(const struct cache_observed *o, const char *name, size_t len)
{
    for (uint32_t i = o->env_n; i < cache_observed_pairs(o); i++)
        if (o->pair[i].value &&
            cache_name_shows(o->pair[i].value, strlen(o->pair[i].value), name, len))
            return 1;
    return 0;
}

/* The kept name of the file, which is the URL of a backend, ends with the path from now on. @return 0: it does not */
static int below_file_ends(const struct cache_observed *o, const char *name, size_t len)
{
    char *file = (char *)(uintptr_t)o->filename;
    const size_t all = file ? strcspn(file, "?") : 0;

    if (!file)
        return 1;
    file[all] = '\0';
    return all >= len && !memcmp(file + all - len, name, len);
}

/* As cache_below_take(). */
static int below_take_prefix(response_cache *c, cache_entry *e, const request_rec *r,
                             const char *name)
{
    const size_t len = strlen(name);

    BRG_ASSERT(e->plan && !e->absent && e->log);
    if (below_log_shows(e->log, name, len) || !below_file_ends(e->log, name, len) ||
        !(e->absent = cache_names_make_prefix(r, name)))
        return -1;
    c->absent_n++;
    c->below_n++;
    c->prefix_n++;
    return 0;
}

int cache_below_take(response_cache *c, cache_entry *e, const request_rec *r)
{
    const char *rest, *name = below_prefix(r);

    if (name)
        return below_take_prefix(c, e, r, name);
    name = cache_below_name(r, &rest);
    BRG_ASSERT(e->plan && !e->absent && name);
    if ((e->log && below_log_shows(e->log, name, (size_t)(rest - name))) ||
        !(e->absent = below_names(r, name, rest)))
        return -1;
    c->absent_n++;
    c->below_n++;
    BRG_ASSERT(c->below_n <= c->absent_n && e->absent->below);
    return 0;
}

static int below_holds(const cache_entry *e, const char *name, const char *end)
{
    const char *slash = memchr(name, '/', (size_t)(end - name));
    const size_t len = (size_t)((slash ? slash : end) - name);

    BRG_ASSERT(name <= end && name[-1] == '/');
    if (!e->plan || !e->absent || !e->absent->below || !below_lack(e->absent, name, len))
        return 0;
    for (const cache_names *names = e->absent; names; names = names->then)
        if (!cache_names_below_alike(names, e->server, name, len, (size_t)(end - name) - len))
            return 0;
    return 1;
}

/* How often it was asked for, whatever the query, this time included. */
static unsigned below_count(response_cache *c, const cache_place *at, const char *host,
                            size_t host_len, const char *uri, size_t path_len)
{
    admission_sample(&c->admission, c->entries_n);
    return admission_count(&c->admission, cache_hash(at, host, host_len, uri, path_len));
}

int cache_below_is_frequent(response_cache *c, const request_rec *r)
{
    const cache_place at = cache_place_of(connection_of(r->connection));
    const char *host = apr_table_get(r->headers_in, "Host");

    return below_prefix(r) && cache_below_target(r) &&
           below_count(c, &at, host, strlen(host), r->uri, strlen(r->uri)) > 1;
}

static int below_holds_prefix(const cache_entry *e, const char *name, const char *end)
{
    return e->plan && e->absent && cache_names_of_prefix(e->absent) &&
           cache_names_decide_alike(e->absent, e->server, name, (size_t)(end - name), 0);
}

int cache_below_is_for(const cache_entry *e, const request_rec *r)
{
    const char *rest, *name = below_prefix(r);

    if (name)
        return below_holds_prefix(e, name, name + strlen(name));
    name = cache_below_name(r, &rest);
    BRG_ASSERT(e->plan && name);
    return below_holds(e, name, r->uri + strlen(r->uri));
}

/* A target that is looked up. */
typedef struct below_asked {
    const cache_place *at;
    const http_head *head;
    const cache_asked *asked;
    const char *path, *end;
    char kind;
} below_asked;

/* @param len  of key; 0: it would be too long */
static cache_entry *below_entry(response_cache *c, const below_asked *b, const char *key,
                                size_t len)
{
    const http_field *host = &b->head->field[b->head->known[HTTP_F_HOST]];
    uint64_t hash;

    return len ? cache_find(c, b->at, host->value, host->value_len, key, len, b->asked, &hash)
               : NULL;
}

static cache_entry *below_of_folder(response_cache *c, const below_asked *b, const char *name)
{
    const char *slash = memchr(name, '/', (size_t)(b->end - name));
    char key[CACHE_NAME_PATH_MOST];
    const size_t len =
        cache_name_key(key, b->path, name, (size_t)((slash ? slash : b->end) - name), b->kind);
    cache_entry *e = below_entry(c, b, key, len);

    BRG_ASSERT(name > b->path && name < b->end && len < CACHE_NAME_PATH_MOST);
    return e && below_holds(e, name, b->end) ? e : NULL;
}

/* A target that is asked for again and again is found at once where it has a plan of its own, which it gets the full way: as far as there
 * is room, so this is tried now and then. */
static int below_is_to_have_own(response_cache *c, const below_asked *b)
{
    const http_head *h = b->head;
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    const unsigned n =
        below_count(c, b->at, host->value, host->value_len, h->uri, (size_t)(b->end - h->uri));

    return n == 2 || n == ADMISSION_COUNT_MOST / 2;
}

static cache_entry *below_of_prefix(response_cache *c, const below_asked *b, const char *name)
{
    char key[CACHE_NAME_PATH_MOST];
    cache_entry *e = below_entry(c, b, key, below_prefix_key(key, b->head->uri, name, b->end));

    return e && below_holds_prefix(e, name, b->end) && !below_is_to_have_own(c, b) ? e : NULL;
}

static cache_entry *below_of(response_cache *c, const below_asked *b, const char *name)
{
    cache_entry *e = c->prefix_n && b->path == b->head->uri ? below_of_prefix(c, b, name) : NULL;

    return !e && c->below_n > c->prefix_n ? below_of_folder(c, b, name) : e;
}

cache_entry *cache_below_find(response_cache *c, const cache_place *at, const http_head *h,
                              const cache_asked *asked)
{
    char room[CACHE_PLANNED_PATH];
    const brg_text path = cache_plan_path(h, room);
    const below_asked b = {.at = at,
                           .head = h,
                           .asked = asked,
                           .path = path.at,
                           .end = path.at + path.len,
                           .kind =
                               below_kind(h->uri, below_path_len(h->uri, h->uri_len), h->uri_len)};
    const char *slash = path.at;
    cache_entry *e = NULL;

    if (!b.kind || !path.len)
        return NULL;
    for (int i = 0; !e && slash && slash + 1 < b.end && i < BELOW_FOLDERS_MOST; i++) {
        e = below_of(c, &b, slash + 1);
        slash = memchr(slash + 1, '/', (size_t)(b.end - slash) - 1);
    }
    return e;
}
