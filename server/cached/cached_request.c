/* SPDX-License-Identifier: Apache-2.0 */
/* A request as the cache sees it: its key, its stored answer, and how that may be used. */
#include "cached_named_private.h"
#include "cached_part_private.h"
#include "cached_litespeed_private.h"
#include "fresh_vary.h"
#include "request_wait.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(cache);

/* Fields by which a request asks on conditions. They are put away while the backend is asked with those of the store. */
static const char *const cached_conditions[] = {
    "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Range", "If-Range"};
#define CONDITIONS (sizeof cached_conditions / sizeof *cached_conditions)
_Static_assert(CONDITIONS == sizeof((cached_request *)0)->ask.own / sizeof(const char *),
               "one place each");

cached_request *cached_of(const request_rec *r)
{
    return cache_module.module_index < 0 ? NULL
                                         : ap_get_module_config(r->request_config, &cache_module);
}

/* ---- the key ---- */

#define CACHED_KEY_ADDS 1024 /* most bytes of CacheKey */

/* Whether the host of an absolute target counts: to a server as its own scheme alone, else the Host field leads to the virtual host. */
static int request_target_has_host(const request_rec *r)
{
    return r->parsed_uri.hostname && (r->proxyreq == PROXYREQ_PROXY || !r->parsed_uri.scheme ||
                                      !strcasecmp(r->parsed_uri.scheme, ap_http_scheme(r)));
}

/* The host and port that the client named, so that answers to different ones are never mixed up. */
const char *cached_request_authority(request_rec *r)
{
    const char *host = apr_table_get(r->headers_in, "Host");

    if (request_target_has_host(r))
        return r->parsed_uri.port_str && *r->parsed_uri.port_str
                   ? apr_pstrcat(r->pool, r->parsed_uri.hostname, ":", r->parsed_uri.port_str, NULL)
                   : r->parsed_uri.hostname;
    if (host && *host)
        return host;
    return apr_psprintf(r->pool, "%s:%u", r->hostname ? r->hostname : r->server->server_hostname,
                        ap_get_server_port(r));
}

const char *cached_request_path(const request_rec *r)
{
    const char *at = r->unparsed_uri, *authority = at && *at != '/' ? strstr(at, "://") : NULL;

    if (authority)
        at = authority + 3 + strcspn(authority + 3, "/?#");
    if (!at || (!authority && *at != '/'))
        return r->parsed_uri.path ? r->parsed_uri.path : r->uri;
    return *at == '/' ? apr_pstrmemdup(r->pool, at, strcspn(at, "?#")) : "/";
}

/* Behind a blank, which no target has. */
static void request_adds(cached_request *q, const char *word, const char *value)
{
    BRG_ASSERT(q->key.text_len >= q->key.target_len && word[0] == ' ');
    q->key.text = apr_pstrcat(q->r->pool, apr_pstrmemdup(q->r->pool, q->key.text, q->key.text_len),
                              word, value, NULL);
    q->key.text_len = (uint32_t)strlen(q->key.text);
}

/* What CacheKey adds. @return 0: too long, or no value */
static int request_key_adds(cached_request *q)
{
    const ap_expr_info_t *key = cached_server_of(q->first->server)->key;
    const char *error = NULL, *value;

    if (!key || q->request.method == FRESH_UNSAFE)
        return 1;
    value = ap_expr_str_exec(q->first, key, &error);
    if (error || strlen(value) > CACHED_KEY_ADDS)
        return 0;
    request_adds(q, " KEY ", value);
    return 1;
}

int cached_request_key(cached_request *q, const unsigned char *digest)
{
    request_rec *r = q->first;
    const char *authority = cached_request_authority(r);
    const fresh_target target = {
        .scheme = r->proxyreq == PROXYREQ_PROXY && r->parsed_uri.scheme ? r->parsed_uri.scheme
                                                                        : ap_http_scheme(r),
        .authority = authority,
        .authority_len = strlen(authority),
        .body_hash = digest,
        .base = r->proxyreq == PROXYREQ_PROXY ? NULL : cached_server_of(r->server)->base};
    uint32_t len;
    const cached_server *s = q->ls ? q->ls->keys : cached_server_of(r->server);
    const char *text =
        cached_key_text(r->pool, s, &target, cached_request_path(r), r->parsed_uri.query, &len);
    if (!text)
        return 0;
    q->key.text = text;
    q->key.text_len = len;
    q->key.target_len = (uint32_t)fresh_key_target(text, len);
    q->key.site = q->request.method == FRESH_UNSAFE || r->proxyreq == PROXYREQ_PROXY
                      ? NULL
                      : cached_site_of(r->server, authority);
    if (q->key.site) {
        request_adds(q, CACHED_KEY_SITE, q->key.site);
        q->key.site_len = q->key.text_len - len;
    } else if (s->search == CACHED_ON && !digest)
        cached_search_find(q);
    if (!q->ls && !request_key_adds(q))
        return 0;
    q->key.hash = store_key_of(cached_store(), q->key.text, q->key.text_len, NULL, 0);
    q->key.target = store_key_of(cached_store(), q->key.text, q->key.target_len, NULL, 0);
    if (q->ls)
        cached_ls_use_key(q, CACHED_LS_PUBLIC);
    return 1;
}

/* ---- its life ---- */

static apr_status_t request_pool_ends(void *baton)
{
    cached_request_end(baton);
    return APR_SUCCESS;
}

static void request_read(cached_request *q)
{
    request_rec *r = q->r;
    http_field *field;
    const uint32_t n = cached_fields(r->pool, r->headers_in, &field);
    const fresh_head head = {
        .field = field, .n = n, .method = r->method, .method_len = (uint32_t)strlen(r->method)};

    fresh_request_read(&q->request, &head);
    q->request.has_query = q->first->parsed_uri.query != NULL;
}

int cached_is_part(const request_rec *r)
{
    for (const ap_filter_t *f = r->main ? r->output_filters : NULL; f; f = f->next)
        if (f->frec == ap_subreq_core_filter_handle)
            return 1;
    return 0;
}

/* Conditions and ranges of the client are about the page, and not about this part of it. */
static void request_is_whole(request_rec *r)
{
    for (size_t i = 0; i < CONDITIONS; i++)
        apr_table_unset(r->headers_in, cached_conditions[i]);
}

/* CacheMethods; methods that change their target are always looked at. */
static int request_method_is_for_cache(const request_rec *r, fresh_method method)
{
    const uint8_t named = cached_section_of(r)->methods;

    switch (method) {
    case FRESH_GET:
    case FRESH_HEAD:
        return !named || (named & CACHED_M_GET);
    case FRESH_QUERY:
        return named & CACHED_M_QUERY;
    case FRESH_UNSAFE:
        return strcmp(r->method, "CONNECT") != 0;
    default:
        return 0;
    }
}

/* The backend is asked for another host than the key would name: it may make an answer of its own address, or of ServerName. */
static int request_has_no_host(const request_rec *r)
{
    const char *host = apr_table_get(r->headers_in, "Host");

    return (!host || !*host) && !request_target_has_host(r);
}

/* "Host: good:80" is the host of the key, and another one to who makes the answer: it may be sent on to good, which were a circle for all. */
static int request_names_usual_port(request_rec *r)
{
    const char *port = strrchr(cached_request_authority(r), ':');

    return port && !strcmp(port, strcmp(ap_http_scheme(r), "https") ? ":80" : ":443");
}

/* Its Connection names a field that it has: the key is made with that, and the backend asked without it. */
static int request_takes_back(const request_rec *r)
{
    static const char *const usual[] = {"Upgrade", "TE", "Keep-Alive", "Connection",
                                        "HTTP2-Settings"};
    const char *rest = apr_table_get(r->headers_in, "Connection"), *name;

    while (rest && *(name = ap_get_token(r->pool, &rest, 0)) != '\0') {
        size_t i = 0;

        while (i < sizeof usual / sizeof *usual && strcasecmp(name, usual[i]) != 0)
            i++;
        if (i == sizeof usual / sizeof *usual && apr_table_get(r->headers_in, name))
            return 1;
        rest += strcspn(rest, ",");
        rest += *rest == ',';
    }
    return 0;
}

/* Requests from the network, of methods that a cache has to do with; parts of pages. Rules of folders may lead to another URL. */
static int request_is_for_cache(const request_rec *r, const request_rec *first)
{
    const fresh_method method = fresh_method_of(r->method, strlen(r->method));

    if (r->main)
        return cached_is_part(r) && method == FRESH_GET && cached_is_led(r);
    return !r->assbackwards && cached_is_led(r) && request_method_is_for_cache(first, method);
}

cached_request *cached_request_begin(request_rec *r)
{
    request_rec *first = cached_first(r);
    cached_place *place = request_is_for_cache(r, first) ? cached_place_here() : NULL;
    cached_request *q;

    if (!place)
        return NULL;
    q = apr_pcalloc(r->pool, sizeof *q);
    q->r = r;
    q->first = first;
    if (r->main)
        request_is_whole(r);
    cached_policy(cached_server_of(first->server), cached_section_of(first), &q->policy);
    request_read(q);
    if (q->request.method != FRESH_UNSAFE &&
        (request_has_no_host(first) || request_names_usual_port(first) || request_takes_back(r)))
        return NULL;
    cached_ls_begin(q);
    if (!cached_request_key(q, NULL))
        return NULL;
    if (q->request.method != FRESH_UNSAFE)
        cached_noise_leave(r, first, q->ls ? q->ls->keys : cached_server_of(first->server));
    cached_sizes(first, &q->least, &q->most);
    q->save.place = place;
    cached_request_answers(q, r);
    apr_pool_cleanup_register(r->pool, q, request_pool_ends, apr_pool_cleanup_null);
    return q;
}

void cached_drop(cached_request *q)
{
    cached_part_drop(q);
    store_release(&q->found.view);
    q->found.use = FRESH_FETCH;
}

/* 1 if some request waits for the flight of this one. */
static int request_has_followers(void *baton)
{
    const cached_request *q = baton;
    uint64_t rows[CACHED_ROWS / 64];
    const size_t words = q->lead.flight
                             ? store_flight_waiters(cached_reader(q->save.place), q->lead.flight,
                                                    rows, CACHED_ROWS / 64)
                             : 0;

    for (size_t i = 0; i < words; i++)
        if (rows[i])
            return 1;
    return 0;
}

void cached_stay(cached_request *q, int on)
{
    if (on || q->lead.stays)
        q->lead.stays =
            (uint8_t)(request_wait_stays(q->r, on ? request_has_followers : NULL, q) && on);
}

void cached_land(cached_request *q, int pass)
{
    const uint32_t flight = q->lead.flight;

    if (!flight)
        return;
    q->lead.flight = 0;
    cached_stay(q, 0);
    /* Woken before the flight's entry may have another use, and after that for late followers. */
    cached_wake(q->save.place, flight);
    store_flight_end(cached_reader(q->save.place), flight,
                     pass ? brg_now() + apr_time_from_sec(10) : 0);
    cached_wake(q->save.place, flight);
}

void cached_request_end(cached_request *q)
{
    if (q->follow.at)
        cached_follower_remove(q->follow.at, q);
    cached_stay(q, 0);
    if (q->save.writer) {
        q->lead.flight = 0;
        cached_lock(q->save.place);
        store_write_give_up(&q->save.writer);
        cached_unlock(q->save.place);
    }
    cached_land(q, 0);
    cached_refresh_end(q);
    if (q->r->main)
        cached_count(q); /* nothing is logged of it */
    cached_part_drop(q);
    store_release(&q->found.view);
    BRG_ASSERT(!q->save.writer && !q->lead.flight && !q->found.view.reader && !q->follow.prev);
}

/* ---- the stored answer ---- */

int cached_open(cached_request *q, const store_view *view)
{
    const char *head = apr_pmemdup(q->r->pool, view->head, view->head_len);

    BRG_ASSERT(!q->found.view.reader && view->reader); /* a view is released before the next */

    memcpy(&q->found.terms, view->terms, sizeof q->found.terms);
    if (cached_head_read(q->r->pool, head, view->head_len, &q->found.stored) ||
        q->found.terms.code < 200 || q->found.terms.code > 599)
        return 0;
    q->found.stored.head.code = q->found.terms.code;
    q->found.view = *view;
    q->found.soft = view->soft;
    return 1;
}

_Static_assert(sizeof(fresh_terms) == STORE_TERMS, "terms lie in the store as they are");

static void request_variant(cached_request *q, const char *names, apr_size_t len)
{
    fresh_text text = {.room = FRESH_VARIANT_MOST};

    text.at = apr_palloc(q->r->pool, text.room);
    fresh_variant(&text, names, len, &q->request.head);
    q->key.has_variant = !text.over;
    q->key.variant_text = text.at;
    q->key.variant_text_len = (uint32_t)text.len;
    if (q->key.has_variant)
        q->key.variant =
            store_key_of(cached_store(), q->key.text, q->key.text_len, text.at, text.len);
}

/* Names of the fields of Vary lead to the variant for this request. */
static int request_find_variant(cached_request *q, store_reader *reader, store_found *found)
{
    char *names = apr_pstrmemdup(q->r->pool, found->view.head, found->view.head_len);
    const apr_size_t len = found->view.head_len;

    q->found.places[q->found.places_n++] = found->place;
    q->key.names = names;
    store_release(&found->view);
    if (len > FRESH_VARY_TEXT)
        return 0;
    request_variant(q, names, len);
    if (!q->key.has_variant)
        return 0;
    return store_find(reader, &q->key.variant, brg_now(), found);
}

void cached_find(cached_request *q)
{
    store_reader *reader = cached_reader(cached_place_here());
    store_found found;
    const int is_first = !q->found.known; /* after a wait it does not fetch ahead */
    int any;

    BRG_ASSERT(!q->found.view.reader);
    q->found.known = 1;
    cached_part_drop(q);
    q->key.has_variant = 0;
    q->found.places_n = 0;
    q->key.names = NULL;
    any = store_find(reader, &q->key.hash, brg_now(), &found);
    if (any && found.view.reader && found.view.vary)
        any = request_find_variant(q, reader, &found);
    q->found.alone = any && found.pass;
    if (any && found.view.reader) {
        q->found.places[q->found.places_n++] = found.place;
        if (!cached_open(q, &found.view))
            store_release(&found.view);
    }
    q->found.use = (uint8_t)fresh_use_now(q->found.view.reader ? &q->found.terms : NULL,
                                          &q->request, &q->policy, brg_now());
    if (q->found.view.reader && q->found.soft &&
        (q->found.use == FRESH_SERVE || q->found.use == FRESH_SERVE_STALE))
        q->found.use = FRESH_VALIDATE;
    if (q->found.view.reader && (q->found.terms.flags & FRESH_T_PARTIAL)) {
        if (cached_part_found(q, q->key.has_variant ? &q->key.variant : &q->key.hash))
            return;
        q->found.use = (uint8_t)fresh_use_now(NULL, &q->request, &q->policy, brg_now());
    }
    q->found.ahead = (uint8_t)(is_first && cached_refresh_is_due(q) && !found.flight);
    if (q->found.ahead)
        q->found.use = FRESH_VALIDATE;
    if (q->found.use == FRESH_VALIDATE && q->found.view.reader &&
        (q->found.terms.flags & FRESH_T_COMPOSED))
        q->found.use = FRESH_FETCH;
    /* no-cache: the stored object has no say in the answer, as with Apache. */
    if (q->found.use == FRESH_VALIDATE && (q->request.cc.has & FRESH_CC_NO_CACHE) &&
        !q->policy.ignore_request)
        q->found.use = FRESH_FETCH;
    /* While it is validated for one, the others have the stale one: RFC 5861, 3. */
    if (q->found.use == FRESH_SERVE_REFRESH && !found.flight)
        q->found.use = FRESH_VALIDATE;
}

/* ---- conditions ---- */

void cached_ask_own(cached_request *q)
{
    apr_table_t *in = q->r->headers_in;
    fresh_validators v;

    if (q->ask.put_away || !fresh_condition(&v, &q->found.stored.head))
        return;
    q->ask.put_away = 1;
    for (size_t i = 0; i < CONDITIONS; i++) {
        q->ask.own[i] = apr_table_get(in, cached_conditions[i]);
        apr_table_unset(in, cached_conditions[i]);
    }
    if (v.tag_len)
        apr_table_setn(in, "If-None-Match", apr_pstrmemdup(q->r->pool, v.tag, v.tag_len));
    if (v.modified_len)
        apr_table_setn(in, "If-Modified-Since",
                       apr_pstrmemdup(q->r->pool, v.modified, v.modified_len));
    q->phase = CACHED_VALIDATES;
}

void cached_ask(cached_request *q)
{
    if (q->found.use == FRESH_VALIDATE)
        cached_ask_own(q);
    else
        cached_ask_rest(q);
}

void cached_ask_restore(cached_request *q)
{
    apr_table_t *in = q->r->headers_in;

    cached_rest_restore(q);
    if (!q->ask.put_away)
        return;
    q->ask.put_away = 0;
    for (size_t i = 0; i < CONDITIONS; i++) {
        apr_table_unset(in, cached_conditions[i]);
        if (q->ask.own[i])
            apr_table_setn(in, cached_conditions[i], q->ask.own[i]);
    }
}
