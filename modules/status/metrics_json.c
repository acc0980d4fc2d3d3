/* SPDX-License-Identifier: Apache-2.0 */
/* The figures as JSON: names, labels and units are those of the text formats. */
#include "metrics_private.h"
#include "status_backends.h"
#include "status_cache.h"
#include "status_hosts.h"
#include "status_limits.h"
#include "status_networks.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

static void json_head(request_rec *r, const char *comma, const brg_figure *row, const char *type)
{
    const char *equals = row->labels ? strchr(row->labels, '=') : NULL;

    ap_rvputs(r, comma, "{\"name\":\"", row->family, "\",\"type\":\"", type, "\",\"labels\":{",
              NULL);
    if (equals)
        ap_rvputs(r, "\"", apr_pstrmemdup(r->pool, row->labels, (apr_size_t)(equals - row->labels)),
                  "\":", equals + 1, NULL);
    ap_rputs("},", r);
}

static void json_figures(request_rec *r, const brg_figures *f)
{
    for (int i = 0; i < BRG_FIGURES_N; i++) {
        const brg_figure *row = brg_figure_of(i);

        json_head(r, i ? ",\n" : "", row, row->kind == BRG_COUNTER ? "counter" : "gauge");
        ap_rvputs(r, "\"value\":", metrics_value(r->pool, f->value[i], row->divisor), "}", NULL);
    }
}

static void json_histogram(request_rec *r, const brg_figure *row, const brg_histogram *h)
{
    uint64_t n = 0;

    ap_rputs("\"buckets\":[", r);
    for (int i = 0; i < BRG_BUCKETS; i++) {
        const uint64_t bound = brg_bucket_bound(i);

        n += h->n[i];
        ap_rprintf(r, "%s{\"le\":%s,\"count\":%" APR_UINT64_T_FMT "}", i ? "," : "",
                   bound ? metrics_value(r->pool, bound, row->divisor) : "null", n);
    }
    ap_rprintf(r, "],\"sum\":%.6f,\"count\":%" APR_UINT64_T_FMT "}",
               (double)h->sum_us / (double)row->divisor, n);
}

static void json_requests(request_rec *r, const brg_figures *f)
{
    const char *comma = "";

    for (int host = 0; host < BRG_FIGURE_HOSTS; host++)
        for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++)
            for (int class = 0; class < BRG_CLASSES_N; class ++) {
                if (!f->host[host][protocol].by_class[class])
                    continue;
                ap_rprintf(
                    r,
                    "%s{\"host\":\"%s\",\"protocol\":\"%s\",\"tls\":\"%s\",\"code\":\"%dxx\","
                    "\"count\":%" APR_UINT64_T_FMT "}",
                    comma, metrics_host(r->pool, host), metrics_protocol(protocol),
                    metrics_tls(protocol), class + 1, f->host[host][protocol].by_class[class]);
                comma = ",\n";
            }
}

void metrics_write_json(request_rec *r, const brg_figures *f)
{
    ap_set_content_type_ex(r, "application/json", 1);
    ap_rputs("{\"figures\":[", r);
    json_figures(r, f);
    ap_rputs("],\n\"histograms\":[", r);
    for (int i = 0; i < BRG_TOOK_N; i++) {
        json_head(r, i ? ",\n" : "", brg_took_of(i), "histogram");
        json_histogram(r, brg_took_of(i), &f->took[i]);
    }
    ap_rputs("],\n\"requests\":[", r);
    json_requests(r, f);
    ap_rputs("]", r);
    status_hosts_write_json(r, f);
    status_networks_write_json(r);
    status_backends_write_json(r);
    status_cache_write_json(r);
    status_limits_write_json(r);
    ap_rputs("}\n", r);
}
