/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake: bytes of CRYPTO frames to TLS, and what TLS says back. RFC 9001, 4. */
#include "quic_private.h"
#include <stdlib.h>

const quic_below quic_below_real = {loop_conn_begin, loop_close,   tls_quic_begin,
                                    tls_quic_give,   tls_quic_end, tls_quic_allow_early};

static const quic_space_id tls_space[TLS_QUIC_LEVELS] = {QUIC_S_INITIAL, QUIC_S_APP,
                                                         QUIC_S_HANDSHAKE, QUIC_S_APP};
static const tls_quic_level tls_level[QUIC_SPACES] = {TLS_QUIC_INITIAL, TLS_QUIC_HANDSHAKE,
                                                      TLS_QUIC_APPLICATION};

/* ---- what TLS says ---- */

static int tls_send(void *of, tls_quic_level level, const uint8_t *data, size_t len)
{
    quic_conn *qc = of;
    quic_space *sp;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->state > QUIC_UP || !(sp = quic_space_new(qc, tls_space[level])))
        return -1;
    quic_pending(qc);
    return quic_sendq_add(&sp->crypto, data, len, NULL);
}

static int tls_secret(void *of, tls_quic_level level, int is_write, uint16_t suite,
                      const uint8_t *secret, size_t len)
{
    quic_conn *qc = of;
    quic_space *sp;
    quic_key *key;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (level == TLS_QUIC_INITIAL)
        return 0;
    if (qc->state > QUIC_UP || !(sp = quic_space_new(qc, tls_space[level])))
        return -1;
    if (level == TLS_QUIC_EARLY && !qc->early_read &&
        !(qc->early_read = calloc(1, sizeof *qc->early_read)))
        return -1;
    key = level == TLS_QUIC_EARLY ? qc->early_read : is_write ? &sp->write : &sp->read;
    if (key->aead || (level == TLS_QUIC_EARLY && is_write))
        return -1;
    return quic_key_make(key, level == TLS_QUIC_EARLY ? qc->first_version : qc->version, suite,
                         is_write, secret, len);
}

static int tls_params_fit(const quic_conn *qc, const quic_params *p)
{
    return quic_cid_equal(&p->initial_source, &qc->theirs[0].cid) &&
           (!p->has_versions || p->version == qc->first_version);
}

/* Another version than the client's first packet had: it is heard in both until Initial packets are over. RFC 9368, 2.3; RFC 9369, 4.1
 * @return 0; -1: no memory */
static int tls_change_version(quic_conn *qc, uint32_t version)
{
    quic_space *sp = qc->space[QUIC_S_INITIAL];
    quic_key read, write;

    if (version == qc->version || !sp)
        return 0;
    BRG_ASSERT(!qc->first_read && qc->version == qc->first_version);
    if (!(qc->first_read = malloc(sizeof *qc->first_read)))
        return -1;
    *qc->first_read = (quic_key){0};
    if (quic_key_initial(&read, &write, version, &qc->first.cid, 1))
        return -1;
    *qc->first_read = sp->read;
    quic_key_end(&sp->write);
    sp->read = read;
    sp->write = write;
    qc->version = version;
    quic_qlog_number(qc, "quic:version_information", "chosen_version", version);
    return 0;
}

static int tls_peer_params(void *of, const uint8_t *params, size_t len)
{
    quic_conn *qc = of;
    apr_interval_time_t idle;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->state > QUIC_UP)
        return -1;
    if (quic_params_read(&qc->peer, params, len) || !tls_params_fit(qc, &qc->peer)) {
        qc->params_bad = 1;
        return -1;
    }
    if (qc->peer.has_versions && tls_change_version(qc, quic_params_version(&qc->peer)))
        return -1;
    qc->params_came = 1;
    quic_qlog_params(qc);
    qc->out_max = qc->peer.max_data;
    qc->own_uni_most = qc->peer.max_uni;
    idle = apr_time_from_msec(
        (apr_time_t)(qc->peer.idle_timeout < 86400000 ? qc->peer.idle_timeout : 86400000));
    if (idle && idle < qc->idle)
        qc->idle = idle;
    return 0;
}

/* The last that TLS says: the connection ends, and it with that. */
static void tls_alert(void *of, unsigned alert)
{
    quic_conn *qc = of;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    quic_conn_enter(qc);
    if (qc->params_bad)
        quic_conn_fail(qc, QUIC_TRANSPORT_PARAMETER_ERROR, "transport parameters");
    else
        quic_conn_fail(qc, QUIC_CRYPTO_ERROR + alert, "TLS");
    quic_conn_leave(qc);
}

/* RFC 9001, 4.1.2 */
static void tls_confirm(quic_conn *qc)
{
    BRG_ASSERT(qc->in_call && !qc->confirmed);
    qc->confirmed = 1;
    quic_key_drop(&qc->first_read);
    quic_space_retire(qc, QUIC_S_INITIAL);
    quic_space_retire(qc, QUIC_S_HANDSHAKE);
    qc->pto_n = 0;
    quic_cc_up(qc);
}

static void tls_up(quic_conn *qc)
{
    const int is_early = qc->begun;

    BRG_ASSERT(qc->state == QUIC_HANDSHAKE_STATE);
    qc->state = QUIC_UP;
    qc->begun = 1;
    quic_key_drop(&qc->early_read);
    qc->path.validated = 1;
    qc->due |= QUIC_DUE_HANDSHAKE_DONE | QUIC_DUE_TOKEN;
    if (qc->counts_handshake) {
        qc->counts_handshake = 0;
        qc->ep->handshakes--;
    }
    tls_confirm(qc);
    quic_qlog_state(qc, "handshake_confirmed");
    quic_cids_issue(qc);
    quic_mtu_begin(qc);
    if (is_early)
        qc->ep->setup->user->up(qc);
    else
        qc->ep->setup->user->begun(qc);
}

/* Requests of early data may be answered in packets of 1-RTT, before the client has said who it is (RFC 9001, 5.6): those that
 * follow it are not read before that. */
static void tls_early(void *of)
{
    quic_conn *qc = of;
    const quic_space *sp = qc->space[QUIC_S_APP];

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->state != QUIC_HANDSHAKE_STATE || !qc->params_came || !sp || !sp->write.aead ||
        !qc->early_read)
        return;
    quic_conn_enter(qc);
    qc->begun = 1;
    quic_qlog_state(qc, "early_write");
    qc->ep->figures.early++;
    qc->ep->setup->user->begun(qc);
    quic_conn_leave(qc);
}

static void tls_done(void *of)
{
    quic_conn *qc = of;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->state != QUIC_HANDSHAKE_STATE)
        return;
    quic_conn_enter(qc);
    if (!qc->params_came || !qc->space[QUIC_S_APP] || !qc->space[QUIC_S_APP]->read.aead)
        quic_conn_fail(qc, QUIC_CRYPTO_ERROR + 109,
                       "no transport parameters"); /* missing_extension */
    else
        tls_up(qc);
    if (qc->state <= QUIC_UP) {
        quic_pending(qc);
        quic_conn_rearm(qc);
    }
    quic_conn_leave(qc);
}

/* The loop makes room, or ends. */
static void tls_drop(void *of)
{
    quic_conn *qc = of;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->state <= QUIC_UP)
        quic_conn_drop(qc);
}

static const tls_quic_user tls_user = {.send = tls_send,
                                       .secret = tls_secret,
                                       .answer_params = quic_params_answer,
                                       .peer_params = tls_peer_params,
                                       .alert = tls_alert,
                                       .early = tls_early,
                                       .done = tls_done,
                                       .drop = tls_drop};

/* ---- what it is told ---- */

int quic_tls_start(quic_conn *qc)
{
    const quic_setup *setup = qc->ep->setup;
    uint8_t params[QUIC_PARAMS_MOST], token[QUIC_RESET_TOKEN];
    const quic_params ours = {.idle_timeout = (uint64_t)apr_time_as_msec(setup->idle_timeout),
                              .max_udp = 1472,
                              .max_data = setup->conn_window,
                              .max_data_bidi_remote = setup->stream_window,
                              .max_data_uni = setup->stream_window,
                              .max_bidi = setup->max_streams,
                              .max_uni = setup->max_uni_streams,
                              .ack_delay = QUIC_ACK_DELAY / 1000,
                              .cid_limit = QUIC_CIDS,
                              .original = qc->original,
                              .initial_source = qc->own[0].cid,
                              .has_retry_source = qc->has_retry,
                              .retry_source = qc->first.cid,
                              .reset_token = token,
                              .version = qc->version};

    quic_reset_token(qc->ep, &qc->own[0].cid, token);
    if (setup->user->accepted && !setup->user->accepted(qc))
        return -1;
    qc->tls = qc->ep->below->begin(qc->bc, &tls_user, qc, params, quic_params_write(&ours, params));
    if (qc->tls && setup->early)
        qc->ep->below->allow_early(qc->tls, setup->early);
    return qc->tls ? 0 : -1;
}

typedef struct tls_level_of {
    quic_conn *qc;
    tls_quic_level level;
} tls_level_of;

static int tls_deliver(void *of, const uint8_t *data, size_t len)
{
    const tls_level_of *to = of;

    if (to->qc->state > QUIC_UP || !to->qc->tls)
        return -1;
    return to->qc->ep->below->give(to->qc->tls, to->level, data, len) || to->qc->state > QUIC_UP
               ? -1
               : 0;
}

int quic_tls_crypto(quic_conn *qc, quic_space_id id, uint64_t off, const uint8_t *data, size_t len)
{
    quic_reorder *in = &qc->space[id]->crypto_in;
    tls_level_of to = {qc, tls_level[id]};

    BRG_ASSERT(qc->space[id] && qc->in_call);
    if (off + len > in->next + QUIC_CRYPTO_MOST || off + len > QUIC_CRYPTO_ALL)
        return -QUIC_CRYPTO_BUFFER_EXCEEDED;
    if (off + len <= in->next && id != QUIC_S_APP)
        quic_loss_again(qc);
    return quic_reorder_put(in, off, data, len, QUIC_REORDER_RANGES, tls_deliver, &to);
}
