/* SPDX-License-Identifier: Apache-2.0 */
/* "?auto": one "Key: value" a line under the keys that Apache uses, for tools that parse them. */
#include "status_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"

static void status_auto_server(request_rec *r, const status_snapshot *snap)
{
    ap_rvputs(r, ap_get_server_name(r), "\nServerVersion: ", ap_get_server_description(),
              "\nServerMPM: ", ap_show_mpm(), "\nServer Built: ", ap_get_server_built(),
              "\nCurrentTime: ", status_time(r->pool, snap->now),
              "\nRestartTime: ", status_time(r->pool, snap->totals.restart_time), "\n", NULL);
    ap_rprintf(r,
               "ParentServerConfigGeneration: %d\nParentServerMPMGeneration: %d\n"
               "ServerUptimeSeconds: %" APR_INT64_T_FMT "\nServerUptime:%s\n"
               "Load1: %.2f\nLoad5: %.2f\nLoad15: %.2f\n",
               snap->totals.config_generation, snap->totals.mpm_generation, snap->uptime_s,
               status_duration(r->pool, snap->uptime_s), (double)snap->load.loadavg,
               (double)snap->load.loadavg5, (double)snap->load.loadavg15);
}

static void status_auto_totals(request_rec *r, const status_snapshot *snap)
{
    const brg_status_counts *counts = &snap->totals.counts;
    double up = (double)snap->uptime_s, n = (double)counts->accesses, bytes = (double)counts->bytes;

    ap_rprintf(r,
               "Total Accesses: %" APR_UINT64_T_FMT "\nTotal kBytes: %" APR_UINT64_T_FMT
               "\nTotal Duration: %" APR_UINT64_T_FMT "\n",
               counts->accesses, counts->bytes / 1024, counts->duration_us / 1000);
    ap_rprintf(r, "CPUUser: %g\nCPUSystem: %g\nCPUChildrenUser: %g\nCPUChildrenSystem: %g\n",
               snap->cpu_user, snap->cpu_system, snap->cpu_children_user,
               snap->cpu_children_system);
    if (status_cpu_load(snap) > 0)
        ap_rprintf(r, "CPULoad: %g\n", status_cpu_load(snap));
    ap_rprintf(r, "Uptime: %" APR_INT64_T_FMT "\n", snap->uptime_s);
    if (up > 0)
        ap_rprintf(r, "ReqPerSec: %g\nBytesPerSec: %g\n", n / up, bytes / up);
    if (n > 0) {
        ap_rprintf(r, "BytesPerReq: %g\nDurationPerReq: %g\n", bytes / n,
                   (double)counts->duration_us / 1000 / n);
    }
}

void status_write_auto(request_rec *r, const status_snapshot *snap, int flags)
{
    const brg_status_counts *counts = &snap->totals.counts;

    status_auto_server(r, snap);
    if (snap->extended)
        status_auto_totals(r, snap);
    ap_rprintf(r, "BusyWorkers: %d\nGracefulWorkers: %d\nIdleWorkers: %d\n", snap->busy_n,
               snap->graceful_n, snap->idle_n);
    ap_rprintf(r,
               "Processes: %d\nStopping: %d\nConnsTotal: %" APR_UINT64_T_FMT
               "\nConnsAsyncWaitIO: %" APR_UINT64_T_FMT "\nConnsAsyncWriting: %" APR_UINT64_T_FMT
               "\nConnsAsyncKeepAlive: %" APR_UINT64_T_FMT "\nConnsAsyncClosing: %" APR_UINT64_T_FMT
               "\n",
               snap->totals.processes_n, snap->totals.stopping_n, counts->connections,
               counts->reading, counts->writing, counts->keepalive, counts->lingering);
    ap_rprintf(r, "WorkersFull: %" APR_UINT64_T_FMT "\nSentByWay: %s\nLockWaits: %s\n",
               snap->waited_n, snap->ways, snap->locks ? snap->locks : "none");
    ap_rprintf(r, "LogLinesLost: %" APR_UINT64_T_FMT "\n", snap->totals.log_lines_lost);
    ap_rvputs(r, "Scoreboard: ", snap->letters, "\n", NULL);
    status_run_hooks(r, flags);
}
