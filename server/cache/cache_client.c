/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that depend on the client's address, as by Require ip or Require asn. A request is
 * decided by the variant that it saw, and stored for that one, since the network of a client may
 * change meanwhile. */
#include "cache_vary_private.h"
#include "connection.h"
#include "request_context.h"
#include "stock_policy.h"
#include <string.h>
#include <sys/socket.h>

BRG_DECLARE(apr_int64_t)
brg_cache_vary_client(request_rec *r, brg_cache_client_fn *kind, const void *data)
{
    apr_array_header_t *list = cache_vary_wishes(r);
    apr_int64_t variant;

    BRG_ASSERT(kind && r->useragent_addr);
    for (int i = 0; list && i < list->nelts; i++) {
        const vary_wish *have = &APR_ARRAY_IDX(list, i, vary_wish);

        if (have->client == kind && have->data == data)
            return have->variant;
    }
    variant = kind(data, r->useragent_addr);
    if (list)
        APR_ARRAY_PUSH(list, vary_wish) =
            (vary_wish){.client = kind, .data = data, .variant = variant};
    return variant;
}

int cache_varies_by_client(const request_rec *r)
{
    apr_array_header_t **list = request_vary_fields(r);
    int varies = 0;

    for (int i = 0; list && *list && i < (*list)->nelts; i++) {
        const vary_wish *wish = &APR_ARRAY_IDX(*list, i, vary_wish);

        if (wish->client && wish->variant < 0)
            return -1;
        varies |= (wish->client && wish->client != cache_vary_plain) || wish->gate;
    }
    return varies;
}

/* ---- look-up ---- */

static void client_set(apr_sockaddr_t *a, int family)
{
    a->family = family;
    if (family == AF_INET) {
        a->salen = sizeof a->sa.sin;
        a->ipaddr_len = sizeof a->sa.sin.sin_addr;
        a->ipaddr_ptr = &a->sa.sin.sin_addr;
    } else {
        a->salen = sizeof a->sa.sin6;
        a->ipaddr_len = sizeof a->sa.sin6.sin6_addr;
        a->ipaddr_ptr = &a->sa.sin6.sin6_addr;
    }
    a->sa.sin.sin_family = (sa_family_t)family;
}

/* The address of the socket's peer, or of whom a proxy told by the PROXY protocol. @a room is used where no conn_rec
 * has it. NULL: it has none. */
static apr_sockaddr_t *client_of(const brg_conn *bc, apr_sockaddr_t *room)
{
    socklen_t len = sizeof room->sa;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (bc->peer && bc->peer->family) {
        client_set(room, bc->peer->family);
        memcpy(room->ipaddr_ptr, bc->peer->address, (size_t)room->ipaddr_len);
        return room;
    }
    if (bc->c)
        return bc->c->client_addr;
    if (bc->listener && bc->listener->pretended_client)
        return (apr_sockaddr_t *)(uintptr_t)bc->listener->pretended_client;
    if (bc->listener && bc->listener->pretended)
        return (apr_sockaddr_t *)(uintptr_t)bc->listener->pretended;
    if (bc->borrows) {
        const brg_conn *of = bc->master ? bc->master : bc;

        client_set(room, of->client.len == 4 ? AF_INET : AF_INET6);
        memcpy(room->ipaddr_ptr, of->client.at, (size_t)room->ipaddr_len);
        return of->client.len ? room : NULL;
    }
    if (getpeername(bc->fd, (struct sockaddr *)&room->sa, &len) ||
        (room->sa.sin.sin_family != AF_INET && room->sa.sin.sin_family != AF_INET6))
        return NULL;
    client_set(room, room->sa.sin.sin_family);
    return room;
}

int cache_vary_client_matches(const cache_vary_key *s, const cache_asked *asked)
{
    apr_sockaddr_t room, *client;

    BRG_ASSERT(s->client && s->client_variant >= 0);
    if (s->client == cache_vary_plain)
        return cache_vary_plain_matches(asked);
    if (asked->r)
        return s->client(s->data, asked->r->useragent_addr) == s->client_variant;
    if (changed_fields_in(asked->head)) /* it may name another client */
        return 0;
    memset(&room, 0, sizeof room);
    client = client_of(asked->bc, &room);
    return client && s->client(s->data, client) == s->client_variant;
}
