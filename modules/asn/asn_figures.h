/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_FIGURES_H
#define BRIGADE_ASN_FIGURES_H

/**
 * @file asn_figures.h
 * The collector's figures on its sources, in memory that the collector alone
 * writes; each number is true by itself.
 */
#include <stdatomic.h>
#include <stdint.h>
#include "asn_table.h"

typedef struct asn_source_figures {
    _Atomic int state;         /**< of a session: bgp_state; of a file: 1 if it was read */
    _Atomic int64_t since;     /**< apr_time_t: when the state began; 0: never */
    _Atomic uint64_t sessions; /**< how often one was established, or a file read */
    _Atomic uint64_t updates;  /**< messages UPDATE */
    _Atomic uint64_t faulty;   /**< of these, such as RFC 7606 takes for withdrawals */
    char trouble[160];         /**< the last one, "" if there was none; may be half-written */
} asn_source_figures;

/** By number of the rib. */
typedef struct asn_figures {
    _Atomic int tried;   /**< sources that were read, or could not be: files alone */
    _Atomic int serving; /**< which of asn_collector.tables is asked */
    asn_source_figures sources[ASN_TABLE_RIBS];
} asn_figures;

#endif
