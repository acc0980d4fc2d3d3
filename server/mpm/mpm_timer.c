/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ap_mpm_register_timed_callback: functions of modules that are to run at a time.
 *
 * Few modules use this, and seldom. One thread per process, started by the first call, sleeps until the
 * next function is due. Functions may wait; they delay only each other.
 */
#include "mpm_settings.h"
#include "brigade/loop.h"
#include "brigade/assert.h"
#include "clock.h"
#include "thread_self.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define TIMER_TAG 0x74696d72u

typedef struct mpm_timer {
    uint32_t tag;           /* TIMER_TAG while it waits */
    struct mpm_timer *next; /* later or equal */
    apr_time_t due;         /* clock_monotonic() */
    ap_mpm_callback_fn_t *fn;
    void *baton;
} mpm_timer;

static pthread_mutex_t timer_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pthread_cond_t timer_wake; /* made by timer_start(); waits by clock_monotonic() */
static mpm_timer *timer_first;
static pthread_t timer_thread;
static int timer_running, timer_stop;

static void timer_wait_until(apr_time_t due)
{
    struct timespec until = {.tv_sec = apr_time_sec(due), .tv_nsec = apr_time_usec(due) * 1000};
    pthread_cond_timedwait(&timer_wake, &timer_lock, &until);
}

static void timer_run_first(void)
{
    mpm_timer *t = timer_first;

    BRG_ASSERT_TAG(t, TIMER_TAG);
    timer_first = t->next;
    t->tag = 0;
    pthread_mutex_unlock(&timer_lock);
    t->fn(t->baton);
    free(t);
    pthread_mutex_lock(&timer_lock);
}

static void *timer_main(void *unused)
{
    BRG_ASSERT(brg_thread_index() < 0); /* neither loop nor worker: it may wait */
    pthread_mutex_lock(&timer_lock);
    while (!timer_stop)
        if (!timer_first)
            pthread_cond_wait(&timer_wake, &timer_lock);
        else if (timer_first->due > clock_monotonic())
            timer_wait_until(timer_first->due);
        else
            timer_run_first();
    pthread_mutex_unlock(&timer_lock);
    return NULL;
}

static int timer_start(void)
{
    pthread_condattr_t attr;
    int rc;

    BRG_ASSERT(!timer_running && !timer_stop);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&timer_wake, &attr);
    pthread_condattr_destroy(&attr);
    rc = thread_start(timer_main, NULL, 0, &timer_thread);
    timer_running = rc == 0;
    return rc;
}

/* Modules give a date. It is made a time of the monotonic clock at once, so that a date that is set later neither
 * delays nor hastens the call. */
apr_status_t mpm_timer_hook(apr_time_t date, ap_mpm_callback_fn_t *fn, void *baton)
{
    apr_time_t due = clock_monotonic() + (date - apr_time_now());
    mpm_timer *t, **at;
    apr_status_t rv = APR_SUCCESS;

    if (mpm_settings.prefork) /* no thread but one */
        return APR_ENOTIMPL;
    if (!(t = malloc(sizeof *t)))
        return APR_ENOMEM;
    *t = (mpm_timer){.tag = TIMER_TAG, .due = due, .fn = fn, .baton = baton};
    pthread_mutex_lock(&timer_lock);
    if (!timer_running)
        rv = timer_start();
    if (rv == APR_SUCCESS) {
        for (at = &timer_first; *at && (*at)->due <= due; at = &(*at)->next)
            BRG_ASSERT_TAG(*at, TIMER_TAG);
        t->next = *at;
        *at = t;
        pthread_cond_signal(&timer_wake);
    }
    pthread_mutex_unlock(&timer_lock);
    if (rv != APR_SUCCESS)
        free(t);
    return rv;
}

void mpm_timer_fini(void)
{
    if (!timer_running)
        return;
    pthread_mutex_lock(&timer_lock);
    timer_stop = 1;
    pthread_cond_signal(&timer_wake);
    pthread_mutex_unlock(&timer_lock);
    pthread_join(timer_thread, NULL);
    pthread_cond_destroy(&timer_wake);
    timer_running = timer_stop = 0;
    while (timer_first) {
        mpm_timer *t = timer_first;
        timer_first = t->next;
        free(t);
    }
}
