/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATCHDOG_PRIVATE_H
#define WATCHDOG_PRIVATE_H

/**
 * @file watchdog_private.h
 * One watchdog: a thread and its callbacks.
 *
 * Made while the configuration is read (post_config), by the main thread; from its start on,
 * callbacks belong to its thread, and only intervals may still be changed, from a callback.
 */
#include "mod_watchdog.h"
#include "apr_proc_mutex.h"
#include "apr_thread_proc.h"
#include <pthread.h>
#include <sys/types.h>

/** The type of lock that singletons hold while they run. */
#define WATCHDOG_MUTEX "watchdog-callback"

typedef struct watchdog_call {
    struct watchdog_call *next;
    ap_watchdog_callback_fn_t *fn; /**< NULL: it asked not to be called again */
    const void *data;
    apr_interval_time_t interval; /**< microseconds */
    apr_time_t due; /**< by brg_monotonic_now() */
} watchdog_call;

struct ap_watchdog_t {
    const char *name;
    int parent, singleton;
    int hooked; /**< a module wants the watchdog_step hook on this one */
    watchdog_call *calls;
    server_rec *s;
    apr_interval_time_t step; /**< microseconds between runs of watchdog_step */

    apr_proc_mutex_t *only; /**< singletons of server processes: its holder runs */
    const char *only_file;

    pid_t pid; /**< the process in which it was started */
    apr_thread_t *thread;
    pthread_mutex_t lock; /**< guards stop; not APR's, whose conditions wait by the date */
    pthread_cond_t wake;
    int stop;
};

/**
 * Start its thread in this process; it ends before @a p does, or when it is told to.
 * Errors: logged; without its thread the server would not do as configured.
 */
apr_status_t watchdog_start(ap_watchdog_t *w, apr_pool_t *p);

/** Tell it to end, and do not wait for that. */
void watchdog_tell_stop(ap_watchdog_t *w);

#endif
