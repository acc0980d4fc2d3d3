/* SPDX-License-Identifier: Apache-2.0 */
/* Sections whose content applies to a part of the site: each gets a configuration vector of its
 * own, filled by walking its children, and is added to the list that the request walks search. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "ap_expr.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "core_private.h"
#include "core_section.h"
#include "brigade/assert.h"
#include "configuration.h"

APLOG_USE_MODULE(core);

/* ---- arguments ---- */

const char *core_section_missing_gt(const cmd_parms *cmd)
{
    return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive missing closing '>'", NULL);
}

const char *core_section_no_args(const cmd_parms *cmd)
{
    return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive requires additional arguments",
                       NULL);
}

const char *core_section_text(const cmd_parms *cmd, const char *arg, const char **text)
{
    const char *gt = strrchr(arg, '>');

    if (!gt)
        return core_section_missing_gt(cmd);
    *text = apr_pstrmemdup(cmd->pool, arg, (apr_size_t)(gt - arg));
    return **text ? NULL : core_section_no_args(cmd);
}

/* A section while its children are walked; its changes in cmd are put back. */
typedef struct core_scope {
    cmd_parms *cmd;
    const command_rec *command;
    void *info;
    char *path;
    int override;
    ap_conf_vector_t *vector;
    ap_regex_t *regex;
} core_scope;

static const char *core_compile(const cmd_parms *cmd, const char *pattern, ap_regex_t **regex)
{
    *regex = ap_pregcomp(cmd->pool, pattern, AP_REG_EXTENDED);
    return *regex ? NULL : "Regex could not be compiled";
}

/* The pattern of <Name pattern>, <Name ~ pattern> and <NameMatch pattern>: into cmd->path and
 * sc->regex. */
static const char *core_scope_pattern(core_scope *sc, const char **rest, int match)
{
    cmd_parms *cmd = sc->cmd;
    char *word = ap_getword_conf(cmd->pool, rest);

    if (!strcmp(word, "~")) {
        match = 1;
        word = ap_getword_conf(cmd->pool, rest);
        if (!*word)
            return apr_pstrcat(cmd->pool, cmd->cmd->name,
                               "> block must specify a path when the ~ form is used", NULL);
    }
    if (!*word)
        return core_section_no_args(cmd);
    cmd->path = word;
    return match ? core_compile(cmd, word, &sc->regex) : NULL;
}

static void core_scope_open(core_scope *sc, cmd_parms *cmd)
{
    BRG_ASSERT(cmd->cmd != NULL && cmd->directive != NULL);
    memset(sc, 0, sizeof *sc);
    sc->cmd = cmd;
    sc->command = cmd->cmd;
    sc->info = cmd->info;
    sc->path = cmd->path;
    sc->override = cmd->override;
    sc->vector = ap_create_per_dir_config(cmd->pool);
}

/* Walk the children; sc->vector is complete afterwards. */
static const char *core_scope_walk(core_scope *sc)
{
    BRG_ASSERT(sc->vector != NULL && sc->cmd->directive != NULL);
    return ap_walk_config(sc->cmd->directive->first_child, sc->cmd, sc->vector);
}

/* The section's own core settings, with its pattern. */
static core_dir_config *core_scope_conf(core_scope *sc, const char *d)
{
    cmd_parms *cmd = sc->cmd;
    core_dir_config *conf =
        ap_set_config_vectors(cmd->server, sc->vector, cmd->path, &core_module, cmd->pool);

    BRG_ASSERT(conf != NULL && conf->r == NULL);
    conf->d = apr_pstrdup(cmd->pool, d);
    conf->d_is_fnmatch = !sc->regex && apr_fnmatch_test(d) != 0;
    conf->d_components = (unsigned)ap_count_dirs(d);
    conf->r = sc->regex;
    if (sc->regex) {
        conf->refs = apr_array_make(cmd->pool, 8, sizeof(char *));
        ap_regname(sc->regex, conf->refs, AP_REG_MATCH, 1);
    }
    return conf;
}

static const char *core_scope_close(core_scope *sc, const char *error, const char *rest)
{
    cmd_parms *cmd = sc->cmd;

    BRG_ASSERT(sc->command != NULL);
    cmd->cmd = sc->command;
    cmd->info = sc->info;
    cmd->path = sc->path;
    cmd->override = sc->override;
    if (!error && *rest)
        error = apr_pstrcat(cmd->pool, "Multiple ", cmd->cmd->name,
                            "> arguments not (yet) supported.", NULL);
    return error;
}

static const char *core_directory_path(cmd_parms *cmd)
{
    char *path;
    apr_status_t rv;

    BRG_ASSERT(cmd->path != NULL);
    rv = apr_filepath_merge(&path, NULL, cmd->path, APR_FILEPATH_TRUENAME, cmd->pool);

    if (rv != APR_SUCCESS && !APR_STATUS_IS_EPATHWILD(rv))
        return apr_pstrcat(cmd->pool, "<Directory \"", cmd->path, "\"> path is invalid.", NULL);
    if (path[strlen(path) - 1] != '/')
        path = apr_pstrcat(cmd->pool, path, "/", NULL);
    cmd->path = path;
    return NULL;
}

/* ---- <Directory>, <Location>, <Files> and their Match forms ---- */

typedef struct {
    unsigned forbidden;                  /* contexts in which it cannot stand */
    const char *(*path)(cmd_parms *cmd); /* makes cmd->path the pattern for requests; may be NULL */
    int inherits; /* below <Directory> or in .htaccess: keep the outer section's override */
    void (*add)(cmd_parms *cmd, void *dir, void *vector);
} core_section_kind;

static const char *core_section(cmd_parms *cmd, void *dir, const char *arg,
                                const core_section_kind *kind)
{
    const char *error = ap_check_cmd_context(cmd, kind->forbidden), *rest;
    core_scope sc;

    if (!error)
        error = core_section_text(cmd, arg, &rest);
    if (error)
        return error;
    core_scope_open(&sc, cmd);
    BRG_ASSERT(kind->add != NULL);
    error = core_scope_pattern(&sc, &rest, cmd->info != NULL);
    if (!error && kind->path && !sc.regex)
        error = kind->path(cmd);
    if (!kind->inherits || !sc.path)
        cmd->override = OR_ALL | ACCESS_CONF;
    if (!error)
        error = core_scope_walk(&sc);
    if (!error) {
        core_scope_conf(&sc, cmd->path);
        kind->add(cmd, dir, sc.vector);
        conf_explain_section(sc.vector, cmd->directive);
    }
    return core_scope_close(&sc, error, rest);
}

static void core_add_directory(cmd_parms *cmd, void *dir, void *vector)
{
    ap_add_per_dir_conf(cmd->server, vector);
}

const char *core_section_directory(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_section_kind kind = {NOT_IN_DIR_CONTEXT, core_directory_path, 0,
                                           core_add_directory};

    return core_section(cmd, dir, arg, &kind);
}

static void core_add_location(cmd_parms *cmd, void *dir, void *vector)
{
    ap_add_per_url_conf(cmd->server, vector);
}

const char *core_section_location(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_section_kind kind = {NOT_IN_DIR_CONTEXT, NULL, 0, core_add_location};

    return core_section(cmd, dir, arg, &kind);
}

static void core_add_files(cmd_parms *cmd, void *dir, void *vector)
{
    ap_add_file_conf(cmd->pool, dir, vector);
}

const char *core_section_files(cmd_parms *cmd, void *dir, const char *arg)
{
    static const core_section_kind kind = {NOT_IN_LIMIT | NOT_IN_LOCATION, NULL, 1, core_add_files};

    return core_section(cmd, dir, arg, &kind);
}

/* ---- <If>, <ElseIf>, <Else> ---- */

static const char *core_if_condition(cmd_parms *cmd, const char *text, ap_expr_info_t **condition)
{
    const char *error = NULL, *word = text;

    text = ap_getword_conf(cmd->pool, &word);
    *condition = ap_expr_parse_cmd(cmd, text, 0, &error, NULL);
    if (error)
        return apr_psprintf(cmd->pool, "Cannot parse condition clause: %s", error);
    return *word ? apr_pstrcat(cmd->pool, "Multiple ", cmd->cmd->name,
                               "> arguments not (yet) supported.", NULL)
                 : NULL;
}

const char *core_section_if(cmd_parms *cmd, void *dir, const char *arg)
{
    unsigned kind = (unsigned)(apr_uintptr_t)cmd->info;
    const char *gt = strrchr(arg, '>'), *text, *error = NULL;
    ap_expr_info_t *condition = NULL;
    core_dir_config *conf;
    core_scope sc;

    if (!gt)
        return core_section_missing_gt(cmd);
    text = apr_pstrmemdup(cmd->pool, arg, (apr_size_t)(gt - arg));
    if (kind & AP_CONDITION_IF) {
        if (!*text)
            return core_section_no_args(cmd);
        error = core_if_condition(cmd, text, &condition);
    } else if (*text) {
        error = "<Else> does not take an argument";
    }
    if (error)
        return error;
    BRG_ASSERT(condition || !(kind & AP_CONDITION_IF));
    core_scope_open(&sc, cmd);
    if (!sc.path)
        cmd->override = OR_ALL | ACCESS_CONF;
    cmd->path = apr_pstrdup(cmd->pool, "*If");
    error = core_scope_walk(&sc);
    if (!error) {
        conf = core_scope_conf(&sc, cmd->path);
        conf->d_is_fnmatch = 0;
        conf->condition = condition;
        conf->condition_ifelse = kind & AP_CONDITION_ELSEIF;
        error = ap_add_if_conf(cmd->pool, dir, sc.vector);
        conf_explain_section(sc.vector, cmd->directive);
    }
    return core_scope_close(&sc, error, "");
}

/* ---- <VirtualHost> ---- */

static void core_append_server(server_rec *main_server, server_rec *s)
{
    BRG_ASSERT(!main_server->is_virtual && s->next == NULL);
    while (main_server->next)
        main_server = main_server->next;
    main_server->next = s;
}

const char *core_section_virtualhost(cmd_parms *cmd, void *dir, const char *arg)
{
    server_rec *main_server = cmd->server, *s;
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY), *addresses;
    const command_rec *command = cmd->cmd;

    if (!error)
        error = core_section_text(cmd, arg, &addresses);
    if (error)
        return error;
    error = ap_init_virtual_host(cmd->pool, addresses, main_server, &s);
    if (error)
        return error;
    BRG_ASSERT(s->is_virtual);
    core_append_server(main_server, s);
    s->defn_name = cmd->directive->filename;
    s->defn_line_number = (unsigned)cmd->directive->line_num;
    cmd->server = s;
    error = ap_walk_config(cmd->directive->first_child, cmd, s->lookup_defaults);
    cmd->server = main_server;
    cmd->cmd = command;
    return error;
}
