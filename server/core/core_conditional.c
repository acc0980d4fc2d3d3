/* SPDX-License-Identifier: Apache-2.0 */
/* <IfModule> and the other sections that are read or skipped while the file is parsed. As setters of EXEC_ON_READ
 * directives they get a pointer to where the tree of their content goes, which takes the section's place. */
#include "http_config.h"
#include "http_core.h"
#include "apr_file_info.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_private.h"
#include "core_section.h"
#include "proxy.h"
#include "cached.h"
#include "brigade/assert.h"

typedef int core_condition_fn(cmd_parms *cmd, const char *arg);

static int core_has_module(cmd_parms *cmd, const char *arg)
{
    const module *m = conf_find_module(arg);

    if (m)
        return !strcmp(m->name, arg) || !strcmp(conf_module_symbol(m), arg);
    if (proxy_php_is_module(arg) || cached_ls_is_module(cmd, arg))
        return 1;
    return conf_absent_has(cmd->temp_pool, arg);
}

static int core_has_define(cmd_parms *cmd, const char *arg)
{
    return ap_exists_config_define(arg);
}

static int core_has_file(cmd_parms *cmd, const char *arg)
{
    const char *path = ap_server_root_relative(cmd->temp_pool, arg);
    apr_finfo_t info;

    conf_note_unrepeatable();
    return path && apr_stat(&info, path, APR_FINFO_TYPE, cmd->temp_pool) == APR_SUCCESS;
}

static int core_has_directive(cmd_parms *cmd, const char *arg)
{
    return conf_commands_find(arg) != NULL;
}

static int core_has_section(cmd_parms *cmd, const char *arg)
{
    return conf_commands_find(apr_pstrcat(cmd->temp_pool, "<", arg, NULL)) != NULL;
}

const char *conf_conditional(cmd_parms *cmd, ap_directive_t **tree, int holds)
{
    /* The setter's command record is lost while nested directives run. */
    char *name = apr_pstrdup(cmd->temp_pool, cmd->cmd->name);
    ap_directive_t *parent = NULL;

    BRG_ASSERT(cmd->cmd->req_override & EXEC_ON_READ);
    *tree = NULL;
    if (!holds)
        return ap_soak_end_container(cmd, name);
    return ap_build_cont_config(cmd->pool, cmd->temp_pool, cmd, tree, &parent, name);
}

static const char *core_conditional(cmd_parms *cmd, void *tree, const char *arg,
                                    core_condition_fn *condition)
{
    const char *text, *error = core_section_text(cmd, arg, &text);
    int negate, holds;

    if (error)
        return error;
    negate = *text == '!';
    text += negate;
    text = ap_getword_conf(cmd->temp_pool, &text);
    if (!*text)
        return core_section_no_args(cmd);
    BRG_ASSERT(condition != NULL && tree != NULL);
    holds = condition(cmd, text) != 0;
    return conf_conditional(cmd, tree, holds != negate);
}

const char *core_if_module(cmd_parms *cmd, void *tree, const char *arg)
{
    return core_conditional(cmd, tree, arg, core_has_module);
}

const char *core_if_define(cmd_parms *cmd, void *tree, const char *arg)
{
    return core_conditional(cmd, tree, arg, core_has_define);
}

const char *core_if_file(cmd_parms *cmd, void *tree, const char *arg)
{
    return core_conditional(cmd, tree, arg, core_has_file);
}

const char *core_if_directive(cmd_parms *cmd, void *tree, const char *arg)
{
    return core_conditional(cmd, tree, arg, core_has_directive);
}

const char *core_if_section(cmd_parms *cmd, void *tree, const char *arg)
{
    return core_conditional(cmd, tree, arg, core_has_section);
}
