/* SPDX-License-Identifier: Apache-2.0 */
/* A TLS connection from accept to the end of its handshake. Then the driver of the loop's
 * connections takes over.
 *
 *   accepted -> handshake steps, as the client's messages come -> established -> HTTP
 *                                                             \-> clear HTTP was spoken: HTTP, to
 *                                                                 be answered by an error
 *
 * Nothing of a request is read before: an answer depends on the file watches, which are looked at
 * between reading and answering. */
#include "tls_context_private.h"
#include "clock.h"
#include "connection.h"
#include "transport.h"
#include "vhosts.h"
#include "brigade/read_timeout.h"
#include "http_log.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

APLOG_USE_MODULE(ssl);

/* brg_conn.below of a clear connection on which TLS was to be spoken. */
static const char tls_misdirected;

/* The request that its client gets an answer to, as mod_ssl has it. */
static const char tls_clear_request[] = "GET / HTTP/1.0\r\n\r\n";

int tls_is_misdirected(conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    return bc && !bc->transport && bc->below == &tls_misdirected;
}

static void tls_close(brg_conn *bc)
{
    BRG_ASSERT(loop_self() == bc->loop || !loop_self());
    if (bc->c)
        connection_detach(bc);
    loop_close(bc->loop, bc);
}

static void handshake_drop(brg_conn *bc)
{
    bc->failed = 1;
    tls_close(bc);
}

/* ---- time ---- */

static apr_time_t handshake_due(const brg_conn *bc)
{
    APR_OPTIONAL_FN_TYPE(brg_read_timeouts_of) *limits =
        APR_RETRIEVE_OPTIONAL_FN(brg_read_timeouts_of);
    brg_read_timeouts of;
    apr_interval_time_t most = bc->base->timeout;

    BRG_ASSERT(bc->base != NULL);
    memset(&of, 0, sizeof of);
    if (limits)
        limits(bc->base, &of);
    if (of.handshake.first_us && of.handshake.first_us < most)
        most = of.handshake.first_us;
    return bc->input.began + most;
}

static void handshake_wait(brg_conn *bc)
{
    BRG_ASSERT(bc->driver == &tls_handshake_driver);
    conn_in_release(bc);
    if (loop_poll(bc->loop, bc)) {
        tls_close(bc);
        return;
    }
    if (!bc->timer.prev)
        wheel_set(&bc->loop->wheel, &bc->timer, handshake_due(bc));
}

/* It waits for a certificate, which is looked for with each tick of the wheel. */
static void handshake_wait_name(brg_conn *bc)
{
    BRG_ASSERT(((const tls_conn *)bc->below)->naming);
    conn_in_release(bc);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    wheel_set(&bc->loop->wheel, &bc->timer, bc->loop->monotonic + 1);
}

static void handshake_expired(brg_conn *bc)
{
    tls_conn *t = bc->below;

    BRG_ASSERT(bc->driver == &tls_handshake_driver && bc->state == CONN_HEAD);
    if (t->naming && bc->loop->monotonic < handshake_due(bc)) {
        t->looks = 1;
        loop_again(bc->loop, bc);
        return;
    }
    connection_log_late(bc, "handshake");
    handshake_drop(bc);
}

/* ---- the end of it ---- */

/* By the choice of ALPN. */
static const struct conn_driver *handshake_driver_of(const brg_conn *bc)
{
    const conn_protocol *other;
    const tls_conn *t = bc->transport == &tls_transport ? bc->below : NULL;
    const unsigned char *name = NULL;
    unsigned len = 0;

    if (t)
        SSL_get0_alpn_selected(t->ssl, &name, &len);
    other = len && !bc->module_driven ? conn_protocol_named((const char *)name, len) : NULL;
    return other ? other->driver : bc->loop->config->services->driver;
}

static void handshake_done(brg_conn *bc)
{
    const tls_conn *t = bc->transport ? bc->below : NULL;

    BRG_ASSERT(bc->driver == &tls_handshake_driver && bc->requests == 0);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    bc->driver = handshake_driver_of(bc);
    bc->input.began = bc->loop->monotonic;
    bc->idle_until = bc->input.began + bc->base->timeout; /* for a protocol of modules */
    bc->rd_ready = !t || !t->drained || t->kept;
    loop_again(bc->loop, bc);
}

/* The client spoke HTTP: it gets an answer that it can read. */
static void handshake_was_http(brg_conn *bc)
{
    server_rec *s = bc->base;

    BRG_ASSERT(bc->transport == &tls_transport);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s,
                 APLOGNO(01996) "SSL handshake failed: HTTP spoken on HTTPS port; trying to send "
                                "HTML error page");
    conn_in_release(bc);
    if (!(bc->input.at = loop_in_get(bc->loop))) {
        handshake_drop(bc);
        return;
    }
    bc->input.cap = LOOP_IN_BYTES;
    bc->input.off = 0;
    bc->input.len = sizeof tls_clear_request - 1;
    memcpy(bc->input.at, tls_clear_request, bc->input.len);
    tls_release(bc);
    bc->below = (void *)(uintptr_t)&tls_misdirected;
    if (bc->c)
        connection_detach(bc);
    handshake_done(bc);
}

static brg_figure_id handshake_version(const SSL *ssl)
{
    switch (SSL_version(ssl)) {
    case TLS1_3_VERSION:
        return BRG_FIGURE_VERSION_13;
    case TLS1_2_VERSION:
        return BRG_FIGURE_VERSION_12;
    default:
        return BRG_FIGURE_VERSION_OLD;
    }
}

int tls_handshake_settle(tls_conn *t)
{
    brg_figures *own = &t->bc->loop->figures->own;

    t->established = 1;
    figures_add(&own->value[SSL_session_reused(t->ssl) ? BRG_FIGURE_SHAKES_RESUMED
                                                       : BRG_FIGURE_SHAKES_FULL],
                1);
    figures_add(&own->value[handshake_version(t->ssl)], 1);
    t->mode = SSL_get_verify_mode(t->ssl);
    t->generous = tls_conf_of(t->server)->verify == TLS_VERIFY_OPTIONAL_NO_CA;
    return tls_view_set(t);
}

static void handshake_succeeded(brg_conn *bc)
{
    tls_conn *t = bc->below;

    if (!tls_keys_take(t))
        tls_share(t);
    if (tls_handshake_settle(t))
        tls_close(bc);
    else
        handshake_done(bc);
}

/* ---- a step ---- */

/* Result of a step. */
enum { STEP_DONE, STEP_WAITS, STEP_SIGNS, STEP_FAILED, STEP_HTTP, STEP_DROPPED };

/* An error, of which OpenSSL's queue of this thread tells. */
static int step_failed(tls_conn *t, int rc)
{
    if (SSL_get_error(t->ssl, rc) == SSL_ERROR_SSL &&
        ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
        ERR_clear_error();
        return STEP_HTTP;
    }
    (void)tls_error(t, rc, "handshake");
    t->failed = 0; /* the alert can be written still */
    (void)tls_flush(t);
    t->failed = 1;
    return STEP_FAILED;
}

/* The first step is made when the ClientHello is there. STEP_DONE: it is */
static int step_begin(tls_conn *t, tls_scratch *in)
{
    int came = tls_hello_came(t, in), step;

    step = came < 0            ? STEP_FAILED
           : !came             ? STEP_WAITS
           : tls_conn_begin(t) ? STEP_DROPPED
                               : STEP_DONE;
    if (step != STEP_DONE)
        tls_input_end(t);
    return step;
}

/* Threads: the owner of the connection. */
static int step_make(tls_conn *t)
{
    tls_scratch *in;
    int rc, error;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(!t->established);
    t->last = t->more = 0;
    if (!(in = tls_input_begin(t))) {
        conn_fail(t->bc, ENOMEM, "cannot read from the client");
        return STEP_DROPPED;
    }
    if (!t->ssl && (rc = step_begin(t, in)) != STEP_DONE)
        return rc;
    ERR_clear_error();
    errno = 0;
    tls_kdf_listen(t->records);
    rc = SSL_do_handshake(t->ssl);
    tls_kdf_listen(NULL);
    tls_input_end(t);
    if (rc != 1) {
        error = SSL_get_error(t->ssl, rc);
        if (error == SSL_ERROR_WANT_CLIENT_HELLO_CB)
            return STEP_SIGNS;
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            return step_failed(t, rc);
    }
    /* A ticket is all that is left to say, and it may leave with the answer. */
    t->more = rc == 1 && SSL_version(t->ssl) == TLS1_3_VERSION;
    if (tls_flush(t) && t->failed) {
        conn_fail(t->bc, errno, "cannot write to the client");
        return STEP_DROPPED;
    }
    /* The client waits for all of it before it goes on. */
    return rc == 1 && !t->held_len ? STEP_DONE : STEP_WAITS;
}

static void handshake_sign(brg_conn *bc);

/* The loop answered a client that offered a session, with a key that takes long. */
static void step_answered(tls_conn *t)
{
    t->offers = 0;
    if (!SSL_session_reused(t->ssl))
        t->loop->refused_at = t->bc->loop->monotonic;
}

/* The alert is to arrive, whatever the client sends meanwhile. */
static void handshake_refuse(brg_conn *bc)
{
    if (((const tls_conn *)bc->below)->eof) {
        handshake_drop(bc);
        return;
    }
    tls_release(bc);
    if (bc->c)
        connection_detach(bc);
    loop_linger(bc->loop, bc);
}

static void step_ends(brg_conn *bc, int step)
{
    BRG_ASSERT(loop_self() == bc->loop && bc->state == CONN_HEAD);
    if (((tls_conn *)bc->below)->offers)
        step_answered(bc->below);
    switch (step) {
    case STEP_DONE:
        handshake_succeeded(bc);
        return;
    case STEP_WAITS:
        handshake_wait(bc);
        return;
    case STEP_SIGNS:
        if (((const tls_conn *)bc->below)->naming)
            handshake_wait_name(bc);
        else
            handshake_sign(bc);
        return;
    case STEP_HTTP:
        handshake_was_http(bc);
        return;
    case STEP_FAILED:
        figures_add(&bc->loop->figures->own.value[BRG_FIGURE_SHAKES_FAILED], 1);
        handshake_refuse(bc);
        return;
    default:
        handshake_drop(bc);
    }
}

/* ---- steps of workers ---- */

void tls_handshake_message(int sent, int version, int type, const void *data, size_t len, SSL *ssl,
                           void *unused)
{
    tls_conn *t;

    tls_keys_count(sent, version, type, data, len, ssl, unused);
    if (!sent || type != SSL3_RT_HANDSHAKE || !len ||
        *(const unsigned char *)data != SSL3_MT_CERTIFICATE_REQUEST)
        return;
    t = SSL_get_app_data(ssl);
    t->waits = tls_ocsp_is_wanted(tls_conf_of(t->server));
}

static void handshake_to_worker(brg_conn *bc)
{
    BRG_ASSERT(loop_self() == bc->loop && bc->state == CONN_HEAD);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    loop_unlist(bc->loop, bc);
    conn_in_release(bc);
    bc->work.since = bc->loop->monotonic;
    bc->queue.must_run = 0;
    conn_enter(bc, CONN_WORKER);
    if (!worker_pool_submit(bc->loop->workers, bc))
        return;
    conn_enter(bc, CONN_HEAD);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, bc->base,
                 "no worker thread for a TLS handshake that takes long: the queue is full; see "
                 "WorkerQueueSize");
    handshake_drop(bc);
}

/* The ClientHello leads to a signature that takes long. */
static void handshake_sign(brg_conn *bc)
{
    if (tls_sign_begins(bc->below))
        handshake_to_worker(bc);
    else
        handshake_wait(bc);
}

static void handshake_work(brg_conn *bc)
{
    tls_conn *t = bc->below;

    BRG_ASSERT(bc->state == CONN_WORKER && !loop_self());
    t->step = (uint8_t)step_make(t);
}

static void handshake_refused(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_WORKER && bc->queue.refused);
    bc->queue.refused = CONN_NOT_REFUSED;
    conn_enter(bc, CONN_HEAD);
    handshake_drop(bc);
}

/* No further event tells of it. */
static int came_meanwhile(const brg_conn *bc)
{
    char byte;

    return recv(bc->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

static void handshake_returned(brg_conn *bc)
{
    tls_conn *t = bc->below;

    if (bc->queue.refused) {
        handshake_refused(bc);
        return;
    }
    tls_sign_is_over(t);
    t->drained = 0; /* the loop took no notice of bytes that came meanwhile */
    conn_enter(bc, CONN_HEAD);
    if (t->step == STEP_WAITS && came_meanwhile(bc))
        loop_again(bc->loop, bc);
    else
        step_ends(bc, t->step);
}

/* Connections that are at work shall not wait for many handshakes, nor for a few with a large key: to sign
 * takes 0.3 ms with RSA-2048, 3.5 ms with RSA-4096. */
static int handshake_gives_way(const brg_conn *bc)
{
    tls_conn *t = bc->below;
    tls_loop *l = t->loop;

    BRG_ASSERT(l != NULL);
    if (l->turn != bc->loop->turn.began) {
        l->turn = bc->loop->turn.began;
        l->steps = 0;
        l->steps_began = clock_monotonic();
    }
    if (++l->steps == 1)
        return 0;
    return l->steps > TLS_HANDSHAKES || clock_monotonic() - l->steps_began >= TLS_HANDSHAKE_US;
}

static void handshake_run(brg_conn *bc)
{
    tls_conn *t = bc->below;
    int step;

    BRG_ASSERT(loop_self() == bc->loop);
    if (bc->state == CONN_WORKER) {
        handshake_returned(bc);
        return;
    }
    if (bc->failed) {
        tls_close(bc);
        return;
    }
    if (t->queues || (t->naming && !t->looks))
        return;
    if (t->waits || t->signing) {
        handshake_to_worker(bc);
        return;
    }
    if (handshake_gives_way(bc)) {
        conn_in_release(bc);
        loop_again(bc->loop, bc);
        return;
    }
    bc->rd_ready = 0;
    bc->loop->long_turn = 1;
    t->looks = 0;
    step = step_make(t);
    t->loop->steps -= !t->ssl; /* it took no time */
    if (step == STEP_WAITS && t->waits && t->kept)
        loop_again(bc->loop, bc); /* bytes that came already are for the worker */
    else
        step_ends(bc, step);
}

const struct conn_driver tls_handshake_driver = {.name = "tls handshake",
                                                 .run = handshake_run,
                                                 .expired = handshake_expired,
                                                 .drop = handshake_drop,
                                                 .refused = handshake_refused,
                                                 .work = handshake_work};
