/* SPDX-License-Identifier: Apache-2.0 */
/* Tree to settings: each directive goes to every module that offers one of its name. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "configuration.h"
#include "hook_needs.h"
#include "module_rows.h"
#include "manual.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include <stdlib.h>

APLOG_USE_MODULE(core);

void conf_parms_init(cmd_parms *parms, apr_pool_t *p, apr_pool_t *ptemp, server_rec *s)
{
    memset(parms, 0, sizeof *parms);
    parms->pool = p;
    parms->temp_pool = ptemp;
    parms->server = s;
    parms->limited = -1;
    parms->override = (RSRC_CONF | OR_ALL) & ~(OR_AUTHCFG | OR_LIMIT);
    parms->override_opts = OPT_ALL | OPT_SYM_OWNER | OPT_MULTI;
}

/* "IfModule" for "<IfModule", or the other way round. */
static int conf_is_misspelt(const ap_directive_t *d, apr_pool_t *p)
{
    const char *name = d->directive;

    return conf_commands_find(*name == '<' ? name + 1 : apr_pstrcat(p, "<", name, NULL)) != NULL;
}

/* A question for the directive of an active module that was probably meant; "" if none is near. */
static const char *conf_meant(apr_pool_t *p, const char *name)
{
    brg_nearest nearest = {name, NULL, 0};

    for (const module *m = ap_top_module; m; m = m->next)
        for (const command_rec *c = m->cmds; c && c->name; c++)
            if ((*c->name == '<') == (*name == '<'))
                brg_nearest_offer(&nearest, c->name);
    return brg_nearest_question(p, &nearest);
}

/* A name that no active module offers: a mistake, or a directive of a module that we do not have.
 */
static const char *conf_unknown(ap_directive_t *d, cmd_parms *parms)
{
    const char *name = d->directive + (d->directive[0] == '<');
    const char *mod, *why;

    if (!conf_is_htaccess(parms) && !conf_is_misspelt(d, parms->temp_pool) &&
        (mod = module_rows_directive(name)) != NULL) {
        conf_unsupported_add(parms->pool, d, mod);
        return NULL;
    }
    if (!conf_is_htaccess(parms) && conf_absent_has(parms->temp_pool, NULL)) {
        conf_unsupported_add(parms->pool, d, "no module that is here");
        return NULL;
    }
    if (parms->override & NONFATAL_UNKNOWN) {
        ap_log_perror(APLOG_MARK, APLOG_DEBUG, 0, parms->temp_pool,
                      APLOGNO(02296) "Unknown directive %s perhaps misspelled or defined by "
                                     "a module not included in the server configuration",
                      d->directive);
        return NULL;
    }
    why = manual_why_missing(parms->temp_pool, name);
    return apr_pstrcat(parms->pool, "Invalid command '", d->directive,
                       "', perhaps misspelled or defined by a module not included in the server "
                       "configuration",
                       *why ? why : conf_meant(parms->temp_pool, d->directive), NULL);
}

static conf_directive_fn *conf_directive_told;

void conf_on_directive(conf_directive_fn *fn)
{
    conf_directive_told = fn;
}

static const char *conf_walk_unknown(ap_directive_t *d, cmd_parms *parms)
{
    const char *unknown = conf_unknown(d, parms);

    return unknown ? conf_mend(parms->pool, d, unknown) : NULL;
}

const char conf_not_here[] = "not offered in this configuration";

static const char *conf_walk_one(ap_directive_t *d, cmd_parms *parms, ap_conf_vector_t *section)
{
    const conf_command *c = conf_commands_find(d->directive);

    if (!c)
        return conf_walk_unknown(d, parms);
    for (; c; c = c->next) {
        void *dir = ap_set_config_vectors(parms->server, section, parms->path, c->mod, parms->pool);
        const char *error;

        hook_needs_directive(c->mod, c->cmd->name, parms->server, parms->pool);
        error = conf_invoke(c->cmd, parms, dir, d->args);
        if (error == conf_not_here && !c->next)
            return conf_walk_unknown(d, parms);
        if (error && strcmp(error, DECLINE_CMD) != 0)
            return conf_mend(parms->pool, d, error);
        if (conf_directive_told)
            conf_directive_told(c->mod, parms, section, d);
    }
    return NULL;
}

static const char *conf_left_out;

void conf_leave_out(const char *lines)
{
    conf_left_out = lines;
}

static int conf_is_left_out(const ap_directive_t *d)
{
    const char *line = conf_left_out;
    const size_t len = d->filename ? strlen(d->filename) : 0;

    for (; line && *line; line = strchr(line, '\n') + 1)
        if (!strncmp(line, d->filename, len) && line[len] == ':' &&
            atoi(line + len + 1) == d->line_num)
            return 1;
    return 0;
}

AP_DECLARE(const char *)
ap_walk_config(ap_directive_t *conftree, cmd_parms *parms, ap_conf_vector_t *section_vector)
{
    ap_conf_vector_t *outer = parms->context;
    ap_directive_t *section = parms->directive;
    const char *error = NULL;

    BRG_ASSERT(section_vector != NULL && parms->server != NULL);
    parms->context = section_vector;
    for (ap_directive_t *d = conftree; d && !error; d = d->next) {
        if (conf_left_out && conf_is_left_out(d))
            continue;
        parms->directive = d;
        error = conf_walk_one(d, parms, section_vector);
        if (error && !parms->err_directive)
            parms->err_directive = d;
    }
    parms->context = outer;
    parms->directive = section;
    return error;
}

AP_DECLARE(int)
ap_process_config_tree(server_rec *s, ap_directive_t *conftree, apr_pool_t *p, apr_pool_t *ptemp)
{
    cmd_parms parms;
    const char *error;

    conf_parms_init(&parms, p, ptemp, s);
    error = ap_walk_config(conftree, &parms, s->lookup_defaults);
    if (!error)
        return OK;
    if (conf_builtin_rereads())
        return HTTP_INTERNAL_SERVER_ERROR;
    if (parms.err_directive)
        ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, p,
                      APLOGNO(00526) "Syntax error on line %d of %s:",
                      parms.err_directive->line_num, parms.err_directive->filename);
    ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, p, "%s", error);
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* ---- contexts that a setter may ask about ---- */

static const struct {
    unsigned bit;
    const char *sections[3];
} conf_sections[] = {
    {NOT_IN_DIRECTORY, {"<Directory", "<DirectoryMatch", NULL}},
    {NOT_IN_LOCATION, {"<Location", "<LocationMatch", NULL}},
    {NOT_IN_FILES, {"<Files", "<FilesMatch", "<If"}},
    {NOT_IN_FILES, {"<ElseIf", "<Else", NULL}},
    {NOT_IN_PROXY, {"<Proxy", "<ProxyMatch", NULL}},
    {NOT_IN_LIMIT, {"<Limit", "<LimitExcept", NULL}},
};

/* The section that encloses d and is in the forbidden set. */
static const char *conf_forbidden_section(const ap_directive_t *d, unsigned forbidden)
{
    for (d = d->parent; d; d = d->parent) {
        for (unsigned i = 0; i < sizeof conf_sections / sizeof *conf_sections; i++) {
            if (!(conf_sections[i].bit & forbidden))
                continue;
            for (int k = 0; k < 3 && conf_sections[i].sections[k]; k++)
                if (!ap_cstr_casecmp(d->directive, conf_sections[i].sections[k]))
                    return d->directive;
        }
    }
    return NULL;
}

AP_DECLARE(const char *) ap_check_cmd_context(cmd_parms *cmd, unsigned forbidden)
{
    const char *name = cmd->cmd->name, *section = NULL;
    const char *gt = name[0] == '<' && name[strlen(name) - 1] != '>' ? ">" : "";

    if ((forbidden & NOT_IN_VIRTUALHOST) && cmd->server->is_virtual)
        section = "<VirtualHost";
    else if ((forbidden & NOT_IN_HTACCESS) && conf_is_htaccess(cmd))
        return apr_pstrcat(cmd->pool, name, gt, " cannot occur within htaccess files", NULL);
    else if ((forbidden & NOT_IN_LIMIT) && cmd->limited != -1)
        section = "<Limit> or <LimitExcept";
    else if ((forbidden & NOT_IN_DIR_LOC_FILE) == NOT_IN_DIR_LOC_FILE && cmd->path)
        return apr_pstrcat(cmd->pool, name, gt, " cannot occur within directory context", NULL);
    /* As in Apache, sections are not known while lines are read. */
    else if (cmd->directive && !(cmd->cmd->req_override & EXEC_ON_READ))
        section = conf_forbidden_section(cmd->directive, forbidden);
    if (!section)
        return NULL;
    return apr_pstrcat(cmd->pool, name, gt, " cannot occur within ", section, "> section", NULL);
}

AP_DECLARE(int) ap_method_is_limited(cmd_parms *cmd, const char *method)
{
    int number = ap_method_number_of(method);

    /* <LimitExcept> inverts its mask, so that the bit of "no known method" is set there. */
    if (number == M_INVALID && cmd->limited == -1)
        return 0;
    return (cmd->limited & (AP_METHOD_BIT << number)) != 0;
}
