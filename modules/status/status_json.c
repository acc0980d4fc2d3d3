/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "?json": everything that is known, for machines. Times are seconds since the epoch, durations
 * seconds, sizes bytes. Text from clients may be any bytes: a byte beyond ASCII is written as the
 * code point of its value.
 */
#include "status_backends.h"
#include "status_cache.h"
#include "status_hosts.h"
#include "status_limits.h"
#include "status_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"

static void json_string(request_rec *r, const char *s)
{
    const char *from = s;

    ap_rputs("\"", r);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
            continue;
        ap_rwrite(from, (int)(s - from), r);
        ap_rprintf(r, "\\u%04x", c);
        from = s + 1;
    }
    ap_rwrite(from, (int)(s - from), r);
    ap_rputs("\"", r);
}

void status_json_string(request_rec *r, const char *key, const char *value)
{
    ap_rvputs(r, "\"", key, "\":", NULL);
    json_string(r, value ? value : "");
}

void status_json_next(request_rec *r, const char *key, const char *value)
{
    ap_rputs(",", r);
    status_json_string(r, key, value);
}

void status_json_numbers(request_rec *r, const uint64_t *n, size_t count)
{
    ap_rputs("[", r);
    for (size_t i = 0; i < count; i++)
        ap_rprintf(r, "%s%" APR_UINT64_T_FMT, i ? "," : "", n[i]);
    ap_rputs("]", r);
}

static void json_counts(request_rec *r, const brg_status_counts *counts)
{
    ap_rprintf(r,
               "\"accesses\":%" APR_UINT64_T_FMT ",\"bytes\":%" APR_UINT64_T_FMT
               ",\"duration\":%.6f,\"accepted\":%" APR_UINT64_T_FMT ",\"turns\":%" APR_UINT64_T_FMT
               ",",
               counts->accesses, counts->bytes, (double)counts->duration_us / 1e6, counts->accepted,
               counts->turns);
    ap_rprintf(r,
               "\"connections\":{\"open\":%" APR_UINT64_T_FMT ",\"reading\":%" APR_UINT64_T_FMT
               ",\"writing\":%" APR_UINT64_T_FMT ",\"keepalive\":%" APR_UINT64_T_FMT
               ",\"closing\":%" APR_UINT64_T_FMT ",\"busy\":%" APR_UINT64_T_FMT
               "},\"http2\":{\"connections\":%" APR_UINT64_T_FMT ",\"streams\":%" APR_UINT64_T_FMT
               "}",
               counts->connections, counts->reading, counts->writing, counts->keepalive,
               counts->lingering, counts->busy, counts->http2, counts->streams);
}

static void json_worker(request_rec *r, const status_snapshot *snap, int thread, int loops_n,
                        const worker_score *ws)
{
    char letter[] = {brg_status_letter(ws->status), '\0'};

    ap_rprintf(r, "{\"thread\":%d,\"kind\":\"%s\",", thread, thread < loops_n ? "loop" : "worker");
    status_json_string(r, "status", letter);
    if (snap->extended) {
        ap_rprintf(r,
                   ",\"accesses\":%lu,\"bytes\":%" APR_OFF_T_FMT
                   ",\"connection_accesses\":%u,\"last_used\":%.6f,\"duration\":%.6f,",
                   ws->access_count, ws->bytes_served, ws->conn_count, (double)ws->last_used / 1e6,
                   (double)ws->duration / 1e6);
        status_json_string(r, "client", ws->client64);
        status_json_next(r, "protocol", ws->protocol);
        status_json_next(r, "vhost", ws->vhost);
        status_json_next(r, "request", ws->request);
    }
    ap_rputs("}", r);
}

static void json_loops(request_rec *r, const status_process *process)
{
    brg_status_counts counts;

    ap_rputs(",\"loops\":[", r);
    for (int i = 0; i < process->base.loops_n; i++) {
        if (!brg_status_loop_get(process->base.slot, i, &counts))
            break;
        ap_rputs(i ? ",{" : "{", r);
        json_counts(r, &counts);
        ap_rputs("}", r);
    }
    ap_rputs("]", r);
}

static const char *json_http2_of_loop(request_rec *r, int slot, int loop, const char *comma)
{
    brg_status_http2 one;
    int found;

    for (int n = 0; (found = brg_status_http2_get(slot, loop, n, &one)) >= 0; n++) {
        if (!found)
            continue;
        ap_rprintf(r, "%s{\"loop\":%d,", comma, loop);
        status_json_string(r, "client", one.client);
        ap_rprintf(r,
                   ",\"protocol\":\"%s\",\"since\":%.6f,\"streams\":%" APR_UINT64_T_FMT
                   ",\"streams_total\":%" APR_UINT64_T_FMT "}",
                   one.tls ? "h2" : "h2c", (double)one.since / 1e6, one.open, one.streams);
        comma = ",";
    }
    return comma;
}

/* One by one; the counts have how many there are. */
static void json_http2(request_rec *r, const status_process *process)
{
    const char *comma = "";

    ap_rputs(",\"http2_connections\":[", r);
    for (int i = 0; i < process->base.loops_n; i++)
        comma = json_http2_of_loop(r, process->base.slot, i, comma);
    ap_rputs("]", r);
}

static void json_process(request_rec *r, const status_snapshot *snap, const status_process *process)
{
    const char *comma = "";
    worker_score ws;

    ap_rprintf(r,
               "{\"slot\":%d,\"pid\":%" APR_PID_T_FMT ",\"generation\":%d,\"stopping\":%s,"
               "\"threads\":{\"busy\":%d,\"graceful\":%d,\"idle\":%d},",
               process->base.slot, process->base.pid, process->base.generation,
               process->base.quiescing ? "true" : "false", process->busy_n, process->graceful_n,
               process->idle_n);
    json_counts(r, &process->base.counts);
    json_loops(r, process);
    if (snap->extended)
        json_http2(r, process);
    ap_rputs(",\"workers\":[", r);
    for (int i = 0; i < process->base.threads_n; i++) {
        if (status_worker_get(process, i, &ws)) {
            ap_rputs(comma, r);
            json_worker(r, snap, i, process->base.loops_n, &ws);
            comma = ",";
        }
    }
    ap_rputs("]}", r);
}

static void json_server(request_rec *r, const status_snapshot *snap)
{
    ap_rputs("\"server\":{", r);
    status_json_string(r, "name", ap_get_server_name(r));
    status_json_next(r, "version", ap_get_server_description());
    status_json_next(r, "mpm", ap_show_mpm());
    status_json_next(r, "built", ap_get_server_built());
    ap_rprintf(r,
               ",\"config_generation\":%d,\"mpm_generation\":%d,\"now\":%.6f,\"started\":%.6f,"
               "\"restarted\":%.6f,\"uptime\":%" APR_INT64_T_FMT ",\"extended\":%s,"
               "\"load\":[%.2f,%.2f,%.2f]}",
               snap->totals.config_generation, snap->totals.mpm_generation, (double)snap->now / 1e6,
               (double)snap->totals.start_time / 1e6, (double)snap->totals.restart_time / 1e6,
               snap->uptime_s, snap->extended ? "true" : "false", (double)snap->load.loadavg,
               (double)snap->load.loadavg5, (double)snap->load.loadavg15);
}

void status_write_json(request_rec *r, const status_snapshot *snap)
{
    ap_rputs("{", r);
    json_server(r, snap);
    ap_rprintf(r,
               ",\"cpu\":{\"user\":%.2f,\"system\":%.2f,\"children_user\":%.2f,"
               "\"children_system\":%.2f,\"percent\":%.3f}",
               snap->cpu_user, snap->cpu_system, snap->cpu_children_user, snap->cpu_children_system,
               status_cpu_load(snap));
    ap_rprintf(r,
               ",\"threads\":{\"busy\":%d,\"graceful\":%d,\"idle\":%d},"
               "\"workers\":{\"busy\":%d,\"idle\":%d,\"full\":%" APR_UINT64_T_FMT "},",
               snap->busy_n, snap->graceful_n, snap->idle_n, snap->totals.workers_busy_n,
               snap->totals.workers_idle_n, snap->waited_n);
    ap_rputs("\"totals\":{", r);
    json_counts(r, &snap->totals.counts);
    ap_rprintf(r, ",\"log_lines_lost\":%" APR_UINT64_T_FMT "},", snap->totals.log_lines_lost);
    status_json_string(r, "scoreboard", snap->letters);
    ap_rputs(",\"processes\":[", r);
    for (int i = 0; i < snap->processes->nelts; i++) {
        ap_rputs(i ? "," : "", r);
        json_process(r, snap, &APR_ARRAY_IDX(snap->processes, i, status_process));
    }
    ap_rputs("]", r);
    status_hosts_write_json(r, snap->figures);
    status_backends_write_json(r);
    status_cache_write_json(r);
    status_limits_write_json(r);
    ap_rputs("}\n", r);
}
