/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory systems in the status page. Two tables list the shown figures, one for the pools of a
 * scope, one for the system below them; each shape walks these.
 */
#include "status_memory.h"
#include "status_private.h"
#include "http_config.h"
#include "http_protocol.h"
#include "apr_escape.h"
#include "apr_strings.h"
#include "brigade/memory.h"
#include "brigade/sms.h"
#include <stddef.h>
#include <string.h>
#include <unistd.h>

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

static const status_figure pool_figures[] = {
    POOL_FIGURE(pools, "Pools", 1, "pools created"),
    POOL_FIGURE(clears, "Clears", 1, "pools cleared or destroyed"),
    POOL_FIGURE(allocations, "Allocations", 1, "allocations from pools"),
    POOL_FIGURE(bytes, "Bytes", 1, "bytes asked of pools"),
    POOL_FIGURE(zeroed_bytes, "ZeroedBytes", 1, "bytes that pools set to zero"),
    POOL_FIGURE(cleanups, "Cleanups", 1, "cleanups registered with pools"),
    POOL_FIGURE(refills, "Refills", 1, "chunks that pools took beyond their first"),
    POOL_FIGURE(high_water_bytes, "HighWaterBytes", 0, "most that one pool gave out"),
};

static const status_figure system_figures[] = {
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

static const status_figure buffer_figures[] = {
    BUFFER_FIGURE(created, "Created", "buffers created"),
    BUFFER_FIGURE(shared, "Shared", "buffers shared by reference"),
    BUFFER_FIGURE(copied, "Copied", "buffers copied on write"),
    BUFFER_FIGURE(copied_bytes, "CopiedBytes", "bytes of buffers copied"),
    BUFFER_FIGURE(grown, "Grown", "buffers that were too small, and moved into larger ones"),
    BUFFER_FIGURE(grown_bytes, "GrownBytes", "bytes in these"),
};

#define TABLE(rows, family)                         \
    {                                               \
        rows, sizeof(rows) / sizeof *(rows), family \
    }

static const status_figures pools_table = TABLE(pool_figures, "brigade_memory_pool");
static const status_figures systems_table = TABLE(system_figures, "brigade_memory_system");
static const status_figures buffers_table = TABLE(buffer_figures, "brigade_memory_buffer");

/* ---- JSON: one object per process ---- */

static void json_systems(request_rec *r, const brg_sms *s)
{
    brg_sms_figures system;
    int n = 0;

    ap_rputs("\"systems\":[", r);
    for (; s; s = s->parent) {
        brg_sms_statistics(s, &system);
        ap_rprintf(r, "%s{\"kind\":\"%s\",", n++ ? "," : "", s->ops->kind);
        status_figures_json(r, &systems_table, &system);
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
        status_json_next(r, "system", host.spec);
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
    status_figures_json(r, &pools_table, &pools);
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

    ap_rprintf(r, "{\"pid\":%ld,\"scopes\":[", (long)getpid());
    for (scope = 0; scope < BRG_SCOPES_N; scope++) {
        if (scope > 0)
            ap_rputs(",\n", r);
        json_scope(r, (brg_scope)scope);
    }
    brg_buffer_figures_get(&buffers);
    ap_rputs("],\n\"buffers\":{", r);
    status_figures_json(r, &buffers_table, &buffers);
    ap_rputs("}}\n", r);
}

/* ---- Prometheus: one family of samples per figure ---- */

static void prometheus_pools(request_rec *r, int i)
{
    brg_memory_figures pools;

    status_figures_family(r, &pools_table, i);
    for (int scope = 0; scope < BRG_SCOPES_N; scope++) {
        brg_memory_figures_get((brg_scope)scope, &pools);
        status_figures_sample(r, &pools_table, i,
                              apr_pstrcat(r->pool, ",scope=\"", brg_scope_name(scope), "\"", NULL),
                              &pools);
    }
}

/* @param host  a label with a comma before it, or "" */
static void prometheus_systems_of(request_rec *r, int i, brg_scope scope, const char *host,
                                  const brg_sms *s)
{
    brg_sms_figures system;

    for (int n = 0; s; s = s->parent, n++) {
        brg_sms_statistics(s, &system);
        status_figures_sample(r, &systems_table, i,
                              apr_psprintf(r->pool, ",scope=\"%s\"%s,level=\"%d\",kind=\"%s\"",
                                           brg_scope_name(scope), host, n, s->ops->kind),
                              &system);
    }
}

static void prometheus_systems(request_rec *r, int i)
{
    brg_host_system host;

    status_figures_family(r, &systems_table, i);
    for (int scope = 0; scope < BRG_SCOPES_N; scope++)
        prometheus_systems_of(r, i, (brg_scope)scope, "", brg_scope_system((brg_scope)scope, 0));
    for (int n = 0; brg_host_system_get(n, &host); n++)
        prometheus_systems_of(
            r, i, BRG_SCOPE_REQUEST,
            apr_psprintf(r->pool, ",host=\"%s\"", apr_pescape_echo(r->pool, host.name, 1)),
            host.system);
}

static void memory_write_prometheus(request_rec *r)
{
    brg_buffer_figures buffers;

    for (int i = 0; i < pools_table.n; i++)
        prometheus_pools(r, i);
    for (int i = 0; i < systems_table.n; i++)
        prometheus_systems(r, i);
    brg_buffer_figures_get(&buffers);
    for (int i = 0; i < buffers_table.n; i++) {
        status_figures_family(r, &buffers_table, i);
        status_figures_sample(r, &buffers_table, i, "", &buffers);
    }
}

/* ---- the page, and ?auto ---- */

static void auto_scope(request_rec *r, brg_scope scope)
{
    char *name = apr_pstrdup(r->pool, brg_scope_name(scope));
    brg_memory_figures pools;

    name[0] = (char)(name[0] - 'a' + 'A');
    ap_rprintf(r, "Memory%sSystem: %s\n", name, brg_scope_spec(scope));
    brg_memory_figures_get(scope, &pools);
    status_figures_auto(r, &pools_table, apr_pstrcat(r->pool, "Memory", name, NULL), &pools);
}

static void html_head(request_rec *r, const status_figures *table)
{
    ap_rvputs(r, status_table(r), "<tr><th>Scope</th><th>System</th>", NULL);
    status_figures_html_head(r, table);
}

static void html_row(request_rec *r, const char *scope, const char *system,
                     const status_figures *table, const void *from)
{
    ap_rvputs(r, "<tr><td>", scope, "</td><td>", system, "</td>", NULL);
    status_figures_html(r, table, from);
}

static void html_systems(request_rec *r, const char *of, const brg_sms *s)
{
    brg_sms_figures system;

    for (; s; s = s->parent) {
        brg_sms_statistics(s, &system);
        html_row(r, of, s->ops->kind, &systems_table, &system);
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
    brg_buffer_figures buffers;
    brg_memory_figures pools;
    int scope;

    ap_rprintf(r, "<hr />\n<h2>Memory of process %ld</h2>\n", (long)getpid());
    html_head(r, &pools_table);
    for (scope = 0; scope < BRG_SCOPES_N; scope++) {
        brg_memory_figures_get((brg_scope)scope, &pools);
        html_row(r, brg_scope_name(scope), brg_scope_spec((brg_scope)scope), &pools_table, &pools);
    }
    ap_rputs("</table>\n", r);
    html_head(r, &systems_table);
    for (scope = 0; scope < BRG_SCOPES_N; scope++)
        html_systems(r, brg_scope_name(scope), brg_scope_system((brg_scope)scope, 0));
    html_hosts(r);
    ap_rvputs(r, "</table>\n", status_table(r), "<tr><th>Buffers</th>", NULL);
    status_figures_html_head(r, &buffers_table);
    ap_rputs("<tr><td>of the process</td>", r);
    brg_buffer_figures_get(&buffers);
    status_figures_html(r, &buffers_table, &buffers);
    ap_rputs("</table>\n", r);
}

static void memory_write_auto(request_rec *r)
{
    brg_buffer_figures buffers;

    for (int scope = 0; scope < BRG_SCOPES_N; scope++)
        auto_scope(r, (brg_scope)scope);
    brg_buffer_figures_get(&buffers);
    status_figures_auto(r, &buffers_table, "MemoryBuffers", &buffers);
}

static int memory_is_there(request_rec *r)
{
    return brg_memory_reported();
}

int status_memory_handle(request_rec *r, const char *what)
{
    static const status_part part = {"The memory figures of this process were reset.\n",
                                     brg_memory_reported, brg_memory_figures_reset,
                                     memory_write_json, memory_write_prometheus};

    if (!strcmp(what, "live") || !strcmp(what, "live-json"))
        return status_live_memory_handle(r, what[4] != '\0');
    return status_part_handle(r, &part, what);
}

const status_section status_memory = {memory_is_there, memory_write_auto, memory_write_html};
