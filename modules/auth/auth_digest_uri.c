/* SPDX-License-Identifier: Apache-2.0 */
/* The field names the target that it is for. A proxy may have sent the target in another form, so the parts are compared. */
#include "auth_digest_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "apr_uri.h"

APLOG_USE_MODULE(auth_digest);

static char *uri_unescaped(apr_pool_t *p, const char *part)
{
    char *text = part ? apr_pstrdup(p, part) : NULL;

    if (text)
        ap_unescape_url(text);
    return text;
}

/* The target, with the parts that a target without a host omits. */
static void uri_of_request(request_rec *r, const request_rec *first, apr_uri_t *out)
{
    *out = first->parsed_uri;
    out->hostname = out->hostname ? uri_unescaped(r->pool, out->hostname)
                                  : (char *)(uintptr_t)ap_get_server_name(r);
    if (!out->port_str)
        out->port = ap_get_server_port(r);
    out->path = uri_unescaped(r->pool, out->path);
    out->query = uri_unescaped(r->pool, out->query);
}

static int uri_part_is(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int uri_host_is(const request_rec *r, const apr_uri_t *sent, const apr_uri_t *asked)
{
    const int has_host = sent->hostname && *sent->hostname;

    if (has_host && strcasecmp(sent->hostname, asked->hostname) != 0)
        return 0;
    if (sent->port_str)
        return sent->port == asked->port;
    return !has_host || asked->port == ap_default_port(r);
}

static int uri_path_is(const apr_uri_t *sent, const apr_uri_t *asked, const request_rec *first)
{
    return uri_part_is(sent->path, asked->path) ||
           (sent->path && !asked->path && first->parsed_uri.hostname && !strcmp(sent->path, "*"));
}

static int uri_mismatch(request_rec *r, const digest_field *field, const char *asked)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01786) "uri mismatch - <%s> does not match request-uri <%s>", field->uri,
                  asked);
    return HTTP_BAD_REQUEST;
}

/* MSIE left the query out. */
static void uri_take_query(request_rec *r, const request_rec *first, apr_uri_t *sent,
                           const apr_uri_t *asked)
{
    if (sent->query || !asked->query ||
        !apr_table_get(r->subprocess_env, "AuthDigestEnableQueryStringHack"))
        return;
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  APLOGNO(01784) "applying AuthDigestEnableQueryStringHack to uri <%s>",
                  first->unparsed_uri);
    sent->query = asked->query;
}

int digest_uri_check(request_rec *r, const digest_field *field)
{
    const request_rec *first = r;
    apr_uri_t sent, asked;

    while (first->main || first->prev)
        first = first->main ? first->main : first->prev;
    if (!strcmp(field->uri, first->unparsed_uri))
        return OK;
    uri_of_request(r, first, &asked);
    if (apr_uri_parse(r->pool, field->uri, &sent) != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01783) "invalid uri <%s> in Authorization header", field->uri);
        return HTTP_BAD_REQUEST;
    }
    sent.hostname = uri_unescaped(r->pool, sent.hostname);
    sent.path = uri_unescaped(r->pool, sent.path);
    sent.query = uri_unescaped(r->pool, sent.query);
    uri_take_query(r, first, &sent, &asked);
    if (r->method_number == M_CONNECT) {
        if (asked.hostinfo && !strcmp(field->uri, asked.hostinfo))
            return OK;
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01785) "uri mismatch - <%s> does not match request-uri <%s>",
                      field->uri, asked.hostinfo);
        return HTTP_BAD_REQUEST;
    }
    return uri_host_is(r, &sent, &asked) && uri_path_is(&sent, &asked, first) &&
                   uri_part_is(sent.query, asked.query)
               ? OK
               : uri_mismatch(r, field, first->unparsed_uri);
}
