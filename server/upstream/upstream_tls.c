/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of outgoing connections. Sessions are a loop's own: workers, which share a pool, keep none. */
#include "upstream_private.h"
#include "brigade/assert.h"
#if BRIGADE_TLS
#include "tls_client.h"
#include <arpa/inet.h>

static apr_status_t handshake_fails(upstream_conn *cc, apr_status_t error, const char *why)
{
    cc->failure = UPSTREAM_NO_HANDSHAKE;
    cc->error = error;
    cc->why = why;
    return error;
}

static apr_status_t handshake_begin(upstream_conn *cc)
{
    const upstream_settings *conf = &cc->origin->conf;
    upstream_pool *pool = cc->pool;
    apr_status_t rv;

    if (pool->loop && !pool->sessions && cc->origin->is_kept)
        pool->sessions = apr_pcalloc(pool->loop->pool, sizeof *pool->sessions);
    cc->bc.base = conf->server;
    rv = tls_client_begin(&cc->bc, conf->tls, conf->sni ? conf->sni : conf->host, conf->alpn,
                          pool->sessions);
    return rv == APR_SUCCESS ? rv : handshake_fails(cc, rv, "TLS cannot begin");
}

apr_status_t upstream_handshake(upstream_conn *cc)
{
    apr_status_t rv = cc->bc.transport ? APR_SUCCESS : handshake_begin(cc);

    if (rv != APR_SUCCESS)
        return rv;
    switch (tls_client_step(&cc->bc)) {
    case TLS_CLIENT_DONE:
        cc->rd_ready = cc->wr_ready = 1;
        return APR_SUCCESS;
    case TLS_CLIENT_WANT_READ:
        cc->wants_write = 0;
        return APR_EAGAIN;
    case TLS_CLIENT_WANT_WRITE:
        cc->wants_write = 1;
        return APR_EAGAIN;
    default:
        return handshake_fails(cc, APR_EGENERAL, tls_client_failure_of(&cc->bc).reason);
    }
}

void upstream_sessions_end(upstream_pool *pool)
{
    if (pool->sessions)
        tls_client_sessions_clear(pool->sessions);
    pool->sessions = NULL;
}
#else
void upstream_sessions_end(upstream_pool *pool)
{
    (void)pool;
}

apr_status_t upstream_handshake(upstream_conn *cc)
{
    cc->failure = UPSTREAM_NO_HANDSHAKE;
    cc->why = "this server was built without TLS";
    return cc->error = APR_ENOTIMPL;
}
#endif
