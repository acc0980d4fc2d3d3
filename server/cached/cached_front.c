/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's own cache stands in front of the store. A hit that later requests of its kind would get, too, is offered to it; a hit
 * for a part of a page is noted as a part of that page. */
#include "cached_private.h"
#include "cache_gate.h"
#include "conn.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "apr_strings.h"

/* NULL-terminated. */
static const char *const *front_names(const cached_request *q)
{
    apr_array_header_t *names = apr_array_make(q->r->pool, 4, sizeof(const char *));
    const char *rest = q->names;
    char *name;

    while (rest && *(name = ap_getword(q->r->pool, &rest, ',')) != '\0')
        APR_ARRAY_PUSH(names, const char *) = name;
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)(const void *)names->elts;
}

/* Fresh, and for every client: the loop's cache does not look at wishes of single requests. */
static int front_is_for_all(const cached_request *q)
{
    return q->use == FRESH_SERVE && q->outcome == CACHED_FROM_STORE && !q->soft && !q->follows &&
           q->places_n && !q->request.cc.has && !q->request.authorized;
}

/* A request with a cookie of CacheBypassCookies takes the full way. */
static int front_admits(const void *data, uint64_t fixed, const transaction *t)
{
    const char *cookies;
    const apr_ssize_t len = transaction_field(t, HTTP_F_COOKIE, "Cookie", 6, &cookies);

    (void)fixed;
    return !len || (len > 0 && !cached_cookie_is(data, cookies, (size_t)len));
}

void cached_offer(cached_request *q)
{
    cached_place *here = cached_place_here();
    cache_stored *stored;
    apr_time_t until;
    uint64_t length;

    if (!front_is_for_all(q) || q->text_len > q->target_len || !conn_on_loop() ||
        here != q->place || !cached_count_hits(here))
        return;
    BRG_ASSERT(q->places_n <= CACHE_STORED_PLACES && q->view.reader);
    until = cached_refresh_of(cached_section_of(q->first), &q->terms);
    if (store_view_state(&q->view, &length) != STORE_COMPLETE || brg_now() >= until)
        return;
    stored = apr_pcalloc(q->r->pool, sizeof *stored);
    *stored = (cache_stored){.view = &q->view,
                             .length = length,
                             .reader = cached_reader(here),
                             .places_n = q->places_n,
                             .terms = q->terms,
                             .until = until,
                             .vary = q->names ? front_names(q) : NULL,
                             .hits = cached_count_hits(here),
                             .tells_ttl = cached_section_of(q->first)->standard == CACHED_ON};
    for (int i = 0; i < q->places_n; i++)
        stored->place[i] = q->places[i];
    q->offered = 1;
    if (cached_server_of(q->first->server)->bypass_cookies)
        cache_gate(q->r, front_admits, cached_server_of(q->first->server)->bypass_cookies, 0);
    if (q->r->main)
        cache_note_part(q->r, stored);
    else
        cache_offer_stored(q->r, stored);
}
