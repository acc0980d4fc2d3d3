/* SPDX-License-Identifier: Apache-2.0 */
/* Workers whose requests use the processor without an end. A worker may wait as long as it likes; so its processor time counts,
 * from when the main thread first saw it at its job. */
#include "worker_pool_private.h"
#include "clock.h"
#include "crash.h"
#include "loops.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_log.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define WATCH_SAY_SECONDS 10

typedef struct watched {
    uint32_t job; /* the count of jobs when it was seen; even: none */
    apr_time_t used_before;
    int said, timed_out;
} watched;

/* Microseconds of processor time of a thread of this process; -1: it is gone. The kernel makes the number of a thread's clock
 * of the thread's in this way; pthread_getcpuclockid() would need a thread that cannot end meanwhile. */
static apr_time_t watch_used(pid_t thread)
{
    const clockid_t id = (clockid_t)(~(unsigned)thread << 3 | 6);
    struct timespec used;

    if (clock_gettime(id, &used))
        return -1;
    return apr_time_from_sec(used.tv_sec) + used.tv_nsec / 1000;
}

static void watch_say(const server_rec *s, unsigned index, pid_t thread, int seconds)
{
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                 "worker thread %u has used the processor for %d s for one request", index,
                 seconds);
    crash_look_ask(getpid(), thread, 1, index, (unsigned)seconds);
}

/* @return 1: it has just passed the limit */
static int watch_one(watched *w, const worker_seat *seat, const server_rec *s, unsigned index,
                     int limit)
{
    const uint32_t job = atomic_load_explicit(&seat->jobs, memory_order_relaxed);
    const pid_t thread = (pid_t)atomic_load_explicit(&seat->thread, memory_order_relaxed);
    apr_time_t used;
    int seconds;

    if (!(job & 1) && !(w->job & 1))
        return 0;
    if (job != w->job) {
        *w = (watched){.job = job, .used_before = job & 1 ? watch_used(thread) : 0};
        return 0;
    }
    if (w->used_before < 0 || (used = watch_used(thread)) < 0)
        return 0;
    seconds = (int)apr_time_sec(used - w->used_before);
    if (!w->said && seconds >= WATCH_SAY_SECONDS) {
        w->said = 1;
        watch_say(s, index, thread, seconds);
    }
    if (!limit || seconds < limit || w->timed_out)
        return 0;
    w->timed_out = 1;
    ap_log_error(APLOG_MARK, APLOG_ALERT, 0, s,
                 "worker thread %u has used the processor for %d s for one request "
                 "(WorkerTimeout): the process is replaced",
                 index, seconds);
    return 1;
}

int worker_share_watch(const worker_share *share, const server_rec *s, int limit)
{
    static watched *all;
    int timed_out = 0;

    BRG_ASSERT(share != NULL && limit >= 0);
    if (!all && !(all = calloc((size_t)share->bounds.most + 1, sizeof *all)))
        return 0;
    for (int i = 0; i < share->bounds.most; i++)
        timed_out |=
            watch_one(&all[i], &share->seats[i], s, (unsigned)(share->first_index + i), limit);
    return timed_out;
}
