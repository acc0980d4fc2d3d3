/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_DAEMON_H
#define BRIGADE_MD_DAEMON_H

/**
 * @file md_daemon.h
 * The daemon: a process of the supervisor's user beside server processes, which sees when certificates are due and starts a
 * job (md_job.h) for each. Server processes have neither keys of accounts nor a way to it. It is of one generation.
 *
 * md_daemon.c        the process
 * md_daemon_start.c  the supervisor's side
 */
#include "md_store.h"

/** Start it. Threads: main, of the supervisor. */
apr_status_t md_daemon_start(server_rec *s, const md_store *store, apr_pool_t *pconf);

/** Now and then: start it again if it died. */
void md_daemon_look(server_rec *s);

/** In a server process: the way to the daemon is the supervisor's. */
void md_daemon_leave(void);

/** The process. @param control  ends with the supervisor, or its configuration */
void md_daemon_run(server_rec *s, const md_store *store, int control, pid_t supervisor)
    __attribute__((noreturn));

#endif
