/* SPDX-License-Identifier: Apache-2.0 */
/* After rules ran: proxied targets, redirects; dependencies of their outcome; and the log. */
#include "rewrite_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

#include <stdarg.h>
#include <string.h>

APLOG_USE_MODULE(rewrite);

static int finish_proxy_available;

void rewrite_set_proxy_available(int is)
{
    finish_proxy_available = is;
}

int rewrite_query_is_bad(request_rec *r, rewrite_result result, unsigned scheme, const char *number)
{
    const int is_escaped = scheme && result != REWRITE_UNESCAPED;

    if (!r->args || is_escaped || !*ap_scan_vchar_obstext(r->args))
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "%sRewritten query string contains control characters or spaces", number);
    return 1;
}

int rewrite_to_proxy(request_rec *r, rewrite_result result, const char *directory)
{
    if (!finish_proxy_available) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "%sattempt to make remote request from mod_rewrite without proxy enabled: %s",
                      directory ? APLOGNO(10160) : APLOGNO(00669), r->filename);
        return HTTP_FORBIDDEN;
    }
    if (result == REWRITE_UNESCAPED)
        apr_table_setn(r->notes, "proxy-nocanon", "1");
    if (!directory && r->path_info)
        r->filename = apr_pstrcat(r->pool, r->filename, r->path_info, NULL);
    if (r->args && (r->proxyreq == PROXYREQ_PROXY || result == REWRITE_UNESCAPED))
        r->filename = apr_pstrcat(r->pool, r->filename, "?", r->args, NULL);
    if (r->proxyreq == PROXYREQ_NONE)
        r->proxyreq = PROXYREQ_REVERSE;
    r->handler = "proxy-server";
    REWRITE_LOG(r, 1, directory, "go-ahead with proxy request %s [OK]", r->filename);
    return OK;
}

int rewrite_to_client(request_rec *r, rewrite_result result, unsigned scheme, const char *args,
                      const char *directory)
{
    const int plain = result == REWRITE_UNESCAPED;
    int status = HTTP_MOVED_TEMPORARILY;

    if (!plain) {
        REWRITE_LOG(r, 1, directory, "escaping %s for redirect", r->filename);
        r->filename = rewrite_escape_url(r->pool, r->filename, scheme);
    }
    if (r->args) {
        const int stays = plain || (args && !strcmp(r->args, args));
        const char *query = stays ? r->args : ap_escape_uri(r->pool, r->args);

        r->filename = apr_pstrcat(r->pool, r->filename, "?", query, NULL);
        REWRITE_LOG(r, 1, directory, "%s %s to query string for redirect %s",
                    stays ? "copying" : "escaping", r->args, stays ? "" : query);
    }
    if (ap_is_HTTP_REDIRECT(r->status)) {
        status = r->status;
        r->status = HTTP_OK;
    }
    apr_table_setn(r->headers_out, "Location", r->filename);
    REWRITE_LOG(r, 1, directory, "redirect to %s [REDIRECT/%d]", r->filename, status);
    return status;
}

/* ---- END ---- */

#define REWRITE_ENDED "rewrite_really_last"

void rewrite_end(request_rec *r)
{
    apr_pool_userdata_set("1", REWRITE_ENDED, apr_pool_cleanup_null, r->pool);
}

int rewrite_has_ended(request_rec *r, const char *directory)
{
    void *ended = NULL;

    apr_pool_userdata_get(&ended, REWRITE_ENDED, r->pool);
    if (ended)
        REWRITE_LOG(r, 8, directory, "Declining, no further rewriting due to END flag");
    return ended != NULL;
}

/* ---- dependencies of the outcome ---- */

static char finish_volatile_mark;

static request_rec *finish_first(request_rec *r)
{
    while (r->prev || r->main)
        r = r->prev ? r->prev : r->main;
    return r;
}

void rewrite_is_volatile(request_rec *r)
{
    ap_set_module_config(finish_first(r)->request_config, &rewrite_module, &finish_volatile_mark);
}

int rewrite_depends(request_rec *r)
{
    return ap_get_module_config(finish_first(r)->request_config, &rewrite_module)
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

/* ---- log ---- */

void rewrite_log(request_rec *r, int level, const char *directory, const char *format, ...)
{
    const char *host = ap_get_useragent_host(r, REMOTE_NAME, NULL);
    const char *ident = ap_get_remote_logname(r), *user = r->user ? r->user : "-";
    const char *redirected = "";
    int redirects = 0;
    va_list args;
    char *text;

    va_start(args, format);
    text = apr_pvsprintf(r->pool, format, args);
    va_end(args);
    for (const request_rec *q = r->prev; q; q = q->prev)
        redirects++;
    if (redirects)
        redirected = apr_itoa(r->pool, redirects);
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG + level, 0, r,
                  "%s %s %s [%s/sid#%pp][rid#%pp/%s%s%s] %s%s%s%s", host ? host : "UNKNOWN-HOST",
                  ident ? ident : "-", *user ? user : "\"\"", ap_get_server_name(r),
                  (void *)r->server, (void *)r, r->main ? "subreq" : "initial",
                  redirects ? "/redir#" : "", redirected, directory ? "[perdir " : "",
                  directory ? directory : "", directory ? "] " : "", text);
}
