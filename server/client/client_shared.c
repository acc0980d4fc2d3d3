/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that several exchanges of a loop use at a time. While one is being connected, others wait for it rather than connect
 * as well. */
#include "client_private.h"
#include "brigade/assert.h"

void client_share(client_conn *cc)
{
    client_conn **at = &cc->place->shared;

    BRG_ASSERT(cc->on_loop && cc->state == CLIENT_READY && !cc->prev && !cc->shared);
    while (*at)
        at = &(*at)->next;
    cc->next = NULL;
    cc->prev = at;
    *at = cc;
    cc->shared = 1;
    if (cc->connecting)
        client_connecting_over(cc);
    else
        client_shared_tell(cc);
}

void client_unshare(client_conn *cc)
{
    if (!cc->shared)
        return;
    *cc->prev = cc->next;
    if (cc->next)
        cc->next->prev = cc->prev;
    cc->prev = NULL;
    cc->next = NULL;
    cc->shared = 0;
}

client_conn *client_shared(client_origin *o, brg_loop *loop)
{
    return client_place_of(o, loop)->shared;
}

int client_awaits_shared(client_origin *o, brg_loop *loop, client_ticket *ticket)
{
    client_place *place = client_place_of(o, loop);

    if (!place->connecting_n)
        return 0;
    client_ticket_wait(place, ticket);
    return 1;
}

unsigned *client_shared_most(client_conn *cc)
{
    return &cc->place->shared_most;
}

void client_shared_tell(client_conn *cc)
{
    if (cc->place->first)
        client_place_tell(cc->place);
}

void client_connecting_over(client_conn *cc)
{
    if (!cc->connecting)
        return;
    BRG_ASSERT(cc->place->connecting_n > 0);
    cc->connecting = 0;
    cc->place->connecting_n--;
    client_shared_tell(cc);
}
