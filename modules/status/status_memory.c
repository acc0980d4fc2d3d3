/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory systems in the status page. Two tables say what is shown, one of what pools did in a
 * scope, one of what a system below them did; each shape walks these.
 */
#include "status_memory.h"
#include "status_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_status.h"
#include "apr_optional_hooks.h"
#include "apr_escape.h"
#include "apr_strings.h"
#include "brigade/memory.h"
#include "brigade/sms.h"
#include <stddef.h>
#include <string.h>
#include <unistd.h>

typedef struct memory_figure {
    const char *name;  /* JSON, Prometheus */
    const char *title; /* HTML, ?auto */
    const char *help;  /* Prometheus, and shown where HTML is pointed at */
    int counts_up;     /* a counter, not a gauge */
    size_t offset;
} memory_figure;

#define POOL_FIGURE(field, title, up, help)                          \
    {                                                                \
#field, title, help, up, offsetof(brg_memory_figures, field) \
    }
#define SYSTEM_FIGURE(field, title, up, help)                     \
    {                                                             \
#field, title, help, up, offsetof(brg_sms_figures, field) \
    }

#define BUFFER_FIGURE(field, title, help)                           \
    {                                                               \
#field, title, help, 1, offsetof(brg_buffer_figures, field) \
    }

static const memory_figure pool_figures[] = {
    POOL_FIGURE(pools, "Pools", 1, "pools created"),
    POOL_FIGURE(clears, "Clears", 1, "pools cleared or destroyed"),
    POOL_FIGURE(allocations, "Allocations", 1, "allocations from pools"),
    POOL_FIGURE(bytes, "Bytes", 1, "bytes asked of pools"),
    POOL_FIGURE(zeroed_bytes, "ZeroedBytes", 1, "bytes that were cleared for who asked"),
    POOL_FIGURE(cleanups, "Cleanups", 1, "cleanups registered with pools"),
    POOL_FIGURE(refills, "Refills", 1, "chunks that pools took beyond their first"),
    POOL_FIGURE(high_water_bytes, "HighWaterBytes", 0, "most that one pool gave out"),
};

static const memory_figure system_figures[] = {
    SYSTEM_FIGURE(allocations, "Allocations", 1, "blocks given out"),
    SYSTEM_FIGURE(bytes, "Bytes", 1, "bytes given out"),
    SYSTEM_FIGURE(frees, "Frees", 1, "blocks taken back"),
    SYSTEM_FIGURE(refills, "Refills", 1, "blocks taken from the system below"),
    SYSTEM_FIGURE(remote_frees, "RemoteFrees", 1, "blocks that another thread gave back"),
    SYSTEM_FIGURE(resets, "Resets", 1, "resets"),
    SYSTEM_FIGURE(failures, "Failures", 1, "requests refused"),
    SYSTEM_FIGURE(live_bytes, "LiveBytes", 0, "bytes given out and not taken back"),
    SYSTEM_FIGURE(high_water_bytes, "HighWaterBytes", 0, "most live bytes"),
    SYSTEM_FIGURE(held_bytes, "HeldBytes", 0, "bytes held from the system below"),
};

static const memory_figure buffer_figures[] = {
    BUFFER_FIGURE(created, "Created", "buffers created"),
    BUFFER_FIGURE(shared, "Shared", "buffers shared by reference"),
    BUFFER_FIGURE(copied, "Copied", "buffers copied on write"),
    BUFFER_FIGURE(copied_bytes, "CopiedBytes", "bytes of buffers copied"),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t figure_value(const memory_figure *figure, const void *figures)
{
    return *(const uint64_t *)((const char *)figures + figure->offset);
}

/* ---- JSON: one object per process ---- */

static void json_figures(request_rec *r, const memory_figure *figure, size_t n, const void *figures)
{
    size_t i;

    for (i = 0; i < n; i++)
        ap_rprintf(r, "%s\"%s\":%" APR_UINT64_T_FMT, i > 0 ? "," : "", figure[i].name,
                   figure_value(&figure[i], figures));
}

static void json_systems(request_rec *r, const brg_sms *s)
{
    brg_sms_figures system;
    int n = 0;

    ap_rputs("\"systems\":[", r);
    for (; s; s = s->parent) {
        brg_sms_statistics(s, &system);
        ap_rprintf(r, "%s{\"kind\":\"%s\",", n++ ? "," : "", s->ops->kind);
        json_figures(r, system_figures, COUNT_OF(system_figures), &system);
        ap_rputs("}", r);
    }
    ap_rputs("]", r);
}

static void json_hosts(request_rec *r)
{
    brg_host_system host;

    ap_rputs(",\"hosts\":[", r);
    for (int n = 0; brg_host_system_get(n, &host); n++) {
        ap_rputs(n ? ",{" : "{", r);
        status_json_string(r, "name", host.name);
        ap_rputs(",", r);
        status_json_string(r, "system", host.spec);
        ap_rputs(",", r);
        json_systems(r, host.system);
        ap_rputs("}", r);
    }
    ap_rputs("]", r);
}

static void json_scope(request_rec *r, brg_scope scope)
{
    brg_memory_figures pools;

    brg_memory_figures_get(scope, &pools);
    ap_rprintf(r, "{\"scope\":\"%s\",\"system\":\"%s\",\"pools\":{", brg_scope_name(scope),
               brg_scope_spec(scope));
    json_figures(r, pool_figures, COUNT_OF(pool_figures), &pools);
    ap_rputs("},", r);
    json_systems(r, brg_scope_system(scope, 0));
    if (scope == BRG_SCOPE_REQUEST)
        json_hosts(r);
    ap_rputs("}", r);
}

static void memory_write_json(request_rec *r)
{
    brg_buffer_figures buffers;
    int scope;

    ap_set_content_type_ex(r, "application/json", 1);
    ap_rprintf(r, "{\"pid\":%ld,\"scopes\":[", (long)getpid());
    for (scope = 0; scope < BRG_SCOPES_N; scope++) {
        if (scope > 0)
            ap_rputs(",\n", r);
        json_scope(r, (brg_scope)scope);
    }
    brg_buffer_figures_get(&buffers);
    ap_rputs("],\n\"buffers\":{", r);
    json_figures(r, buffer_figures, COUNT_OF(buffer_figures), &buffers);
    ap_rputs("}}\n", r);
}

/* ---- Prometheus: one family of samples per figure ---- */

static void prometheus_head(request_rec *r, const memory_figure *figure, const char *of)
{
    const char *total = figure->counts_up ? "_total" : "";

    ap_rprintf(r, "# HELP brigade_memory_%s_%s%s %s\n", of, figure->name, total, figure->help);
    ap_rprintf(r, "# TYPE brigade_memory_%s_%s%s %s\n", of, figure->name, total,
               figure->counts_up ? "counter" : "gauge");
}

static void prometheus_pools(request_rec *r, const memory_figure *figure)
{
    brg_memory_figures pools;
    int scope;

    prometheus_head(r, figure, "pool");
    for (scope = 0; scope < BRG_SCOPES_N; scope++) {
        brg_memory_figures_get((brg_scope)scope, &pools);
        ap_rprintf(r, "brigade_memory_pool_%s%s{pid=\"%ld\",scope=\"%s\"} %" APR_UINT64_T_FMT "\n",
                   figure->name, figure->counts_up ? "_total" : "", (long)getpid(),
                   brg_scope_name(scope), figure_value(figure, &pools));
    }
}

/* @param host  a label with a comma before it, or "" */
static void prometheus_systems_of(request_rec *r, const memory_figure *figure, brg_scope scope,
                                  const char *host, const brg_sms *s)
{
    brg_sms_figures system;

    for (int n = 0; s; s = s->parent, n++) {
        brg_sms_statistics(s, &system);
        ap_rprintf(
            r,
            "brigade_memory_system_%s%s{pid=\"%ld\",scope=\"%s\"%s,level=\"%d\",kind=\"%s\"} "
            "%" APR_UINT64_T_FMT "\n",
            figure->name, figure->counts_up ? "_total" : "", (long)getpid(), brg_scope_name(scope),
            host, n, s->ops->kind, figure_value(figure, &system));
    }
}

static void prometheus_systems(request_rec *r, const memory_figure *figure)
{
    brg_host_system host;

    prometheus_head(r, figure, "system");
    for (int scope = 0; scope < BRG_SCOPES_N; scope++)
        prometheus_systems_of(r, figure, (brg_scope)scope, "",
                              brg_scope_system((brg_scope)scope, 0));
    for (int n = 0; brg_host_system_get(n, &host); n++)
        prometheus_systems_of(
            r, figure, BRG_SCOPE_REQUEST,
            apr_psprintf(r->pool, ",host=\"%s\"", apr_pescape_echo(r->pool, host.name, 1)),
            host.system);
}

static void prometheus_buffers(request_rec *r)
{
    brg_buffer_figures buffers;
    size_t i;

    brg_buffer_figures_get(&buffers);
    for (i = 0; i < COUNT_OF(buffer_figures); i++) {
        prometheus_head(r, &buffer_figures[i], "buffer");
        ap_rprintf(r, "brigade_memory_buffer_%s_total{pid=\"%ld\"} %" APR_UINT64_T_FMT "\n",
                   buffer_figures[i].name, (long)getpid(),
                   figure_value(&buffer_figures[i], &buffers));
    }
}

static void memory_write_prometheus(request_rec *r)
{
    size_t i;

    ap_set_content_type_ex(r, "text/plain; version=0.0.4; charset=utf-8", 1);
    for (i = 0; i < COUNT_OF(pool_figures); i++)
        prometheus_pools(r, &pool_figures[i]);
    for (i = 0; i < COUNT_OF(system_figures); i++)
        prometheus_systems(r, &system_figures[i]);
    prometheus_buffers(r);
}

/* ---- the page, and ?auto ---- */

static void auto_scope(request_rec *r, brg_scope scope)
{
    char *name = apr_pstrdup(r->pool, brg_scope_name(scope));
    brg_memory_figures pools;
    size_t i;

    name[0] = (char)(name[0] - 'a' + 'A');
    ap_rprintf(r, "Memory%sSystem: %s\n", name, brg_scope_spec(scope));
    brg_memory_figures_get(scope, &pools);
    for (i = 0; i < COUNT_OF(pool_figures); i++)
        ap_rprintf(r, "Memory%s%s: %" APR_UINT64_T_FMT "\n", name, pool_figures[i].title,
                   figure_value(&pool_figures[i], &pools));
}

static void auto_buffers(request_rec *r)
{
    brg_buffer_figures buffers;
    size_t i;

    brg_buffer_figures_get(&buffers);
    for (i = 0; i < COUNT_OF(buffer_figures); i++)
        ap_rprintf(r, "MemoryBuffers%s: %" APR_UINT64_T_FMT "\n", buffer_figures[i].title,
                   figure_value(&buffer_figures[i], &buffers));
}

static void html_buffers(request_rec *r)
{
    brg_buffer_figures buffers;
    size_t i;

    brg_buffer_figures_get(&buffers);
    ap_rputs("<table border=\"1\"><tr><th>Buffers</th>", r);
    for (i = 0; i < COUNT_OF(buffer_figures); i++)
        ap_rprintf(r, "<th title=\"%s\">%s</th>", buffer_figures[i].help, buffer_figures[i].title);
    ap_rputs("</tr>\n<tr><td>of the process</td>", r);
    for (i = 0; i < COUNT_OF(buffer_figures); i++)
        ap_rprintf(r, "<td align=\"right\">%" APR_UINT64_T_FMT "</td>",
                   figure_value(&buffer_figures[i], &buffers));
    ap_rputs("</tr>\n</table>\n", r);
}

static void html_head(request_rec *r, const char *first, const memory_figure *figure, size_t n)
{
    size_t i;

    ap_rprintf(r, "<table border=\"1\"><tr><th>%s</th><th>System</th>", first);
    for (i = 0; i < n; i++)
        ap_rprintf(r, "<th title=\"%s\">%s</th>", figure[i].help, figure[i].title);
    ap_rputs("</tr>\n", r);
}

static void html_row(request_rec *r, const char *scope, const char *system,
                     const memory_figure *figure, size_t n, const void *figures)
{
    size_t i;

    ap_rprintf(r, "<tr><td>%s</td><td>%s</td>", scope, system);
    for (i = 0; i < n; i++)
        ap_rprintf(r, "<td align=\"right\">%" APR_UINT64_T_FMT "</td>",
                   figure_value(&figure[i], figures));
    ap_rputs("</tr>\n", r);
}

static void html_systems(request_rec *r, const char *of, const brg_sms *s)
{
    brg_sms_figures system;

    for (; s; s = s->parent) {
        brg_sms_statistics(s, &system);
        html_row(r, of, s->ops->kind, system_figures, COUNT_OF(system_figures), &system);
    }
}

static void html_hosts(request_rec *r)
{
    brg_host_system host;

    for (int n = 0; brg_host_system_get(n, &host); n++)
        html_systems(r,
                     apr_pstrcat(r->pool, brg_scope_name(BRG_SCOPE_REQUEST), " (",
                                 ap_escape_html(r->pool, host.name), ")", NULL),
                     host.system);
}

static void memory_write_html(request_rec *r)
{
    brg_memory_figures pools;
    int scope;

    ap_rprintf(r, "<hr />\n<h2>Memory of process %ld</h2>\n", (long)getpid());
    html_head(r, "Scope", pool_figures, COUNT_OF(pool_figures));
    for (scope = 0; scope < BRG_SCOPES_N; scope++) {
        brg_memory_figures_get((brg_scope)scope, &pools);
        html_row(r, brg_scope_name(scope), brg_scope_spec((brg_scope)scope), pool_figures,
                 COUNT_OF(pool_figures), &pools);
    }
    ap_rputs("</table>\n", r);
    html_head(r, "Scope", system_figures, COUNT_OF(system_figures));
    for (scope = 0; scope < BRG_SCOPES_N; scope++)
        html_systems(r, brg_scope_name(scope), brg_scope_system((brg_scope)scope, 0));
    html_hosts(r);
    ap_rputs("</table>\n", r);
    html_buffers(r);
}

static int memory_status(request_rec *r, int flags)
{
    int scope;

    if (!brg_memory_reported())
        return DECLINED;
    if (flags & AP_STATUS_SHORT) {
        for (scope = 0; scope < BRG_SCOPES_N; scope++)
            auto_scope(r, (brg_scope)scope);
        auto_buffers(r);
    } else {
        memory_write_html(r);
    }
    return OK;
}

int status_memory_handle(request_rec *r, const char *what)
{
    static const status_figures figures = {"The memory figures of this process were reset.\n",
                                           brg_memory_reported, brg_memory_figures_reset,
                                           memory_write_json, memory_write_prometheus};

    return status_figures_handle(r, &figures, what);
}

void status_memory_register(apr_pool_t *p)
{
    APR_OPTIONAL_HOOK(ap, status_hook, memory_status, NULL, NULL, APR_HOOK_LAST);
}
