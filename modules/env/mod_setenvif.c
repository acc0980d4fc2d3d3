/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_setenvif: environment variables by properties of the request.
 *
 * The server's rules run when the request has been read, those of sections and .htaccess once its
 * directory configuration is known. Rules run in order and may test variables of earlier ones.
 */
#include "setenvif_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(setenvif);

static void *setenvif_create_dir_conf(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(setenvif_conf));
}

static void *setenvif_create_server_conf(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(setenvif_conf));
}

static void *setenvif_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    setenvif_conf *base = base_conf, *add = add_conf, *conf;

    if (add->rules == NULL)
        return base;
    if (base->rules == NULL)
        return add;
    conf = apr_pcalloc(p, sizeof(*conf));
    conf->rules = apr_array_append(p, base->rules, add->rules);
    conf->varies = base->varies || add->varies;
    conf->names = base->names || add->names;
    conf->asks = base->asks || add->asks;
    conf->clients = base->clients || add->clients;
    return conf;
}

static const char *setenvif_last_header(const request_rec *r, const ap_regex_t *name)
{
    const apr_array_header_t *elts = apr_table_elts(r->headers_in);
    const apr_table_entry_t *field = (const apr_table_entry_t *)elts->elts;
    int i = elts->nelts;

    while (i-- > 0)
        if (ap_regexec(name, field[i].key, 0, NULL, 0) == 0)
            return field[i].val;
    return NULL;
}

/* A missing subject counts as empty, so that "^$" finds it. */
static const char *setenvif_subject(request_rec *r, const setenvif_rule *rule)
{
    const char *value = NULL;
    char room[BRG_CLIENT_NETWORK_ROOM];

    BRG_ASSERT(rule->source != SETENVIF_EXPR);
    switch (rule->source) {
    case SETENVIF_REMOTE_ADDR:
        value = r->useragent_ip;
        break;
    case SETENVIF_NETWORK:
        if (setenvif_client_text(rule, r->useragent_addr, room) >= 0)
            value = apr_pstrdup(r->pool, room);
        break;
    case SETENVIF_SERVER_ADDR:
        value = r->connection->local_ip;
        break;
    case SETENVIF_REMOTE_HOST:
        value = ap_get_useragent_host(r, REMOTE_NAME, NULL);
        break;
    case SETENVIF_REQUEST_URI:
        value = r->uri;
        break;
    case SETENVIF_REQUEST_METHOD:
        value = r->method;
        break;
    case SETENVIF_REQUEST_PROTOCOL:
        value = r->protocol;
        break;
    case SETENVIF_HEADER_REGEX:
        value = setenvif_last_header(r, rule->name_regex);
        if (value && !rule->field) /* setenvif_depends() asks */
            ap_set_module_config(r->request_config, &setenvif_module, r);
        break;
    case SETENVIF_NAMED:
        value = apr_table_get(r->headers_in, rule->name);
        if (value == NULL)
            value = apr_table_get(r->subprocess_env, rule->name);
        break;
    case SETENVIF_EXPR:
        break;
    }
    return value ? value : "";
}

static void setenvif_change_env(request_rec *r, const setenvif_rule *rule, const char *subject,
                                ap_regmatch_t *match)
{
    const setenvif_change *change = (const setenvif_change *)rule->changes->elts;
    const setenvif_change *end = change + rule->changes->nelts;

    BRG_ASSERT(rule->changes->elt_size == (int)sizeof *change);
    for (; change < end; change++) {
        const char *value = change->value;

        if (value == NULL) {
            apr_table_unset(r->subprocess_env, change->name);
            continue;
        }
        /* Behind an expression that did not match, $1 is no reference. */
        if (match && match[0].rm_so >= 0 && change->has_refs) {
            value = ap_pregsub(r->pool, value, subject, AP_MAX_REG_MATCH, match);
            if (value == NULL) {
                ap_log_rerror(APLOG_MARK, APLOG_CRIT, 0, r,
                              APLOGNO(01505) "Regular expression replacement failed for '%s', "
                                             "value too long?",
                              change->name);
                return;
            }
        }
        ap_log_rerror(APLOG_MARK, APLOG_TRACE2, 0, r, "Setting %s", change->name);
        apr_table_setn(r->subprocess_env, change->name, value);
    }
}

static void setenvif_run_expr(request_rec *r, const setenvif_rule *rule)
{
    ap_regmatch_t match[AP_MAX_REG_MATCH];
    const char *subject = "", *error = NULL;

    BRG_ASSERT(rule->source == SETENVIF_EXPR && rule->expr);
    memset(match, 0, sizeof(match));
    if (ap_expr_exec_re(r, rule->expr, AP_MAX_REG_MATCH, match, &subject, &error) > 0)
        setenvif_change_env(r, rule, subject, match);
}

static void setenvif_run_rule(request_rec *r, const setenvif_rule *rule, const char *subject)
{
    ap_regmatch_t match[AP_MAX_REG_MATCH];

    BRG_ASSERT(rule->literal || rule->regex);
    if (rule->literal) {
        if (apr_strmatch(rule->literal, subject, strlen(subject)))
            setenvif_change_env(r, rule, subject, NULL);
    } else if (ap_regexec(rule->regex, subject, AP_MAX_REG_MATCH, match, 0) == 0) {
        setenvif_change_env(r, rule, subject, match);
    }
}

/* 1 if the rule was decided by the kind of client that the answer varies by, so that both say the same. */
static int setenvif_by_client(request_rec *r, const setenvif_conf *conf, const setenvif_rule *rule)
{
    apr_int64_t matches =
        rule->bit >= 0 && conf->bits ? brg_cache_vary_client(r, setenvif_clients, conf) : -1;

    if (matches < 0)
        return 0;
    if (matches >> rule->bit & 1)
        setenvif_change_env(r, rule, "", NULL);
    return 1;
}

static int setenvif_run(request_rec *r, const setenvif_conf *conf)
{
    const setenvif_rule *rule, *end;
    const char *subject = "";

    if (conf->rules == NULL)
        return DECLINED;
    rule = (const setenvif_rule *)conf->rules->elts;
    for (end = rule + conf->rules->nelts; rule < end; rule++) {
        if (rule->source == SETENVIF_EXPR) {
            setenvif_run_expr(r, rule);
            continue;
        }
        if (setenvif_by_client(r, conf, rule))
            continue;
        if (!rule->repeats || setenvif_is_of_client(rule))
            subject = setenvif_subject(r, rule);
        setenvif_run_rule(r, rule, subject);
    }
    return DECLINED;
}

static const setenvif_conf *setenvif_server_conf(const request_rec *r)
{
    return ap_get_module_config(r->server->module_config, &setenvif_module);
}

static const setenvif_conf *setenvif_dir_conf(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &setenvif_module);
}

static int setenvif_post_read(request_rec *r)
{
    return setenvif_run(r, setenvif_server_conf(r));
}

static int setenvif_header_parser(request_rec *r)
{
    return setenvif_run(r, setenvif_dir_conf(r));
}

static int setenvif_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                                server_rec *s)
{
    for (; s; s = s->next)
        setenvif_list_fields(pconf, ap_get_module_config(s->module_config, &setenvif_module));
    return OK;
}

static void setenvif_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(setenvif_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_header_parser(setenvif_header_parser, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(setenvif_post_read, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&setenvif_module, setenvif_depends);
    brg_cache_name_declare(&setenvif_module, setenvif_name);
    brg_hooks_need_directive(&setenvif_module, "header_parser post_read_request", NULL,
                             BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA setenvif_module = {
    STANDARD20_MODULE_STUFF, setenvif_create_dir_conf,
    setenvif_merge_conf,     setenvif_create_server_conf,
    setenvif_merge_conf,     setenvif_commands,
    setenvif_register_hooks, 0,
};
