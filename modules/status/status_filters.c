/* SPDX-License-Identifier: Apache-2.0 */
/* What filters did, in the shapes of the status page. Bytes are those that are known to be in the
 * brigades: a pipe's are known once it was read. */
#include "status_filters.h"
#include "status_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_status.h"
#include "apr_optional_hooks.h"
#include "brigade/status.h"
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;  /* JSON, Prometheus */
    const char *title; /* HTML, ?auto */
    size_t offset;
} filter_figures[] = {
    {"calls", "Calls", offsetof(brg_status_filter, calls)},
    {"bytes_in", "BytesIn", offsetof(brg_status_filter, bytes_in)},
    {"bytes_out", "BytesOut", offsetof(brg_status_filter, bytes_out)},
    {"cpu_ns", "CpuNs", offsetof(brg_status_filter, cpu_ns)},
};

#define FIGURES_N (sizeof filter_figures / sizeof *filter_figures)

static uint64_t filter_value(const brg_status_filter *filter, size_t figure)
{
    return *(const uint64_t *)((const char *)filter + filter_figures[figure].offset);
}

static const char *filter_direction(const brg_status_filter *filter)
{
    return filter->is_input ? "input" : "output";
}

static const char *filter_module(const brg_status_filter *filter)
{
    return filter->module ? filter->module : "";
}

/* The next filter that was called, from *n on. @return 0 after the last */
static int filter_next(int *n, brg_status_filter *out)
{
    int rc;

    while ((rc = brg_status_filter_get((*n)++, out)) >= 0)
        if (rc > 0 && out->calls > 0)
            return 1;
    return 0;
}

static void filters_write_json(request_rec *r)
{
    brg_status_filter filter;
    const char *comma = "";

    ap_set_content_type_ex(r, "application/json", 1);
    ap_rprintf(r, "{\"pid\":%ld,\"filters\":[", (long)getpid());
    for (int n = 0; filter_next(&n, &filter); comma = ",\n") {
        ap_rvputs(r, comma, "{", NULL);
        status_json_string(r, "name", filter.name);
        ap_rputs(",", r);
        status_json_string(r, "direction", filter_direction(&filter));
        ap_rputs(",", r);
        status_json_string(r, "module", filter_module(&filter));
        for (size_t i = 0; i < FIGURES_N; i++)
            ap_rprintf(r, ",\"%s\":%" APR_UINT64_T_FMT, filter_figures[i].name,
                       filter_value(&filter, i));
        ap_rputs("}", r);
    }
    ap_rputs("]}\n", r);
}

static void filters_write_prometheus(request_rec *r)
{
    brg_status_filter filter;

    ap_set_content_type_ex(r, "text/plain; version=0.0.4; charset=utf-8", 1);
    for (size_t i = 0; i < FIGURES_N; i++) {
        ap_rprintf(r, "# TYPE brigade_filter_%s_total counter\n", filter_figures[i].name);
        for (int n = 0; filter_next(&n, &filter);)
            ap_rprintf(r,
                       "brigade_filter_%s_total{pid=\"%ld\",filter=\"%s\",direction=\"%s\"} "
                       "%" APR_UINT64_T_FMT "\n",
                       filter_figures[i].name, (long)getpid(),
                       ap_escape_quotes(r->pool, filter.name), filter_direction(&filter),
                       filter_value(&filter, i));
    }
}

static void filters_write_auto(request_rec *r)
{
    brg_status_filter filter;

    for (int n = 0; filter_next(&n, &filter);)
        for (size_t i = 0; i < FIGURES_N; i++)
            ap_rprintf(r, "Filter %s %s %s: %" APR_UINT64_T_FMT "\n", filter_direction(&filter),
                       filter.name, filter_figures[i].title, filter_value(&filter, i));
}

static void filters_write_html(request_rec *r)
{
    brg_status_filter filter;

    ap_rprintf(r,
               "<hr />\n<h2>Filters of process %ld</h2>\n<table border=\"1\"><tr><th>Filter</th>"
               "<th>Direction</th><th>Module</th>",
               (long)getpid());
    for (size_t i = 0; i < FIGURES_N; i++)
        ap_rprintf(r, "<th>%s</th>", filter_figures[i].title);
    ap_rputs("</tr>\n", r);
    for (int n = 0; filter_next(&n, &filter);) {
        ap_rprintf(r, "<tr><td>%s</td><td>%s</td><td>%s</td>", ap_escape_html(r->pool, filter.name),
                   filter_direction(&filter), ap_escape_html(r->pool, filter_module(&filter)));
        for (size_t i = 0; i < FIGURES_N; i++)
            ap_rprintf(r, "<td>%" APR_UINT64_T_FMT "</td>", filter_value(&filter, i));
        ap_rputs("</tr>\n", r);
    }
    ap_rputs("</table>\n", r);
}

static int filters_are_counted(void)
{
    brg_status_filter filter;

    return brg_status_filter_get(0, &filter) >= 0;
}

static int filters_status(request_rec *r, int flags)
{
    if (!filters_are_counted())
        return DECLINED;
    if (flags & AP_STATUS_SHORT)
        filters_write_auto(r);
    else
        filters_write_html(r);
    return OK;
}

int status_filters_handle(request_rec *r, const char *what)
{
    static const status_figures figures = {"The figures of filters of this process were reset.\n",
                                           filters_are_counted, brg_status_filters_reset,
                                           filters_write_json, filters_write_prometheus};

    return status_figures_handle(r, &figures, what);
}

void status_filters_register(apr_pool_t *p)
{
    APR_OPTIONAL_HOOK(ap, status_hook, filters_status, NULL, NULL, APR_HOOK_LAST);
}
