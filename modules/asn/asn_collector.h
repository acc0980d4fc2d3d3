/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_COLLECTOR_H
#define BRIGADE_ASN_COLLECTOR_H

/**
 * @file asn_collector.h
 * The collector: a process of the supervisor that owns all sources and alone
 * writes the table. It goes on over reloads that leave sources, ASTableSize, User, Group and the
 * name of ErrorLog as they are: sessions do not end for a reload.
 */
#include "brigade/one_writer.h"
#include "asn_count.h"
#include "asn_figures.h"
#include "asn_module.h"

/** The supervisor's knowledge of it, and the data of its process. Of a pool of its own. */
typedef struct asn_collector {
    apr_pool_t *pool;
    const char *signature;       /**< of the configuration that it is for */
    apr_array_header_t *sources; /**< of asn_source, its own copy */
    brg_asn_table *tables
        /** asn_table() is the one in use; when a process dies, the next one fills the other */
        [2];
    const asn_figures *figures;     /**< as the collector writes them */
    brg_one_writer *figures_memory; /**< of them */
    asn_counts *counts;             /**< shared: all processes write */
    pid_t supervisor;
    apr_proc_t process;
    apr_time_t started; /**< brg_monotonic_now() */
    int delay;          /**< seconds to wait before the next one reads */
    int control[2]; /**< [0] the supervisor's: error logs to write to; its end ends the process; -1: closed */
} asn_collector;

/* ---- asn_collector.c: the supervisor's thread ---- */

/**
 * The collector for a configuration: the running one if it has the same, else a new one, not
 * started. None if there are no sources.
 */
apr_status_t asn_collector_of(const apr_array_header_t *sources, apr_size_t table_bytes,
                              const server_rec *s, asn_collector **c);

/** Start its process if it does not run, and wait until each file was read once or could not be, at
 * most ASN_START_SECONDS; a running one gets the error log of @a s. */
apr_status_t asn_collector_start(asn_collector *c, server_rec *s);
#define ASN_START_SECONDS 20

/** Now and then: start its process if that failed before. */
void asn_collector_look(server_rec *s);

/** In a server process: the way to the collector is the supervisor's alone. */
void asn_collector_leave(void);

/* ---- asn_collect.c: the process ---- */

void asn_collect(const asn_collector *c, server_rec *s) __attribute__((noreturn));

/** Hand the descriptor of an error log over, through @a control. */
void asn_collect_log(int control, int log);

#endif
