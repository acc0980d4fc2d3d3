/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running the rules of Header and RequestHeader on a table of headers.
 */
#include "headers_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>

APLOG_USE_MODULE(headers);

/* Content-Type of a response lives in r->content_type too; that of a request does not. */
static int headers_is_response_type(const request_rec *r, const apr_table_t *headers,
                                    const headers_rule *rule)
{
    return rule->content_type && headers != r->headers_in;
}

int headers_condition_holds(request_rec *r, const headers_rule *rule)
{
    if (rule->env)
        return (apr_table_get(r->subprocess_env, rule->env) != NULL) != rule->env_negated;
    if (rule->expr) {
        const char *error = NULL;
        int holds = ap_expr_exec(r, rule->expr, &error);

        if (error) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(01501) "Failed to evaluate expression (%s) - ignoring", error);
            return 0;
        }
        return holds > 0;
    }
    return 1;
}

static void headers_set(request_rec *r, apr_table_t *headers, const headers_rule *rule)
{
    const char *value = headers_format_run(r, &rule->value);

    BRG_ASSERT(headers && rule->name);
    if (headers_is_response_type(r, headers, rule))
        ap_set_content_type_ex(r, value, 1);
    apr_table_setn(headers, rule->name, value);
}

int headers_list_has(const char *list, const char *value)
{
    apr_size_t len = strlen(value);

    while (*list) {
        const char *start;
        int quoted = 0;

        while (apr_isspace(*list))
            list++;
        for (start = list; *list && (quoted || *list != ','); list++)
            quoted ^= *list == '"';
        if ((apr_size_t)(list - start) == len && memcmp(start, value, len) == 0)
            return 1;
        list += *list == ',';
    }
    return 0;
}

static void headers_merge(request_rec *r, apr_table_t *headers, const headers_rule *rule)
{
    const char *value = headers_format_run(r, &rule->value);
    const char *list = apr_table_get(headers, rule->name);

    BRG_ASSERT(headers && rule->name);
    if (list == NULL)
        apr_table_addn(headers, rule->name, value);
    else if (!headers_list_has(list, value))
        apr_table_mergen(headers, rule->name, value);
}

static void headers_echo(request_rec *r, apr_table_t *headers, const headers_rule *rule)
{
    const apr_array_header_t *elts = apr_table_elts(r->headers_in);
    const apr_table_entry_t *in = (const apr_table_entry_t *)elts->elts;
    int i;

    for (i = 0; i < elts->nelts; i++)
        if (ap_regexec(rule->regex, in[i].key, 0, NULL, 0) == 0)
            apr_table_addn(headers, in[i].key, in[i].val);
}

/* An empty match ends edit* after it was replaced once. */
int headers_edit_value(apr_pool_t *p, const ap_regex_t *regex, int all, const char *template,
                       const char **edited)
{
    ap_regmatch_t match[AP_MAX_REG_MATCH];
    const char *done = "", *value = *edited;

    while (ap_regexec(regex, value, AP_MAX_REG_MATCH, match, 0) == 0) {
        const char *replaced = ap_pregsub(p, template, value, AP_MAX_REG_MATCH, match);

        if (replaced == NULL)
            return 0;
        done = apr_pstrcat(p, done, apr_pstrmemdup(p, value, match[0].rm_so), replaced, NULL);
        value += match[0].rm_eo;
        if (!all || *value == '\0' || match[0].rm_eo == 0)
            break;
    }
    *edited = *done ? apr_pstrcat(p, done, value, NULL) : value;
    return 1;
}

/* @return NULL: the replacement failed */
static const char *headers_edit_by_rule(request_rec *r, const headers_rule *rule, const char *value)
{
    if (!rule->value.literal && ap_regexec(rule->regex, value, 0, NULL, 0) != 0)
        return value; /* no value is made for nothing */
    if (headers_edit_value(r->pool, rule->regex, rule->action == HEADERS_EDIT_ALL,
                           headers_format_run(r, &rule->value), &value))
        return value;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01504) "Regular expression replacement failed (replacement too long?)");
    return NULL;
}

/* All fields of that name are rewritten; they move to the end of the table, as with Apache. */
static int headers_edit_table(request_rec *r, apr_table_t *headers, const headers_rule *rule)
{
    const apr_array_header_t *elts = apr_table_elts(headers);
    const apr_table_entry_t *field = (const apr_table_entry_t *)elts->elts;
    apr_table_t *edited;
    int i;

    if (apr_table_get(headers, rule->name) == NULL)
        return 1;
    edited = apr_table_make(r->pool, 2);
    for (i = 0; i < elts->nelts; i++) {
        if (field[i].key && strcasecmp(field[i].key, rule->name) == 0) {
            const char *value = headers_edit_by_rule(r, rule, field[i].val);

            if (value == NULL)
                return 0;
            apr_table_addn(edited, field[i].key, value);
        }
    }
    apr_table_unset(headers, rule->name);
    elts = apr_table_elts(edited);
    field = (const apr_table_entry_t *)elts->elts;
    for (i = 0; i < elts->nelts; i++)
        apr_table_addn(headers, field[i].key, field[i].val);
    return 1;
}

static int headers_edit(request_rec *r, apr_table_t *headers, const headers_rule *rule)
{
    if (headers_is_response_type(r, headers, rule) && r->content_type) {
        const char *value = headers_edit_by_rule(r, rule, r->content_type);

        if (value == NULL)
            return 0;
        ap_set_content_type_ex(r, value, 1);
    }
    return headers_edit_table(r, headers, rule);
}

static int headers_run_rule(request_rec *r, apr_table_t *headers, const headers_rule *rule)
{
    switch (rule->action) {
    case HEADERS_ADD:
        apr_table_addn(headers, rule->name, headers_format_run(r, &rule->value));
        break;
    case HEADERS_APPEND:
        apr_table_mergen(headers, rule->name, headers_format_run(r, &rule->value));
        break;
    case HEADERS_MERGE:
        headers_merge(r, headers, rule);
        break;
    case HEADERS_SET:
        headers_set(r, headers, rule);
        break;
    case HEADERS_SETIFEMPTY:
        if (apr_table_get(headers, rule->name) == NULL)
            headers_set(r, headers, rule);
        break;
    case HEADERS_UNSET:
        if (headers_is_response_type(r, headers, rule))
            ap_set_content_type_ex(r, NULL, 1);
        apr_table_unset(headers, rule->name);
        break;
    case HEADERS_ECHO:
        headers_echo(r, headers, rule);
        break;
    case HEADERS_EDIT:
    case HEADERS_EDIT_ALL:
        return headers_edit(r, headers, rule);
    case HEADERS_NOTE:
        apr_table_setn(r->notes, headers_format_run(r, &rule->value),
                       apr_table_get(headers, rule->name));
        break;
    }
    return 1;
}

int headers_rule_is_told(request_rec *r, const headers_rule *rule)
{
    return (!rule->expr || brg_cache_depends_on_expression(r, rule->expr, 0)) &&
           (!rule->value.expr || brg_cache_depends_on_expression(r, rule->value.expr, 0));
}

/* Also of a rule that does nothing now, if nobody can say for which requests it does. */
static void headers_tell_change(request_rec *r, const headers_rule *rule, int holds)
{
    const int told = headers_rule_is_told(r, rule);

    if (holds || !told)
        brg_cache_field_changed(r, rule->name, told ? rule->change : BRG_FIELD_UNKNOWN);
}

int headers_apply(request_rec *r, apr_table_t *headers, const apr_array_header_t *rules, int early)
{
    const headers_rule *rule, *end;

    if (rules == NULL)
        return 1;
    rule = (const headers_rule *)rules->elts;
    for (end = rule + rules->nelts; rule < end; rule++) {
        int holds;

        if (rule->early != (unsigned)early)
            continue;
        holds = headers_condition_holds(r, rule);
        if (headers == r->headers_in)
            headers_tell_change(r, rule, holds);
        if (holds && !headers_run_rule(r, headers, rule))
            return 0;
    }
    return 1;
}
