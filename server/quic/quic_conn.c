/* SPDX-License-Identifier: Apache-2.0 */
/* A connection from its begin to its end, and its deadlines. */
#include "quic_private.h"
#include "http_config.h"
#include "http_log.h"
#include <stdlib.h>

APLOG_USE_MODULE(core);

#define CONN_SLEEP apr_time_from_sec(3) /* of silence */
#define CONN_FLOODS 4096 /* frames of no use at once; a tenth of it is forgiven by the second */

/* ---- begin ---- */

quic_space *quic_space_new(quic_conn *qc, quic_space_id id)
{
    quic_space *sp = qc->space[id];

    if (sp)
        return sp;
    if (!(sp = calloc(1, sizeof *sp)))
        return NULL;
    sp->largest_acked = -1;
    sp->ack_due = sp->loss_due = QUIC_NEVER;
    sp->skip_pn = UINT64_MAX;
    return qc->space[id] = sp;
}

static int conn_keys(quic_conn *qc, const quic_cid *dcid)
{
    quic_space *sp = quic_space_new(qc, QUIC_S_INITIAL);

    return sp ? quic_key_initial(&sp->read, &sp->write, qc->version, dcid, 1) : -1;
}

static void conn_limits(quic_conn *qc, const quic_setup *setup)
{
    qc->in_max = setup->conn_window;
    qc->peer_bidi_most = setup->max_streams;
    qc->peer_uni_most = setup->max_uni_streams;
    qc->mtu = QUIC_DATAGRAM_MIN;
    qc->handshake_due = quic_now(qc) + setup->handshake_timeout;
    qc->idle = setup->idle_timeout;
    qc->idle_due = quic_now(qc) + qc->idle;
    qc->pace_due = qc->close_due = qc->prev_until = QUIC_NEVER;
    qc->rtt_min = QUIC_NEVER;
    qc->sleep_due = QUIC_NEVER;
    qc->again_at = quic_now(qc) + 50000; /* pieces of a hello come together */
    qc->heap_at = UINT32_MAX;
    qc->deadline = QUIC_NEVER;
    qc->sending_tail = &qc->sending;
    quic_cc_begin(qc);
}

static void conn_link(quic_conn *qc)
{
    quic_endpoint *ep = qc->ep;

    qc->all_next = ep->all;
    qc->all_prev = &ep->all;
    if (ep->all)
        ep->all->all_prev = &qc->all_next;
    ep->all = qc;
    ep->conns_n++;
    ep->handshakes++;
    qc->counts_handshake = 1;
    ep->figures.conns++;
}

quic_conn *quic_conn_new(quic_endpoint *ep, const quic_head *h, const quic_addr *peer,
                         const quic_addr *local)
{
    quic_conn *qc = calloc(1, sizeof *qc);

    BRG_ASSERT(h->dcid.len <= QUIC_CID_MOST);
    if (!qc)
        return NULL;
    qc->tag = QUIC_CONN_TAG;
    qc->ep = ep;
    qc->version = qc->first_version = h->version;
    qc->path.peer = *peer;
    qc->path.local = *local;
    qc->first.cid = h->dcid;
    qc->theirs[0] = (quic_peer_cid){.cid = h->scid, .used = 1};
    conn_limits(qc, ep->setup);
    conn_link(qc);
    if (conn_keys(qc, &h->dcid) || quic_cids_begin(qc) || quic_id_add(qc, &qc->first) ||
        !(qc->bc = ep->below->open(ep->loop, ep->listener, ep->fd, &qc->path.peer.any,
                                   &qc->path.local.any))) {
        quic_conn_free(qc);
        return NULL;
    }
    quic_conn_rearm(qc);
    return qc;
}

/* ---- deadlines ---- */

static apr_time_t conn_earlier(apr_time_t a, apr_time_t b)
{
    return a < b ? a : b;
}

void quic_conn_rearm(quic_conn *qc)
{
    apr_time_t due;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->state >= QUIC_CLOSING) {
        due = qc->close_due;
    } else {
        due = conn_earlier(qc->idle_due, quic_loss_due(qc));
        due = conn_earlier(due, conn_earlier(qc->pace_due, quic_path_due(qc)));
        due = conn_earlier(due, qc->prev_until);
        if (!qc->asleep)
            due = conn_earlier(due, qc->sleep_due);
        if (qc->state == QUIC_HANDSHAKE_STATE)
            due = conn_earlier(due, qc->handshake_due);
        for (int i = 0; i < QUIC_SPACES; i++)
            if (qc->space[i])
                due = conn_earlier(due, qc->space[i]->ack_due);
    }
    if (due != qc->deadline || qc->heap_at == UINT32_MAX)
        quic_deadline_set(qc, due); /* without memory it is driven by datagrams */
}

static void conn_silent(quic_conn *qc, const char *reason)
{
    BRG_ASSERT(qc->state <= QUIC_UP);
    qc->end = (quic_end){.is_silent = 1, .reason = reason};
    qc->ep->figures.handshakes_failed += qc->state == QUIC_HANDSHAKE_STATE;
    quic_conn_over(qc, QUIC_DEAD);
}

static void conn_acks_due(quic_conn *qc, apr_time_t now)
{
    for (int i = 0; i < QUIC_SPACES; i++)
        if (qc->space[i] && qc->space[i]->ack_due <= now) {
            qc->space[i]->ack_now = 1;
            qc->space[i]->ack_due = QUIC_NEVER;
            quic_pending(qc);
        }
}

/* Nothing happens: memory that can be made anew is given back. */
static void conn_sleep(quic_conn *qc)
{
    quic_space *sp = qc->space[QUIC_S_APP];

    qc->sleep_due = quic_now(qc) + CONN_SLEEP;
    if (!qc->confirmed || qc->has_prev || sp->eliciting || qc->pending || sp->ack_owed ||
        qc->path.challenged)
        return;
    quic_other_keys_end(qc);
    quic_key_sleep(&sp->read);
    quic_key_sleep(&sp->write);
    quic_sent_trim(sp);
    if (sp->first_pn == sp->next_pn)
        quic_sent_end(sp);
    quic_id_remove(&qc->first);
    qc->asleep = 1;
}

int quic_conn_keys(quic_conn *qc)
{
    quic_space *sp = qc->space[QUIC_S_APP];

    if (!qc->asleep)
        return 0;
    BRG_ASSERT(sp && qc->in_call);
    qc->asleep = 0;
    qc->sleep_due = quic_now(qc) + CONN_SLEEP;
    return quic_key_wake(&sp->read) || quic_key_wake(&sp->write) ? -1 : 0;
}

int quic_conn_wake(quic_conn *qc)
{
    if (!quic_conn_keys(qc))
        return 0;
    quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "no memory");
    return -1;
}

void quic_conn_expired(quic_conn *qc)
{
    const apr_time_t now = quic_now(qc);

    BRG_ASSERT(qc->heap_at == UINT32_MAX && qc->in_call);
    if (qc->state >= QUIC_CLOSING) {
        qc->state = QUIC_DEAD;
        return;
    }
    if (now >= qc->idle_due || (qc->state == QUIC_HANDSHAKE_STATE && now >= qc->handshake_due)) {
        conn_silent(qc, qc->state == QUIC_UP ? "idle" : "the handshake took too long");
        return;
    }
    if (now >= qc->pace_due) {
        qc->pace_due = QUIC_NEVER;
        quic_pending(qc);
    }
    if (now >= qc->prev_until) {
        quic_key_end_shared(&qc->other->prev);
        qc->has_prev = 0;
        qc->prev_until = QUIC_NEVER;
    }
    if (now >= qc->sleep_due && !qc->asleep)
        conn_sleep(qc);
    conn_acks_due(qc, now);
    quic_path_expired(qc);
    if (quic_loss_due(qc) <= now)
        quic_loss_expired(qc);
    if (qc->state <= QUIC_UP)
        quic_conn_rearm(qc);
}

void quic_conn_alive(quic_conn *qc)
{
    apr_interval_time_t idle = qc->idle, least = 3 * quic_pto(qc, QUIC_S_APP);

    qc->idle_sent = 0;
    qc->sleep_due = quic_now(qc) + CONN_SLEEP;
    qc->idle_due = quic_now(qc) + (idle > least ? idle : least);
}

int quic_conn_flood(quic_conn *qc, unsigned weight)
{
    const apr_time_t now = quic_now(qc);
    const uint64_t forgiven = (uint64_t)(now - qc->floods_at) * CONN_FLOODS / apr_time_from_sec(10);

    BRG_ASSERT_DEBUG(qc->in_call);
    if (forgiven) {
        qc->floods = forgiven >= qc->floods ? 0 : qc->floods - (uint32_t)forgiven;
        qc->floods_at = now;
    }
    qc->floods += weight;
    if (qc->floods < CONN_FLOODS)
        return 0;
    qc->ep->figures.floods++;
    quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "too many frames of no use");
    return -1;
}

/* ---- end ---- */

static void conn_space_drop(quic_conn *qc, quic_space_id id)
{
    quic_space *sp = qc->space[id];

    if (!sp)
        return;
    for (uint64_t pn = sp->first_pn; pn < sp->next_pn; pn++) {
        const quic_sent *s = quic_sent_at(sp, pn);

        if (s->state == QUIC_P_OUT)
            qc->cc.in_flight -= s->size;
    }
    qc->space[id] = NULL;
    quic_key_end(&sp->read);
    quic_key_end(&sp->write);
    quic_ranges_end(&sp->got);
    quic_reorder_end(&sp->crypto_in);
    quic_sendq_end(&sp->crypto);
    quic_sent_end(sp);
    free(sp);
}

static void conn_handshake_over(quic_conn *qc)
{
    if (!qc->counts_handshake)
        return;
    qc->counts_handshake = 0;
    BRG_ASSERT(qc->ep->handshakes > 0);
    qc->ep->handshakes--;
}

/* Keys and streams: all that is of no use when the connection is over. Not while a function uses them. */
static void conn_strip(quic_conn *qc)
{
    quic_streams_end(qc);
    quic_other_keys_end(qc);
    quic_key_drop(&qc->early_read);
    quic_key_drop(&qc->first_read);
    for (int i = 0; i < QUIC_SPACES; i++)
        conn_space_drop(qc, (quic_space_id)i);
    conn_handshake_over(qc);
}

void quic_space_retire(quic_conn *qc, quic_space_id id)
{
    BRG_ASSERT(qc->in_call);
    if (qc->space[id])
        qc->retired |= (uint8_t)(1 << id);
}

void quic_conn_enter(quic_conn *qc)
{
    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    qc->in_call++;
}

int quic_conn_leave(quic_conn *qc)
{
    BRG_ASSERT(qc->in_call > 0);
    if (--qc->in_call)
        return qc->state <= QUIC_UP;
    for (int i = 0; qc->retired && i < QUIC_SPACES; i++)
        if (qc->retired & 1 << i)
            conn_space_drop(qc, (quic_space_id)i);
    qc->retired = 0;
    if (qc->state >= QUIC_CLOSING)
        conn_strip(qc);
    quic_streams_reap(qc);
    if (qc->state != QUIC_DEAD)
        return qc->state <= QUIC_UP;
    quic_conn_free(qc);
    return 0;
}

/* @return 1: a worker has the handshake, and bc ends when it returns */
static int conn_end_tls(quic_conn *qc)
{
    tls_quic *tls = qc->tls;

    qc->tls = NULL;
    return tls ? qc->ep->below->end(tls) : 0;
}

/* bc is nobody's but ours before the handshake is done. */
static void conn_let_go(quic_conn *qc)
{
    const int busy = conn_end_tls(qc);
    brg_conn *bc = qc->bc;

    qc->bc = NULL;
    if (!qc->begun && bc && !busy)
        qc->ep->below->close(qc->ep->loop, bc);
}

/* The remains wait for packets that are under way: RFC 9000, 10.2. */
static void conn_ends(quic_conn *qc, quic_state next)
{
    BRG_ASSERT(next >= QUIC_CLOSING);
    qc->state = (uint8_t)next;
    quic_qlog_closed(qc);
    quic_qlog_end(qc);
    qc->close_due = quic_now(qc) + 3 * quic_pto(qc, QUIC_S_APP);
    conn_handshake_over(qc);
    if (next != QUIC_DEAD)
        quic_conn_rearm(qc);
}

void quic_conn_over(quic_conn *qc, quic_state next)
{
    BRG_ASSERT(qc->in_call && qc->state <= QUIC_UP);
    qc->state = (uint8_t)next;
    if (qc->begun) {
        conn_end_tls(qc); /* which goes with bc */
        qc->ep->setup->user->closed(qc, &qc->end);
    }
    conn_let_go(qc);
    conn_ends(qc, next);
}

static void conn_log(const quic_conn *qc, uint64_t code, const char *reason)
{
    char text[CONN_CLIENT_TEXT];

    ap_log_error(APLOG_MARK, APLOG_INFO, 0, qc->ep->loop->server,
                 "QUIC: the connection with %s is closed, error 0x%" APR_UINT64_T_HEX_FMT ": %s",
                 conn_client(qc->bc, text), (apr_uint64_t)code, reason);
}

void quic_conn_fail(quic_conn *qc, uint64_t code, const char *reason)
{
    BRG_ASSERT(qc->in_call && reason);
    if (qc->state > QUIC_UP)
        return;
    if (qc->bc && APLOG_IS_LEVEL(qc->ep->loop->server, APLOG_INFO))
        conn_log(qc, code, reason);
    qc->end = (quic_end){.code = code, .reason = reason};
    qc->ep->figures.handshakes_failed += qc->state == QUIC_HANDSHAKE_STATE;
    quic_close_make(qc);
    quic_conn_over(qc, QUIC_CLOSING);
}

void quic_conn_close(quic_conn *qc, uint64_t code, int is_application, const char *reason)
{
    quic_conn_enter(qc);
    BRG_ASSERT(qc->state <= QUIC_UP);
    qc->end = (quic_end){
        .code = code, .is_application = (uint8_t)is_application, .reason = reason ? reason : ""};
    quic_close_make(qc);
    qc->end.reason = "";
    conn_let_go(qc);
    conn_ends(qc, QUIC_CLOSING);
    quic_conn_leave(qc);
}

void quic_conn_drop(quic_conn *qc)
{
    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    quic_conn_enter(qc);
    qc->end = (quic_end){.code = 0x100, .is_application = 1, .reason = ""}; /* H3_NO_ERROR */
    if (qc->state <= QUIC_UP) {
        quic_close_make(qc);
        quic_out_flush(qc->ep);
        conn_let_go(qc);
        conn_ends(qc, QUIC_DEAD);
    }
    qc->state = QUIC_DEAD;
    quic_conn_leave(qc);
}

/* Out of a list by pending_next. @return where it stood; NULL: it is not in it */
static quic_conn **conn_unpend(quic_conn **at, quic_conn *qc)
{
    while (*at && *at != qc)
        at = &(*at)->pending_next;
    if (!*at)
        return NULL;
    *at = qc->pending_next;
    return at;
}

static void conn_unlink(quic_conn *qc)
{
    quic_endpoint *ep = qc->ep;
    quic_conn **at;

    BRG_ASSERT(*qc->all_prev == qc && ep->conns_n > 0);
    *qc->all_prev = qc->all_next;
    if (qc->all_next)
        qc->all_next->all_prev = qc->all_prev;
    ep->conns_n--;
    if (qc->pending && !conn_unpend(&ep->turn, qc) &&
        (at = conn_unpend(&ep->pending, qc)) != NULL && ep->pending_tail == &qc->pending_next)
        ep->pending_tail = at;
}

void quic_conn_free(quic_conn *qc)
{
    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->bc || qc->tls)
        conn_let_go(qc);
    conn_strip(qc);
    quic_streams_reap(qc);
    quic_deadline_cancel(qc);
    quic_cids_end(qc);
    quic_id_remove(&qc->first);
    conn_unlink(qc);
    quic_qlog_end(qc);
    free(qc->old);
    free(qc->elsewhere);
    free(qc->close);
    qc->tag = 0;
    free(qc);
}

/* ---- for the user ---- */

const void *quic_conn_of(const quic_conn *qc)
{
    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    return qc->ep->setup->of;
}

brg_conn *quic_conn_bc(const quic_conn *qc)
{
    return qc->bc;
}

int quic_conn_is_up(const quic_conn *qc)
{
    return qc->state == QUIC_UP;
}

void quic_conn_wants(quic_conn *qc)
{
    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->state > QUIC_UP)
        return;
    qc->wants = 1;
    quic_pending(qc);
}
