/* SPDX-License-Identifier: Apache-2.0 */
/* mod_allowmethods: AllowMethods refuses all methods that it does not name. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

extern module allowmethods_module;
APLOG_USE_MODULE(allowmethods);

typedef struct allowmethods_conf {
    apr_int64_t allowed; /* a bit for each method; 0: all */
    int is_set;
} allowmethods_conf;

static void *allowmethods_create(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(allowmethods_conf));
}

static void *allowmethods_merge(apr_pool_t *p, void *base, void *add)
{
    return ((const allowmethods_conf *)add)->is_set ? add : base;
}

static const char *allowmethods_set(cmd_parms *cmd, void *mconfig, int argc, char *const argv[])
{
    allowmethods_conf *conf = mconfig;

    if (argc == 0)
        return "AllowMethods: No method or 'reset' keyword given";
    if (argc == 1 && !ap_cstr_casecmp(argv[0], "reset")) {
        *conf = (allowmethods_conf){0, 1};
        return NULL;
    }
    for (int i = 0; i < argc; i++) {
        const int number = ap_method_number_of(argv[i]);

        if (number == M_INVALID)
            return apr_pstrcat(cmd->pool, "AllowMethods: Invalid Method '", argv[i], "'", NULL);
        conf->allowed |= AP_METHOD_BIT << number;
    }
    conf->is_set = 1;
    return NULL;
}

static int allowmethods_check(request_rec *r)
{
    const allowmethods_conf *conf = ap_get_module_config(r->per_dir_config, &allowmethods_module);

    if (!conf->allowed)
        return DECLINED;
    r->allowed = conf->allowed;
    if (conf->allowed & (AP_METHOD_BIT << r->method_number))
        return DECLINED;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01623) "client method denied by server configuration: '%s' to %s%s",
                  r->method, r->filename ? "" : "uri ", r->filename ? r->filename : r->uri);
    return HTTP_METHOD_NOT_ALLOWED;
}

static const command_rec allowmethods_commands[] = {
    AP_INIT_TAKE_ARGV("AllowMethods", allowmethods_set, NULL, ACCESS_CONF,
                      "only allow specific methods"),
    {0},
};

static void allowmethods_register_hooks(apr_pool_t *p)
{
    ap_hook_check_access(allowmethods_check, NULL, NULL, APR_HOOK_REALLY_FIRST,
                         AP_AUTH_INTERNAL_PER_CONF);
    brg_cache_declare(&allowmethods_module, NULL);
    brg_hooks_need_directive(&allowmethods_module, "access_checker", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&allowmethods_module);
}

module AP_MODULE_DECLARE_DATA allowmethods_module = {
    STANDARD20_MODULE_STUFF,
    allowmethods_create,
    allowmethods_merge,
    NULL,
    NULL,
    allowmethods_commands,
    allowmethods_register_hooks,
    0,
};
