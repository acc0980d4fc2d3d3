/* SPDX-License-Identifier: Apache-2.0 */
/* The handler md-status, and /.httpd/certificate-status: JSON with members as Apache's mod_md has them. */
#include "md_conf.h"
#include "md_json.h"
#include "md_request.h"
#include "md_shared.h"
#include "md_staple.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_ssl.h"
#include "apr_strings.h"
#include "mod_status.h"
#include <string.h>

#define STATUS_CERTIFICATE "/.httpd/certificate-status"

static const char *status_date(apr_pool_t *p, apr_time_t at)
{
    char *text = apr_palloc(p, APR_RFC822_DATE_LEN);

    apr_rfc822_date(text, at);
    return apr_pstrcat(p, "\"", text, "\"", NULL);
}

static const char *status_time(apr_pool_t *p, const char *name, apr_time_t at)
{
    return at ? apr_pstrcat(p, ",\n  \"", name, "\": ", status_date(p, at), NULL) : "";
}

static const char *status_valid(apr_pool_t *p, const md_public *s)
{
    return apr_pstrcat(p, "\"valid\": {\n    \"from\": ", status_date(p, s->from),
                       ",\n    \"until\": ", status_date(p, s->until), "\n  }", NULL);
}

static const char *status_ocsp_word(const md_staple_state *state)
{
    return !state->until ? "unknown" : state->revoked ? "revoked" : "good";
}

/* The OCSP response of a managed domain's first certificate. */
static const char *status_ocsp(apr_pool_t *p, const md_domain *domain)
{
    for (int i = 0; domain && i < md_staples->nelts; i++) {
        md_staple_state state = {0};

        if (APR_ARRAY_IDX(md_staples, i, const md_staple).domain != domain ||
            md_staple_state_of(i, &state) || !state.known)
            continue;
        return apr_pstrcat(p, ",\n  \"ocsp\": {\"status\": \"", status_ocsp_word(&state), "\"",
                           state.until ? ", \"valid\": {\"from\": " : "",
                           state.until ? status_date(p, state.from) : "",
                           state.until ? ", \"until\": " : "",
                           state.until ? status_date(p, state.until) : "", state.until ? "}" : "",
                           ", \"renewal\": {\"errors\": ", apr_itoa(p, state.errors),
                           *state.problem ? ", \"last\": {\"detail\": " : "",
                           *state.problem ? md_json_quote(p, state.problem) : "",
                           *state.problem ? "}" : "", "}}", NULL);
    }
    return "";
}

/* @param domain  NULL: without OCSP */
static const char *status_certificate(apr_pool_t *p, const md_public *s, const md_domain *domain)
{
    if (!s->until)
        return "{}";
    return apr_pstrcat(p, "{\n  ", status_valid(p, s),
                       ",\n  \"serial\": ", md_json_quote(p, s->serial),
                       ",\n  \"sha256-fingerprint\": ", md_json_quote(p, s->fingerprint),
                       status_ocsp(p, domain), "\n}", NULL);
}

static const char *status_renewal(apr_pool_t *p, const md_public *s)
{
    if (!s->working && !s->errors)
        return "";
    return apr_pstrcat(
        p, ",\n  \"renewal\": {\n  \"errors\": ", apr_itoa(p, s->errors),
        ",\n  \"finished\": false", status_time(p, "last-run", s->last_run),
        status_time(p, "next-run", s->next_run), *s->problem ? ",\n  \"last\": {\"detail\": " : "",
        *s->problem ? md_json_quote(p, s->problem) : "", *s->problem ? "}" : "", "\n  }", NULL);
}

static const char *status_domain(apr_pool_t *p, const md_domain *domain)
{
    md_public s = {0};

    md_shared_state(domain->index, &s);
    return apr_pstrcat(
        p, "{\n  \"name\": ", md_json_quote(p, domain->name),
        ",\n  \"domains\": ", md_json_list(p, domain->names),
        ",\n  \"ca\": {\"proto\": \"ACME\", \"urls\": ", md_json_list(p, domain->set->authorities),
        "},\n  \"state\": ", s.complete ? "2" : "1",
        ",\n  \"renew-mode\": ", apr_itoa(p, domain->set->mode),
        ",\n  \"stapling\": ", domain->set->stapling == 1 ? "true" : "false",
        ",\n  \"cert\": ", status_certificate(p, &s, domain),
        status_time(p, "renew-at", s.renew_at), status_time(p, "ari-from", s.ari_from),
        status_time(p, "ari-until", s.ari_until), status_renewal(p, &s), "\n}", NULL);
}

static const char *status_all(apr_pool_t *p)
{
    const char *text = "";

    for (int i = 0; i < md_domains->nelts; i++)
        text = apr_pstrcat(p, text, i ? ",\n" : "",
                           status_domain(p, APR_ARRAY_IDX(md_domains, i, const md_domain *)), NULL);
    return apr_pstrcat(p, "{\n\"managed-domains\": [\n", text, "\n]\n}\n", NULL);
}

/* @return the domain that a path ends with; NULL: none */
static const md_domain *status_of_path(const char *path)
{
    const char *name = path && *path == '/' ? path + 1 : "";

    for (int i = 0; i < md_domains->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(md_domains, i, const md_domain *)->name, name))
            return APR_ARRAY_IDX(md_domains, i, const md_domain *);
    return NULL;
}

static int status_send(request_rec *r, const char *text)
{
    ap_set_content_type(r, "application/json");
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    ap_set_content_length(r, (apr_off_t)strlen(text));
    if (!r->header_only)
        ap_rputs(text, r);
    return OK;
}

static int status_is_certificate(const request_rec *r)
{
    return md_all.certificate_status && r->parsed_uri.path &&
           !strcmp(r->parsed_uri.path, STATUS_CERTIFICATE) && md_conf_of(r->server)->domain;
}

int md_status_is_asked(const request_rec *r)
{
    return (r->handler && !strcmp(r->handler, "md-status")) || status_is_certificate(r);
}

int md_status_handler(request_rec *r)
{
    const md_domain *domain;
    md_public s = {0};

    if (!md_status_is_asked(r))
        return DECLINED;
    if (r->method_number != M_GET)
        return HTTP_NOT_IMPLEMENTED;
    if (status_is_certificate(r)) {
        md_shared_state(md_conf_of(r->server)->domain->index, &s);
        return status_send(r,
                           apr_pstrcat(r->pool, status_certificate(r->pool, &s, NULL), "\n", NULL));
    }
    if (!r->path_info || !strcmp(r->path_info, "/") || !*r->path_info)
        domain = status_of_path(strrchr(r->uri, '/'));
    else
        domain = status_of_path(r->path_info);
    return status_send(r, domain ? apr_pstrcat(r->pool, status_domain(r->pool, domain), "\n", NULL)
                                 : status_all(r->pool));
}

/* ---- the server's status page ---- */

typedef struct status_counts {
    int ok, renew, errored;
} status_counts;

static status_counts status_count(void)
{
    status_counts n = {0};

    for (int i = 0; i < md_domains->nelts; i++) {
        md_public s = {0};

        md_shared_state(i, &s);
        n.ok += s.complete;
        n.renew += s.working || !s.complete;
        n.errored += s.errors > 0;
    }
    return n;
}

static const char *status_words(apr_pool_t *p, const md_public *s)
{
    if (s->errors)
        return apr_psprintf(p, "%d errors: %s", s->errors, s->problem);
    return s->working ? "is being got" : s->complete ? "good" : "none yet";
}

/* MDCertificateCheck: the fingerprint is appended to the site's URL. */
static const char *status_monitor(apr_pool_t *p, const md_public *s)
{
    if (!md_all.monitor_url || !*s->fingerprint)
        return "";
    return apr_pstrcat(p, " <a href=\"", ap_escape_html2(p, md_all.monitor_url, 0), s->fingerprint,
                       "\">", ap_escape_html(p, md_all.monitor), "</a>", NULL);
}

static void status_row(request_rec *r, const md_domain *domain)
{
    char until[APR_RFC822_DATE_LEN] = "-", renew[APR_RFC822_DATE_LEN] = "-";
    md_public s = {0};

    md_shared_state(domain->index, &s);
    if (s.until)
        apr_rfc822_date(until, s.until);
    if (s.renew_at)
        apr_rfc822_date(renew, s.renew_at);
    ap_rprintf(r, "<tr><td>%s</td><td>%s</td><td>%s%s</td><td>%s</td><td>%s</td></tr>\n",
               ap_escape_html(r->pool, domain->name),
               ap_escape_html(r->pool, apr_array_pstrcat(r->pool, domain->names, ' ')),
               ap_escape_html(r->pool, status_words(r->pool, &s)), status_monitor(r->pool, &s),
               until, renew);
}

static void status_staple(request_rec *r, const char *name, const md_staple_state *state)
{
    char until[APR_RFC822_DATE_LEN] = "-", renew[APR_RFC822_DATE_LEN] = "-";
    const char *words = status_ocsp_word(state);

    if (state->until)
        apr_rfc822_date(until, state->until);
    if (state->next_run)
        apr_rfc822_date(renew, state->next_run);
    if (state->errors)
        words = apr_psprintf(r->pool, "%s, %d errors: %s", words, state->errors, state->problem);
    ap_rprintf(r, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
               ap_escape_html(r->pool, name), md_ocsp_id_text(r->pool, state->id),
               ap_escape_html(r->pool, words), until, renew);
}

static void status_staples(request_rec *r)
{
    if (!md_staples || !md_staples->nelts)
        return;
    ap_rputs(
        "<hr>\n<h3>Managed Staplings</h3>\n<table class='md_ocsp_status'>\n<tr><th>Domain</th>"
        "<th>Certificate ID</th><th>OCSP Status</th><th>Valid until</th><th>Renewal</th></tr>\n",
        r);
    for (int i = 0; i < md_staples->nelts; i++) {
        md_staple_state state = {0};

        if (!md_staple_state_of(i, &state) && state.known)
            status_staple(r, APR_ARRAY_IDX(md_staples, i, const md_staple).name, &state);
    }
    ap_rputs("</table>\n", r);
}

/* @param is_text  for machines */
static void status_domains(request_rec *r, int is_text)
{
    const status_counts n = status_count();

    if (is_text) {
        ap_rprintf(r,
                   "ManagedCertificatesTotal: %d\nManagedCertificatesOK: %d\n"
                   "ManagedCertificatesRenew: %d\nManagedCertificatesErrored: %d\n",
                   md_domains->nelts, n.ok, n.renew, n.errored);
        return;
    }
    ap_rputs("<hr>\n<h3>Managed Certificates</h3>\n<table "
             "class='md_status'>\n<tr><th>Domain</th><th>Names"
             "</th><th>Certificate</th><th>Valid until</th><th>Renewal</th></tr>\n",
             r);
    for (int i = 0; i < md_domains->nelts; i++)
        status_row(r, APR_ARRAY_IDX(md_domains, i, const md_domain *));
    ap_rputs("</table>\n", r);
}

int md_status_page(request_rec *r, int flags)
{
    const int is_text = (flags & AP_STATUS_SHORT) != 0;

    if (!md_all.server_status || !md_domains)
        return OK;
    if (md_domains->nelts)
        status_domains(r, is_text);
    if (!is_text)
        status_staples(r);
    return OK;
}
