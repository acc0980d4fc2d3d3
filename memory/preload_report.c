/* SPDX-License-Identifier: Apache-2.0 */
/* The report of the preloaded layer: figures of pools, and of each memory system below them. */
#include "memory_scope.h"
#include "preload_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static void report_line(void *baton, const char *text)
{
    fprintf(baton, "    %s\n", text);
}

static void report_pools(FILE *out)
{
    brg_memory_figures f;

    brg_memory_figures_get(BRG_SCOPE_PROCESS, &f);
    fprintf(out,
            "  pools: %" PRIu64 " created, %" PRIu64 " cleared or destroyed; %" PRIu64
            " allocations, %" PRIu64 " bytes, %" PRIu64 " zeroed; %" PRIu64 " cleanups, %" PRIu64
            " refills; largest %" PRIu64 " bytes\n",
            f.pools, f.clears, f.allocations, f.bytes, f.zeroed_bytes, f.cleanups, f.refills,
            f.high_water_bytes);
}

static void report_system(FILE *out, const brg_sms *s)
{
    brg_sms_figures f;

    brg_sms_statistics(s, &f);
    fprintf(out,
            "  %s: %" PRIu64 " allocations, %" PRIu64 " bytes, %" PRIu64 " freed (%" PRIu64
            " by other threads), %" PRIu64 " refills, %" PRIu64 " failures; live %" PRIu64
            ", most %" PRIu64 ", held %" PRIu64 " bytes\n",
            s->ops->kind, f.allocations, f.bytes, f.frees, f.remote_frees, f.refills, f.failures,
            f.live_bytes, f.high_water_bytes, f.held_bytes);
}

void preload_report(const char *file)
{
    FILE *out = file != NULL ? fopen(file, "a") : stderr;
    const brg_sms *s;
    int n;

    if (out == NULL)
        out = stderr;
    fprintf(out, "brigade memory, process %ld: %s\n", (long)getpid(),
            brg_scope_spec(BRG_SCOPE_PROCESS));
    report_pools(out);
    for (n = 0; (s = brg_scope_system(BRG_SCOPE_PROCESS, n)) != NULL; n++)
        report_system(out, s);
    s = brg_scope_system(BRG_SCOPE_PROCESS, 0);
    if (s != NULL)
        brg_sms_report(s, report_line, out);
    if (out != stderr)
        fclose(out);
    else
        fflush(out);
}
