/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_GROWTH_H
#define BRIGADE_PROXY_GROWTH_H

/**
 * @file proxy_growth.h
 * Members of balancers: those of the configuration, and up to growth= that balancer-manager adds while the server runs. An added one
 * is disabled at first, as in Apache. A reload forgets it, unless BalancerPersist is on.
 */
#include "proxy.h"

/** Its members now. The list lives as long as the process, and never changes. Threads: any.
 * Blocking: for as long as another thread takes in a new member. */
const apr_array_header_t *proxy_members(const proxy_balancer *b);

/**
 * Add a member, of all server processes.
 * @param url  as of BalancerMember
 * @return OK, or 400, of which the log has a line
 * Threads: any
 */
int proxy_member_add(request_rec *r, proxy_balancer *b, const char *url);

/** How many may still be added. */
int proxy_growth_room(const proxy_balancer *b);

/** Make places for growth= members. @param persist  added ones stay. @return 0, or -1: no room.
 * Threads: main */
int proxy_growth_make(apr_pool_t *p, proxy_balancer *b, int persist);

#endif
