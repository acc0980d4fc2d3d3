/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual hosts of a connection, by its local address. */
#include "http_main.h"
#include "connection.h"
#include "vhosts.h"
#include "brigade/assert.h"
#include <string.h>
#include <sys/socket.h>

/* The local address is asked for (a system call) only where virtual hosts differ by address, and the listening socket
 * has none. */
void vhost_of_connection(brg_conn *bc)
{
    apr_sockaddr_t local;
    socklen_t len = sizeof local.sa;

    BRG_ASSERT(bc->listener != NULL);
    bc->base = ap_server_conf;
    if (bc->listener->pretended) {
        bc->chain = vhost_chain_of(bc->listener->pretended, &bc->base);
        return;
    }
    if (!vhost_wants_local_address() || !apr_sockaddr_is_wildcard(bc->listener->addr)) {
        bc->chain = vhost_chain_of(bc->listener->addr, &bc->base);
        return;
    }
    memset(&local, 0, sizeof local);
    if (bc->borrows)
        memcpy(&local.sa, bc->local,
               bc->local->sa_family == AF_INET ? sizeof local.sa.sin : sizeof local.sa.sin6);
    else if (getsockname(bc->fd, (struct sockaddr *)&local.sa, &len))
        return;
    local.family = local.sa.sin.sin_family;
    local.port = bc->listener->addr->port;
    local.salen = len;
    local.ipaddr_len =
        local.family == APR_INET ? sizeof local.sa.sin.sin_addr : sizeof local.sa.sin6.sin6_addr;
    local.ipaddr_ptr = local.family == APR_INET ? (void *)&local.sa.sin.sin_addr
                                                : (void *)&local.sa.sin6.sin6_addr;
    bc->chain = vhost_chain_of(&local, &bc->base);
}
