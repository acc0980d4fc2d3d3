/* SPDX-License-Identifier: Apache-2.0 */
/* Options, and the contents of .htaccess files: AllowOverride, AllowOverrideList, AccessFileName. */
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_private.h"

APLOG_USE_MODULE(core);

/* ---- Options ---- */

/* A word of a directive; the last one of a table has no name. */
typedef struct core_word {
    const char *name;
    int bits;
} core_word;

static const core_word core_options[] = {
    {"Indexes", OPT_INDEXES},
    {"Includes", OPT_INCLUDES | OPT_INC_WITH_EXEC},
    {"IncludesNOEXEC", OPT_INCLUDES},
    {"FollowSymLinks", OPT_SYM_LINKS},
    {"SymLinksIfOwnerMatch", OPT_SYM_OWNER},
    {"ExecCGI", OPT_EXECCGI},
    {"MultiViews", OPT_MULTI},
    {"RunScripts", OPT_MULTI | OPT_EXECCGI},
    {"None", OPT_NONE},
    {"All", OPT_ALL},
    {NULL, 0},
};

/* -1: there is no such word. */
static int core_word_bits(const core_word *words, const char *name)
{
    for (; words->name; words++)
        if (!ap_cstr_casecmp(name, words->name))
            return words->bits;
    return -1;
}

static const char *core_word_unknown(const cmd_parms *cmd, const core_word *words, const char *what,
                                     const char *word)
{
    brg_nearest nearest = {word, NULL, 0};

    for (; words->name; words++)
        brg_nearest_offer(&nearest, words->name);
    return apr_pstrcat(cmd->pool, "Illegal ", what, " ", word,
                       brg_nearest_question(cmd->temp_pool, &nearest), NULL);
}

static void core_option_apply(core_dir_config *d, char sign, allow_options_t bits)
{
    BRG_ASSERT(!sign || sign == '+' || sign == '-');
    if (sign == '-') {
        d->opts_remove |= bits;
        d->opts_add &= (allow_options_t)~bits;
        d->opts &= (allow_options_t)~bits;
        return;
    }
    if (sign == '+') {
        d->opts_add |= bits;
        d->opts_remove &= (allow_options_t)~bits;
    }
    d->opts |= bits;
    /* IncludesNOEXEC said after Includes takes exec away again. */
    if (bits == OPT_INCLUDES) {
        d->opts &= (allow_options_t)~OPT_INC_WITH_EXEC;
        d->opts_add &= (allow_options_t)~OPT_INC_WITH_EXEC;
    }
}

/* Signs that the words of a line may have: none; either, since the first one was All or None, until
 * one has a sign; + or -. */
typedef enum { CORE_SIGNS_NONE, CORE_SIGNS_FREE, CORE_SIGNS_ALL } core_signs;

/* Whether word @a n may stand where it does. All and None come first and without a sign. */
static const char *core_option_place(int n, char sign, allow_options_t bits, core_signs *signs)
{
    int whole = bits == OPT_ALL || bits == OPT_NONE;

    if (!n)
        *signs = sign ? CORE_SIGNS_ALL : whole ? CORE_SIGNS_FREE : CORE_SIGNS_NONE;
    else if (sign && *signs == CORE_SIGNS_FREE)
        *signs = CORE_SIGNS_ALL;
    if (*signs != CORE_SIGNS_FREE && !sign != (*signs == CORE_SIGNS_NONE))
        return "Either all Options must start with + or -, or no Option may.";
    if (whole && n)
        return bits == OPT_ALL ? "'Options All' must be the first option given."
                               : "'Options None' must be the first Option given.";
    if (whole && sign)
        return bits == OPT_ALL ? "You may not use 'Options +All' or 'Options -All'."
                               : "You may not use 'Options +None' or 'Options -None'.";
    return NULL;
}

const char *core_set_options(cmd_parms *cmd, void *dir, const char *args)
{
    core_dir_config *d = dir;
    core_signs signs = CORE_SIGNS_NONE;

    for (int n = 0; *args; n++) {
        char *word = ap_getword_conf(cmd->pool, &args);
        char sign = *word == '+' || *word == '-' ? *word++ : '\0';
        const char *error;
        const int bits = core_word_bits(core_options, word);

        if (!n && !sign) {
            d->opts = OPT_NONE;
            d->opts_add = d->opts_remove = OPT_NONE;
        }
        if (bits < 0)
            return core_word_unknown(cmd, core_options, "option", word);
        if ((error = core_option_place(n, sign, (allow_options_t)bits, &signs)) != NULL)
            return error;
        if ((cmd->override_opts & bits) != bits)
            return apr_pstrcat(cmd->pool, "Option ", word, " not allowed here", NULL);
        core_option_apply(d, sign, (allow_options_t)bits);
    }
    return NULL;
}

/* ---- AllowOverride ---- */

/* "Options=A,B": the options that .htaccess may set. */
static const char *core_allowed_options(cmd_parms *cmd, core_dir_config *d, char *list)
{
    char *state = NULL;

    BRG_ASSERT(list != NULL && (d->override & OR_OPTIONS));
    d->override_opts = OPT_NONE;
    for (char *w = apr_strtok(list, ",", &state); w; w = apr_strtok(NULL, ",", &state)) {
        const int bits = core_word_bits(core_options, w);

        if (bits < 0)
            return core_word_unknown(cmd, core_options, "option", w);
        d->override_opts |= (allow_options_t)bits;
    }
    return NULL;
}

static int core_nonfatal(const char *what)
{
    if (!ap_cstr_casecmp(what, "Override"))
        return NONFATAL_OVERRIDE;
    if (!ap_cstr_casecmp(what, "Unknown"))
        return NONFATAL_UNKNOWN;
    return ap_cstr_casecmp(what, "All") ? 0 : NONFATAL_ALL;
}

static const core_word core_classes[] = {
    {"Limit", OR_LIMIT},        {"FileInfo", OR_FILEINFO},
    {"AuthConfig", OR_AUTHCFG}, {"Indexes", OR_INDEXES},
    {"Options", OR_OPTIONS},    {"All", OR_ALL},
    {"None", OR_NONE},          {NULL, 0},
};

static const char *core_override_word(cmd_parms *cmd, core_dir_config *d, char *word)
{
    char *value = strchr(word, '=');
    const char *all = apr_pstrdup(cmd->pool, word);
    int bits;

    if (value)
        *value++ = '\0';
    if (value && !ap_cstr_casecmp(word, "Nonfatal"))
        bits = core_nonfatal(value) ? core_nonfatal(value) : -1;
    else
        bits = core_word_bits(core_classes, word);
    if (bits < 0 || (value && bits != OR_OPTIONS && !(bits & NONFATAL_ALL)))
        return core_word_unknown(cmd, core_classes, "override option", all);
    d->override |= (overrides_t)bits;
    if (bits == OR_OPTIONS && value)
        return core_allowed_options(cmd, d, value);
    if (bits & OR_OPTIONS)
        d->override_opts = OPT_ALL | OPT_SYM_OWNER | OPT_MULTI;
    return NULL;
}

/* .htaccess belongs to directories: elsewhere the directive does nothing. */
static void core_warn_useless(cmd_parms *cmd)
{
    if (ap_check_cmd_context(cmd, NOT_IN_LOCATION | NOT_IN_FILES))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     APLOGNO(00114) "Useless use of %s in line %d of %s.", cmd->cmd->name,
                     cmd->directive->line_num, cmd->directive->filename);
}

const char *core_set_allow_override(cmd_parms *cmd, void *dir, const char *args)
{
    core_dir_config *d = dir;
    /* AllowOverrideList may name it. */
    const char *error = ap_check_cmd_context(cmd, NOT_IN_HTACCESS);

    if (error)
        return error;
    core_warn_useless(cmd);
    d->override = OR_NONE;
    while (*args && !error)
        error = core_override_word(cmd, d, ap_getword_conf(cmd->pool, &args));
    return error;
}

static void core_override_list_add(cmd_parms *cmd, core_dir_config *d, const char *name)
{
    const conf_command *c = conf_commands_find(name);

    if (!c) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     APLOGNO(00116) "Discarding unrecognized directive `%s' in %s at %s:%d", name,
                     cmd->cmd->name, cmd->directive->filename, cmd->directive->line_num);
        return;
    }
    for (; c; c = c->next) {
        BRG_ASSERT(c->cmd != NULL && d->override_list != NULL);
        if (c->cmd->req_override & (OR_ALL | ACCESS_CONF)) {
            /* Looked up by the name that the module gave it. */
            apr_table_set(d->override_list, c->cmd->name, "1");
            return;
        }
    }
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                 APLOGNO(02304) "Discarding directive `%s' not allowed in %s at %s:%d", name,
                 cmd->cmd->name, cmd->directive->filename, cmd->directive->line_num);
}

const char *core_set_allow_override_list(cmd_parms *cmd, void *dir, int argc, char *const argv[])
{
    core_dir_config *d = dir;
    const char *error = ap_check_cmd_context(cmd, NOT_IN_HTACCESS);

    if (error)
        return error;
    core_warn_useless(cmd);
    d->override_list = apr_table_make(cmd->pool, argc ? argc : 1);
    if (argc == 1 && !ap_cstr_casecmp(argv[0], "None"))
        return NULL;
    for (int i = 0; i < argc; i++)
        core_override_list_add(cmd, d, argv[i]);
    return NULL;
}

const char *core_set_access_name(cmd_parms *cmd, void *dir, const char *arg)
{
    core_server_config *c = core_conf(cmd);
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (!error)
        c->access_name = apr_pstrdup(cmd->pool, arg);
    return error;
}
