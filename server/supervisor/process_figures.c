/* SPDX-License-Identifier: Apache-2.0 */
/* Once a second on each loop: figures (brigade/figures.h) of its connections and memory, and on the first one of the process. */
#include "supervisor_parts.h"
#include "loop.h"
#include "response_cache.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include "brigade/sms.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void figures_of_cache(uint64_t *value, const struct response_cache *cache)
{
    cache_figures f;

    cache_figures_of(cache, &f);
    figures_set(&value[BRG_FIGURE_HITS], f.hits);
    figures_set(&value[BRG_FIGURE_MISSES], f.misses);
    figures_set(&value[BRG_FIGURE_ARMED], f.armed);
    figures_set(&value[BRG_FIGURE_FILLED], f.filled);
    figures_set(&value[BRG_FIGURE_EVICTED], f.displaced);
    figures_set(&value[BRG_FIGURE_CHANGED], f.changed);
    figures_set(&value[BRG_FIGURE_ENTRIES], f.answers);
    figures_set(&value[BRG_FIGURE_ERRORS], f.errors);
    figures_set(&value[BRG_FIGURE_CACHE_BYTES], f.bytes);
    figures_set(&value[BRG_FIGURE_CACHE_MAX], f.bytes_most);
    figures_set(&value[BRG_FIGURE_WATCHES], f.watches);
}

static uint64_t figures_held(const brg_sms *system)
{
    brg_sms_figures figures = {0};

    if (system)
        brg_sms_statistics(system, &figures);
    return figures.held_bytes > figures.live_bytes ? figures.held_bytes : figures.live_bytes;
}

static uint64_t figures_held_for_hosts(void)
{
    brg_host_system host;
    uint64_t held = 0;

    for (int n = 0; brg_host_system_get(n, &host); n++)
        held += figures_held(host.system);
    return held;
}

static void figures_of_scopes(uint64_t *value)
{
    _Static_assert(BRG_FIGURE_HELD_LOG - BRG_FIGURE_HELD_PROCESS == (int)BRG_SCOPE_LOG &&
                       BRG_FIGURE_GIVEN_LOG - BRG_FIGURE_GIVEN_PROCESS == (int)BRG_SCOPE_LOG,
                   "in the order of the scopes");
    for (int scope = 0; scope < BRG_SCOPES_N; scope++) {
        brg_memory_figures pools;

        brg_memory_figures_get((brg_scope)scope, &pools);
        figures_set(&value[BRG_FIGURE_HELD_PROCESS + scope],
                    figures_held(brg_scope_system((brg_scope)scope, 0)) +
                        (scope == BRG_SCOPE_REQUEST ? figures_held_for_hosts() : 0));
        figures_set(&value[BRG_FIGURE_GIVEN_PROCESS + scope], pools.bytes);
    }
}

static uint64_t figures_resident(void)
{
    static int fd = -1; /* the first loop's thread alone comes here */
    char text[128];
    unsigned long pages;
    ssize_t n;

    if (fd < 0)
        fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return sscanf(text, "%*s %lu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static uint64_t figures_us(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * APR_USEC_PER_SEC + (uint64_t)t->tv_usec;
}

static void figures_of_process(uint64_t *value)
{
    struct rusage used;
    struct rlimit limit;
    struct stat descriptors;

    if (!getrusage(RUSAGE_SELF, &used)) {
        figures_set(&value[BRG_FIGURE_CPU_USER], figures_us(&used.ru_utime));
        figures_set(&value[BRG_FIGURE_CPU_SYSTEM], figures_us(&used.ru_stime));
    }
    figures_set(&value[BRG_FIGURE_RESIDENT], figures_resident());
    if (!stat("/proc/self/fd", &descriptors) && descriptors.st_size > 0)
        figures_set(&value[BRG_FIGURE_DESCRIPTORS], (uint64_t)descriptors.st_size);
    if (!getrlimit(RLIMIT_NOFILE, &limit))
        figures_set(&value[BRG_FIGURE_DESCRIPTORS_MOST], limit.rlim_cur);
    figures_of_scopes(value);
}

void process_figures(brg_loop *loop)
{
    uint64_t *value = loop->figures->own.value;

    BRG_ASSERT(loop_self() == loop && loop->cache);
    figures_of_cache(value, loop->cache);
    cache_tell_busiest(loop->cache);
    figures_sample(loop->monotonic);
    if (loop->index == 0)
        figures_of_process(value);
}
