/* SPDX-License-Identifier: Apache-2.0 */
#include "conn.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

const char *conn_client(const brg_conn *bc, char text[CONN_CLIENT_TEXT])
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage most;
    } peer;
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
