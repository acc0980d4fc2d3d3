/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store, asked with a head: for targets that a loop's own cache has no copy of, on hosts where nothing before the quick handler
 * looks at the target (cache_route.h). What it finds is what cached_serve() would send; whatever is not fresh, whole and
 * for everybody takes the full way.
 */
#include "cached_named_private.h"
#include "fresh_vary.h"
#include "limit.h"
#include "brigade/assert.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

typedef struct seek {
    const cache_sought *of;
    const cached_server *server;
    const cached_section *section;
    apr_pool_t *pool; /* until the next one of this thread */
    store_reader *reader;
    const char *text; /* of the key */
    uint32_t text_len;
    const char *names; /* of the variant; NULL: none */
} seek;

static apr_pool_t *seek_pool(void)
{
    static _Thread_local apr_pool_t *pool;

    if (!pool)
        apr_pool_create(&pool, NULL);
    else
        apr_pool_clear(pool);
    return pool;
}

/* ---- the object ---- */

/* A path, with a query or without; what else a target may be is resolved on the full way. */
static int seek_target(seek *s, cache_found *found)
{
    const http_head *h = s->of->head;
    char *path = apr_pstrmemdup(s->pool, h->uri, h->uri_len), *query;

    if (path[0] != '/' || path[1] == '/' || strchr(path, '#') || strlen(path) != h->uri_len)
        return 0;
    if ((query = strchr(path, '?')) != NULL)
        *query++ = '\0';
    if (query && s->server->ignore_params) /* logs show what is left of it */
        return 0;
    found->uri = path;
    found->args = query;
    return cached_path_is_enabled(s->server, path);
}

static int seek_key(seek *s, const cache_found *found)
{
    const fresh_target target = {.scheme = s->of->scheme,
                                 .authority = s->of->host,
                                 .authority_len = strlen(s->of->host),
                                 .base = s->server->base};

    s->text = cached_key_text(s->pool, s->server, &target, found->uri, found->args, &s->text_len);
    return s->text != NULL;
}

/* Connection names nothing but what is about the connection. */
static int seek_connection_is_plain(const http_head *h)
{
    const http_field *f;

    if (h->known[HTTP_F_CONNECTION] < 0)
        return 1;
    f = &h->field[h->known[HTTP_F_CONNECTION]];
    return (f->value_len == 10 && !strncasecmp(f->value, "keep-alive", 10)) ||
           (f->value_len == 5 && !strncasecmp(f->value, "close", 5));
}

static int seek_variant(seek *s, cache_found *found, store_found *at)
{
    const http_head *h = s->of->head;
    const fresh_head asked = {.field = h->field, .n = h->n_fields};
    fresh_text text = {.at = apr_palloc(s->pool, FRESH_VARIANT_MOST), .room = FRESH_VARIANT_MOST};
    const uint32_t len = at->view.head_len;
    store_key key;

    s->names = apr_pstrmemdup(s->pool, at->view.head, len);
    found->stored.place[found->stored.places_n++] = at->place;
    store_release(&at->view);
    if (len > FRESH_VARY_TEXT)
        return 0;
    fresh_variant(&text, s->names, len, &asked);
    if (text.over)
        return 0;
    key = store_key_of(cached_store(), s->text, s->text_len, text.at, text.len);
    return store_find(s->reader, &key, s->of->now, at) && at->view.reader;
}

static int seek_find(seek *s, cache_found *found)
{
    const store_key key = store_key_of(cached_store(), s->text, s->text_len, NULL, 0);
    store_found at;

    if (!store_find(s->reader, &key, s->of->now, &at) || !at.view.reader ||
        (at.view.vary && !seek_variant(s, found, &at)))
        return 0;
    found->view = at.view;
    found->stored.place[found->stored.places_n++] = at.place;
    return 1;
}

/* ---- its head ---- */

static void seek_add(cache_found *found, const char *name, const char *value)
{
    found->field[found->n++] = (http_answer_field){name, value};
}

/* 1: one of the names in text, which "," separates. */
static int seek_has_name(const char *text, const char *name)
{
    const size_t len = strlen(name);

    for (const char *p = text; *p; p += p[strcspn(p, ",")] ? strcspn(p, ",") + 1 : strcspn(p, ","))
        if (strcspn(p, ",") == len && !strncasecmp(p, name, len))
            return 1;
    return 0;
}

/* The names, each once, as response heads have them. */
static const char *seek_vary(seek *s, const char *value)
{
    char *names = apr_pstrdup(s->pool, value), *out = apr_pcalloc(s->pool, strlen(value) + 2);
    char *state, *to = out;

    for (char *name = apr_strtok(names, ", \t", &state); name;
         name = apr_strtok(NULL, ", \t", &state)) {
        if (seek_has_name(out, name))
            continue;
        if (to > out)
            *to++ = ',';
        to = stpcpy(to, name);
    }
    return out;
}

#define SEEK_IS(f, literal)                                                              \
    ((f)->name_len == sizeof(literal) - 1 && !(((f)->name[0] ^ (literal)[0]) & ~0x20) && \
     !strncasecmp((f)->name, literal, sizeof(literal) - 1))

/* 1: it would be told in another way than as it is stored, which the full way does. */
static int seek_is_odd(const http_field *f)
{
    return SEEK_IS(f, "Age") || SEEK_IS(f, "X-Cache") || SEEK_IS(f, "X-Cache-Detail") ||
           SEEK_IS(f, "Cache-Status") || SEEK_IS(f, "Content-Encoding");
}

static void seek_note(cache_found *found, const http_field *f)
{
    if (SEEK_IS(f, "Date") && !found->date)
        found->date = f->value;
    else if (SEEK_IS(f, "Server") && !found->own_server)
        found->own_server = f->value;
    else if (SEEK_IS(f, "Last-Modified"))
        found->modified = f->value;
    else if (SEEK_IS(f, "ETag") && *f->value == '"')
        found->tag = f->value;
}

/* Fields of the stored head, without those that stand elsewhere. 0: the full way tells them */
static int seek_fields(seek *s, cache_found *found, const fresh_head *head)
{
    int vary = 0, lengths = 0;

    if (head->n + 6 > CACHE_FOUND_FIELDS)
        return 0;
    for (uint32_t i = 0; i < head->n; i++) {
        const http_field *f = &head->field[i];
        const char *value = f->value;

        if (SEEK_IS(f, "Content-Type")) {
            if (found->type)
                return 0;
            found->type = value;
            continue;
        }
        if (SEEK_IS(f, "Vary")) {
            value = seek_vary(s, value);
            vary++;
        } else if (SEEK_IS(f, "Content-Length")) {
            value = apr_off_t_toa(s->pool, (apr_off_t)found->stored.length);
            lengths++;
        }
        if (seek_is_odd(f) || vary > 1 || lengths > 1)
            return 0;
        seek_note(found, f);
        seek_add(found, f->name, value);
    }
    if (!lengths)
        found->before = -1; /* it comes behind what the cache tells */
    return 1;
}

/* As cached_head_apply(), cached_tell(), and the last filter. */
static void seek_tell(seek *s, cache_found *found)
{
    const char *name = s->of->server->server_hostname;
    const fresh_terms *terms = &found->stored.terms;

    seek_add(found, "Age", apr_ltoa(s->pool, (long)fresh_age(terms, s->of->now)));
    if (s->section->tell == CACHED_ON)
        seek_add(found, "X-Cache", apr_pstrcat(s->pool, "HIT from ", name, NULL));
    if (s->section->detail == CACHED_ON)
        seek_add(found, "X-Cache-Detail", apr_pstrcat(s->pool, "\"cache hit\" from ", name, NULL));
    if (s->section->standard == CACHED_ON) {
        fresh_text text = {.room = strlen(name) * 2 + 256};
        const fresh_status status = {.name = name,
                                     .fwd = FRESH_FWD_NONE,
                                     .has_ttl = 1,
                                     .ttl = fresh_left(terms, s->of->now)};

        text.at = apr_palloc(s->pool, text.room + 1);
        fresh_status_text(&text, &status);
        text.at[text.len] = '\0';
        if (!text.over)
            seek_add(found, "Cache-Status", text.at);
    }
    if (found->before < 0)
        seek_add(found, "Content-Length", apr_off_t_toa(s->pool, (apr_off_t)found->stored.length));
    found->before = found->n;
    if (found->type)
        seek_add(found, "Content-Type", found->type);
}

static int seek_head(seek *s, cache_found *found)
{
    const char *bytes = apr_pmemdup(s->pool, found->view.head, found->view.head_len);
    cached_head head;

    if (cached_head_read(s->pool, bytes, found->view.head_len, &head) ||
        !seek_fields(s, found, &head.head))
        return 0;
    if (head.line && (strlen(head.line) < 5 || atoi(head.line) != found->stored.terms.code))
        return 0;
    found->reason = head.line ? head.line : ap_get_status_line(found->stored.terms.code);
    seek_tell(s, found);
    return 1;
}

/* ---- how it may be used ---- */

static int seek_terms(seek *s, cache_found *found)
{
    cache_stored *stored = &found->stored;
    const fresh_request plain = {.method = FRESH_GET, .has_query = found->args != NULL};
    fresh_policy policy;

    memcpy(&stored->terms, found->view.terms, sizeof stored->terms);
    if (found->view.soft || stored->terms.code < 200 || stored->terms.code > 599 ||
        AP_STATUS_IS_HEADER_ONLY(stored->terms.code) || stored->terms.lifetime == 0 ||
        stored->terms.flags & (FRESH_T_PARTIAL | FRESH_T_COMPOSED) ||
        store_view_state(&found->view, &stored->length) != STORE_COMPLETE)
        return 0;
    cached_policy(s->server, s->section, &policy);
    stored->until = cached_refresh_of(s->section, &stored->terms);
    return fresh_use_now(&stored->terms, &plain, &policy, s->of->now) == FRESH_SERVE &&
           s->of->now < stored->until;
}

static const char *const *seek_names(seek *s)
{
    const char **names = apr_palloc(s->pool, (FRESH_VARY_MOST + 1) * sizeof *names),
               *rest = s->names;
    int n = 0;

    while (*rest && n < FRESH_VARY_MOST)
        names[n++] = ap_getword(s->pool, &rest, ',');
    names[n] = NULL;
    return names;
}

static int seek_begin(seek *s, const cache_sought *sought, const cached_place *place)
{
    *s = (seek){.of = sought,
                .server = cached_server_of(sought->server),
                .section = ap_get_module_config(sought->server->lookup_defaults, &cache_module),
                .reader = place ? cached_reader(place) : NULL};
    if (!place || !cached_count_hits(place) || s->server->quick == CACHED_OFF || s->server->key ||
        s->server->litespeed == CACHED_ON || s->server->bypass_cookies ||
        s->section->disable == CACHED_ON ||
        (s->section->methods && !(s->section->methods & CACHED_M_GET)) || limit_is_of_phases() ||
        !seek_connection_is_plain(sought->head))
        return 0;
    s->pool = seek_pool();
    return 1;
}

int cached_seek(const cache_sought *sought, cache_found *found)
{
    const cached_place *place = cached_store() ? cached_place_here() : NULL;
    seek s;

    if (!seek_begin(&s, sought, place))
        return 0;
    memset(found, 0, offsetof(cache_found, field));
    found->n = found->before = 0;
    if (!seek_target(&s, found) || !seek_key(&s, found) || !seek_find(&s, found))
        return 0;
    if (!seek_terms(&s, found) || !seek_head(&s, found)) {
        store_release(&found->view);
        return 0;
    }
    found->stored.view = &found->view;
    found->stored.reader = s.reader;
    found->stored.vary = s.names ? seek_names(&s) : NULL;
    found->stored.hits = cached_count_hits(place);
    found->stored.tells_ttl = s.section->standard == CACHED_ON;
    return 1;
}
