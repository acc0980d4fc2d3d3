/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MPM_NOTIFY_H
#define BRIGADE_MPM_NOTIFY_H

/**
 * @file notify.h
 * Messages of the supervisor to the service manager that started it (systemd's
 * Type=notify).
 *
 * Source: sd_notify(3) and sd_watchdog_enabled(3). NOTIFY_SOCKET names a datagram socket, by a path or,
 * with '@' in front, by an abstract name. Without it all functions do nothing. A message that the manager
 * does not take at once is lost; nothing waits for it.
 *
 * Threads: the supervisor's main thread.
 */
#include "apr_time.h"

/** Read the environment, and remove the variables that started programs must not have. Call once.
 */
void notify_begin(void);

/** The variables that notify_begin() removed from the environment, as NAME=VALUE up to a NULL, for
 * a program that takes this one's place. It stays for as long as the process. May be called from a
 * signal handler. */
char *const *notify_environment(void);

/** READY: all processes of the configuration serve, or, after notify_reloading(), the old one goes on. */
void notify_ready(void);

/** RELOADING, with the time of clock_monotonic(). */
void notify_reloading(void);

/** STOPPING. */
void notify_stopping(void);

/** 1: no event loop of the processes that serve comes to the end of its turn, and WATCHDOG is not said; 0: one does. */
void notify_stands(int stands);

/** WATCHDOG where it is due, and STATUS with requests and connections every ten seconds. */
void notify_look(void);

/** When notify_look() next has something to do, of clock_monotonic(); 0 = never. */
apr_time_t notify_due(void);

#endif
