/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's own cache stands in front of the store. A hit that later requests of its kind would get, too, is offered to it; a hit
 * for a part of a page is noted as a part of that page. */
#include "cached_litespeed_private.h"
#include "cache_gate.h"
#include "conn.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "apr_strings.h"

/* Fresh, and for every client: the loop's cache does not look at wishes of single requests. */
static int front_is_for_all(const cached_request *q)
{
    return q->found.use == FRESH_SERVE && q->outcome == CACHED_FROM_STORE && !q->found.soft &&
           !q->follow.flight && (q->quick || (q->ls && cached_ls_is_usual(q))) &&
           q->found.places_n && !q->request.cc.has && !q->request.authorized &&
           q->key.text_len <= q->key.target_len + q->key.site_len;
}

/* A request of LiteSpeedCache that has a session, to whom PHP's answer for all is not sent, or whom rules of its folder told apart, takes
 * the full way. */
static int front_admits(const void *data, uint64_t fixed, const transaction *t)
{
    const char *cookies;
    const apr_ssize_t len = transaction_field(t, HTTP_F_COOKIE, "Cookie", 6, &cookies);

    (void)fixed;
    return !len || (len > 0 && cached_ls_is_for_all(data, cookies, (size_t)len));
}

/* Stored heads have none of the fields that it takes away. */
static void front_ls_filter_ends(request_rec *r)
{
    for (ap_filter_t *f = r->output_filters, *next; f; f = next) {
        next = f->next;
        if (f->frec == cached_ls_filter_rec)
            ap_remove_output_filter(f);
    }
}

void cached_offer(cached_request *q)
{
    const cached_server *server = cached_server_of(q->first->server);
    cached_place *here = cached_place_here();
    cache_stored *stored;
    apr_time_t until;
    uint64_t length;

    if (!front_is_for_all(q) || !conn_on_loop() || here != q->save.place ||
        !cached_count_hits(here))
        return;
    BRG_ASSERT(q->found.places_n <= CACHE_STORED_PLACES && q->found.view.reader);
    until = cached_refresh_of(cached_section_of(q->first), &q->found.terms);
    if (store_view_state(&q->found.view, &length) != STORE_COMPLETE || brg_now() >= until)
        return;
    stored = apr_pcalloc(q->r->pool, sizeof *stored);
    *stored = (cache_stored){.view = &q->found.view,
                             .length = length,
                             .reader = cached_reader(here),
                             .places_n = q->found.places_n,
                             .terms = q->found.terms,
                             .until = until,
                             .vary = cached_names_of(q->r->pool, q->key.names),
                             .hits = cached_count_hits(here),
                             .led_to = !q->quick,
                             .tells_ttl = cached_section_of(q->first)->standard == CACHED_ON};
    for (int i = 0; i < q->found.places_n; i++)
        stored->place[i] = q->found.places[i];
    q->found.offered = 1;
    if (q->ls) {
        front_ls_filter_ends(q->r);
        cache_gate(q->r, front_admits, CACHE_GATE_ANSWER, server, 0);
    }
    if (q->r->main)
        cache_note_part(q->r, stored);
    else
        cache_offer_stored(q->r, stored);
}
