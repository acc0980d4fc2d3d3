/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on an exchange: items of access logs, and the field Proxy-Status (RFC 9209). */
#include "proxy_tell.h"
#include "proxy_private.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "mod_log_config.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <errno.h>
#include <string.h>

/* ---- the record ---- */

void proxy_tell_begin(request_rec *r, proxy_told *told)
{
    BRG_ASSERT(told->tries == 0);
    told->waited = -1;
    proxy_request_of(r)->told = told;
}

void proxy_tell_peer(proxy_told *told, const char *peer, apr_port_t port)
{
    told->port = port;
    memcpy(told->peer, peer, sizeof told->peer);
}

/* An error page is an internal redirect: the request before it has the exchange. */
static const proxy_told *told_of(const request_rec *r)
{
    const proxy_told *told = NULL;

    for (; r && !told; r = r->prev) {
        const proxy_request *pr = ap_get_module_config(r->request_config, &proxy_module);

        told = pr ? pr->told : NULL;
    }
    return told;
}

static const char *told_address(apr_pool_t *p, const proxy_told *told)
{
    if (!*told->peer)
        return NULL;
    if (*told->peer == '/')
        return apr_pstrcat(p, "unix:", told->peer, NULL);
    if (strchr(told->peer, ':'))
        return apr_pstrcat(p, "[", told->peer, "]:", apr_itoa(p, told->port), NULL);
    return apr_pstrcat(p, told->peer, ":", apr_itoa(p, told->port), NULL);
}

/* ---- access logs ---- */

static const char *tell_log_time(request_rec *r, char *arg)
{
    const proxy_told *told = told_of(r);

    (void)arg;
    return told && told->waited >= 0 ? apr_psprintf(r->pool, "%" APR_INT64_T_FMT, told->waited)
                                     : NULL;
}

static const char *tell_log_address(request_rec *r, char *arg)
{
    const proxy_told *told = told_of(r);

    (void)arg;
    return told ? told_address(r->pool, told) : NULL;
}

static const char *tell_log_tries(request_rec *r, char *arg)
{
    const proxy_told *told = told_of(r);

    (void)arg;
    return told && told->tries ? apr_itoa(r->pool, told->tries) : NULL;
}

void proxy_tell_register(apr_pool_t *pconf)
{
    static const struct {
        const char *tag;
        ap_log_handler_fn_t *text;
    } items[] = {{"backend-timen", tell_log_time},
                 {"backend-addressn", tell_log_address},
                 {"backend-triesn", tell_log_tries}};
    APR_OPTIONAL_FN_TYPE(ap_register_log_handler) *add =
        APR_RETRIEVE_OPTIONAL_FN(ap_register_log_handler);

    for (size_t i = 0; add && i < sizeof items / sizeof *items; i++)
        add(pconf, apr_pstrdup(pconf, items[i].tag), items[i].text, 0);
}

/* ---- Proxy-Status ---- */

/* Types of errors: RFC 9209, 2.3. */
static const char *tell_connect_error(apr_status_t error)
{
    if (APR_STATUS_IS_TIMEUP(error) || error == ETIMEDOUT)
        return "connection_timeout";
    if (APR_STATUS_IS_ECONNREFUSED(error))
        return "connection_refused";
    if (error == EHOSTUNREACH || error == ENETUNREACH)
        return "destination_ip_unroutable";
    return "destination_unavailable";
}

const char *proxy_tell_error(proxy_failure why, apr_status_t error, int is_malformed)
{
    switch (why) {
    case PROXY_FAILED_RESOLVE:
        return "dns_error";
    case PROXY_FAILED_CONNECT:
        return tell_connect_error(error);
    case PROXY_FAILED_SHAKE:
        return "tls_protocol_error";
    case PROXY_FAILED_TIMEOUT:
        return "connection_read_timeout";
    case PROXY_FAILED_BUSY:
        return "connection_limit_reached";
    default:
        return is_malformed ? "http_protocol_error" : "connection_terminated";
    }
}

/* A String of RFC 8941: printing ASCII. @return NULL: other bytes */
static const char *tell_string(apr_pool_t *p, const char *text)
{
    char *to = apr_palloc(p, 2 * strlen(text) + 3), *at = to;

    *at++ = '"';
    for (; *text; text++) {
        if (*text < 0x20 || *text > 0x7e)
            return NULL;
        if (*text == '"' || *text == '\\')
            *at++ = '\\';
        *at++ = *text;
    }
    *at++ = '"';
    *at = '\0';
    return to;
}

const char *proxy_tell_status(apr_pool_t *p, const server_rec *s, const proxy_told *told)
{
    const char *name = tell_string(p, s->server_hostname ? s->server_hostname : "proxy");
    const char *address = told_address(p, told);
    const char *text = name ? name : "\"proxy\"", *hop = address ? tell_string(p, address) : NULL;

    if (told->error)
        text = apr_pstrcat(p, text, "; error=", told->error, NULL);
    if (told->received)
        text = apr_pstrcat(p, text, "; received-status=", apr_itoa(p, told->received), NULL);
    if (hop)
        text = apr_pstrcat(p, text, "; next-hop=", hop, NULL);
    if (told->protocol)
        text = apr_pstrcat(p, text, "; next-protocol=", told->protocol, NULL);
    return text;
}

void proxy_tell_field(request_rec *r, const proxy_told *told, int is_own_page)
{
    const char *member = proxy_tell_status(r->pool, r->server, told);

    if (is_own_page)
        apr_table_setn(r->err_headers_out, "Proxy-Status", member);
    else
        apr_table_mergen(r->headers_out, "Proxy-Status", member);
}
