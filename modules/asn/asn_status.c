/* SPDX-License-Identifier: Apache-2.0 */
/* Sources on the status page and in the figures. */
#include "apr_optional.h"
#include "apr_strings.h"
#include "brigade/status.h"
#include "asn_collector.h"

static void source_session(const asn_source_figures *f, const bgp_conf *bgp, apr_pool_t *p,
                           brg_status_network_source *out)
{
    const int said = atomic_load(&f->state);
    const bgp_state state =
        said >= BGP_IDLE && said <= BGP_ESTABLISHED ? (bgp_state)said : BGP_IDLE;

    out->name = apr_pstrcat(p, "bgp ", bgp->name, NULL);
    out->state = bgp_state_names[state];
    out->up = state == BGP_ESTABLISHED;
}

static void source_file(const asn_source_figures *f, const char *file, apr_pool_t *p,
                        brg_status_network_source *out)
{
    out->name = apr_pstrcat(p, "file ", file, NULL);
    out->up = atomic_load(&f->state);
    out->state = out->up ? "read" : "not read";
}

static int source_get(int n, apr_pool_t *p, brg_status_network_source *out)
{
    const asn_collector *c = asn_served ? asn_served->collector : NULL;
    const asn_source_figures *f;
    const asn_source *source;
    brg_asn_rib_figures rib;

    if (!c || n >= c->sources->nelts)
        return 0;
    source = &((const asn_source *)c->sources->elts)[n];
    f = &c->figures->sources[n];
    brg_asn_rib_read(asn_table(), n, &rib);
    *out =
        (brg_status_network_source){.trouble = apr_pstrndup(p, f->trouble, sizeof f->trouble - 1),
                                    .routes = {rib.routes[ASN_IPV4], rib.routes[ASN_IPV6]},
                                    .times = atomic_load(&f->sessions),
                                    .updates = atomic_load(&f->updates),
                                    .faulty = atomic_load(&f->faulty),
                                    .since = atomic_load(&f->since),
                                    .last_update = rib.last_update};
    if (source->bgp)
        source_session(f, source->bgp, p, out);
    else
        source_file(f, source->file, p, out);
    return 1;
}

static apr_size_t table_bytes(void)
{
    const brg_asn_table *table = asn_table();

    return table ? brg_asn_table_bytes(table) : 0;
}

static int lookups(uint64_t *n, brg_status_network_busy busy[BRG_STATUS_NETWORKS_BUSY])
{
    asn_counts *counts = asn_served && asn_served->collector ? asn_served->collector->counts : NULL;

    *n = counts ? asn_count_lookups(counts) : 0;
    return counts ? asn_count_busy(counts, busy) : 0;
}

void asn_status_register(void)
{
    apr_dynamic_fn_register("brg_status_network_lookups", (apr_opt_fn_t *)lookups);
    apr_dynamic_fn_register("brg_status_network_source_get", (apr_opt_fn_t *)source_get);
    apr_dynamic_fn_register("brg_status_network_table_bytes", (apr_opt_fn_t *)table_bytes);
}
