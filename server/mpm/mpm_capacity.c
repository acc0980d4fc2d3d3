/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests may wait at the same time, and how many connections there may be, by the
 * directives of Apache's event and worker MPMs. There the numbers are those of processes and of
 * threads that are always there. Here they are bounds: a process has threads for waiting requests.
 *
 * MaxRequestWorkers is taken as it is; its default is ServerLimit times ThreadsPerChild as in
 * Apache, or, where ServerProcesses sets the number of processes, that many times ThreadsPerChild.
 */
#include "mpm_settings.h"
#include "brigade/assert.h"
#include "clock.h"

#include "http_log.h"
#include "http_main.h"

#include <limits.h>
#include <stdatomic.h>

MPM_USE_LOG_MODULE;

#define CAPACITY_SAY_US apr_time_from_sec(60) /* at most one line in this time: workers are few */

/* ThreadsPerChild, as ThreadLimit lets it be. */
static int capacity_threads(void)
{
    int n = mpm_settings.threads ? mpm_settings.threads : MPM_DEFAULT_THREADS;

    return mpm_settings.thread_limit && n > mpm_settings.thread_limit ? mpm_settings.thread_limit
                                                                      : n;
}

/* The bound of MaxRequestWorkers under a given ServerLimit. */
static long capacity_bound(void)
{
    return mpm_settings.server_limit ? (long)mpm_settings.server_limit * capacity_threads()
                                     : INT_MAX;
}

/* Of all processes. */
static long capacity_requests(void)
{
    const mpm_conf *conf = &mpm_settings;
    int servers = conf->server_limit ? conf->server_limit : MPM_DEFAULT_SERVERS;
    long n = conf->requests;

    if (!n)
        return (long)(conf->processes_given ? conf->processes_given : servers) * capacity_threads();
    if (conf->threads && n < capacity_threads())
        n = capacity_threads();
    return n < capacity_bound() ? n : capacity_bound();
}

int mpm_workers(void)
{
    long n;

    BRG_ASSERT(mpm_settings.processes > 0);
    if (mpm_settings.prefork)
        return 0;
    n = (capacity_requests() + mpm_settings.processes - 1) / mpm_settings.processes;
    return n < MPM_MAX_THREADS ? (int)n : MPM_MAX_THREADS;
}

int mpm_workers_kept(void)
{
    const int own = mpm_workers();

    return own < 4 ? own > 0 : own / 4;
}

int mpm_workers_all(void)
{
    const long n = (long)mpm_workers() * mpm_settings.processes;

    if (mpm_settings.processes == 1)
        return 0;
    return n < INT_MAX ? (int)n : INT_MAX;
}

int mpm_workers_most(void)
{
    const int n = mpm_workers_all() - (mpm_settings.processes - 1) * mpm_workers_kept();

    if (mpm_settings.processes == 1)
        return mpm_workers();
    return n < MPM_MAX_THREADS ? n : MPM_MAX_THREADS;
}

int mpm_connections(void)
{
    double n = mpm_settings.requests * (mpm_settings.factor + 1) / mpm_settings.processes;

    if (mpm_settings.prefork || !mpm_settings.requests)
        return 0;
    return n < 1 ? 1 : n < INT_MAX ? (int)n : INT_MAX;
}

static void capacity_check_threads(void)
{
    const mpm_conf *conf = &mpm_settings;

    if (capacity_threads() < conf->threads)
        ap_log_error(APLOG_MARK, APLOG_WARNING | APLOG_STARTUP, 0, NULL,
                     APLOGNO(00507) "WARNING: ThreadsPerChild of %d exceeds ThreadLimit of %d "
                                    "threads, decreasing to %d. To increase, please see the "
                                    "ThreadLimit directive.",
                     conf->threads, conf->thread_limit, conf->thread_limit);
}

void mpm_check_capacity(void)
{
    const mpm_conf *conf = &mpm_settings;

    BRG_ASSERT(!conf->prefork);
    capacity_check_threads();
    if (!conf->requests)
        return;
    if (conf->threads && conf->requests < capacity_threads())
        ap_log_error(
            APLOG_MARK, APLOG_WARNING | APLOG_STARTUP, 0, NULL,
            APLOGNO(00511) "WARNING: MaxRequestWorkers of %d is less than "
                           "ThreadsPerChild of %d, increasing to %d. MaxRequestWorkers must "
                           "be at least as large as the number of threads in a single server.",
            conf->requests, capacity_threads(), capacity_threads());
    if (conf->requests > capacity_bound())
        ap_log_error(
            APLOG_MARK, APLOG_WARNING | APLOG_STARTUP, 0, NULL,
            APLOGNO(00515) "WARNING: MaxRequestWorkers of %d would require %d servers and "
                           "would exceed ServerLimit of %d, decreasing to %ld. To increase, "
                           "please see the ServerLimit directive.",
            conf->requests, (conf->requests + capacity_threads() - 1) / capacity_threads(),
            conf->server_limit, capacity_bound());
}

void mpm_workers_full(int workers)
{
    static _Atomic apr_time_t said;
    apr_time_t now = clock_monotonic(), last = atomic_load(&said);

    if ((last && now - last < CAPACITY_SAY_US) ||
        !atomic_compare_exchange_strong(&said, &last, now))
        return;
    ap_log_error(
        APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
        APLOGNO(00484) "server reached MaxRequestWorkers setting, consider raising the "
                       "MaxRequestWorkers setting: all %d worker threads of this process are at "
                       "work, and requests wait for one",
        workers);
}
