/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of ap_mpm_query(). Modules size their tables by it, so the figures are upper bounds. */
#include "mpm_affinity.h"
#include "mpm_settings.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "memory_limit.h"
#include "scores.h"

#include "ap_mpm.h"
#include "http_config.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define CACHE_PART 16 /* one part of so many of the memory is for response caches */
#define CACHE_LEAST ((size_t)64 << 20)
#define CACHE_MOST ((size_t)1 << 30)

mpm_conf mpm_settings = {
    .processes = 1,
    .reload_seconds = MPM_DEFAULT_RELOAD_SECONDS}; /* mpm_event, until a configuration is read */
int mpm_log_index = APLOG_NO_MODULE;
_Atomic int mpm_state = AP_MPMQ_STARTING;
ap_generation_t mpm_generation;

static int mpm_cpus(void)
{
    cpu_set_t set;
    long n;

    if (mpm_affinity.n)
        return mpm_affinity.n;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int mpm_loops(void)
{
    int n;

    BRG_ASSERT(mpm_settings.processes > 0);
    n = mpm_settings.loops ? mpm_settings.loops : mpm_cpus() / mpm_settings.processes;
    if (n > MPM_MAX_LOOPS)
        n = MPM_MAX_LOOPS;
    return n > 0 ? n : 1;
}

int mpm_processor(int process, int loop)
{
    return affinity_of(&mpm_affinity, process * mpm_loops() + loop);
}

size_t mpm_cache_bytes(void)
{
    const uint64_t loops = (uint64_t)mpm_loops() * (uint64_t)mpm_processes_most();
    const uint64_t share = memory_limit("") / CACHE_PART / (loops ? loops : 1);

    return share < CACHE_LEAST ? CACHE_LEAST : share > CACHE_MOST ? CACHE_MOST : (size_t)share;
}

/* All threads that may run a module's code in one process. */
static int mpm_threads(void)
{
    if (mpm_settings.prefork)
        return 1;
    return mpm_loops() + mpm_workers();
}

static atomic_int mpm_asked_threads;

int mpm_told_of_threads(void)
{
    return !mpm_settings.prefork && atomic_exchange(&mpm_asked_threads, 0);
}

/* Questions that mpm_prefork does not know. */
static int mpm_is_unknown(int query_code)
{
    return mpm_settings.prefork &&
           (query_code == AP_MPMQ_IS_ASYNC || query_code == AP_MPMQ_CAN_WAITIO ||
            query_code == AP_MPMQ_HAS_SERF);
}

int mpm_query_hook(int query_code, int *result, apr_status_t *rv)
{
    *rv = mpm_is_unknown(query_code) ? APR_ENOTIMPL : APR_SUCCESS;
    if (*rv != APR_SUCCESS)
        return OK;
    switch (query_code) {
    case AP_MPMQ_MAX_DAEMON_USED:
        *result = mpm_settings.processes;
        break;
    case AP_MPMQ_MAX_DAEMONS: /* at a reload a process serves on beside its successor */
        *result = mpm_settings.processes + !mpm_settings.prefork;
        break;
    case AP_MPMQ_IS_THREADED:
        atomic_store(&mpm_asked_threads, 1);
        *result = mpm_settings.prefork ? AP_MPMQ_NOT_SUPPORTED : AP_MPMQ_DYNAMIC;
        break;
    case AP_MPMQ_IS_FORKED:
        *result = AP_MPMQ_DYNAMIC;
        break;
    case AP_MPMQ_HARD_LIMIT_DAEMONS:
        *result = scoreboard_processes() ? scoreboard_processes() : mpm_settings.processes;
        break;
    case AP_MPMQ_HARD_LIMIT_THREADS:
        *result = scoreboard_threads() ? scoreboard_threads() : mpm_threads();
        if (mpm_settings.prefork)
            *result = 1;
        break;
    case AP_MPMQ_MAX_THREADS:
        *result = mpm_threads();
        break;
    case AP_MPMQ_MIN_SPARE_DAEMONS:
        *result = mpm_settings.prefork ? mpm_settings.spare_min : 0;
        break;
    case AP_MPMQ_MAX_SPARE_DAEMONS:
        *result = mpm_settings.prefork ? mpm_settings.spare_max : 0;
        break;
    case AP_MPMQ_MIN_SPARE_THREADS:
    case AP_MPMQ_MAX_SPARE_THREADS:
        *result = mpm_settings.prefork ? 0 : mpm_threads();
        break;
    case AP_MPMQ_MAX_REQUESTS_DAEMON:
        *result = ap_max_requests_per_child;
        break;
    case AP_MPMQ_MPM_STATE:
        *result = mpm_state;
        break;
    case AP_MPMQ_IS_ASYNC:
        *result = 1;
        break;
    case AP_MPMQ_GENERATION:
        *result = mpm_generation;
        break;
    case AP_MPMQ_CAN_WAITIO: /* no suspended requests: a worker waits instead */
    case AP_MPMQ_HAS_SERF:
        *result = 0;
        break;
    default:
        *rv = APR_ENOTIMPL;
        break;
    }
    return OK;
}

int mpm_processes_start(void)
{
    return mpm_settings.prefork ? mpm_settings.start : mpm_settings.processes;
}

int mpm_processes_most(void)
{
    return mpm_settings.processes;
}
