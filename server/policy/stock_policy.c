/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for stock modules of Apache 2.4 whose phases only look at the request, the configuration and
 * local files. A rule declares for its module, so that the module's presence alone sends no request to a
 * worker. Rules are conservative: what is not certain is VOLATILE.
 *
 * Modules that check passwords, which may take long on purpose (bcrypt), have rules, too: the phases of
 * a request stop before authentication on a loop and continue on a worker (request.c). */
#include "coding.h"
#include "brigade/assert.h"
#include "connection.h"
#include "stock_policy.h"
#include "configuration.h"
#include "conn.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_cfgtree.h"
#include "apr_strings.h"
#include <stdatomic.h>
#include <string.h>

/* Files above this size are compressed by a worker: other connections of the loop would wait too long. */
#define STOCK_DEFLATE_BYTES (128 * 1024)

/* The response depends on the user where the configuration asks for one. */
static int stock_authentication(request_rec *r)
{
    if (r->user || r->ap_auth_type || ap_auth_type(r))
        return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static const char *stock_last_segment(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* 1 if negotiation chose the file: its name differs from the last segment of the target. r->uri is no help, it may
 * name an index file by now. */
static int stock_name_was_chosen(request_rec *r)
{
    const char *asked, *got = stock_last_segment(r->filename);
    apr_size_t len;

    while (r->prev)
        r = r->prev;
    len = r->unparsed_uri ? strcspn(r->unparsed_uri, "?") : 0;
    asked = len ? stock_last_segment(apr_pstrmemdup(r->pool, r->unparsed_uri, len)) : NULL;
    return !asked || !got || strcmp(asked, got) != 0;
}

static int stock_is_type_map(const request_rec *r)
{
    return (r->handler && !strcmp(r->handler, "type-map")) ||
           (r->content_type && !strcmp(r->content_type, "application/x-type-map"));
}

/* MultiViews and type maps choose by request fields. Of x-gzip and gzip the response has the name that the client
 * uses. */
static int stock_negotiation(request_rec *r)
{
    if (r->content_encoding || r->vlist_validator)
        return BRG_CACHE_VOLATILE;
    for (const request_rec *q = r->prev; q; q = q->prev)
        if (stock_is_type_map(q))
            return BRG_CACHE_VOLATILE;
    if ((ap_allow_options(r) & OPT_MULTI) &&
        (r->finfo.filetype == APR_NOFILE || stock_name_was_chosen(r)))
        return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static int stock_static(request_rec *r)
{
    return BRG_CACHE_STATIC;
}

static int stock_takes_coding(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Accept-Encoding") ||
           apr_table_get(r->subprocess_env, "force-gzip");
}

static int stock_compression_waits(request_rec *r)
{
    if (r->finfo.filetype == APR_REG && r->finfo.size <= STOCK_DEFLATE_BYTES)
        return 0;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if ((coding_of_filter(f->frec) && stock_takes_coding(r)) ||
            !ap_cstr_casecmp(f->frec->name, "inflate"))
            return 1;
    return 0;
}

/* ---- connections ---- */

/* Modules of other protocols take no part in a connection without filters of theirs. */
static int stock_plain_connection(request_rec *r)
{
    return connection_is_plain(r->connection) ? BRG_CACHE_STATIC : BRG_CACHE_VOLATILE;
}

/* ---- hosts ---- */

static int stock_is_absent(const void *unused, const char *value, apr_size_t len)
{
    return value ? -1 : 0;
}

/* It takes the host from either field, where a proxy sent it, and so another virtual host may answer.
 * The address that it yields counts for logs, as with mod_remoteip. */
static int stock_rpaf(request_rec *r)
{
    static const char *const names[] = {"X-Forwarded-Host", "X-Host"};

    for (size_t i = 0; stock_is_marked("mod_rpaf-2.0.c") && i < sizeof names / sizeof *names; i++) {
        if (apr_table_get(r->headers_in, names[i]))
            return BRG_CACHE_VOLATILE;
        brg_cache_vary(r, names[i], stock_is_absent, NULL);
    }
    return BRG_CACHE_STATIC;
}

/* ---- names and targets ---- */

static int stock_is_proxied(const request_rec *r)
{
    return r->proxyreq || (r->filename && !strncmp(r->filename, "proxy:", 6)) ||
           (r->handler &&
            (!strcmp(r->handler, "proxy-server") || !strncmp(r->handler, "proxy:", 6)));
}

/* Which targets ProxyPass names follows from the target and the configuration alone. */
static int stock_proxy(request_rec *r)
{
    return stock_is_proxied(r) ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

static int stock_proxy_waits(request_rec *r)
{
    return stock_is_proxied(r);
}

/* A '~', plain or escaped: the target may name a user, whom mod_userdir looks up in the system's database. */
static int stock_may_name_user(const request_rec *r)
{
    return r->uri && (strchr(r->uri, '~') || strstr(r->uri, "%7"));
}

static int stock_userdir(request_rec *r)
{
    for (const request_rec *q = r; q; q = q->prev)
        if (stock_may_name_user(q))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

/* If the file is not there, mod_speling looks for files with a similar name. */
static int stock_speling(request_rec *r)
{
    return stock_is_marked("mod_speling.c") &&
                   (r->finfo.filetype == APR_NOFILE || (r->path_info && *r->path_info))
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

/* The handler of mod_actions redirects, and cannot be called twice for that. */
static int stock_action_waits(request_rec *r)
{
    return stock_is_marked("mod_actions.c");
}

/* The handler of type maps redirects, too. */
static int stock_type_map_waits(request_rec *r)
{
    return stock_is_type_map(r);
}

static int stock_cache(request_rec *r)
{
    for (const request_rec *q = r; q; q = q->prev)
        if (stock_cache_enabled(q))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static int stock_cache_waits(request_rec *r)
{
    return stock_cache_enabled(r);
}

/* ---- the table ---- */

#define PHP_HANDLERS "application/x-httpd-php application/x-httpd-php-source php-script"

static const stock_rule rules[] = {
    {.name = "mod_actions.c",
     .depends = stock_static,
     .waits = stock_action_waits,
     .marks = "Action Script"},
    {.name = "mod_allowmethods.c", .depends = stock_static},
    {.name = "mod_asis.c", .depends = stock_static, .handlers = "send-as-is httpd/send-as-is"},
    {.name = "mod_auth_basic.c", .depends = stock_authentication},
    {.name = "mod_auth_form.c",
     .depends = stock_authentication,
     .handlers = "form-login-handler form-logout-handler form-redirect-handler"},
    {.name = "mod_auth_digest.c", .depends = stock_authentication},
    {.name = "mod_authn_anon.c", .depends = stock_authentication},
    {.name = "mod_authn_core.c", .depends = stock_authentication},
    {.name = "mod_authn_file.c", .depends = stock_authentication},
    {.name = "mod_authnz_fcgi.c", .depends = stock_authentication},
    {.name = "mod_authnz_ldap.c", .depends = stock_authentication},
    {.name = "mod_authz_groupfile.c", .depends = stock_authentication},
    {.name = "mod_authz_owner.c", .depends = stock_authentication},
    {.name = "mod_authz_svn.c",
     .depends = stock_authentication,
     .unless = "AuthzSVNAccessFile AuthzSVNReposRelativeAccessFile"},
    {.name = "mod_authz_user.c", .depends = stock_authentication},
    {.name = "mod_brotli.c",
     .depends = stock_static,
     .waits = stock_compression_waits,
     .filters_work = 1},
    {.name = "mod_cache.c",
     .depends = stock_cache,
     .waits = stock_cache_waits,
     .phases_wait = stock_cache_enabled},
    {.name = "mod_cern_meta.c", .depends = stock_static, .unless = "MetaFiles"},
    {.name = "mod_cgi.c", .depends = stock_static, .handlers = "cgi-script"},
    {.name = "mod_cgid.c", .depends = stock_static, .handlers = "cgi-script"},
    {.name = "mod_charset_lite.c", .depends = stock_static, .unless = "CharsetSourceEnc"},
    {.name = "mod_dav.c", .depends = stock_static, .handlers = "dav-handler"},
    {.name = "mod_dav_fs.c", .depends = stock_static},
    /* what lies in a repository is no file */
    {.name = "mod_dav_svn.c", .depends = stock_static, .handlers = "dav-handler"},
    {.name = "mod_deflate.c",
     .depends = stock_static,
     .waits = stock_compression_waits,
     .filters_work = 1},
    {.name = "mod_dialup.c", .depends = stock_static, .unless = "ModemStandard"},
    {.name = "mod_evasive20.c", .depends = NULL, .unless = "DOSEmailNotify DOSSystemCommand"},
    {.name = "mod_fcgid.c",
     .depends = stock_static,
     .handlers = "fcgid-script",
     .unless = "FcgidAccessChecker FcgidAuthenticator FcgidAuthorizer"},
    {.name = "mod_file_cache.c", .depends = stock_static, .unless = "CacheFile MMapFile"},
    {.name = "mod_geoip.c", .depends = stock_static, .unless = "GeoIPEnable"},
    {.name = "mod_heartmonitor.c", .depends = stock_static, .handlers = "heartbeat"},
    {.name = "mod_http2.c", .depends = stock_plain_connection, .by_filters = 1, .filters_work = 1},
    {.name = "mod_imagemap.c", .depends = stock_static, .handlers = "imap-file"},
    {.name = "mod_info.c", .depends = stock_static, .handlers = "server-info"},
    {.name = "mod_log_debug.c", .depends = stock_static, .unless = "LogMessage"},
    {.name = "mod_log_forensic.c", .depends = stock_static, .unless = "ForensicLog"},
    {.name = "mod_lua.c",
     .depends = stock_static,
     .handlers = "lua-script",
     .unless =
         "LuaAuthzProvider LuaHookPreTranslateName <LuaHookPreTranslateName LuaHookTranslateName "
         "<LuaHookTranslateName LuaHookFixups <LuaHookFixups LuaHookMapToStorage "
         "<LuaHookMapToStorage LuaHookCheckUserID <LuaHookCheckUserID LuaHookTypeChecker "
         "<LuaHookTypeChecker LuaHookAccessChecker <LuaHookAccessChecker LuaHookAuthChecker "
         "<LuaHookAuthChecker LuaHookInsertFilter LuaHookLog LuaQuickHandler "
         "<LuaQuickHandler LuaMapHandler LuaOutputFilter LuaInputFilter"},
    {.name = "mod_md.c",
     .depends = stock_static,
     .handlers = "md-status",
     .unless = "MDomain <MDomain <MDomainSet ManagedDomain"},
    {.name = "mod_negotiation.c", .depends = stock_negotiation, .waits = stock_type_map_waits},
    {.name = "mod_php.c", .depends = stock_static, .handlers = PHP_HANDLERS},
    {.name = "mod_proxy.c", .depends = stock_proxy, .waits = stock_proxy_waits},
    {.name = "mod_proxy_balancer.c", .depends = stock_static, .handlers = "balancer-manager"},
    {.name = "mod_proxy_express.c", .depends = stock_static, .unless = "ProxyExpressEnable"},
    {.name = "mod_proxy_html.c", .depends = stock_static},
    {.name = "mod_reflector.c", .depends = stock_static, .handlers = "reflector"},
    {.name = "mod_remoteip.c",
     .depends = stock_plain_connection,
     .by_filters = 1,
     .filters_work = 1,
     .observes = 1},
    /* a map may ask a program or a database */
    {.name = "mod_rewrite.c",
     .depends = stock_rewrite,
     .unless = "RewriteMap",
     .marks = "RewriteEngine"},
    {.name = "mod_rpaf-2.0.c",
     .depends = stock_rpaf,
     .marks = "RPAFsethostname",
     .changes_client = 1,
     .observes = 1},
    {.name = "mod_security2.c",
     .depends = stock_static,
     .by_filters = 1,
     .unless = "SecRuleEngine SecGuardianLog SecConnEngine SecReadStateLimit SecWriteStateLimit "
               "SecConnReadStateLimit SecConnWriteStateLimit"},
    {.name = "mod_session.c",
     .depends = stock_static,
     .unless = "Session SessionEnv",
     .filters_work = 1,
     .leaves = "MOD_SESSION_OUT"},
    {.name = "mod_speling.c", .depends = stock_speling, .marks = "CheckSpelling"},
    {.name = "mod_ssl.c",
     .depends = stock_plain_connection,
     .unless = "SSLRequire",
     .by_filters = 1,
     .filters_work = 1},
    {.name = "mod_unique_id.c", .depends = NULL},
    {.name = "util_ldap.c", .depends = stock_static, .handlers = "ldap-status"},
    {.name = "mod_userdir.c", .depends = stock_userdir, .phases_wait = stock_may_name_user},
    {.name = "mod_usertrack.c", .depends = stock_static, .unless = "CookieTracking"},
    {.name = "mod_vhost_alias.c",
     .depends = stock_static,
     .unless = "VirtualDocumentRootIP VirtualScriptAliasIP"},
    {.name = "mod_wsgi.c",
     .depends = stock_static,
     .handlers = "wsgi-script",
     .unless = "WSGIAccessScript WSGIAuthUserScript WSGIAuthGroupScript WSGIHandlerScript"},
    {.name = "mod_xsendfile.c", .depends = stock_static},
};

/* mod_remoteip changes the client's address where a request has its field: such a request is not answered by what
 * depends on addresses (changed_fields_in()); for logs of responses from memory, policy_observe() runs its hook. */
#define RULES_N (sizeof rules / sizeof *rules)

int stock_rule_authenticates(const stock_rule *rule)
{
    return rule && rule->depends == stock_authentication;
}

/* ---- which directives change a rule ---- */

/* A directive of stock_rule.unless in an .htaccess file ends a rule until the process ends. Any thread may read such
 * a file. */
static struct {
    atomic_uchar is_void, is_marked;
} stock_state[RULES_N];

/* 1 if @a name is one of the words of @a list. */
static int stock_has_word(const char *list, const char *name)
{
    size_t len = strlen(name);

    while (list && *list) {
        size_t n = strcspn(list, " ");

        if (n == len && !ap_cstr_casecmpn(list, name, len))
            return 1;
        list += n + (list[n] == ' ');
    }
    return 0;
}

/* "off" is how most directives say that nothing is to be done. */
static int stock_is_use(const ap_directive_t *d, const char *list)
{
    return stock_has_word(list, d->directive) && !(d->args && !ap_cstr_casecmp(d->args, "off"));
}

static int stock_is_used(const ap_directive_t *d, const char *list)
{
    for (; list && d; d = d->next)
        if (stock_is_use(d, list) || stock_is_used(d->first_child, list))
            return 1;
    return 0;
}

static const stock_rule *stock_rule_named(const char *name)
{
    for (size_t i = 0; i < RULES_N; i++)
        if (!strcmp(rules[i].name, name))
            return &rules[i];
    return NULL;
}

int stock_rule_is_void(const stock_rule *rule)
{
    BRG_ASSERT(!rule || (rule >= rules && rule < rules + RULES_N));
    return rule && atomic_load_explicit(&stock_state[rule - rules].is_void, memory_order_relaxed);
}

int stock_is_marked(const char *name)
{
    const stock_rule *rule = stock_rule_named(name);

    BRG_ASSERT(rule != NULL && rule->marks != NULL);
    return atomic_load_explicit(&stock_state[rule - rules].is_marked, memory_order_relaxed);
}

void stock_policy_directive(const module *m, const cmd_parms *cmd, ap_conf_vector_t *section,
                            const ap_directive_t *d)
{
    const stock_rule *rule;

    BRG_ASSERT(m->name != NULL && d != NULL);
    if (!m->dynamic_load_handle)
        return;
    if (!strcmp(m->name, "mod_rewrite.c"))
        stock_rewrite_directive(cmd, section, d->directive, d->args);
    if (!strcmp(m->name, "mod_cache.c"))
        stock_cache_directive(cmd, d->directive, d->args);
    if (!strcmp(m->name, "mod_remoteip.c"))
        stock_remoteip_directive(cmd, d->directive, d->args);
    if (!conf_is_htaccess(cmd) || !(rule = stock_rule_named(m->name)))
        return;
    if (stock_is_use(d, rule->unless))
        atomic_store_explicit(&stock_state[rule - rules].is_void, 1, memory_order_relaxed);
    if (stock_is_use(d, rule->marks))
        atomic_store_explicit(&stock_state[rule - rules].is_marked, 1, memory_order_relaxed);
}

const stock_rule *stock_rule_of(const module *m)
{
    const stock_rule *rule;

    if (!m->dynamic_load_handle || m->version != MODULE_MAGIC_NUMBER_MAJOR ||
        !(rule = stock_rule_named(m->name)) || stock_is_used(ap_conftree, rule->unless))
        return NULL;
    if (stock_is_used(ap_conftree, rule->marks))
        atomic_store_explicit(&stock_state[rule - rules].is_marked, 1, memory_order_relaxed);
    return rule;
}

int stock_rule_leaves(const stock_rule *rule, const char *filter)
{
    return rule && rule->leaves && stock_has_word(rule->leaves, filter);
}

int stock_rule_waits(const stock_rule *rule, request_rec *r)
{
    BRG_ASSERT(rule >= rules && rule < rules + RULES_N);
    if (rule->handlers && r->handler && stock_has_word(rule->handlers, r->handler))
        return 1;
    return rule->waits && rule->waits(r);
}
