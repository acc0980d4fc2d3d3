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
    void *site;          /* what cache_seeker.open() returned */
    const char *upgrade; /* http_answer.upgrade */
    struct cache_observed *log;
    uint8_t observed;
};

static const cache_seeker *route_seeker;

void cache_seek_by(const cache_seeker *seeker)
{
    route_seeker = seeker;
}

/* ---- learning ---- */

/* The fields of the object's own Vary, and no other wishes of the request: data for hooks is no
 * part of a route. */
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

    return route_seeker && e->lifetime && e->filled && e->status == r->status &&
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

/* Its place. */
static cache_route *route_of(const response_cache *c, const cache_place *at, const char *host,
                             size_t len)
{
    return &c->routes[cache_hash(at, host, len, "", 0) % ROUTES];
}

/* NULL: it is not known. Often it is that of the request before. */
static const cache_route *route_find(response_cache *c, const cache_place *at, const char *host,
                                     size_t len)
{
    if (!route_is_for(c->route, at, host, len))
        c->route = route_of(c, at, host, len);
    return route_is_for(c->route, at, host, len) ? c->route : NULL;
}

static void route_drop(cache_route *route)
{
    free(route->log);
    free(route->site);
    free(route->host);
    *route = (cache_route){.host = NULL};
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
    cache_found found;
    int same = 0;

    if (!h)
        return 0;
    route_head_of(h, e, r);
    if (route_seeker->look(route->site, h, c->loop->wall, &found)) {
        same = route_same(found.answer, e->head.answer);
        store_release(&found.view);
    }
    free(h);
    return same;
}

void cache_routes_drop(response_cache *c)
{
    for (int i = 0; c->routes && i < ROUTES; i++)
        route_drop(&c->routes[i]);
    free(c->loan);
    free(c->routes);
    c->loan = NULL;
    c->routes = NULL;
}

void cache_route_learn(response_cache *c, const cache_entry *e, request_rec *r)
{
    const cache_place at = {e->listener, e->chain, e->protocol};
    const char *upgrade = e->head.answer->upgrade;
    cache_route *route;

    BRG_ASSERT(loop_self() == c->loop && !c->is_workers);
    if (!c->routes && !(c->routes = c->route = calloc(ROUTES, sizeof *c->routes)))
        return;
    route = route_of(c, &at, e->key, e->host_len);
    if (route_is_for(route, &at, e->key, e->host_len) || !route_holds(e, r))
        return;
    route_drop(route);
    if (!(route->host = calloc(1, e->host_len + (upgrade ? strlen(upgrade) : 0) + 2)) ||
        (e->log && !(route->log = cache_observed_copy(e->log)))) {
        route_drop(route);
        return;
    }
    memcpy(route->host, e->key, e->host_len);
    if (upgrade)
        route->upgrade = strcpy(route->host + e->host_len + 1, upgrade);
    route->at = at;
    route->server = r->server;
    route->observed = e->observed;
    route->site = route_seeker->open(r->server, ap_http_scheme(r), route->host);
    if (!route->site || !route_is_right(c, route, e, r))
        route_drop(route);
}

/* ---- a copy ---- */

static http_answer *route_answer(const cache_route *route, const http_answer *a)
{
    const http_answer_says says = {.status = a->status,
                                   .reason = a->reason,
                                   .server = a->server,
                                   .own_server = a->own_server,
                                   .date = a->date,
                                   .upgrade = route->upgrade,
                                   .field = a->field,
                                   .n = a->n_fields,
                                   .before = a->conn_at};

    return http_answer_make(&says);
}

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
        cache_lifetime_arm(e, &found->stored) ||
        !(e->head.answer = route_answer(route, found->answer)) ||
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

/* How often it was asked for; 0: not often enough for a copy, or there is no room for one. */
static unsigned route_uses(response_cache *c, const cache_route *route, uint64_t hash,
                           const cache_stored *stored, int queue)
{
    const brg_core_conf *conf = core_conf_of(route->server);
    unsigned uses;

    admission_sample(&c->admission, c->entries_n);
    uses = admission_count(&c->admission, cache_lifetime_hash(hash, stored));
    return uses > 1 && (apr_off_t)stored->length <= conf->file_cache_max_file_bytes &&
                   cache_make_room(c, conf, queue, uses, ROUTE_BYTES + (size_t)stored->length)
               ? uses
               : 0;
}

/* NULL: it gets none. */
static cache_entry *route_copy(response_cache *c, const cache_route *route, const brg_conn *bc,
                               const http_head *h, uint64_t hash, const cache_found *found)
{
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    const int queue = found->answer->status >= HTTP_BAD_REQUEST ? CACHE_ERRORS : CACHE_ANSWERS;
    const unsigned uses = route_uses(c, route, hash, &found->stored, queue);
    cache_entry *e = uses ? cache_add(c, &route->at, host->value, host->value_len, h->uri,
                                      h->uri_len, hash, queue)
                          : NULL;

    if (!e)
        return NULL;
    e->uses = (uint8_t)uses;
    cache_limit_variants(c, e);
    if (e->in_cache && !route_fill(c, e, route, bc, h, found) && cache_lifetime_is_current(c, e))
        return e;
    cache_forget(c, e);
    return NULL;
}

/* ---- the answer where it lies ---- */

/* An entry that is in no table: its body is the store's, held until the last byte is sent, its head the store's own text. */
typedef struct route_loan {
    http_stored_head form;
    char text[HTTP_HEAD_ROOM]; /* of form */
    response_cache *of;
    store_view view;
    cache_body body;
    cache_entry entry; /* last */
} route_loan;

_Static_assert(offsetof(route_loan, text) == sizeof(http_stored_head), "its text is behind it");

/* One that ended is kept for the next request. */
static route_loan *route_loan_new(response_cache *c)
{
    route_loan *loan = c->loan ? c->loan : malloc(sizeof *loan);

    c->loan = NULL;
    if (loan)
        cache_clear(&loan->of, sizeof *loan - offsetof(route_loan, of));
    return loan;
}

static void route_loan_end(shared_ref *ref)
{
    route_loan *loan = (route_loan *)(void *)((char *)ref - offsetof(route_loan, entry.ref));

    store_release(&loan->view);
    if (loan->of->routes && !loan->of->loan)
        loan->of->loan = loan;
    else
        free(loan);
}

/* Its body lies in one piece. */
static int route_loan_body(route_loan *loan, uint64_t length)
{
    const char *data;
    int lost;

    loan->body.len = (apr_off_t)length;
    loan->body.fd = -1;
    if (!length)
        return 1;
    loan->entry.body = &loan->body;
    if (store_body(&loan->view, 0, &data, &lost) < length)
        return 0;
    loan->body.data = (char *)(uintptr_t)data; /* nobody writes to it */
    return 1;
}

static void route_count(const cache_entry *e, const cache_stored *stored)
{
    atomic_fetch_add_explicit(stored->hits, 1, memory_order_relaxed);
    figures_add(&e->count->cached, 1);
}

/* Logs see the texts kept of the route, with this answer's own values. */
static struct cache_observed *route_log(const cache_route *route, const cache_found *found)
{
    if (route->log) {
        route->log->uri = found->uri;
        route->log->args = found->args;
        route->log->content_type = found->type;
    }
    return route->log;
}

static cache_entry *route_lend(response_cache *c, const cache_route *route, const brg_conn *bc,
                               const http_codec *codec, cache_found *found)
{
    route_loan *loan = route_loan_new(c);
    cache_entry *e;

    if (!loan)
        return NULL;
    e = &loan->entry;
    e->ref = (shared_ref){1, route_loan_end};
    loan->of = c;
    loan->view = found->view;
    found->view.reader = NULL;
    found->answer->upgrade = route->upgrade;
    e->server = route->server;
    e->head = (cache_head){.answer = found->answer};
    e->head.form[codec->protocol] = codec->serialise(found->answer, &loan->form);
    if (!e->head.form[codec->protocol] || !route_loan_body(loan, found->stored.length)) {
        cache_release(e);
        return NULL;
    }
    e->count = figures_requests(&bc->loop->figures->own, figures_host(route->server),
                                connection_protocol_of(bc));
    e->observed = route->observed & (uint8_t)~CACHE_OBSERVED_BY_STORE;
    e->log = route_log(route, found);
    e->filled = 1;
    cache_set_status(e, found->answer->status);
    route_count(e, &found->stored);
    return e;
}

void cache_route_end(response_cache *c)
{
    cache_entry *e = c->lent;

    c->lent = NULL;
    cache_release(e);
}

cache_entry *cache_route_entry(response_cache *c, const brg_conn *bc, const http_head *h,
                               const http_codec *codec, uint64_t hash)
{
    const cache_place at = cache_place_of(bc);
    const http_field *host = &h->field[h->known[HTTP_F_HOST]];
    const cache_route *route = route_find(c, &at, host->value, host->value_len);
    cache_found found;
    cache_entry *e;

    BRG_ASSERT(!c->lent);
    if (!route || !cache_head_is_plain(h) ||
        !route_seeker->look(route->site, h, c->loop->wall, &found))
        return NULL;
    e = route_copy(c, route, bc, h, hash, &found);
    if (!e)
        e = c->lent = route_lend(c, route, bc, codec, &found);
    if (found.view.reader)
        store_release(&found.view);
    return e;
}
