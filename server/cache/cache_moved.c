/* SPDX-License-Identifier: Apache-2.0 */
/* Redirects whose Location ends with a name (cache_moved_private.h). */
#include "cache_moved_private.h"
#include "cache_below_private.h"
#include "cache_loan_private.h"
#include "cache_names_private.h"
#include "cache_route.h"
#include "connection.h"
#include "http_text.h"
#include "httpd.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int cache_moved_is(const request_rec *r)
{
    switch (r->status) {
    case HTTP_MOVED_PERMANENTLY:
    case HTTP_MOVED_TEMPORARILY:
    case HTTP_SEE_OTHER:
    case HTTP_TEMPORARY_REDIRECT:
    case HTTP_PERMANENT_REDIRECT:
        return 1;
    default:
        return 0;
    }
}

/* ---- where the name is ---- */

/* -1: there is none, or several. */
static int moved_location(const http_answer *a)
{
    int at = -1;

    for (int i = 0; i < a->n_fields; i++)
        if (!strcasecmp(a->field[i].name, "Location")) {
            if (at >= 0)
                return -1;
            at = i;
        }
    return at;
}

/* At the end of a value that pages show as it is, but for the "&" of queries, behind a slash, and nowhere else in it. @param name_len  without
 * a query */
static int moved_ends_with(const http_answer_field *f, const char *name, size_t len,
                           size_t name_len)
{
    const size_t before = f->value_len - len;

    return f->value_len > len && !memcmp(f->value + before, name, len) &&
           f->value[before - 1] == '/' && !strpbrk(f->value, "<>\"'") &&
           !memchr(f->value, '&', before) && !cache_name_shows(f->value, before, name, name_len);
}

static int moved_others_show(http_answer *a, int location, const char *name, size_t len)
{
    const http_answer_field f = a->field[location];
    int shown;

    a->field[location].value = "";
    shown = cache_name_head_shows(a, name, len);
    a->field[location] = f;
    return shown;
}

/* @param value  as pages show it
 * @return where it ends in the page; NULL: it is not there, or several times, or the name is shown elsewhere */
static const char *moved_in_page(const char *body, size_t len, const char *value, size_t value_len,
                                 const char *name, size_t name_len)
{
    const char *at = memmem(body, len, value, value_len), *end;

    if (!at)
        return NULL;
    end = at + value_len;
    return cache_name_shows(body, (size_t)(at - body), name, name_len) ||
                   cache_name_shows(end, len - (size_t)(end - body), name, name_len)
               ? NULL
               : end;
}

static char *moved_put(char *to, const char *text, size_t len)
{
    return (char *)mempcpy(to, text, len);
}

static char *moved_put_escaped(char *to, const char *text, size_t len)
{
    if (!memchr(text, '&', len))
        return moved_put(to, text, len);
    for (size_t i = 0; i < len; i++) {
        *to++ = text[i];
        if (text[i] == '&')
            to = moved_put(to, "amp;", strlen("amp;"));
    }
    return to;
}

/* Bytes of @a text in a page, where each "&" takes more. */
static size_t moved_escaped(const char *text, size_t len)
{
    const char *at = text, *end = text + len;

    while ((at = memchr(at, '&', (size_t)(end - at))) != NULL) {
        len += strlen("amp;");
        at++;
    }
    return len;
}

/* @param tail  that Location ends with @param name  what nothing else may show */
static int moved_take(cache_entry *e, const char *body, size_t len, const char *tail,
                      size_t name_len)
{
    http_answer *a = e->head.answer;
    const int at = moved_location(a);
    const size_t tail_len = strlen(tail), page_len = moved_escaped(tail, tail_len);
    const http_answer_field *f = &a->field[at < 0 ? 0 : at];
    char shown[2 * CACHE_NAME_PATH_MOST];
    const char *end;

    BRG_ASSERT(e->absent && e->absent->location_at < 0);
    if (at < 0 || a->length_at == HTTP_NO_FIELD || a->connection || a->added || a->date ||
        !e->body || !e->body->data || e->frame_before || (size_t)e->body->len != len ||
        !moved_ends_with(f, tail, tail_len, name_len) || moved_others_show(a, at, tail, name_len) ||
        f->value_len + page_len >= sizeof shown)
        return -1;
    memcpy(shown, f->value, f->value_len - tail_len);
    moved_put_escaped(shown + f->value_len - tail_len, tail, tail_len);
    if (!(end =
              moved_in_page(body, len, shown, f->value_len - tail_len + page_len, tail, name_len)))
        return -1;
    e->absent->location_at = at;
    e->absent->tail_len = tail_len;
    e->absent->page_len = page_len;
    e->absent->body_at = (size_t)(end - body) - page_len;
    return 0;
}

int cache_moved_take(cache_entry *e, const char *body, size_t len, const char *name,
                     size_t name_len)
{
    BRG_ASSERT(!name[name_len]);
    return moved_take(e, body, len, name, name_len);
}

/* ---- all below a prefix ---- */

#define MOVED_KIND '>'
#define MOVED_KIND_QUERY ')'
#define MOVED_FOLDERS_MOST 12 /* folders of a target that are looked up */

/* Such bytes stand in a query, and in that of a Location, alike. */
static int moved_query_is_plain(const char *query, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!apr_isalnum(query[i]) && !strchr("-_.~&=+,:;@!*()$/", query[i]))
            return 0;
    return len != 0;
}

/* 0: it is one of which nothing is known. */
static char moved_kind(const char *uri, size_t path_len, size_t len)
{
    BRG_ASSERT(path_len <= len);
    if (!cache_below_is_plain(uri, path_len))
        return 0;
    if (path_len == len)
        return MOVED_KIND;
    return moved_query_is_plain(uri + path_len + 1, len - path_len - 1) ? MOVED_KIND_QUERY : 0;
}

static size_t moved_path_len(const char *uri, size_t len)
{
    const char *query = memchr(uri, '?', len);

    return query ? (size_t)(query - uri) : len;
}

/* @param name  of the path that ends at @a end */
static size_t moved_key(char *key, const char *uri, const char *name, const char *end, char kind)
{
    const char *slash = memrchr(name, '/', (size_t)(end - name)), *last = slash ? slash + 1 : name;

    return cache_name_key_below(key, uri, (size_t)(name - uri), last, (size_t)(end - last), kind);
}

/* A rule of the server, before names were looked for. */
static int moved_is_ruled(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const size_t len = strlen(r->uri);

    return !r->prev && !r->main && offer->body && !offer->document && request_is_refused(r) &&
           r->finfo.filetype == APR_NOFILE && len < CACHE_NAME_PATH_MOST / 2 &&
           !strncmp(r->uri, r->unparsed_uri, len) &&
           (!r->unparsed_uri[len] || (r->unparsed_uri[len] == '?' && !policy_query_counts(r)));
}

/* Another rule's entry has that key. */
static int moved_is_taken(const request_rec *r, const char *key, size_t len, const char *name)
{
    response_cache *c = loop_self() ? cache_store_cache() : NULL;
    const cache_asked asked = {.r = r};
    const cache_place at = cache_place_of(connection_of(r->connection));
    const char *host = apr_table_get(r->headers_in, "Host");
    uint64_t hash;
    cache_entry *e =
        c && host ? cache_find(c, &at, host, strlen(host), key, len, &asked, &hash) : NULL;

    return e && e->filled &&
           (!e->absent || !cache_names_decide_alike(e->absent, e->server, name, strlen(name), 0));
}

/* The longest name with which Location ends, and which decides alone. */
const char *cache_moved_target(const request_rec *r)
{
    const char *location = apr_table_get(r->headers_out, "Location"),
               *end = r->uri + strlen(r->uri);
    const size_t target_len = strlen(r->unparsed_uri), len = location ? strlen(location) : 0;
    char key[CACHE_NAME_PATH_MOST], kind;
    const char *slash = r->uri;

    if (!location || !moved_is_ruled(r) ||
        !(kind = moved_kind(r->unparsed_uri, (size_t)(end - r->uri), target_len)))
        return NULL;
    for (int i = 0; slash && slash + 1 < end && i < MOVED_FOLDERS_MOST; i++) {
        const size_t at = (size_t)(slash + 1 - r->uri), tail = target_len - at;
        size_t key_len;

        if (len > tail && !strcmp(location + len - tail, r->unparsed_uri + at) &&
            location[len - tail - 1] == '/' && cache_name_is_told_moved(r, r->uri + at) &&
            (key_len = moved_key(key, r->uri, r->uri + at, end, kind)) != 0 &&
            !moved_is_taken(r, key, key_len, r->uri + at))
            return apr_pstrdup(r->pool, key);
        slash = strchr(slash + 1, '/');
    }
    return NULL;
}

int cache_moved_is_below(const char *absent)
{
    const char *blank = strchr(absent, ' ');

    BRG_ASSERT(blank != NULL);
    return blank[1] == MOVED_KIND || blank[1] == MOVED_KIND_QUERY;
}

static int moved_text_ends(const char *text, const char *tail)
{
    const size_t all = strlen(text), len = strlen(tail);

    return all > len && !strcmp(text + all - len, tail);
}

/* Its URL is of each request's own; in place of a file's name stands that, or the URL that it leads to. */
static int moved_log_shows(const struct cache_observed *o, const char *name, const char *tail)
{
    return o->messages_n || o->asked ||
           (o->filename && !moved_text_ends(o->filename, name) &&
            !moved_text_ends(o->filename, tail)) ||
           cache_name_log_shows(o, name, strlen(name), name, strlen(name));
}

int cache_moved_take_below(response_cache *c, cache_entry *e, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const size_t at = strcspn(offer->absent, " ");
    const char *name = r->uri + at, *tail = r->unparsed_uri + at;

    BRG_ASSERT(e->filled && !e->absent && cache_moved_is_below(offer->absent));
    if ((e->log && moved_log_shows(e->log, name, tail)) ||
        !(e->absent = cache_names_make_moved(r, name)))
        return -1;
    c->absent_n++;
    c->moved_n++;
    e->any_query = strlen(tail) != strlen(name);
    if (moved_take(e, offer->body, offer->len, tail, strlen(name)))
        return -1;
    cache_account(c, e);
    return 0;
}

cache_entry *cache_moved_find(response_cache *c, const cache_place *at, const http_head *h,
                              const cache_asked *asked)
{
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    const char *slash = h->uri, *end = h->uri + moved_path_len(h->uri, h->uri_len);
    const char kind = moved_kind(h->uri, (size_t)(end - h->uri), h->uri_len);
    char key[CACHE_NAME_PATH_MOST];

    for (int i = 0; kind && slash && slash + 1 < end && i < MOVED_FOLDERS_MOST; i++) {
        const char *name = slash + 1;
        const size_t len = moved_key(key, h->uri, name, end, kind);
        uint64_t hash;
        cache_entry *e =
            len ? cache_find(c, at, host->value, host->value_len, key, len, asked, &hash) : NULL;

        if (e && e->absent && e->absent->moved &&
            cache_names_decide_alike(e->absent, e->server, name, (size_t)(end - name), 0))
            return e;
        slash = memchr(name, '/', (size_t)(end - name));
    }
    return NULL;
}

/* ---- an answer ---- */

#define MOVED_LENGTH 24 /* bytes of a length as text */

/* @param to  room for the length, and for Location @return what is behind them */
static char *moved_head(cache_loan *loan, char *to, const char *name, size_t len)
{
    const cache_entry *like = loan->like;
    http_answer *a = loan->entry.head.answer;
    const http_answer *from = like->head.answer;
    http_answer_field *f = &a->field[like->absent->location_at];
    const size_t before = f->value_len - like->absent->tail_len;

    f->value = to;
    f->value_len = (uint32_t)(before + len);
    to = moved_put(to, from->field[like->absent->location_at].value, before);
    to = moved_put(to, name, len);
    *to++ = '\0';
    f = &a->field[a->length_at];
    f->value = to;
    f->value_len = (uint32_t)http_put_number(to, (apr_uint64_t)loan->body.len);
    to[f->value_len] = '\0';
    return to + MOVED_LENGTH;
}

static void moved_page(cache_loan *loan, char *to, const char *name, size_t len)
{
    const cache_body *page = loan->like->body;
    const cache_names *names = loan->like->absent;
    const size_t behind = names->body_at + names->page_len;

    loan->body.data = to;
    to = moved_put(to, page->data, names->body_at);
    to = moved_put_escaped(to, name, len);
    moved_put(to, page->data + behind, (size_t)page->len - behind);
}

/* Behind the head: Location, the length, and the page. */
static cache_loan *moved_make(cache_entry *like, const char *name, size_t len)
{
    const http_answer *from = like->head.answer;
    const cache_names *names = like->absent;
    const size_t location = from->field[names->location_at].value_len - names->tail_len + len + 1;
    const size_t page = (size_t)like->body->len - names->page_len + moved_escaped(name, len);
    char *to;
    cache_loan *loan = cache_loan_new(like, location + MOVED_LENGTH + page, &to);

    if (!loan)
        return NULL;
    loan->entry.any_query = like->any_query;
    loan->body.len = (apr_off_t)page;
    moved_page(loan, moved_head(loan, to, name, len), name, len);
    return loan;
}

/* What Location ends with. */
static const char *moved_tail(const cache_entry *like, const http_head *h, size_t *len)
{
    if (!like->absent->moved)
        return cache_name_of(h->uri, h->uri_len, len);
    BRG_ASSERT(h->uri_len > like->absent->path_len);
    *len = h->uri_len - like->absent->path_len;
    return h->uri + like->absent->path_len;
}

cache_entry *cache_moved_entry(response_cache *c, cache_entry *like, const http_head *h,
                               const http_codec *codec)
{
    size_t name_len;
    const char *name = moved_tail(like, h, &name_len);
    cache_loan *loan = cache_head_is_plain(h) ? moved_make(like, name, name_len) : NULL;

    BRG_ASSERT(name && like->absent->location_at >= 0);
    return loan ? cache_loan_lend(c, loan, codec) : NULL;
}
