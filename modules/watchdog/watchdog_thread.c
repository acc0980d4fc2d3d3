/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a watchdog. It sleeps on a condition, so that an end is heard at once, by a clock
 * that nobody sets: a step due in a second is not an hour late when the date goes back. A singleton
 * that another process holds looks again every AP_WD_TM_SLICE. */
#include "watchdog_private.h"

#include "apr_portable.h"
#include "apr_signal.h"
#include "apr_support.h"
#include "brigade/loop.h"

#include <unistd.h>

APLOG_USE_MODULE(watchdog);

/* 1: told to end. */
static int watchdog_sleep(ap_watchdog_t *w, apr_interval_time_t for_us)
{
    const apr_time_t until = brg_monotonic_now() + for_us;
    const struct timespec at = {.tv_sec = apr_time_sec(until),
                                .tv_nsec = apr_time_usec(until) * 1000};
    int stop;

    pthread_mutex_lock(&w->lock);
    if (!w->stop && for_us > 0)
        pthread_cond_timedwait(&w->wake, &w->lock, &at);
    stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return stop;
}

void watchdog_tell_stop(ap_watchdog_t *w)
{
    if (!w->thread || w->pid != getpid())
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = 1;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

/* 0: told to end before it was this process's turn. */
static int watchdog_acquire(ap_watchdog_t *w)
{
    if (!w->only)
        return 1;
    for (;;) {
        apr_status_t rv = apr_proc_mutex_trylock(w->only);

        if (rv == APR_SUCCESS)
            return 1;
        if (!APR_STATUS_IS_EBUSY(rv)) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, rv, w->s, "watchdog %s: cannot take its lock",
                         w->name);
            return 0;
        }
        if (watchdog_sleep(w, AP_WD_TM_SLICE))
            return 0;
    }
}

static void watchdog_invoke(watchdog_call *call, int state, apr_pool_t *p)
{
    if (call->fn && call->fn(state, (void *)(uintptr_t)call->data, p) != APR_SUCCESS)
        call->fn = NULL;
}

static void watchdog_invoke_all(ap_watchdog_t *w, int state, apr_pool_t *p)
{
    for (watchdog_call *call = w->calls; call; call = call->next)
        watchdog_invoke(call, state, p);
}

/* Run due steps; returns when to look again. */
static apr_time_t watchdog_turn(ap_watchdog_t *w, apr_time_t *step_due, apr_pool_t *p)
{
    apr_time_t now = brg_monotonic_now(), next = now + apr_time_from_sec(3600);

    for (watchdog_call *call = w->calls; call; call = call->next) {
        if (call->fn && call->due <= now) {
            watchdog_invoke(call, AP_WATCHDOG_STATE_RUNNING, p);
            call->due = now + call->interval;
        }
        if (call->fn && call->due < next)
            next = call->due;
    }
    if (w->hooked) {
        if (*step_due <= now) {
            ap_run_watchdog_step(w->s, w->name, p);
            *step_due = now + w->step;
        }
        if (*step_due < next)
            next = *step_due;
    }
    return next;
}

static void watchdog_begin(ap_watchdog_t *w, apr_pool_t *p)
{
    apr_time_t now = brg_monotonic_now();

    for (watchdog_call *call = w->calls; call; call = call->next)
        call->due = now + call->interval;
    watchdog_invoke_all(w, AP_WATCHDOG_STATE_STARTING, p);
    if (w->hooked)
        ap_run_watchdog_init(w->s, w->name, p);
}

static void watchdog_serve(ap_watchdog_t *w, apr_pool_t *p)
{
    apr_time_t step_due = brg_monotonic_now() + w->step, next;
    apr_pool_t *turn;

    apr_pool_create(&turn, p);
    apr_pool_tag(turn, "watchdog_turn");
    do {
        next = watchdog_turn(w, &step_due, turn);
        apr_pool_clear(turn);
    } while (!watchdog_sleep(w, next - brg_monotonic_now()));
    apr_pool_destroy(turn);
}

static void *APR_THREAD_FUNC watchdog_main(apr_thread_t *thread, void *data)
{
    ap_watchdog_t *w = data;
    apr_pool_t *p;

    apr_setup_signal_thread(); /* signals are for the main thread */
    /* Unmanaged: a fork of the supervisor while this thread allocates must not find a lock of
     * pconf's taken. */
    if (apr_pool_create_unmanaged_ex(&p, NULL, NULL) != APR_SUCCESS)
        return NULL;
    apr_pool_tag(p, "watchdog");
    if (watchdog_acquire(w)) {
        watchdog_begin(w, p);
        watchdog_serve(w, p);
        watchdog_invoke_all(w, AP_WATCHDOG_STATE_STOPPING, p);
        if (w->hooked)
            ap_run_watchdog_exit(w->s, w->name, p);
        if (w->only)
            apr_proc_mutex_unlock(w->only);
    }
    apr_pool_destroy(p);
    return NULL;
}

static apr_status_t watchdog_end(void *data)
{
    ap_watchdog_t *w = data;
    apr_status_t rv;

    if (w->thread && w->pid == getpid()) { /* not in a process forked from that one */
        watchdog_tell_stop(w);
        apr_thread_join(&rv, w->thread);
        w->thread = NULL;
    }
    return APR_SUCCESS;
}

apr_status_t watchdog_start(ap_watchdog_t *w, apr_pool_t *p)
{
    apr_status_t rv = APR_SUCCESS;
    pthread_condattr_t by_clock;

    if (w->only)
        rv = apr_proc_mutex_child_init(&w->only, w->only_file, p);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &by_clock);
    pthread_condattr_destroy(&by_clock);
    w->stop = 0;
    w->pid = getpid();
    if (rv == APR_SUCCESS)
        rv = ap_thread_create(&w->thread, NULL, watchdog_main, w, p);
    if (rv != APR_SUCCESS) {
        w->thread = NULL;
        ap_log_error(APLOG_MARK, APLOG_ALERT, rv, w->s, "watchdog %s: its thread cannot be started",
                     w->name);
        return rv;
    }
    /* Before the pool takes the thread's memory. */
    apr_pool_pre_cleanup_register(p, w, watchdog_end);
    return APR_SUCCESS;
}
