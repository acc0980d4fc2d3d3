/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures for Prometheus: text format 0.0.4, and OpenMetrics 1.0. They differ in the names of counters
 * (OpenMetrics says TYPE and HELP of the name without "_total"), and in the end of the text.
 */
#include "metrics_private.h"
#include "status_backends.h"
#include "status_cache.h"
#include "status_certificates.h"
#include "status_limits.h"
#include "status_networks.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <stdio.h>
#include <string.h>

void metrics_family(request_rec *r, const char *family, const char *type, const char *help,
                    int open)
{
    const size_t len = strlen(family), total = strlen(METRICS_TOTAL);
    const char *name = family;

    if (open && len > total && !strcmp(family + len - total, METRICS_TOTAL))
        name = apr_pstrmemdup(r->pool, family, len - total);
    ap_rvputs(r, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n", NULL);
}

static void text_figures(request_rec *r, const brg_figures *f, int open)
{
    const char *before = "";

    for (int i = 0; i < BRG_FIGURES_N; i++) {
        const brg_figure *row = brg_figure_of(i);

        if (strcmp(row->family, before))
            metrics_family(r, row->family, row->kind == BRG_COUNTER ? "counter" : "gauge",
                           row->help, open);
        before = row->family;
        ap_rputs(row->family, r);
        if (row->labels)
            ap_rvputs(r, "{", row->labels, "}", NULL);
        ap_rvputs(r, " ", metrics_value(r->pool, f->value[i], row->divisor), "\n", NULL);
    }
}

static const char *text_bound(apr_pool_t *p, int bucket, uint64_t divisor)
{
    uint64_t bound = brg_bucket_bound(bucket);

    char text[32];

    if (!bound)
        return "+Inf";
    snprintf(text, sizeof text, "%g",
             (double)bound / (double)divisor); /* APR's %g leaves out the 0 before the point */
    return apr_pstrdup(p, text);
}

static void text_histogram(request_rec *r, const brg_figure *row, const brg_histogram *h)
{
    const char *labels = row->labels ? row->labels : "", *comma = row->labels ? "," : "";
    const char *braced = row->labels ? apr_pstrcat(r->pool, "{", labels, "}", NULL) : "";
    uint64_t n = 0;

    for (int i = 0; i < BRG_BUCKETS; i++) {
        n += h->n[i];
        ap_rprintf(r, "%s_bucket{%s%sle=\"%s\"} %" APR_UINT64_T_FMT "\n", row->family, labels,
                   comma, text_bound(r->pool, i, row->divisor), n);
    }
    ap_rprintf(r, "%s_sum%s %.6f\n%s_count%s %" APR_UINT64_T_FMT "\n", row->family, braced,
               (double)h->sum_us / (double)row->divisor, row->family, braced, n);
}

static void text_histograms(request_rec *r, const brg_figures *f, int open)
{
    const char *before = "";

    for (int i = 0; i < BRG_TOOK_N; i++) {
        const brg_figure *row = brg_took_of(i);

        if (strcmp(row->family, before))
            metrics_family(r, row->family, "histogram", row->help, open);
        before = row->family;
        text_histogram(r, row, &f->took[i]);
    }
}

static void text_requests(request_rec *r, const brg_figures *f, int open)
{
    metrics_family(r, "brigade_http_requests_total", "counter",
                   "Requests by virtual host, protocol and class of their status.", open);
    for (int host = 0; host < BRG_FIGURE_HOSTS; host++)
        for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++)
            for (int class = 0; class < BRG_CLASSES_N; class ++) {
                uint64_t n = f->host[host][protocol].by_class[class];

                if (n)
                    ap_rprintf(r,
                               "brigade_http_requests_total{host=\"%s\",protocol=\"%s\",tls=\"%s\","
                               "code=\"%dxx\"} %" APR_UINT64_T_FMT "\n",
                               metrics_host(r->pool, host), metrics_protocol(protocol),
                               metrics_tls(protocol), class + 1, n);
            }
}

static void text_bytes(request_rec *r, const brg_figures *f, int open)
{
    metrics_family(r, "brigade_http_body_bytes_total", "counter",
                   "Bytes of the bodies of responses, by virtual host and protocol.", open);
    for (int host = 0; host < BRG_FIGURE_HOSTS; host++)
        for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++) {
            uint64_t n = f->host[host][protocol].bytes;

            if (n)
                ap_rprintf(r,
                           "brigade_http_body_bytes_total{host=\"%s\",protocol=\"%s\",tls=\"%s\"}"
                           " %" APR_UINT64_T_FMT "\n",
                           metrics_host(r->pool, host), metrics_protocol(protocol),
                           metrics_tls(protocol), n);
        }
}

static void text_cached(request_rec *r, const brg_figures *f, int open)
{
    metrics_family(r, "brigade_http_cached_total", "counter",
                   "Requests that stored answers of backends were looked up for, by virtual host:"
                   " answered without a request of their own to the backend, and others.",
                   open);
    for (int host = 0; host < BRG_FIGURE_HOSTS; host++) {
        uint64_t cached = 0, uncached = 0;

        for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++) {
            cached += f->host[host][protocol].cached;
            uncached += f->host[host][protocol].uncached;
        }
        if (cached + uncached)
            ap_rprintf(r,
                       "brigade_http_cached_total{host=\"%s\",result=\"cached\"} "
                       "%" APR_UINT64_T_FMT "\nbrigade_http_cached_total{host=\"%s\","
                       "result=\"asked\"} %" APR_UINT64_T_FMT "\n",
                       metrics_host(r->pool, host), cached, metrics_host(r->pool, host), uncached);
    }
}

void metrics_write_text(request_rec *r, const brg_figures *f, int open)
{
    ap_set_content_type_ex(
        r, open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : METRICS_TEXT_TYPE,
        1);
    text_figures(r, f, open);
    text_histograms(r, f, open);
    text_requests(r, f, open);
    text_bytes(r, f, open);
    text_cached(r, f, open);
    status_certificates_write(r);
    status_networks_write_text(r, open);
    status_backends_write_text(r, open);
    status_cache_write_text(r, open);
    status_limits_write_text(r, open);
    if (open)
        ap_rputs("# EOF\n", r);
}
