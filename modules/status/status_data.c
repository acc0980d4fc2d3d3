/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the reports, read once from the scoreboard. */
#include "status_private.h"
#include "brigade/figures.h"
#include "http_core.h"
#include "apr_strings.h"
#include "util_time.h"
#include <sys/times.h>
#include <unistd.h>

#define STATUS_TIME_FORMAT "%A, %d-%b-%Y %H:%M:%S %Z"

static void status_count_thread(status_process *process, int status)
{
    if (status == SERVER_GRACEFUL || (process->base.quiescing && status > SERVER_READY))
        process->graceful_n++;
    else if (status == SERVER_READY)
        process->idle_n++;
    else if (status != SERVER_DEAD && status != SERVER_STARTING && status != SERVER_IDLE_KILL)
        process->busy_n++;
}

static void status_most(clock_t *to, clock_t value)
{
    if (*to < value)
        *to = value;
}

/* Times are those of the process, as a thread found them with its last request: the latest count, and once for a process. */
static void status_take_times(struct tms *most, const struct tms *of)
{
    status_most(&most->tms_utime, of->tms_utime);
    status_most(&most->tms_stime, of->tms_stime);
    status_most(&most->tms_cutime, of->tms_cutime);
    status_most(&most->tms_cstime, of->tms_cstime);
}

static void status_add_times(status_snapshot *snap, const struct tms *of)
{
    const double tick = (double)sysconf(_SC_CLK_TCK);

    if (tick <= 0)
        return;
    snap->cpu_user += (double)of->tms_utime / tick;
    snap->cpu_system += (double)of->tms_stime / tick;
    snap->cpu_children_user += (double)of->tms_cutime / tick;
    snap->cpu_children_system += (double)of->tms_cstime / tick;
}

int status_worker_get(const status_process *process, int thread, worker_score *out)
{
    ap_copy_scoreboard_worker(out, process->base.slot, thread);
    return out->access_count != 0 || (out->status != SERVER_READY && out->status != SERVER_DEAD);
}

static void status_look_at_process(status_snapshot *snap, status_process *process,
                                   apr_array_header_t *letters)
{
    struct tms times_of = {0};
    worker_score ws;

    for (int i = 0; i < process->base.threads_n; i++) {
        ap_copy_scoreboard_worker(&ws, process->base.slot, i);
        APR_ARRAY_PUSH(letters, char) = brg_status_letter(ws.status);
        status_count_thread(process, ws.status);
        status_take_times(&times_of, &ws.times);
    }
    /* Responses from memory leave no times: this process knows its own. */
    if (process->base.pid == getpid())
        times(&times_of);
    status_add_times(snap, &times_of);
    snap->busy_n += process->busy_n;
    snap->graceful_n += process->graceful_n;
    snap->idle_n += process->idle_n;
}

/* The figures from first to last, each behind the value of its label. */
static const char *status_by_label(apr_pool_t *p, const brg_figures *f, int first, int last)
{
    const char *text = "";

    for (int i = first; i <= last; i++) {
        const char *label = strchr(brg_figure_of(i)->labels, '"') + 1;

        text = apr_psprintf(p, "%s%s%.*s %" APR_UINT64_T_FMT, text, i > first ? ", " : "",
                            (int)strcspn(label, "\""), label, f->value[i]);
    }
    return text;
}

static void status_add_figures(apr_pool_t *p, status_snapshot *snap)
{
    brg_figures *f = apr_pcalloc(p, sizeof *f);
    uint64_t waits = 0;

    if (brg_figures_sum(f))
        memset(f, 0, sizeof *f);
    snap->figures = f;
    snap->waited_n = f->value[BRG_FIGURE_WORKERS_FULL];
    snap->ways = status_by_label(p, f, BRG_FIGURE_SENT_MEMORY, BRG_FIGURE_SENT_READ);
    for (int i = BRG_FIGURE_LOCK_WORKERS; i <= BRG_FIGURE_LOCK_BACKENDS; i++)
        waits += f->value[i];
    if (waits)
        snap->locks = status_by_label(p, f, BRG_FIGURE_LOCK_WORKERS, BRG_FIGURE_LOCK_BACKENDS);
}

int status_snapshot_take(request_rec *r, status_snapshot *snap)
{
    apr_array_header_t *letters = apr_array_make(r->pool, 64, 1);
    status_process process;
    int found;

    memset(snap, 0, sizeof(*snap));
    if (!ap_exists_scoreboard_image() || brg_status_sum(&snap->totals) != 0)
        return -1;
    snap->now = apr_time_now();
    snap->uptime_s = apr_time_sec(snap->now) - apr_time_sec(snap->totals.restart_time);
    snap->extended = ap_extended_status;
    snap->processes = apr_array_make(r->pool, 4, sizeof(status_process));
    ap_get_loadavg(&snap->load);
    /* Of the supervisor, and of the processes that have ended. */
    if (ap_get_scoreboard_global())
        status_add_times(snap, &ap_get_scoreboard_global()->times);
    memset(&process, 0, sizeof(process));
    for (int slot = 0; (found = brg_status_process_get(slot, &process.base)) >= 0; slot++) {
        if (!found)
            continue;
        process.busy_n = process.graceful_n = process.idle_n = 0;
        status_look_at_process(snap, &process, letters);
        APR_ARRAY_PUSH(snap->processes, status_process) = process;
    }
    APR_ARRAY_PUSH(letters, char) = '\0';
    snap->letters = letters->elts;
    status_add_figures(r->pool, snap);
    return 0;
}

double status_cpu_load(const status_snapshot *snap)
{
    double used =
        snap->cpu_user + snap->cpu_system + snap->cpu_children_user + snap->cpu_children_system;

    return snap->uptime_s > 0 ? used / (double)snap->uptime_s * 100.0 : 0.0;
}

const char *status_duration(apr_pool_t *p, apr_int64_t seconds)
{
    static const struct {
        const char *name;
        int seconds;
    } units[] = {{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
    const char *text = "";

    for (apr_size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        apr_int64_t n = seconds / units[i].seconds;

        if (n) {
            text = apr_psprintf(p, "%s %" APR_INT64_T_FMT " %s%s", text, n, units[i].name,
                                n == 1 ? "" : "s");
        }
        seconds %= units[i].seconds;
    }
    return text;
}

const char *status_time(apr_pool_t *p, apr_time_t t)
{
    return ap_ht_time(p, t, STATUS_TIME_FORMAT, 0);
}
