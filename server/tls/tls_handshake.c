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
#include "brigade/assert.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

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
    return bc->head_began + most;
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

static void handshake_expired(brg_conn *bc)
{
    BRG_ASSERT(bc->driver == &tls_handshake_driver && bc->state == CONN_HEAD);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, bc->base, APLOGNO(01382) "Request %s read timeout",
                 "handshake");
    bc->failed = 1;
    tls_close(bc);
}

/* ---- the end of it ---- */

/* By what ALPN chose. */
static const struct conn_driver *handshake_driver_of(const brg_conn *bc)
{
    const conn_protocol *other = conn_protocol_of();
    const tls_conn *t = bc->transport == &tls_transport ? bc->below : NULL;
    const unsigned char *name = NULL;
    unsigned len = 0;

    if (other && t)
        SSL_get0_alpn_selected(t->ssl, &name, &len);
    return len && !bc->module_driven && len == strlen(other->name) &&
                   !memcmp(name, other->name, len)
               ? other->driver
               : bc->loop->config->services->driver;
}

static void handshake_done(brg_conn *bc)
{
    const tls_conn *t = bc->transport ? bc->below : NULL;

    BRG_ASSERT(bc->driver == &tls_handshake_driver && bc->requests == 0);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    bc->driver = handshake_driver_of(bc);
    bc->head_began = bc->loop->monotonic;
    bc->idle_until = bc->head_began + bc->base->timeout; /* for a protocol of modules */
    bc->rd_ready = !t || !t->drained || t->kept;
    loop_again(bc->loop, bc);
}

/* 1 if the client spoke HTTP: it gets an answer that it can read. */
static int handshake_was_http(brg_conn *bc)
{
    int reason = ERR_GET_REASON(ERR_peek_error());
    server_rec *s = bc->base;

    BRG_ASSERT(bc->transport == &tls_transport);
    if (reason != SSL_R_HTTP_REQUEST)
        return 0;
    ERR_clear_error();
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s,
                 APLOGNO(01996) "SSL handshake failed: HTTP spoken on HTTPS port; trying to send "
                                "HTML error page");
    conn_in_release(bc);
    if (!(bc->in = loop_in_get(bc->loop)))
        return 0;
    bc->in_cap = LOOP_IN_BYTES;
    bc->in_off = 0;
    bc->in_len = sizeof tls_clear_request - 1;
    memcpy(bc->in, tls_clear_request, bc->in_len);
    tls_release(bc);
    bc->below = (void *)(uintptr_t)&tls_misdirected;
    if (bc->c)
        connection_detach(bc);
    handshake_done(bc);
    return 1;
}

static void handshake_failed(brg_conn *bc, int rc)
{
    tls_conn *t = bc->below;

    if (SSL_get_error(t->ssl, rc) == SSL_ERROR_SSL && handshake_was_http(bc))
        return;
    figures_add(&bc->loop->figures->own.value[BRG_FIGURE_SHAKES_FAILED], 1);
    (void)tls_error(t, rc, "handshake");
    t->failed = 0; /* the alert can be written still */
    (void)tls_flush(t);
    t->failed = bc->failed = 1;
    tls_close(bc);
}

static void handshake_drop(brg_conn *bc)
{
    bc->failed = 1;
    tls_close(bc);
}

static void handshake_step(brg_conn *bc)
{
    tls_conn *t = bc->below;
    int rc, error;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(!t->established && t->bc == bc);
    t->last = t->more = 0;
    if (!tls_input_begin(t)) {
        handshake_drop(bc);
        return;
    }
    ERR_clear_error();
    errno = 0;
    tls_kdf_listen(t->records);
    bc->loop->long_turn = 1;
    rc = SSL_do_handshake(t->ssl);
    tls_kdf_listen(NULL);
    tls_input_end(t);
    if (rc != 1) {
        error = SSL_get_error(t->ssl, rc);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            handshake_failed(bc, rc);
            return;
        }
    }
    if (tls_flush(t) && t->failed) {
        bc->failed = 1;
        tls_close(bc);
        return;
    }
    if (rc != 1 || t->held_len) { /* the client waits for all of it before it goes on */
        handshake_wait(bc);
        return;
    }
    if (!tls_keys_take(t))
        tls_share(t);
    t->established = 1;
    figures_add(&bc->loop->figures->own.value[SSL_session_reused(t->ssl) ? BRG_FIGURE_SHAKES_RESUMED
                                                                         : BRG_FIGURE_SHAKES_FULL],
                1);
    t->mode = SSL_get_verify_mode(t->ssl);
    t->generous = tls_conf_of(t->server)->verify == TLS_VERIFY_OPTIONAL_NO_CA;
    if (tls_view_set(t))
        tls_close(bc);
    else
        handshake_done(bc);
}

/* Connections that are at work shall not wait for many handshakes, nor for a few with a large key: to sign
 * takes 0.3 ms with RSA-2048, 3.5 ms with RSA-4096. */
static int handshake_gives_way(const brg_conn *bc)
{
    tls_conn *t = bc->below;
    tls_loop *l = t->loop;

    BRG_ASSERT(l != NULL);
    if (l->turn != bc->loop->turn_began) {
        l->turn = bc->loop->turn_began;
        l->steps = 0;
        l->steps_began = clock_monotonic();
    }
    if (++l->steps == 1)
        return 0;
    return l->steps > TLS_HANDSHAKES || clock_monotonic() - l->steps_began >= TLS_HANDSHAKE_US;
}

static void handshake_run(brg_conn *bc)
{
    BRG_ASSERT(loop_self() == bc->loop && bc->state == CONN_HEAD);
    if (bc->failed) {
        tls_close(bc);
        return;
    }
    if (handshake_gives_way(bc)) {
        conn_in_release(bc);
        loop_again(bc->loop, bc);
        return;
    }
    bc->rd_ready = 0;
    handshake_step(bc);
}

/* A connection in its handshake is never with a worker. */
static void handshake_refused(brg_conn *bc)
{
    BRG_ASSERT(bc->state != CONN_WORKER);
}

const struct conn_driver tls_handshake_driver = {.name = "tls handshake",
                                                 .run = handshake_run,
                                                 .expired = handshake_expired,
                                                 .drop = handshake_drop,
                                                 .refused = handshake_refused,
                                                 .work = handshake_refused};
