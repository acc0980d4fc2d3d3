/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of networks in the shapes of the status page and of the figures. */
#include "status_networks.h"
#include "metrics_private.h"
#include "status_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include "brigade/status.h"

/* @return 0 after the last */
static int source_next(request_rec *r, int *n, brg_status_network_source *out)
{
    APR_OPTIONAL_FN_TYPE(brg_status_network_source_get) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_network_source_get);

    return get && get((*n)++, r->pool, out);
}

static int sources_are_there(request_rec *r)
{
    brg_status_network_source source;
    int n = 0;

    return source_next(r, &n, &source);
}

static apr_size_t table_bytes(void)
{
    APR_OPTIONAL_FN_TYPE(brg_status_network_table_bytes) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_network_table_bytes);

    return get ? get() : 0;
}

static int lookups(uint64_t *n, brg_status_network_busy busy[BRG_STATUS_NETWORKS_BUSY])
{
    APR_OPTIONAL_FN_TYPE(brg_status_network_lookups) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_network_lookups);

    *n = 0;
    return get ? get(n, busy) : 0;
}

/* ---- figures ---- */

enum { UP, SINCE, ROUTES, TIMES, UPDATES, FAULTY, LAST_UPDATE, FAMILIES };

static const struct {
    const char *name, *type, *help;
} families[FAMILIES] = {
    [UP] = {"brigade_asn_source_up", "gauge",
            "1 while a source of ASTable is there: its session is established, its file was read."},
    [SINCE] = {"brigade_asn_source_since_seconds", "gauge",
               "When its state changed last, seconds since the epoch."},
    [ROUTES] = {"brigade_asn_routes", "gauge", "Its routes in the table."},
    [TIMES] = {"brigade_asn_source_begins_total", "counter",
               "Sessions that were established, or files that were read."},
    [UPDATES] = {"brigade_asn_updates_total", "counter", "UPDATE messages received."},
    [FAULTY] = {"brigade_asn_updates_faulty_total", "counter",
                "UPDATE messages taken for withdrawals, since they had mistakes (RFC 7606)."},
    [LAST_UPDATE] = {"brigade_asn_last_update_seconds", "gauge",
                     "When its routes changed last, seconds since the epoch."},
};

static double value_of(const brg_status_network_source *s, int family, int version)
{
    const double values[FAMILIES] = {[UP] = s->up,
                                     [SINCE] = (double)s->since / 1e6,
                                     [ROUTES] = s->routes[version],
                                     [TIMES] = (double)s->times,
                                     [UPDATES] = (double)s->updates,
                                     [FAULTY] = (double)s->faulty,
                                     [LAST_UPDATE] = (double)s->last_update / 1e6};

    BRG_ASSERT(family >= 0 && family < FAMILIES);
    return values[family];
}

static void write_samples(request_rec *r, int family)
{
    static const char *const versions[] = {"ipv4", "ipv6"};
    brg_status_network_source s;

    for (int n = 0; source_next(r, &n, &s);)
        for (int v = 0; v < (family == ROUTES ? 2 : 1); v++) {
            ap_rvputs(r, families[family].name, "{source=\"", ap_escape_quotes(r->pool, s.name),
                      "\"", NULL);
            if (family == ROUTES)
                ap_rvputs(r, ",family=\"", versions[v], "\"", NULL);
            ap_rprintf(r, "} %.0f\n", value_of(&s, family, v));
        }
}

static void write_lookups(request_rec *r, int open)
{
    brg_status_network_busy busy[BRG_STATUS_NETWORKS_BUSY];
    uint64_t all;
    int n = lookups(&all, busy);

    metrics_family(r, "brigade_asn_lookups_total", "counter",
                   "How often the network of a client was looked up.", open);
    ap_rprintf(r, "brigade_asn_lookups_total %" APR_UINT64_T_FMT "\n", all);
    metrics_family(
        r, "brigade_asn_busiest", "gauge",
        "About how many look-ups of clients of the busiest networks there were lately; half "
        "of them are forgotten in ten minutes.",
        open);
    for (int i = 0; i < n; i++)
        ap_rprintf(r, "brigade_asn_busiest{asn=\"%u\"} %" APR_UINT64_T_FMT "\n", busy[i].asn,
                   busy[i].count);
}

void status_networks_write_text(request_rec *r, int open)
{
    if (!sources_are_there(r))
        return;
    for (int i = 0; i < FAMILIES; i++) {
        metrics_family(r, families[i].name, families[i].type, families[i].help, open);
        write_samples(r, i);
    }
    metrics_family(r, "brigade_asn_table_bytes", "gauge",
                   "Memory that the table of networks takes.", open);
    ap_rprintf(r, "brigade_asn_table_bytes %" APR_SIZE_T_FMT "\n", table_bytes());
    write_lookups(r, open);
}

static void write_json_lookups(request_rec *r)
{
    brg_status_network_busy busy[BRG_STATUS_NETWORKS_BUSY];
    uint64_t all;
    int n = lookups(&all, busy);

    ap_rprintf(r, ",\"lookups\":%" APR_UINT64_T_FMT ",\"busiest\":[", all);
    for (int i = 0; i < n; i++)
        ap_rprintf(r, "%s{\"asn\":%u,\"count\":%" APR_UINT64_T_FMT "}", i ? "," : "", busy[i].asn,
                   busy[i].count);
    ap_rputs("]", r);
}

void status_networks_write_json(request_rec *r)
{
    brg_status_network_source s;
    const char *comma = "";

    if (!sources_are_there(r))
        return;
    ap_rprintf(r, ",\n\"networks\":{\"bytes\":%" APR_SIZE_T_FMT ",\"sources\":[", table_bytes());
    for (int n = 0; source_next(r, &n, &s); comma = ",\n") {
        ap_rvputs(r, comma, "{", NULL);
        status_json_string(r, "source", s.name);
        status_json_next(r, "state", s.state);
        status_json_next(r, "trouble", s.trouble);
        ap_rprintf(r,
                   ",\"up\":%s,\"since\":%.0f,\"ipv4\":%u,\"ipv6\":%u,\"begins\":%" APR_UINT64_T_FMT
                   ",\"updates\":%" APR_UINT64_T_FMT ",\"faulty\":%" APR_UINT64_T_FMT
                   ",\"last_update\":%.0f}",
                   s.up ? "true" : "false", value_of(&s, SINCE, 0), s.routes[0], s.routes[1],
                   s.times, s.updates, s.faulty, value_of(&s, LAST_UPDATE, 0));
    }
    ap_rputs("]", r);
    write_json_lookups(r);
    ap_rputs("}", r);
}

/* ---- the page ---- */

static void networks_write_auto(request_rec *r)
{
    brg_status_network_busy busy[BRG_STATUS_NETWORKS_BUSY];
    uint64_t all;
    brg_status_network_source s;

    for (int n = 0; source_next(r, &n, &s);)
        ap_rprintf(r, "Networks %s: %s, IPv4 %u, IPv6 %u, updates %" APR_UINT64_T_FMT "\n", s.name,
                   s.state, s.routes[0], s.routes[1], s.updates);
    (void)lookups(&all, busy);
    ap_rprintf(r, "NetworkLookups: %" APR_UINT64_T_FMT "\n", all);
}

static void networks_write_busiest(request_rec *r)
{
    brg_status_network_busy busy[BRG_STATUS_NETWORKS_BUSY];
    uint64_t all;
    int n = lookups(&all, busy);

    ap_rprintf(r, "<p>Look-ups: %" APR_UINT64_T_FMT, all);
    for (int i = 0; i < n; i++)
        ap_rprintf(r, "%sAS%u (%" APR_UINT64_T_FMT ")",
                   i ? ", " : ". Busiest lately: ", busy[i].asn, busy[i].count);
    ap_rputs("</p>\n", r);
}

static void networks_write_html(request_rec *r)
{
    brg_status_network_source s;

    ap_rprintf(r,
               "<hr />\n<h2>Networks of clients</h2>\n<p>%" APR_SIZE_T_FMT " KiB</p>\n%s"
               "<tr><th>Source</th><th>State</th><th>Since</th>"
               "<th>IPv4</th><th>IPv6</th><th>Updates</th><th>Faulty</th><th>Last update</th>"
               "<th>Last trouble</th></tr>\n",
               table_bytes() / 1024, status_table(r));
    for (int n = 0; source_next(r, &n, &s);) {
        ap_rvputs(r, "<tr><td>", ap_escape_html(r->pool, s.name), "</td><td>", s.state, "</td><td>",
                  s.since ? status_time(r->pool, s.since) : "-", NULL);
        ap_rprintf(r,
                   "</td><td>%u</td><td>%u</td><td>%" APR_UINT64_T_FMT "</td><td>%" APR_UINT64_T_FMT
                   "</td><td>",
                   s.routes[0], s.routes[1], s.updates, s.faulty);
        ap_rvputs(r, s.last_update ? status_time(r->pool, s.last_update) : "-", "</td><td>",
                  ap_escape_html(r->pool, s.trouble), "</td></tr>\n", NULL);
    }
    ap_rputs("</table>\n", r);
    networks_write_busiest(r);
}

const status_section status_networks = {sources_are_there, networks_write_auto,
                                        networks_write_html};
