/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the connection stays open after this response, whether the body must be chunked to tell
 * its end, and how both are told to the client.
 */
#include "h1_response.h"
#include "memory_refusal.h"
#include "ap_mpm.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

/* The client can tell where the response ends. May decide for chunks. */
static int keepalive_framed(request_rec *r)
{
    if (AP_STATUS_IS_HEADER_ONLY(r->status) || r->header_only ||
        apr_table_get(r->headers_out, "Content-Length"))
        return 1;
    if (ap_is_chunked(r->pool, apr_table_get(r->headers_out, "Transfer-Encoding")))
        return 1;
    r->chunked = r->proto_num >= HTTP_VERSION(1, 1);
    return r->chunked;
}

static int keepalive_server_allows(const request_rec *r)
{
    const server_rec *s = r->server;
    int state = AP_MPMQ_RUNNING;

    if (!s->keep_alive || s->keep_alive_timeout <= 0)
        return 0;
    if (s->keep_alive_max != 0 && s->keep_alive_max <= r->connection->keepalives)
        return 0;
    return ap_mpm_query(AP_MPMQ_MPM_STATE, &state) != APR_SUCCESS || state != AP_MPMQ_STOPPING;
}

/* The environment tells of clients that take a connection to end: as in Apache. */
static int keepalive_is_wanted(const request_rec *r, int asked)
{
    if (apr_table_get(r->subprocess_env, "nokeepalive"))
        return 0;
    if (r->proto_num >= HTTP_VERSION(1, 1))
        return 1;
    return asked && !apr_table_get(r->subprocess_env, "force-response-1.0");
}

static void keepalive_announce(request_rec *r)
{
    const server_rec *s = r->server;
    char *text = apr_palloc(r->pool, 64), *p = text;

    BRG_ASSERT(s->keep_alive_max == 0 || r->connection->keepalives <= s->keep_alive_max);
    memcpy(p, "timeout=", 8);
    p += 8;
    p += http_put_number(p, (apr_uint64_t)apr_time_sec(s->keep_alive_timeout));
    if (s->keep_alive_max > 0) {
        memcpy(p, ", max=", 6);
        p += 6;
        p += http_put_number(p, (apr_uint64_t)(s->keep_alive_max - r->connection->keepalives));
    }
    *p = '\0';
    apr_table_setn(r->headers_out, "Keep-Alive", text);
    apr_table_mergen(r->headers_out, "Connection", "Keep-Alive");
}

AP_DECLARE(int) ap_set_keepalive(request_rec *r)
{
    conn_rec *c = r->connection;
    const char *asked = apr_table_get(r->headers_in, "Connection");
    const char *answered = apr_table_get(r->headers_out, "Connection");
    const int told_close = answered && ap_find_token(r->pool, answered, "close");
    const int wants = asked && ap_find_token(r->pool, asked, "keep-alive");

    /* A client that waits for 100 may or may not send its body: where the next request starts is
     * unknown. */
    if (c->keepalive != AP_CONN_CLOSE && !r->expecting_100 && keepalive_framed(r) &&
        keepalive_server_allows(r) && !told_close &&
        (!ap_status_drops_connection(r->status) || memory_refusal_keeps(r)) &&
        !(asked && ap_find_token(r->pool, asked, "close")) && keepalive_is_wanted(r, wants)) {
        if (wants)
            keepalive_announce(r);
        c->keepalive = AP_CONN_KEEPALIVE;
        c->keepalives++;
        return 1;
    }
    if (!told_close)
        apr_table_mergen(r->headers_out, "Connection", "close");
    c->keepalive = AP_CONN_CLOSE;
    return 0;
}
