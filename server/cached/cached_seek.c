/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store, asked with a head: for targets that a loop's own cache has no copy of, on hosts where
 * nothing before the quick handler looks at the target (cache_route.h). It finds objects that
 * cached_serve() would send; any that is not fresh, whole and for everybody takes the full way.
 */
#include "cached_named_private.h"
#include "fresh_vary.h"
#include "limit.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include "brigade/decimal.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What holds for all targets of a host on a loop. */
typedef struct seek_site {
    const cached_server *server;
    const cached_section *section;
    const char *name; /* of the server */
    store_reader *reader;
    _Atomic uint64_t *hits;
    fresh_policy policy;
    fresh_target target;
    int everywhere; /* it is enabled for all paths */
    int verbatim;   /* a key is base and what the client sent */
    size_t base_len, tail_len;
    const char *tail; /* of keys: the server, where others have its names */
    char base[];      /* of keys */
} seek_site;

typedef struct seek {
    const seek_site *site;
    const http_head *head;
    apr_time_t now;
    apr_pool_t *pool;
    const char *text; /* of the key */
    uint32_t text_len;
    const char *names; /* of the variant; NULL: none */
} seek;

#define SEEK_CLEARED \
    16 /* look-ups until the pool is cleared, which costs more than what lies in it */

static apr_pool_t *seek_pool(void)
{
    static _Thread_local apr_pool_t *pool;
    static _Thread_local unsigned uses;

    if (!pool)
        apr_pool_create(&pool, NULL);
    else if (++uses % SEEK_CLEARED == 0)
        apr_pool_clear(pool);
    return pool;
}

/* ---- the site ---- */

static void *seek_open(server_rec *s, const char *scheme, const char *host)
{
    const cached_place *place = cached_store() ? cached_place_here() : NULL;
    const cached_server *server = cached_server_of(s);
    const cached_section *section = ap_get_module_config(s->lookup_defaults, &cache_module);
    fresh_target target = {
        .scheme = scheme, .authority = host, .authority_len = strlen(host), .base = server->base};
    apr_pool_t *p = seek_pool();
    uint32_t len;
    const char *text, *tail;
    seek_site *site;

    if (!place || !cached_count_hits(place) || server->quick == CACHED_OFF || server->key ||
        server->litespeed == CACHED_ON || server->bypass_cookies || section->disable == CACHED_ON ||
        (section->methods && !(section->methods & CACHED_M_GET)) || limit_is_of_phases(NULL) ||
        !(text = cached_key_text(p, server, &target, "/", NULL, &len)))
        return NULL;
    tail = cached_site_of(s, host);
    tail = tail ? apr_pstrcat(p, CACHED_KEY_SITE, tail, NULL) : "";
    if (!(site = calloc(1, sizeof *site + len + strlen(tail) + 1)))
        return NULL;
    site->server = server;
    site->section = section;
    site->name = s->server_hostname;
    site->reader = cached_reader(place);
    site->hits = cached_count_hits(place);
    site->everywhere = !server->disable->nelts && cached_path_is_enabled(server, "/", p);
    cached_policy(server, section, &site->policy);
    site->base_len = len - 1; /* without the path */
    BRG_ASSERT(len && text[len - 1] == '/');
    memcpy(site->base, text, site->base_len);
    site->tail_len = strlen(tail);
    site->tail = memcpy(site->base + len, tail, site->tail_len + 1);
    site->verbatim = !server->ignore_sessions && !server->ignore_params &&
                     server->ignore_query != CACHED_ON && server->sort_query != CACHED_ON;
    site->target = (fresh_target){.scheme = "", .authority = "", .base = site->base};
    return site;
}

/* ---- the object ---- */

/* A path, with a query or without; what else a target may be is resolved on the full way. */
static int seek_target(const seek *s, cache_found *found)
{
    const size_t len = s->head->uri_len;
    char *path = apr_pstrmemdup(s->pool, s->head->uri, len), *query;

    if (path[0] != '/' || path[1] == '/' || memchr(path, '#', len) || memchr(path, 0, len))
        return 0;
    if ((query = memchr(path, '?', len)) != NULL)
        *query++ = '\0';
    if (query && s->site->server->ignore_params) /* logs show what is left of it */
        return 0;
    if (limit_is_of_phases(path))
        return 0;
    found->uri = path;
    found->args = query;
    return s->site->everywhere || cached_path_is_enabled(s->site->server, path, s->pool);
}

/* Connection names only fields about the connection. */
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
    const fresh_head asked = {.field = s->head->field, .n = s->head->n_fields};
    fresh_text text = {.at = apr_palloc(s->pool, FRESH_VARIANT_MOST), .room = FRESH_VARIANT_MOST};
    const uint32_t len = at->view.head_len;
    store_key key;

    BRG_ASSERT(at->view.reader && at->view.vary && !found->stored.places_n);
    s->names = apr_pstrmemdup(s->pool, at->view.head, len);
    found->stored.place[found->stored.places_n++] = at->place;
    store_release(&at->view);
    if (len > FRESH_VARY_TEXT)
        return 0;
    fresh_variant(&text, s->names, len, &asked);
    if (text.over)
        return 0;
    key = store_key_of(cached_store(), s->text, s->text_len, text.at, text.len);
    return store_find(s->site->reader, &key, s->now, at) && at->view.reader;
}

static int seek_key_made(seek *s, const cache_found *found)
{
    const seek_site *site = s->site;
    const char *text = cached_key_text(s->pool, site->server, &site->target, found->uri,
                                       found->args, &s->text_len);

    if (!text)
        return 0;
    s->text = apr_pstrcat(s->pool, apr_pstrmemdup(s->pool, text, s->text_len), site->tail, NULL);
    s->text_len += (uint32_t)site->tail_len;
    return 1;
}

/* The text of the key: as cached_request_key() makes it. */
static int seek_key(seek *s, const cache_found *found)
{
    const seek_site *site = s->site;
    const size_t len = site->base_len + s->head->uri_len;
    char *text;

    BRG_ASSERT(s->head->uri_len && found->uri[0] == '/'); /* seek_target() */
    if (!site->verbatim || len > UINT16_MAX)
        return seek_key_made(s, found);
    text = apr_palloc(s->pool, len + site->tail_len);
    memcpy(text, site->base, site->base_len);
    memcpy(text + site->base_len, s->head->uri, s->head->uri_len);
    memcpy(text + len, site->tail, site->tail_len);
    s->text = text;
    s->text_len = (uint32_t)(len + site->tail_len);
    return 1;
}

static int seek_find(seek *s, cache_found *found)
{
    store_key key;
    store_found at;

    if (!seek_key(s, found))
        return 0;
    key = store_key_of(cached_store(), s->text, s->text_len, NULL, 0);
    if (!store_find(s->site->reader, &key, s->now, &at) || !at.view.reader ||
        (at.view.vary && !seek_variant(s, found, &at)))
        return 0;
    found->view = at.view;
    found->stored.place[found->stored.places_n++] = at.place;
    return 1;
}

/* ---- its head ---- */

static void seek_add(http_answer *a, const char *name, size_t name_len, const char *value,
                     size_t value_len)
{
    a->field[a->n_fields++] =
        (http_answer_field){name, value, (uint32_t)name_len, (uint32_t)value_len};
}

#define SEEK_ADD(a, name, value, len) seek_add(a, name, sizeof(name) - 1, value, len)

/* Each time at another place of room. */
static uint32_t seek_number(char **room, const char **value, uint64_t number)
{
    const size_t len = brg_decimal_put(*room, number);

    (*room)[len] = '\0';
    *value = *room;
    *room += len + 1;
    return (uint32_t)len;
}

static void seek_tell_standard(const seek *s, http_answer *a, const fresh_terms *terms)
{
    fresh_text text = {.room = strlen(s->site->name) * 2 + 256};
    const fresh_status status = {.name = s->site->name,
                                 .fwd = FRESH_FWD_NONE,
                                 .has_ttl = 1,
                                 .ttl = fresh_left(terms, s->now)};

    text.at = apr_palloc(s->pool, text.room + 1);
    fresh_status_text(&text, &status);
    text.at[text.len] = '\0';
    if (!text.over)
        SEEK_ADD(a, "Cache-Status", text.at, text.len);
}

/* As cached_head_apply(), cached_tell(), and the last filter. @param room  for two numbers */
static void seek_tell(const seek *s, cache_found *found, char *room)
{
    http_answer *a = found->answer;
    const cached_section *section = s->site->section;
    const char *age, *length, *value;
    const uint32_t age_len = seek_number(&room, &age, fresh_age(&found->stored.terms, s->now)),
                   length_len = seek_number(&room, &length, found->stored.length);

    SEEK_ADD(a, "Age", age, age_len);
    if (section->tell == CACHED_ON) {
        value = apr_pstrcat(s->pool, "HIT from ", s->site->name, NULL);
        SEEK_ADD(a, "X-Cache", value, strlen(value));
    }
    if (section->detail == CACHED_ON) {
        value = apr_pstrcat(s->pool, "\"cache hit\" from ", s->site->name, NULL);
        SEEK_ADD(a, "X-Cache-Detail", value, strlen(value));
    }
    if (section->standard == CACHED_ON)
        seek_tell_standard(s, a, &found->stored.terms);
    if (a->length_at == HTTP_NO_FIELD) {
        a->length_at = a->n_fields;
        SEEK_ADD(a, "Content-Length", length, length_len);
    } else {
        a->field[a->length_at].value = length;
        a->field[a->length_at].value_len = length_len;
    }
}

static int seek_line_is_of(const char *line, int code)
{
    return line[0] == '0' + code / 100 && line[1] == '0' + code / 10 % 10 &&
           line[2] == '0' + code % 10 && line[3] == ' ' && line[4];
}

/* Date and Server, which stand in front. */
static int seek_first(cached_head_reader *r, const cached_head_top *top, http_answer *a)
{
    http_answer_field date = {0}, server = {0};

    if ((top->has & CACHED_HEAD_DATE && cached_head_next(r, &date)) ||
        (top->has & CACHED_HEAD_SERVER && cached_head_next(r, &server)))
        return 0;
    a->date = date.value;
    a->own_server = server.value != NULL;
    if (server.value)
        a->server = server.value;
    return 1;
}

/* Those as they are stored, what the cache tells, and Content-Type. */
static int seek_fields(const seek *s, cache_found *found, cached_head_reader *r,
                       const cached_head_top *top, char *room)
{
    http_answer *a = found->answer;
    const int first = !!(top->has & CACHED_HEAD_DATE) + !!(top->has & CACHED_HEAD_SERVER),
              n = top->n - first - !!(top->has & CACHED_HEAD_TYPE);

    if (n < 0 || !seek_first(r, top, a))
        return 0;
    for (; a->n_fields < n; a->n_fields++)
        if (cached_head_next(r, &a->field[a->n_fields]))
            return 0;
    a->length_at = top->length_at < n ? top->length_at : HTTP_NO_FIELD;
    found->modified = top->modified_at < n ? a->field[top->modified_at].value : NULL;
    found->tag = top->tag_at < n ? a->field[top->tag_at].value : NULL;
    seek_tell(s, found, room);
    if (!(top->has & CACHED_HEAD_TYPE))
        return 1;
    if (cached_head_next(r, &a->field[a->n_fields]))
        return 0;
    found->type = a->field[a->n_fields].value;
    a->conn_at = a->n_fields++;
    return 1;
}

#define SEEK_TOLD 5 /* fields that seek_tell() adds */

static int seek_head(const seek *s, cache_found *found)
{
    const uint32_t len = found->view.head_len;
    const int code = found->stored.terms.code;
    char *bytes = apr_palloc(s->pool, len + 2 * (BRG_DECIMAL_ROOM + 1));
    cached_head_reader reader;
    cached_head_top top;
    http_answer *a;

    memcpy(bytes, found->view.head, len);
    if (cached_head_begin(&reader, &top, bytes, len) || !(top.has & CACHED_HEAD_PLAIN) ||
        (top.line_len && !seek_line_is_of(reader.line, code)))
        return 0;
    found->answer = a = apr_palloc(s->pool, sizeof *a + (top.n + SEEK_TOLD) * sizeof *a->field);
    *a = (http_answer){.status = code,
                       .reason = top.line_len ? reader.line : ap_get_status_line(code),
                       .server = ap_get_server_banner(),
                       .conn_at = HTTP_NO_FIELD,
                       .own_at = HTTP_NO_FIELD,
                       .range_at = HTTP_NO_FIELD};
    return seek_fields(s, found, &reader, &top, bytes + len);
}

/* ---- how it may be used ---- */

static int seek_terms(const seek *s, cache_found *found)
{
    cache_stored *stored = &found->stored;
    const fresh_request plain = {.method = FRESH_GET, .has_query = found->args != NULL};

    memcpy(&stored->terms, found->view.terms, sizeof stored->terms);
    if (found->view.soft || stored->terms.code < 200 || stored->terms.code > 599 ||
        AP_STATUS_IS_HEADER_ONLY(stored->terms.code) || stored->terms.lifetime == 0 ||
        stored->terms.flags & (FRESH_T_PARTIAL | FRESH_T_COMPOSED) ||
        store_view_state(&found->view, &stored->length) != STORE_COMPLETE)
        return 0;
    stored->until = cached_refresh_of(s->site->section, &stored->terms);
    return fresh_use_now(&stored->terms, &plain, &s->site->policy, s->now) == FRESH_SERVE &&
           s->now < stored->until;
}

static int seek_look(const void *of, const http_head *head, apr_time_t now, cache_found *found)
{
    seek s = {.site = of, .head = head, .now = now, .pool = seek_pool()};

    memset(found, 0, sizeof *found);
    if (!seek_connection_is_plain(head) || !seek_target(&s, found) || !seek_find(&s, found))
        return 0;
    if (!seek_terms(&s, found) || !seek_head(&s, found)) {
        store_release(&found->view);
        return 0;
    }
    found->stored.view = &found->view;
    found->stored.reader = s.site->reader;
    found->stored.vary = cached_names_of(s.pool, s.names);
    found->stored.hits = s.site->hits;
    found->stored.tells_ttl = s.site->section->standard == CACHED_ON;
    return 1;
}

const cache_seeker cached_seeker = {seek_open, seek_look};
