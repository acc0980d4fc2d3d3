/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual hosts in the reports of mod_status. */
#include "status_hosts.h"
#include "metrics_private.h"
#include "status_private.h"
#include "http_protocol.h"
#include <string.h>

static void hosts_write_one(request_rec *r, const brg_host_figures *of, int host)
{
    uint64_t by_class[BRG_CLASSES_N] = {0}, by_protocol[BRG_PROTOCOLS_N] = {0}, bytes = 0;
    uint64_t cached = 0, uncached = 0;

    for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++) {
        for (int class = 0; class < BRG_CLASSES_N; class ++) {
            by_class[class] += of[protocol].by_class[class];
            by_protocol[protocol] += of[protocol].by_class[class];
        }
        bytes += of[protocol].bytes;
        cached += of[protocol].cached;
        uncached += of[protocol].uncached;
    }
    ap_rputs("{", r);
    status_json_string(r, "name", metrics_host(r->pool, host));
    ap_rputs(",\"class\":", r);
    status_json_numbers(r, by_class, BRG_CLASSES_N);
    ap_rputs(",\"protocol\":", r);
    status_json_numbers(r, by_protocol, BRG_PROTOCOLS_N);
    ap_rprintf(r,
               ",\"bytes\":%" APR_UINT64_T_FMT ",\"cached\":[%" APR_UINT64_T_FMT
               ",%" APR_UINT64_T_FMT "]}",
               bytes, cached, uncached);
}

void status_hosts_write_json(request_rec *r, const brg_figures *f)
{
    static const brg_host_figures none[BRG_PROTOCOLS_N];
    const char *comma = "";

    ap_rputs(",\n\"hosts\":[", r);
    for (int host = 0; host < BRG_FIGURE_HOSTS; host++) {
        if (!memcmp(f->host[host], none, sizeof none))
            continue;
        ap_rputs(comma, r);
        hosts_write_one(r, f->host[host], host);
        comma = ",\n";
    }
    ap_rputs("]", r);
}
