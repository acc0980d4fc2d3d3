/* SPDX-License-Identifier: Apache-2.0 */
/* A proxy between this server and the backend: a CONNECT to it, before TLS (RFC 9110, 9.3.6). */
#include "upstream_private.h"
#include "transport.h"
#include "net_block.h"
#include "brigade/assert.h"
#include <string.h>

#define TUNNEL_HEAD_MOST 8192 /* bytes of the proxy's answer */

static apr_status_t tunnel_fails(upstream_conn *cc, apr_status_t error, const char *why)
{
    cc->failure = UPSTREAM_NO_CONNECT;
    cc->why = why;
    cc->error = error;
    return error;
}

static apr_status_t tunnel_send(upstream_conn *cc)
{
    const char *text = cc->origin->conf.tunnel;
    const size_t all = strlen(text);

    while (cc->tunnel_sent < all) {
        struct iovec iov = {.iov_base = (void *)(uintptr_t)(text + cc->tunnel_sent),
                            .iov_len = all - cc->tunnel_sent};
        apr_size_t n;
        apr_status_t rv = upstream_send(cc, &iov, 1, 0, &n);

        cc->wants_write = rv == APR_EAGAIN;
        if (rv != APR_SUCCESS)
            return rv;
        cc->tunnel_sent += (uint32_t)n;
    }
    return APR_SUCCESS;
}

/* "HTTP/1.x 2xx": the tunnel is there. Nothing stands behind the head, since the client of TLS speaks first. */
static apr_status_t tunnel_answer(upstream_conn *cc, uint32_t head)
{
    const char *text = upstream_in(cc);

    if (head < 13 || memcmp(text, "HTTP/1.", 7) != 0 || text[8] != ' ')
        return tunnel_fails(cc, APR_EGENERAL, "the proxy's answer to CONNECT is none of HTTP/1");
    if (text[9] != '2')
        return tunnel_fails(cc, APR_EGENERAL, "the proxy refused CONNECT");
    if (head != upstream_in_size(cc))
        return tunnel_fails(cc, APR_EGENERAL, "the proxy sent more than its answer to CONNECT");
    upstream_block_end(cc);
    return APR_SUCCESS;
}

apr_status_t upstream_tunnel(upstream_conn *cc)
{
    apr_status_t rv = tunnel_send(cc);

    BRG_ASSERT(cc->state == UPSTREAM_TUNNEL && !cc->bc.transport);
    while (rv == APR_SUCCESS) {
        const char *end =
            cc->block ? memmem(upstream_in(cc), upstream_in_size(cc), "\r\n\r\n", 4) : NULL;

        if (end)
            return tunnel_answer(cc, (uint32_t)(end - upstream_in(cc)) + 4);
        if (upstream_in_size(cc) >= TUNNEL_HEAD_MOST)
            return tunnel_fails(cc, APR_ENOSPC, "the proxy's answer to CONNECT is too large");
        rv = upstream_recv(cc, NET_BLOCK);
    }
    return rv == APR_EAGAIN
               ? rv
               : tunnel_fails(cc, APR_EGENERAL, "the proxy closed before its answer to CONNECT");
}
