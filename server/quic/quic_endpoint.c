/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of a socket: found by the ids that packets have, and kept in a heap by their deadlines. A deadline that moves
 * away stays where it is in the heap, and is moved when it comes up. */
#include "quic_private.h"
#include "quic_qlog.h"
#include "keyed_hash.h"
#include "apr_general.h"
#include "http_config.h"
#include "http_log.h"
#include <stdlib.h>

APLOG_USE_MODULE(core);

void quic_setup_defaults(quic_setup *s)
{
    s->idle_timeout = apr_time_from_sec(30);
    s->handshake_timeout = apr_time_from_sec(10);
    s->max_streams = 100;
    s->max_uni_streams = 8;
    s->stream_window = 65536;
    s->conn_window = 1 << 20;
    s->retry_above = 256;
    s->handshakes_most = 4096;
}

void quic_random(quic_endpoint *ep, void *out, size_t len)
{
    BRG_ASSERT(len <= sizeof ep->random);
    if (len > ep->random_left) {
        apr_generate_random_bytes((unsigned char *)ep->random, sizeof ep->random);
        ep->random_left = sizeof ep->random;
    }
    ep->random_left -= (uint32_t)len;
    memcpy(out, (uint8_t *)ep->random + ep->random_left, len);
}

/* ---- ids ---- */

static uint32_t id_bucket(const quic_endpoint *ep, const quic_cid *cid)
{
    return (uint32_t)keyed_hash_of(0, (const char *)cid->id, cid->len) & (ep->ids_cap - 1);
}

quic_conn *quic_id_find(const quic_endpoint *ep, const quic_cid *cid)
{
    for (quic_id *i = ep->ids[id_bucket(ep, cid)]; i; i = i->next)
        if (quic_cid_equal(&i->cid, cid))
            return i->qc;
    return NULL;
}

/* Twice as many lists. Where memory is short, they grow longer. */
static void ids_grow(quic_endpoint *ep)
{
    const uint32_t old = ep->ids_cap;
    quic_id **from = ep->ids, **to = calloc((size_t)old * 2, sizeof *to);

    if (!to)
        return;
    ep->ids = to;
    ep->ids_cap = old * 2;
    for (uint32_t n = 0; n < old; n++)
        for (quic_id *i = from[n], *next; i; i = next) {
            quic_id **at = &to[id_bucket(ep, &i->cid)];

            next = i->next;
            i->next = *at;
            *at = i;
        }
    free(from);
}

int quic_id_add(quic_conn *qc, quic_id *id)
{
    quic_endpoint *ep = qc->ep;
    quic_id **at;

    BRG_ASSERT(id->cid.len <= QUIC_CID_MOST && !id->qc);
    if (quic_id_find(ep, &id->cid))
        return -1;
    if (ep->ids_n++ >= ep->ids_cap)
        ids_grow(ep);
    at = &ep->ids[id_bucket(ep, &id->cid)];
    id->qc = qc;
    id->next = *at;
    *at = id;
    return 0;
}

void quic_id_remove(quic_id *id)
{
    quic_endpoint *ep;
    quic_id **at;

    if (!id->qc)
        return;
    ep = id->qc->ep;
    for (at = &ep->ids[id_bucket(ep, &id->cid)]; *at != id; at = &(*at)->next)
        BRG_ASSERT(*at);
    *at = id->next;
    id->qc = NULL;
    ep->ids_n--;
}

/* ---- deadlines ---- */

static void heap_put(quic_endpoint *ep, uint32_t at, quic_conn *qc)
{
    BRG_ASSERT_DEBUG(at < ep->heap_n);
    ep->heap[at] = qc;
    qc->heap_at = at;
}

static void heap_up(quic_endpoint *ep, uint32_t at, quic_conn *qc)
{
    for (; at && ep->heap[(at - 1) / 2]->deadline > qc->deadline; at = (at - 1) / 2)
        heap_put(ep, at, ep->heap[(at - 1) / 2]);
    heap_put(ep, at, qc);
}

static void heap_down(quic_endpoint *ep, uint32_t at, quic_conn *qc)
{
    for (uint32_t child; (child = at * 2 + 1) < ep->heap_n; at = child) {
        if (child + 1 < ep->heap_n && ep->heap[child + 1]->deadline < ep->heap[child]->deadline)
            child++;
        if (ep->heap[child]->deadline >= qc->deadline)
            break;
        heap_put(ep, at, ep->heap[child]);
    }
    heap_put(ep, at, qc);
}

static int heap_room(quic_endpoint *ep)
{
    const uint32_t cap = ep->heap_cap ? ep->heap_cap * 2 : 64;
    quic_conn **heap;

    if (ep->heap_n < ep->heap_cap)
        return 0;
    if (!(heap = realloc(ep->heap, cap * sizeof *heap)))
        return -1;
    ep->heap = heap;
    ep->heap_cap = cap;
    return 0;
}

static void endpoint_alarm(quic_endpoint *ep)
{
    apr_time_t due = ep->heap_n ? ep->heap[0]->deadline : LOOP_NEVER;

    if (ep->msg_n && ep->blocked_until < due)
        due = ep->blocked_until;
    else if (ep->pending && !ep->msg_n)
        due = 0;
    ep->alarm.due = due;
}

int quic_deadline_set(quic_conn *qc, apr_time_t due)
{
    quic_endpoint *ep = qc->ep;
    const apr_time_t old = qc->deadline;

    if (qc->heap_at == UINT32_MAX) {
        if (heap_room(ep))
            return -1;
        qc->deadline = due;
        heap_up(ep, ep->heap_n++, qc);
    } else {
        qc->deadline = due;
        if (due < old)
            heap_up(ep, qc->heap_at, qc);
        else if (due > old)
            heap_down(ep, qc->heap_at, qc);
    }
    endpoint_alarm(ep);
    return 0;
}

void quic_deadline_cancel(quic_conn *qc)
{
    quic_endpoint *ep = qc->ep;
    const uint32_t at = qc->heap_at;
    quic_conn *last;

    if (at == UINT32_MAX)
        return;
    BRG_ASSERT(at < ep->heap_n && ep->heap[at] == qc);
    qc->heap_at = UINT32_MAX;
    last = ep->heap[--ep->heap_n];
    if (last != qc) {
        heap_down(ep, at, last);
        heap_up(ep, last->heap_at, last);
    }
    endpoint_alarm(ep);
}

/* ---- turns ---- */

void quic_pending(quic_conn *qc)
{
    quic_endpoint *ep = qc->ep;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->pending)
        return;
    qc->pending = 1;
    qc->pending_next = NULL;
    *ep->pending_tail = qc;
    ep->pending_tail = &qc->pending_next;
    ep->alarm.due = 0;
}

/* In the order in which they became pending. A connection with more output than its share is
 * pending anew. */
static void endpoint_send(quic_endpoint *ep)
{
    quic_conn *qc;

    BRG_ASSERT(!quic_out_is_blocked(ep) && !ep->turn);
    ep->turn = ep->pending;
    ep->pending = NULL;
    ep->pending_tail = &ep->pending;
    while ((qc = ep->turn) != NULL) {
        ep->turn = qc->pending_next;
        qc->pending = 0;
        if (quic_out_is_blocked(ep)) {
            quic_pending(qc); /* with the next turn */
            continue;
        }
        quic_conn_enter(qc);
        if (qc->state <= QUIC_UP)
            quic_conn_send(qc);
        if (qc->state <= QUIC_UP)
            quic_conn_rearm(qc);
        quic_conn_leave(qc);
    }
}

static void endpoint_expire(quic_endpoint *ep)
{
    const apr_time_t now = ep->loop->monotonic;

    while (ep->heap_n && ep->heap[0]->deadline <= now) {
        quic_conn *qc = ep->heap[0];

        quic_deadline_cancel(qc);
        quic_conn_enter(qc);
        quic_conn_expired(qc);
        quic_conn_leave(qc);
    }
}

static void endpoint_alarmed(struct loop_alarm *alarm)
{
    quic_endpoint *ep = (quic_endpoint *)(void *)((char *)alarm - offsetof(quic_endpoint, alarm));

    endpoint_expire(ep);
    quic_out_flush(ep);
    if (!quic_out_is_blocked(ep))
        endpoint_send(ep);
    quic_out_flush(ep);
    endpoint_alarm(ep);
}

/* ---- begin and end ---- */

quic_endpoint *quic_endpoint_begin(brg_loop *loop, brg_listener *listener, int fd,
                                   const quic_setup *setup)
{
    quic_endpoint *ep = calloc(1, sizeof *ep);

    BRG_ASSERT(setup->user && setup->route_key & 1);
    if (!ep)
        return NULL;
    keyed_hash_seed();
    ep->loop = loop;
    ep->listener = listener;
    ep->fd = fd;
    ep->setup = setup;
    ep->below = &quic_below_real;
    ep->ids_cap = 64;
    ep->ids = calloc(ep->ids_cap, sizeof *ep->ids);
    ep->pending_tail = &ep->pending;
    ep->alarm.run = endpoint_alarmed;
    ep->alarm.due = LOOP_NEVER;
    ep->in = quic_in_new();
    ep->out = malloc(QUIC_OUT_BYTES);
    if (!ep->ids || !ep->in || !ep->out || (fd >= 0 && quic_socket_begin(ep))) {
        free(ep->ids);
        free(ep->in);
        free(ep->out);
        free(ep);
        return NULL;
    }
    loop_alarm_add(loop, &ep->alarm);
    return ep;
}

void quic_endpoint_drain(quic_endpoint *ep)
{
    BRG_ASSERT(!ep->ended);
    ep->draining = 1;
}

const quic_figures *quic_endpoint_figures(const quic_endpoint *ep)
{
    return &ep->figures;
}

void quic_endpoint_end(quic_endpoint *ep)
{
    ep->ended = 1;
    while (ep->all) {
        quic_conn *qc = ep->all;

        BRG_ASSERT(!qc->bc || !qc->begun); /* the user dropped them */
        quic_conn_free(qc);
    }
    quic_out_flush(ep);
    if (ep->setup->qlog_dir)
        qlog_files_settle();
    loop_alarm_remove(ep->loop, &ep->alarm);
    if (ep->fd >= 0)
        loop_io_remove(ep->loop, &ep->io, ep->fd);
    BRG_ASSERT(!ep->ids_n && !ep->heap_n);
    free(ep->ids);
    free(ep->heap);
    free(ep->in);
    free(ep->out);
    free(ep);
}
