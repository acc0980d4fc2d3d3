/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directives Header and RequestHeader:
 *
 *   Header [always|onsuccess] ACTION NAME [VALUE [REPLACEMENT]] [early|env=[!]VAR|expr=EXPR]
 *
 * How many words an action takes decides which of them is the condition, so words are collected
 * first.
 */
#include "headers_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>

APLOG_USE_MODULE(headers);

typedef struct headers_words {
    const char *value, *replacement, *condition; /**< NULL = not there */
} headers_words;

static const struct {
    const char *name;
    headers_action action;
} headers_actions[] = {
    {"add", HEADERS_ADD},     {"set", HEADERS_SET},        {"append", HEADERS_APPEND},
    {"merge", HEADERS_MERGE}, {"unset", HEADERS_UNSET},    {"echo", HEADERS_ECHO},
    {"edit", HEADERS_EDIT},   {"edit*", HEADERS_EDIT_ALL}, {"setifempty", HEADERS_SETIFEMPTY},
    {"note", HEADERS_NOTE},
};

static int headers_find_action(const char *word, headers_action *action)
{
    apr_size_t i;

    for (i = 0; i < sizeof(headers_actions) / sizeof(headers_actions[0]); i++) {
        if (strcasecmp(word, headers_actions[i].name) == 0) {
            *action = headers_actions[i].action;
            return 1;
        }
    }
    return 0;
}

static const char *headers_parse_env(headers_rule *rule, const char *name)
{
    if (*name == '!') {
        rule->env_negated = 1;
        name++;
    }
    if (*name == '\0') {
        return "error: missing environment variable name. envclause should be in the form "
               "env=envar ";
    }
    rule->env = name;
    return NULL;
}

static const char *headers_parse_condition(cmd_parms *cmd, headers_rule *rule, const char *text)
{
    const char *error = NULL;

    if (strcasecmp(text, "early") == 0) {
        rule->early = 1;
        return NULL;
    }
    if (strncasecmp(text, "env=", 4) == 0)
        return headers_parse_env(rule, text + 4);
    if (strncasecmp(text, "expr=", 5) == 0) {
        rule->expr_text = text + 5;
        rule->expr = ap_expr_parse_cmd(cmd, rule->expr_text, 0, &error, NULL);
        return error ? apr_pstrcat(cmd->pool, "Can't parse envclause/expression: ", error, NULL)
                     : NULL;
    }
    return apr_pstrcat(cmd->pool, "Unknown parameter: ", text, NULL);
}

static const char *headers_arrange_edit(cmd_parms *cmd, headers_rule *rule, headers_words *words)
{
    if (words->replacement == NULL)
        return "Header edit requires a match and a substitution";
    rule->regex = ap_pregcomp(cmd->pool, words->value, AP_REG_EXTENDED);
    if (rule->regex == NULL)
        return "Header edit regex could not be compiled";
    words->value = words->replacement;
    return NULL;
}

static const char *headers_arrange_without_value(cmd_parms *cmd, headers_rule *rule,
                                                 headers_words *words)
{
    if (rule->action == HEADERS_ECHO) {
        rule->regex = ap_pregcomp(cmd->pool, rule->name, AP_REG_EXTENDED | AP_REG_NOSUB);
        if (rule->regex == NULL)
            return "Header echo regex could not be compiled";
    }
    if (words->replacement) {
        return rule->action == HEADERS_ECHO ? "Header echo takes two arguments"
                                            : "header unset takes two arguments";
    }
    words->condition = words->value;
    words->value = "";
    return NULL;
}

/* Decide which word is the name, the value and the condition; afterwards value is never NULL. */
static const char *headers_arrange(cmd_parms *cmd, headers_rule *rule, headers_words *words)
{
    switch (rule->action) {
    case HEADERS_EDIT:
    case HEADERS_EDIT_ALL:
        return headers_arrange_edit(cmd, rule, words);
    case HEADERS_ECHO:
    case HEADERS_UNSET:
        return headers_arrange_without_value(cmd, rule, words);
    default:
        if (words->value == NULL)
            return "Header requires three arguments";
        if (words->condition)
            return "Too many arguments to directive";
        words->condition = words->replacement;
        return NULL;
    }
}

static const char *headers_check_place(const headers_rule *rule, headers_where where)
{
    if (where == HEADERS_REQUEST && rule->action == HEADERS_ECHO)
        return "Header echo only valid on Header directives";
    if (where == HEADERS_REQUEST && rule->action == HEADERS_NOTE)
        return "RequestHeader does not support the 'note' action";
    return NULL;
}

static int headers_rule_varies(const headers_rule *rule)
{
    return rule->action == HEADERS_ECHO || !headers_format_is_known(&rule->value);
}

static brg_field_change headers_change_of(const headers_rule *rule)
{
    if (headers_rule_varies(rule))
        return BRG_FIELD_UNKNOWN;
    switch (rule->action) {
    case HEADERS_SET:
        return BRG_FIELD_SET;
    case HEADERS_UNSET:
        return BRG_FIELD_REMOVED;
    case HEADERS_EDIT:
    case HEADERS_EDIT_ALL:
        return BRG_FIELD_EDITED;
    default:
        return BRG_FIELD_ADDED;
    }
}

static const char *headers_compile(cmd_parms *cmd, headers_conf *conf, headers_where where,
                                   headers_rule *rule, headers_words *words)
{
    const char *error;

    if ((error = headers_check_place(rule, where)) != NULL ||
        (error = headers_arrange(cmd, rule, words)) != NULL)
        return error;
    if (words->condition && (error = headers_parse_condition(cmd, rule, words->condition)) != NULL)
        return error;
    if ((error = headers_format_parse(cmd, words->value, &rule->value)) != NULL)
        return error;
    if (where == HEADERS_REQUEST) {
        rule->change = headers_change_of(rule);
    } else {
        conf->varies |= headers_rule_varies(rule);
        conf->asks |= rule->expr || rule->value.expr;
        conf->varies_early |= rule->early && headers_rule_varies(rule);
    }
    if (conf->rules[where] == NULL)
        conf->rules[where] = apr_array_make(cmd->pool, 2, sizeof(headers_rule));
    APR_ARRAY_PUSH(conf->rules[where], headers_rule) = *rule;
    return NULL;
}

static const char *headers_next(cmd_parms *cmd, const char **args)
{
    BRG_ASSERT(args && *args);
    return **args ? ap_getword_conf(cmd->pool, args) : NULL;
}

static const char *headers_name_of(cmd_parms *cmd, const char *word)
{
    const char *colon = ap_strchr_c(word, ':');

    return colon ? apr_pstrmemdup(cmd->pool, word, colon - word) : word;
}

static const char *headers_command(cmd_parms *cmd, void *mconfig, const char *args)
{
    headers_where where = *(const headers_where *)cmd->info;
    const char *action = ap_getword_conf(cmd->pool, &args);
    headers_rule rule = {0};
    headers_words words;

    if (where != HEADERS_REQUEST) {
        if (strcasecmp(action, "always") == 0) {
            where = HEADERS_ALWAYS;
            action = ap_getword_conf(cmd->pool, &args);
        } else if (strcasecmp(action, "onsuccess") == 0) {
            action = ap_getword_conf(cmd->pool, &args);
        }
    }
    rule.name = ap_getword_conf(cmd->pool, &args);
    words.value = headers_next(cmd, &args);
    words.replacement = headers_next(cmd, &args);
    words.condition = headers_next(cmd, &args);
    if (*args)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " has too many arguments", NULL);
    if (!headers_find_action(action, &rule.action)) {
        return "first argument must be 'add', 'set', 'setifempty', 'append', 'merge', 'unset', "
               "'echo', 'note', 'edit', or 'edit*'.";
    }
    if (rule.action != HEADERS_ECHO)
        rule.name = headers_name_of(cmd, rule.name);
    rule.of_folder = ap_check_cmd_context(cmd, NOT_IN_HTACCESS) != NULL;
    rule.content_type = strcasecmp(rule.name, "Content-Type") == 0;
    return headers_compile(cmd, mconfig, where, &rule, &words);
}

static const headers_where headers_response = HEADERS_SUCCESS;
static const headers_where headers_request = HEADERS_REQUEST;

const command_rec headers_commands[] = {
    AP_INIT_RAW_ARGS("Header", headers_command, (void *)&headers_response, OR_FILEINFO,
                     "an optional condition, an action, header and value followed by optional env "
                     "clause"),
    AP_INIT_RAW_ARGS("RequestHeader", headers_command, (void *)&headers_request, OR_FILEINFO,
                     "an action, header and value followed by optional env clause"),
    {0},
};
