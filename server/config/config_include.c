/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files by name: one file, all files below a directory, or all that match a pattern.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_file_io.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "configuration.h"
#include "brigade/assert.h"

#define CONF_INCLUDE_DEPTH 128
#define CONF_INCLUDE_TRACE 10 /* nested files that a message names */

typedef struct conf_files {
    server_rec *s;
    ap_directive_t **tree;
    apr_pool_t *p, *ptemp;
} conf_files;

static int conf_include_depth;
static int conf_include_line; /* of the Include that is being carried out, for DUMP_INCLUDES */

/* ---- one file ---- */

/* For DUMP_INCLUDES: lines, from the pool of one reading. They are printed behind it, since it may begin again. */
static apr_array_header_t *conf_included;

static void conf_dump_include(apr_pool_t *p, const char *name)
{
    const char *line = conf_include_line ? apr_itoa(p, conf_include_line) : "*";

    if (!ap_exists_config_define("DUMP_INCLUDES"))
        return;
    if (conf_include_depth == 1) {
        conf_included = apr_array_make(p, 64, sizeof(char *));
        APR_ARRAY_PUSH(conf_included, const char *) = "Included configuration files:";
    }
    if (conf_included)
        APR_ARRAY_PUSH(conf_included, const char *) =
            apr_psprintf(p, "%*s(%s) %s", conf_include_depth * 2, "", line, name);
}

void conf_dump_includes(apr_pool_t *p)
{
    apr_file_t *out;

    if (conf_included && apr_file_open_stdout(&out, p) == APR_SUCCESS)
        apr_file_printf(out, "%s\n", apr_array_pstrcat(p, conf_included, '\n'));
    conf_included = NULL;
}

static const char *conf_build_file(conf_files *in, const char *name)
{
    ap_configfile_t *f;
    cmd_parms parms;
    const char *error;
    apr_status_t rv = ap_pcfg_openfile(&f, in->p, name);

    if (rv != APR_SUCCESS) {
        char buf[120];

        return apr_psprintf(in->p, "Could not open configuration file %s: %s", name,
                            apr_strerror(rv, buf, sizeof buf));
    }
    conf_dump_include(in->ptemp, name);
    conf_parms_init(&parms, in->p, in->ptemp, in->s);
    parms.config_file = f;
    error = ap_build_config(&parms, in->p, in->ptemp, in->tree);
    ap_cfg_closefile(f);
    /* Of a recursion the outer files are enough to know. */
    if (error && parms.err_directive && conf_include_depth <= CONF_INCLUDE_TRACE)
        return apr_psprintf(in->p, "Syntax error on line %d of %s: %s",
                            parms.err_directive->line_num, parms.err_directive->filename, error);
    return error;
}

static const char *conf_include_file(conf_files *in, const char *name)
{
    const char *error;

    if (conf_include_depth == CONF_INCLUDE_DEPTH)
        return apr_psprintf(
            in->p, "Exceeded maximum include depth of %d, There appears to be a recursion.",
            CONF_INCLUDE_DEPTH);
    BRG_ASSERT(conf_include_depth >= 0 && conf_include_depth < CONF_INCLUDE_DEPTH);
    conf_include_depth++;
    error = conf_build_file(in, name);
    conf_include_depth--;
    return error;
}

AP_DECLARE(const char *)
ap_process_resource_config(server_rec *s, const char *fname, ap_directive_t **conftree,
                           apr_pool_t *p, apr_pool_t *ptemp)
{
    conf_files in = {s, conftree, p, ptemp};

    return conf_include_file(&in, fname);
}

/* ---- directories and patterns ---- */

static const char *conf_include_found(ap_dir_match_t *w, const char *fname)
{
    return conf_include_file(w->ctx, fname);
}

AP_DECLARE(const char *)
ap_process_fnmatch_configs(server_rec *s, const char *fname, ap_directive_t **conftree,
                           apr_pool_t *p, apr_pool_t *ptemp, int optional)
{
    conf_files in = {s, conftree, p, ptemp};
    const char *path = ap_server_root_relative(ptemp, fname);
    ap_dir_match_t w = {.prefix = "Include/IncludeOptional: ",
                        .p = p,
                        .ptemp = ptemp,
                        .cb = conf_include_found,
                        .ctx = &in,
                        .flags = AP_DIR_FLAG_RECURSIVE};

    if (!path)
        return apr_psprintf(p, "Invalid Include path %s", fname);
    /* For one file, the error of opening it is reported. */
    if (!optional && !apr_fnmatch_test(path) && !ap_is_directory(ptemp, path))
        return conf_include_file(&in, path);
    if (optional)
        w.flags |= AP_DIR_FLAG_OPTIONAL;
    return ap_dir_fnmatch(&w, NULL, path);
}

const char *conf_include(cmd_parms *cmd, ap_directive_t **tree, const char *name, int optional)
{
    int outer = conf_include_line;
    const char *error;

    BRG_ASSERT(cmd->directive != NULL);
    conf_include_line = cmd->directive->line_num;
    error =
        ap_process_fnmatch_configs(cmd->server, name, tree, cmd->pool, cmd->temp_pool, optional);
    conf_include_line = outer;
    return error;
}

/* ---- directories named by other modules' directives ---- */

AP_DECLARE(ap_dir_match_t *)
ap_dir_cfgmatch(cmd_parms *cmd, int flags, const char *(*cb)(ap_dir_match_t *w, const char *fname),
                void *ctx)
{
    ap_dir_match_t *w = apr_palloc(cmd->temp_pool, sizeof *w);

    w->prefix = apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": ", NULL);
    w->p = cmd->pool;
    w->ptemp = cmd->temp_pool;
    w->flags = flags;
    w->cb = cb;
    w->ctx = ctx;
    w->depth = 0;
    return w;
}
