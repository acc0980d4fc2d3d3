/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: challenges of authorities, hosts that have no certificate yet, redirects to https. Handshakes: tls-alpn-01. */
#include "md_request.h"
#include "md_conf.h"
#include "md_shared.h"
#include "request_context.h"
#include "tls_setup.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(md);

#define REQUEST_CHALLENGE "/.well-known/acme-challenge/"
#define REQUEST_WELL_KNOWN "/.well-known/"
#define REQUEST_ALPN "acme-tls/1"
#define REQUEST_HSTS "max-age=15768000"

static int request_is_challenge(const request_rec *r)
{
    return r->parsed_uri.path &&
           !strncmp(r->parsed_uri.path, REQUEST_CHALLENGE, sizeof REQUEST_CHALLENGE - 1);
}

/* ---- http-01 ---- */

static int challenge_send(request_rec *r, const char *proof)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    const apr_size_t len = strlen(proof);

    BRG_ASSERT(*proof != '\0');
    r->status = HTTP_OK;
    ap_set_content_type(r, "text/plain");
    ap_set_content_length(r, (apr_off_t)len);
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_brigade_write(bb, NULL, NULL, proof, len);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(r->connection->bucket_alloc));
    ap_pass_brigade(r->output_filters, bb);
    apr_brigade_cleanup(bb);
    return DONE;
}

static int challenge_answer(request_rec *r)
{
    const char *token = r->parsed_uri.path + sizeof REQUEST_CHALLENGE - 1;
    md_challenge *c = apr_palloc(r->pool, sizeof *c);

    if (!*token || !r->hostname || md_shared_challenge(r->hostname, token, c))
        return DECLINED; /* of another client of ACME, perhaps */
    if (r->method_number != M_GET)
        return HTTP_NOT_IMPLEMENTED;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "challenge http-01 for %s is answered",
                  r->hostname);
    return challenge_send(r, c->proof);
}

/* ---- servers ---- */

static const md_domain *request_domain(const request_rec *r)
{
    return md_conf_of(r->server)->domain;
}

/* A certificate that is no stand-in. */
static int request_has_certificate(const md_domain *domain)
{
    md_public state;

    return domain->static_certs || md_shared_state(domain->index, &state) || !state.known ||
           state.until != 0;
}

static int request_redirect(request_rec *r, const md_domain *domain)
{
    const int forever = domain->set->require_https == MD_HTTPS_PERMANENT;
    apr_uri_t uri = r->parsed_uri;

    BRG_ASSERT(domain->set->require_https > MD_HTTPS_OFF);
    uri.scheme = apr_pstrdup(r->pool, "https");
    uri.hostname = apr_pstrdup(r->pool, ap_get_server_name_for_url(r));
    uri.port = 443;
    uri.port_str = NULL;
    apr_table_setn(r->headers_out, "Location",
                   apr_uri_unparse(r->pool, &uri, APR_URI_UNP_OMITUSERINFO));
    request_mark_refused(
        r); /* it depends on nothing but the server's configuration and the target */
    if (r->method_number == M_GET)
        return forever ? HTTP_MOVED_PERMANENTLY : HTTP_MOVED_TEMPORARILY;
    return forever ? HTTP_PERMANENT_REDIRECT : HTTP_TEMPORARY_REDIRECT;
}

static int request_read(request_rec *r)
{
    const md_domain *domain;

    if (r->main || r->prev)
        return DECLINED;
    if (request_is_challenge(r) && md_shared_has_challenges()) {
        const int status = challenge_answer(r);

        if (status != DECLINED)
            return status;
    }
    if (!(domain = request_domain(r)))
        return DECLINED;
    if (ap_ssl_conn_is_ssl(r->connection)) {
        if (!request_has_certificate(domain) && !md_conf_of(r->server)->demand)
            return HTTP_SERVICE_UNAVAILABLE;
        if (domain->set->require_https == MD_HTTPS_PERMANENT &&
            !apr_table_get(r->headers_out, "Strict-Transport-Security"))
            apr_table_setn(r->headers_out, "Strict-Transport-Security",
                           domain->hsts ? apr_psprintf(r->pool, "max-age=%ld", domain->hsts)
                                        : REQUEST_HSTS);
        return DECLINED;
    }
    if (domain->set->require_https > MD_HTTPS_OFF && r->parsed_uri.path &&
        (!domain->waits || request_has_certificate(domain)) &&
        strncmp(r->parsed_uri.path, REQUEST_WELL_KNOWN, sizeof REQUEST_WELL_KNOWN - 1) != 0)
        return request_redirect(r, domain);
    return DECLINED;
}

int md_request_depends(request_rec *r)
{
    const md_domain *domain = request_domain(r);

    if (request_is_challenge(r) || md_status_is_asked(r))
        return BRG_CACHE_VOLATILE;
    return domain && (domain->waits || ap_ssl_conn_is_ssl(r->connection)) &&
                   !request_has_certificate(domain)
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

/* Below /.well-known/ each name may be that of a challenge. */
apr_int64_t md_request_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                            const char *filename, const char *path_info, int is_file)
{
    return strncmp(path, REQUEST_WELL_KNOWN, sizeof REQUEST_WELL_KNOWN - 1) ? 0
                                                                            : BRG_CACHE_NAME_COUNTS;
}

/* ---- tls-alpn-01 ---- */

static int alpn_is_offered(const apr_array_header_t *offers)
{
    return offers && ap_array_str_contains(offers, REQUEST_ALPN);
}

static int alpn_propose(conn_rec *c, request_rec *r, server_rec *s,
                        const apr_array_header_t *offers, apr_array_header_t *proposals)
{
    if (r || !alpn_is_offered(offers) || !md_shared_has_challenges())
        return DECLINED;
    APR_ARRAY_PUSH(proposals, const char *) = REQUEST_ALPN;
    return OK;
}

static int alpn_switch(conn_rec *c, request_rec *r, server_rec *s, const char *protocol)
{
    return !r && !strcmp(protocol, REQUEST_ALPN) ? DONE : DECLINED;
}

static int alpn_answer(conn_rec *c, const char *name, const char **cert, const char **key)
{
    md_challenge *found = apr_palloc(c->pool, sizeof *found);

    if (md_shared_challenge(name, NULL, found))
        return DECLINED;
    ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c, "challenge tls-alpn-01 for %s is answered", name);
    *cert = found->cert;
    *key = found->key;
    return OK;
}

/* ---- hooks ---- */

static int request_awake; /* in this generation */

void md_request_sleep(void)
{
    request_awake = 0;
    tls_challenges_set(0);
}

void md_request_wake(void)
{
    const char *before = apr_hook_debug_current;

    if (request_awake)
        return;
    request_awake = 1;
    apr_hook_debug_current = md_module.name;
    ap_hook_post_read_request(request_read, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(md_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_protocol_propose(alpn_propose, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_protocol_switch(alpn_switch, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_ssl_answer_challenge(alpn_answer, NULL, NULL, APR_HOOK_MIDDLE);
    apr_hook_debug_current = before;
    apr_hook_sort_all();
    tls_challenges_set(1);
}
