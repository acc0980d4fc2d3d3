/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the moment for each backend: requests, connections, queues.
 *
 * Each process counts in a row of its own, by its slot of the scoreboard, in memory that all share. Whoever reads adds up the rows
 * of processes that live; so a process that is killed leaves nothing behind. */
#include "proxy_private.h"
#include "connection.h"
#include "kept_memory.h"
#include "trial.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include "http_log.h"
#include "apr_strings.h"
#include <errno.h>
#include <string.h>

APLOG_USE_MODULE(proxy);

#define GAUGES_SLOTS 128 /* processes that are counted */

typedef proxy_gauges gauges_row[PROXY_STATES_MOST];

static gauges_row *gauges; /* [GAUGES_SLOTS]; pages that nobody writes take no memory */

int proxy_gauges_map(server_rec *main)
{
    if (gauges || trial_runs())
        return OK;
    gauges = kept_memory_map("proxy-gauges-1", GAUGES_SLOTS * sizeof *gauges);
    if (gauges)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_EMERG, errno, main,
                 "no memory that processes share for what they have of workers");
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* Requests of a process that was killed are over; bybusyness would count them for ever. */
static void gauges_forget(proxy_worker *w, proxy_gauges *g)
{
    const int32_t busy = atomic_load(&g->busy);

    if (busy > 0 && atomic_fetch_sub(&w->state->busy, busy) < busy)
        atomic_store(&w->state->busy, 0);
    memset(g, 0, sizeof *g);
}

void proxy_gauges_take(proxy_worker *w)
{
    const int slot = connection_child_slot(), place = proxy_share_place_of(w->state);

    BRG_ASSERT(slot >= 0);
    if (!gauges || slot >= GAUGES_SLOTS || place < 0)
        return;
    BRG_ASSERT(place < PROXY_STATES_MOST);
    w->gauges = &gauges[slot][place];
    gauges_forget(w, w->gauges);
    if (w->origin)
        upstream_origin_gauges(w->origin, &w->gauges->connections);
}

void proxy_gauges_begin(void)
{
    for (int i = 0; i < proxy_workers(); i++)
        if (proxy_worker_get(i))
            proxy_gauges_take(proxy_worker_get(i));
}

/* ---- read ---- */

static void gauges_add(brg_status_backend *out, const proxy_gauges *g)
{
    out->in_flight += atomic_load_explicit(&g->busy, memory_order_relaxed);
    out->connections += atomic_load_explicit(&g->connections.open, memory_order_relaxed);
    out->idle += atomic_load_explicit(&g->connections.idle, memory_order_relaxed);
    out->queue += atomic_load_explicit(&g->connections.waiting, memory_order_relaxed);
}

static void gauges_sum(brg_status_backend *out, const proxy_state *state)
{
    const int place = proxy_share_place_of(state);
    brg_status_process process;
    int found;

    BRG_ASSERT(place < PROXY_STATES_MOST);
    for (int slot = 0; gauges && place >= 0 && slot < GAUGES_SLOTS; slot++) {
        found = brg_status_process_get(slot, &process);
        if (found < 0)
            return;
        if (found)
            gauges_add(out, &gauges[slot][place]);
    }
}

static const char *backend_state(uint32_t status)
{
    if (status & PROXY_STATUS_STOPPED)
        return "stopped";
    if (status & PROXY_STATUS_DISABLED)
        return "disabled";
    if (status & PROXY_STATUS_CHECK_FAILED)
        return "check failed";
    if (status & PROXY_STATUS_IN_ERROR)
        return "error";
    if (status & PROXY_STATUS_DRAIN)
        return "drain";
    if (status & PROXY_STATUS_HOT_STANDBY)
        return "standby";
    return status & PROXY_STATUS_HOT_SPARE ? "spare" : "ok";
}

static void backend_counts(brg_status_backend *out, const proxy_state *s)
{
    for (int i = 0; i < 5; i++)
        out->answers[i] = atomic_load(&s->answers[i]);
    out->retries = atomic_load(&s->retried);
    out->refused = atomic_load(&s->refused);
    out->timeouts = atomic_load(&s->timeouts);
    out->broken = atomic_load(&s->broken);
    out->sent = atomic_load(&s->written);
    out->received = atomic_load(&s->read);
    out->waited_us = atomic_load(&s->waited_us);
    out->waited_n = atomic_load(&s->waited_n);
}

static const char *backend_host(apr_pool_t *p, const server_rec *s)
{
    return s && s->server_hostname ? apr_pstrdup(p, s->server_hostname) : "";
}

int brg_status_backend_get(int n, apr_pool_t *p, brg_status_backend *out)
{
    const proxy_worker *w;
    uint32_t status;

    if (n < 0 || n >= proxy_workers())
        return -1;
    w = proxy_worker_get(n);
    if (!w)
        return 0;
    status = w->state ? atomic_load(&w->state->status) : PROXY_STATUS_FREE;
    if (!w->state || w->generic || status & PROXY_STATUS_FREE)
        return 0;
    memset(out, 0, sizeof *out);
    out->name = w->socket ? apr_pstrcat(p, "unix:", w->socket, "|", w->name, NULL) : w->name;
    out->balancer = w->balancer ? w->balancer->name : "";
    out->server = backend_host(p, w->server);
    out->state = backend_state(status);
    out->up = !(status & PROXY_STATUS_UNUSABLE);
    /* One alone goes on to be asked, and is as its last answer was. */
    if (out->up && !w->balancer && atomic_load(&w->state->failures) > 0) {
        out->state = "failing";
        out->up = 0;
    }
    backend_counts(out, w->state);
    gauges_sum(out, w->state);
    return 1;
}
