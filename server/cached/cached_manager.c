/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SetHandler cache-manager: GET lists stored answers of a URL, of a beginning of URLs, or of a tag; POST purges them. Nobody is heard where
 * no Require names users.
 */
#include "cached_named_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/pages.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(cache);

static const char manager_usage[] =
    "GET ?URL says what is stored of it, POST ?URL purges it. URL may be followed by *, for all "
    "that begins so, or be tag:NAME.\n"
    "POST ?soft&URL leaves it stored, as stale.\n";

/* A form of somebody else's page, which a browser with the right address or password sends. */
static int manager_is_foreign(const request_rec *r)
{
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site");

    return site ? strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0
                : apr_table_get(r->headers_in, "Origin") != NULL;
}

static void manager_put(void *to, const char *line)
{
    ap_rputs(line, to);
    ap_rputs("\n", to);
}

/* Of the page: its answer is the page, which can be loaded again. */
static int manager_is_form(request_rec *r)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");

    return brg_pages_of(r) != BRG_PAGES_APACHE && accept && ap_strcasestr(accept, "text/html");
}

/* @return HTTP_BAD_REQUEST with its words sent, or OK */
static int manager_named(request_rec *r, const char *arg, cached_named *named)
{
    char *what = apr_pstrdup(r->pool, arg);
    const char *error = ap_unescape_urlencoded(what) == OK
                            ? cached_named_read(r->pool, ap_server_conf, what, named)
                            : "it cannot be decoded";

    if (!error)
        return OK;
    r->status = HTTP_BAD_REQUEST;
    ap_rvputs(r, error, "\n", NULL);
    return HTTP_BAD_REQUEST;
}

static int manager_purge(request_rec *r, const char *arg)
{
    const int soft = !strncmp(arg, "soft&", 5);
    cached_named named;

    if (manager_named(r, arg + (soft ? 5 : 0), &named) != OK)
        return OK;
    if (cached_purge_named(&named, soft))
        return HTTP_REQUEST_URI_TOO_LARGE;
    if (manager_is_form(r)) {
        apr_table_setn(r->headers_out, "Location",
                       apr_pstrcat(r->pool, ap_escape_uri(r->pool, r->uri),
                                   "?find=", arg + (soft ? 5 : 0), NULL));
        return HTTP_SEE_OTHER;
    }
    ap_rputs(soft ? "stale\n" : "purged\n", r);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "cache: %s%s by cache-manager",
                  ap_escape_logitem(r->pool, arg), soft ? "" : " purged");
    return OK;
}

static int manager_show(request_rec *r, const char *arg)
{
    cached_named named;

    if (manager_named(r, arg, &named) == OK)
        (void)cached_report(r->pool, &named, manager_put, r);
    return OK;
}

int cached_manager(request_rec *r)
{
    int page;

    if (!r->handler || strcmp(r->handler, "cache-manager") != 0)
        return DECLINED;
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, M_POST, -1);
    if (r->method_number != M_GET && r->method_number != M_POST)
        return HTTP_METHOD_NOT_ALLOWED;
    if (!ap_some_auth_required(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "cache-manager is denied to all: no Require says who may use it");
        return HTTP_FORBIDDEN;
    }
    if (r->method_number == M_POST && manager_is_foreign(r))
        return HTTP_FORBIDDEN;
    if (!cached_store())
        return HTTP_NOT_FOUND;
    page = r->method_number == M_GET && cached_page_is_wanted(r);
    /* It looks through the whole store. */
    if (brg_thread_is_loop() && r->method_number == M_GET && (r->args || page) &&
        brg_request_rerun_on_worker(r))
        return OK;
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    if (page)
        return cached_page(r);
    ap_set_content_type(r, "text/plain; charset=utf-8");
    if (!r->args || !*r->args) {
        ap_rputs(manager_usage, r);
        return OK;
    }
    return r->method_number == M_POST ? manager_purge(r, r->args) : manager_show(r, r->args);
}
