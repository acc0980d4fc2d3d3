/* SPDX-License-Identifier: Apache-2.0 */
/* What filters did, in the shapes of the status page. Bytes are those that are known to be in the
 * brigades: a pipe's are known once it was read. */
#include "status_filters.h"
#include "status_private.h"
#include "http_config.h"
#include "http_protocol.h"
#include "mod_status.h"
#include "apr_optional_hooks.h"
#include "apr_strings.h"
#include "brigade/status.h"
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define FILTER_FIGURE(field, title, help)                          \
    {                                                              \
#field, title, help, 1, offsetof(brg_status_filter, field) \
    }

static const status_figure filter_figures[] = {
    FILTER_FIGURE(calls, "Calls", "Calls of the filter."),
    FILTER_FIGURE(bytes_in, "BytesIn", "Bytes that it was given."),
    FILTER_FIGURE(bytes_out, "BytesOut", "Bytes that it passed on."),
    FILTER_FIGURE(cpu_ns, "CpuNs", "Processor time in it, nanoseconds."),
};

static const status_figures filters = {
    filter_figures, sizeof filter_figures / sizeof *filter_figures, "brigade_filter"};

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

    ap_rprintf(r, "{\"pid\":%ld,\"filters\":[", (long)getpid());
    for (int n = 0; filter_next(&n, &filter); comma = ",\n") {
        ap_rvputs(r, comma, "{", NULL);
        status_json_string(r, "name", filter.name);
        ap_rvputs(r, ",\"direction\":\"", filter_direction(&filter), "\",", NULL);
        status_json_string(r, "module", filter_module(&filter));
        ap_rputs(",", r);
        status_figures_json(r, &filters, &filter);
        ap_rputs("}", r);
    }
    ap_rputs("]}\n", r);
}

static void filters_write_prometheus(request_rec *r)
{
    brg_status_filter filter;

    for (int i = 0; i < filters.n; i++) {
        status_figures_family(r, &filters, i);
        for (int n = 0; filter_next(&n, &filter);)
            status_figures_sample(
                r, &filters, i,
                apr_pstrcat(r->pool, ",filter=\"", ap_escape_quotes(r->pool, filter.name),
                            "\",direction=\"", filter_direction(&filter), "\"", NULL),
                &filter);
    }
}

static void filters_write_auto(request_rec *r)
{
    brg_status_filter filter;

    for (int n = 0; filter_next(&n, &filter);)
        status_figures_auto(
            r, &filters,
            apr_pstrcat(r->pool, "Filter ", filter_direction(&filter), " ", filter.name, " ", NULL),
            &filter);
}

static void filters_write_html(request_rec *r)
{
    brg_status_filter filter;

    ap_rprintf(r,
               "<hr />\n<h2>Filters of process %ld</h2>\n%s<tr><th>Filter</th>"
               "<th>Direction</th><th>Module</th>",
               (long)getpid(), status_table(r));
    status_figures_html_head(r, &filters);
    for (int n = 0; filter_next(&n, &filter);) {
        ap_rvputs(r, "<tr><td>", ap_escape_html(r->pool, filter.name), "</td><td>",
                  filter_direction(&filter), "</td><td>",
                  ap_escape_html(r->pool, filter_module(&filter)), "</td>", NULL);
        status_figures_html(r, &filters, &filter);
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
    static const status_part part = {"The figures of filters of this process were reset.\n",
                                     filters_are_counted, brg_status_filters_reset,
                                     filters_write_json, filters_write_prometheus};

    return status_part_handle(r, &part, what);
}

void status_filters_register(apr_pool_t *p)
{
    APR_OPTIONAL_HOOK(ap, status_hook, filters_status, NULL, NULL, APR_HOOK_LAST);
}
