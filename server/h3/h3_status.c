/* SPDX-License-Identifier: Apache-2.0 */
/* The handler http3-status, with members as Apache's mod_http3 has them and those of this transport, and a part of the page of
 * server-status. All processes together. */
#include "h3_private.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_status.h"
#include "apr_optional_hooks.h"
#include "brigade/figures.h"

static const struct {
    const char *name, *title; /* title NULL: of JSON alone */
    brg_figure_id id;
} rows[] = {{"live_workers", NULL, BRG_FIGURE_WORKERS},
            {"live_connections", "Connections", BRG_FIGURE_HTTP3},
            {"live_streams", "Streams", BRG_FIGURE_HTTP3_STREAMS},
            {"total_connections", "ConnectionsTotal", BRG_FIGURE_QUIC_CONNS},
            {"total_bytes_read", "BytesIn", BRG_FIGURE_QUIC_BYTES_IN},
            {"total_bytes_written", "BytesOut", BRG_FIGURE_QUIC_BYTES_OUT},
            {"handshakes_failed", "HandshakesFailed", BRG_FIGURE_QUIC_FAILED},
            {"refused", "Refused", BRG_FIGURE_QUIC_REFUSED},
            {"retries", "Retries", BRG_FIGURE_QUIC_RETRIES},
            {"early_data", "EarlyData", BRG_FIGURE_QUIC_EARLY},
            {"migrations", "Migrations", BRG_FIGURE_QUIC_MIGRATIONS},
            {"key_updates", "KeyUpdates", BRG_FIGURE_QUIC_KEYS},
            {"resets_sent", "ResetsSent", BRG_FIGURE_QUIC_RESETS},
            {"datagrams_read", "DatagramsIn", BRG_FIGURE_QUIC_IN},
            {"datagrams_written", "DatagramsOut", BRG_FIGURE_QUIC_OUT},
            {"send_calls", "SendCalls", BRG_FIGURE_QUIC_SENDS},
            {"datagrams_by_gso", "DatagramsByGSO", BRG_FIGURE_QUIC_GSO},
            {"packets_written", "PacketsOut", BRG_FIGURE_QUIC_PACKETS},
            {"packets_lost", "PacketsLost", BRG_FIGURE_QUIC_LOST},
            {"packets_bad", "PacketsBad", BRG_FIGURE_QUIC_BAD},
            {"probes", "Probes", BRG_FIGURE_QUIC_PROBES},
            {"congestion_events", "CongestionEvents", BRG_FIGURE_QUIC_CONGESTION},
            {"floods", "Floods", BRG_FIGURE_QUIC_FLOODS}};

#define ROWS (sizeof rows / sizeof *rows)

/* NULL: there are none */
static brg_figures *status_sum(request_rec *r)
{
    brg_figures *all = apr_palloc(r->pool, sizeof *all);

    return brg_figures_sum(all) ? NULL : all;
}

static uint64_t status_requests(const brg_figures *all)
{
    uint64_t n = 0;

    for (int host = 0; host < BRG_FIGURE_HOSTS; host++)
        for (int c = 0; c < BRG_CLASSES_N; c++)
            n += all->host[host][BRG_PROTOCOL_H3].by_class[c];
    return n;
}

/* Of all samples, in milliseconds. */
static double status_rtt(const brg_figures *all)
{
    const uint64_t n = all->value[BRG_FIGURE_QUIC_RTTS];

    return n ? (double)all->value[BRG_FIGURE_QUIC_RTT_SUM] / (double)n / 1000 : 0;
}

int h3_status_handler(request_rec *r)
{
    brg_figures *all;

    if (!r->handler || strcmp(r->handler, "http3-status"))
        return DECLINED;
    if (r->method_number != M_GET) {
        ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, -1);
        return HTTP_METHOD_NOT_ALLOWED;
    }
    if (!(all = status_sum(r)))
        return HTTP_SERVICE_UNAVAILABLE;
    ap_set_content_type(r, "application/json");
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    ap_rprintf(r, "{\n  \"quic_backend\": \"brigade\",\n  \"total_streams\": %" APR_UINT64_T_FMT,
               status_requests(all));
    for (size_t i = 0; i < ROWS; i++)
        ap_rprintf(r, ",\n  \"%s\": %" APR_UINT64_T_FMT, rows[i].name, all->value[rows[i].id]);
    ap_rprintf(r, ",\n  \"rtt_samples\": %" APR_UINT64_T_FMT ",\n  \"rtt_mean_ms\": %.3f\n}\n",
               all->value[BRG_FIGURE_QUIC_RTTS], status_rtt(all));
    return OK;
}

static void status_auto(request_rec *r, const brg_figures *all)
{
    ap_rprintf(r, "HTTP3Requests: %" APR_UINT64_T_FMT "\nHTTP3RttMeanMs: %.3f\n",
               status_requests(all), status_rtt(all));
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].title)
            ap_rprintf(r, "HTTP3%s: %" APR_UINT64_T_FMT "\n", rows[i].title,
                       all->value[rows[i].id]);
}

static void status_html(request_rec *r, const brg_figures *all)
{
    ap_rprintf(r,
               "<hr />\n<h2>HTTP/3</h2>\n<p>%" APR_UINT64_T_FMT
               " requests; round trip %.3f ms (mean).</p>\n<table>\n",
               status_requests(all), status_rtt(all));
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].title)
            ap_rprintf(r, "<tr><th>%s</th><td>%" APR_UINT64_T_FMT "</td></tr>\n", rows[i].title,
                       all->value[rows[i].id]);
    ap_rputs("</table>\n", r);
}

/* Nothing where no server speaks it: the page is then as Apache's. */
static int status_page(request_rec *r, int flags)
{
    brg_figures *all = h3_is_offered() ? status_sum(r) : NULL;

    if (!all)
        return DECLINED;
    if (flags & AP_STATUS_SHORT)
        status_auto(r, all);
    else
        status_html(r, all);
    return OK;
}

void h3_status_register(apr_pool_t *p)
{
    APR_OPTIONAL_HOOK(ap, status_hook, status_page, NULL, NULL, APR_HOOK_LAST);
}
