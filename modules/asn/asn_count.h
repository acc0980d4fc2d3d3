/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_COUNT_H
#define BRIGADE_ASN_COUNT_H

/**
 * @file asn_count.h
 * How often clients are looked up, and of which networks they are most often, in memory that processes share. All but
 * asn_busy_age() are for any thread of any process, and do not block.
 */
#include <stdatomic.h>
#include <stdint.h>
#include "brigade/status.h"

/** counters: threads that count have one of their own, as long as there are enough */
#define ASN_COUNT_SLOTS 64
#define ASN_BUSY BRG_STATUS_NETWORKS_BUSY

typedef struct asn_counts {
    struct {
        _Alignas(128) _Atomic uint64_t n;
    } lookups[ASN_COUNT_SLOTS];
    _Alignas(128) _Atomic unsigned slots; /**< how many were given to threads */
    /** start of the following, microseconds of the monotonic clock; 0: it is free */
    _Alignas(128) _Atomic int64_t taken;
    _Atomic int busy_n;
    brg_status_network_busy busy[ASN_BUSY];
} asn_counts;

/** A client of that network was looked up; 0: of none that is known. */
void asn_count(asn_counts *c, uint32_t origin);

/** All look-ups so far. */
uint64_t asn_count_lookups(const asn_counts *c);

/** The networks of which clients were looked up most lately, the busiest first. @return how many */
int asn_count_busy(asn_counts *c, brg_status_network_busy out[ASN_BUSY]);

/** Forget a part of the counts: half in ten minutes, if this is called each ASN_AGE_SECONDS. */
void asn_count_age(asn_counts *c);
#define ASN_AGE_SECONDS 10

#endif
