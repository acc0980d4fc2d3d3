/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event loops that stand in one turn. All connections of such a loop wait, and its process cannot mend that: so the supervisor
 * looks once a second at the turns that each loop has counted in the scoreboard.
 *
 *   one turn for        the error log says so, and
 *   ------------------  ------------------------------------------------------------------------
 *   1 s, 10 s           the thread names its request, module, hook or filter (crash_look.c)
 *   10 s, every loop    the service manager's watchdog hears nothing from now on (notify.c)
 *   LoopTimeout         another process takes the place of this one, which is told to end
 *   STALL_END_US more   it is killed
 *
 * Time counts only as far as the supervisor could look: where all processes were stopped for a while no loop has stood. A loop
 * that waits for a disk, or whose process was stopped, is told of, but not ended: another one would wait for the same.
 *
 * With mpm_prefork a process that runs a request is a worker, and its processor time counts, for
 * WorkerTimeout; elsewhere the process itself looks at its workers (worker_watch.c).
 */
#include "supervisor_parts.h"
#include "brigade/assert.h"
#include "crash.h"
#include "notify.h"
#include "scores.h"

#include "http_log.h"
#include "http_main.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

MPM_USE_LOG_MODULE;

#define STALL_LOOK_US APR_USEC_PER_SEC
#define STALL_LOOK_MOST_US (2 * STALL_LOOK_US) /* that one look stands for */
#define STALL_END_US (10 * APR_USEC_PER_SEC)
#define STALL_WATCHDOG_US (10 * APR_USEC_PER_SEC)
#define STALL_WORKER_SECONDS 10 /* of processor time for one request, until that is told */

static const int stall_say[] = {1, 10}; /* seconds */

#define STALL_SAY_N ((int)(sizeof stall_say / sizeof *stall_say))

typedef struct stall {
    uint64_t turn;
    apr_interval_time_t stood; /* in that turn */
    apr_time_t used; /* prefork: processor time of the process when its request was first seen */
    int said;        /* so many of stall_say; prefork, in a request: 1 */
    int timed_out;
} stall;

struct sup_stalls {
    int n;
    apr_interval_time_t ending; /* since it was told to end */
    stall loop[];
};

static struct {
    apr_time_t looked;
    uint64_t stalled;    /* loops, of this look */
    int serving, silent; /* of serving processes: loops; those that stand for STALL_WATCHDOG_US */
} stalls;

static void stall_replace(sup_process *c)
{
    c->stuck = 1;
    scoreboard_add_replaced(1);
    sup_children_replace(c);
}

/* ---- a loop ---- */

/* 1: it waits for a disk, or the process is stopped or traced. */
static int stall_is_excused(pid_t pid, pid_t thread)
{
    char path[64], line[512];
    const char *state = NULL;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)pid, (long)thread);
    if (!(file = fopen(path, "re")))
        return 0;
    if (fgets(line, sizeof line, file))
        state = strrchr(line, ')');
    fclose(file);
    return state && state[1] && strchr("DTt", state[2]) != NULL;
}

static void stall_tell(const sup_process *c, stall *st, int loop, pid_t thread)
{
    const int seconds = stall_say[st->said++];

    ap_log_error(APLOG_MARK, seconds < 10 ? APLOG_WARNING : APLOG_CRIT, 0, ap_server_conf,
                 "child pid %ld: event loop %d has been in one turn for %d s: its connections wait",
                 (long)c->pid, loop, seconds);
    crash_look_ask(c->pid, thread, 0, (unsigned)loop, (unsigned)seconds);
}

static void stall_times_out(sup_process *c, stall *st, int loop)
{
    st->timed_out = 1;
    ap_log_error(APLOG_MARK, APLOG_ALERT, 0, ap_server_conf,
                 "child pid %ld: event loop %d has been in one turn for %d s (LoopTimeout): the "
                 "process is %s",
                 (long)c->pid, loop, (int)apr_time_sec(st->stood),
                 c->stopping ? "ended" : "replaced");
    stall_replace(c);
}

static void stall_goes_on(const sup_process *c, const stall *st, int loop)
{
    if (st->said)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                     "child pid %ld: event loop %d goes on after some %d s in one turn",
                     (long)c->pid, loop, (int)apr_time_sec(st->stood));
}

static void stall_stands(sup_process *c, stall *st, int loop, pid_t thread,
                         apr_interval_time_t passed)
{
    st->stood += passed;
    if (st->said < STALL_SAY_N && st->stood >= apr_time_from_sec(stall_say[st->said]))
        stall_tell(c, st, loop, thread);
    stalls.stalled += st->said > 0;
    if (!c->stopping && st->stood >= STALL_WATCHDOG_US)
        stalls.silent++;
    if (mpm_settings.loop_seconds && st->stood >= apr_time_from_sec(mpm_settings.loop_seconds) &&
        !st->timed_out && !stall_is_excused(c->pid, thread))
        stall_times_out(c, st, loop);
}

/* ---- a request of a process with one thread ---- */

static apr_time_t stall_used(pid_t pid)
{
    struct timespec used;
    clockid_t id;

    if (clock_getcpuclockid(pid, &id) || clock_gettime(id, &used))
        return 0;
    return apr_time_from_sec(used.tv_sec) + used.tv_nsec / 1000;
}

static void stall_works(sup_process *c, stall *st)
{
    const apr_time_t used = stall_used(c->pid);
    int seconds;

    if (!st->used)
        st->used = used;
    seconds = (int)apr_time_sec(used - st->used);
    if (!st->said && seconds >= STALL_WORKER_SECONDS) {
        st->said = 1;
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     "child pid %ld has used the processor for %d s for one request", (long)c->pid,
                     seconds);
        crash_look_ask(c->pid, c->pid, 1, 0, (unsigned)seconds);
    }
    if (!mpm_settings.worker_seconds || seconds < mpm_settings.worker_seconds || st->timed_out)
        return;
    st->timed_out = 1;
    ap_log_error(APLOG_MARK, APLOG_ALERT, 0, ap_server_conf,
                 "child pid %ld has used the processor for %d s for one request (WorkerTimeout): "
                 "the process is replaced",
                 (long)c->pid, seconds);
    stall_replace(c);
}

/* ---- all ---- */

static void stalls_of_loop(sup_process *c, int loop, apr_interval_time_t passed)
{
    const loop_score *score = scoreboard_loop_if(c->slot, loop);
    stall *st = &c->stalls->loop[loop];
    uint64_t turn, thread;

    if (!score)
        return;
    turn = loop_score_get(&score->turns);
    thread = loop_score_get(&score->thread);
    stalls.serving += !c->stopping;
    if (!thread || loop_score_get(&score->waits) || turn != st->turn) {
        if (!mpm_settings.prefork)
            stall_goes_on(c, st, loop);
        *st = (stall){.turn = turn};
    } else if (mpm_settings.prefork && loop_score_get(&score->busy))
        stall_works(c, st);
    else
        stall_stands(c, st, loop, (pid_t)thread, passed);
}

static void stalls_of_process(sup_process *c, apr_interval_time_t passed)
{
    const int n = scoreboard_loops();

    if (!c->stalls || c->stalls->n != n) {
        free(c->stalls);
        c->stalls = ap_calloc(1, sizeof *c->stalls + (size_t)n * sizeof *c->stalls->loop);
        c->stalls->n = n;
    }
    for (int i = 0; i < n; i++)
        stalls_of_loop(c, i, passed);
    if (!c->stuck || !c->stopping || (c->stalls->ending += passed) < STALL_END_US)
        return;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                 "child pid %ld does not end: it is killed", (long)c->pid);
    c->stuck = 0;
    kill(c->pid, SIGKILL);
}

apr_time_t sup_stalls_due(void)
{
    return sup_processes ? stalls.looked + STALL_LOOK_US : 0;
}

void sup_stalls_look(void)
{
    const apr_time_t now = clock_monotonic();
    apr_interval_time_t passed = now - stalls.looked;

    BRG_ASSERT(sup_is_supervisor());
    if (passed < STALL_LOOK_US)
        return;
    if (passed > STALL_LOOK_MOST_US)
        passed = STALL_LOOK_MOST_US;
    stalls.looked = now;
    stalls.stalled = 0;
    stalls.serving = stalls.silent = 0;
    for (sup_process *c = sup_processes; c; c = c->next)
        if (c->up && c->slot >= 0)
            stalls_of_process(c, passed);
    scoreboard_set_stalled(stalls.stalled);
    notify_stands(stalls.serving > 0 && stalls.silent == stalls.serving);
}
