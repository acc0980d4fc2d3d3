/* SPDX-License-Identifier: Apache-2.0 */
/* From messages of a session to routes. */
#include <errno.h>
#include "apr_strings.h"
#include "http_log.h"
#include "http_main.h"
#include "brigade/assert.h"
#include "asn_feed.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

#define SECOND INT64_C(1000000)

static const bgp_conf *conf_of(const asn_feed *f)
{
    return f->peer.session.conf;
}

static uint32_t routes_of(const asn_feed *f)
{
    return brg_asn_rib_routes(f->w, f->rib, ASN_IPV4) + brg_asn_rib_routes(f->w, f->rib, ASN_IPV6);
}

/* ---- states ---- */

static void feed_state(asn_feed *f)
{
    const int state = f->peer.session.state;

    if (atomic_exchange(&f->figures->state, state) != state)
        atomic_store(&f->figures->since, apr_time_now());
}

static void feed_complete(asn_feed *f)
{
    BRG_ASSERT(!f->complete);
    f->complete = 1;
    f->kept_until = BGP_NEVER;
    if (f->fresh)
        brg_asn_rib_commit(f->w, f->rib);
    else
        brg_asn_rib_ready(f->w, f->rib);
    f->fresh = 0;
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, NULL, "ASTable bgp %s: %u routes of IPv4, %u of IPv6",
                 conf_of(f)->name, brg_asn_rib_routes(f->w, f->rib, ASN_IPV4),
                 brg_asn_rib_routes(f->w, f->rib, ASN_IPV6));
}

static void feed_up(void *data, const bgp_open *peer)
{
    asn_feed *f = data;

    f->complete = f->deaf = 0;
    f->ended = 0;
    f->quiet = bgp_now() + FEED_QUIET * SECOND;
    f->faulty = atomic_load(&f->figures->faulty);
    if (routes_of(f) && !(f->fresh = !brg_asn_rib_begin(f->w, f->rib)))
        brg_asn_rib_clear(f->w, f->rib);
    atomic_fetch_add(&f->figures->sessions, 1);
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                 "ASTable bgp %s: session with AS %u is up, hold time %u seconds, %s",
                 conf_of(f)->name, peer->as, f->peer.session.hold,
                 f->peer.session.terms.families == BGP_FAMILY(ASN_IPV4)   ? "IPv4"
                 : f->peer.session.terms.families == BGP_FAMILY(ASN_IPV6) ? "IPv6"
                                                                          : "IPv4 and IPv6");
}

static void give_up_routes(asn_feed *f)
{
    f->kept_until = BGP_NEVER;
    brg_asn_rib_clear(f->w, f->rib);
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                 "ASTable bgp %s: the routes of the session that ended are given up",
                 conf_of(f)->name);
}

/* Those of the session that ended; a set that is not complete takes no complete one's place. */
static void keep_routes(asn_feed *f, int64_t now)
{
    const bgp_open *peer = &f->peer.session.peer;
    uint32_t seconds = conf_of(f)->keep;

    if (f->fresh)
        brg_asn_rib_discard(f->w, f->rib);
    f->fresh = 0;
    if (peer->restart && peer->restart_seconds > seconds)
        seconds = peer->restart_seconds;
    if (routes_of(f) && f->kept_until == BGP_NEVER)
        f->kept_until = now + seconds * SECOND;
}

/* The same trouble of each attempt is told once. */
static void feed_down(void *data, const char *why)
{
    asn_feed *f = data;
    char *last = f->figures->trouble;
    const int was_up = f->quiet != BGP_NEVER;

    if (was_up)
        keep_routes(f, bgp_now());
    f->quiet = BGP_NEVER;
    if (was_up || strncmp(last, why, sizeof f->figures->trouble - 1) != 0)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     "ASTable bgp %s: %s: %s; %u routes are kept", conf_of(f)->name,
                     was_up ? "session ended" : "no session", why, routes_of(f));
    apr_cpystrn(last, why, sizeof f->figures->trouble);
}

/* A peer that begins anew while its last session is up. */
static void feed_deaf(void *data, const char *why)
{
    asn_feed *f = data;

    if (!f->deaf)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     "ASTable bgp %s: a connection cannot be accepted: %s", conf_of(f)->name, why);
    f->deaf = 1;
}

/* ---- routes ---- */

static int feed_fault(bgp_fault *fault, unsigned char subcode, const char *what)
{
    *fault = (bgp_fault){BGP_CEASE, subcode, what, {NULL, 0}};
    return 0;
}

static apr_status_t withdraw_all(asn_feed *f, bgp_prefixes all)
{
    brg_asn_prefix prefix;
    apr_status_t rv = APR_SUCCESS;

    while (!rv && bgp_prefixes_next(&all, &prefix)) {
        rv = brg_asn_withdraw(f->w, f->rib, &prefix);
        rv = rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    return rv;
}

static apr_status_t announce_all(asn_feed *f, bgp_prefixes all, brg_asn_ref ref)
{
    brg_asn_prefix prefix;
    apr_status_t rv = APR_SUCCESS;

    while (!rv && bgp_prefixes_next(&all, &prefix))
        rv = brg_asn_announce(f->w, f->rib, &prefix, ref);
    return rv;
}

static apr_status_t take_gone(asn_feed *f, const bgp_update *u)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; i < BGP_PLACES && !rv; i++)
        rv = withdraw_all(f, u->gone[i]);
    for (int i = 0; i < BGP_PLACES && !rv && u->as_withdrawn; i++)
        rv = withdraw_all(f, u->come[i]);
    return rv;
}

static apr_status_t take_come(asn_feed *f, const bgp_update *u)
{
    brg_asn_ref ref;
    apr_status_t rv;

    if (u->as_withdrawn || !(u->come[BGP_OF_MESSAGE].rest.n | u->come[BGP_OF_ATTRIBUTE].rest.n))
        return APR_SUCCESS;
    if ((rv = brg_asn_attributes_hold(f->w, &u->attributes, &ref)))
        return rv;
    for (int i = 0; i < BGP_PLACES && !rv; i++)
        rv = announce_all(f, u->come[i], ref);
    brg_asn_attributes_release(f->w, ref);
    return rv;
}

/* The first of a session is told. */
static void tell_faulty(asn_feed *f, const bgp_update *u)
{
    if (!u->as_withdrawn || atomic_fetch_add(&f->figures->faulty, 1) != f->faulty)
        return;
    ap_log_error(
        APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
        "ASTable bgp %s: an UPDATE is taken for withdrawals (RFC 7606): %s; further ones of "
        "this session are only counted",
        conf_of(f)->name, u->as_withdrawn);
}

static int feed_update(void *data, const bgp_update *u, bgp_fault *fault)
{
    enum { TOO_MANY = 1, NO_RESOURCES = 8 };
    asn_feed *f = data;

    atomic_fetch_add(&f->figures->updates, 1);
    tell_faulty(f, u);
    f->touched = 1;
    if (!f->complete)
        f->quiet = bgp_now() + FEED_QUIET * SECOND;
    if (take_gone(f, u) || take_come(f, u))
        return feed_fault(fault, NO_RESOURCES, "the table is full (ASTableSize)");
    if (routes_of(f) > conf_of(f)->max_routes)
        return feed_fault(fault, TOO_MANY, "the peer has more routes than max-routes");
    f->ended |= u->end_of_rib;
    if (!f->complete && f->ended == f->peer.session.terms.families)
        feed_complete(f);
    return 1;
}

static const bgp_owner feed_owner = {feed_up, feed_update, feed_down, feed_deaf};

/* ---- the collector's calls ---- */

void asn_feed_begin(asn_feed *f, const bgp_conf *conf, asn_source_figures *figures, int rib)
{
    int error;

    *f = (asn_feed){.figures = figures, .rib = rib, .quiet = BGP_NEVER, .kept_until = BGP_NEVER};
    bgp_peer_begin(&f->peer, conf, &feed_owner, f);
    if ((error = bgp_peer_listen(&f->peer)))
        ap_log_error(APLOG_MARK, APLOG_ERR, error, ap_server_conf,
                     "ASTable bgp %s: cannot listen at its listen=; retrying", conf->name);
}

static void feed_tick(asn_feed *f)
{
    const int64_t now = bgp_now();

    if (f->touched)
        brg_asn_rib_touch(f->w, f->rib);
    f->touched = 0;
    if (!f->complete && now >= f->quiet)
        feed_complete(f);
    if (!f->fresh && now >= f->kept_until)
        give_up_routes(f);
    feed_state(f);
}

static int64_t feed_deadline(const asn_feed *f)
{
    int64_t at = bgp_session_deadline(&f->peer.session);

    if (!f->complete && f->quiet < at)
        at = f->quiet;
    return !f->fresh && f->kept_until < at ? f->kept_until : at;
}

static int wait_at_most(const asn_feed *feeds, int n, int milliseconds)
{
    const int64_t now = bgp_now();
    int64_t left, least = milliseconds;

    for (int i = 0; i < n; i++) {
        left = feed_deadline(&feeds[i]);
        left = left == BGP_NEVER ? least : left <= now ? 0 : (left - now) / 1000 + 1;
        least = left < least ? left : least;
    }
    return (int)least;
}

void asn_feeds_run(asn_feed *feeds, int n, int milliseconds, int other)
{
    struct pollfd polls[ASN_TABLE_RIBS * BGP_POLLS + 1];
    int used[ASN_TABLE_RIBS], all = 0;

    BRG_ASSERT(n <= ASN_TABLE_RIBS);
    for (int i = 0; i < n; i++)
        all += used[i] = bgp_peer_polls(&feeds[i].peer, polls + all);
    polls[all++] = (struct pollfd){.fd = other, .events = POLLIN};
    if (poll(polls, (nfds_t)all, wait_at_most(feeds, n, milliseconds)) < 0) {
        if (errno != EINTR && milliseconds > 0)
            apr_sleep(apr_time_from_msec(100)); /* out of memory: a pause, not a loop of failures */
        for (int i = 0; i < all; i++)
            polls[i].revents = 0;
    }
    if (polls[all - 1].revents && milliseconds > 0)
        return; /* an error log, say, for lines about the peers' routes */
    for (int i = 0, at = 0; i < n; at += used[i++]) {
        bgp_peer_run(&feeds[i].peer, polls + at, used[i]);
        feed_tick(&feeds[i]);
    }
}

void asn_feed_end(asn_feed *f)
{
    bgp_peer_end(&f->peer);
}
