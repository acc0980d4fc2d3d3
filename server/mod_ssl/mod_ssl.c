/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in ssl module. */
#include "tls_certificate.h"
#include "tls_renegotiate.h"
#include "tls_directives_private.h"
#include "tls_proxy_filter_private.h"
#include "tls_request_private.h"
#include "tls_setup.h"
#include "configuration.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

AP_DECLARE_MODULE(ssl);

/* ---- configurations ---- */

static void *server_create(apr_pool_t *p, server_rec *s)
{
    tls_server_conf *sc = apr_pcalloc(p, sizeof *sc);

    sc->server = s;
    sc->enabled = sc->protocols = sc->honor_order = sc->tickets = sc->strict_sni = TLS_UNSET;
    sc->crl_check = TLS_UNSET;
    sc->sni_policy = sc->verify = sc->depth = sc->session_seconds = sc->index = TLS_UNSET;
    sc->stapling = TLS_UNSET;
    sc->ocsp.check = sc->ocsp.override = sc->ocsp.nonce = sc->ocsp.unverified = TLS_UNSET;
    sc->ocsp.timeout = sc->ocsp.skew = sc->ocsp.age = TLS_UNSET;
    return sc;
}

#define MERGE_NUMBER(field)     \
    if (sc->field == TLS_UNSET) \
    sc->field = base->field
#define MERGE_POINTER(field) \
    if (!sc->field)          \
    sc->field = base->field

static void server_merge_ocsp(tls_server_conf *sc, const tls_server_conf *base)
{
    if (sc->ocsp.check == TLS_UNSET)
        sc->ocsp.may_lack = base->ocsp.may_lack;
    MERGE_NUMBER(ocsp.check);
    MERGE_NUMBER(ocsp.override);
    MERGE_NUMBER(ocsp.nonce);
    MERGE_NUMBER(ocsp.unverified);
    MERGE_NUMBER(ocsp.timeout);
    MERGE_NUMBER(ocsp.skew);
    MERGE_NUMBER(ocsp.age);
    MERGE_POINTER(ocsp.responder);
    MERGE_POINTER(ocsp.proxy);
    MERGE_POINTER(ocsp.signers_file);
}

static void *server_merge(apr_pool_t *p, void *basev, void *addv)
{
    const tls_server_conf *base = basev;
    tls_server_conf *sc = apr_pmemdup(p, addv, sizeof *sc);

    BRG_ASSERT(sc->index == TLS_UNSET && !sc->trust); /* both come when all are merged */
    MERGE_NUMBER(enabled);
    MERGE_NUMBER(protocols);
    MERGE_NUMBER(honor_order);
    MERGE_NUMBER(tickets);
    MERGE_NUMBER(strict_sni);
    MERGE_NUMBER(sni_policy);
    MERGE_NUMBER(verify);
    MERGE_NUMBER(depth);
    MERGE_NUMBER(session_seconds);
    MERGE_NUMBER(stapling);
    MERGE_POINTER(key_files);
    MERGE_POINTER(cert_files);
    MERGE_POINTER(chain_file);
    MERGE_POINTER(ticket_file);
    MERGE_POINTER(ciphers);
    MERGE_POINTER(ciphers13);
    MERGE_POINTER(ca_file);
    MERGE_POINTER(ca_path);
    if (sc->crl_check == TLS_UNSET)
        sc->crl_may_lack = base->crl_may_lack;
    MERGE_NUMBER(crl_check);
    MERGE_POINTER(crl_file);
    MERGE_POINTER(crl_path);
    MERGE_POINTER(names_file);
    MERGE_POINTER(names_path);
    server_merge_ocsp(sc, base);
    if (base->commands)
        sc->commands =
            sc->commands ? apr_array_append(p, base->commands, sc->commands) : base->commands;
    return sc;
}

static void *dir_create(apr_pool_t *p, char *dir)
{
    tls_dir_conf *dc = apr_pcalloc(p, sizeof *dc);

    dc->verify = dc->depth = TLS_UNSET;
    dc->buffer = TLS_UNSET;
    return dc;
}

static void *dir_merge(apr_pool_t *p, void *basev, void *addv)
{
    const tls_dir_conf *base = basev, *add = addv;
    tls_dir_conf *dc = apr_pmemdup(p, base, sizeof *dc);

    dc->require_ssl |= add->require_ssl;
    if (add->user_name)
        dc->user_name = add->user_name;
    dc->proxy = tls_proxy_merge(p, base->proxy, add->proxy);
    if (add->verify != TLS_UNSET)
        dc->verify = add->verify;
    if (add->depth != TLS_UNSET)
        dc->depth = add->depth;
    if (add->buffer != TLS_UNSET)
        dc->buffer = add->buffer;
    if (add->ciphers)
        dc->ciphers = add->ciphers;
    if (add->requirements)
        dc->requirements = base->requirements
                               ? apr_array_append(p, base->requirements, add->requirements)
                               : add->requirements;
    if (add->options_set) {
        dc->options_set = 1;
        dc->options = add->options;
    } else {
        dc->options = (dc->options & ~add->options_del) | add->options_add;
    }
    dc->options_add = (dc->options_add & ~add->options_del) | add->options_add;
    dc->options_del = (dc->options_del & ~add->options_add) | add->options_del;
    BRG_ASSERT(!(dc->options_add & dc->options_del));
    return dc;
}

static int module_pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    memset(&tls_settings, 0, sizeof tls_settings);
    tls_request_sleep();
    tls_renegotiate_forget();
    tls_vars_log_items(p);
    return OK;
}

/* An .htaccess file may refuse requests without TLS, where no server has any. */
static int module_overrides(const ap_directive_t *d)
{
    for (; d; d = d->next)
        if ((!strcasecmp(d->directive, "AllowOverride") &&
             (ap_strcasestr(d->args, "All") || ap_strcasestr(d->args, "AuthConfig"))) ||
            (!strcasecmp(d->directive, "AllowOverrideList") && strcasecmp(d->args, "None") != 0) ||
            module_overrides(d->first_child))
            return 1;
    return 0;
}

/* A server has TLS. It may say so by its address alone: tls_check_config() finds that out. */
static void module_needed(const server_rec *s)
{
    for (; s; s = s->next)
        if (tls_conf_of(s)->enabled == 1)
            tls_request_needed();
}

static int module_check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int status = tls_check_config(p, plog, ptemp, s);

    if (conf_builtin_was_named(&ssl_module) || module_overrides(ap_conftree))
        tls_request_needed();
    module_needed(s);
    return status;
}

static int module_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int status = tls_post_config(p, plog, ptemp, s);

    module_needed(s);
    return status;
}

static void module_hooks(apr_pool_t *p)
{
    ap_hook_pre_config(module_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(module_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(module_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(tls_exchange_child, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_test_config(tls_show_test, NULL, NULL, APR_HOOK_MIDDLE);
    tls_show_register();
    tls_request_hooks();
    tls_buffer_filter();
    tls_vars_hooks();
    tls_proxy_hooks();
}

module AP_MODULE_DECLARE_DATA ssl_module = {STANDARD20_MODULE_STUFF,
                                            dir_create,
                                            dir_merge,
                                            server_create,
                                            server_merge,
                                            tls_commands,
                                            module_hooks,
                                            AP_MODULE_FLAG_NONE};
