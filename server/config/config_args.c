/* SPDX-License-Identifier: Apache-2.0 */
/* One directive: its permission in this context, its arguments, the call of the setter. */
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include "conf_position.h"
#include "configuration.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

#define CONF_MAX_ARGV 64

int conf_is_htaccess(const cmd_parms *parms)
{
    return parms->pool == parms->temp_pool;
}

/* ---- where ---- */

/* A directive that may not stand here: the message names the section around it, if there is one. */
static const char *conf_misplaced(const command_rec *cmd, const cmd_parms *parms)
{
    const ap_directive_t *parent = parms->directive ? parms->directive->parent : NULL;

    if (parent)
        return apr_pstrcat(parms->pool, cmd->name, " not allowed in ", parent->directive, ">",
                           " context", NULL);
    return apr_pstrcat(parms->pool, cmd->name, " not allowed here", NULL);
}

static int conf_is_allowed(const command_rec *cmd, const cmd_parms *parms)
{
    if (parms->override & cmd->req_override)
        return 1;
    return parms->override_list && apr_table_get(parms->override_list, cmd->name);
}

/* ---- arguments ---- */

static char *conf_word(cmd_parms *parms, const char **args)
{
    return ap_getword_conf(parms->pool, args);
}

static const char *conf_arity(const command_rec *cmd, const cmd_parms *parms, const char *takes)
{
    return apr_pstrcat(parms->pool, cmd->name, " ", takes, cmd->errmsg ? ", " : NULL, cmd->errmsg,
                       NULL);
}

/* Up to three words. @a allowed: bit n stands for n words; the first @a needed must not be empty.
 */
static int conf_cut(cmd_parms *parms, const char *args, char *w[3], unsigned allowed, int needed)
{
    int n = 0;

    BRG_ASSERT(allowed != 0 && needed >= 0 && needed <= 3);
    while (*args && n < 3 && (1u << (n + 1)) <= allowed)
        w[n++] = conf_word(parms, &args);
    for (int i = 0; i < needed && i < n; i++)
        if (!*w[i])
            return 0;
    return !*args && (allowed & (1u << n));
}

static const char *conf_call_words(const command_rec *cmd, cmd_parms *parms, void *mconfig,
                                   const char *args)
{
    static const struct {
        unsigned allowed;
        int needed;
        const char *takes;
    } forms[] = {
        [TAKE1] = {1 << 1, 1, "takes one argument"},
        [TAKE2] = {1 << 2, 2, "takes two arguments"},
        [TAKE12] = {1 << 1 | 1 << 2, 1, "takes 1-2 arguments"},
        [TAKE3] = {1 << 3, 3, "takes three arguments"},
        [TAKE23] = {1 << 2 | 1 << 3, 2, "takes two or three arguments"},
        [TAKE123] = {1 << 1 | 1 << 2 | 1 << 3, 1, "takes one, two or three arguments"},
        [TAKE13] = {1 << 1 | 1 << 3, 1, "takes one or three arguments"},
    };
    char *w[3] = {NULL, NULL, NULL};

    BRG_ASSERT((size_t)cmd->args_how < sizeof forms / sizeof *forms && forms[cmd->args_how].takes);
    if (!conf_cut(parms, args, w, forms[cmd->args_how].allowed, forms[cmd->args_how].needed))
        return conf_arity(cmd, parms, forms[cmd->args_how].takes);
    switch (cmd->args_how) {
    case TAKE1:
        return cmd->AP_TAKE1(parms, mconfig, w[0]);
    case TAKE2:
        return cmd->AP_TAKE2(parms, mconfig, w[0], w[1]);
    case TAKE12:
        return cmd->AP_TAKE2(parms, mconfig, w[0], w[1] && *w[1] ? w[1] : NULL);
    default:
        return cmd->AP_TAKE3(parms, mconfig, w[0], w[1], w[2]);
    }
}

static int conf_is_failure(const char *message)
{
    return message && strcmp(message, DECLINE_CMD) != 0;
}

static const char *conf_call_each(const command_rec *cmd, cmd_parms *parms, void *mconfig,
                                  const char *args)
{
    const char *w = conf_word(parms, &args), *error = NULL;

    if (!*w)
        return conf_arity(cmd, parms, "requires at least one argument");
    do {
        error = cmd->AP_TAKE1(parms, mconfig, w);
        w = conf_word(parms, &args);
    } while (*w && !conf_is_failure(error));
    return error;
}

static const char *conf_call_each_pair(const command_rec *cmd, cmd_parms *parms, void *mconfig,
                                       const char *args)
{
    const char *first = conf_word(parms, &args), *error = NULL, *w;

    if (!*first || !*args)
        return conf_arity(cmd, parms, "requires at least two arguments");
    /* An empty word ends the list; if it is the first, there is nothing to do. */
    while (!conf_is_failure(error) && *(w = conf_word(parms, &args)))
        error = cmd->AP_TAKE2(parms, mconfig, first, w);
    return error;
}

static const char *conf_call_argv(const command_rec *cmd, cmd_parms *parms, void *mconfig,
                                  const char *args)
{
    char *argv[CONF_MAX_ARGV];
    int argc = 0;

    while (*args) {
        char *w = conf_word(parms, &args);

        if (!*w && !*args)
            break;
        if (argc == CONF_MAX_ARGV)
            return apr_psprintf(parms->pool, "%s takes a maximum of %d arguments", cmd->name,
                                CONF_MAX_ARGV);
        argv[argc++] = w;
    }
    return cmd->AP_TAKE_ARGV(parms, mconfig, argc, argv);
}

static const char *conf_call_flag(const command_rec *cmd, cmd_parms *parms, void *mconfig,
                                  const char *args)
{
    /* As in Apache, words behind the first are not looked at: "RewriteEngine On # comment". */
    const char *w = conf_word(parms, &args);
    int on = !ap_cstr_casecmp(w, "on");

    if (!on && ap_cstr_casecmp(w, "off"))
        return apr_pstrcat(parms->pool, cmd->name, " must be On or Off", NULL);
    return cmd->AP_FLAG(parms, mconfig, on);
}

static const char *conf_call(const command_rec *cmd, cmd_parms *parms, void *mconfig,
                             const char *args)
{
    switch (cmd->args_how) {
    case RAW_ARGS:
        return cmd->AP_RAW_ARGS(parms, mconfig, args);
    case TAKE_ARGV:
        return conf_call_argv(cmd, parms, mconfig, args);
    case NO_ARGS:
        if (*args)
            return conf_arity(cmd, parms, "takes no arguments");
        return cmd->AP_NO_ARGS(parms, mconfig);
    case ITERATE:
        return conf_call_each(cmd, parms, mconfig, args);
    case ITERATE2:
        return conf_call_each_pair(cmd, parms, mconfig, args);
    case FLAG:
        return conf_call_flag(cmd, parms, mconfig, args);
    case TAKE1:
    case TAKE2:
    case TAKE12:
    case TAKE3:
    case TAKE23:
    case TAKE123:
    case TAKE13:
        return conf_call_words(cmd, parms, mconfig, args);
    }
    return apr_pstrcat(parms->pool, cmd->name, " is improperly configured internally (server bug)",
                       NULL);
}

const char *conf_invoke(const command_rec *cmd, cmd_parms *parms, void *mconfig, const char *args)
{
    const ap_directive_t *d = parms->directive;
    const char *error;
    conf_position outer;

    BRG_ASSERT(cmd->name != NULL);
    /* Modules build nodes without arguments (mod_lua does): setters of RAW_ARGS get the NULL, the others see no words. */
    if (!args && cmd->args_how != RAW_ARGS)
        args = "";
    if (!conf_is_allowed(cmd, parms)) {
        error = conf_misplaced(cmd, parms);
        if (!(parms->override & NONFATAL_OVERRIDE))
            return error;
        ap_log_perror(APLOG_MARK, APLOG_DEBUG, 0, parms->temp_pool,
                      APLOGNO(02295) "%s in .htaccess forbidden by AllowOverride", cmd->name);
        return NULL;
    }
    parms->info = cmd->cmd_data;
    parms->cmd = cmd;
    conf_env_note(cmd->name, args);
    outer = conf_position_set(d ? (conf_position){d->filename, d->line_num, d->directive}
                                : (conf_position){0});
    error = conf_call(cmd, parms, mconfig, args);
    conf_position_set(outer);
    return error;
}
