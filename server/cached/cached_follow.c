/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fetch for many. The first request for an object that is not stored leads: its handler is asked. The others wait on their
 * loops, and get the body while it comes (cached_growing.c). If the lead fails, one of them leads.
 */
#include "cached_below_private.h"
#include "cached_save_private.h"
#include "conn.h"
#include "request_wait.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "http_request.h"
#include <string.h>

#define FOLLOW_ROUNDS 3

static int follow_run(cached_request *q);

/* Handlers that run on loops may go on there after a wait. Of handlers that run on workers only
 * requests to backends may. */
static int follow_may_wait(request_rec *r)
{
    const int proxied =
        r->proxyreq != PROXYREQ_NONE || (r->handler && !strncmp(r->handler, "proxy:", 6));

    return brg_wait_possible(r) && (conn_on_loop() || (proxied && !brg_request_may_wait(r)));
}

static void follow_leave(cached_request *q)
{
    if (q->follow.at)
        cached_follower_remove(q->follow.at, q);
    q->follow.at = NULL;
    q->follow.waiting = NULL;
}

static int follow_go_on(request_rec *r, void *baton, int came)
{
    cached_request *q = baton;
    int status;

    (void)came;
    BRG_ASSERT(q->r == r);
    follow_leave(q);
    status = follow_run(q);
    if (status != DECLINED)
        return status;
    cached_ask(q);
    return ap_run_handler(r);
}

static void follow_gone(request_rec *r, void *baton)
{
    (void)r;
    follow_leave(baton);
}

int cached_follow_wait(cached_request *q, int room)
{
    const brg_wait_for wanted = {.fd = -1,
                                 .timeout = apr_time_from_sec(1),
                                 .room = room != 0,
                                 .waiting = &q->follow.waiting};
    const int status = brg_wait(q->r, &wanted, follow_go_on, follow_gone, q);

    if (status != SUSPENDED)
        return status;
    if (!conn_on_loop()) {
        brg_wait_resume(q->follow.waiting); /* goes on on its loop */
    } else if (!room) {
        BRG_ASSERT(!q->follow.at && !q->follow.prev); /* follow_leave() */
        q->follow.at = cached_place_here();
        cached_follower_add(q->follow.at, q);
    }
    return status;
}

void cached_followers_look(cached_request *first)
{
    if (first)
        cached_tier_watch();
    for (cached_request *q = first; q; q = q->follow.next) {
        store_reader *reader = cached_reader(q->follow.at);
        uint64_t length = 0;

        BRG_ASSERT(q->follow.waiting);
        BRG_ASSERT(*q->follow.prev == q && q->follow.at);
        if (q->follow.grows ? store_view_state(&q->found.view, &length) != STORE_WRITING ||
                                  length > q->follow.sent
                            : store_flight_look(reader, q->follow.flight, &q->follow.key, NULL) !=
                                  STORE_FLIGHT_WAITS)
            request_wait_came(q->follow.waiting);
    }
}

/* ---- waiting for a head ---- */

/* It asks for an answer of its own (no-cache, no-store): it may lead, and does not follow. */
static int follow_wants_own(const cached_request *q)
{
    return !q->policy.ignore_request &&
           (q->request.cc.has & (FRESH_CC_NO_CACHE | FRESH_CC_NO_STORE));
}

/* Another machine may have a fresher one, and this client would have to wait for a validation. */
static int follow_may_be_fresher(const cached_request *q)
{
    return !q->found.view.reader ||
           (q->found.use == FRESH_VALIDATE && !q->found.soft && !q->found.ahead &&
            fresh_use_now(&q->found.terms, &q->request, &q->policy, brg_now()) == FRESH_VALIDATE);
}

/* 1 if it lies below memory, or may do so, and the request may have it from there. */
static int follow_is_below(const cached_request *q, const store_key *key)
{
    if (follow_wants_own(q))
        return 0;
    if (q->tier == CACHED_DISK)
        return !q->found.view.reader && cached_disk_has(key);
    return q->tier == CACHED_SOCACHE && !q->found.asked_tier && follow_may_be_fresher(q) &&
           cached_tier_answers();
}

static cached_tier_name follow_name(const cached_request *q, const store_key *key)
{
    return (cached_tier_name){.key = *key,
                              .text = q->key.text,
                              .variant = q->key.variant_text,
                              .text_len = q->key.text_len,
                              .variant_len = q->key.has_variant ? q->key.variant_text_len : 0};
}

static int follow_from_below(cached_request *q, const store_key *key, uint32_t flight)
{
    const cached_tier_name name = follow_name(q, key);

    if (!follow_is_below(q, key))
        return 0;
    if (q->tier == CACHED_DISK)
        return cached_disk_fetch(key, flight);
    q->found.asked_tier = 1;
    return cached_tier_fetch(&name, q->found.view.reader != NULL, flight);
}

/* The same by a worker, which waits. */
static int lead_fetch_wait(cached_request *q, const store_key *key, uint32_t flight)
{
    const cached_tier_name name = follow_name(q, key);

    if (q->tier == CACHED_DISK)
        return cached_disk_fetch_wait(key, flight);
    q->found.asked_tier = 1;
    return cached_tier_fetch_wait(&name, q->found.view.reader != NULL, flight);
}

static int follow_begin(cached_request *q)
{
    const store_key key = q->key.has_variant ? q->key.variant : q->key.hash;
    uint32_t flight;

    BRG_ASSERT(!q->lead.flight); /* a leader follows nobody */
    q->save.place = cached_place_here();
    switch (store_flight_begin(cached_reader(q->save.place), &key, store_mark_of_key(&q->key.hash),
                               brg_now(), &flight)) {
    case STORE_LEAD:
        if (follow_from_below(q, &key, flight)) {
            q->follow.flight = flight;
            q->follow.key = key;
            return OK;
        }
        q->lead.flight = flight;
        q->lead.key = key;
        cached_stay(q, 1);
        q->ask.epoch = store_epoch(cached_store());
        q->ask.at = brg_now();
        return DECLINED;
    case STORE_FOLLOW:
        q->follow.flight = flight;
        q->follow.key = key;
        return OK;
    default:
        q->found.alone = 1;
        return DECLINED;
    }
}

/* It ended with an object: is it for this request? */
static int follow_done(cached_request *q, int *status)
{
    const int had_variant = q->key.has_variant;

    cached_drop(q);
    cached_find(q);
    if (cached_serves(q->found.use)) {
        *status = cached_serve(q, cached_filters_behind(q->r), "cache hit", 0);
        return 0;
    }
    /* The names of Vary's fields came from below: the variant may lie there, too. */
    if (!had_variant && q->key.has_variant && !q->found.view.reader) {
        q->found.asked_tier = 0;
        *status = follow_begin(q);
        return *status == OK;
    }
    q->found.alone = 1; /* it does not wait once more */
    *status = DECLINED;
    return 0;
}

/* @return 1: look again; 0: *status */
static int follow_again(cached_request *q, int *status)
{
    q->follow.flight = 0;
    if (q->tier == CACHED_SOCACHE && !q->found.asked_tier)
        q->found.asked_tier = 1; /* that was another one's look-up, which found nothing */
    else if (++q->follow.rounds > FOLLOW_ROUNDS)
        q->found.alone = 1;
    /* Meanwhile it may be there, or be known to have variants. */
    cached_drop(q);
    cached_find(q);
    if (cached_serves(q->found.use)) {
        *status = cached_serve(q, cached_filters_behind(q->r), "cache hit", 0);
        return 0;
    }
    *status = q->found.alone ? DECLINED : follow_begin(q);
    return *status == OK;
}

static int follow_run(cached_request *q)
{
    store_reader *reader = cached_reader(cached_place_here());
    store_view view = {0};
    int status;

    if (q->follow.grows)
        return cached_growing_send(q);
    for (;;) {
        store_flight_wait(reader, q->follow.flight);
        switch (store_flight_look(reader, q->follow.flight, &q->follow.key, &view)) {
        case STORE_FLIGHT_GROWS:
            if (store_view_is_purged(&view, q->ask.epoch)) { /* it was asked for before that */
                store_release(&view);
                q->found.alone = 1;
                return DECLINED;
            }
            if (cached_growing_begin(q, &view, &status))
                return status;
            /* fall through */
        case STORE_FLIGHT_WAITS:
            if (brg_monotonic_now() - q->follow.since > q->r->server->timeout) {
                q->found.alone = 1;
                return DECLINED;
            }
            return cached_follow_wait(q, 0);
        case STORE_FLIGHT_DONE:
            if (!follow_done(q, &status))
                return status;
            break;
        case STORE_FLIGHT_PASS:
            q->found.alone = 1;
            return DECLINED;
        default:
            if (!follow_again(q, &status))
                return status;
            break;
        }
    }
}

/* A worker waits for the tiers below memory itself, for the key and then for its variant. */
static int lead_from_below(cached_request *q)
{
    for (int i = 0; i < 2; i++) {
        const store_key key = q->key.has_variant ? q->key.variant : q->key.hash;
        const int had_variant = q->key.has_variant;
        store_reader *reader = cached_reader(cached_place_here());
        uint32_t flight;

        if (conn_on_loop() || !follow_is_below(q, &key) ||
            store_flight_begin(reader, &key, store_mark_of_key(&q->key.hash), brg_now(), &flight) !=
                STORE_LEAD)
            return DECLINED;
        if (!lead_fetch_wait(q, &key, flight)) {
            store_flight_end(reader, flight, 0);
            return DECLINED;
        }
        cached_find(q);
        if (cached_serves(q->found.use))
            return cached_serve(q, cached_filters_behind(q->r), "cache hit", 0);
        if (had_variant || !q->key.has_variant)
            return DECLINED;
        q->found.asked_tier = 0;
    }
    return DECLINED;
}

/* ---- stale-while-revalidate ---- */

static int lead_stays(void *baton)
{
    (void)baton;
    return 1;
}

static int lead_is_refresh(const cached_request *q)
{
    return q->found.view.reader && !q->found.soft &&
           fresh_use_now(&q->found.terms, &q->request, &q->policy, brg_now()) ==
               FRESH_SERVE_REFRESH;
}

void cached_restore_answer(const cached_request *q)
{
    if (!q->stale.answered)
        return;
    q->r->status = q->stale.status;
    q->r->status_line = q->stale.status_line;
    q->r->headers_out = q->stale.fields;
    if (!q->r->connection->aborted)
        q->r->connection->keepalive = q->stale.keepalive;
}

/* The client has the stale answer at once; its request goes on, and the handler's answer is for the store alone. */
static int lead_refresh(cached_request *q)
{
    request_rec *r = q->r;
    int status;

    BRG_ASSERT(q->lead.flight && q->found.view.reader && conn_on_loop());
    status = cached_serve(q, cached_filters_behind(r), "cache hit", 0);
    if (status != OK)
        return status;
    q->stale.answered = 1;
    q->stale.keepalive = r->connection->keepalive;
    q->stale.status = r->status;
    q->stale.status_line = r->status_line;
    q->stale.fields = r->headers_out;
    r->headers_out = apr_table_make(r->pool, 8);
    r->status = HTTP_OK;
    r->status_line = NULL;
    q->lead.stays = (uint8_t)request_wait_stays(r, lead_stays, q);
    return DECLINED;
}

/* It is fresh, and is sent in any case; then it is fetched ahead of its end, if that may be. */
static int lead_ahead(cached_request *q)
{
    if (follow_may_wait(q->r) && conn_on_loop() && cached_refresh_begin(q)) {
        follow_begin(q);
        if (q->lead.flight)
            return lead_refresh(q);
    }
    cached_refresh_end(q);
    q->follow.flight = 0;
    q->found.use = FRESH_SERVE;
    return cached_serve(q, cached_filters_behind(q->r), "cache hit", 0);
}

/* It is stale, and sent. Then it is validated, if its backend has less than its bound of such requests. */
static int lead_stale(cached_request *q)
{
    if (cached_refresh_begin(q))
        return lead_refresh(q);
    cached_land(q, 0);
    return cached_serve(q, cached_filters_behind(q->r), "cache hit", 0);
}

int cached_lead(cached_request *q)
{
    request_rec *r = q->r;

    q->ask.epoch = store_epoch(cached_store());
    q->ask.at = brg_now();
    if (q->found.ahead)
        return lead_ahead(q);
    if (q->found.alone || q->lead.flight || !fresh_is_get(&q->request) ||
        cached_server_of(r->server)->lock == CACHED_OFF)
        return DECLINED;
    if (!follow_may_wait(r))
        return lead_from_below(q);
    if (follow_begin(q) != OK)
        return q->lead.flight && conn_on_loop() && lead_is_refresh(q) ? lead_stale(q) : DECLINED;
    if (follow_wants_own(q)) {
        q->found.alone = 1;
        return DECLINED;
    }
    if (lead_is_refresh(q)) /* another one validates it */
        return cached_serve(q, cached_filters_behind(r), "cache hit", 0);
    q->follow.since = brg_monotonic_now();
    if (!conn_on_loop())
        return cached_follow_wait(q, 0);
    return follow_run(q);
}
