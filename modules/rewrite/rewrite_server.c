/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a server: before a URI becomes a file name. */
#include "rewrite_private.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(rewrite);

/* The URL that was asked for, before any rule. */
static void server_set_script_url(request_rec *r)
{
    const request_rec *main = r->main;
    const char *url = apr_table_get(main ? main->subprocess_env : r->subprocess_env,
                                    main ? "SCRIPT_URL" : "REDIRECT_SCRIPT_URL");
    apr_port_t port = ap_get_server_port(r);
    const char *shown = ap_is_default_port(port, r) ? "" : apr_psprintf(r->pool, ":%u", port);

    if (!url && !main)
        url = r->uri;
    apr_table_setn(r->subprocess_env, "SCRIPT_URL", url);
    apr_table_setn(r->subprocess_env, "SCRIPT_URI",
                   apr_pstrcat(r->pool, ap_http_scheme(r), "://", ap_get_server_name_for_url(r),
                               shown, url, NULL));
}

static int server_is_path(const request_rec *r)
{
    return !(r->unparsed_uri[0] == '*' && !r->unparsed_uri[1]) && r->uri && r->uri[0] == '/';
}

/* The rules run once; later hooks of other modules may lead here again. */
static rewrite_result server_run_rules(request_rec *r, const rewrite_conf *conf,
                                       const rewrite_rule **last)
{
    const char *before = apr_table_get(r->notes, "mod_rewrite_rewritten");
    rewrite_result result;

    if (before) {
        REWRITE_LOG(r, 2, NULL, "uri already rewritten. Status %s, Uri %s, r->filename %s", before,
                    r->uri, r->filename);
        return (rewrite_result)atoi(before);
    }
    if (r->filename == NULL) {
        r->filename = apr_pstrdup(r->pool, r->uri);
        REWRITE_LOG(r, 2, NULL, "init rewrite engine with requested uri %s", r->filename);
    } else {
        REWRITE_LOG(r, 2, NULL, "init rewrite engine with passed filename %s. Original uri = %s",
                    r->filename, r->uri);
    }
    result = rewrite_apply(r, conf->rules, NULL, last);
    apr_table_setn(r->notes, "mod_rewrite_rewritten", apr_itoa(r->pool, result));
    return result;
}

/* A path below the document root, unless its first segment is a folder of the system that a rule named. */
static int server_to_path(request_rec *r, const rewrite_conf *conf, const rewrite_rule *last)
{
    const char *reduced = NULL;
    char *uri = r->uri;
    int result;

    r->filename = rewrite_expand_tilde(r, r->filename);
    REWRITE_LOG(r, 2, NULL, "local path result: %s", r->filename);
    if (*r->filename != '/')
        return HTTP_BAD_REQUEST;
    if (conf->options & REWRITE_O_PREFIXSTAT)
        last = NULL;
    if (!(conf->options & REWRITE_O_LEGACY_PREFIX))
        reduced = apr_table_get(r->notes, "mod_rewrite_uri_reduced");
    if (!rewrite_is_real_prefix(r, r->filename, last) || reduced) {
        r->uri = r->filename;
        result = ap_core_translate(r);
        r->uri = uri;
        if (result != OK) {
            REWRITE_LOG(r, 1, NULL, "prefixing with document_root of %s FAILED", r->filename);
            return result;
        }
        REWRITE_LOG(r, 2, NULL, "prefixed with document_root to %s", r->filename);
    }
    REWRITE_LOG(r, 1, NULL, "go-ahead with %s [OK]", r->filename);
    return OK;
}

static int server_finish(request_rec *r, const rewrite_conf *conf, rewrite_result result,
                         const rewrite_rule *last, const char *args)
{
    const unsigned scheme = rewrite_scheme(r->filename, NULL);
    int status = r->status;

    if (rewrite_query_is_bad(r, result, scheme, APLOGNO(10410)))
        return HTTP_FORBIDDEN;
    if (result == REWRITE_ANSWERED) {
        r->status = HTTP_OK;
        return status;
    }
    if (!strncmp(r->filename, "proxy:", 6) && r->filename[6])
        return rewrite_to_proxy(r, result, NULL);
    if (scheme)
        return rewrite_to_client(r, result, scheme, args, NULL);
    if (!strncmp(r->filename, "passthrough:", 12) && r->filename[12]) {
        char *uri = apr_pstrdup(r->pool, r->filename + 12);

        brg_cache_leads_to(r, uri);
        r->uri = uri;
        return DECLINED;
    }
    return server_to_path(r, conf, last);
}

int rewrite_translate(request_rec *r)
{
    const rewrite_conf *conf = ap_get_module_config(r->server->module_config, &rewrite_module);
    const rewrite_conf *section = ap_get_module_config(r->per_dir_config, &rewrite_module);
    const rewrite_rule *last = NULL;
    const char *args = r->args;
    rewrite_result result;

    if (!section || !section->on || conf->server != r->server)
        return DECLINED;
    if (rewrite_has_ended(r, NULL))
        return DECLINED;
    if (!(section->options & REWRITE_O_ANYURI) && !server_is_path(r)) {
        REWRITE_LOG(r, 8, NULL,
                    "Declining, request-URI '%s' is not a URL-path. Consult the manual entry for "
                    "the RewriteOptions directive for options and caveats about matching other "
                    "strings.",
                    r->uri);
        return DECLINED;
    }
    server_set_script_url(r);
    result = server_run_rules(r, conf, &last);
    if (result != REWRITE_NOTHING)
        return server_finish(r, conf, result, last, args);
    REWRITE_LOG(r, 1, NULL, "pass through %s", r->filename);
    return DECLINED;
}
