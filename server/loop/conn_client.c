/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of a connection: of its socket, or as a proxy told them. */
#include "conn.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

typedef union client_peer {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage most;
} client_peer;

/* A connection without a socket of its own, or its stream. */
static void client_known(const brg_conn *bc, client_peer *peer)
{
    const brg_conn *of = bc->master ? bc->master : bc;

    memset(peer, 0, sizeof peer->v6);
    if (of->client.len == 4) {
        peer->any.sa_family = AF_INET;
        memcpy(&peer->v4.sin_addr, of->client.at, 4);
    } else if (of->client.len) {
        peer->any.sa_family = AF_INET6;
        memcpy(&peer->v6.sin6_addr, of->client.at, 16);
    }
}

const char *conn_client(const brg_conn *bc, char text[CONN_CLIENT_TEXT])
{
    client_peer peer;
    socklen_t len = sizeof peer;
    const char *known = NULL;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (bc->peer && bc->peer->family)
        return memcpy(text, bc->peer->ip, sizeof bc->peer->ip);
    if (bc->borrows)
        client_known(bc, &peer);
    else if (getpeername(bc->fd, &peer.any, &len))
        peer.any.sa_family = AF_UNSPEC;
    if (peer.any.sa_family == AF_INET)
        known = inet_ntop(AF_INET, &peer.v4.sin_addr, text, CONN_CLIENT_TEXT);
    else if (peer.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&peer.v6.sin6_addr))
        known = inet_ntop(AF_INET, &peer.v6.sin6_addr.s6_addr[12], text, CONN_CLIENT_TEXT);
    else if (peer.any.sa_family == AF_INET6)
        known = inet_ntop(AF_INET6, &peer.v6.sin6_addr, text, CONN_CLIENT_TEXT);
    return known ? known : strcpy(text, "a client");
}

static void client_keep(brg_conn *bc, const void *address, size_t len)
{
    memcpy(bc->client.at, address, len);
    bc->client.len = (uint8_t)len;
}

static void client_take(brg_conn *bc, const client_peer *peer)
{
    if (peer->any.sa_family == AF_INET)
        client_keep(bc, &peer->v4.sin_addr, 4);
    else if (peer->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&peer->v6.sin6_addr))
        client_keep(bc, &peer->v6.sin6_addr.s6_addr[12], 4);
    else if (peer->any.sa_family == AF_INET6)
        client_keep(bc, &peer->v6.sin6_addr, 16);
}

static __attribute__((noinline)) void client_ask(brg_conn *bc)
{
    client_peer peer;
    socklen_t len = sizeof peer;

    if (bc->peer && bc->peer->family) {
        client_keep(bc, bc->peer->address, bc->peer->family == AF_INET ? 4 : 16);
        return;
    }
    if (!getpeername(bc->fd, &peer.any, &len))
        client_take(bc, &peer);
}

void conn_sockaddr_put(apr_sockaddr_t *a, int family, const void *bytes)
{
    const int v6 = family == APR_INET6;

    BRG_ASSERT(v6 || family == APR_INET);
    memset(a, 0, sizeof *a);
    a->family = family;
    a->sa.sin.sin_family = (sa_family_t)family;
    a->salen = v6 ? sizeof a->sa.sin6 : sizeof a->sa.sin;
    a->addr_str_len = v6 ? INET6_ADDRSTRLEN : INET_ADDRSTRLEN;
    a->ipaddr_len = v6 ? sizeof a->sa.sin6.sin6_addr : sizeof a->sa.sin.sin_addr;
    a->ipaddr_ptr = v6 ? (void *)&a->sa.sin6.sin6_addr : (void *)&a->sa.sin.sin_addr;
    memcpy(a->ipaddr_ptr, bytes, (size_t)a->ipaddr_len);
}

apr_sockaddr_t *conn_sockaddr(apr_pool_t *p, int family, const void *bytes, apr_port_t port)
{
    apr_sockaddr_t *a = apr_palloc(p, sizeof *a);

    conn_sockaddr_put(a, family, bytes);
    a->pool = p;
    a->port = port;
    a->sa.sin.sin_port = htons(port);
    return a;
}

/* The scope of a link-local address has no place here: the socket is asked. */
void conn_client_told(brg_conn *bc, const struct sockaddr *sa)
{
    const client_peer *peer = (const client_peer *)(const void *)sa;

    BRG_ASSERT(!bc->client.len && !bc->peer);
    if (!bc->borrows && sa->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&peer->v6.sin6_addr))
        return;
    client_take(bc, peer);
    bc->client.told = bc->client.len != 0;
    if (bc->client.told) /* both kinds have it at the same place */
        bc->client.port = ntohs(peer->v4.sin_port);
}

apr_sockaddr_t *conn_client_sockaddr(const brg_conn *bc, apr_pool_t *p)
{
    const apr_sockaddr_t *local = bc->listener ? bc->listener->addr : NULL;
    uint8_t mapped[16] = {[10] = 0xff, 0xff};

    if (!bc->client.told || !local)
        return NULL;
    if (bc->client.len == sizeof mapped || local->family != APR_INET6)
        return conn_sockaddr(p, bc->client.len == sizeof mapped ? APR_INET6 : APR_INET,
                             bc->client.at, bc->client.port);
    memcpy(mapped + 12, bc->client.at, 4);
    return conn_sockaddr(p, APR_INET6, mapped, bc->client.port);
}

apr_sockaddr_t *conn_local_sockaddr(const brg_conn *bc, apr_pool_t *p)
{
    const apr_sockaddr_t *local = bc->listener ? bc->listener->addr : NULL;
    const struct sockaddr *here = bc->borrows && !bc->master ? bc->local : NULL;

    if (here && here->sa_family == AF_INET)
        return conn_sockaddr(
            p, APR_INET, &((const struct sockaddr_in *)(const void *)here)->sin_addr, local->port);
    if (here && here->sa_family == AF_INET6)
        return conn_sockaddr(p, APR_INET6,
                             &((const struct sockaddr_in6 *)(const void *)here)->sin6_addr,
                             local->port);
    if (!local || (local->family != APR_INET && local->family != APR_INET6) ||
        apr_sockaddr_is_wildcard(local) ||
        (local->family == APR_INET6 && IN6_IS_ADDR_LINKLOCAL(&local->sa.sin6.sin6_addr)))
        return NULL;
    return conn_sockaddr(p, local->family, local->ipaddr_ptr, local->port);
}

size_t conn_client_address(brg_conn *bc, const uint8_t **address)
{
    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (bc->master)
        bc = bc->master;
    if (!bc->client.len)
        client_ask(bc);
    *address = bc->client.at;
    return bc->client.len;
}
