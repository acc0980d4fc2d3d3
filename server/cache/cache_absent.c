/* SPDX-License-Identifier: Apache-2.0 */
/* Entries for all names that a folder does not hold (cache_absent_private.h). */
#include "cache_absent_private.h"
#include "cache_below_private.h"
#include "cache_moved_private.h"
#include "cache_names_private.h"
#include "cache_plan.h"
#include "connection.h"
#include "loop.h"
#include "apr_strings.h"
#include <string.h>

#define ABSENT_KIND '*'
#define ABSENT_KIND_BELOW '-'  /* the path goes on behind the name that is not there */
#define ABSENT_FOLDERS_MOST 12 /* folders of a target that are looked up */

/* ---- which answers ---- */

static int absent_status(const request_rec *r)
{
    const int refused = request_is_refused(r);

    if (r->status == HTTP_NOT_FOUND && !refused)
        return !r->handler || !strcmp(r->handler, "default-handler");
    return refused &&
           (r->status == HTTP_FORBIDDEN || r->status == HTTP_NOT_FOUND ||
            r->status == HTTP_UNAUTHORIZED || r->status == HTTP_GONE || cache_moved_is(r));
}

/* A built-in page, or the file of an error document. */
static int absent_is_offered(const request_offer *offer)
{
    return offer && (offer->body || offer->document);
}

static const char *absent_make(const request_rec *r)
{
    const size_t len = strlen(r->unparsed_uri);
    char key[CACHE_NAME_PATH_MOST];
    cache_names *names;
    const char *name;
    size_t name_len;
    int lacks;

    if (!(name = cache_name_of(r->unparsed_uri, len, &name_len)) || !cache_name_is_last(r, name) ||
        !cache_name_key(key, r->unparsed_uri, name, name_len, ABSENT_KIND) ||
        r->finfo.filetype != APR_NOFILE || !cache_name_is_told(r) || !(names = cache_names_make(r)))
        return NULL;
    lacks = cache_names_lack(names, name, name_len);
    cache_names_end(names);
    return lacks ? apr_pstrdup(r->pool, key) : NULL;
}

/* Of the extensions of a path, modules may look at the last one. @return its length; 0: it is too long, or the name has one of its own */
static size_t absent_key_below(char *key, const char *uri, const char *name, size_t name_len,
                               const char *end)
{
    const char *last = (const char *)memrchr(name, '/', (size_t)(end - name)) + 1;

    return memchr(name, '.', name_len)
               ? 0
               : cache_name_key_below(key, uri, (size_t)(name - uri), last, (size_t)(end - last),
                                      ABSENT_KIND_BELOW);
}

/* A folder on the way is not there. */
static const char *absent_make_below(const request_rec *r)
{
    char key[CACHE_NAME_PATH_MOST];
    const char *name, *rest;
    cache_names *names;
    int lacks;

    if (cache_moved_is(r) || !cache_below_path_is_plain(r) ||
        strlen(r->uri) != strlen(r->unparsed_uri) || !(name = cache_below_name(r, &rest)) ||
        *rest != '/' ||
        !absent_key_below(key, r->uri, name, (size_t)(rest - name), rest + strlen(rest)) ||
        !cache_name_is_told_below(r, rest) || !(names = cache_names_make_below(r, name, rest)))
        return NULL;
    lacks = cache_names_lack(names, name, (size_t)(rest - name));
    cache_names_end(names);
    return lacks ? apr_pstrdup(r->pool, key) : NULL;
}

static int absent_is_below(const char *absent)
{
    return strchr(absent, ' ')[1] == ABSENT_KIND_BELOW;
}

/* Names of a letter or two stand in a page, or in a note for logs, by chance: their URLs have entries of their own. */
static uint64_t *absent_shown(response_cache *c, const request_rec *r, uint64_t *hash)
{
    const cache_place at = cache_place_of(connection_of(r->connection));
    const char *host = apr_table_get(r->headers_in, "Host");

    *hash = cache_hash(&at, host ? host : "", host ? strlen(host) : 0, r->unparsed_uri,
                       strlen(r->unparsed_uri));
    return &c->shown[*hash % CACHE_SHOWN];
}

static int absent_is_shown(const request_rec *r)
{
    response_cache *c = loop_self() ? cache_store_cache() : NULL;
    uint64_t hash;

    return c && *absent_shown(c, r, &hash) == hash;
}

const char *cache_absent_target(const request_rec *r)
{
    request_offer *offer = request_offer_of(r);

    if (offer && offer->plan)
        return cache_below_target(r);
    if (!absent_is_offered(offer))
        return NULL;
    if (!offer->absent_asked) {
        offer->absent_asked = 1;
        offer->absent = cache_moved_is(r) ? cache_moved_target(r) : NULL;
        if (!offer->absent && absent_status(r) && !(offer->absent = absent_make(r)))
            offer->absent = absent_make_below(r);
        if (offer->absent && absent_is_shown(r))
            offer->absent = NULL;
    }
    return offer->absent;
}

/* ---- an entry ---- */

static int absent_ends_with(const char *text, const char *name, size_t len)
{
    const size_t all = strlen(text);

    return all > len && text[all - len - 1] == '/' && !memcmp(text + all - len, name, len);
}

/* The name is shown elsewhere than at the end of the path, and of the file's. */
static int absent_log_shows(const struct cache_observed *o, const char *name, size_t step)
{
    const char *file = o->asked ? o->asked : o->filename;

    return !absent_ends_with(o->uri, name, strlen(name)) ||
           (file && !absent_ends_with(file, name, step));
}

static int absent_part_shows(const cache_entry *e, const request_offer *offer, const char *part,
                             size_t len)
{
    return (offer->body && cache_name_shows(offer->body, offer->len, part, len)) ||
           cache_name_head_shows(e->head.answer, part, len);
}

/* One folder of a path may be shown without the others. */
static int absent_shows(const cache_entry *e, const request_offer *offer, const char *name,
                        int in_log)
{
    for (const char *part = name; *part; part += strcspn(part, "/")) {
        part += *part == '/';
        const size_t len = strcspn(part, "/");

        if (len && (in_log ? cache_name_log_shows(e->log, name, strlen(name), part, len)
                           : absent_part_shows(e, offer, part, len)))
            return 1;
    }
    return 0;
}

/* Where messages show the name. */
static void absent_find_in_messages(struct cache_observed *o, const cache_names *names, int deep)
{
    const char *rest = deep ? o->uri + strlen(o->uri) - names->name_len + names->step_len : "";
    const size_t rest_len = strlen(rest);

    for (uint32_t i = 0; i < o->messages_n; i++) {
        observed_message *m = &o->message[i];
        size_t len;
        const char *at = cache_name_path_in(o, m->said.text, rest, &len);

        if (!at)
            continue;
        at += len;
        m->own_len =
            (uint32_t)(len > rest_len && !memcmp(at - rest_len, rest, rest_len) ? names->name_len
                                                                                : names->step_len);
        m->own_at = (uint32_t)(at - m->said.text) - m->own_len;
    }
}

static int absent_take(response_cache *c, cache_entry *e, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const int below = absent_is_below(offer->absent);
    const char *rest = "", *name = below ? cache_below_name(r, &rest) : strrchr(r->uri, '/') + 1;

    if (cache_moved_is_below(offer->absent))
        return cache_moved_take_below(c, e, r);
    if ((e->log &&
         (absent_log_shows(e->log, name, strcspn(name, "/")) || absent_shows(e, offer, name, 1))) ||
        !(e->absent = below ? cache_names_make_below(r, name, rest) : cache_names_make(r)))
        return -1;
    c->absent_n++;
    c->deep_n += below != 0;
    if (absent_shows(e, offer, name, 0) &&
        (!cache_moved_is(r) || cache_moved_take(e, offer->body, offer->len, name, strlen(name))))
        return -1;
    if (e->log)
        absent_find_in_messages(e->log, e->absent, below);
    cache_account(c, e);
    return 0;
}

int cache_absent_take(response_cache *c, cache_entry *e, const request_rec *r)
{
    uint64_t hash, *shown;

    BRG_ASSERT(e->filled && !e->absent && cache_absent_target(r));
    if (!absent_take(c, e, r))
        return 0;
    shown = absent_shown(c, r, &hash);
    *shown = hash;
    return -1;
}

void cache_absent_drop(response_cache *c, cache_entry *e)
{
    if (!e->absent)
        return;
    BRG_ASSERT(c->absent_n > 0);
    c->absent_n--;
    c->moved_n -= e->absent->moved != 0;
    c->below_n -= e->absent->below && e->plans;
    c->deep_n -= cache_absent_is_deep(e);
    c->prefix_n -= cache_names_of_prefix(e->absent) != 0;
    cache_names_end(e->absent);
    e->absent = NULL;
}

size_t cache_absent_bytes(const cache_entry *e)
{
    size_t bytes = 0;

    for (const cache_names *names = e->absent; names; names = names->then)
        bytes += cache_block(sizeof *names + names->path_len + 1);
    return bytes;
}

static cache_entry *absent_find_last(response_cache *c, const cache_place *at, const http_head *h,
                                     const cache_asked *asked)
{
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    char key[CACHE_NAME_PATH_MOST];
    size_t name_len, len;
    const char *name = cache_name_of(h->uri, h->uri_len, &name_len);
    cache_entry *e;
    uint64_t hash;

    if (!name || !(len = cache_name_key(key, h->uri, name, name_len, ABSENT_KIND)))
        return NULL;
    e = cache_find(c, at, host->value, host->value_len, key, len, asked, &hash);
    return e && e->absent && cache_names_lack(e->absent, name, name_len) &&
                   cache_names_decide_alike(e->absent, e->server, name, name_len, 0)
               ? e
               : NULL;
}

/* @param rest  of the target, behind the name */
static cache_entry *absent_find_step(response_cache *c, const cache_place *at, const http_head *h,
                                     const cache_asked *asked, const char *name, const char *rest)
{
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    const size_t name_len = (size_t)(rest - name);
    const char *end = h->uri + h->uri_len;
    char key[CACHE_NAME_PATH_MOST];
    const size_t len = absent_key_below(key, h->uri, name, name_len, end);
    cache_entry *e;
    uint64_t hash;

    e = len ? cache_find(c, at, host->value, host->value_len, key, len, asked, &hash) : NULL;
    return e && e->absent && cache_names_lack(e->absent, name, name_len) &&
                   cache_names_below_alike(e->absent, e->server, name, name_len,
                                           (size_t)(end - rest))
               ? e
               : NULL;
}

/* From the last folder up. */
static cache_entry *absent_find_below(response_cache *c, const cache_place *at, const http_head *h,
                                      const cache_asked *asked)
{
    const char *rest = memrchr(h->uri, '/', h->uri_len);
    cache_entry *e = NULL;

    if (!cache_below_is_plain(h->uri, h->uri_len))
        return NULL;
    for (int i = 0; !e && rest > h->uri && i < ABSENT_FOLDERS_MOST; i++) {
        const char *slash = memrchr(h->uri, '/', (size_t)(rest - h->uri));

        e = absent_find_step(c, at, h, asked, slash + 1, rest);
        rest = slash;
    }
    return e;
}

cache_entry *cache_absent_find(response_cache *c, const cache_place *at, const http_head *h,
                               const cache_asked *asked)
{
    cache_entry *e = absent_find_last(c, at, h, asked);

    return e || !c->deep_n ? e : absent_find_below(c, at, h, asked);
}

/* ---- logs ---- */

/* Of a head that the entry answers. @param room  CACHE_PLANNED_PATH bytes */
static const char *absent_last(const cache_entry *e, const http_head *h, char *room, size_t *len)
{
    const char *slash =
        e->absent->below ? h->uri + e->absent->path_len - 1 : memrchr(h->uri, '/', h->uri_len);

    if (e->plan) {
        const brg_text path = cache_plan_path(h, room);

        BRG_ASSERT(path.len >= e->absent->path_len);
        *len = path.len - e->absent->path_len;
        return path.at + e->absent->path_len;
    }
    BRG_ASSERT(slash && *slash == '/' && slash < h->uri + h->uri_len);
    if (e->absent->below) {
        const char *query = memchr(slash, '?', (size_t)(h->uri + h->uri_len - slash));

        *len = (size_t)((query ? query : h->uri + h->uri_len) - slash) - 1;
        return slash + 1;
    }
    *len = h->uri_len - (size_t)(slash + 1 - h->uri);
    return slash + 1;
}

/* @return bytes with the NUL, none written if they are more than room */
static size_t absent_put(char *out, size_t room, const char *kept, size_t before, const char *name,
                         size_t len)
{
    if (before + len + 1 <= room) {
        memcpy(out, kept, before);
        memcpy(out + before, name, len);
        out[before + len] = '\0';
    }
    return before + len + 1;
}

size_t cache_absent_text(char *out, size_t room, const cache_entry *e, const char *kept,
                         const http_head *h)
{
    const int is_url = e->absent->moved && strchr(kept, '?');
    const size_t kept_len = is_url ? e->absent->tail_len : e->absent->name_len;
    char path[CACHE_PLANNED_PATH];
    size_t len;
    const char *name = absent_last(e, h, path, &len);

    BRG_ASSERT(strlen(kept) >= kept_len);
    if (is_url)
        len = (size_t)(h->uri + h->uri_len - name);
    return absent_put(out, room, kept, strlen(kept) - kept_len, name, len);
}

static size_t absent_step(const char *name, size_t len)
{
    const char *slash = memchr(name, '/', len);

    return slash ? (size_t)(slash - name) : len;
}

size_t cache_absent_file(char *out, size_t room, const cache_entry *e, const char *kept,
                         const http_head *h)
{
    char path[CACHE_PLANNED_PATH];
    size_t len;
    const char *name = absent_last(e, h, path, &len);

    return cache_absent_is_deep(e) ? absent_put(out, room, kept, strlen(kept) - e->absent->step_len,
                                                name, absent_step(name, len))
                                   : cache_absent_text(out, room, e, kept, h);
}

const char *cache_absent_message(char *out, const cache_entry *e, const observed_message *kept,
                                 const http_head *h)
{
    const char *text = kept->said.text, *name;
    char path[CACHE_PLANNED_PATH];
    size_t len;

    if (!e->absent || !kept->own_len)
        return text;
    name = absent_last(e, h, path, &len);
    if (kept->own_len != e->absent->name_len)
        len = absent_step(name, len);
    BRG_ASSERT(kept->own_at + len < CACHE_NAME_PATH_MOST + MAX_STRING_LEN / 2);
    out = mempcpy(out, text, kept->own_at);
    out = mempcpy(out, name, len);
    strcpy(out, text + kept->own_at + kept->own_len);
    return out - kept->own_at - len;
}
