/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of sections and .htaccess files: in the last phase. A changed target becomes an internal redirect, which the
 * handler of this module makes. */
#include "rewrite_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

#include <string.h>

APLOG_USE_MODULE(rewrite);

/* The folder itself, without its slash: mod_dir is to add it. */
static int dir_lacks_slash(const request_rec *r, const rewrite_conf *conf)
{
    apr_size_t len = strlen(conf->directory);

    return !(conf->options & REWRITE_O_NOSLASH) && r->filename && len &&
           strlen(r->filename) == len - 1 && conf->directory[len - 1] == '/' &&
           !strncmp(r->filename, conf->directory, len - 1);
}

static int dir_is_active(request_rec *r, const rewrite_conf *conf)
{
    return conf && conf->directory && conf->on && !dir_lacks_slash(r, conf) &&
           !rewrite_has_ended(r, conf->directory);
}

/* ---- redirects of the client ---- */

/* The folder after the host is replaced by its URL. */
static void dir_put_base(request_rec *r, const rewrite_conf *conf, unsigned scheme)
{
    const char *folder = conf->directory + (*conf->directory == '/');
    char *path, *replaced;

    if (!conf->base || (path = strchr(r->filename + scheme, '/')) == NULL || !*++path)
        return;
    REWRITE_LOG(r, 2, conf->directory, "trying to replace prefix %s with %s", conf->directory,
                conf->base);
    replaced = rewrite_replace_prefix(r, path, folder, conf->base + 1);
    if (strcmp(replaced, path) != 0) {
        *path = '\0';
        r->filename = apr_pstrcat(r->pool, r->filename, replaced, NULL);
    }
}

/* ---- internal redirects ---- */

static void dir_strip_root(request_rec *r, const rewrite_conf *conf)
{
    const char *root = ap_document_root(r);
    apr_size_t len = root ? strlen(root) : 0;

    if (!root)
        return;
    if (len && root[len - 1] == '/')
        len--;
    if (strncmp(r->filename, root, len) != 0 || r->filename[len] != '/')
        return;
    REWRITE_LOG(r, 2, conf->directory, "strip document_root prefix: %s -> %s", r->filename,
                r->filename + len);
    r->filename = apr_pstrdup(r->pool, r->filename + len);
}

/* A file name to a URL path: by RewriteBase, the document root, or Alias and the like. */
static void dir_to_url(request_rec *r, const rewrite_conf *conf)
{
    const char *before = r->filename, *root, *prefix;

    if (conf->base) {
        REWRITE_LOG(r, 2, conf->directory, "trying to replace prefix %s with %s", conf->directory,
                    conf->base);
        r->filename = rewrite_replace_prefix(r, r->filename, conf->directory, conf->base);
    } else {
        dir_strip_root(r, conf);
    }
    if (r->filename != before || (conf->options & REWRITE_O_IGNORE_CONTEXT))
        return;
    root = ap_context_document_root(r);
    prefix = ap_context_prefix(r);
    if (!root || !prefix)
        return;
    REWRITE_LOG(r, 2, conf->directory,
                "trying to replace context docroot %s with context prefix %s", root, prefix);
    r->filename = rewrite_replace_prefix(r, r->filename, root, prefix);
}

static int dir_to_path(request_rec *r, const rewrite_conf *conf, const char *filename)
{
    if (!strncmp(r->filename, "passthrough:", 12) && r->filename[12])
        r->filename = apr_pstrdup(r->pool, r->filename + 12);
    if (*r->filename != '/')
        return HTTP_BAD_REQUEST;
    if (filename && !strcmp(r->filename, filename)) {
        REWRITE_LOG(r, 1, conf->directory, "initial URL equal rewritten URL: %s [IGNORING REWRITE]",
                    r->filename);
        return OK;
    }
    dir_to_url(r, conf);
    apr_table_setn(r->notes, "redirect-keeps-vary", "");
    REWRITE_LOG(r, 1, conf->directory, "internal redirect with %s [INTERNAL REDIRECT]",
                r->filename);
    r->filename = apr_pstrcat(r->pool, "redirect:", r->filename, NULL);
    r->handler = REWRITE_REDIRECT_HANDLER_NAME;
    return OK;
}

static int dir_finish(request_rec *r, const rewrite_conf *conf, rewrite_result result,
                      const char *filename, const char *args)
{
    const unsigned scheme = rewrite_scheme(r->filename, NULL);
    int status = r->status;

    if (rewrite_query_is_bad(r, result, scheme, APLOGNO(10411)))
        return HTTP_FORBIDDEN;
    if (result == REWRITE_ANSWERED) {
        r->status = HTTP_OK;
        return status;
    }
    if (!strncmp(r->filename, "proxy:", 6) && r->filename[6])
        return rewrite_to_proxy(r, result, conf->directory);
    if (!scheme)
        return dir_to_path(r, conf, filename);
    dir_put_base(r, conf, scheme);
    return rewrite_to_client(r, result, scheme, args, conf->directory);
}

int rewrite_fixup(request_rec *r)
{
    const rewrite_conf *conf = ap_get_module_config(r->per_dir_config, &rewrite_module);
    char *filename = r->filename;
    const char *args = r->args;
    const rewrite_rule *last = NULL;
    rewrite_result result;

    if (!dir_is_active(r, conf))
        return DECLINED;
    if (!(ap_allow_options(r) & (OPT_SYM_LINKS | OPT_SYM_OWNER))) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00670) "Options FollowSymLinks and SymLinksIfOwnerMatch are both "
                                     "off, so the RewriteRule directive is also forbidden due to "
                                     "its similar ability to circumvent directory restrictions : "
                                     "%s",
                      r->filename);
        return HTTP_FORBIDDEN;
    }
    if (r->filename == NULL) {
        r->filename = apr_pstrdup(r->pool, r->uri);
        REWRITE_LOG(r, 2, conf->directory, "init rewrite engine with requested uri %s",
                    r->filename);
    }
    result = rewrite_apply(r, conf->rules, conf->directory, &last);
    if (result != REWRITE_NOTHING)
        return dir_finish(r, conf, result, filename, args);
    REWRITE_LOG(r, 1, conf->directory, "pass through %s", r->filename);
    r->filename = filename;
    return DECLINED;
}

/* ---- type and handler that rules forced ---- */

int rewrite_fixup_type(request_rec *r)
{
    const char *type, *handler;

    if (apr_is_empty_table(r->notes))
        return OK;
    type = apr_table_get(r->notes, "rewrite-forced-mimetype");
    handler = apr_table_get(r->notes, "rewrite-forced-handler");
    if (type && *type) {
        REWRITE_LOG(r, 1, NULL, "force filename %s to have MIME-type '%s'", r->filename, type);
        ap_set_content_type_ex(r, type, 1);
    }
    if (handler && *handler) {
        REWRITE_LOG(r, 1, NULL, "force filename %s to have the Content-handler '%s'", r->filename,
                    handler);
        r->handler = handler;
    }
    return OK;
}

int rewrite_handler(request_rec *r)
{
    if (strcmp(r->handler, REWRITE_REDIRECT_HANDLER_NAME) != 0 ||
        strncmp(r->filename, "redirect:", 9) != 0)
        return DECLINED;
    ap_internal_redirect(apr_pstrcat(r->pool, r->filename + 9, r->args ? "?" : NULL, r->args, NULL),
                         r);
    return OK;
}
