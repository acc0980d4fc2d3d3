/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a connection's TLS for requests. */
#include "tls_connection.h"
#include "tls_record_private.h"
#include "connection.h"
#include "brigade/assert.h"

tls_conn *tls_of(conn_rec *c)
{
    brg_conn *bc;

    while (c && c->master)
        c = c->master;
    bc = c ? connection_of(c) : NULL;
    return bc && (bc->transport == &tls_transport || bc->transport == &tls_quic_transport)
               ? bc->below
               : NULL;
}

SSL *tls_ssl_of(const tls_conn *t)
{
    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BRG_ASSERT(t->established && t->ssl); /* a request comes after the handshake */
    return t->ssl;
}

server_rec *tls_server_of(const tls_conn *t)
{
    return t->server;
}

int tls_has_name(const tls_conn *t)
{
    return t->sni;
}

int tls_is_generous(const tls_conn *t)
{
    return t->generous;
}

const unsigned char *tls_session_id(const tls_conn *t, unsigned *len)
{
    const SSL_SESSION *session = SSL_get0_session(t->ssl);

    BRG_ASSERT(!t->shared || t->records); /* tls_share() noted its id there */
    if (t->shared) {
        *len = t->records->session_len;
        return t->records->session;
    }
    return session ? SSL_SESSION_get_id(session, len) : NULL;
}
