/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of stored answers, and entries made by them (cache_route.h). */
#include "cache_route.h"
#include "cache_fill_private.h"
#include "cache_observed_private.h"
#include "cache_source_private.h"
#include "cache_stored.h"
#include "cache_vary_private.h"
#include "connection.h"
#include "fresh_fields.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_text.h"
#include "apr_date.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROUTES 64       /* of a loop; hosts whose hashes meet take turns */
#define ROUTE_BYTES 768 /* an entry, and its parts, without its body */

struct cache_route {
    cache_place at;
    char *host; /* as it was sent; the block of the route's texts */
    server_rec *server;
    const char *scheme;
    const char *upgrade; /* http_answer.upgrade */
    struct cache_observed *log;
    uint8_t observed;
};

static cache_seek_fn *route_seek;

void cache_seek_by(cache_seek_fn *fn)
{
    route_seek = fn;
}

static cache_route *route_of(const response_cache *c, const cache_place *at, const char *host,
                             size_t len)
{
    return &c->routes[cache_hash(at, host, len, "", 0) % ROUTES];
}

/* ---- learning ---- */

/* The fields of the object's own Vary, and that the request has no wishes: what hooks look at is no part of a route. */
static int route_varies_by_object(const cache_entry *e, const cache_stored *stored)
{
    int names = 0;

    for (const char *const *name = stored->vary; name && *name; name++)
        names++;
    for (int i = 0; i < e->vary_n; i++)
        if (e->vary[i].gate || e->vary[i].users || e->vary[i].kind ||
            (e->vary[i].client && e->vary[i].client != cache_vary_plain))
            return 0;
    return !e->gated && e->vary_n == names + 1;
}

static int route_holds(const cache_entry *e, request_rec *r)
{
    const core_dir_config *dir = ap_get_core_module_config(r->per_dir_config);
    const http_answer *a = e->head.answer;

    return route_seek && e->lifetime && e->filled && e->status == r->status &&
           !(e->observed & CACHE_OBSERVED_BY_MESSAGES) &&
           route_varies_by_object(e, request_offer_of(r)->stored) && !a->connection &&
           !a->dated_name && !a->added && !cache_any_changed(r) &&
           dir->add_default_charset != ADD_DEFAULT_CHARSET_ON && policy_early_is_known(r->server);
}

static int route_is_for(const cache_route *route, const cache_place *at, const char *host,
                        size_t len)
{
    return route->host && route->at.listener == at->listener && route->at.chain == at->chain &&
           route->at.protocol == at->protocol && !strncmp(route->host, host, len) &&
           !route->host[len];
}

static void route_drop(cache_route *route)
{
    free(route->log);
    free(route->host);
    *route = (cache_route){.host = NULL};
}

static http_answer *route_answer(const cache_route *route, const cache_found *found)
{
    const http_answer_says says = {.status = found->stored.terms.code,
                                   .reason = found->reason,
                                   .server = found->own_server ? found->own_server
                                                               : ap_get_server_banner(),
                                   .own_server = found->own_server != NULL,
                                   .date = found->date,
                                   .upgrade = route->upgrade,
                                   .field = found->field,
                                   .n = found->n,
                                   .before = found->before};

    return http_answer_make(&says);
}

/* Values that tell the time may be of another second. */
static int route_fields_same(const http_answer *a, const http_answer *b)
{
    for (int i = 0; i < a->n_fields && i < b->n_fields; i++)
        if (strcasecmp(a->field[i].name, b->field[i].name) != 0 ||
            (strcmp(a->field[i].value, b->field[i].value) != 0 &&
             strcasecmp(a->field[i].name, "Age") != 0 &&
             strcasecmp(a->field[i].name, "Cache-Status") != 0))
            return 0;
    return a->n_fields == b->n_fields;
}

static int route_same(const http_answer *a, const http_answer *b)
{
    return a->status == b->status && !strcmp(a->reason, b->reason) &&
           !strcmp(a->server, b->server) && a->own_server == b->own_server &&
           !a->date == !b->date && (!a->date || !strcmp(a->date, b->date)) &&
           a->conn_at == b->conn_at && route_fields_same(a, b);
}

static void route_head_of(http_head *h, const cache_entry *e, const request_rec *r)
{
    const apr_array_header_t *in = apr_table_elts(r->headers_in);

    h->uri = e->key + e->host_len;
    h->uri_len = e->uri_len;
    h->method_id = HTTP_METHOD_GET;
    h->field = h->own;
    memset(h->known, -1, sizeof h->known);
    for (int i = 0; i < in->nelts && i < HTTP_HEAD_OWN_FIELDS; i++) {
        const apr_table_entry_t *f = &APR_ARRAY_IDX(in, i, apr_table_entry_t);

        h->own[h->n_fields++] = (http_field){.name = f->key,
                                             .value = f->val,
                                             .name_len = (uint32_t)strlen(f->key),
                                             .value_len = (uint32_t)strlen(f->val)};
    }
}

/* By the route the request would have got the answer that it has. */
static int route_is_right(const response_cache *c, const cache_route *route, const cache_entry *e,
                          const request_rec *r)
{
    http_head *h = calloc(1, sizeof *h);
    http_answer *a = NULL;
    cache_found found;
    int same;

    if (!h)
        return 0;
    route_head_of(h, e, r);
    if (route_seek(&(cache_sought){h, route->host, route->server, route->scheme, c->loop->wall},
                   &found)) {
        a = route_answer(route, &found);
        store_release(&found.view);
    }
    same = a && route_same(a, e->head.answer);
    free(a);
    free(h);
    return same;
}

void cache_routes_drop(response_cache *c)
{
    for (int i = 0; c->routes && i < ROUTES; i++)
        route_drop(&c->routes[i]);
    free(c->routes);
    c->routes = NULL;
}

void cache_route_learn(response_cache *c, const cache_entry *e, request_rec *r)
{
    const cache_place at = {e->listener, e->chain, e->protocol};
    const char *upgrade = e->head.answer->upgrade;
    const size_t bytes = e->log ? e->log->bytes : 0;
    cache_route *route;

    BRG_ASSERT(loop_self() == c->loop && !c->is_workers);
    if (!c->routes && !(c->routes = calloc(ROUTES, sizeof *c->routes)))
        return;
    route = route_of(c, &at, e->key, e->host_len);
    if (route_is_for(route, &at, e->key, e->host_len) || !route_holds(e, r))
        return;
    route_drop(route);
    if (!(route->host = calloc(1, e->host_len + (upgrade ? strlen(upgrade) : 0) + 2)) ||
        (bytes && !(route->log = cache_observed_copy(e->log)))) {
        route_drop(route);
        return;
    }
    memcpy(route->host, e->key, e->host_len);
    if (upgrade)
        route->upgrade = strcpy(route->host + e->host_len + 1, upgrade);
    route->at = at;
    route->server = r->server;
    route->scheme = ap_http_scheme(r);
    route->observed = e->observed;
    if (!route_is_right(c, route, e, r))
        route_drop(route);
}

/* ---- an entry ---- */

static int route_body(response_cache *c, cache_entry *e, const cache_stored *stored)
{
    if (!stored->length)
        return 0;
    if (!(e->body = cache_lifetime_take_body(c, stored)))
        return -1;
    cache_body_use(c, e->body);
    return 0;
}

static uint8_t route_text(char *out, size_t room, const char *value)
{
    const size_t len = value && strlen(value) < room ? strlen(value) : 0;

    memcpy(out, value ? value : "", len);
    out[len] = '\0';
    return (uint8_t)len;
}

/* As they are of a request that the store answers. */
static void route_validators(cache_entry *e, const cache_found *found)
{
    char date[APR_RFC822_DATE_LEN];
    apr_time_t t;

    if (found->modified) {
        t = fresh_date(found->modified, strlen(found->modified), found->stored.terms.stored);
        http_put_date(date, t);
        if (!strcmp(found->modified, date))
            e->last_modified_len = route_text(e->last_modified, sizeof e->last_modified, date);
        else if ((t = apr_date_parse_http(found->modified)) == APR_DATE_BAD)
            t = 0;
        e->mtime = t;
    }
    e->etag_len = route_text(e->etag, sizeof e->etag, found->tag);
}

static int route_fill(response_cache *c, cache_entry *e, const cache_route *route,
                      const brg_conn *bc, const http_head *h, const cache_found *found)
{
    e->server = route->server;
    if (cache_vary_take_stored(c, e, found->stored.vary, h) ||
        cache_lifetime_arm(e, &found->stored) || !(e->head.answer = route_answer(route, found)) ||
        cache_lifetime_take_head(e, &e->head) || route_body(c, e, &found->stored) ||
        (route->log && !(e->log = cache_observed_of(route->log, found))))
        return -1;
    cache_set_status(e, found->stored.terms.code);
    route_validators(e, found);
    e->count = figures_requests(&bc->loop->figures->own, figures_host(route->server),
                                connection_protocol_of(bc));
    e->observed = route->observed;
    e->filled = 1;
    c->figures.armed++;
    c->figures.filled++;
    cache_account(c, e);
    return 0;
}

/* 1: it is asked for often enough to stay, and there is room. */
static int route_keeps(response_cache *c, const cache_route *route, uint64_t hash,
                       const cache_stored *stored, int queue, unsigned *uses)
{
    admission_sample(&c->admission, c->entries_n);
    *uses = admission_count(&c->admission, cache_lifetime_hash(hash, stored));
    return *uses > 1 && cache_make_room(c, core_conf_of(route->server), queue, *uses,
                                        ROUTE_BYTES + (size_t)stored->length);
}

static cache_entry *route_make(response_cache *c, const cache_route *route, const brg_conn *bc,
                               const http_head *h, uint64_t hash, const cache_found *found)
{
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    const int queue = found->stored.terms.code >= HTTP_BAD_REQUEST ? CACHE_ERRORS : CACHE_ANSWERS;
    unsigned uses;
    const int keeps = route_keeps(c, route, hash, &found->stored, queue, &uses);
    cache_entry *e =
        cache_add(c, &route->at, host->value, host->value_len, h->uri, h->uri_len, hash, queue);

    if (!e)
        return NULL;
    e->uses = (uint8_t)uses;
    cache_limit_variants(c, e);
    if (!e->in_cache || route_fill(c, e, route, bc, h, found)) {
        cache_forget(c, e);
        return NULL;
    }
    if (!keeps)
        c->passing = e;
    return e;
}

/* A request that says nothing of how a stored answer may be used, and asks for all of it. */
static int route_is_plain(const http_head *h)
{
    const int16_t *k = h->known;

    return (k[HTTP_F_CACHE_CONTROL] & k[HTTP_F_PRAGMA] & k[HTTP_F_AUTHORIZATION] & k[HTTP_F_RANGE] &
            k[HTTP_F_IF_RANGE] & k[HTTP_F_IF_NONE_MATCH] & k[HTTP_F_IF_MODIFIED_SINCE]) == -1 &&
           h->method_id == HTTP_METHOD_GET;
}

cache_entry *cache_route_entry(response_cache *c, const brg_conn *bc, const http_head *h,
                               uint64_t hash)
{
    const cache_place at = cache_place_of(bc);
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    cache_route *route = route_of(c, &at, host->value, host->value_len);
    cache_found found;
    cache_entry *e;

    if (c->passing)
        cache_forget(c, c->passing);
    if (!route_is_for(route, &at, host->value, host->value_len) || !route_is_plain(h) ||
        !route_seek(&(cache_sought){h, route->host, route->server, route->scheme, c->loop->wall},
                    &found))
        return NULL;
    e = (apr_off_t)found.stored.length <= core_conf_of(route->server)->file_cache_max_file_bytes
            ? route_make(c, route, bc, h, hash, &found)
            : NULL;
    store_release(&found.view);
    return e;
}
