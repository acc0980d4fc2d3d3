/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that cost the server more than its client: KeyUpdates and attempts to renegotiate are
 * bounded. */
#include "tls_conn_private.h"
#include "clock.h"
#include "http_log.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(ssl);

static void tls_tell_asked(const tls_conn *t)
{
    char name[CONN_CLIENT_TEXT];

    ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                 "TLS: %s asked for more than %d KeyUpdates or renegotiations in a second; its "
                 "connection is closed",
                 conn_client(t->bc, name), TLS_ASKS);
}

int tls_is_flood(tls_conn *t)
{
    apr_time_t now = clock_monotonic();

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (now - t->asks_at >= apr_time_from_sec(1)) {
        t->asks_at = now;
        t->asks = 0;
    }
    if (++t->asks <= TLS_ASKS)
        return 0;
    tls_tell_asked(t);
    t->failed = t->drained = 1;
    return -1;
}

/* After the handshake, OpenSSL enters its state machine for KeyUpdates, and sends a warning where it
 * refuses to renegotiate; our own tickets enter it, too, a few times in all. */
void tls_asked(const SSL *ssl, int where, int value)
{
    tls_conn *t = SSL_get_app_data(ssl);

    if (t && !t->established && where == SSL_CB_WRITE_ALERT && value >> 8 == SSL3_AL_FATAL)
        t->alerted = 1;
    if (!t || !t->established || t->shut || t->failed ||
        !(where == SSL_CB_ACCEPT_LOOP || (where == SSL_CB_CONNECT_LOOP && !t->records) ||
          (where == SSL_CB_WRITE_ALERT && value >> 8 == SSL3_AL_WARNING)))
        return;
    (void)tls_is_flood(t);
}
