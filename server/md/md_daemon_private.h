/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_MD_DAEMON_PRIVATE_H
#define BRIGADE_MD_MD_DAEMON_PRIVATE_H

/**
 * @file md_daemon_private.h
 * Shared by the files of the daemon. Threads: the daemon's one.
 *
 * md_daemon.c          managed domains, their jobs, and when these are due
 * md_daemon_process.c  the process: signals, descriptors, capabilities
 * md_demand_daemon.c   names on demand, which are managed domains that come and go
 */
#include "md_daemon.h"
#include "md_daemon_staple.h"
#include "md_demand.h"
#include "md_shared.h"
#include "apr_hash.h"

#define DAEMON_JOBS 4 /**< at a time */

enum { JOB_GET, JOB_ASK, JOB_USE, JOB_MAY };

/** A managed domain as the daemon sees it. */
struct daemon_domain {
    const md_domain *domain;
    pid_t job;        /**< 0: none */
    int kind;         /**< JOB_* */
    apr_time_t until; /**< the job's, monotonic */
    md_state state;
    md_public public;
    apr_time_t ari_again; /**< 0: the authority is not asked */
    apr_time_t use;       /**< when the staged certificate goes live; 0: none waits */
    apr_time_t warn;      /**< of the next warning; monotonic */
    apr_pool_t *pool;     /**< of the last reading */

    const md_demand *demand; /**< NULL: of the configuration */
    apr_pool_t *own;         /**< with demand: of this structure */
    int place; /**< with demand: in md_demand_table.c; -1: it is not known yet whether the name is the host's */
    apr_time_t used; /**< with demand: when it was asked for last; monotonic */
};

struct md_daemon {
    server_rec *s;
    const md_store *store;
    apr_pool_t *pool;
    pid_t supervisor;
    int control, working;
    apr_array_header_t *domains; /**< daemon_domain *; those of the configuration first */
    int n;                       /**< of the configuration */
    md_staple_jobs *staples;
    apr_hash_t *demand;     /**< daemon_domain *, by name */
    apr_time_t orders_paid; /**< names on demand: when their orders are paid for; monotonic */
};

/** 1 once the daemon was asked to end. */
int daemon_is_asked(void);

/** Become one: signals, descriptors, capabilities. */
void daemon_become(const md_daemon *d);

/** Close all descriptors but 0 to 2 and these (-1: none), listening sockets above all: they would stay open when the server ends. */
void daemon_close_others(int *keep, int n);

/** Read its certificates and records from the store. */
void domain_read(md_daemon *d, daemon_domain *dd);

#endif
