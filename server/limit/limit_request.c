/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of requests on the full way: those of the server as soon as the client is known, those of sections when these are, those
 * by user once the user is. A request that is to wait does so without a thread, in its access phase.
 */
#include "limit_private.h"
#include "connection.h"
#include "loops.h"
#include "loop.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/wait.h"

APLOG_USE_MODULE(limit);

#define SECOND_NS UINT64_C(1000000000)

/* The decision for a request, in r->request_config. */
typedef struct limit_note {
    uint64_t wait; /* nanoseconds until its turn */
    int sections_done, has_waited;
} limit_note;

static limit_note *note_of(request_rec *r)
{
    limit_note *note = ap_get_module_config(r->request_config, &limit_module);

    if (!note) {
        note = apr_pcalloc(r->pool, sizeof *note);
        ap_set_module_config(r->request_config, &limit_module, note);
    }
    return note;
}

/* ---- requests beyond a limit ---- */

/* Refusals come in crowds: one line a second at this level, each on its own for debugging levels.
 */
static void excess_log(request_rec *r, const limit *l, const char *text, const char *what)
{
    static _Atomic uint64_t said, since;
    const uint64_t now = limit_now();
    uint64_t last = atomic_load(&said);

    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "RequestLimit %s: %s%s for %s", l->name, what,
                  l->is_dry ? " (dry-run)" : "", text);
    atomic_fetch_add(&since, 1);
    if (now - last < SECOND_NS || !atomic_compare_exchange_strong(&said, &last, now))
        return;
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  "RequestLimit %s: %s%s for %s; %" APR_UINT64_T_FMT
                  " requests since the last such line",
                  l->name, what, l->is_dry ? " (dry-run)" : "", text, atomic_exchange(&since, 0));
}

/* RFC 9110, 10.2.3, and draft-ietf-httpapi-ratelimit-headers. */
static void excess_fields(request_rec *r, const limit *l, uint64_t after)
{
    const uint64_t seconds = (after + SECOND_NS - 1) / SECOND_NS;
    apr_table_t *t = r->err_headers_out;

    apr_table_setn(t, "Retry-After",
                   apr_psprintf(r->pool, "%" APR_UINT64_T_FMT, seconds ? seconds : 1));
    if (!l->window)
        return;
    apr_table_addn(t, "RateLimit-Policy",
                   apr_psprintf(r->pool, "\"%s\";q=%" APR_UINT64_T_FMT ";w=%" APR_UINT64_T_FMT,
                                l->name, l->quota, l->window));
    apr_table_addn(
        t, "RateLimit",
        apr_psprintf(r->pool, "\"%s\";r=0;t=%" APR_UINT64_T_FMT, l->name, seconds ? seconds : 1));
}

/* @param after  nanoseconds until it may be asked again */
static int excess(request_rec *r, const limit *l, const limit_subject *subject, uint64_t key,
                  uint64_t after)
{
    char text[LIMIT_TEXT_ROOM];
    const size_t len = limit_text(l, subject, text, sizeof text);
    limit_row *row = limit_row_at(l);
    const int closes = l->excess == LIMIT_CLOSES;

    BRG_ASSERT(l->measure == LIMIT_RATE || l->measure == LIMIT_IN_FLIGHT);
    atomic_fetch_add_explicit(l->is_dry ? &row->dry
                              : closes  ? &row->closed
                                        : &row->refused,
                              1, memory_order_relaxed);
    limit_busy_note(&limit_shared, key, l->row, text, len, 1, 1, limit_now());
    excess_log(r, l, text, closes ? "closed" : "refused");
    if (l->is_dry)
        return OK;
    r->connection->keepalive = closes ? AP_CONN_CLOSE : r->connection->keepalive;
    r->connection->aborted |= (unsigned)closes;
    excess_fields(r, l, after);
    return l->status;
}

/* ---- measures ---- */

static int request_rate(request_rec *r, const limit *l, const limit_subject *subject, uint64_t key)
{
    uint64_t ahead;

    if (!limit_rate_take(&limit_shared, key, l->each, l->burst, limit_now(), &ahead))
        return excess(r, l, subject, key, ahead);
    if (l->excess != LIMIT_DELAYS || ahead <= l->undelayed)
        return OK;
    atomic_fetch_add_explicit(l->is_dry ? &limit_row_at(l)->dry : &limit_row_at(l)->delayed, 1,
                              memory_order_relaxed);
    if (!l->is_dry && ahead - l->undelayed > note_of(r)->wait)
        note_of(r)->wait = ahead - l->undelayed;
    return OK;
}

typedef struct flight_slot {
    uint32_t process, slot;
} flight_slot;

static apr_status_t flight_ends(void *data)
{
    const flight_slot *p = data;

    BRG_ASSERT(p->slot > 0); /* else it is not registered */
    limit_count_leave(&limit_shared, p->process, p->slot);
    return APR_SUCCESS;
}

static int request_in_flight(request_rec *r, const limit *l, const limit_subject *subject,
                             uint64_t key)
{
    const brg_conn *bc = connection_of(r->connection);
    const uint32_t process = bc ? (uint32_t)bc->loop->config->slot : 0;
    flight_slot *p;
    uint32_t slot;

    if (!bc)
        return OK;
    if (!limit_count_enter(&limit_shared, key, l->most, process, &slot))
        return excess(r, l, subject, key, SECOND_NS);
    if (!slot)
        return OK;
    p = apr_palloc(r->pool, sizeof *p);
    *p = (flight_slot){process, slot};
    apr_pool_cleanup_register(r->pool, p, flight_ends, apr_pool_cleanup_null);
    return OK;
}

static int request_measure(request_rec *r, const limit *l, const limit_subject *subject,
                           uint64_t key)
{
    switch (l->measure) {
    case LIMIT_RATE:
        return request_rate(r, l, subject, key);
    case LIMIT_IN_FLIGHT:
        return request_in_flight(r, l, subject, key);
    case LIMIT_BANDWIDTH:
        limit_bandwidth_add(r, l, key);
        return OK;
    default:
        return OK;
    }
}

/* ---- one limit ---- */

static int request_ask(request_rec *r, const limit *l)
{
    const transaction t = {.r = r};
    limit_subject subject;
    uint64_t fixed, key;

    BRG_ASSERT(!l->is_off && l->measure != LIMIT_CONNECTIONS && !r->main && !r->prev);
    if (!limit_fixed(r, l, &fixed))
        return OK;
    cache_gate(r, limit_gate(l), l->measure == LIMIT_RATE ? CACHE_GATE_REQUEST : CACHE_GATE_ANSWER,
               l, fixed);
    if (cache_gate_counted(r->connection))
        return OK;
    return limit_reads(l, &t, fixed, &subject, &key) == LIMIT_READS
               ? request_measure(r, l, &subject, key)
               : OK;
}

/* Those of @a conf that are asked at this time. */
static int request_ask_all(request_rec *r, const limit_conf *conf, int by_user)
{
    int status = OK;

    for (int i = 0; status == OK && conf->list && i < conf->list->nelts; i++) {
        const limit *l = APR_ARRAY_IDX(conf->list, i, const limit *);

        if (!l->is_off && l->measure != LIMIT_CONNECTIONS && (l->what == LIMIT_USER) == by_user)
            status = request_ask(r, l);
    }
    return status;
}

static int request_counts(const request_rec *r)
{
    return limit_all && limit_shared.header && !r->main && !r->prev;
}

/* ---- hooks ---- */

static int limit_post_read(request_rec *r)
{
    const int status = request_counts(r) ? request_ask_all(r, limit_conf_of(r->server), 0) : OK;

    return status == OK ? DECLINED : status;
}

static int limit_waited(request_rec *r, void *baton, int came)
{
    return OK; /* all hooks of access control are called again */
}

static int limit_access(request_rec *r)
{
    limit_note *note;
    int status = OK;

    if (!request_counts(r))
        return DECLINED;
    note = note_of(r);
    if (!note->sections_done) {
        note->sections_done = 1;
        status = request_ask_all(r, ap_get_module_config(r->per_dir_config, &limit_module), 0);
    }
    if (status != OK)
        return status;
    if (note->wait && !note->has_waited && brg_wait_possible(r)) {
        const brg_wait_for wanted = {.timeout = (apr_interval_time_t)(note->wait / 1000), .fd = -1};

        note->has_waited = 1;
        if (wanted.timeout > 0)
            return brg_wait(r, &wanted, limit_waited, NULL, NULL);
    }
    return DECLINED;
}

static int limit_fixups(request_rec *r)
{
    int status;

    if (!request_counts(r))
        return DECLINED;
    status = request_ask_all(r, limit_conf_of(r->server), 1);
    if (status == OK)
        status = request_ask_all(r, ap_get_module_config(r->per_dir_config, &limit_module), 1);
    return status == OK ? DECLINED : status;
}

void limit_request_register(void)
{
    ap_hook_post_read_request(limit_post_read, NULL, NULL, APR_HOOK_FIRST + 1);
    ap_hook_check_access(limit_access, NULL, NULL, APR_HOOK_REALLY_FIRST,
                         AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_fixups(limit_fixups, NULL, NULL, APR_HOOK_REALLY_FIRST);
}
