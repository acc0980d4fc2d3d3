/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_FEED_H
#define BRIGADE_ASN_FEED_H

/**
 * @file asn_feed.h
 * A session of BGP fills a route set of the table. In the collector's only thread.
 *
 * When a session ends its routes stay for a while (keep=, or the peer's graceful restart time).
 * Routes of the next session are a new set beside them, which takes their place when the peer has
 * sent all of it: at its End-of-RIB, or when nothing came for FEED_QUIET seconds.
 */
#include "asn_figures.h"
#include "bgp_peer.h"

#define FEED_QUIET 20 /**< seconds */

typedef struct asn_feed {
    bgp_peer peer;
    brg_asn_writer *w;
    asn_source_figures *figures;
    int rib;
    int fresh;      /**< the session fills a new set */
    int complete;   /**< the peer sent all that it has */
    int deaf;       /**< that a connection could not be accepted was told in this session */
    int touched;    /**< updates came since the last look at the clock */
    unsigned ended; /**< families of which End-of-RIB came */
    int64_t quiet;  /**< when the received routes count as all; BGP_NEVER: no session */
    /** when routes of the session before are given up; BGP_NEVER: there are none */
    int64_t kept_until;
    uint64_t faulty; /**< when the session began */
} asn_feed;

/** Listens where the configuration says so: with the privileges of the server's start. */
void asn_feed_begin(asn_feed *f, const bgp_conf *conf, asn_source_figures *figures, int rib);

/** All of them: wait for @a milliseconds at most, and do due work. Where @a other can be read it
 * returns at once; with a wait of 0 that counts for nothing. */
void asn_feeds_run(asn_feed *feeds, int n, int milliseconds, int other);

/** Say goodbye. */
void asn_feed_end(asn_feed *f);

#endif
