/* SPDX-License-Identifier: Apache-2.0 */
/* A request asks more of its client than the handshake did: a certificate, or another cipher
 * (SSLVerifyClient, SSLVerifyDepth, SSLCipherSuite of directories). TLS 1.2 negotiates again, TLS 1.3 has
 * authentication after the handshake; HTTP/2 allows neither (RFC 9113, section 9.2.1).
 *
 * Runs on the worker that owns the connection, for as long as Timeout says. */
#include "tls_renegotiate.h"
#include "tls_context_private.h"
#include "connection.h"
#include "placement.h"
#include "transport.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

APLOG_USE_MODULE(ssl);

/* ---- demands on clients ---- */

/* Workers make this configuration's demands on clients: it takes time. */
static int ask_may_wait(const request_rec *r)
{
    return !r->connection->master && tls_of(r->connection) != NULL;
}

void tls_renegotiate_expect(void)
{
    policy_phases_ask(ask_may_wait);
}

void tls_renegotiate_forget(void)
{
    policy_phases_ask(NULL);
}

/* 1 if the cipher in use is not in @a list. TLS 1.3 has ciphers of its own. */
static int wish_cipher(const tls_conn *t, const char *list)
{
    const SSL_CIPHER *used = SSL_get_current_cipher(t->ssl);
    STACK_OF(SSL_CIPHER) * ciphers;
    int found = 0;

    if (!list || SSL_version(t->ssl) >= TLS1_3_VERSION)
        return 0;
    if (!SSL_set_cipher_list(t->ssl, list)) {
        ERR_clear_error();
        return 1; /* tells when it is asked for */
    }
    ciphers = SSL_get_ciphers(t->ssl);
    for (int i = 0; i < sk_SSL_CIPHER_num(ciphers) && !found; i++)
        found = SSL_CIPHER_get_id(sk_SSL_CIPHER_value(ciphers, i)) == SSL_CIPHER_get_id(used);
    return !found;
}

/* The client's certificate was verified by a handshake of this connection. */
static int wish_is_known(const tls_conn *t)
{
    return t->mode & SSL_VERIFY_PEER && SSL_get0_peer_certificate(t->ssl) &&
           SSL_get_verify_result(t->ssl) == X509_V_OK;
}

int tls_wish_of(const request_rec *r, const tls_dir_conf *dc, tls_wish *wish)
{
    const tls_conn *t = tls_of(r->connection);
    const tls_server_conf *sc = tls_conf_of(r->server);
    int depth;

    if (!t || (dc->verify == TLS_UNSET && dc->depth == TLS_UNSET && !dc->ciphers &&
               (t->server == r->server || sc->verify <= TLS_VERIFY_NONE)))
        return 0;
    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    depth = dc->depth != TLS_UNSET ? dc->depth : SSL_get_verify_depth(t->ssl);
    *wish =
        (tls_wish){.mode = tls_verify_mode(dc->verify) | tls_verify_mode(sc->verify),
                   .depth = depth,
                   .generous = dc->verify == TLS_VERIFY_OPTIONAL_NO_CA ||
                               (dc->verify == TLS_UNSET && sc->verify == TLS_VERIFY_OPTIONAL_NO_CA),
                   .ciphers = dc->ciphers};
    wish->certificate = (wish->mode & ~t->mode) != 0 && !wish_is_known(t);
    if (wish->mode && depth < SSL_get_verify_depth(t->ssl))
        wish->certificate = 1;
    wish->cipher = wish_cipher(t, dc->ciphers);
    return wish->certificate || wish->cipher;
}

/* ---- the exchange with the client ---- */

#define ASK_FINISHED 20 /* type of the message that ends a handshake (RFC 8446, section 4) */

/* The client's last message has come. */
static void ask_sees(int outgoing, int version, int type, const void *data, size_t len, SSL *ssl,
                     void *finished)
{
    if (!outgoing && type == SSL3_RT_HANDSHAKE && len &&
        *(const unsigned char *)data == ASK_FINISHED)
        *(int *)finished = 1;
}

static apr_status_t ask_wait(tls_conn *t, int for_write, apr_time_t until)
{
    apr_interval_time_t left = until - brg_monotonic_now();

    return left > 0 ? conn_wait(t->bc, for_write, left) : APR_TIMEUP;
}

static apr_status_t ask_flush(tls_conn *t, apr_time_t until)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && tls_flush(t))
        rv = t->failed ? APR_ECONNRESET : ask_wait(t, 1, until);
    return rv;
}

/* Read until the handshake is over. */
static apr_status_t ask_exchange(tls_conn *t, const int *finished, apr_time_t until)
{
    for (;;) {
        apr_status_t rv;
        char byte;
        int left, n;

        t->last = t->more = 0;
        if (!tls_input_begin(t))
            return APR_ENOMEM;
        ERR_clear_error();
        errno = 0;
        n = SSL_peek(t->ssl, &byte, 1);
        left = t->reads_left;
        tls_input_end(t);
        if ((rv = ask_flush(t, until)) != APR_SUCCESS)
            return rv;
        if (*finished && SSL_is_init_finished(t->ssl))
            return APR_SUCCESS;
        if (n > 0)
            return APR_EINPROGRESS; /* the next request, before an answer to this one */
        switch (SSL_get_error(t->ssl, n)) {
        case SSL_ERROR_WANT_READ:
            rv = left > 0 ? ask_wait(t, 0, until) : APR_SUCCESS;
            break;
        case SSL_ERROR_WANT_WRITE:
            rv = ask_wait(t, 1, until);
            break;
        default:
            t->failed = 1;
            return APR_ECONNABORTED;
        }
        if (rv != APR_SUCCESS)
            return rv;
    }
}

/* The demands of the handshake from now on. */
static void ask_set(tls_conn *t, const tls_wish *wish)
{
    static const unsigned char again[] = "again"; /* no session of before is taken up */

    SSL_set_verify(t->ssl, wish->mode, tls_context_verified);
    SSL_set_verify_depth(t->ssl, wish->depth);
    if (SSL_version(t->ssl) < TLS1_3_VERSION) {
        SSL_set_session_id_context(t->ssl, again, sizeof again - 1);
        SSL_clear_options(t->ssl, SSL_OP_NO_RENEGOTIATION);
    }
    t->generous = wish->generous != 0;
}

static int ask_begin(tls_conn *t)
{
    ERR_clear_error();
    if (SSL_version(t->ssl) >= TLS1_3_VERSION)
        return SSL_verify_client_post_handshake(t->ssl) == 1 && SSL_do_handshake(t->ssl) == 1;
    return SSL_renegotiate(t->ssl) == 1 && SSL_do_handshake(t->ssl) == 1;
}

/* The client did not wait for 100, so its body stands before its answer. It is read first, as that of a client that waits for nothing. */
static int ask_body_came(request_rec *r, const tls_dir_conf *dc)
{
    if (!ap_request_has_body(r))
        return OK;
    r->expecting_100 = 0;
    return tls_buffer_body(r, dc);
}

/* @param status changed where the body that came instead of an answer is refused */
static apr_status_t ask_run(tls_conn *t, request_rec *r, const tls_dir_conf *dc, int *status)
{
    apr_time_t until = brg_monotonic_now() + r->server->timeout;
    apr_status_t rv;
    int finished = 0;

    BRG_ASSERT(!conn_on_loop());           /* it waits for the client */
    BRG_ASSERT(!t->shared && !t->records); /* records are OpenSSL's: tls_keys_return() */
    t->asks = 0;                           /* it is the server that asks */
    SSL_set_msg_callback(t->ssl, ask_sees);
    SSL_set_msg_callback_arg(t->ssl, &finished);
    rv = ask_begin(t) ? ask_flush(t, until) : APR_EINVAL;
    if (rv == APR_SUCCESS)
        rv = ask_exchange(t, &finished, until);
    if (rv == APR_EINPROGRESS && r->expecting_100 && (*status = ask_body_came(r, dc)) == OK)
        rv = ask_exchange(t, &finished, until);
    SSL_set_msg_callback(t->ssl, NULL);
    SSL_set_msg_callback_arg(t->ssl, NULL);
    SSL_set_options(t->ssl, SSL_OP_NO_RENEGOTIATION);
    return rv;
}

/* ---- outcomes ---- */

/* A client without the extension: the connection is as it was. */
static int ask_impossible(request_rec *r, tls_conn *t, int mode)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(10158) "cannot perform post-handshake authentication");
    tls_log_errors(r->server, APLOG_ERR);
    apr_table_setn(r->notes, "error-notes",
                   "Reason: Cannot perform Post-Handshake Authentication.<br />");
    SSL_set_verify(t->ssl, mode, tls_context_verified);
    return HTTP_FORBIDDEN;
}

static int ask_failed(request_rec *r, tls_conn *t, apr_status_t rv)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, APLOGNO(02261) "Re-negotiation handshake failed");
    tls_log_errors(r->server, APLOG_ERR);
    r->connection->keepalive = AP_CONN_CLOSE;
    if (rv == APR_EINPROGRESS && SSL_version(t->ssl) >= TLS1_3_VERSION)
        return HTTP_FORBIDDEN; /* other data instead of an answer hinders none of ours */
    t->failed = 1;             /* the alert has left, and nothing else may follow */
    r->connection->aborted = 1;
    return HTTP_FORBIDDEN;
}

static int ask_judge(request_rec *r, tls_conn *t, const tls_wish *wish)
{
    if (!(wish->mode & SSL_VERIFY_FAIL_IF_NO_PEER_CERT))
        return OK;
    if (SSL_get_verify_result(t->ssl) != X509_V_OK) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02262) "Re-negotiation handshake failed: Client verification failed");
        return HTTP_FORBIDDEN;
    }
    if (!SSL_get0_peer_certificate(t->ssl)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02263) "Re-negotiation handshake failed: Client certificate missing");
        return HTTP_FORBIDDEN;
    }
    return OK;
}

/* SSLOptions +OptRenegotiate: a certificate that came with a session of before is verified anew, and no
 * handshake is made. */
static int ask_quickly(request_rec *r, tls_conn *t, const tls_wish *wish)
{
    int ok = tls_trust_vouch(t->ssl, SSL_get0_peer_certificate(t->ssl),
                             SSL_get_peer_cert_chain(t->ssl), wish->depth);

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  APLOGNO(02258) "Performing quick renegotiation: just re-verifying the peer");
    if (!ok)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02224) "Re-negotiation verification step failed");
    return ok;
}

/* Records that cannot be given back to OpenSSL (tls_keys_return): the request comes once more, on another
 * connection. */
static int ask_again(request_rec *r)
{
    apr_table_setn(r->headers_out, "Location", ap_construct_url(r->pool, r->unparsed_uri, r));
    r->connection->keepalive = AP_CONN_CLOSE;
    return HTTP_TEMPORARY_REDIRECT;
}

/* Two protocols on one connection: this one cannot be asked for more. */
static int ask_stream(request_rec *r, const tls_wish *wish)
{
    apr_table_setn(r->notes, "ssl-renegotiate-forbidden",
                   wish->certificate ? "verify-client" : "cipher-suite");
    return HTTP_FORBIDDEN;
}

static int ask_handshake(request_rec *r, tls_conn *t, const tls_dir_conf *dc, const tls_wish *wish)
{
    int before = SSL_get_verify_mode(t->ssl), modern = SSL_version(t->ssl) >= TLS1_3_VERSION;
    int status = OK, failed;
    apr_status_t rv;

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  APLOGNO(02221) "Requesting connection re-negotiation");
    ask_set(t, wish);
    rv = ask_run(t, r, dc, &status);
    if (rv == APR_EINVAL && modern)
        return ask_impossible(r, t, before);
    if (rv != APR_SUCCESS) {
        failed = ask_failed(r, t, rv);
        return status != OK ? status : failed;
    }
    t->mode |= wish->mode;
    return ask_judge(r, t, wish);
}

int tls_renegotiate(request_rec *r, const tls_dir_conf *dc, const tls_wish *wish)
{
    tls_conn *t = tls_of(r->connection);
    tls_wish again;
    int status;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(wish->certificate || wish->cipher); /* tls_wish_of() */
    if (r->connection->master)
        return ask_stream(r, wish);
    if (t->shared) /* another virtual host's handshake, which no directory made to ask for more */
        return HTTP_MISDIRECTED_REQUEST;
    if (conn_on_loop()) /* a sub-request, while an .htaccess file is new to the server */
        return HTTP_SERVICE_UNAVAILABLE;
    if (wish->certificate && !wish->cipher && dc->options & TLS_OPT_RENEGOTIATE &&
        SSL_get0_peer_certificate(t->ssl))
        return ask_quickly(r, t, wish) ? OK : HTTP_FORBIDDEN;
    if ((!r->expecting_100 || conn_in_size(t->bc)) && (status = ask_body_came(r, dc)) != OK)
        return status;
    if (t->records &&
        (ask_flush(t, brg_monotonic_now() + r->server->timeout) || tls_keys_return(t)))
        return ask_again(r);
    if ((status = ask_handshake(r, t, dc, wish)) != OK)
        return status;
    if (!wish_cipher(t, dc->ciphers))
        return tls_wish_of(r, dc, &again) && again.certificate ? HTTP_FORBIDDEN : OK;
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  APLOGNO(02264) "SSL cipher suite not renegotiated: access to %s denied using "
                                 "cipher %s",
                  r->filename, SSL_get_cipher_name(t->ssl));
    return HTTP_FORBIDDEN;
}
