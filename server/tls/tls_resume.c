/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a session that a client offers is taken up, from a ticket or from the cache. Its session id context says that it was
 * made under the same settings and files; here it is seen that it is not too old, and that the client's certificate, if it
 * has one, would be accepted now. If not, a whole handshake is made. */
#include "tls_context_private.h"
#include "tls_session_private.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <time.h>

APLOG_USE_MODULE(ssl);

#define RESUME_SKEW 60 /* seconds that clocks of machines with the same ticket keys may differ */

int tls_resume_allows(SSL *ssl, const SSL_SESSION *session)
{
    tls_conn *t = SSL_get_app_data(ssl);
    X509 *peer = SSL_SESSION_get0_peer((SSL_SESSION *)(uintptr_t)session);
    const time_t made = tls_session_time(session), now = time(NULL);

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    t->session_ends = made + SSL_SESSION_get_timeout(session);
    if (made > now + RESUME_SKEW || t->session_ends <= now)
        return 0;
    /* A responder would have to be asked, and a loop cannot wait for it. */
    if (!peer || (!tls_ocsp_is_wanted(tls_conf_of(t->server)) &&
                  tls_trust_vouch(ssl, peer, NULL, SSL_get_verify_depth(ssl))))
        return 1;
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, t->server,
                 "a session is not resumed, since its client's certificate is to be verified anew");
    return 0;
}

/* A ticket's session of TLS 1.3 replaces the resumed one, and ends with it: else a client could go
 * on without another whole handshake for ever. OpenSSL has set its time to now. */
static int resume_seal(SSL *ssl, void *unused)
{
    const tls_conn *t = SSL_get_app_data(ssl);
    SSL_SESSION *session = SSL_get_session(ssl);
    long left;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (t->quic && !tls_quic_ticket(t->quic, session))
        return 0;
    if (!SSL_session_reused(ssl) || SSL_version(ssl) < TLS1_3_VERSION)
        return 1;
    left = (long)(t->session_ends - time(NULL));
    if (left < 1) { /* its client took its time; no ticket says 0 seconds */
        left = 1;
        tls_session_set_time(session, t->session_ends - left);
    }
    return SSL_SESSION_set_timeout(session, left) ? 1 : 0;
}

static SSL_TICKET_RETURN resume_open(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                     size_t name_len, SSL_TICKET_STATUS status, void *unused)
{
    switch (status) {
    case SSL_TICKET_SUCCESS:
    case SSL_TICKET_SUCCESS_RENEW:
        if (!tls_resume_allows(ssl, session))
            return SSL_TICKET_RETURN_IGNORE_RENEW;
        return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
    case SSL_TICKET_EMPTY:
    case SSL_TICKET_NO_DECRYPT:
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    default:
        return SSL_TICKET_RETURN_ABORT;
    }
}

void tls_resume_use(SSL_CTX *ctx)
{
    SSL_CTX_set_session_ticket_cb(ctx, resume_seal, resume_open, NULL);
}
