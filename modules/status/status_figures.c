/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of figures in each shape, and "?memory=..." and "?filters=...", which show them for one process. */
#include "status_private.h"
#include "metrics_private.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/pages.h"
#include <string.h>
#include <unistd.h>

static uint64_t figure_value(const status_figure *figure, const void *from)
{
    return *(const uint64_t *)((const char *)from + figure->offset);
}

void status_figures_json(request_rec *r, const status_figures *table, const void *from)
{
    for (int i = 0; i < table->n; i++)
        ap_rprintf(r, "%s\"%s\":%" APR_UINT64_T_FMT, i ? "," : "", table->figure[i].name,
                   figure_value(&table->figure[i], from));
}

void status_figures_auto(request_rec *r, const status_figures *table, const char *prefix,
                         const void *from)
{
    for (int i = 0; i < table->n; i++)
        ap_rprintf(r, "%s%s: %" APR_UINT64_T_FMT "\n", prefix, table->figure[i].title,
                   figure_value(&table->figure[i], from));
}

const char *status_table(request_rec *r)
{
    return brg_pages_of(r) == BRG_PAGES_APACHE ? "<table border=\"1\">" : "<table>";
}

void status_figures_html_head(request_rec *r, const status_figures *table)
{
    for (int i = 0; i < table->n; i++)
        ap_rvputs(r, "<th title=\"", table->figure[i].help, "\">", table->figure[i].title, "</th>",
                  NULL);
    ap_rputs("</tr>\n", r);
}

void status_figures_html(request_rec *r, const status_figures *table, const void *from)
{
    const char *cell =
        brg_pages_of(r) == BRG_PAGES_APACHE ? "<td align=\"right\">" : "<td class=\"n\">";

    for (int i = 0; i < table->n; i++)
        ap_rprintf(r, "%s%" APR_UINT64_T_FMT "</td>", cell, figure_value(&table->figure[i], from));
    ap_rputs("</tr>\n", r);
}

static const char *figure_family(request_rec *r, const status_figures *table, int i)
{
    BRG_ASSERT(i >= 0 && i < table->n && table->family);
    return apr_pstrcat(r->pool, table->family, "_", table->figure[i].name,
                       table->figure[i].counts_up ? METRICS_TOTAL : "", NULL);
}

void status_figures_family(request_rec *r, const status_figures *table, int i)
{
    metrics_family(r, figure_family(r, table, i), table->figure[i].counts_up ? "counter" : "gauge",
                   table->figure[i].help, 0);
}

void status_figures_sample(request_rec *r, const status_figures *table, int i, const char *labels,
                           const void *from)
{
    ap_rprintf(r, "%s{pid=\"%ld\"%s} %" APR_UINT64_T_FMT "\n", figure_family(r, table, i),
               (long)getpid(), labels, figure_value(&table->figure[i], from));
}

int status_part_handle(request_rec *r, const status_part *part, const char *what)
{
    const int reset = part->reset && strcmp(what, "reset") == 0;

    BRG_ASSERT(part->counted && part->write_json && part->write_prometheus);
    if (!part->counted())
        return HTTP_NOT_FOUND;
    ap_allow_standard_methods(r, REPLACE_ALLOW, reset ? M_POST : M_GET, -1);
    if (r->method_number != (reset ? M_POST : M_GET))
        return HTTP_METHOD_NOT_ALLOWED;
    if (reset) {
        part->reset();
        ap_set_content_type_ex(r, "text/plain", 1);
        ap_rputs(part->was_reset, r);
    } else if (strcmp(what, "json") == 0) {
        ap_set_content_type_ex(r, "application/json", 1);
        part->write_json(r);
    } else if (strcmp(what, "prometheus") == 0) {
        ap_set_content_type_ex(r, METRICS_TEXT_TYPE, 1);
        part->write_prometheus(r);
    } else {
        return HTTP_NOT_FOUND;
    }
    return OK;
}
