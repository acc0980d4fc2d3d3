/* SPDX-License-Identifier: Apache-2.0 */
/* struct conn_transport over TLS.
 *
 * sendv() encrypts pieces of memory into as few records as hold them. When the socket does not take
 * all of the records, all but one byte of their plaintext is reported as sent: so the caller comes
 * again with that byte, the rest of the records is written first, and then the byte counts as sent.
 */
#include "tls_conf.h"
#include "tls_record_private.h"
#include "transport.h"
#include "clock.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

/* ---- errors ---- */

static void tls_tell(tls_conn *t, const char *what)
{
    server_rec *s = t->server;

    if (t->client) {
        tls_client_tell(t, what);
        return;
    }
    if (APLOG_IS_LEVEL(s, APLOG_INFO)) {
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, s,
                     APLOGNO(02008) "SSL library error in %s (server %s)", what,
                     s->server_hostname ? s->server_hostname : "");
        tls_log_errors(s, APLOG_INFO);
    }
}

int tls_error(tls_conn *t, int rc, const char *what)
{
    int error = SSL_get_error(t->ssl, rc), cause = errno;

    BRG_ASSERT(t->ssl != NULL && rc <= 0);
    switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
    case SSL_ERROR_WANT_CLIENT_HELLO_CB:
        return EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        t->failed = 1;
        /* OpenSSL itself, as without memory: it may tell the client that all is over, and go on to read. */
        if (t->alerted || (!t->eof && !conn_error_is_peers(cause)))
            tls_tell(t, what);
        return t->drained && cause ? cause : ECONNRESET;
    default:
        t->failed = 1;
        tls_tell(t, what);
        return ECONNABORTED;
    }
}

/* ---- reading ---- */

/* Our side is shut: input is dropped, so it need not be decrypted. */
static ssize_t tls_recv_raw(brg_conn *bc, void *buf, size_t len)
{
    return recv(bc->fd, buf, len, 0);
}

static ssize_t tls_recv_end(tls_conn *t, size_t got, int rc)
{
    int error = tls_error(t, rc, "read");

    BRG_ASSERT(rc <= 0);
    if (error == EAGAIN && t->failed)
        error = ECONNABORTED;
    if (error == EAGAIN && t->reads_left <= 0)
        t->bc->rd_ready = 1; /* others come first */
    if (got) {
        if (error != EAGAIN)
            t->bc->rd_ready = 1; /* told by the next call */
        return (ssize_t)got;
    }
    if (!error)
        return 0;
    errno = error;
    return -1;
}

/* OpenSSL's own output (alerts, answers to messages of the protocol) leaves before another
 * connection uses the thread's buffer. */
static void tls_flush_quietly(tls_conn *t)
{
    int error = errno;

    (void)tls_flush(t);
    errno = error;
}

static ssize_t tls_recv_some(tls_conn *t, char *buf, size_t len)
{
    size_t got = 0;

    BRG_ASSERT(t->established && !t->failed && len > 0);
    t->last = t->more = 0;
    if (!tls_input_begin(t))
        return 0;
    while (got < len && !t->failed) {
        size_t most = len - got > INT_MAX ? INT_MAX : len - got;
        int n;

        ERR_clear_error();
        errno = 0;
        n = SSL_read(t->ssl, buf + got, (int)most);
        if (n <= 0) {
            ssize_t end = tls_recv_end(t, got, n);

            tls_input_end(t);
            return end;
        }
        got += (size_t)n;
    }
    tls_input_end(t);
    if (t->failed)
        t->bc->rd_ready = 1;
    return (ssize_t)got;
}

static ssize_t tls_recv_records(tls_conn *t, char *buf, size_t len)
{
    ssize_t n;

    if (t->records)
        return tls_records_recv(t, buf, len);
    n = tls_recv_some(t, buf, len);
    tls_flush_quietly(t);
    return n;
}

static ssize_t tls_recv(brg_conn *bc, void *buf, size_t len)
{
    tls_conn *t = bc->below;
    ssize_t n;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(t->bc == bc && bc->transport == &tls_transport);
    if (t->shut && !t->client)
        return tls_recv_raw(bc, buf, len);
    if (!t->established) { /* that is the handshake driver's */
        bc->rd_ready = 1;
        errno = EAGAIN;
        return -1;
    }
    if (t->failed && t->client) { /* an end would be taken for that of a response */
        errno = ECONNABORTED;
        return -1;
    }
    if (t->failed)
        return 0;
    if (t->kept_plain)
        return tls_kept_take(t, buf, len);
    /* Of a server, whose socket has more than a call reads at most, no event tells again. */
    do
        n = tls_recv_records(t, buf, len);
    while (n < 0 && errno == EAGAIN && t->client && !t->drained && !t->failed);
    return n;
}

/* ---- writing ---- */

/* A place in the caller's vector. */
typedef struct tls_cursor {
    const struct iovec *iov;
    int n;
    size_t off;  /* in the first */
    size_t left; /* of all */
} tls_cursor;

static void cursor_skip(tls_cursor *c, size_t len)
{
    BRG_ASSERT(len <= c->left);
    c->left -= len;
    while (len) {
        size_t here = c->iov->iov_len - c->off;

        if (len < here) {
            c->off += len;
            return;
        }
        len -= here;
        c->off = 0;
        c->iov++;
        c->n--;
    }
}

/* The next @a len bytes in one piece: where they are, or copied. NULL: no memory. */
static const char *cursor_piece(const tls_cursor *c, size_t len)
{
    tls_scratch *scratch;
    char *staged = NULL;
    size_t done = 0, off = c->off;

    BRG_ASSERT(len > 0 && len <= TLS_RECORD && len <= c->left);
    for (const struct iovec *v = c->iov; done < len; v++, off = 0) {
        const char *data = (const char *)v->iov_base + off;
        size_t n = v->iov_len - off;

        if (!done && n >= len)
            return data;
        if (n > len - done)
            n = len - done;
        if (!staged && (scratch = tls_scratch_of_thread()) != NULL)
            staged = scratch->staged;
        if (!staged)
            return NULL;
        memcpy(staged + done, data, n);
        done += n;
    }
    return staged;
}

/* Small records first, so that a browser can begin with the first packet; but an answer of one
 * record is one. */
static size_t tls_record_bytes(tls_conn *t, size_t left)
{
    return t->burst < TLS_SMALL_BYTES && left > TLS_RECORD && !t->client ? TLS_SMALL : TLS_RECORD;
}

static void tls_burst(tls_conn *t)
{
    if (!conn_on_loop())
        return;
    if (t->bc->loop->monotonic - t->sent_at >= apr_time_from_sec(1))
        t->burst = 0;
    t->sent_at = t->bc->loop->monotonic;
}

/* As tls_send_batch(), with records of our own. */
static ssize_t tls_seal_batch(tls_conn *t, tls_cursor *c)
{
    size_t batch = c->left < TLS_BATCH ? c->left : TLS_BATCH, done = 0;
    tls_scratch *out = tls_scratch_of_thread();

    BRG_ASSERT(t->established && !t->held_len && c->left > 0);
    while (done < batch && out) {
        size_t len = tls_record_bytes(t, c->left), n;

        if (len > batch - done)
            len = batch - done;
        n = tls_seal(t->records, TLS_TYPE_DATA, c->iov, c->off, len, out->data + out->len);
        if (!n)
            break;
        out->len += n;
        cursor_skip(c, len);
        done += len;
        t->burst += len;
    }
    if (done == batch)
        return (ssize_t)done;
    t->failed = 1; /* no memory */
    errno = ENOMEM;
    return -1;
}

/* Encrypt up to a batch and write it. @return bytes of plaintext, or -1 */
static ssize_t tls_send_batch(tls_conn *t, tls_cursor *c)
{
    size_t batch = c->left < TLS_BATCH ? c->left : TLS_BATCH, done = 0;

    BRG_ASSERT(t->established && !t->held_len && c->left > 0);
    while (done < batch) {
        size_t len = tls_record_bytes(t, c->left);
        const char *piece;
        int n;

        if (len > batch - done)
            len = batch - done;
        t->last = done + len == batch;
        if (!(piece = cursor_piece(c, len))) {
            t->failed = 1;
            errno = ENOMEM;
            return -1;
        }
        ERR_clear_error();
        n = SSL_write(t->ssl, piece, (int)len);
        t->last = 0;
        if (n <= 0) {
            errno = tls_error(t, n, "write");
            errno = errno ? errno : EPIPE;
            return done ? (ssize_t)done : -1;
        }
        cursor_skip(c, (size_t)n);
        done += (size_t)n;
        t->burst += (size_t)n;
    }
    return (ssize_t)done;
}

/* Bytes encrypted before, and not reported yet. */
static size_t tls_take_credit(tls_conn *t, tls_cursor *c)
{
    size_t n = t->credit < c->left ? t->credit : c->left;

    BRG_ASSERT_DEBUG(t->credit <= 1); /* tls_report() */
    t->credit -= n;
    cursor_skip(c, n);
    return n;
}

static ssize_t tls_report(tls_conn *t, size_t done)
{
    BRG_ASSERT(t->credit == 0 || done == 0 || !t->held_len);
    if (t->held_len && done) {
        t->credit = 1;
        done--;
    }
    if (done)
        return (ssize_t)done;
    errno = t->failed ? EPIPE : EAGAIN;
    return -1;
}

static ssize_t tls_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    tls_conn *t = bc->below;
    tls_cursor c = {.iov = iov, .n = n};
    size_t done;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(t->bc == bc && n > 0);
    for (int i = 0; i < n; i++)
        c.left += iov[i].iov_len;
    if (t->failed || t->shut) {
        errno = EPIPE;
        return -1;
    }
    t->more = more != 0;
    if (t->held_len && tls_flush(t))
        return -1;
    done = tls_take_credit(t, &c);
    tls_burst(t);
    if (t->records && tls_records_due(t))
        return -1;
    while (c.left && !t->held_len) {
        ssize_t sent;

        /* Without it each batch would end in a packet of a few bytes. */
        t->more = more || c.left > TLS_BATCH;
        sent = t->records ? tls_seal_batch(t, &c) : tls_send_batch(t, &c);

        if (sent < 0) {
            tls_flush_quietly(t);
            return done ? tls_report(t, done) : -1;
        }
        done += (size_t)sent;
        if (tls_flush(t) && t->failed)
            return -1;
    }
    return tls_report(t, done);
}

/* ---- the end ---- */

static void tls_say_goodbye(tls_conn *t)
{
    if (t->shut || t->failed || !t->established || t->held_len)
        return;
    t->shut = 1;
    t->last = 0;
    t->more = 1; /* the socket's end follows */
    if (t->records) {
        static const unsigned char close_notify[2] = {SSL3_AL_WARNING, SSL_AD_CLOSE_NOTIFY};

        (void)tls_records_say(t, TLS_TYPE_ALERT, close_notify, sizeof close_notify);
    } else {
        ERR_clear_error();
        SSL_shutdown(t->ssl);
    }
    (void)tls_flush(t);
}

static int tls_shut(brg_conn *bc)
{
    tls_conn *t = bc->below;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    tls_say_goodbye(t);
    t->shut = 1;
    return shutdown(bc->fd, SHUT_WR);
}

void tls_release(brg_conn *bc)
{
    tls_conn *t = bc->below;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(t->bc == bc);
    tls_handshake_forget(t);
    bc->below = NULL;
    bc->transport = NULL;
    if (t->ssl) {
        /* Else OpenSSL takes a session that did not end well out of its cache. */
        if (t->established && !t->failed && !t->shared)
            SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(t->ssl);
    }
    tls_client_free(t);
    tls_quic_free(t->quic);
    tls_keys_drop(t);
    tls_kept_drop(t);
    free(t->held);
    t->tag = 0;
    free(t);
}

static void tls_end(brg_conn *bc)
{
    if (!bc->failed)
        tls_say_goodbye(bc->below);
    tls_release(bc);
}

static void tls_divert(brg_conn *bc, struct transport_sink *sink)
{
    tls_conn *t = bc->below;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    t->sink = sink;
}

const struct conn_transport tls_transport = {.name = "tls",
                                             .recv = tls_recv,
                                             .sendv = tls_sendv,
                                             .shut = tls_shut,
                                             .end = tls_end,
                                             .divert = tls_divert};
