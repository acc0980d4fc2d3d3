/* SPDX-License-Identifier: Apache-2.0 */
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

const char *conn_client(const brg_conn *bc, char text[CONN_CLIENT_TEXT])
{
    client_peer peer;
    socklen_t len = sizeof peer;
    const char *known = NULL;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (bc->peer && bc->peer->family)
        return memcpy(text, bc->peer->ip, sizeof bc->peer->ip);
    if (getpeername(bc->fd, &peer.any, &len))
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
    memcpy(bc->client, address, len);
    bc->client_len = (uint8_t)len;
}

static __attribute__((noinline)) void client_ask(brg_conn *bc)
{
    client_peer peer;
    socklen_t len = sizeof peer;

    if (bc->peer && bc->peer->family) {
        client_keep(bc, bc->peer->address, bc->peer->family == AF_INET ? 4 : 16);
        return;
    }
    if (getpeername(bc->fd, &peer.any, &len))
        return;
    if (peer.any.sa_family == AF_INET)
        client_keep(bc, &peer.v4.sin_addr, 4);
    else if (peer.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&peer.v6.sin6_addr))
        client_keep(bc, &peer.v6.sin6_addr.s6_addr[12], 4);
    else if (peer.any.sa_family == AF_INET6)
        client_keep(bc, &peer.v6.sin6_addr, 16);
}

size_t conn_client_address(brg_conn *bc, const uint8_t **address)
{
    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (bc->master)
        bc = bc->master;
    if (!bc->client_len)
        client_ask(bc);
    *address = bc->client;
    return bc->client_len;
}
