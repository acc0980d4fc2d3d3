/* SPDX-License-Identifier: Apache-2.0 */
/* The page for people where pages need not be Apache's (BuiltinPages): headings, tables that the keyboard scrolls, a language. */
#include "status_private.h"
#include "metrics_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "mod_status.h"
#include "apr_strings.h"

static const char page_style[] =
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<style>:root{--page:#f6f7f9;--ink:#1b2430;--soft:#5b6675;--rule:#848d99;--link:#0b62d6}\n"
    "@media (prefers-color-scheme:dark){:root{--page:#12161c;--ink:#e6eaf0;--soft:#a3adba;"
    "--rule:#6f7a88;--link:#7db4ff}}\n"
    "body{margin:0 auto;max-width:84rem;padding:1rem;background:var(--page);color:var(--ink);"
    "font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}a{color:var(--link)}\n"
    ":focus-visible{outline:2px solid var(--link);outline-offset:2px}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0}"
    "dt{color:var(--soft)}dd{margin:0}\n"
    ".scroll{overflow-x:auto;border:1px solid var(--rule);border-radius:.4rem}"
    ".parts{overflow-x:auto}.parts:empty{display:none}.parts h2{overflow-wrap:normal}"
    ".n{text-align:right}.parts table{margin:.4rem 0}.parts td,.parts th{border:1px solid "
    "var(--rule)}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;overflow-wrap:normal}"
    "th,td{text-align:left;padding:.25rem .7rem;white-space:nowrap}th{color:var(--soft);"
    "font-weight:500}\npre{white-space:pre-wrap;margin:0}"
    "@media (max-width:30rem){dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}}</style>\n";

/* ---- parts of a page ---- */

static void page_table(request_rec *r, const char *id, const char *title, const char *const *heads)
{
    ap_rvputs(r, "<h2 id=\"", id, "\">", title,
              "</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"", id,
              "\"><table>\n<thead><tr>", NULL);
    for (; *heads; heads++)
        ap_rvputs(r, "<th scope=\"col\">", *heads, "</th>", NULL);
    ap_rputs("</tr></thead>\n<tbody>\n", r);
}

static void page_table_end(request_rec *r)
{
    ap_rputs("</tbody></table></div>\n", r);
}

static void page_cell(request_rec *r, const char *format, ...)
{
    va_list args;

    ap_rputs("<td>", r);
    va_start(args, format);
    ap_vrprintf(r, format, args);
    va_end(args);
    ap_rputs("</td>", r);
}

static void page_fact(request_rec *r, const char *name, const char *value)
{
    ap_rvputs(r, "<dt>", name, "</dt><dd>", ap_escape_html(r->pool, value), "</dd>\n", NULL);
}

/* ---- content of the page ---- */

static void page_head(request_rec *r)
{
    const char *name = ap_escape_html(r->pool, ap_get_server_name(r)), *live;
    apr_size_t len = strlen(r->uri);

    while (len && r->uri[len - 1] == '/')
        len--;
    live = ap_escape_html(r->pool,
                          ap_os_escape_path(r->pool, apr_pstrmemdup(r->pool, r->uri, len), 1));
    ap_rvputs(r, "<!doctype html>\n<html lang=\"en\">\n<head>\n<title>Server status: ", name,
              "</title>\n", page_style, "</head>\n<body>\n<main>\n<h1>Server status for ", name,
              "</h1>\n<p><a href=\"", live, METRICS_LIVE "\">The last hour, drawn</a></p>\n", NULL);
}

static void page_totals(request_rec *r, const status_snapshot *snap)
{
    const brg_status_counts *counts = &snap->totals.counts;
    const double n = (double)counts->accesses, up = (double)snap->uptime_s;

    page_fact(r, "Requests", apr_psprintf(r->pool, "%" APR_UINT64_T_FMT, counts->accesses));
    page_fact(r, "Sent", status_size_text(r->pool, (double)counts->bytes));
    if (up > 0)
        page_fact(r, "On average",
                  apr_psprintf(r->pool, "%.2f requests and %s per second", n / up,
                               status_size_text(r->pool, (double)counts->bytes / up)));
    if (n > 0)
        page_fact(r, "Per request",
                  apr_psprintf(r->pool, "%s, %.2f ms",
                               status_size_text(r->pool, (double)counts->bytes / n),
                               (double)counts->duration_us / 1000 / n));
    page_fact(r, "Processor", apr_psprintf(r->pool, "%.2f %% of one core", status_cpu_load(snap)));
}

static void page_facts(request_rec *r, const status_snapshot *snap)
{
    ap_rputs("<dl>\n", r);
    page_fact(r, "Version", ap_get_server_description());
    page_fact(r, "Built", ap_get_server_built());
    page_fact(r, "Processing model", ap_show_mpm());
    page_fact(r, "Time", status_time(r->pool, snap->now));
    page_fact(r, "Restarted", status_time(r->pool, snap->totals.restart_time));
    page_fact(r, "Up for", status_duration(r->pool, snap->uptime_s));
    page_fact(r, "Generation of the configuration",
              apr_psprintf(r->pool, "%d", snap->totals.config_generation));
    page_fact(r, "Load",
              apr_psprintf(r->pool, "%.2f %.2f %.2f", (double)snap->load.loadavg,
                           (double)snap->load.loadavg5, (double)snap->load.loadavg15));
    if (snap->extended)
        page_totals(r, snap);
    page_fact(r, "Worker threads",
              apr_psprintf(r->pool, "%d at work, %d idle, %d that end after their request",
                           snap->busy_n, snap->idle_n, snap->graceful_n));
    if (snap->waited_n)
        page_fact(r, "Had to wait for one",
                  apr_psprintf(r->pool, "%" APR_UINT64_T_FMT " requests", snap->waited_n));
    page_fact(r, "Bytes sent, by their way", snap->ways);
    if (snap->locks)
        page_fact(r, "Waits for locks", snap->locks);
    ap_rputs("</dl>\n", r);
}

static void page_processes(request_rec *r, const status_snapshot *snap)
{
    static const char *const heads[] = {"Slot",    "Process", "State",  "Connections",
                                        "Reading", "Writing", "Idle",   "Closing",
                                        "Busy",    "Waiting", "Ending", NULL};

    page_table(r, "processes", "Processes, their connections and worker threads", heads);
    for (int i = 0; i < snap->processes->nelts; i++) {
        const status_process *p = &APR_ARRAY_IDX(snap->processes, i, status_process);
        const brg_status_counts *n = &p->base.counts;
        const int old = p->base.generation != snap->totals.mpm_generation;

        ap_rputs("<tr>", r);
        page_cell(r, "%d", p->base.slot);
        page_cell(r, "%" APR_PID_T_FMT, p->base.pid);
        page_cell(r, "%s%s", p->base.quiescing ? "ends" : "accepts",
                  old ? ", of an older configuration" : "");
        page_cell(r, "%d", (int)n->connections);
        page_cell(r, "%d", (int)n->reading);
        page_cell(r, "%d", (int)n->writing);
        page_cell(r, "%d", (int)n->keepalive);
        page_cell(r, "%d", (int)n->lingering);
        page_cell(r, "%d", p->busy_n);
        page_cell(r, "%d", p->idle_n);
        page_cell(r, "%d", p->graceful_n);
        ap_rputs("</tr>\n", r);
    }
    page_table_end(r);
}

static void page_loop(request_rec *r, int slot, int loop, const brg_status_counts *n)
{
    ap_rputs("<tr>", r);
    page_cell(r, "%d", slot);
    page_cell(r, "%d", loop);
    page_cell(r, "%d", (int)n->connections);
    page_cell(r, "%d", (int)n->busy);
    page_cell(r, "%d", (int)n->http2);
    page_cell(r, "%d", (int)n->streams);
    page_cell(r, "%" APR_UINT64_T_FMT, n->accepted);
    page_cell(r, "%" APR_UINT64_T_FMT, n->accesses);
    page_cell(r, "%s", status_size_text(r->pool, (double)n->bytes));
    page_cell(r, "%" APR_UINT64_T_FMT, n->turns);
    ap_rputs("</tr>\n", r);
}

static void page_loops(request_rec *r, const status_snapshot *snap)
{
    static const char *const heads[] = {"Slot",   "Loop",    "Open",     "At a worker",
                                        "HTTP/2", "Streams", "Accepted", "Requests",
                                        "Sent",   "Turns",   NULL};
    brg_status_counts counts;

    page_table(r, "loops", "Event loops", heads);
    for (int i = 0; i < snap->processes->nelts; i++) {
        const int slot = APR_ARRAY_IDX(snap->processes, i, status_process).base.slot;

        for (int loop = 0; brg_status_loop_get(slot, loop, &counts); loop++)
            page_loop(r, slot, loop, &counts);
    }
    page_table_end(r);
}

static void page_worker(request_rec *r, const status_snapshot *snap, const status_process *process,
                        const worker_score *ws)
{
    const apr_int64_t since = ws->last_used ? apr_time_sec(snap->now - ws->last_used) : 0;

    ap_rputs("<tr>", r);
    page_cell(r, "%d-%d", process->base.slot, ws->generation);
    page_cell(r, "%c", brg_status_letter(ws->status));
    page_cell(r, "%lu", ws->access_count);
    page_cell(r, "%" APR_INT64_T_FMT " s", since > 0 ? since : 0);
    page_cell(r, "%s", ap_escape_html(r->pool, ws->client64));
    page_cell(r, "%s", ap_escape_html(r->pool, ws->protocol));
    page_cell(r, "%s", ap_escape_html(r->pool, ws->vhost));
    page_cell(r, "%s", ap_escape_html(r->pool, ap_escape_logitem(r->pool, ws->request)));
    ap_rputs("</tr>\n", r);
}

static void page_workers(request_rec *r, const status_snapshot *snap)
{
    static const char *const heads[] = {"Process",      "State",   "Requests",
                                        "Last used",    "Client",  "Protocol",
                                        "Virtual host", "Request", NULL};
    worker_score ws;

    page_table(r, "workers", "Worker threads", heads);
    for (int i = 0; i < snap->processes->nelts; i++) {
        const status_process *process = &APR_ARRAY_IDX(snap->processes, i, status_process);

        for (int thread = 0; thread < process->base.threads_n; thread++)
            if (status_worker_get(process, thread, &ws))
                page_worker(r, snap, process, &ws);
    }
    page_table_end(r);
    ap_rputs("<p>State: _ waits, S starts, R reads a request, W answers, K keeps a connection, D "
             "asks DNS, "
             "C closes, L writes logs, G ends after its request, I ends.</p>\n",
             r);
}

void status_write_page(request_rec *r, const status_snapshot *snap, int flags)
{
    page_head(r);
    page_facts(r, snap);
    page_processes(r, snap);
    page_loops(r, snap);
    if (snap->extended)
        page_workers(r, snap);
    else
        ap_rputs("<p><code>ExtendedStatus On</code> shows totals and each worker thread.</p>\n", r);
    /* Reports of modules, other projects' included, scroll as a whole; without any the box is not
     * there. */
    ap_rputs(
        "<div class=\"parts\" tabindex=\"0\" role=\"region\" aria-label=\"Reports of modules\">",
        r);
    status_run_hooks(r, flags);
    ap_rputs("</div>\n</main>\n</body>\n</html>\n", r);
}
