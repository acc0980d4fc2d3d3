/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directives of mod_setenvif. Outside of sections they belong to the server and run before
 * anything else looks at the request; inside, to the directory configuration, and run once that is
 * known.
 */
#include "setenvif_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"

#include <string.h>

APLOG_USE_MODULE(setenvif);

static setenvif_conf *setenvif_conf_for(const cmd_parms *cmd, void *dir_conf)
{
    return cmd->path ? dir_conf
                     : ap_get_module_config(cmd->server->module_config, &setenvif_module);
}

static setenvif_source setenvif_source_of(const char *name)
{
    static const struct {
        const char *name;
        setenvif_source source;
    } known[] = {
        {"remote_addr", SETENVIF_REMOTE_ADDR},
        {"remote_host", SETENVIF_REMOTE_HOST},
        {"request_uri", SETENVIF_REQUEST_URI},
        {"request_method", SETENVIF_REQUEST_METHOD},
        {"request_protocol", SETENVIF_REQUEST_PROTOCOL},
        {"server_addr", SETENVIF_SERVER_ADDR},
    };
    const char *c;
    apr_size_t i;

    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcasecmp(name, known[i].name) == 0)
            return known[i].source;
    for (c = name; *c; c++)
        if (!apr_isalnum(*c) && *c != '-' && *c != '_')
            return SETENVIF_HEADER_REGEX;
    return SETENVIF_NAMED;
}

/* -1: not the name of a variable that says which network the client is in, or there is no ASTable. */
static int setenvif_network_of(const char *name)
{
    APR_OPTIONAL_FN_TYPE(brg_client_network_variable) *number =
        APR_RETRIEVE_OPTIONAL_FN(brg_client_network_variable);

    return number ? number(name) : -1;
}

/*
 * The text that a pattern stands for when it has no operators, only escaped punctuation; NULL if it
 * needs a regular expression.
 */
static const char *setenvif_literal_of(apr_pool_t *p, const char *pattern)
{
    char *text, *to;

    if (*pattern == '\0')
        return NULL;
    text = to = apr_palloc(p, strlen(pattern) + 1);
    for (; *pattern; pattern++) {
        if (*pattern == '\\') {
            pattern++;
            if (!apr_ispunct(*pattern))
                return NULL;
        } else if (strchr("$^*+?.()[]{}|", *pattern)) {
            return NULL;
        }
        *to++ = *pattern;
    }
    *to = '\0';
    return text;
}

/* "[!]NAME[=VALUE]" */
static void setenvif_parse_change(cmd_parms *cmd, const char *word, setenvif_change *change)
{
    const char *name = ap_getword(cmd->pool, &word, '=');

    change->has_refs = 0;
    change->name = name;
    change->value = *word ? word : "1";
    if (*word) {
        change->has_refs = strpbrk(word, "$&\\") != NULL;
    } else if (*name == '!') {
        change->name = name + 1;
        change->value = NULL;
    }
}

static const char *setenvif_add_changes(cmd_parms *cmd, setenvif_rule *rule, const char *args)
{
    rule->changes = apr_array_make(cmd->pool, 2, sizeof(setenvif_change));
    while (*args) {
        const char *word = ap_getword_conf(cmd->pool, &args);

        if (*word == '\0')
            break; /* as with Apache, an empty word ends the list */
        setenvif_parse_change(cmd, word, apr_array_push(rule->changes));
    }
    if (rule->changes->nelts == 0)
        return apr_pstrcat(cmd->pool, "Missing envariable expression for ", cmd->cmd->name, NULL);
    return NULL;
}

static void setenvif_classify(setenvif_conf *conf, const setenvif_rule *rule)
{
    switch (rule->source) {
    case SETENVIF_REQUEST_METHOD:
    case SETENVIF_REQUEST_PROTOCOL:
    case SETENVIF_EXPR:
        conf->asks = 1;
        break;
    case SETENVIF_REQUEST_URI:
        break;
    case SETENVIF_HEADER_REGEX:
        conf->names |= rule->field == NULL;
        break;
    default:
        conf->varies |= rule->field == NULL || !strcasecmp(rule->field, "UNIQUE_ID");
    }
}

static void setenvif_add_rule(cmd_parms *cmd, void *dir_conf, setenvif_rule *rule)
{
    setenvif_conf *conf = setenvif_conf_for(cmd, dir_conf);

    if (conf->rules == NULL) {
        conf->rules = apr_array_make(cmd->pool, 8, sizeof(setenvif_rule));
    } else {
        const setenvif_rule *last =
            &APR_ARRAY_IDX(conf->rules, conf->rules->nelts - 1, setenvif_rule);

        rule->repeats = rule->source != SETENVIF_EXPR && last->source == rule->source &&
                        strcasecmp(last->name, rule->name) == 0;
    }
    APR_ARRAY_PUSH(conf->rules, setenvif_rule) = *rule;
    if (setenvif_is_of_client(rule))
        conf->clients = 1;
    else
        setenvif_classify(conf, rule);
}

static const char *setenvif_compile_pattern(cmd_parms *cmd, setenvif_rule *rule,
                                            const char *pattern)
{
    int icase = cmd->info != NULL;
    const char *literal = setenvif_literal_of(cmd->pool, pattern);

    if (literal)
        rule->literal = apr_strmatch_precompile(cmd->pool, literal, !icase);
    else
        rule->regex = ap_pregcomp(cmd->pool, pattern, AP_REG_EXTENDED | (icase ? AP_REG_ICASE : 0));
    if (rule->literal == NULL && rule->regex == NULL)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " regex could not be compiled.", NULL);
    return NULL;
}

/* Of "^Name$", where case does not count, as it does not in names of fields; else NULL. */
static const char *setenvif_field_of_pattern(cmd_parms *cmd, const char *pattern)
{
    const apr_size_t len = strlen(pattern);
    const char *name;

    if (!cmd->info || len < 3 || pattern[0] != '^' || pattern[len - 1] != '$')
        return NULL;
    name = apr_pstrmemdup(cmd->pool, pattern + 1, len - 2);
    return setenvif_source_of(name) == SETENVIF_HEADER_REGEX ? NULL : name;
}

/* Common end of SetEnvIf and BrowserMatch: args stands after the attribute. */
static const char *setenvif_finish(cmd_parms *cmd, void *dir_conf, setenvif_rule *rule,
                                   const char *args)
{
    const char *error, *pattern = ap_getword_conf(cmd->pool, &args);

    if (*pattern == '\0')
        return apr_pstrcat(cmd->pool, "Missing regular expression for ", cmd->cmd->name, NULL);
    rule->source = setenvif_source_of(rule->name);
    if (rule->source == SETENVIF_NAMED && (rule->network = setenvif_network_of(rule->name)) >= 0)
        rule->source = SETENVIF_NETWORK;
    rule->bit = -1;
    if (rule->source == SETENVIF_NAMED)
        rule->field = rule->name;
    if (rule->source == SETENVIF_HEADER_REGEX) {
        rule->field = setenvif_field_of_pattern(cmd, rule->name);
        rule->name_regex = ap_pregcomp(
            cmd->pool, rule->name, AP_REG_EXTENDED | AP_REG_NOSUB | (cmd->info ? AP_REG_ICASE : 0));
        if (rule->name_regex == NULL) {
            return apr_pstrcat(cmd->pool, cmd->cmd->name,
                               "Header name regex could not be compiled.", NULL);
        }
    }
    if ((error = setenvif_compile_pattern(cmd, rule, pattern)) != NULL ||
        (error = setenvif_add_changes(cmd, rule, args)) != NULL)
        return error;
    setenvif_add_rule(cmd, dir_conf, rule);
    return NULL;
}

static const char *setenvif_set_if(cmd_parms *cmd, void *mconfig, const char *args)
{
    setenvif_rule rule = {0};

    rule.name = ap_getword_conf(cmd->pool, &args);
    if (*rule.name == '\0')
        return apr_pstrcat(cmd->pool, "Missing header-field name for ", cmd->cmd->name, NULL);
    return setenvif_finish(cmd, mconfig, &rule, args);
}

static const char *setenvif_browser(cmd_parms *cmd, void *mconfig, const char *args)
{
    setenvif_rule rule = {0};

    rule.name = "User-Agent";
    return setenvif_finish(cmd, mconfig, &rule, args);
}

static const char *setenvif_set_if_expr(cmd_parms *cmd, void *mconfig, const char *args)
{
    setenvif_rule rule = {0};
    const char *error = NULL, *text = ap_getword_conf(cmd->pool, &args);

    if (*text == '\0')
        return apr_pstrcat(cmd->pool, "Missing expression for ", cmd->cmd->name, NULL);
    rule.source = SETENVIF_EXPR;
    rule.bit = -1;
    rule.name = text;
    rule.expr = ap_expr_parse_cmd(cmd, text, 0, &error, NULL);
    if (error)
        return apr_psprintf(cmd->pool, "Could not parse expression \"%s\": %s", text, error);
    error = setenvif_add_changes(cmd, &rule, args);
    if (error)
        return error;
    setenvif_add_rule(cmd, mconfig, &rule);
    return NULL;
}

static int setenvif_ignore_case;

const command_rec setenvif_commands[] = {
    AP_INIT_RAW_ARGS("SetEnvIf", setenvif_set_if, NULL, OR_FILEINFO,
                     "A header-name, regex and a list of variables."),
    AP_INIT_RAW_ARGS("SetEnvIfNoCase", setenvif_set_if, &setenvif_ignore_case, OR_FILEINFO,
                     "a header-name, regex and a list of variables."),
    AP_INIT_RAW_ARGS("SetEnvIfExpr", setenvif_set_if_expr, NULL, OR_FILEINFO,
                     "an expression and a list of variables."),
    AP_INIT_RAW_ARGS("BrowserMatch", setenvif_browser, NULL, OR_FILEINFO,
                     "A browser regex and a list of variables."),
    AP_INIT_RAW_ARGS("BrowserMatchNoCase", setenvif_browser, &setenvif_ignore_case, OR_FILEINFO,
                     "A browser regex and a list of variables."),
    {0},
};
