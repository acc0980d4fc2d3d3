/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of others out of the store (store/store.h): copies of them stand in front of it, in the loop's own table, while
 * they are fresh. Each hit looks whether the store would still give the same object; once a second the fields that tell
 * the time are written anew, and the object itself is looked at.
 */
#include "cache_stored.h"
#include "cache_fill_private.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "brigade/decimal.h"
#include "brigade/memory.h"
#include "http_core.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIFETIME_AGE 24
#define LIFETIME_STATUS 256 /* bytes of Cache-Status */
#define LIFETIME_BEHIND 64
/* a longer one and its added fields find no room */
#define LIFETIME_HEAD_MOST (HTTP_HEAD_ROOM - 512)

struct cache_lifetime {
    cache_stored of;
    apr_time_t from, until; /* of the loop's clock: the fields are right, and it is fresh */
    char age[LIFETIME_AGE];
    char status[LIFETIME_STATUS]; /* Cache-Status, from its ttl on written anew */
    size_t status_len;            /* up to its ttl; 0: it is not told */
    char behind[LIFETIME_BEHIND]; /* text behind the ttl */
};

/* ---- offers of a request ---- */

/* The fields that decide, whatever Vary says, how a stored answer may be used: section 5.2.1 of RFC 9111, and 3.5. */
static int lifetime_is_asked_plainly(const request_rec *r)
{
    return !apr_table_get(r->headers_in, "Cache-Control") &&
           !apr_table_get(r->headers_in, "Pragma") &&
           !apr_table_get(r->headers_in, "Authorization");
}

/* Stands for cache_vary_plain_matches(); nobody's address is asked about. */
apr_int64_t cache_vary_plain(const void *data, apr_sockaddr_t *client)
{
    (void)data;
    (void)client;
    return 0;
}

int cache_vary_plain_matches(const cache_asked *asked)
{
    const int16_t *known = asked->head ? asked->head->known : NULL;

    if (!known)
        return lifetime_is_asked_plainly(asked->r);
    return (known[HTTP_F_CACHE_CONTROL] & known[HTTP_F_PRAGMA] & known[HTTP_F_AUTHORIZATION]) == -1;
}

/* Each field that Vary names, by its value; and the request is plain. 0: it cannot be kept */
static int lifetime_vary(request_rec *r, const cache_stored *stored)
{
    apr_array_header_t *list = cache_vary_wishes(r);

    if (!list)
        return 0;
    APR_ARRAY_PUSH(list, vary_wish) = (vary_wish){.client = cache_vary_plain};
    for (const char *const *name = stored->vary; name && *name; name++)
        brg_cache_vary(r, *name, NULL, NULL);
    return 1;
}

void cache_offer_stored(request_rec *r, const cache_stored *stored)
{
    response_cache *c = loop_self() ? cache_store_cache() : NULL;
    request_offer *offer;

    BRG_ASSERT(stored->places_n > 0 && stored->view->reader == stored->reader);
    if (!c || c->is_workers || !cache_request_is_plain(r) || !lifetime_is_asked_plainly(r) ||
        (apr_off_t)stored->length > core_conf_of(r->server)->file_cache_max_file_bytes ||
        stored->view->head_len > LIFETIME_HEAD_MOST || r->no_cache || !brg_output_is_plain(r) ||
        !lifetime_vary(r, stored) || !(offer = request_offer_begin(r)))
        return;
    offer->stored = stored;
    offer->len = (apr_size_t)stored->length;
    offer->etag = apr_table_get(r->headers_out, "ETag");
    if (offer->etag && *offer->etag != '"')
        offer->etag = NULL; /* a weak one is compared on the full way */
}

/* Of a target each variant has to be asked for more than once by itself: there may be many. */
uint64_t cache_lifetime_hash(uint64_t hash, const cache_stored *stored)
{
    return stored->places_n > 1 ? hash ^ stored->place[1].value * 0x9e3779b97f4a7c15ull : hash;
}

const char *cache_lifetime_fingerprint(apr_pool_t *p, const cache_stored *stored)
{
    const store_place *place = stored->place;

    return apr_psprintf(p, "%" APR_UINT64_T_HEX_FMT " %" APR_UINT64_T_HEX_FMT, place[0].value,
                        place[stored->places_n - 1].value);
}

int cache_lifetime_is_of(const cache_entry *e, const request_rec *r)
{
    const cache_stored *stored = request_offer_of(r)->stored, *of;

    if (!e->lifetime || !stored)
        return !e->lifetime == !stored;
    of = &e->lifetime->of;
    return of->places_n == stored->places_n && of->place[0].slot == stored->place[0].slot &&
           of->place[0].value == stored->place[0].value &&
           of->place[of->places_n - 1].value == stored->place[of->places_n - 1].value;
}

/* ---- an entry ---- */

int cache_lifetime_arm(cache_entry *e, const cache_stored *stored)
{
    BRG_ASSERT(!e->lifetime && stored->terms.lifetime > 0);
    e->lifetime = cache_new(sizeof *e->lifetime);
    if (!e->lifetime)
        return -1;
    e->lifetime->of = *stored;
    e->lifetime->of.view = NULL; /* that is the request's */
    e->lifetime->of.vary = NULL;
    e->source = CACHE_SOURCE_LIFETIME;
    return 0;
}

void cache_lifetime_drop(cache_entry *e)
{
    free(e->lifetime);
    e->lifetime = NULL;
}

size_t cache_lifetime_bytes(const cache_entry *e)
{
    return e->lifetime ? cache_block(sizeof *e->lifetime) : 0;
}

/* "ttl=" of the last member: that of this cache. */
static const char *lifetime_ttl(const char *value)
{
    const char *last = NULL;

    for (const char *p = value; (p = strstr(p, "ttl=")) != NULL; p += 4)
        last = p + 4;
    return last;
}

/* -1: it is too long, or tells no ttl */
static int lifetime_take_status(cache_lifetime *l, http_answer_field *f)
{
    const char *ttl = lifetime_ttl(f->value), *behind = ttl ? ttl + strspn(ttl, "0123456789") : "";

    if (!ttl || strlen(behind) >= sizeof l->behind ||
        strlen(f->value) + LIFETIME_AGE > sizeof l->status)
        return -1;
    l->status_len = (size_t)(ttl - f->value);
    memcpy(l->status, f->value, l->status_len);
    memcpy(l->behind, behind, strlen(behind) + 1);
    f->value = l->status;
    return 0;
}

/* The fields of a head that tell the time lead into the lifetime from now on. */
int cache_lifetime_take_head(cache_entry *e, cache_head *head)
{
    cache_lifetime *l = e->lifetime;
    http_answer *a = head->answer;

    BRG_ASSERT(l && a);
    l->until = 0; /* they are written before they are used */
    for (int i = 0; i < a->n_fields; i++) {
        http_answer_field *f = a->field + i;

        if ((f->name[0] | 0x20) == 'a' && !strcasecmp(f->name, "Age"))
            f->value = l->age;
        else if (l->of.tells_ttl && !strcasecmp(f->name, "Cache-Status") &&
                 lifetime_take_status(l, f))
            return -1;
    }
    return 0;
}

/* The fields that tell the time have another text now. */
static void lifetime_head_changed(const cache_lifetime *l, cache_head *head)
{
    for (int i = 0; i < CONN_PROTOCOLS; i++) {
        free(head->form[i]);
        head->form[i] = NULL;
    }
    for (int i = 0; head->answer && i < head->answer->n_fields; i++) {
        http_answer_field *f = head->answer->field + i;

        if (f->value == l->age || f->value == l->status)
            f->value_len = (uint32_t)strlen(f->value);
    }
}

static void lifetime_write(cache_entry *e, apr_time_t now)
{
    cache_lifetime *l = e->lifetime;
    char *to = l->age;

    to[brg_decimal_put(to, fresh_age(&l->of.terms, now))] = '\0';
    if (l->status_len) {
        to = l->status + l->status_len;
        to += brg_decimal_put(to, (apr_uint64_t)fresh_left(&l->of.terms, now));
        memcpy(to, l->behind, strlen(l->behind) + 1);
    }
    lifetime_head_changed(l, &e->head);
    lifetime_head_changed(l, &e->head_304);
}

/* The second is over, or the clock was set. */
static int __attribute__((noinline)) lifetime_renew(cache_entry *e, apr_time_t now)
{
    cache_lifetime *l = e->lifetime;
    const fresh_terms *terms = &l->of.terms;
    const apr_time_t resident = now > terms->stored ? now - terms->stored : 0, end = l->of.until;

    BRG_ASSERT(l->of.places_n <= CACHE_STORED_PLACES);
    if (now >= end)
        return 0;
    for (int i = 0; i < l->of.places_n; i++)
        if (!store_place_look(l->of.reader, &l->of.place[i]))
            return 0;
    lifetime_write(e, now);
    l->from = now;
    l->until = now + APR_USEC_PER_SEC - resident % APR_USEC_PER_SEC;
    if (l->until > end)
        l->until = end;
    return 1;
}

int cache_lifetime_is_current(response_cache *c, cache_entry *e)
{
    cache_lifetime *l = e->lifetime;
    const apr_time_t now = c->loop->wall;

    if (now < l->from || now >= l->until)
        return lifetime_renew(e, now);
    for (int i = 0; i < l->of.places_n; i++)
        if (!store_place_holds(l->of.reader, &l->of.place[i]))
            return 0;
    return 1;
}

void cache_lifetime_used(const cache_entry *e)
{
    const cache_stored *of = &e->lifetime->of;

    for (int i = 0; i < of->places_n; i++)
        store_place_hit(&of->place[i]);
    atomic_fetch_add_explicit(of->hits, 1, memory_order_relaxed);
    figures_add(&e->count->cached, 1);
}

/* ---- its body ---- */

int cache_lifetime_body(const cache_stored *stored, char *data)
{
    uint64_t at = 0;
    const char *p;
    size_t n;
    int lost;

    while (at < stored->length && (n = store_body(stored->view, at, &p, &lost)) > 0) {
        n = n > stored->length - at ? (size_t)(stored->length - at) : n;
        memcpy(data + at, p, n);
        at += n;
    }
    brg_buffer_copied((apr_size_t)at);
    return at < stored->length ? -1 : 0;
}

cache_body *cache_lifetime_take_body(response_cache *c, const cache_stored *stored)
{
    cache_body *body = cache_body_create_empty(c, (size_t)stored->length);

    BRG_ASSERT(stored->length > 0);
    if (!body)
        return NULL;
    brg_buffer_created();
    if (!cache_lifetime_body(stored, body->data))
        return body;
    cache_body_put(body);
    return NULL;
}
