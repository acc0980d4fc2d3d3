/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of new connections, in the shapes of the status page, in every process. */
#include "status_certificates.h"
#include "status_private.h"
#include "metrics_private.h"
#include "http_config.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/status.h"
#include <stddef.h>

/* The next readable one, from *n on. @return 0 after the last */
static int certificate_next(request_rec *r, int *n, brg_status_certificate *out)
{
    APR_OPTIONAL_FN_TYPE(brg_status_certificate_get) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_certificate_get);
    int rc;

    while (get && (rc = get((*n)++, r->pool, out)) >= 0)
        if (rc > 0)
            return 1;
    return 0;
}

/* Whole days; -1: it is expired. */
static int certificate_days(const brg_status_certificate *c)
{
    apr_time_t left = c->until - apr_time_now();

    return left < 0 ? -1 : (int)(apr_time_sec(left) / 86400);
}

static int certificates_are_known(void)
{
    return APR_RETRIEVE_OPTIONAL_FN(brg_status_certificate_get) != NULL;
}

void status_certificates_list(request_rec *r)
{
    brg_status_certificate c;
    const char *comma = "";

    ap_rputs("\"certificates\":[", r);
    for (int n = 0; certificate_next(r, &n, &c); comma = ",\n") {
        ap_rvputs(r, comma, "{", NULL);
        status_json_string(r, "server", c.server);
        status_json_next(r, "file", c.file);
        status_json_next(r, "names", c.names);
        status_json_next(r, "issuer", c.issuer);
        status_json_next(r, "key", c.key_type);
        ap_rprintf(r, ",\"from\":%.0f,\"until\":%.0f,\"since\":%.6f,\"days_left\":%d}",
                   (double)c.from / 1e6, (double)c.until / 1e6, (double)c.since / 1e6,
                   certificate_days(&c));
    }
    ap_rputs("]", r);
}

static void certificates_write_json(request_rec *r)
{
    ap_rputs("{", r);
    status_certificates_list(r);
    ap_rputs("}\n", r);
}

static void prometheus_label(request_rec *r, const char *name, const char *value)
{
    ap_rvputs(r, name, "=\"", ap_escape_quotes(r->pool, value), "\"", NULL);
}

static void prometheus_write(request_rec *r, const char *name, const char *help, apr_size_t offset)
{
    const char *family = apr_pstrcat(r->pool, "brigade_certificate_", name, "_seconds", NULL);
    brg_status_certificate c;

    metrics_family(r, family, "gauge", help, 0);
    for (int n = 0; certificate_next(r, &n, &c);) {
        ap_rvputs(r, family, "{", NULL);
        prometheus_label(r, "server", c.server);
        prometheus_label(r, ",key", c.key_type);
        prometheus_label(r, ",issuer", c.issuer);
        prometheus_label(r, ",file", c.file);
        ap_rprintf(r, "} %.0f\n", (double)*(const apr_time_t *)((const char *)&c + offset) / 1e6);
    }
}

void status_certificates_write(request_rec *r)
{
    if (!certificates_are_known())
        return;
    prometheus_write(r, "not_before", "Start of a certificate's validity, seconds since the epoch.",
                     offsetof(brg_status_certificate, from));
    prometheus_write(r, "not_after", "End of a certificate's validity, seconds since the epoch.",
                     offsetof(brg_status_certificate, until));
    prometheus_write(r, "served_since",
                     "Since when a certificate is served, seconds since the epoch.",
                     offsetof(brg_status_certificate, since));
}

static void certificates_write_auto(request_rec *r)
{
    brg_status_certificate c;

    for (int n = 0; certificate_next(r, &n, &c);)
        ap_rprintf(r, "Certificate %s %s: %d days, names %s, issuer %s, file %s\n", c.server,
                   c.key_type, certificate_days(&c), c.names, c.issuer, c.file);
}

static void html_cells(request_rec *r, const char *const *cells)
{
    for (; *cells; cells++)
        ap_rvputs(r, "<td>", ap_escape_html(r->pool, *cells), "</td>", NULL);
}

static void certificates_write_html(request_rec *r)
{
    brg_status_certificate c;

    ap_rvputs(
        r, "<hr />\n<h2>Certificates</h2>\n", status_table(r),
        "<tr><th>Virtual host</th><th>Key"
        "</th><th>Names</th><th>Issuer</th><th>Days left</th><th>Until</th><th>Served since</th>"
        "<th>File</th></tr>\n",
        NULL);
    for (int n = 0; certificate_next(r, &n, &c);) {
        const char *const before[] = {c.server, c.key_type, c.names, c.issuer, NULL};
        const char *const after[] = {status_time(r->pool, c.until), status_time(r->pool, c.since),
                                     c.file, NULL};

        ap_rputs("<tr>", r);
        html_cells(r, before);
        if (certificate_days(&c) < 0)
            ap_rputs("<td><b>expired</b></td>", r);
        else
            ap_rprintf(r, "<td>%d</td>", certificate_days(&c));
        html_cells(r, after);
        ap_rputs("</tr>\n", r);
    }
    ap_rputs("</table>\n", r);
}

static int certificates_are_there(request_rec *r)
{
    brg_status_certificate c;
    int n = 0;

    return certificate_next(r, &n, &c);
}

int status_certificates_handle(request_rec *r, const char *what)
{
    static const status_part part = {NULL, certificates_are_known, NULL, certificates_write_json,
                                     status_certificates_write};

    return status_part_handle(r, &part, what);
}

const status_section status_certificates = {certificates_are_there, certificates_write_auto,
                                            certificates_write_html};
