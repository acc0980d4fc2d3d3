/* SPDX-License-Identifier: Apache-2.0 */
/* Directives and parameters of health checks: ProxyHCExpr, ProxyHCTemplate, ProxyHCTPsize, hcmethod= and its like. */
#include "proxy_check.h"
#include "proxy_private.h"
#include "expr_subject.h"
#include "http_head.h"
#include "ap_expr.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy_hcheck);

#define HCHECK_INTERVAL_LEAST 100 /* milliseconds */
#define HCHECK_NAME_SIZE 16
#define HCHECK_URI_SIZE 64

typedef struct hcheck_name {
    const char *name, *text;
} hcheck_name;

typedef struct hcheck_conf {
    apr_array_header_t *names; /* of hcheck_name: expressions, for balancer-manager */
    apr_hash_t *exprs;         /* of ap_expr_info_t */
    apr_hash_t *templates;     /* of proxy_params */
    int threads;
} hcheck_conf;

static void *hcheck_create(apr_pool_t *p, server_rec *s)
{
    hcheck_conf *c = apr_pcalloc(p, sizeof *c);

    (void)s;
    c->names = apr_array_make(p, 2, sizeof(hcheck_name));
    c->exprs = apr_hash_make(p);
    c->templates = apr_hash_make(p);
    return c;
}

static hcheck_conf *hcheck_of(const server_rec *s)
{
    return proxy_hcheck_module.module_index == -1
               ? NULL
               : ap_get_module_config(s->module_config, &proxy_hcheck_module);
}

const ap_expr_info_t *proxy_check_expr(const server_rec *s, const char *name)
{
    const hcheck_conf *c = hcheck_of(s);

    return c ? apr_hash_get(c->exprs, name, APR_HASH_KEY_STRING) : NULL;
}

const char *proxy_check_text(const server_rec *s, int n, const char **text)
{
    const hcheck_conf *c = hcheck_of(s);
    const hcheck_name *e;

    BRG_ASSERT(n >= 0);
    if (!c || n >= c->names->nelts)
        return NULL;
    e = &APR_ARRAY_IDX(c->names, n, hcheck_name);
    *text = e->text;
    return e->name;
}

/* ---- parameters ---- */

static const char *hcheck_template(const hcheck_conf *c, apr_pool_t *p, proxy_params *to,
                                   const char *name)
{
    const proxy_params *t = apr_hash_get(c->templates, name, APR_HASH_KEY_STRING);

    if (!t)
        return apr_psprintf(p, "Unknown ProxyHCTemplate name: %s", name);
    to->check = t->check;
    to->check_interval = t->check_interval;
    to->check_passes = t->check_passes;
    to->check_fails = t->check_fails;
    to->check_uri = t->check_uri;
    to->check_expr = t->check_expr;
    return NULL;
}

static const char *hcheck_method(apr_pool_t *p, proxy_params *to, const char *value)
{
    static const struct {
        const char *name;
        int check; /* negative: not offered */
    } methods[] = {{"NONE", PROXY_CHECK_NONE},
                   {"TCP", PROXY_CHECK_TCP},
                   {"OPTIONS", PROXY_CHECK_OPTIONS},
                   {"HEAD", PROXY_CHECK_HEAD},
                   {"GET", PROXY_CHECK_GET},
                   {"CPING", -1},
                   {"PROVIDER", -1},
                   {"OPTIONS11", PROXY_CHECK_OPTIONS11},
                   {"HEAD11", PROXY_CHECK_HEAD11},
                   {"GET11", PROXY_CHECK_GET11}};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcasecmp(value, methods[i].name) != 0)
            continue;
        if (methods[i].check < 0)
            return apr_psprintf(p, "Health check method %s not (yet) implemented", methods[i].name);
        to->check = (proxy_check)methods[i].check;
        return NULL;
    }
    return "Unknown method";
}

static const char *hcheck_interval(apr_pool_t *p, proxy_params *to, const char *value)
{
    if (ap_timeout_parameter_parse(value, &to->check_interval, "s") != APR_SUCCESS)
        return "Unparse-able hcinterval setting";
    if (to->check_interval < HCHECK_INTERVAL_LEAST * 1000)
        return apr_psprintf(p, "Interval must be a positive value greater than %dms",
                            HCHECK_INTERVAL_LEAST);
    return NULL;
}

static const char *hcheck_uri(apr_pool_t *p, proxy_params *to, const char *value)
{
    if (strlen(value) >= HCHECK_URI_SIZE)
        return apr_psprintf(p, "Health check uri length must be < %d characters", HCHECK_URI_SIZE);
    to->check_uri = apr_pstrdup(p, value);
    return NULL;
}

static const char *hcheck_expr(const hcheck_conf *c, apr_pool_t *p, proxy_params *to,
                               const char *value)
{
    if (!apr_hash_get(c->exprs, value, APR_HASH_KEY_STRING))
        return apr_psprintf(p, "Unknown health check condition expr: %s", value);
    to->check_expr = apr_pstrdup(p, value);
    return NULL;
}

static const char *hcheck_count(const char *value, const char *message, int *to)
{
    *to = (int)strtol(value, NULL, 10);
    return *to < 0 ? message : NULL;
}

const char *proxy_param_check(apr_pool_t *p, server_rec *s, proxy_params *to, const char *key,
                              const char *value)
{
    const hcheck_conf *c = hcheck_of(s);

    if (!c)
        return "unknown Worker parameter";
    if (!strcasecmp(key, "hctemplate"))
        return hcheck_template(c, p, to, value);
    if (!strcasecmp(key, "hcmethod"))
        return hcheck_method(p, to, value);
    if (!strcasecmp(key, "hcinterval"))
        return hcheck_interval(p, to, value);
    if (!strcasecmp(key, "hcpasses"))
        return hcheck_count(value, "Passes must be a positive value", &to->check_passes);
    if (!strcasecmp(key, "hcfails"))
        return hcheck_count(value, "Fails must be a positive value", &to->check_fails);
    if (!strcasecmp(key, "hcuri"))
        return hcheck_uri(p, to, value);
    if (!strcasecmp(key, "hcexpr"))
        return hcheck_expr(c, p, to, value);
    return "unknown Worker hcheck parameter";
}

/* ---- conditions ---- */

typedef struct hcheck_body {
    const char *at;
    apr_size_t len;
} hcheck_body;

/* hc('body'): the body of the answer. */
static const char *hcheck_function(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    const expr_subject *checked = expr_subject_of(ctx);
    const hcheck_body *body = checked ? checked->own : NULL;

    (void)data;
    return body && !strcasecmp(arg, "body") ? apr_pstrmemdup(ctx->p, body->at, body->len) : "";
}

static int hcheck_lookup(ap_expr_lookup_parms *parms)
{
    if (parms->type != AP_EXPR_FUNC_STRING || strcasecmp(parms->name, "hc") != 0)
        return DECLINED;
    *parms->func = hcheck_function;
    *parms->data = NULL;
    return OK;
}

int proxy_check_passes(const proxy_worker *w, const http_head *head, const char *body,
                       apr_size_t len)
{
    const ap_expr_info_t *expr = proxy_check_expr(w->server, w->params.check_expr);
    const hcheck_body answered = {body, len};
    expr_subject checked = {.answered = head, .server = w->server, .own = &answered};
    const char *error = NULL;
    int rc;

    if (!expr || apr_pool_create(&checked.pool, NULL) != APR_SUCCESS)
        return 0;
    rc = expr_subject_exec(&checked, expr, &error);
    if (rc < 0)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, w->server,
                     APLOGNO(03301) "Error on checking condition %s for worker %s: %s",
                     w->params.check_expr, w->name, error ? error : "");
    apr_pool_destroy(checked.pool);
    return rc > 0;
}

/* ---- directives ---- */

static const char *hcheck_expr_cmd(cmd_parms *cmd, void *dconf, const char *args)
{
    hcheck_conf *c = hcheck_of(cmd->server);
    const char *name = ap_getword_conf(cmd->pool, &args), *text, *error = NULL;
    const ap_expr_info_t *expr;

    if (!*name)
        return apr_pstrcat(cmd->temp_pool, "Missing expression name for ", cmd->cmd->name, NULL);
    if (strlen(name) >= HCHECK_NAME_SIZE)
        return apr_psprintf(cmd->temp_pool, "Expression name limited to %d characters",
                            HCHECK_NAME_SIZE - 1);
    text = ap_getword_conf2(cmd->pool, &args);
    if (!*text)
        return apr_pstrcat(cmd->temp_pool, "Missing expression for ", cmd->cmd->name, NULL);
    if (*ap_getword_conf(cmd->temp_pool, &args))
        return "error: extra parameter(s)";
    expr = ap_expr_parse_cmd(cmd, text, AP_EXPR_FLAG_DONT_VARY, &error, NULL);
    if (error)
        return apr_psprintf(cmd->temp_pool, "Could not parse expression \"%s\": %s", text, error);
    if (!apr_hash_get(c->exprs, name, APR_HASH_KEY_STRING))
        APR_ARRAY_PUSH(c->names, hcheck_name) = (hcheck_name){name, text};
    apr_hash_set(c->exprs, name, APR_HASH_KEY_STRING, expr);
    return NULL;
}

static const char *hcheck_template_cmd(cmd_parms *cmd, void *dconf, const char *args)
{
    hcheck_conf *c = hcheck_of(cmd->server);
    const char *name = ap_getword_conf(cmd->pool, &args);
    proxy_params *to = apr_pcalloc(cmd->pool, sizeof *to);

    if (!*name)
        return apr_pstrcat(cmd->temp_pool, "Missing template name for ", cmd->cmd->name, NULL);
    to->check_interval = apr_time_from_sec(30);
    to->check_passes = to->check_fails = 1;
    to->check_uri = to->check_expr = "";
    while (*args) {
        char *word = ap_getword_conf(cmd->pool, &args), *value = strchr(word, '=');
        const char *error;

        if (!value)
            return "Invalid ProxyHCTemplate parameter. Parameter must be in the form 'key=value'";
        *value++ = '\0';
        error = proxy_param_check(cmd->pool, cmd->server, to, word, value);
        if (error)
            return apr_pstrcat(cmd->temp_pool, "ProxyHCTemplate: ", error, " ", word, "=", value,
                               "; ", name, NULL);
    }
    apr_hash_set(c->templates, name, APR_HASH_KEY_STRING, to);
    return NULL;
}

/* Checks run on event loops, in no pool of threads: the number is looked at, and else without use. */
static const char *hcheck_threads_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const int n = (int)strtol(arg, NULL, 10);

    if (error)
        return error;
    if (n < 0)
        return "Invalid ProxyHCTPsize parameter. Parameter must be >= 0";
    hcheck_of(cmd->server)->threads = n;
    return NULL;
}

static const command_rec hcheck_commands[] = {
    AP_INIT_RAW_ARGS("ProxyHCTemplate", hcheck_template_cmd, NULL, OR_FILEINFO,
                     "Health check template"),
    AP_INIT_RAW_ARGS("ProxyHCExpr", hcheck_expr_cmd, NULL, OR_FILEINFO,
                     "Define a health check condition ruleset expression"),
    AP_INIT_TAKE1("ProxyHCTPsize", hcheck_threads_cmd, NULL, RSRC_CONF,
                  "Set size of health check thread pool"),
    {.name = NULL}};

static void hcheck_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_expr_lookup(hcheck_lookup, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA proxy_hcheck_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, hcheck_create, NULL, hcheck_commands, hcheck_hooks, 0};
