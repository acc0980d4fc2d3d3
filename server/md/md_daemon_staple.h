/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_DAEMON_STAPLE_H
#define BRIGADE_MD_DAEMON_STAPLE_H

/**
 * @file md_daemon_staple.h
 * How the daemon gets OCSP responses: a job, which is a process, for each that is due. They are kept in the store's ocsp/.
 * Threads: the daemon. Blocking: files of the store.
 */
#include "md_staple.h"
#include "md_store.h"
#include <sys/types.h>

typedef struct md_staple_jobs md_staple_jobs;

/** Those of md_staples, with the responses that the store has. */
md_staple_jobs *md_staple_jobs_begin(server_rec *s, const md_store *store, pid_t supervisor,
                                     apr_pool_t *p);

/** A managed domain may have another certificate. */
void md_staple_jobs_changed(md_staple_jobs *jobs, const md_domain *domain);

/** See which jobs are over. */
void md_staple_jobs_reap(md_staple_jobs *jobs);

/** Begin jobs that are due. @return how long nothing will be due, at most @a wait */
apr_interval_time_t md_staple_jobs_look(md_staple_jobs *jobs, apr_interval_time_t wait);

/** How many jobs run. */
int md_staple_jobs_working(const md_staple_jobs *jobs);

/** Tell all to end. */
void md_staple_jobs_end(md_staple_jobs *jobs);

#endif
