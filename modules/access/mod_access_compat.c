/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order, Allow, Deny and Satisfy of Apache 2.2. A section that uses any of them inherits none of
 * them, hence no merge function.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "mod_auth.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "brigade/directive.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "host_match.h"

extern module AP_MODULE_DECLARE_DATA access_compat_module;
APLOG_USE_MODULE(access_compat);

enum access_order { ACCESS_DENY_ALLOW, ACCESS_ALLOW_DENY, ACCESS_MUTUAL_FAILURE };
enum access_kind { ACCESS_ENV, ACCESS_NOT_ENV, ACCESS_ALL, ACCESS_IP, ACCESS_HOST };

typedef struct access_rule {
    apr_int64_t limited;
    enum access_kind kind;
    const char *text; /* variable or domain */
    apr_ipsubnet_t *net;
    const ap_directive_t *line;
    int lasts; /* net does as long as the configuration: not of an .htaccess file */
} access_rule;

typedef struct access_conf {
    unsigned char order[METHODS];
    unsigned char satisfy[METHODS];
    apr_array_header_t *allows, *denies; /* of access_rule */
    const ap_directive_t *order_line;    /* NULL: none */
    int is_volatile; /* some rule looks at the client's name, at a variable of its own for each request, or at the address by an .htaccess file */
} access_conf;

static char access_was_volatile;

static void *access_create(apr_pool_t *p, char *dir)
{
    access_conf *conf = apr_pcalloc(p, sizeof(*conf));

    memset(conf->order, ACCESS_DENY_ALLOW, sizeof(conf->order));
    memset(conf->satisfy, SATISFY_NOSPEC, sizeof(conf->satisfy));
    conf->allows = apr_array_make(p, 1, sizeof(access_rule));
    conf->denies = apr_array_make(p, 1, sizeof(access_rule));
    return conf;
}

static void access_set_limited(unsigned char *slots, apr_int64_t limited, int value)
{
    for (int i = 0; i < METHODS; i++)
        if (((apr_uint64_t)limited >> i) & 1)
            slots[i] = (unsigned char)value;
}

static const char *access_cmd_order(cmd_parms *cmd, void *mconfig, const char *arg)
{
    access_conf *conf = mconfig;
    int order;

    if (strcasecmp(arg, "allow,deny") == 0)
        order = ACCESS_ALLOW_DENY;
    else if (strcasecmp(arg, "deny,allow") == 0)
        order = ACCESS_DENY_ALLOW;
    else if (strcasecmp(arg, "mutual-failure") == 0)
        order = ACCESS_MUTUAL_FAILURE;
    else
        return "unknown order";
    access_set_limited(conf->order, cmd->limited, order);
    conf->order_line = cmd->directive;
    return NULL;
}

static const char *access_cmd_satisfy(cmd_parms *cmd, void *mconfig, const char *arg)
{
    access_conf *conf = mconfig;
    int satisfy;

    if (strcasecmp(arg, "all") == 0)
        satisfy = SATISFY_ALL;
    else if (strcasecmp(arg, "any") == 0)
        satisfy = SATISFY_ANY;
    else
        return "Satisfy either 'any' or 'all'.";
    access_set_limited(conf->satisfy, cmd->limited, satisfy);
    return NULL;
}

/* An address, a network or, where it is neither, a host or domain name. */
static const char *access_parse_place(cmd_parms *cmd, access_rule *rule, char *where)
{
    char *mask = strchr(where, '/');
    apr_status_t rv;

    rule->kind = ACCESS_IP;
    if (mask)
        *mask++ = '\0';
    rv = apr_ipsubnet_create(&rule->net, where, mask, cmd->pool);
    rule->lasts = cmd->pool != cmd->temp_pool;
    if (rv == APR_SUCCESS)
        return NULL;
    if (!APR_STATUS_IS_EINVAL(rv))
        return apr_psprintf(cmd->pool, "%pm", &rv);
    if (mask)
        return "An IP address was expected";
    if (strchr(where, '#'))
        return "No comments are allowed here";
    brg_phases_need_worker(); /* the client's name is looked up */
    rule->kind = ACCESS_HOST;
    rule->text = where;
    return NULL;
}

static const char *access_cmd_rule(cmd_parms *cmd, void *mconfig, const char *from,
                                   const char *word)
{
    access_conf *conf = mconfig;
    access_rule *rule;
    char *where = apr_pstrdup(cmd->pool, word);
    const char *err;

    if (strcasecmp(from, "from") != 0)
        return "allow and deny must be followed by 'from'";
    rule = apr_array_push(cmd->info ? conf->allows : conf->denies);
    memset(rule, 0, sizeof(*rule));
    rule->limited = cmd->limited;
    rule->line = cmd->directive;
    if (strcasecmp(where, "all") == 0) {
        rule->kind = ACCESS_ALL;
        return NULL;
    }
    if (strncasecmp(where, "env=!", 5) == 0) {
        rule->kind = ACCESS_NOT_ENV;
        rule->text = where + 5;
        conf->is_volatile |= !brg_cache_variable_is_told(rule->text);
        return NULL;
    }
    if (strncasecmp(where, "env=", 4) == 0) {
        rule->kind = ACCESS_ENV;
        rule->text = where + 4;
        conf->is_volatile |= !brg_cache_variable_is_told(rule->text);
        return NULL;
    }
    err = access_parse_place(cmd, rule, where);
    conf->is_volatile |= rule->kind != ACCESS_IP || !rule->lasts;
    return err;
}

static int access_host_matches(request_rec *r, const char *domain)
{
    int is_ip = 0;
    const char *host = ap_get_useragent_host(r, REMOTE_DOUBLE_REV, &is_ip);

    return host && !is_ip && host_match_domain(domain, host);
}

/* A brg_cache_client_fn. */
static apr_int64_t access_is_in(const void *net, apr_sockaddr_t *client)
{
    return apr_ipsubnet_test((apr_ipsubnet_t *)(uintptr_t)net, client);
}

static int access_rule_matches(request_rec *r, const access_rule *rule)
{
    switch (rule->kind) {
    case ACCESS_ALL:
        return 1;
    case ACCESS_ENV:
        return apr_table_get(r->subprocess_env, rule->text) != NULL;
    case ACCESS_NOT_ENV:
        return apr_table_get(r->subprocess_env, rule->text) == NULL;
    case ACCESS_IP:
        return (rule->lasts ? brg_cache_vary_client(r, access_is_in, rule->net)
                            : access_is_in(rule->net, r->useragent_addr)) != 0;
    case ACCESS_HOST:
        return access_host_matches(r, rule->text);
    }
    return 0;
}

static int access_any_matches(request_rec *r, const apr_array_header_t *rules)
{
    apr_int64_t bit = AP_METHOD_BIT << r->method_number;

    for (int i = 0; i < rules->nelts; i++) {
        const access_rule *rule = &APR_ARRAY_IDX(rules, i, access_rule);
        if ((rule->limited & bit) && access_rule_matches(r, rule))
            return 1;
    }
    return 0;
}

static int access_is_allowed(request_rec *r, const access_conf *conf)
{
    switch (conf->order[r->method_number]) {
    case ACCESS_DENY_ALLOW:
        return !access_any_matches(r, conf->denies) || access_any_matches(r, conf->allows);
    default:
        return access_any_matches(r, conf->allows) && !access_any_matches(r, conf->denies);
    }
}

/* The Deny line that refuses, or else the Order line that asks for an Allow. */
static const char *access_place(request_rec *r, const access_conf *conf)
{
    const ap_directive_t *line = conf->order_line;
    apr_int64_t bit = AP_METHOD_BIT << r->method_number;

    for (int i = 0; i < conf->denies->nelts; i++) {
        const access_rule *rule = &APR_ARRAY_IDX(conf->denies, i, access_rule);

        if ((rule->limited & bit) && access_rule_matches(r, rule)) {
            line = rule->line;
            break;
        }
    }
    return line ? apr_pstrcat(r->pool, " (", brg_directive_place(r->pool, line), ")", NULL) : "";
}

static int access_tells_apart(const apr_array_header_t *rules)
{
    for (int i = 0; i < rules->nelts; i++)
        if (APR_ARRAY_IDX(rules, i, access_rule).kind != ACCESS_ALL)
            return 1;
    return 0;
}

/* A part of a page has other rules than the page, and they are about clients. */
static void access_tell_guarded(request_rec *r, const access_conf *conf)
{
    const access_conf *page = ap_get_module_config(r->main->per_dir_config, &access_compat_module);

    if (conf->is_volatile ||
        ((!page || page->allows != conf->allows || page->denies != conf->denies) &&
         (access_tells_apart(conf->allows) || access_tells_apart(conf->denies))))
        brg_cache_part_is_guarded(r);
}

static int access_check(request_rec *r)
{
    const access_conf *conf = ap_get_module_config(r->per_dir_config, &access_compat_module);

    if (r->main)
        access_tell_guarded(r, conf);

    if (conf->is_volatile)
        for (request_rec *q = r; q; q = q->main ? q->main : q->prev)
            ap_set_module_config(q->request_config, &access_compat_module, &access_was_volatile);
    if (access_is_allowed(r, conf))
        return OK;
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01797) "client denied by server configuration: %s%s%s",
        r->filename ? "" : "uri ", r->filename ? r->filename : r->uri, access_place(r, conf));
    return HTTP_FORBIDDEN;
}

static int access_compat_ap_satisfies(request_rec *r)
{
    const access_conf *conf = ap_get_module_config(r->per_dir_config, &access_compat_module);

    return conf->satisfy[r->method_number];
}

static int access_depends(request_rec *r)
{
    const access_conf *conf = ap_get_module_config(r->per_dir_config, &access_compat_module);

    if (conf->is_volatile)
        return BRG_CACHE_VOLATILE;
    for (const request_rec *q = r; q; q = q->prev)
        if (ap_get_module_config(q->request_config, &access_compat_module))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static void access_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(access_compat_ap_satisfies);
    ap_hook_check_access(access_check, NULL, NULL, APR_HOOK_MIDDLE, AP_AUTH_INTERNAL_PER_CONF);
    brg_cache_declare(&access_compat_module, access_depends);
    brg_hooks_need_directive(&access_compat_module, "access_checker", NULL, BRG_HOOKS_BY_SERVER);
}

static char access_is_allow;

static const command_rec access_directives[] = {
    AP_INIT_TAKE1("order", access_cmd_order, NULL, OR_LIMIT,
                  "'allow,deny', 'deny,allow', or 'mutual-failure'"),
    AP_INIT_ITERATE2("allow", access_cmd_rule, &access_is_allow, OR_LIMIT,
                     "'from' followed by hostnames or IP-address wildcards"),
    AP_INIT_ITERATE2("deny", access_cmd_rule, NULL, OR_LIMIT,
                     "'from' followed by hostnames or IP-address wildcards"),
    AP_INIT_TAKE1("Satisfy", access_cmd_satisfy, NULL, OR_AUTHCFG,
                  "access policy if both allow and require used ('all' or 'any')"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA access_compat_module = {
    STANDARD20_MODULE_STUFF, access_create,         NULL, NULL, NULL,
    access_directives,       access_register_hooks, 0,
};
