/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BGP_PEER_H
#define BRIGADE_BGP_PEER_H

/**
 * @file bgp_peer.h
 * The connection of a session: sockets that never block, for one thread that polls.
 */
#include <poll.h>
#include "bgp_session.h"

#define BGP_POLLS 2 /**< descriptors of a peer at most */

typedef struct bgp_peer {
    bgp_session session;
    int fd, listener; /**< -1: none */
    int64_t deaf;     /**< bgp_now(): nothing is accepted until then */
} bgp_peer;

/** Microseconds of a clock that is never set. */
int64_t bgp_now(void);

void bgp_peer_begin(bgp_peer *p, const bgp_conf *conf, const bgp_owner *owner, void *data);

/**
 * Listen, if the configuration says so: ports below 1024 need privileges. bgp_peer_run() tries
 * again after an error. @return 0 or errno
 */
int bgp_peer_listen(bgp_peer *p);

/** The descriptors to wait for. @return how many of @a polls were filled */
int bgp_peer_polls(const bgp_peer *p, struct pollfd polls[BGP_POLLS]);

/** Do due work. @param polls  from bgp_peer_polls(), answered by poll() */
void bgp_peer_run(bgp_peer *p, const struct pollfd *polls, int n);

/** Tell the peer that the session ends, and close. */
void bgp_peer_end(bgp_peer *p);

#endif
