/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in md module: certificates of an authority, got and renewed by the server itself. */
#include "md_conf.h"
#include "md_daemon.h"
#include "md_demand.h"
#include "md_dns.h"
#include "md_request.h"
#include "md_shared.h"
#include "md_staple.h"
#include "trial.h"
#include "http_log.h"
#include "http_main.h"
#include "http_ssl.h"
#include "mpm_common.h"
#include "scoreboard.h"
#include "mod_status.h"
#include "apr_optional_hooks.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

AP_DECLARE_MODULE(md);

static md_store module_store; /* of this generation */
static apr_pool_t *module_pconf;

/* ---- configurations ---- */

static void *module_create(apr_pool_t *p, server_rec *s)
{
    md_server_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->set = md_settings_new(p);
    return conf;
}

static void *module_merge(apr_pool_t *p, void *base, void *add)
{
    md_server_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->set = md_settings_merge(p, ((const md_server_conf *)base)->set,
                                  ((const md_server_conf *)add)->set);
    conf->demand = ((const md_server_conf *)add)->demand;
    return conf;
}

static int module_pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    md_globals_reset(p);
    md_staple_reset(p);
    md_demand_reset(p);
    md_dns = NULL;
    md_request_sleep();
    return OK;
}

/* A server that says nothing shares its settings with the main server: it needs a domain of its own. */
static void module_own_settings(apr_pool_t *p, server_rec *main_server)
{
    for (server_rec *s = main_server->next; s; s = s->next)
        if (md_conf_of(s) == md_conf_of(main_server))
            ap_set_module_config(s->module_config, &md_module,
                                 apr_pmemdup(p, md_conf_of(s), sizeof(md_server_conf)));
}

static int module_check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int status = md_demand_assign(p, s);

    if (status != OK || (!md_domains->nelts && !md_demands->nelts))
        return status;
    module_own_settings(p, s);
    md_request_wake();
    return md_servers_assign(p, s);
}

static int module_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_status_t rv;

    module_pconf = p;
    if (md_dns && !md_domains->nelts && !md_demands->nelts) {
        md_dns = NULL; /* the daemon of stapling starts none either */
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "MDDnsResponder: there is no managed domain, so it does not run");
    }
    if (!md_domains->nelts && !md_demands->nelts && !md_staple_is_wanted(s))
        return OK;
    if (!md_all.store)
        md_all.store = ap_server_root_relative(p, "md");
    if (md_store_open(p, md_all.store, &module_store)) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, errno, s, APLOGNO(10046) "setup store for %s",
                     md_all.store);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    rv = md_shared_begin(md_domains->nelts, p);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s, "no memory for managed domains");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    rv = md_demands->nelts ? md_demand_begin(p) : APR_SUCCESS;
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s, "no memory for names on demand");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static int module_pre_mpm(apr_pool_t *p, ap_scoreboard_e kind)
{
    if ((!md_domains->nelts && !md_staples->nelts && !md_demands->nelts) || trial_runs())
        return OK;
    if (md_staple_share(module_pconf) != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, ap_server_conf, "no memory for OCSP responses");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return md_daemon_start(ap_server_conf, &module_store, module_pconf) == APR_SUCCESS
               ? OK
               : HTTP_INTERNAL_SERVER_ERROR;
}

static int module_monitor(apr_pool_t *p, server_rec *s)
{
    md_daemon_look(s);
    return OK;
}

static void module_child_init(apr_pool_t *p, server_rec *s)
{
    md_daemon_leave();
    md_demand_child();
}

/* ---- certificates for the ssl module ---- */

static int module_static_files(const md_domain *domain, apr_array_header_t *certs,
                               apr_array_header_t *keys)
{
    apr_array_cat(certs, domain->static_certs);
    apr_array_cat(keys, domain->static_keys);
    return DONE;
}

static int module_cert_files(server_rec *s, apr_pool_t *p, apr_array_header_t *certs,
                             apr_array_header_t *keys)
{
    const md_demand *demand = md_conf_of(s)->demand;
    const md_domain *domain = md_conf_of(s)->domain;

    if (!domain && demand && demand->server == s && !certs->nelts)
        domain = demand->like; /* of its name; it is shown until there are others */
    if (!domain)
        return DECLINED;
    if (certs->nelts) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     APLOGNO(10084) "host '%s' is covered by a Managed Domain, but certificate/key "
                                    "files are already configured for it (most likely via "
                                    "SSLCertificateFile).",
                     s->server_hostname);
        return DECLINED;
    }
    if (domain->static_certs)
        return module_static_files(domain, certs, keys);
    if (md_store_prepare(p, &module_store, domain)) {
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, s,
                     "%s: what stands in for its certificate cannot be made in %s", domain->name,
                     module_store.folder);
        return DECLINED;
    }
    md_conf_of(s)->stored = 1;
    for (int i = 0; i < domain->set->keys->nelts; i++) {
        const md_key_spec *spec = &APR_ARRAY_IDX(domain->set->keys, i, md_key_spec);

        APR_ARRAY_PUSH(certs, const char *) =
            md_store_link(p, &module_store, domain->name, "pubcert", spec);
        APR_ARRAY_PUSH(keys, const char *) =
            md_store_link(p, &module_store, domain->name, "privkey", spec);
    }
    return DONE;
}

/* ---- OCSP responses for it ---- */

static int module_ocsp_response(server_rec *s, conn_rec *c, const char *id, apr_size_t id_len,
                                ap_ssl_ocsp_copy_resp *take, void *data)
{
    unsigned char der[MD_OCSP_MOST];
    int len = id_len == MD_OCSP_ID
                  ? md_staple_response((const unsigned char *)id, apr_time_now(), der)
                  : -1;

    if (len < 0)
        return DECLINED;
    take(der, (apr_size_t)len, data);
    return OK;
}

static void module_hooks(apr_pool_t *p)
{
    static const char *const ssl[] = {"mod_ssl.c", NULL};

    ap_hook_pre_config(module_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(module_check_config, ssl, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(module_post_config, NULL, ssl, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(module_pre_mpm, NULL, NULL, APR_HOOK_LAST);
    ap_hook_monitor(module_monitor, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(module_child_init, NULL, NULL, APR_HOOK_REALLY_FIRST);
    APR_OPTIONAL_HOOK(ap, status_hook, md_status_page, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_ssl_add_cert_files(module_cert_files, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_ssl_ocsp_prime_hook(md_staple_prime, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_ssl_ocsp_get_resp_hook(module_ocsp_response, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&md_module, md_request_depends);
    brg_cache_name_declare(&md_module, md_request_name);
    brg_hooks_need_directive(&md_module, "post_read_request", NULL, BRG_HOOKS_EVERYWHERE);
    brg_cache_leaves_query(&md_module);
}

module AP_MODULE_DECLARE_DATA md_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, module_create, module_merge, md_commands, module_hooks,
    AP_MODULE_FLAG_NONE};
