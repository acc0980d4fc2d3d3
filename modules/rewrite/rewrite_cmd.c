/* SPDX-License-Identifier: Apache-2.0 */
/* RewriteEngine, RewriteOptions, RewriteBase, RewriteCond, RewriteRule. */
#include "rewrite_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/field_names.h"
#include "brigade/response_cache.h"

#include <string.h>

APLOG_USE_MODULE(rewrite);

static rewrite_conf *rewrite_server_conf(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &rewrite_module);
}

/* Rules outside of sections are the server's. */
static rewrite_conf *rewrite_rules_conf(const cmd_parms *cmd, void *dir)
{
    return cmd->path == NULL ? rewrite_server_conf(cmd) : dir;
}

static const char *rewrite_set_engine(cmd_parms *cmd, void *dir, int flag)
{
    rewrite_conf *conf = dir, *server = rewrite_server_conf(cmd);

    conf->on = flag != 0;
    conf->on_set = 1;
    if (cmd->path == NULL) {
        server->on = flag != 0;
        server->on_set = 1;
    }
    return NULL;
}

static unsigned rewrite_option(const char *word)
{
    static const struct {
        const char *name;
        unsigned bit;
    } options[] = {{"inherit", REWRITE_O_INHERIT},
                   {"inheritbefore", REWRITE_O_INHERIT_BEFORE},
                   {"inheritdown", REWRITE_O_INHERIT_DOWN},
                   {"inheritdownbefore", REWRITE_O_INHERIT_DOWN_BEFORE},
                   {"ignoreinherit", REWRITE_O_IGNORE_INHERIT},
                   {"allownoslash", REWRITE_O_NOSLASH},
                   {"allowanyuri", REWRITE_O_ANYURI},
                   {"mergebase", REWRITE_O_MERGEBASE},
                   {"ignorecontextinfo", REWRITE_O_IGNORE_CONTEXT},
                   {"legacyprefixdocroot", REWRITE_O_LEGACY_PREFIX},
                   {"UnsafePrefixStat", REWRITE_O_PREFIXSTAT}};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!strcasecmp(word, options[i].name))
            return options[i].bit;
    return 0;
}

static const char *rewrite_set_option(cmd_parms *cmd, void *dir, const char *word)
{
    rewrite_conf *conf = dir, *server = rewrite_server_conf(cmd);
    unsigned bit = rewrite_option(word);

    if (!bit && !strncasecmp(word, "MaxRedirects=", 13))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     APLOGNO(00664) "RewriteOptions: MaxRedirects option has been removed in favor "
                                    "of the global LimitInternalRecursion directive and will be "
                                    "ignored.");
    else if (!bit)
        return apr_pstrcat(cmd->pool, "RewriteOptions: unknown option '", word, "'", NULL);
    conf->options |= bit;
    conf->options_set = 1;
    if (cmd->path == NULL) {
        server->options |= bit;
        server->options_set = 1;
    }
    return NULL;
}

static const char *rewrite_set_base(cmd_parms *cmd, void *dir, const char *base)
{
    rewrite_conf *conf = dir;

    if (cmd->path == NULL || conf == NULL)
        return "RewriteBase: only valid in per-directory config files";
    if (*base == '\0')
        return "RewriteBase: empty URL not allowed";
    if (*base != '/')
        return "RewriteBase: argument is not a valid URL";
    conf->base = base;
    conf->base_set = 1;
    return NULL;
}

/* ---- RewriteCond ---- */

static const char *rewrite_cond_flag(apr_pool_t *p, void *target, char *name, char *value)
{
    rewrite_cond *cond = target;

    if (!strcasecmp(name, "NC") || !strcasecmp(name, "nocase"))
        cond->nocase = 1;
    else if (!strcasecmp(name, "OR") || !strcasecmp(name, "ornext"))
        cond->or_next = 1;
    else if (!strcasecmp(name, "NV") || !strcasecmp(name, "novary"))
        cond->no_vary = 1;
    else
        return apr_pstrcat(p, "unknown flag '", name, "'", NULL);
    return NULL;
}

/* -f and the like, or -lt and the like with a number behind it. */
static void rewrite_dash_test(rewrite_cond *cond, const char *pattern)
{
    static const struct {
        char name;
        rewrite_test test;
    } files[] = {{'f', REWRITE_FILE},    {'s', REWRITE_NONEMPTY}, {'l', REWRITE_LINK},
                 {'h', REWRITE_LINK},    {'L', REWRITE_LINK},     {'d', REWRITE_FOLDER},
                 {'x', REWRITE_PROGRAM}, {'U', REWRITE_URL},      {'F', REWRITE_PATH}};
    static const struct {
        char name[3];
        rewrite_test test;
    } numbers[] = {{"lt", REWRITE_LT}, {"le", REWRITE_LE}, {"eq", REWRITE_EQ},
                   {"ge", REWRITE_GE}, {"gt", REWRITE_GT}, {"ne", REWRITE_EQ}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (pattern[1] == files[i].name && !pattern[2])
            cond->test = files[i].test;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (pattern[1] == numbers[i].name[0] && pattern[2] == numbers[i].name[1]) {
            cond->test = numbers[i].test;
            cond->operand = pattern + 3;
            if (pattern[1] == 'n')
                cond->negated ^= 1;
        }
}

static void rewrite_text_test(rewrite_cond *cond, const char *pattern)
{
    int equal = pattern[1] == '=';

    if (*pattern == '<') {
        cond->test = equal ? REWRITE_LESS_EQUAL : REWRITE_LESS;
    } else if (*pattern == '>') {
        cond->test = equal ? REWRITE_MORE_EQUAL : REWRITE_MORE;
    } else if (*pattern == '=') {
        cond->test = REWRITE_SAME;
        equal = 0;
    } else {
        return;
    }
    cond->operand = pattern + 1 + equal;
    if (cond->test == REWRITE_SAME && !strcmp(cond->operand, "\"\""))
        cond->operand += 2;
}

static const char *rewrite_compile_expr(cmd_parms *cmd, rewrite_cond *cond)
{
    const int in_htaccess = rewrite_in_htaccess(cmd);
    const char *error = NULL;
    const unsigned flags = cond->no_vary ? AP_EXPR_FLAG_DONT_VARY : 0;

    cond->test = REWRITE_EXPR;
    cond->expr = ap_expr_parse_cmd(cmd, cond->shown, flags, &error, NULL);
    if (!error)
        return NULL;
    return apr_psprintf(cmd->pool, "RewriteCond: cannot compile expression%s \"%s\" %s",
                        in_htaccess ? " in htaccess context" : "", cond->shown, error);
}

static const char *rewrite_compile_cond(cmd_parms *cmd, rewrite_cond *cond)
{
    if (!strcasecmp(cond->input, "expr"))
        return rewrite_compile_expr(cmd, cond);
    if (*cond->shown == '-')
        rewrite_dash_test(cond, cond->shown);
    else
        rewrite_text_test(cond, cond->shown);
    if (cond->test != REWRITE_REGEX)
        return NULL;
    cond->regex =
        ap_pregcomp(cmd->pool, cond->shown, AP_REG_EXTENDED | (cond->nocase ? AP_REG_ICASE : 0));
    return cond->regex ? NULL
                       : apr_pstrcat(cmd->pool, "RewriteCond: cannot compile regular expression '",
                                     cond->shown, "'", NULL);
}

static int rewrite_ignores_case(const rewrite_cond *cond)
{
    return cond->test == REWRITE_REGEX ||
           (cond->test >= REWRITE_LESS && cond->test <= REWRITE_MORE);
}

static const char *rewrite_set_cond(cmd_parms *cmd, void *dir, const char *line)
{
    rewrite_conf *conf = rewrite_rules_conf(cmd, dir);
    rewrite_cond *cond = apr_array_push(conf->conds);
    const char *error;
    char *arg[3];

    memset(cond, 0, sizeof *cond);
    cond->line = cmd->directive;
    if (rewrite_split_line(apr_pstrdup(cmd->pool, line), arg))
        return apr_pstrcat(cmd->pool, "RewriteCond: bad argument line '", line, "'", NULL);
    cond->input = arg[0];
    if (arg[2] && (error = rewrite_parse_flags(cmd->pool, cond, arg[2], rewrite_cond_flag)) != NULL)
        return apr_pstrcat(cmd->pool, "RewriteCond: ", error, NULL);
    cond->negated = *arg[1] == '!';
    cond->marked = cond->negated;
    cond->shown = arg[1] + cond->negated;
    cond->lasting = !rewrite_in_htaccess(cmd);
    if ((error = rewrite_compile_cond(cmd, cond)) != NULL)
        return error;
    cond->field = rewrite_field_of(cmd->pool, cond->input);
    if (cond->test == REWRITE_REGEX && !strcmp(cond->input, "%{QUERY_STRING}"))
        cond->query = apr_pstrcat(cmd->pool, BRG_CACHE_VARY_QUERY, cond->nocase ? "i " : "- ",
                                  cond->shown, NULL);
    rewrite_note_waits(cond->input);
    if (!cond->nocase || rewrite_ignores_case(cond))
        return NULL;
    cond->nocase = 0;
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                 APLOGNO(00665) "RewriteCond: NoCase option for non-regex pattern '%s' is not "
                                "supported and will be ignored. (%s:%d)",
                 cond->operand ? cond->operand : cond->shown, cmd->directive->filename,
                 cmd->directive->line_num);
    return NULL;
}

/* ---- RewriteRule ---- */

/* A '?' at the end removes the query; with QSA the old one remains, and other '?' belong to the
 * path. */
static void rewrite_look_at_output(rewrite_rule *rule, char *output)
{
    apr_size_t len = strlen(output);

    rule->output = output;
    if (!strcmp(output, "-")) {
        rule->flags |= REWRITE_F_NOSUB;
    } else if (len && output[len - 1] == '?') {
        rule->flags |= rule->flags & REWRITE_F_QSAPPEND ? REWRITE_F_QSLAST : REWRITE_F_QSNONE;
        if (rule->flags & REWRITE_F_QSNONE)
            output[len - 1] = '\0';
    }
    if ((rule->flags & REWRITE_F_QSDISCARD) && !strchr(output, '?'))
        rule->flags |= REWRITE_F_QSNONE;
}

static int rewrite_uses_captures(const char *text)
{
    for (; text && *text; text++)
        if (*text == '%' && apr_isdigit(text[1]))
            return 1;
    return 0;
}

static int rewrite_lists_captures(const apr_array_header_t *list)
{
    for (int i = 0; list && i < list->nelts; i++)
        if (rewrite_uses_captures(APR_ARRAY_IDX(list, i, const char *)))
            return 1;
    return 0;
}

/* Of a condition without captures that are used it counts whether it holds, not the value. */
static void rewrite_note_captures(rewrite_rule *rule)
{
    int used = rewrite_uses_captures(rule->output) || rewrite_uses_captures(rule->type) ||
               rewrite_uses_captures(rule->handler) || rewrite_lists_captures(rule->envs) ||
               rewrite_lists_captures(rule->cookies);

    for (int i = rule->conds->nelts - 1; i >= 0; i--) {
        rewrite_cond *cond = &APR_ARRAY_IDX(rule->conds, i, rewrite_cond);

        cond->captures = used != 0;
        used |= rewrite_uses_captures(cond->input);
    }
}

static void rewrite_note_rule_waits(const rewrite_rule *rule)
{
    rewrite_note_waits(rule->output);
    for (int i = 0; rule->envs && i < rule->envs->nelts; i++)
        rewrite_note_waits(APR_ARRAY_IDX(rule->envs, i, const char *));
    for (int i = 0; rule->cookies && i < rule->cookies->nelts; i++)
        rewrite_note_waits(APR_ARRAY_IDX(rule->cookies, i, const char *));
}

static const char *rewrite_set_rule(cmd_parms *cmd, void *dir, const char *line)
{
    rewrite_conf *conf = rewrite_rules_conf(cmd, dir);
    rewrite_rule *rule = apr_array_push(conf->rules);
    const char *error;
    char *arg[3];

    memset(rule, 0, sizeof *rule);
    rule->line = cmd->directive;
    rule->status = HTTP_MOVED_TEMPORARILY;
    rule->rounds = REWRITE_ROUNDS;
    if (rewrite_split_line(apr_pstrdup(cmd->pool, line), arg))
        return apr_pstrcat(cmd->pool, "RewriteRule: bad argument line '", line, "'", NULL);
    if (arg[2] && (error = rewrite_parse_flags(cmd->pool, rule, arg[2], rewrite_rule_flag)) != NULL)
        return apr_pstrcat(cmd->pool, "RewriteRule: ", error, NULL);
    if (*arg[0] == '!')
        rule->flags |= REWRITE_F_NEGATED;
    rule->pattern = arg[0] + (*arg[0] == '!');
    rule->regex =
        ap_pregcomp(cmd->pool, rule->pattern,
                    AP_REG_EXTENDED | (rule->flags & REWRITE_F_NOCASE ? AP_REG_ICASE : 0));
    if (!rule->regex)
        return apr_pstrcat(cmd->pool, "RewriteRule: cannot compile regular expression '",
                           rule->pattern, "'", NULL);
    rewrite_look_at_output(rule, arg[1]);
    rule->conds = conf->conds;
    conf->conds = apr_array_make(cmd->pool, 2, sizeof(rewrite_cond));
    rewrite_note_captures(rule);
    rewrite_note_rule_waits(rule);
    rewrite_tell_rule(rule);
    return NULL;
}

const command_rec rewrite_commands[] = {
    AP_INIT_FLAG("RewriteEngine", rewrite_set_engine, NULL, OR_FILEINFO,
                 "On or Off to enable or disable (default) the whole rewriting engine"),
    AP_INIT_ITERATE("RewriteOptions", rewrite_set_option, NULL, OR_FILEINFO,
                    "List of option strings to set"),
    AP_INIT_TAKE1("RewriteBase", rewrite_set_base, NULL, OR_FILEINFO,
                  "the base URL of the per-directory context"),
    AP_INIT_RAW_ARGS("RewriteCond", rewrite_set_cond, NULL, OR_FILEINFO,
                     "an input string and a to be applied regexp-pattern"),
    AP_INIT_RAW_ARGS("RewriteRule", rewrite_set_rule, NULL, OR_FILEINFO,
                     "an URL-applied regexp-pattern and a substitution URL"),
    AP_INIT_TAKE23("RewriteMap", rewrite_set_map, NULL, RSRC_CONF,
                   "a mapname and a filename and options"),
    {.name = NULL}};
