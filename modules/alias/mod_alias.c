/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_alias: Alias, ScriptAlias, Redirect and their relatives.
 *
 * Redirects come before aliases, and both before the document root: at translation with the
 * configuration of the server and of <Location>. Redirects of <Directory> and .htaccess are known
 * later, so the last phase before the handler tries again with the whole configuration.
 */
#include "alias_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_strings.h"
#include "apr_uri.h"
#include "brigade/explain.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

#include <string.h>

APLOG_USE_MODULE(alias);

/* The two moments at which requests are redirected, for messages. */
typedef struct alias_stage {
    const char *incomplete_no, *invalid_no;
} alias_stage;

static const alias_stage alias_at_translation = {APLOGNO(00673), APLOGNO(00674)};
static const alias_stage alias_at_fixup = {APLOGNO(00675), APLOGNO(00676)};

/* Result of an attempt at a request. */
typedef struct alias_result {
    const char *target; /**< NULL: nothing matched */
    int status;         /**< redirects */
    int failed;         /**< the target cannot be worked out (logged): a server error */
} alias_result;

/* r->request_config of a request whose Location was completed from Host. */
static char alias_location_varies;

static void *alias_create_server_conf(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(alias_server_conf));
}

static void *alias_create_dir_conf(apr_pool_t *p, char *dir)
{
    alias_dir_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->redirect_relative = ALIAS_UNSET;
    conf->preserve_path = ALIAS_UNSET;
    return conf;
}

/* The narrower context's entries are tried first. */
static apr_array_header_t *alias_merge_list(apr_pool_t *p, apr_array_header_t *base,
                                            apr_array_header_t *add)
{
    BRG_ASSERT(!base || !add || base->elt_size == add->elt_size);
    if (base && add)
        return apr_array_append(p, add, base);
    return add ? add : base;
}

static void *alias_merge_server_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const alias_server_conf *base = base_conf, *add = add_conf;
    alias_server_conf *conf = apr_palloc(p, sizeof(*conf));

    conf->aliases = alias_merge_list(p, base->aliases, add->aliases);
    conf->redirects = alias_merge_list(p, base->redirects, add->redirects);
    return conf;
}

static void *alias_merge_dir_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const alias_dir_conf *base = base_conf, *add = add_conf;
    const alias_dir_conf *alias = add->alias_set ? add : base;
    const alias_dir_conf *redirect = add->redirect_set ? add : base;
    alias_dir_conf *conf = apr_palloc(p, sizeof(*conf));

    conf->redirects = alias_merge_list(p, base->redirects, add->redirects);
    conf->alias = alias->alias;
    conf->alias_fake = alias->alias_fake;
    conf->handler = alias->handler;
    conf->alias_set = alias->alias_set;
    conf->redirect = redirect->redirect;
    conf->redirect_status = redirect->redirect_status;
    conf->redirect_set = redirect->redirect_set;
    conf->redirect_relative =
        add->redirect_relative == ALIAS_UNSET ? base->redirect_relative : add->redirect_relative;
    conf->preserve_path =
        add->preserve_path == ALIAS_UNSET ? base->preserve_path : add->preserve_path;
    return conf;
}

static const alias_dir_conf *alias_dir_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &alias_module);
}

apr_size_t alias_match(const char *uri, const char *fake)
{
    const char *u = uri, *f = fake;

    while (*f) {
        if (*f == '/') {
            if (*u != '/')
                return 0;
            f += strspn(f, "/");
            u += strspn(u, "/");
        } else if (*u++ != *f++) {
            return 0;
        }
    }
    if (f > fake && f[-1] != '/' && *u != '\0' && *u != '/')
        return 0;
    return (apr_size_t)(u - uri);
}

static void alias_force_handler(request_rec *r, const char *handler)
{
    if (handler) {
        r->handler = handler;
        apr_table_setn(r->notes, "alias-forced-type", handler);
    }
}

/* The result of a pattern or an expression may have to be escaped again, but not its query. */
static const char *alias_escape_url(apr_pool_t *p, const char *url)
{
    apr_uri_t uri;

    apr_uri_parse(p, url, &uri);
    url = ap_escape_uri(p, apr_uri_unparse(p, &uri, APR_URI_UNP_OMITQUERY));
    if (uri.query)
        url = apr_pstrcat(p, url, "?", uri.query, NULL);
    if (uri.fragment)
        url = apr_pstrcat(p, url, "#", uri.fragment, NULL);
    return url;
}

/* <Location> with "Redirect [STATUS] URL". */
static void alias_try_section_redirect(request_rec *r, const alias_dir_conf *conf,
                                       alias_result *out)
{
    const char *error = NULL;

    if (!conf->redirect_set)
        return;
    out->status = conf->redirect_status;
    if (conf->redirect == NULL) {
        out->target = "";
        return;
    }
    out->target = ap_expr_str_exec(r, conf->redirect, &error);
    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02826) "Can't evaluate redirect expression: %s", error);
        out->failed = 1;
        return;
    }
    out->target = alias_escape_url(r->pool, out->target);
}

/* <Location> with "Alias FILE". */
static void alias_try_section_alias(request_rec *r, const alias_dir_conf *conf, alias_result *out)
{
    const char *error = NULL, *found;

    if (!conf->alias_set)
        return;
    found = ap_expr_str_exec(r, conf->alias, &error);
    out->target = found;
    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02825) "Can't evaluate alias expression: %s", error);
        out->failed = 1;
        return;
    }
    if (conf->alias_fake && conf->preserve_path == ALIAS_ON) {
        apr_size_t covered = alias_match(r->uri, conf->alias_fake);

        if (covered > 0) {
            ap_set_context_info(r, conf->alias_fake, found);
            found = apr_pstrcat(r->pool, found, r->uri + covered, NULL);
        }
    }
    out->target = ap_server_root_relative(r->pool, found);
    if (out->target == NULL)
        out->target = found;
    alias_force_handler(r, conf->handler);
}

static const char *alias_try_pattern(request_rec *r, const alias_entry *entry, int is_redirect,
                                     alias_result *out)
{
    ap_regmatch_t match[AP_MAX_REG_MATCH];
    const char *found;

    BRG_ASSERT(entry->regex && entry->real);
    if (ap_regexec(entry->regex, r->uri, AP_MAX_REG_MATCH, match, 0) != 0)
        return NULL;
    if (*entry->real == '\0')
        return "";
    found = ap_pregsub(r->pool, entry->real, r->uri, AP_MAX_REG_MATCH, match);
    if (found == NULL) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00672) "Regex substitution in '%s' failed. Replacement too long?",
                      entry->real);
        out->failed = 1;
        return "";
    }
    return is_redirect ? alias_escape_url(r->pool, found) : found;
}

static const char *alias_try_prefix(request_rec *r, const alias_entry *entry, int is_redirect)
{
    apr_size_t covered = alias_match(r->uri, entry->fake);
    const char *rest;

    BRG_ASSERT(covered <= strlen(r->uri));
    if (covered == 0)
        return NULL;
    rest = r->uri + covered;
    if (is_redirect)
        rest = ap_os_escape_path(r->pool, rest, 1);
    else
        ap_set_context_info(r, entry->fake, entry->real);
    return *rest ? apr_pstrcat(r->pool, entry->real, rest, NULL) : entry->real;
}

static void alias_try_list(request_rec *r, const apr_array_header_t *list, int is_redirect,
                           alias_result *out)
{
    const alias_entry *entry, *end;
    const char *found = NULL;

    if (list == NULL)
        return;
    BRG_ASSERT(list->elt_size == (int)sizeof *entry);
    entry = (const alias_entry *)list->elts;
    for (end = entry + list->nelts; entry < end && found == NULL; entry++) {
        found = entry->regex ? alias_try_pattern(r, entry, is_redirect, out)
                             : alias_try_prefix(r, entry, is_redirect);
        if (found && !out->failed) {
            alias_force_handler(r, entry->handler);
            out->status = entry->status;
            BRG_EXPLAIN(r, entry->line, apr_pstrcat(r->pool, r->uri, " -> ", found, NULL));
        }
    }
    if (found && !is_redirect && !out->failed)
        found = ap_server_root_relative(r->pool, found);
    out->target = found;
}

static void alias_try_redirects(request_rec *r, const alias_dir_conf *conf,
                                const apr_array_header_t *list, alias_result *out)
{
    alias_try_section_redirect(r, conf, out);
    if (out->target == NULL && !out->failed)
        alias_try_list(r, list, 1, out);
}

/* The host's name is that of the connection's address; else it follows from Host and the server. */
static int alias_name_varies(const request_rec *r)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);

    return core->use_canonical_name == USE_CANONICAL_NAME_DNS;
}

/* A target without scheme and host gets them, unless RedirectRelative says not to. */
static const char *alias_complete_url(request_rec *r, const alias_dir_conf *conf,
                                      const char *target, const alias_stage *stage)
{
    const char *url;

    if (*target != '/' || conf->redirect_relative == ALIAS_ON)
        return target;
    url = ap_construct_url(r->pool, target, r);
    if (alias_name_varies(r))
        ap_set_module_config(r->request_config, &alias_module, &alias_location_varies);
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  "%sincomplete redirection target of '%s' for URI '%s' modified to '%s'",
                  stage->incomplete_no, target, r->uri, url);
    return url;
}

/* Answer with the match. Returns the status for the hook. */
static int alias_redirect(request_rec *r, const alias_dir_conf *conf, const alias_result *result,
                          const alias_stage *stage)
{
    const char *url;

    BRG_ASSERT(result->failed || result->target);
    if (result->failed)
        return HTTP_INTERNAL_SERVER_ERROR;
    if (!ap_is_HTTP_REDIRECT(result->status))
        return result->status;
    url = alias_complete_url(r, conf, result->target, stage);
    if (!ap_is_url(url) && !(*url == '/' && conf->redirect_relative == ALIAS_ON)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "%scannot redirect '%s' to '%s'; target is not a valid absoluteURI or "
                      "abs_path",
                      stage->invalid_no, r->uri, url);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (r->args && !ap_strchr_c(url, '?'))
        url = apr_pstrcat(r->pool, url, "?", r->args, NULL);
    apr_table_setn(r->headers_out, "Location", url);
    return result->status;
}

static int alias_translate(request_rec *r)
{
    const alias_server_conf *server = ap_get_module_config(r->server->module_config, &alias_module);
    const alias_dir_conf *conf = alias_dir_conf_of(r);
    alias_result result = {0};

    if (r->uri[0] != '/' && r->uri[0] != '\0')
        return DECLINED;
    alias_try_redirects(r, conf, server->redirects, &result);
    if (result.target || result.failed)
        return alias_redirect(r, conf, &result, &alias_at_translation);
    alias_try_section_alias(r, conf, &result);
    if (result.target == NULL && !result.failed)
        alias_try_list(r, server->aliases, 0, &result);
    if (result.failed)
        return HTTP_INTERNAL_SERVER_ERROR;
    if (result.target == NULL)
        return DECLINED;
    r->filename = (char *)result.target;
    return OK;
}

static int alias_fixup(request_rec *r)
{
    const alias_dir_conf *conf = alias_dir_conf_of(r);
    alias_result result = {0};

    alias_try_redirects(r, conf, conf->redirects, &result);
    return result.target || result.failed ? alias_redirect(r, conf, &result, &alias_at_fixup)
                                          : DECLINED;
}

static int alias_depends(request_rec *r)
{
    const alias_dir_conf *conf = alias_dir_conf_of(r);

    return (conf->alias_set && !brg_cache_depends_on_expression(r, conf->alias, 0)) ||
                   (conf->redirect && !brg_cache_depends_on_expression(r, conf->redirect, 0)) ||
                   ap_get_module_config(r->request_config, &alias_module)
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

static void alias_register_hooks(apr_pool_t *p)
{
    static const char *const after_us[] = {"mod_userdir.c", "mod_vhost_alias.c", NULL};

    ap_hook_translate_name(alias_translate, NULL, after_us, APR_HOOK_MIDDLE);
    ap_hook_fixups(alias_fixup, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&alias_module, alias_depends);
    brg_cache_name_declare(&alias_module, alias_name);
    brg_hooks_need_directive(&alias_module, "translate_name fixups", NULL, BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA alias_module = {
    STANDARD20_MODULE_STUFF, alias_create_dir_conf, alias_merge_dir_conf, alias_create_server_conf,
    alias_merge_server_conf, alias_commands,        alias_register_hooks, 0,
};
