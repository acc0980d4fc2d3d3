/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits of responses that follow from the request (brigade/head_edits.h): rules with constants, and with variables that
 * are the same for all requests of a kind.
 */
#include "headers_private.h"
#include "brigade/assert.h"
#include "brigade/head_edits.h"

#include <string.h>

/* Another one for each request: of a backend's member, or of CGI. */
static int told_is_own(const char *variable)
{
    static const char *const begins[] = {"BALANCER_", "proxy",  "session-", "HTTP",     "REMOTE_",
                                         "REQUEST_",  "QUERY_", "SERVER_",  "SCRIPT_",  "CONTENT",
                                         "CONTEXT_",  "PATH_",  "AUTH_",    "DOCUMENT", NULL};

    for (const char *const *b = begins; *b; b++)
        if (!strncmp(variable, *b, strlen(*b)))
            return 1;
    return !brg_cache_variable_is_told(variable);
}

/* Another one for each response, of whoever asks. The rules of a folder end before that. */
static int told_is_timed(const headers_rule *rule)
{
    return !rule->value.literal && !rule->of_folder && headers_format_is_timed(&rule->value);
}

/* The value of an edit, or of setifempty, is asked for where there is such a field, or none. */
static int told_value_is_fixed(const headers_rule *rule)
{
    const headers_format *format = &rule->value;

    if (format->literal)
        return 1;
    if (format->expr)
        return !rule->regex && rule->action != HEADERS_SETIFEMPTY &&
               !brg_expression_reads_response(format->expr);
    for (int i = 0; i < format->parts->nelts; i++) {
        const headers_piece *part = &APR_ARRAY_IDX(format->parts, i, headers_piece);

        if (part->tag && told_is_own(part->text))
            return 0;
    }
    return headers_format_is_known(format);
}

static int told_rule_is_fixed(const headers_rule *rule)
{
    return !rule->early && !(rule->regex && rule->of_folder) &&
           (!rule->expr || !brg_expression_reads_response(rule->expr)) && !rule->content_type &&
           rule->action != HEADERS_ECHO && rule->action != HEADERS_NOTE &&
           (!rule->env || !told_is_own(rule->env)) &&
           (told_is_timed(rule) || told_value_is_fixed(rule));
}

static brg_head_action told_action(headers_action action)
{
    switch (action) {
    case HEADERS_ADD:
        return BRG_HEAD_ADD;
    case HEADERS_APPEND:
        return BRG_HEAD_APPEND;
    case HEADERS_MERGE:
        return BRG_HEAD_MERGE;
    case HEADERS_SETIFEMPTY:
        return BRG_HEAD_SETIFEMPTY;
    case HEADERS_UNSET:
        return BRG_HEAD_UNSET;
    case HEADERS_EDIT:
        return BRG_HEAD_EDIT;
    case HEADERS_EDIT_ALL:
        return BRG_HEAD_EDIT_ALL;
    default:
        return BRG_HEAD_SET;
    }
}

/* @return 0: it does nothing for @a r. @param vary  [out] what its expressions add to Vary as they look at fields, or NULL */
static int told_edit(request_rec *r, const headers_rule *rule, brg_head_edit *edit,
                     const char **vary)
{
    apr_table_t *out = r->headers_out;
    int holds;

    r->headers_out = apr_table_make(r->pool, 1); /* the response is sent: its head stays */
    holds = headers_condition_holds(r, rule);
    if (holds)
        *edit = (brg_head_edit){.action = told_action(rule->action),
                                .name = rule->name,
                                .value = headers_format_run(r, &rule->value),
                                .each = told_is_timed(rule) ? &rule->value : NULL,
                                .regex = rule->regex};
    *vary = apr_table_get(r->headers_out, "Vary");
    r->headers_out = out;
    return holds;
}

/* @return 0: one of them is not fixed */
static int told_add(request_rec *r, apr_array_header_t *edits, const headers_conf *conf,
                    headers_where where)
{
    const apr_array_header_t *rules = conf->rules[where];

    BRG_ASSERT(where != HEADERS_REQUEST);
    for (int i = 0; rules && i < rules->nelts; i++) {
        const headers_rule *rule = &APR_ARRAY_IDX(rules, i, headers_rule);
        brg_head_edit edit;
        const char *vary;
        int holds;

        if (!told_rule_is_fixed(rule))
            return 0;
        holds = told_edit(r, rule, &edit, &vary);
        if (vary)
            APR_ARRAY_PUSH(edits, brg_head_edit) =
                (brg_head_edit){.action = BRG_HEAD_APPEND, .name = "Vary", .value = vary};
        if (!holds)
            continue;
        edit.always = where == HEADERS_ALWAYS;
        APR_ARRAY_PUSH(edits, brg_head_edit) = edit;
    }
    return 1;
}

static apr_array_header_t *brg_head_edits(request_rec *r)
{
    const headers_conf *conf = ap_get_module_config(r->per_dir_config, &headers_module);
    apr_array_header_t *edits = apr_array_make(r->pool, 4, sizeof(brg_head_edit));

    if (!told_add(r, edits, conf, HEADERS_ALWAYS) || !told_add(r, edits, conf, HEADERS_SUCCESS))
        return NULL;
    ap_set_module_config(r->request_config, &headers_module, edits); /* values are asked for */
    return edits;
}

static const char *brg_head_value(apr_pool_t *p, apr_time_t began, const brg_head_edit *edit)
{
    return headers_format_value(&(headers_asker){p, began, NULL}, edit->each);
}

static const char *brg_head_edited(apr_pool_t *p, const brg_head_edit *edit, const char *value)
{
    const char *edited = value;

    return headers_edit_value(p, edit->regex, edit->action == BRG_HEAD_EDIT_ALL, edit->value,
                              &edited)
               ? edited
               : NULL;
}

static int brg_head_lists(const char *list, const char *value)
{
    return headers_list_has(list, value);
}

void headers_told_register(void)
{
    APR_REGISTER_OPTIONAL_FN(brg_head_edits);
    APR_REGISTER_OPTIONAL_FN(brg_head_edited);
    APR_REGISTER_OPTIONAL_FN(brg_head_value);
    APR_REGISTER_OPTIONAL_FN(brg_head_lists);
}
