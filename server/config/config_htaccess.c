/* SPDX-License-Identifier: Apache-2.0 */
/* .htaccess: a configuration file that anyone may change at any time, applied while a request is
 * resolved.
 *
 * Parsing (text to tree) is kept apart from applying (tree to a configuration vector).
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

apr_status_t ap_open_htaccess(request_rec *r, const char *dir_name, const char *access_name,
                              ap_configfile_t **conffile, const char **full_name)
{
    *full_name = ap_make_full_path(r->pool, dir_name, access_name);
    return conf_open_access_file(conffile, r->pool, *full_name);
}

AP_CORE_DECLARE(void) ap_register_config_hooks(apr_pool_t *p)
{
    ap_hook_open_htaccess(ap_open_htaccess, NULL, NULL, APR_HOOK_REALLY_LAST);
}

/* ---- parse and apply ---- */

static void conf_htaccess_parms(cmd_parms *parms, apr_pool_t *p, request_rec *r,
                                const conf_htaccess_scope *scope, const char *dir)
{
    BRG_ASSERT(scope != NULL && r->server != NULL);
    /* The same pool twice is how setters know an .htaccess file. */
    conf_parms_init(parms, p, p, r->server);
    parms->override = scope->override;
    parms->override_opts = scope->override_opts;
    parms->override_list = scope->override_list;
    parms->path = apr_pstrdup(p, dir);
}

const char *conf_htaccess_parse(apr_pool_t *p, request_rec *r, const conf_htaccess_scope *scope,
                                const char *dir, ap_configfile_t *f, ap_directive_t **tree,
                                const ap_directive_t **err)
{
    cmd_parms parms;
    const char *error;

    BRG_ASSERT(f != NULL);
    conf_htaccess_parms(&parms, p, r, scope, dir);
    parms.config_file = f;
    *tree = NULL;
    error = ap_build_config(&parms, p, p, tree);
    *err = parms.err_directive;
    return error;
}

const char *conf_htaccess_apply(apr_pool_t *p, request_rec *r, const conf_htaccess_scope *scope,
                                const char *dir, ap_directive_t *tree, ap_conf_vector_t *dc,
                                const ap_directive_t **err)
{
    cmd_parms parms;
    const char *error;

    BRG_ASSERT(dc != NULL);
    conf_htaccess_parms(&parms, p, r, scope, dir);
    error = ap_walk_config(tree, &parms, dc);
    *err = parms.err_directive;
    return error;
}

/* ---- one directory ---- */

static int conf_htaccess_failed(request_rec *r, const char *path, const ap_directive_t *line,
                                const char *error)
{
    if (line)
        path = apr_psprintf(r->pool, "%s:%d", path, line->line_num);
    ap_log_rerror(APLOG_MARK, APLOG_ALERT, 0, r, "%s: %s", path, error);
    return HTTP_INTERNAL_SERVER_ERROR;
}

static int conf_htaccess_unreadable(request_rec *r, const char *dir, const char *path,
                                    apr_status_t rv)
{
    if (APR_STATUS_IS_EMFILE(rv) || APR_STATUS_IS_ENFILE(rv) || APR_STATUS_IS_ENOMEM(rv)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "no descriptor or memory left to open %s",
                      path);
        return HTTP_SERVICE_UNAVAILABLE;
    }
    ap_log_rerror(APLOG_MARK, APLOG_CRIT, rv, r,
                  APLOGNO(00529) "%s pcfg_openfile: unable to check htaccess file, ensure it is "
                                 "readable and that '%s' is executable",
                  path, dir);
    apr_table_setn(r->notes, "error-notes",
                   "Server unable to read htaccess file, denying access to be safe");
    return HTTP_FORBIDDEN;
}

static apr_status_t conf_htaccess_open(apr_pool_t *p, request_rec *r, const char *dir,
                                       const char *name, ap_configfile_t **f, const char **path)
{
    if (p == r->pool)
        return ap_run_open_htaccess(r, dir, name, f, path);
    *path = ap_make_full_path(p, dir, name);
    return conf_open_access_file(f, p, *path);
}

/* @return OK, DECLINED (no such file) or a status */
static int conf_htaccess_load(apr_pool_t *p, request_rec *r, const conf_htaccess_scope *scope,
                              const char *dir, const char *name, ap_directive_t **tree,
                              const char **path)
{
    const ap_directive_t *err;
    const char *error;
    ap_configfile_t *f = NULL;
    apr_status_t rv = conf_htaccess_open(p, r, dir, name, &f, path);

    *tree = NULL;
    if (APR_STATUS_IS_ENOENT(rv) || APR_STATUS_IS_ENOTDIR(rv))
        return DECLINED;
    if (rv != APR_SUCCESS)
        return conf_htaccess_unreadable(r, dir, *path, rv);
    error = conf_htaccess_parse(p, r, scope, dir, f, tree, &err);
    ap_cfg_closefile(f);
    return error ? conf_htaccess_failed(r, *path, err, error) : OK;
}

/* The request's earlier result for the directory. */
static const struct htaccess_result *
conf_htaccess_seen(const request_rec *r, const conf_htaccess_scope *scope, const char *dir)
{
    for (const struct htaccess_result *h = r->htaccess; h; h = h->next)
        if (h->override == scope->override && h->override_opts == scope->override_opts &&
            h->override_list == scope->override_list && !strcmp(dir, h->dir))
            return h;
    return NULL;
}

static void conf_htaccess_keep(request_rec *r, const conf_htaccess_scope *scope, const char *dir,
                               ap_conf_vector_t *dc)
{
    apr_size_t len = strlen(dir);
    struct htaccess_result *h = apr_palloc(r->pool, sizeof *h + len + 1);

    BRG_ASSERT_DEBUG(!conf_htaccess_seen(r, scope, dir));
    h->dir = memcpy(h + 1, dir, len + 1);
    h->override = scope->override;
    h->override_opts = scope->override_opts;
    h->override_list = scope->override_list;
    h->htaccess = dc;
    h->next = r->htaccess;
    r->htaccess = h;
}

/* The next of the names in AccessFileName, which is one without quotes nearly always. */
static const char *conf_htaccess_name(apr_pool_t *p, const char **names)
{
    const char *name = *names;

    if (name[strcspn(name, " \t\"'\\")])
        return ap_getword_conf(p, names);
    *names += strlen(name);
    return name;
}

int conf_htaccess_read(ap_conf_vector_t **result, apr_pool_t *p, request_rec *r,
                       const conf_htaccess_scope *scope, const char *dir, const char *access_name)
{
    *result = NULL;
    while (*access_name && !*result) {
        const char *name = conf_htaccess_name(p, &access_name), *file = name;
        const ap_directive_t *err = NULL;
        ap_directive_t *tree = NULL;
        int status = conf_htaccess_load(p, r, scope, dir, name, &tree, &file);

        if (status == OK) {
            ap_conf_vector_t *dc = ap_create_per_dir_config(p);
            const char *error = conf_htaccess_apply(p, r, scope, dir, tree, dc, &err);

            if (error)
                return conf_htaccess_failed(r, file, err, error);
            conf_explain_file(dc, tree);
            *result = dc;
        } else if (status != DECLINED) {
            return status;
        }
    }
    return OK;
}

AP_CORE_DECLARE(int)
ap_parse_htaccess(ap_conf_vector_t **result, request_rec *r, int override, int override_opts,
                  apr_table_t *override_list, const char *path, const char *access_name)
{
    const conf_htaccess_scope scope = {override, override_opts, override_list};
    const struct htaccess_result *seen = conf_htaccess_seen(r, &scope, path);
    ap_conf_vector_t *dc = seen ? seen->htaccess : NULL;

    if (!seen) {
        int status = conf_htaccess_read(&dc, r->pool, r, &scope, path, access_name);

        if (status != OK)
            return status;
        conf_htaccess_keep(r, &scope, path, dc);
    }
    if (dc)
        *result = dc;
    return OK;
}

/* ---- state that changes when a file is not read again ---- */

static __thread unsigned conf_unrepeatable;

void conf_note_unrepeatable(void)
{
    conf_unrepeatable++;
}

unsigned conf_unrepeatable_noted(void)
{
    return conf_unrepeatable;
}
