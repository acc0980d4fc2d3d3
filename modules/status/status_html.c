/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page for people. Headings and tables are those of Apache's page, which scripts pick apart;
 * the table of event loops is Brigade's.
 */
#include "status_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "mod_status.h"
#include "apr_strings.h"

#include <unistd.h>

#define STATUS_LINE_LETTERS 64
#define STATUS_KB 1024.0
#define STATUS_MB (1024.0 * 1024.0)

static const char *status_bytes(apr_pool_t *p, double bytes)
{
    if (bytes < 5 * 1024.0)
        return apr_psprintf(p, "%d B", (int)bytes);
    if (bytes < STATUS_MB / 2)
        return apr_psprintf(p, "%.1f kB", bytes / STATUS_KB);
    if (bytes < STATUS_MB * 512)
        return apr_psprintf(p, "%.1f MB", bytes / STATUS_MB);
    return apr_psprintf(p, "%.1f GB", bytes / STATUS_MB / 1024);
}

static void status_html_server(request_rec *r, const status_snapshot *snap)
{
    ap_rvputs(r,
              "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" "
              "\"http://www.w3.org/TR/html4/strict.dtd\">\n<html><head>\n"
              "<title>Apache Status</title>\n</head><body>\n<h1>Apache Server Status for ",
              ap_escape_html(r->pool, ap_get_server_name(r)), " (via ", r->connection->local_ip,
              ")</h1>\n\n<dl><dt>Server Version: ", ap_get_server_description(),
              "</dt>\n<dt>Server MPM: ", ap_show_mpm(),
              "</dt>\n<dt>Server Built: ", ap_get_server_built(), "\n</dt></dl><hr /><dl>\n", NULL);
    ap_rvputs(r, "<dt>Current Time: ", status_time(r->pool, snap->now),
              "</dt>\n<dt>Restart Time: ", status_time(r->pool, snap->totals.restart_time),
              "</dt>\n", NULL);
    ap_rprintf(r,
               "<dt>Parent Server Config. Generation: %d</dt>\n"
               "<dt>Parent Server MPM Generation: %d</dt>\n<dt>Server uptime: %s</dt>\n"
               "<dt>Server load: %.2f %.2f %.2f</dt>\n",
               snap->totals.config_generation, snap->totals.mpm_generation,
               status_duration(r->pool, snap->uptime_s), (double)snap->load.loadavg,
               (double)snap->load.loadavg5, (double)snap->load.loadavg15);
}

static void status_html_totals(request_rec *r, const status_snapshot *snap)
{
    const brg_status_counts *counts = &snap->totals.counts;
    double n = (double)counts->accesses, up = (double)snap->uptime_s, bytes = (double)counts->bytes;
    const char *dash = "";

    ap_rprintf(r,
               "<dt>Total accesses: %" APR_UINT64_T_FMT
               " - Total Traffic: %s - Total Duration: %" APR_UINT64_T_FMT "</dt>\n",
               counts->accesses, status_bytes(r->pool, bytes), counts->duration_us / 1000);
    ap_rprintf(r, "<dt>CPU Usage: u%g s%g cu%g cs%g", snap->cpu_user, snap->cpu_system,
               snap->cpu_children_user, snap->cpu_children_system);
    if (status_cpu_load(snap) > 0)
        ap_rprintf(r, " - %.3g%% CPU load</dt>\n<dt>", status_cpu_load(snap));
    else
        ap_rputs("</dt>\n<dt>", r);
    if (up > 0) {
        ap_rprintf(r, "%.3g requests/sec - %s/second", n / up, status_bytes(r->pool, bytes / up));
        dash = " - ";
    }
    if (n > 0) {
        ap_rprintf(r, "%s%s/request - %g ms/request", dash, status_bytes(r->pool, bytes / n),
                   (double)counts->duration_us / 1000 / n);
    }
    ap_rputs("</dt>\n", r);
}

static void status_html_processes(request_rec *r, const status_snapshot *snap)
{
    static const char row[] = "<td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td>"
                              "<td>%d</td></tr>\n";
    const brg_status_counts *sum = &snap->totals.counts;

    ap_rputs("\n<table rules=\"all\" cellpadding=\"1%\">\n"
             "<tr><th rowspan=\"2\">Slot</th><th rowspan=\"2\">PID</th><th rowspan=\"2\">Stopping"
             "</th><th colspan=\"2\">Connections</th>\n"
             "<th colspan=\"3\">Threads</th><th colspan=\"4\">Async connections</th></tr>\n"
             "<tr><th>total</th><th>accepting</th><th>busy</th><th>graceful</th><th>idle</th>"
             "<th>wait-io</th><th>writing</th><th>keep-alive</th><th>closing</th></tr>\n",
             r);
    for (int i = 0; i < snap->processes->nelts; i++) {
        const status_process *process = &APR_ARRAY_IDX(snap->processes, i, status_process);
        const brg_status_counts *counts = &process->base.counts;
        int old = process->base.generation != snap->totals.mpm_generation;

        ap_rprintf(r,
                   "<tr><td>%d</td><td>%" APR_PID_T_FMT "</td><td>%s%s</td><td>%d</td><td>%s</td>",
                   process->base.slot, process->base.pid, process->base.quiescing ? "yes" : "no",
                   old ? " (old gen)" : "", (int)counts->connections,
                   process->base.quiescing ? "no" : "yes");
        ap_rprintf(r, row, process->busy_n, process->graceful_n, process->idle_n,
                   (int)counts->reading, (int)counts->writing, (int)counts->keepalive,
                   (int)counts->lingering);
    }
    ap_rprintf(r, "<tr><td>Sum</td><td>%d</td><td>%d</td><td>%d</td><td>&nbsp;</td>",
               snap->totals.processes_n, snap->totals.stopping_n, (int)sum->connections);
    ap_rprintf(r, row, snap->busy_n, snap->graceful_n, snap->idle_n, (int)sum->reading,
               (int)sum->writing, (int)sum->keepalive, (int)sum->lingering);
    ap_rputs("</table>\n", r);
}

static void status_html_scoreboard(request_rec *r, const status_snapshot *snap)
{
    int len = (int)strlen(snap->letters);

    ap_rputs("<pre>", r);
    for (int at = 0; at < len; at += STATUS_LINE_LETTERS) {
        int n = len - at < STATUS_LINE_LETTERS ? len - at : STATUS_LINE_LETTERS;

        ap_rputs(at ? "\n" : "", r);
        ap_rwrite(snap->letters + at, n, r);
    }
    ap_rputs("</pre>\n<p>Scoreboard Key:<br />\n"
             "\"<b><code>_</code></b>\" Waiting for Connection, \n"
             "\"<b><code>S</code></b>\" Starting up, \n"
             "\"<b><code>R</code></b>\" Reading Request,<br />\n"
             "\"<b><code>W</code></b>\" Sending Reply, \n"
             "\"<b><code>K</code></b>\" Keepalive (read), \n"
             "\"<b><code>D</code></b>\" DNS Lookup,<br />\n"
             "\"<b><code>C</code></b>\" Closing connection, \n"
             "\"<b><code>L</code></b>\" Logging, \n"
             "\"<b><code>G</code></b>\" Gracefully finishing,<br /> \n"
             "\"<b><code>I</code></b>\" Idle cleanup of worker, \n"
             "\"<b><code>.</code></b>\" Open slot with no current process<br />\n</p>\n",
             r);
}

static void status_html_loops(request_rec *r, const status_snapshot *snap)
{
    brg_status_counts counts;

    ap_rputs("<table rules=\"all\" cellpadding=\"1%\">\n<tr><th>Slot</th><th>Loop</th>"
             "<th>open</th><th>reading</th><th>writing</th><th>keep-alive</th><th>closing</th>"
             "<th>at a "
             "worker</th><th>HTTP/2</th><th>streams</th><th>Accepted</th><th>Requests</"
             "th><th>Bytes</th><th>Turns</th>"
             "</tr>\n",
             r);
    for (int i = 0; i < snap->processes->nelts; i++) {
        const brg_status_process *process = &APR_ARRAY_IDX(snap->processes, i, status_process).base;

        for (int loop = 0; brg_status_loop_get(process->slot, loop, &counts); loop++) {
            ap_rprintf(r,
                       "<tr><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td>"
                       "<td>%d</td><td>%d</td><td>%d</td><td>%d</td>",
                       process->slot, loop, (int)counts.connections, (int)counts.reading,
                       (int)counts.writing, (int)counts.keepalive, (int)counts.lingering,
                       (int)counts.busy, (int)counts.http2, (int)counts.streams);
            ap_rprintf(r,
                       "<td>%" APR_UINT64_T_FMT "</td><td>%" APR_UINT64_T_FMT
                       "</td><td>%s</td><td>%" APR_UINT64_T_FMT "</td></tr>\n",
                       counts.accepted, counts.accesses,
                       status_bytes(r->pool, (double)counts.bytes), counts.turns);
        }
    }
    ap_rputs("</table>\n", r);
}

static void status_html_http2_rows(request_rec *r, const status_snapshot *snap, int slot, int loop)
{
    brg_status_http2 one;
    int found;

    for (int n = 0; (found = brg_status_http2_get(slot, loop, n, &one)) >= 0; n++) {
        if (!found)
            continue;
        ap_rprintf(r,
                   "<tr><td>%d</td><td>%d</td><td>%s</td><td>%s</td><td>%" APR_INT64_T_FMT
                   "</td><td>%" APR_UINT64_T_FMT "</td><td>%" APR_UINT64_T_FMT "</td></tr>\n",
                   slot, loop, ap_escape_html(r->pool, one.client), one.tls ? "h2" : "h2c",
                   snap->now > one.since ? apr_time_sec(snap->now - one.since) : 0, one.open,
                   one.streams);
    }
}

/* Connections of HTTP/2 one by one; the table before it has how many there are. */
static void status_html_http2(request_rec *r, const status_snapshot *snap)
{
    if (!snap->totals.counts.http2)
        return;
    ap_rputs("<table rules=\"all\" cellpadding=\"1%\">\n<tr><th>Slot</th><th>Loop</th>"
             "<th>HTTP/2 client</th><th>Protocol</th><th>seconds</th><th>streams open</th>"
             "<th>streams in all</th></tr>\n",
             r);
    for (int i = 0; i < snap->processes->nelts; i++) {
        const brg_status_process *process = &APR_ARRAY_IDX(snap->processes, i, status_process).base;

        for (int loop = 0; loop < process->loops_n; loop++)
            status_html_http2_rows(r, snap, process->slot, loop);
    }
    ap_rputs("</table>\n", r);
}

static double status_worker_cpu(const worker_score *ws)
{
    double tick = (double)sysconf(_SC_CLK_TCK);

    return tick > 0 ? (double)(ws->times.tms_utime + ws->times.tms_stime + ws->times.tms_cutime +
                               ws->times.tms_cstime) /
                          tick
                    : 0;
}

static apr_int64_t status_worker_ms(const worker_score *ws)
{
    apr_int64_t ms = (ws->stop_time - ws->start_time) / 1000;

    return ws->start_time && ms > 0 ? ms : 0;
}

static const char *status_letter_html(apr_pool_t *p, int status)
{
    char letter = brg_status_letter(status);

    return letter == '_' || letter == '.' || letter == 'G' || letter == 'I'
               ? apr_psprintf(p, "%c", letter)
               : apr_psprintf(p, "<b>%c</b>", letter);
}

static const char *status_shown(request_rec *r, const char *text)
{
    return ap_escape_html(r->pool, ap_escape_logitem(r->pool, text));
}

static void status_html_worker_row(request_rec *r, const status_snapshot *snap,
                                   const status_process *process, const worker_score *ws)
{
    apr_int64_t since_s = ws->last_used ? apr_time_sec(snap->now - ws->last_used) : 0;

    ap_rprintf(r, "<tr><td><b>%d-%d</b></td><td>%" APR_PID_T_FMT "</td><td>%d/%lu/%lu</td><td>%s\n",
               process->base.slot, ws->generation, ws->pid ? ws->pid : process->base.pid,
               (int)ws->conn_count, ws->my_access_count, ws->access_count,
               status_letter_html(r->pool, ws->status));
    ap_rprintf(r,
               "</td><td>%.2f</td><td>%" APR_INT64_T_FMT "</td><td>%" APR_INT64_T_FMT
               "</td><td>%" APR_INT64_T_FMT "</td><td>%-1.1f</td><td>%-2.2f</td><td>%-2.2f\n",
               status_worker_cpu(ws), since_s > 0 ? since_s : 0, status_worker_ms(ws),
               (apr_int64_t)(ws->duration / 1000), (double)ws->conn_bytes / STATUS_KB,
               (double)ws->my_bytes_served / STATUS_MB, (double)ws->bytes_served / STATUS_MB);
    ap_rvputs(r, "</td><td>", ap_escape_html(r->pool, ws->client64), "</td><td>",
              ap_escape_html(r->pool, ws->protocol), "</td><td nowrap>",
              ap_escape_html(r->pool, ws->vhost), "</td><td nowrap>", status_shown(r, ws->request),
              "</td></tr>\n\n", NULL);
}

static void status_html_worker_line(request_rec *r, const status_snapshot *snap,
                                    const status_process *process, const worker_score *ws)
{
    apr_int64_t since_s = ws->last_used ? apr_time_sec(snap->now - ws->last_used) : 0;
    double tick = (double)sysconf(_SC_CLK_TCK);

    ap_rprintf(r, "<b>Server %d-%d</b> (%" APR_PID_T_FMT "): %d|%lu|%lu [%s] u%g s%g cu%g cs%g\n",
               process->base.slot, ws->generation, ws->pid ? ws->pid : process->base.pid,
               (int)ws->conn_count, ws->my_access_count, ws->access_count,
               status_letter_html(r->pool, ws->status), (double)ws->times.tms_utime / tick,
               (double)ws->times.tms_stime / tick, (double)ws->times.tms_cutime / tick,
               (double)ws->times.tms_cstime / tick);
    ap_rprintf(r, " %" APR_INT64_T_FMT " %" APR_INT64_T_FMT " %" APR_INT64_T_FMT "(%s|%s|%s)\n",
               since_s > 0 ? since_s : 0, status_worker_ms(ws), (apr_int64_t)(ws->duration / 1000),
               status_bytes(r->pool, (double)ws->conn_bytes),
               status_bytes(r->pool, (double)ws->my_bytes_served),
               status_bytes(r->pool, (double)ws->bytes_served));
    ap_rvputs(r, " <i>", ap_escape_html(r->pool, ws->client64), " {", status_shown(r, ws->request),
              "}</i> <i>(", ap_escape_html(r->pool, ws->protocol), ")</i> <b>[",
              ap_escape_html(r->pool, ws->vhost), "]</b><br />\n\n", NULL);
}

static void status_html_worker_list(request_rec *r, const status_snapshot *snap, int flags)
{
    worker_score ws;

    for (int i = 0; i < snap->processes->nelts; i++) {
        const status_process *process = &APR_ARRAY_IDX(snap->processes, i, status_process);

        for (int thread = 0; thread < process->base.threads_n; thread++) {
            if (!status_worker_get(process, thread, &ws))
                continue;
            if (flags & AP_STATUS_NOTABLE)
                status_html_worker_line(r, snap, process, &ws);
            else
                status_html_worker_row(r, snap, process, &ws);
        }
    }
}

static void status_html_workers(request_rec *r, const status_snapshot *snap, int flags)
{
    if (flags & AP_STATUS_NOTABLE) {
        ap_rputs("<hr /><h2>Server Details</h2>\n\n", r);
        status_html_worker_list(r, snap, flags);
        return;
    }
    ap_rputs("\n\n<table border=\"0\"><tr><th>Srv</th><th>PID</th><th>Acc</th><th>M</th><th>CPU\n"
             "</th><th>SS</th><th>Req</th><th>Dur</th><th>Conn</th><th>Child</th><th>Slot</th>"
             "<th>Client</th><th>Protocol</th><th>VHost</th><th>Request</th></tr>\n\n",
             r);
    status_html_worker_list(r, snap, flags);
    ap_rputs("</table>\n <hr /> <table>\n"
             " <tr><th>Srv</th><td>Child Server number - generation</td></tr>\n"
             " <tr><th>PID</th><td>OS process ID</td></tr>\n"
             " <tr><th>Acc</th><td>Number of accesses this connection / this child / this slot"
             "</td></tr>\n"
             " <tr><th>M</th><td>Mode of operation</td></tr>\n"
             "<tr><th>CPU</th><td>CPU usage, number of seconds</td></tr>\n"
             "<tr><th>SS</th><td>Seconds since beginning of most recent request</td></tr>\n"
             " <tr><th>Req</th><td>Milliseconds required to process most recent request</td></tr>\n"
             " <tr><th>Dur</th><td>Sum of milliseconds required to process all requests</td></tr>\n"
             " <tr><th>Conn</th><td>Kilobytes transferred this connection</td></tr>\n"
             " <tr><th>Child</th><td>Megabytes transferred this child</td></tr>\n"
             " <tr><th>Slot</th><td>Total megabytes transferred this slot</td></tr>\n </table>\n",
             r);
}

void status_write_html(request_rec *r, const status_snapshot *snap, int flags)
{
    status_html_server(r, snap);
    if (snap->extended)
        status_html_totals(r, snap);
    ap_rprintf(r,
               "<dt>%d requests currently being processed, %d workers gracefully restarting, "
               "%d idle workers</dt>\n",
               snap->busy_n, snap->graceful_n, snap->idle_n);
    if (snap->waited_n)
        ap_rprintf(r,
                   "<dt>%" APR_UINT64_T_FMT " requests had to wait since all workers that "
                   "MaxRequestWorkers allows were at work</dt>\n",
                   snap->waited_n);
    ap_rvputs(r, "<dt>Bytes sent, by their way: ", snap->ways, "</dt>\n", NULL);
    if (snap->locks)
        ap_rvputs(r, "<dt>Waits for locks: ", snap->locks, "</dt>\n", NULL);
    ap_rputs("</dl>\n", r);
    status_html_processes(r, snap);
    status_html_scoreboard(r, snap);
    status_html_loops(r, snap);
    if (snap->extended) {
        status_html_http2(r, snap);
        status_html_workers(r, snap, flags);
    } else {
        ap_rputs("<hr />To obtain a full report with current status information you need to use "
                 "the <code>ExtendedStatus On</code> directive.\n",
                 r);
    }
    status_run_hooks(r, flags);
    ap_rputs(ap_psignature("<hr />\n", r), r);
    ap_rputs("</body></html>\n", r);
}
