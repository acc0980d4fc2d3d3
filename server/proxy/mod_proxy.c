/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in mod_proxy: its directives and hooks. */
#include "proxy_plan.h"
#include "proxy_private.h"
#include "proxy_gateway_private.h"
#include "proxy_commands_private.h"
#include "proxy_origin.h"
#include "proxy_check.h"
#include "proxy_tell.h"
#include "cache_plan.h"
#include "setting.h"
#include "brigade/hooks.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "request_context.h"
#include "brigade/wait.h"
#include "http_log.h"
#include "http_main.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_status.h"
#include <string.h>
#include <strings.h>

/* ---- directives ---- */

static const conf_word status_words[] = {{"off", 0}, {"on", 1}, {"full", 2}, {NULL, 0}};

#define SERVER(field, ...) \
    CONF_SETTING(.of = proxy_of_server, CONF_FIELD(proxy_server_conf, field), __VA_ARGS__)
#define SECTION(field) ((void *)offsetof(proxy_dir_conf, field))
#define PROXY_ANY (RSRC_CONF | ACCESS_CONF)

static const command_rec proxy_commands[] = {
    AP_INIT_RAW_ARGS(
        "<Proxy", proxy_section, NULL, RSRC_CONF,
        "Container for directives affecting resources located in the proxied location"),
    AP_INIT_RAW_ARGS(
        "<ProxyMatch", proxy_section, (void *)1, RSRC_CONF,
        "Container for directives affecting resources located in the proxied location, in regular "
        "expression syntax"),
    AP_INIT_FLAG("ProxyRequests", conf_set_flag, SERVER(requests, .most = 1), RSRC_CONF,
                 "on if the true proxy requests should be accepted"),
    AP_INIT_TAKE23("ProxyRemote", proxy_remote_cmd, NULL, RSRC_CONF,
                   "a scheme, partial URL or '*' and a proxy server"),
    AP_INIT_TAKE23("ProxyRemoteMatch", proxy_remote_match_cmd, NULL, RSRC_CONF,
                   "a regex pattern and a proxy server"),
    AP_INIT_FLAG("ProxyPassInterpolateEnv", ap_set_flag_slot, SECTION(interpolate), PROXY_ANY,
                 "Interpolate Env Vars in reverse Proxy"),
    AP_INIT_RAW_ARGS("ProxyPass", proxy_pass_cmd, NULL, PROXY_ANY, "a virtual path and a URL"),
    AP_INIT_RAW_ARGS("ProxyPassMatch", proxy_pass_cmd, (void *)1, PROXY_ANY,
                     "a virtual path and a URL"),
    AP_INIT_TAKE123("ProxyPassReverse", proxy_reverse_cmd, NULL, PROXY_ANY,
                    "a virtual path and a URL for reverse proxy behaviour"),
    AP_INIT_TAKE23("ProxyPassReverseCookiePath", proxy_cookie_path_cmd, NULL, PROXY_ANY,
                   "Path rewrite rule for proxying cookies"),
    AP_INIT_TAKE23("ProxyPassReverseCookieDomain", proxy_cookie_domain_cmd, NULL, PROXY_ANY,
                   "Domain rewrite rule for proxying cookies"),
    AP_INIT_ITERATE("ProxyBlock", proxy_block_cmd, NULL, RSRC_CONF,
                    "A list of names, hosts or domains to which the proxy will not connect"),
    AP_INIT_TAKE1("ProxyReceiveBufferSize", proxy_receive_buffer_cmd, NULL, RSRC_CONF,
                  "Receive buffer size for outgoing HTTP and FTP connections in bytes"),
    AP_INIT_TAKE1("ProxyIOBufferSize", proxy_io_buffer_cmd, NULL, RSRC_CONF,
                  "IO buffer size for outgoing HTTP and FTP connections in bytes"),
    AP_INIT_TAKE1("ProxyMaxForwards", proxy_max_forwards_cmd, NULL, RSRC_CONF,
                  "The maximum number of proxies a request may be forwarded through."),
    AP_INIT_ITERATE(
        "NoProxy", proxy_direct_cmd, NULL, RSRC_CONF,
        "A list of domains, hosts, or subnets to which the proxy will connect directly"),
    AP_INIT_TAKE1("ProxyDomain", proxy_domain_cmd, NULL, RSRC_CONF,
                  "The default intranet domain name (in absence of a domain in the URL)"),
    AP_INIT_TAKE1("ProxyVia", proxy_via_cmd, NULL, RSRC_CONF,
                  "Configure Via: proxy header header to one of: on | off | block | full"),
    AP_INIT_ITERATE("ProxyErrorOverride", proxy_override_cmd, NULL, PROXY_ANY,
                    "use our error handling pages instead of the servers' we are proxying"),
    AP_INIT_FLAG("ProxyPreserveHost", ap_set_flag_slot, SECTION(preserve_host), PROXY_ANY,
                 "on if we should preserve host header while proxying"),
    AP_INIT_FLAG("ProxyStatusField", ap_set_flag_slot, SECTION(status_field), PROXY_ANY,
                 "on if the field Proxy-Status says what a backend answered, or why it did not"),
    AP_INIT_TAKE1(
        "ProxyTimeout", proxy_timeout_cmd, NULL, RSRC_CONF,
        "Set the timeout (in seconds) for a proxied connection. This overrides the server timeout"),
    AP_INIT_TAKE1("ProxyBadHeader", proxy_bad_header_cmd, NULL, RSRC_CONF,
                  "How to handle bad header line in response: IsError | Ignore | StartBody"),
    AP_INIT_RAW_ARGS("BalancerMember", proxy_member_cmd, NULL, PROXY_ANY,
                     "A balancer name and scheme with list of params"),
    AP_INIT_TAKE1("BalancerGrowth", proxy_growth_cmd, NULL, RSRC_CONF,
                  "Number of additional Balancers that can be added post-config"),
    AP_INIT_FLAG("BalancerPersist", conf_set_flag, SERVER(persist, .most = 1), RSRC_CONF,
                 "on if the balancer should persist changes on reboot/restart made via the "
                 "Balancer Manager"),
    AP_INIT_FLAG("BalancerInherit", conf_set_flag, SERVER(inherit, .most = 1), RSRC_CONF,
                 "on if this server should inherit Balancers and Workers defined in the main "
                 "server (Setting to off "
                 "recommended if using the Balancer Manager)"),
    AP_INIT_FLAG("ProxyPassInherit", conf_set_flag, SERVER(pass_inherit, .most = 1), RSRC_CONF,
                 "on if this server should inherit all ProxyPass directives defined in the main "
                 "server (Setting to "
                 "off recommended if using the Balancer Manager)"),
    AP_INIT_TAKE1("ProxyStatus", conf_set_word,
                  SERVER(status, .words = status_words,
                         .refusal = "ProxyStatus must be one of: off | on | full"),
                  RSRC_CONF, "Configure Status: proxy status to one of: on | off | full"),
    AP_INIT_RAW_ARGS("ProxySet", proxy_set_cmd, NULL, PROXY_ANY,
                     "A balancer or worker name with list of params"),
    AP_INIT_TAKE1("ProxySourceAddress", proxy_source_cmd, NULL, RSRC_CONF,
                  "Configure local source IP used for request forward"),
    AP_INIT_FLAG("ProxyAddHeaders", ap_set_flag_slot, SECTION(add_fields), PROXY_ANY,
                 "on if X-Forwarded-* headers should be added or completed"),
    AP_INIT_FLAG("Proxy100Continue", ap_set_flag_slot, SECTION(pass_continue), PROXY_ANY,
                 "on if 100-Continue should be forwarded to the origin server, off if the proxy "
                 "should handle it by "
                 "itself"),
    {.name = NULL}};

/* ---- dependencies of an answer ---- */

/* Whether ProxyPass names a path follows from the path and the configuration. So files are answered from memory beside it; an
 * answer of a backend is not, unless the store had it. */

/* 1 if a quick handler answered before the path was mapped to a backend, or the store did in place of the handler. Parts of pages are
 * mapped first. */
static int proxy_is_stored(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (offer && offer->stored)
        return 1;
    return (r->proxyreq == PROXYREQ_REVERSE && !r->filename && !r->handler) || brg_cache_is_part(r);
}

static int proxy_depends(request_rec *r)
{
    if (proxy_is_stored(r) || cache_plan_is_offered(r))
        return BRG_CACHE_STATIC;
    if (r->proxyreq || (r->filename && !strncmp(r->filename, "proxy:", 6)) ||
        (r->handler && !request_is_refused(r) && /* a phase answered: no handler was called */
         (!strcmp(r->handler, "proxy-server") || !strncmp(r->handler, "proxy:", 6) ||
          !strcmp(r->handler, "balancer-manager"))))
        return BRG_CACHE_VOLATILE;
    return apr_table_get(r->notes, "proxy-unless-upgrade") ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

/* The handler waits for its backend: on the loop where that can be, else on a worker. */
static int proxy_waits(request_rec *r)
{
    proxy_request_settings conf;

    if (!r->proxyreq && !(r->handler && !strncmp(r->handler, "proxy:", 6)))
        return DECLINED;
    proxy_scgi_settings(r, &conf);
    if (brg_wait_possible(r) && !conf.scgi_sendfile)
        brg_wait_reads_body(r);
    else if (r->main && !conf.scgi_sendfile)
        request_mark_part_waits(r);
    else
        brg_request_needs_worker(r);
    return DECLINED;
}

static int proxy_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main)
{
    int rv;

    (void)plog;
    (void)ptemp;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
        return OK; /* all is read once more */
    rv = proxy_share(p, main);
    if (rv == OK)
        rv = proxy_gauges_map(main);
    if (rv == OK) {
        proxy_origins_make(p, main);
        proxy_checks_make(p, main);
    }
    return rv;
}

static void proxy_child_init(apr_pool_t *p, server_rec *s)
{
    (void)p;
    (void)s;
    proxy_gauges_begin();
}

static void proxy_test_config(apr_pool_t *p, server_rec *main)
{
    if (ap_exists_config_define("DUMP_PROXY"))
        proxy_dump(p, main);
}

static int proxy_pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)plog;
    (void)ptemp;
    APR_OPTIONAL_HOOK(ap, status_hook, proxy_status_page, NULL, NULL, APR_HOOK_MIDDLE);
    proxy_tell_register(p);
    return OK;
}

static void proxy_hooks(apr_pool_t *p)
{
    static const char *const core[] = {"http_core.c", NULL}, *const rules[] = {"mod_rewrite.c",
                                                                               NULL};

    brg_cache_declare(&proxy_module, proxy_depends);
    brg_cache_name_declare(&proxy_module, proxy_name);
    brg_hooks_need_directive(
        &proxy_module,
        "post_read_request pre_translate_name translate_name map_to_storage fixups handler", NULL,
        BRG_HOOKS_BY_SERVER);
    brg_hooks_need_directive(&proxy_module, "translate_name map_to_storage fixups handler",
                             "RewriteRule LoadModule", BRG_HOOKS_BY_SERVER);
    brg_hooks_need_directive(&proxy_module, "fixups", "SetHandler AddHandler", BRG_HOOKS_BY_SERVER);
    brg_handlers_are_for(&proxy_module, "proxy-server proxy:*");
    brg_cache_leaves_query(&proxy_module); /* but for nocanon: request_query_counts() */
    ap_hook_pre_config(proxy_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_test_config(proxy_test_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(proxy_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    APR_REGISTER_OPTIONAL_FN(brg_status_backend_get);
    ap_hook_optional_fn_retrieve(proxy_edits_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_optional_fn_retrieve(proxy_coding_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(proxy_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(proxy_detect, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_pre_translate_name(proxy_pre_translate, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_translate_name(proxy_translate, rules, core, APR_HOOK_FIRST);
    ap_hook_map_to_storage(proxy_map_to_storage, NULL, core, APR_HOOK_FIRST);
    ap_hook_fixups(proxy_fixup, rules, NULL, APR_HOOK_FIRST);
    ap_hook_fixups(proxy_waits, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_handler(proxy_handler, NULL, NULL, APR_HOOK_FIRST);
}

module AP_MODULE_DECLARE_DATA proxy_module = {
    STANDARD20_MODULE_STUFF, proxy_dir_create, proxy_dir_merge, proxy_server_create,
    proxy_server_merge,      proxy_commands,   proxy_hooks,     0};
