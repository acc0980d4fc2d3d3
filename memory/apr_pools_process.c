/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: processes that end with a pool.
 *
 * Ended ones are left alone. The rest are told to end in their registered way; those with a grace
 * time are looked at now and then, ever more seldom, and killed when 3 seconds are over.
 */
#include "pool_private.h"
#include "apr_time.h"
#include <signal.h>

#define PROCESS_PATIENCE (3 * APR_USEC_PER_SEC)
#define PROCESS_FIRST_LOOK (PROCESS_PATIENCE / 64)

APR_DECLARE(void)
apr_pool_note_subprocess(apr_pool_t *pool, apr_proc_t *proc, apr_kill_conditions_e how)
{
    pool_process *process = pool_alloc(pool, sizeof(*process));

    if (process == NULL)
        return;
    process->proc = proc;
    process->how = how;
    process->next = pool->processes;
    pool->processes = process;
}

static int process_runs(const pool_process *process)
{
    return apr_proc_wait(process->proc, NULL, NULL, APR_NOWAIT) == APR_CHILD_NOTDONE;
}

/* @return how many have time to end by themselves */
static int processes_signal(pool_process *list)
{
    pool_process *process;
    int patient = 0;

    for (process = list; process != NULL; process = process->next)
        if (process->how == APR_KILL_ALWAYS)
            apr_proc_kill(process->proc, SIGKILL);
        else if ((process->how == APR_KILL_AFTER_TIMEOUT || process->how == APR_KILL_ONLY_ONCE) &&
                 apr_proc_kill(process->proc, SIGTERM) == APR_SUCCESS)
            patient += process->how == APR_KILL_AFTER_TIMEOUT;
    return patient;
}

static int processes_still_run(pool_process *list)
{
    int running = 0;

    for (; list != NULL; list = list->next) {
        if (list->how != APR_KILL_AFTER_TIMEOUT)
            continue;
        if (process_runs(list))
            running = 1;
        else
            list->how = APR_KILL_NEVER;
    }
    return running;
}

static void processes_await(pool_process *list)
{
    apr_interval_time_t look = PROCESS_FIRST_LOOK, waited = 0;

    while (processes_still_run(list)) {
        if (waited >= PROCESS_PATIENCE) {
            for (; list != NULL; list = list->next)
                if (list->how == APR_KILL_AFTER_TIMEOUT)
                    apr_proc_kill(list->proc, SIGKILL);
            return;
        }
        apr_sleep(look);
        waited += look;
        look *= 2;
    }
}

void pool_processes_end(apr_pool_t *p)
{
    pool_process *process;

    for (process = p->processes; process != NULL; process = process->next)
        if (!process_runs(process)) /* collects it, whatever was asked for */
            process->how = APR_KILL_NEVER;
    if (processes_signal(p->processes) > 0)
        processes_await(p->processes);
    for (process = p->processes; process != NULL; process = process->next)
        if (process->how != APR_KILL_NEVER)
            apr_proc_wait(process->proc, NULL, NULL, APR_WAIT);
    p->processes = NULL;
}
