/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that this server makes: from the connected socket to the end of the handshake, and
 * its session. Records are those of accepted connections (tls_transport.c, tls_input.c), with the
 * roles exchanged. */
#include "tls_client.h"
#include "tls_proxy_private.h"
#include "tls_record_private.h"
#include "tls_session_private.h"
#include "transport.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define CLIENT_PROTOCOL_MOST 31 /* bytes of a protocol's name: "http/1.1" */

/* tls_conn.client */
struct tls_client {
    const tls_proxy_ctx *px; /* the loop's */
    const char *name;        /* until the handshake is over */
    tls_client_sessions *sessions;
    conn_rec *log; /* with its pool: made when something is to be logged */
    tls_client_failure failure;
    char protocol[CLIENT_PROTOCOL_MOST + 1];
};

static tls_conn *client_of(const brg_conn *bc)
{
    tls_conn *t = bc->below;

    BRG_ASSERT(bc->transport == &tls_transport);
    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(t->client != NULL);
    return t;
}

/* ---- messages ---- */

static void log_address(conn_rec *log, int fd)
{
    apr_socket_t *sock = NULL;

    if (apr_os_sock_put(&sock, &fd, log->pool) == APR_SUCCESS &&
        apr_socket_addr_get(&log->client_addr, APR_REMOTE, sock) == APR_SUCCESS &&
        apr_sockaddr_ip_get(&log->client_ip, log->client_addr) != APR_SUCCESS)
        log->client_ip = NULL;
}

/* Messages are of a connection, with its address, in Apache's words and forms; and there is no conn_rec. */
static const conn_rec *client_log(tls_conn *t)
{
    struct tls_client *client = t->client;
    apr_pool_t *p;
    conn_rec *log;

    if (client->log)
        return client->log;
    if (apr_pool_create(&p, NULL) != APR_SUCCESS)
        return NULL;
    log = apr_pcalloc(p, sizeof *log);
    log->pool = p;
    log->base_server = t->server;
    log->outgoing = 1;
    log->notes = apr_table_make(p, 1);
    log->conn_config = ap_create_conn_config(p);
    log_address(log, t->bc->fd);
    client->log = log;
    return log;
}

const conn_rec *tls_client_blamed(tls_conn *t, unsigned number, const char *reason)
{
    tls_client_failure *failure = &t->client->failure;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(!number == !reason);
    if (number && !failure->number) /* the first cause: later errors follow from it */
        *failure = (tls_client_failure){number, reason};
    return client_log(t);
}

void tls_client_tell(tls_conn *t, const char *what)
{
    const conn_rec *c = APLOG_IS_LEVEL(t->server, APLOG_INFO) ? client_log(t) : NULL;

    if (!c)
        return;
    if (!strcmp(what, "write"))
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
                      APLOGNO(01993) "SSL output filter write failed.");
    else if (!strcmp(what, "read"))
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
                      APLOGNO(01992) "SSL library error -1 reading data");
    else
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
                      APLOGNO(01992) "SSL library error -1 reading data: %s", what);
    tls_log_errors(t->server, APLOG_INFO);
}

tls_client_failure tls_client_failure_of(const brg_conn *bc)
{
    return client_of(bc)->client->failure;
}

/* ---- sessions ---- */

/* Put one, which is taken over; the oldest makes room. */
static void tls_client_session_put(tls_client_sessions *sessions, SSL_SESSION *session)
{
    BRG_ASSERT(sessions->n <= TLS_CLIENT_SESSIONS);
    if (sessions->n == TLS_CLIENT_SESSIONS) {
        SSL_SESSION_free(sessions->session[0]);
        sessions->n--;
        memmove(sessions->session, sessions->session + 1,
                sessions->n * sizeof sessions->session[0]);
    }
    sessions->session[sessions->n++] = session;
}

static int session_is_valid(const SSL_SESSION *session, apr_time_t now)
{
    const apr_time_t age = now - tls_session_time(session);

    return SSL_SESSION_is_resumable(session) && age >= 0 &&
           age < (apr_time_t)SSL_SESSION_get_timeout(session);
}

SSL_SESSION *tls_client_session_get(tls_client_sessions *sessions, apr_time_t now)
{
    BRG_ASSERT(sessions->n <= TLS_CLIENT_SESSIONS);
    while (sessions->n) {
        SSL_SESSION *session = sessions->session[sessions->n - 1];
        const int valid = session_is_valid(session, now);

        /* Two handshakes with one session show an observer that they are of one client (RFC 8446,
         * C.4). */
        if (valid && SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION)
            return SSL_SESSION_up_ref(session) ? session : NULL;
        sessions->n--;
        if (valid)
            return session;
        SSL_SESSION_free(session);
    }
    return NULL;
}

void tls_client_sessions_clear(tls_client_sessions *sessions)
{
    while (sessions->n)
        SSL_SESSION_free(sessions->session[--sessions->n]);
}

int tls_client_session_new(SSL *ssl, SSL_SESSION *session)
{
    const tls_conn *t = SSL_get_app_data(ssl);

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (!t->client->sessions)
        return 0;
    tls_client_session_put(t->client->sessions, session);
    return 1; /* it is ours */
}

static void session_offer(tls_conn *t)
{
    const apr_time_t now = apr_time_sec(t->bc->loop ? t->bc->loop->wall : apr_time_now());
    SSL_SESSION *session =
        t->client->sessions ? tls_client_session_get(t->client->sessions, now) : NULL;

    if (session)
        (void)SSL_set_session(t->ssl, session);
    SSL_SESSION_free(session);
}

/* ---- the beginning ---- */

static void begin_alpn(tls_conn *t, const char *alpn)
{
    const conn_rec *c;

    if (SSL_set_alpn_protos(t->ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn)) &&
        (c = client_log(t)) != NULL)
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, c, APLOGNO(03309) "error setting alpn protos");
}

static int begin_ssl(tls_conn *t, const char *alpn)
{
    const struct tls_client *client = t->client;
    BIO *bio = tls_bio_new(t);

    BRG_ASSERT(!t->ssl && client->px->loop == t->loop);
    if (!bio || !(t->ssl = SSL_new(client->px->ctx)) || !SSL_set_app_data(t->ssl, t)) {
        BIO_free(bio);
        return -1;
    }
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_connect_state(t->ssl);
    tls_proxy_server_name(t->ssl, client->name);
    if (alpn)
        begin_alpn(t, alpn);
    session_offer(t);
    /* A server may ask for a certificate in the middle of a connection: that is OpenSSL's. */
    if (t->loop && tls_client_records_are_ours() && !client->px->machines)
        tls_keys_expect(t);
    return 0;
}

/* Of the loop, or of all workers. */
static tls_proxy_ctx *begin_context(const brg_conn *bc, const tls_client_context *context)
{
    if (!bc->loop)
        return context->of_workers;
    return bc->loop->layer ? tls_client_here(bc->loop->layer, context) : NULL;
}

static tls_conn *begin_conn(brg_conn *bc)
{
    tls_conn *t = calloc(1, sizeof *t);

    if (t && (t->client = calloc(1, sizeof *t->client)) != NULL) {
        t->tag = TLS_CONN_TAG;
        t->bc = bc;
        return t;
    }
    free(t);
    return NULL;
}

apr_status_t tls_client_begin(brg_conn *bc, const tls_client_context *context, const char *name,
                              const char *alpn, tls_client_sessions *sessions)
{
    tls_loop *l = bc->loop ? bc->loop->layer : NULL;
    tls_proxy_ctx *here = begin_context(bc, context);
    tls_conn *t;

    BRG_ASSERT(!bc->transport && !bc->below && bc->fd >= 0);
    if (!here)
        return APR_EGENERAL;
    if (!(t = begin_conn(bc)))
        return APR_ENOMEM;
    t->loop = l;
    t->server = bc->base ? bc->base : here->server;
    t->client->px = here;
    t->client->name = name;
    t->client->sessions = sessions;
    bc->below = t;
    bc->transport = &tls_transport;
    if (!begin_ssl(t, alpn))
        return APR_SUCCESS;
    tls_log_errors(t->server, APLOG_ERR);
    tls_release(bc);
    return APR_ENOMEM;
}

/* ---- the handshake ---- */

static tls_client_result step_refused(tls_conn *t)
{
    t->failed = 0; /* an alert can be written still */
    (void)tls_flush(t);
    t->failed = 1;
    BRG_ASSERT(t->client->failure.reason != NULL);
    return TLS_CLIENT_FAILED;
}

/* OpenSSL's queue of this thread tells of it. @param cause  errno */
static tls_client_result step_failed(tls_conn *t, int error, int cause)
{
    const unsigned long e = ERR_peek_error();
    const char *reason = e ? ERR_reason_error_string(e) : NULL;
    apr_status_t rv = 0;
    const conn_rec *c;

    if (t->eof) {
        reason = "the server closed the connection in the handshake";
        rv = APR_EOF;
    } else if (error == SSL_ERROR_SYSCALL) {
        reason = "the connection broke in the handshake";
        rv = cause;
    }
    c = tls_client_blamed(t, 2003, reason ? reason : "the handshake failed");
    if (c)
        tls_proxy_tell_connect(c, rv, t->client->name);
    ERR_clear_error();
    return step_refused(t);
}

static tls_client_result step_handshake(tls_conn *t)
{
    int rc, error, cause;

    t->last = t->more = 0;
    if (!tls_input_begin(t))
        return step_failed(t, SSL_ERROR_SYSCALL, ENOMEM);
    ERR_clear_error();
    errno = 0;
    tls_kdf_listen(t->records);
    rc = SSL_do_handshake(t->ssl);
    cause = errno;
    tls_kdf_listen(NULL);
    tls_input_end(t);
    error = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, rc);
    if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        return step_failed(t, error, cause);
    if (tls_flush(t) && t->failed)
        return step_failed(t, SSL_ERROR_SYSCALL, errno);
    if (rc == 1)
        return TLS_CLIENT_DONE;
    return t->held_len ? TLS_CLIENT_WANT_WRITE : TLS_CLIENT_WANT_READ;
}

static void step_note(tls_conn *t)
{
    struct tls_client *client = t->client;
    const unsigned char *name = NULL;
    unsigned len = 0;

    SSL_get0_alpn_selected(t->ssl, &name, &len);
    if (len && len <= CLIENT_PROTOCOL_MOST)
        memcpy(client->protocol, name, len);
}

/* The handshake is over. */
static tls_client_result step_done(tls_conn *t)
{
    struct tls_client *client = t->client;

    BRG_ASSERT(!t->established && t->ssl != NULL);
    if (!tls_proxy_check(&client->px->conf, t->ssl, client->name)) {
        if (!client->failure.reason) /* as without a certificate */
            client->failure = (tls_client_failure){2003, "the server could not be verified"};
        if (client->sessions)
            tls_client_sessions_clear(client->sessions);
        return step_refused(t);
    }
    step_note(t);
    client->name = NULL;
    if (t->records)
        (void)tls_keys_take(t);
    t->established = 1;
    if (t->records && (!t->records->tickets || !client->sessions))
        tls_client_settle(t);
    t->bc->rd_ready = !t->drained || t->kept;
    return TLS_CLIENT_DONE;
}

tls_client_result tls_client_step(brg_conn *bc)
{
    tls_conn *t = client_of(bc);
    tls_client_result result;

    if (t->failed)
        return TLS_CLIENT_FAILED;
    if (!t->established) {
        do
            result = step_handshake(t);
        while (result == TLS_CLIENT_WANT_READ && !t->drained);
        if (result == TLS_CLIENT_DONE)
            result = step_done(t);
        if (result != TLS_CLIENT_DONE)
            return result;
    }
    if (!t->held_len || !tls_flush(t))
        return TLS_CLIENT_DONE;
    return t->failed ? step_failed(t, SSL_ERROR_SYSCALL, errno) : TLS_CLIENT_WANT_WRITE;
}

/* ---- afterwards ---- */

void tls_client_settle(tls_conn *t)
{
    BRG_ASSERT(t->records && t->established);
    t->records->tickets = 0;
    if (!t->ssl)
        return;
    /* Else its session, which others may take up, is marked as of a connection that broke. */
    SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(t->ssl);
    t->ssl = NULL;
}

void tls_client_free(tls_conn *t)
{
    if (!t->client)
        return;
    if (t->client->log)
        apr_pool_destroy(t->client->log->pool);
    free(t->client);
    t->client = NULL;
}

const char *tls_client_protocol(const brg_conn *bc)
{
    return client_of(bc)->client->protocol;
}

int tls_client_was_closed(const brg_conn *bc)
{
    const tls_conn *t = client_of(bc);

    if (t->failed || t->eof)
        return 0;
    return t->records ? t->records->ended
                      : t->ssl && SSL_get_shutdown(t->ssl) & SSL_RECEIVED_SHUTDOWN;
}
