/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asn_module: which network (AS) is the client in. ASTable names the sources; log items, Require
 * asn, variables of expressions and ASTableEnv use the table.
 */
#include <string.h>
#include "apr_strings.h"
#include "ap_expr.h"
#include "ap_mpm.h"
#include "mpm_common.h"
#include "scoreboard.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_request.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "asn_collector.h"
#include "bgp_options.h"

module AP_MODULE_DECLARE_DATA asn_module;
APLOG_USE_MODULE(asn);

asn_conf *asn_served;

static asn_conf *asn_read;         /* the configuration that is being read */
static apr_size_t asn_table_bytes; /* ASTableSize */

typedef struct asn_dir {
    int env; /* ASTableEnv: -1 not said */
} asn_dir;

static void *asn_dir_create(apr_pool_t *p, char *path)
{
    asn_dir *conf = apr_palloc(p, sizeof *conf);

    conf->env = -1;
    return conf;
}

static void *asn_dir_merge(apr_pool_t *p, void *base, void *add)
{
    return ((asn_dir *)add)->env >= 0 ? add : base;
}

/* ---- directives ---- */

static const char *asn_read_file(cmd_parms *cmd, asn_source *source, int argc, char *const argv[])
{
    if (argc != 1)
        return "file takes one path";
    source->file = ap_server_root_relative(cmd->pool, argv[0]);
    return source->file ? NULL : apr_psprintf(cmd->pool, "%s is no path", argv[0]);
}

static const char *asn_read_bgp(cmd_parms *cmd, asn_source *source, int argc, char *const argv[])
{
    bgp_conf *bgp = apr_palloc(cmd->pool, sizeof *bgp);

    source->bgp = bgp;
    return bgp_options_read(bgp, argv, argc, cmd->pool);
}

static const char *asn_set_source(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    asn_source source = {.words = cmd->directive->args};

    if (err)
        return err;
    if (asn_read->sources->nelts == ASN_TABLE_RIBS)
        return apr_psprintf(cmd->pool, "ASTable: at most %d sources", ASN_TABLE_RIBS);
    if (argc && !strcasecmp(argv[0], "file"))
        err = asn_read_file(cmd, &source, argc - 1, argv + 1);
    else if (argc && !strcasecmp(argv[0], "bgp"))
        err = asn_read_bgp(cmd, &source, argc - 1, argv + 1);
    else
        err = "a kind of source is needed: file or bgp";
    if (err)
        return apr_pstrcat(cmd->pool, "ASTable: ", err, NULL);
    APR_ARRAY_PUSH(asn_read->sources, asn_source) = source;
    return NULL;
}

static const char *asn_set_size(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n = apr_atoi64(arg);

    if (err)
        return err;
    if (n < 4 || n > 8192 || arg[strspn(arg, "0123456789")])
        return "ASTableSize takes MiB, 4 to 8192";
    asn_table_bytes = (apr_size_t)n << 20;
    return NULL;
}

static const command_rec asn_directives[] = {
    AP_INIT_TAKE_ARGV(
        "ASTable", asn_set_source, NULL, RSRC_CONF,
        "a source of networks: file and the path of a file with prefixes or ranges and "
        "AS numbers, or bgp, a router's address and options of the session with it"),
    AP_INIT_TAKE1("ASTableSize", asn_set_size, NULL, RSRC_CONF,
                  "MiB that the table of networks has at most"),
    AP_INIT_FLAG("ASTableEnv", ap_set_flag_slot, (void *)APR_OFFSETOF(asn_dir, env), OR_FILEINFO,
                 "whether requests have the variables CLIENT_ASN, CLIENT_PREFIX, CLIENT_AS_PATH, "
                 "CLIENT_COMMUNITIES"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

/* ---- variables ---- */

/* The number of the network that the client is in, 0 if in none; -1: there is no table. A brg_cache_client_fn. */
static apr_int64_t asn_number_of(const void *unused, apr_sockaddr_t *client)
{
    brg_asn_route route;

    if (!asn_is_ready())
        return -1;
    return asn_client_route(client, &route, NULL) ? route.origin : 0;
}

/* The answer varies by the number; with other variables each answer is its own. */
static const char *asn_variable_of_request(request_rec *r, asn_what what, apr_pool_t *p)
{
    apr_int64_t number;

    if (!asn_client_ready(r)) {
        brg_cache_depends_on(r, NULL);
        return "-";
    }
    if (what != ASN_WHAT_NUMBER) {
        brg_cache_depends_on(r, NULL);
        return asn_client_text(r->useragent_addr, what, p);
    }
    number = brg_cache_vary_client(r, asn_number_of, NULL);
    return number > 0 ? apr_psprintf(p, "%" APR_INT64_T_FMT, number) : "-";
}

static const char *asn_variable(ap_expr_eval_ctx_t *ctx, const void *data)
{
    const asn_what what = (asn_what)((const char *const *)data - asn_variables);

    if (ctx->r)
        return asn_variable_of_request(ctx->r, what, ctx->p);
    return ctx->c ? asn_client_text(ctx->c->client_addr, what, ctx->p) : "-";
}

static int asn_lookup_variable(ap_expr_lookup_parms *parms)
{
    if (parms->type != AP_EXPR_FUNC_VAR)
        return DECLINED;
    for (int i = 0; i < ASN_WHATS; i++)
        if (!strcasecmp(parms->name, asn_variables[i])) {
            *parms->func = asn_variable;
            *parms->data = &asn_variables[i];
            return OK;
        }
    return DECLINED;
}

static int asn_wants_env(const request_rec *r)
{
    const asn_dir *conf = ap_get_module_config(r->per_dir_config, &asn_module);

    return conf->env > 0;
}

static int asn_fixups(request_rec *r)
{
    if (!asn_wants_env(r) || !asn_client_ready(r))
        return DECLINED;
    for (int i = 0; i < ASN_WHATS; i++)
        apr_table_setn(r->subprocess_env, asn_variables[i],
                       asn_client_text(r->useragent_addr, (asn_what)i, r->pool));
    return DECLINED;
}

/* Variables are the client's own. */
static int asn_depends(request_rec *r)
{
    return asn_wants_env(r) ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

/* ---- a configuration ---- */

static int asn_is_used(void)
{
    for (const ap_directive_t *d = ap_conftree; d; d = d->next)
        if (!strcasecmp(d->directive, "ASTable"))
            return 1;
    return 0;
}

static apr_status_t asn_forget(void *data)
{
    if (asn_served == data)
        asn_served = NULL;
    return APR_SUCCESS;
}

static int brg_client_network_variable(const char *name)
{
    for (int i = 0; i < ASN_WHATS; i++)
        if (!strcasecmp(name, asn_variables[i]))
            return (asn_served ? asn_served->collector != NULL : asn_is_used()) ? i : -1;
    return -1;
}

static apr_size_t brg_client_network_put(int variable, const apr_sockaddr_t *client, char *out,
                                         int *ready)
{
    BRG_ASSERT(variable >= 0 && variable < ASN_WHATS);
    *ready = asn_is_ready();
    return asn_client_put(client, (asn_what)variable, out);
}

static int asn_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    asn_read = apr_pcalloc(pconf, sizeof *asn_read);
    asn_read->sources = apr_array_make(pconf, 2, sizeof(asn_source));
    asn_table_bytes = ASN_TABLE_SIZE;
    if (asn_is_used())
        asn_log_register(pconf);
    return OK;
}

static int asn_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_status_t rv = asn_collector_of(asn_read->sources, asn_table_bytes, s, &asn_read->collector);

    if (rv) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s,
                     "ASTable: no memory for a table of %" APR_SIZE_T_FMT " bytes",
                     asn_table_bytes);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    asn_served = asn_read;
    apr_pool_cleanup_register(pconf, asn_served, asn_forget, apr_pool_cleanup_null);
    return OK;
}

static void asn_child_init(apr_pool_t *p, server_rec *s)
{
    asn_collector_leave();
}

static int asn_monitor(apr_pool_t *p, server_rec *s)
{
    asn_collector_look(s);
    return OK;
}

static int asn_pre_mpm(apr_pool_t *p, ap_scoreboard_e kind)
{
    apr_status_t rv;

    BRG_ASSERT(asn_served);
    if (!asn_served->collector)
        return OK;
    if ((rv = asn_collector_start(asn_served->collector, ap_server_conf))) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, NULL, "ASTable: no process for its sources");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static void asn_register_hooks(apr_pool_t *p)
{
    static const char *const after[] = {"mod_log_config.c", NULL};

    ap_hook_pre_config(asn_pre_config, after, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(asn_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(asn_pre_mpm, NULL, NULL, APR_HOOK_LAST);
    ap_hook_child_init(asn_child_init, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_monitor(asn_monitor, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_expr_lookup(asn_lookup_variable, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(asn_fixups, NULL, NULL, APR_HOOK_FIRST);
    APR_REGISTER_OPTIONAL_FN(brg_client_network_variable);
    APR_REGISTER_OPTIONAL_FN(brg_client_network_put);
    brg_cache_declare_variable(p, asn_variable);
    asn_require_register(p);
    asn_status_register();
    brg_cache_declare(&asn_module, asn_depends);
    brg_hooks_need_directive(&asn_module, "fixups", NULL, BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA asn_module = {
    STANDARD20_MODULE_STUFF,
    asn_dir_create,
    asn_dir_merge,
    NULL,
    NULL,
    asn_directives,
    asn_register_hooks,
    0,
};
