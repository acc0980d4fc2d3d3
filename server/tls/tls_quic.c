/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes of QUIC: what both backs have in common. A step is made with what came; what it says is told when it is over. A
 * handshake in which a large key signs, or in which a responder is asked about the client's certificate, goes on at a worker,
 * as over TCP (tls_handshake.c). */
#include "tls_quic_private.h"
#include "tls_context_private.h"
#include "tls_setup.h"
#include "connection.h"
#include "driver.h"
#include "transport.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

static const struct conn_driver quic_driver;

/* A second ClientHello repeats them. */
void tls_quic_params_came(tls_quic *q, const uint8_t *params, size_t len)
{
    if (q->got_params)
        return;
    q->got_params = 1;
    tls_quic_say(q, TLS_QUIC_PEER_PARAMS, TLS_QUIC_INITIAL, params, len);
    if (q->user && q->user->answer_params)
        q->user->answer_params(params, len, q->params, q->params_len);
}

/* ---- telling ---- */

/* RFC 8446, B.4; 0: one that QUIC packets of ours have no AEAD for. */
static uint16_t quic_suite(SSL *ssl)
{
    const SSL_CIPHER *c = SSL_get_pending_cipher(ssl);
    uint16_t id;

    c = c ? c : SSL_get_current_cipher(ssl);
    id = c ? SSL_CIPHER_get_protocol_id(c) : 0;
    return id >= 0x1301 && id <= 0x1303 ? id : 0;
}

static int quic_tell_secret(tls_quic *q, const tls_quic_note *n)
{
    const uint16_t suite = quic_suite(q->t->ssl);

    BRG_ASSERT(n->len <= TLS_QUIC_SECRET_MOST);

    if (!q->got_params)
        tls_quic_refuse(q, SSL_AD_MISSING_EXTENSION);
    else if (!suite)
        tls_quic_refuse(q, SSL_AD_HANDSHAKE_FAILURE);
    if (q->alerted)
        return -1;
    return q->user->secret(q->of, n->level, n->said == TLS_QUIC_WRITE_SECRET, suite, n->data,
                           n->len);
}

static int quic_tell_one(tls_quic *q, const tls_quic_note *n)
{
    BRG_ASSERT(q->user && n->said != TLS_QUIC_GIVEN && n->level < TLS_QUIC_LEVELS);
    if (n->said == TLS_QUIC_SEND)
        return q->user->send(q->of, n->level, n->data, n->len);
    if (n->said == TLS_QUIC_PEER_PARAMS)
        return q->user->peer_params(q->of, n->data, n->len);
    return quic_tell_secret(q, n);
}

/* @return 0; -1: it failed, or the user is gone */
static int quic_tell(tls_quic *q)
{
    tls_quic_note *n;
    int failed = 0;

    BRG_ASSERT(loop_self() == q->t->bc->loop);
    while (!failed && q->user && (n = tls_quic_note_take(&q->said)) != NULL) {
        failed = quic_tell_one(q, n);
        tls_quic_note_free(n);
    }
    if (failed)
        tls_quic_refuse(q, SSL_AD_INTERNAL_ERROR);
    return failed || !q->user ? -1 : 0;
}

/* ---- steps ---- */

/* A connection without ALPN is none (RFC 9001, 8.1). */
static int step_has_protocol(tls_quic *q)
{
    const unsigned char *name;
    unsigned len = 0;

    SSL_get0_alpn_selected(q->t->ssl, &name, &len);
    if (!len)
        tls_quic_refuse(q, SSL_AD_NO_APPLICATION_PROTOCOL);
    return len != 0;
}

/* Threads: the owner of the connection. */
static int step_make(tls_quic *q)
{
    tls_conn *t = q->t;
    int rc, error;

    BRG_ASSERT(!q->is_over);
    ERR_clear_error();
    errno = 0;
    rc = tls_quic_back_step(q);
    if (t->offers && rc == 1)
        t->offers = 0;
    if (q->alerted)
        return TLS_QUIC_FAILED;
    if (rc == 1 && !SSL_is_init_finished(t->ssl)) /* it lets early data be read first */
        return TLS_QUIC_WAITS;
    if (rc == 1)
        return step_has_protocol(q) ? TLS_QUIC_DONE : TLS_QUIC_FAILED;
    error = SSL_get_error(t->ssl, rc);
    if (error == SSL_ERROR_WANT_CLIENT_HELLO_CB)
        return TLS_QUIC_SIGNS;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return TLS_QUIC_WAITS;
    (void)tls_error(t, rc, "handshake");
    return TLS_QUIC_FAILED;
}

static void quic_failed(tls_quic *q)
{
    tls_quic_refuse(q, SSL_AD_INTERNAL_ERROR);
    figures_add(&q->t->bc->loop->figures->own.value[BRG_FIGURE_SHAKES_FAILED], 1);
    q->step = TLS_QUIC_FAILED;
    tls_quic_notes_drop(&q->said);
    tls_quic_notes_drop(&q->given);
    if (q->user)
        q->user->alert(q->of, q->alert);
}

/* @return 0; -1: it failed */
static int quic_to_worker(tls_quic *q)
{
    brg_conn *bc = q->t->bc;

    BRG_ASSERT(loop_self() == bc->loop && bc->state == CONN_HEAD && !q->busy);
    loop_unlist(bc->loop, bc);
    bc->work.since = bc->loop->monotonic;
    bc->queue.must_run = 0;
    conn_enter(bc, CONN_WORKER);
    q->busy = 1;
    if (!worker_pool_submit(bc->loop->workers, bc))
        return 0;
    q->busy = 0;
    conn_enter(bc, CONN_HEAD);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, bc->base,
                 "no worker thread for a QUIC handshake that takes long: the queue is full; see "
                 "WorkerQueueSize");
    quic_failed(q);
    return -1;
}

/* Early data is taken: what memory knows may be asked from now on. A handshake by a ticket needs neither a signature nor a
 * responder, so that no worker has it. */
static int quic_took_early(tls_quic *q)
{
    BRG_ASSERT(q->user && !q->t->waits && !q->t->established);
    if (tls_handshake_settle(q->t)) {
        quic_failed(q);
        return -1;
    }
    q->user->early(q->of);
    return 0;
}

static int quic_succeeded(tls_quic *q)
{
    tls_conn *t = q->t;

    BRG_ASSERT(q->user && !t->records && !q->said.first);
    if ((t->records = calloc(1, sizeof *t->records)) != NULL)
        tls_share(t);
    tls_quic_back_end(q);
    free(q->params);
    q->params = NULL;
    q->is_over = 1;
    if (!t->established && tls_handshake_settle(t)) {
        quic_failed(q);
        return -1;
    }
    q->user->done(q->of);
    return 0;
}

/* A step was made. Its user may have ended q. @return 0; -1: it failed */
static int quic_step_over(tls_quic *q)
{
    const int told = quic_tell(q);

    BRG_ASSERT(!q->busy);

    if (!q->user)
        return -1;
    if (told || q->step == TLS_QUIC_FAILED) {
        quic_failed(q);
        return -1;
    }
    if (q->step == TLS_QUIC_DONE)
        return quic_succeeded(q);
    if (q->step == TLS_QUIC_SIGNS && tls_sign_begins(q->t))
        return quic_to_worker(q);
    if (q->step == TLS_QUIC_WAITS && q->t->waits)
        return 0; /* the next input goes to a worker */
    return q->is_early && !q->t->established && q->user->early ? quic_took_early(q) : 0;
}

/* ---- input ---- */

static int quic_keep(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len)
{
    BRG_ASSERT(q->busy || q->t->queues);
    if (!tls_quic_note_keep(&q->given, level, data, len))
        return 0;
    quic_failed(q);
    return -1;
}

/* A client has nothing to say at another level, and nothing at all after the handshake (RFC 9001, 6). */
static int quic_misplaced(tls_quic *q, tls_quic_level level)
{
    if (!q->is_over && level == q->read)
        return 0;
    tls_quic_refuse(q, SSL_AD_UNEXPECTED_MESSAGE);
    quic_failed(q);
    return -1;
}

int tls_quic_give(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len)
{
    tls_conn *t = q->t;

    BRG_ASSERT(q->user && loop_self() == t->bc->loop);
    BRG_ASSERT(level < TLS_QUIC_LEVELS);
    if (q->step == TLS_QUIC_FAILED)
        return -1;
    if (q->busy || t->queues)
        return quic_keep(q, level, data, len);
    if (quic_misplaced(q, level))
        return -1;
    if (tls_quic_back_give(q, level, data, len)) {
        quic_failed(q);
        return -1;
    }
    if (t->waits)
        return quic_to_worker(q);
    q->step = (uint8_t)step_make(q);
    return quic_step_over(q);
}

/* ---- a worker's step ---- */

static void quic_work(brg_conn *bc)
{
    tls_quic *q = ((tls_conn *)bc->below)->quic;

    BRG_ASSERT(bc->state == CONN_WORKER && !loop_self());
    q->step = (uint8_t)step_make(q);
}

static void quic_give_kept(tls_quic *q)
{
    tls_quic_note *n;
    int rc = 0;

    while (!rc && q->user && !q->busy && (n = tls_quic_note_take(&q->given)) != NULL) {
        rc = tls_quic_give(q, n->level, n->data, n->len);
        tls_quic_note_free(n);
    }
}

static void quic_returned(brg_conn *bc)
{
    tls_conn *t = bc->below;
    tls_quic *q = t->quic;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(q && q->busy);
    tls_sign_is_over(t);
    conn_enter(bc, CONN_HEAD);
    q->busy = 0;
    if (bc->queue.refused) {
        bc->queue.refused = CONN_NOT_REFUSED;
        q->step = TLS_QUIC_FAILED;
    }
    if (!q->user) {
        loop_close(bc->loop, bc);
        return;
    }
    if (!quic_step_over(q) && bc->below == t)
        quic_give_kept(q);
}

static void quic_run(brg_conn *bc)
{
    tls_conn *t = bc->below;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (bc->state == CONN_WORKER)
        quic_returned(bc);
    else if (t->signing)
        quic_to_worker(t->quic);
}

/* The process ends, or the loop is short of room. */
static void quic_drop(brg_conn *bc)
{
    tls_quic *q = ((tls_conn *)bc->below)->quic;

    BRG_ASSERT(q && !q->is_over);
    if (q->user)
        q->user->drop(q->of);
    else
        loop_close(bc->loop, bc);
}

static const struct conn_driver quic_driver = {.name = "quic handshake",
                                               .run = quic_run,
                                               .expired = quic_drop,
                                               .drop = quic_drop,
                                               .refused = quic_returned,
                                               .work = quic_work};

/* ---- begin and end ---- */

static ssize_t quic_no_recv(brg_conn *bc, void *buf, size_t len)
{
    errno = EAGAIN;
    return -1;
}

static ssize_t quic_no_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    errno = EPIPE;
    return -1;
}

static int quic_no_shut(brg_conn *bc)
{
    return 0;
}

void tls_quic_free(tls_quic *q)
{
    if (!q)
        return;
    BRG_ASSERT(!q->busy || !loop_self());
    tls_quic_back_end(q);
    tls_quic_notes_drop(&q->said);
    tls_quic_notes_drop(&q->given);
    free(q->params);
    free(q);
}

const struct conn_transport tls_quic_transport = {.name = "quic",
                                                  .recv = quic_no_recv,
                                                  .sendv = quic_no_sendv,
                                                  .shut = quic_no_shut,
                                                  .end = tls_release};

static tls_quic *quic_make(tls_conn *t, const uint8_t *params, size_t len)
{
    tls_quic *q = calloc(1, sizeof *q);

    if (!q)
        return NULL;
    q->t = t;
    t->quic = q;
    q->params = malloc(len ? len : 1);
    q->params_len = len;
    if (!q->params)
        return NULL;
    memcpy(q->params, params, len);
    return tls_quic_back_ssl(q) ? NULL : q;
}

tls_quic *tls_quic_begin(brg_conn *bc, const tls_quic_user *user, void *of, const uint8_t *params,
                         size_t len)
{
    tls_quic *q = NULL;
    tls_conn *t;

    BRG_ASSERT(bc->borrows && !bc->transport && loop_self() == bc->loop);
    if (tls_conf_of(bc->base)->index < 0 || !(t = tls_conn_new(bc)))
        return NULL;
    bc->below = t;
    bc->transport = &tls_quic_transport;
    bc->driver = &quic_driver;
    if (!tls_conn_ssl(t) && (q = quic_make(t, params, len)) != NULL) {
        q->user = user;
        q->of = of;
        q->step = TLS_QUIC_WAITS;
        return q;
    }
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server, "TLS: no memory for a QUIC connection");
    tls_release(bc);
    return NULL;
}

int tls_quic_has_early(void)
{
    return TLS_QUIC_CALLBACKS;
}

void tls_quic_allow_early(tls_quic *q, uint64_t bound)
{
    BRG_ASSERT(bound && tls_quic_has_early() && !q->is_over);
    q->early_bound = bound;
    tls_quic_back_early(q);
}

void tls_quic_settings(const tls_quic *q)
{
    SSL *ssl = q->t->ssl;

    SSL_set_min_proto_version(ssl, TLS1_3_VERSION);
    SSL_clear_options(ssl, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    if (q->early_bound)
        SSL_set_options(ssl, SSL_OP_NO_ANTI_REPLAY);
}

int tls_quic_ticket(const tls_quic *q, SSL_SESSION *session)
{
    const uint64_t bound = q->early_bound;

    return !bound || SSL_SESSION_set1_ticket_appdata(session, &bound, sizeof bound) == 1;
}

int tls_quic_end(tls_quic *q)
{
    q->user = NULL;
    return q->busy;
}

/* ---- the configuration ---- */

static int quic_wanted;

void tls_quic_want(int on)
{
    quic_wanted = on;
}

int tls_quic_context(SSL_CTX *ctx)
{
    return quic_wanted ? tls_quic_back_context(ctx) : 0;
}

int tls_quic_works(const char **why)
{
    return !tls_quic_back_begin(why);
}
