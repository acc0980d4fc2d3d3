/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of figures in each shape, and "?memory=...", which shows them for one process. */
#include "status_private.h"
#include "metrics_private.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
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

const char *status_size_text(apr_pool_t *p, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;

    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    return apr_psprintf(p, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

/* "HighWaterBytes" for people. */
static const char *figure_words(apr_pool_t *p, const char *title)
{
    char *words = apr_palloc(p, 2 * strlen(title) + 1), *to = words;

    for (const char *at = title; *at; at++) {
        if (at != title && apr_isupper(*at))
            *to++ = ' ';
        *to++ = at != title ? (char)apr_tolower(*at) : *at;
    }
    *to = '\0';
    return words;
}

/* A number with its thousands apart. */
static const char *figure_number(apr_pool_t *p, uint64_t n)
{
    const char *text = "";

    for (; n >= 1000; n /= 1000)
        text = apr_psprintf(p, "&#8239;%03d%s", (int)(n % 1000), text);
    return apr_psprintf(p, "%d%s", (int)n, text);
}

static int figure_is_bytes(const status_figure *figure)
{
    return strstr(figure->name, "bytes") != NULL;
}

void status_figures_html_head(request_rec *r, const status_figures *table)
{
    const int plain = brg_pages_of(r) == BRG_PAGES_APACHE;

    for (int i = 0; i < table->n; i++)
        ap_rvputs(r, "<th title=\"", table->figure[i].help, plain ? "\">" : "\" class=\"n\">",
                  plain ? table->figure[i].title : figure_words(r->pool, table->figure[i].title),
                  "</th>", NULL);
    ap_rputs("</tr>\n", r);
}

void status_figures_html(request_rec *r, const status_figures *table, const void *from)
{
    for (int i = 0; i < table->n; i++) {
        const status_figure *figure = &table->figure[i];
        const uint64_t n = figure_value(figure, from);

        if (brg_pages_of(r) == BRG_PAGES_APACHE)
            ap_rprintf(r, "<td align=\"right\">%" APR_UINT64_T_FMT "</td>", n);
        else if (figure_is_bytes(figure))
            ap_rprintf(r, "<td class=\"n\" title=\"%" APR_UINT64_T_FMT "\">%s</td>", n,
                       status_size_text(r->pool, (double)n));
        else
            ap_rvputs(r, "<td class=\"n\">", figure_number(r->pool, n), "</td>", NULL);
    }
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
