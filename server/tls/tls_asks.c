/* SPDX-License-Identifier: Apache-2.0 */
/* What costs the server more than its client: KeyUpdates and attempts to renegotiate are bounded. */
#include "tls_conn_private.h"
#include "clock.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

APLOG_USE_MODULE(ssl);

static void tls_tell_asked(const tls_conn *t)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    char name[INET6_ADDRSTRLEN + 8] = "a client";

    if (!getpeername(t->bc->fd, (struct sockaddr *)&peer, &len))
        (void)getnameinfo((struct sockaddr *)&peer, len, name, sizeof name, NULL, 0,
                          NI_NUMERICHOST);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                 "TLS: %s asked for more than %d KeyUpdates or renegotiations in a second; its "
                 "connection is closed",
                 name, TLS_ASKS);
}

int tls_asks(tls_conn *t)
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

    if (!t || !t->established || t->shut || t->failed ||
        !(where == SSL_CB_ACCEPT_LOOP ||
          (where == SSL_CB_WRITE_ALERT && value >> 8 == SSL3_AL_WARNING)))
        return;
    (void)tls_asks(t);
}
