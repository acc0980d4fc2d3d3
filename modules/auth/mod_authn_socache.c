/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider "socache", which knows hashes that other providers had to ask a database for, and their function to store
 * such.
 *
 * The credential memory knows results of the providers file and dbm already, for as long as their
 * files stay as they are. So it is not stored here, where a change would be seen only after
 * AuthnCacheTimeout.
 */
#include "auth_password.h"
#include "auth_hashes.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include <stdatomic.h>

extern module AP_MODULE_DECLARE_DATA authn_socache_module;
APLOG_USE_MODULE(authn_socache);

typedef struct socache_conf {
    apr_array_header_t *providers; /* of const char *: whose hashes are stored; NULL: nobody's */
    apr_interval_time_t timeout;
    int timeout_set;
    const char *context; /* NULL: not given */
} socache_conf;

static const char context_directory[] = "directory", context_server[] = "server";

static void *socache_create(apr_pool_t *p, char *dir)
{
    socache_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->timeout = apr_time_from_sec(300);
    return conf;
}

static void *socache_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const socache_conf *base = base_conf, *add = add_conf;
    socache_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->timeout_set = add->timeout_set || base->timeout_set;
    conf->timeout = add->timeout_set ? add->timeout : base->timeout;
    conf->context = add->context ? add->context : base->context;
    conf->providers = add->providers ? add->providers : base->providers;
    return conf;
}

static const socache_conf *socache_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &authn_socache_module);
}

/* ---- keys ---- */

static const char *socache_context(request_rec *r, const socache_conf *conf)
{
    const char *context = conf->context ? conf->context : context_directory, *slash;

    if (!strcasecmp(context, context_server))
        return r->server->server_hostname ? r->server->server_hostname : "";
    if (strcasecmp(context, context_directory) || !r->uri || !(slash = strrchr(r->uri, '/')))
        return context;
    return apr_pstrmemdup(r->pool, r->uri, (apr_size_t)(slash - r->uri));
}

/* @param more  a realm, or a password; NULL: none */
static int socache_key(auth_mark *key, char kind, request_rec *r, const char *user,
                       const char *more)
{
    const char *context = socache_context(r, socache_conf_of(r));
    const auth_piece piece[] = {
        {context, strlen(context)}, {user, strlen(user)}, {more, more ? strlen(more) : 0}};

    return auth_mark_make(key, kind, piece, more ? 3 : 2);
}

#define SOCACHE_HASH 'S'
#define SOCACHE_RIGHT 'k' /* of a password that matched the hash */

/* ---- storing ---- */

static atomic_int socache_used; /* something was stored in this process */

static int socache_is_empty(void)
{
    return !atomic_load_explicit(&socache_used, memory_order_relaxed);
}

static int socache_is_for(const socache_conf *conf, const char *provider)
{
    for (int i = 0; conf->providers && i < conf->providers->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(conf->providers, i, const char *), provider))
            return 1;
    return 0;
}

static void ap_authn_cache_store(request_rec *r, const char *provider, const char *user,
                                 const char *realm, const char *hash)
{
    const socache_conf *conf = socache_conf_of(r);
    auth_mark key;

    if (!socache_is_for(conf, provider) || ap_lookup_provider(AUTH_OWN_GROUP, provider, "0"))
        return;
    if (socache_key(&key, SOCACHE_HASH, r, user, realm) &&
        auth_hashes_put(&key, hash, brg_monotonic_now() + conf->timeout)) {
        atomic_store_explicit(&socache_used, 1, memory_order_relaxed);
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(01681) "Cached authn credentials for %s in %s", user,
                      socache_context(r, conf));
    } else
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      APLOGNO(01680) "Failed to cache authn credentials for %s in %s", provider,
                      socache_context(r, conf));
}

/* ---- asking ---- */

static authn_status socache_check(request_rec *r, const char *user, const char *password)
{
    char hash[AUTH_HASH_MOST];
    auth_mark key, right;
    apr_time_t until;

    auth_note_asked(r, auth_note_of(r), "socache");
    if (!socache_conf_of(r)->providers || socache_is_empty())
        return AUTH_USER_NOT_FOUND;
    auth_note_open(auth_note_of(r));
    if (!socache_key(&key, SOCACHE_HASH, r, user, NULL) ||
        !socache_key(&right, SOCACHE_RIGHT, r, user, password))
        return AUTH_USER_NOT_FOUND;
    if (auth_memory_knows(&right))
        return AUTH_GRANTED;
    if (auth_leaves_loop(r))
        return AUTH_GENERAL_ERROR;
    until = auth_hashes_get(&key, hash);
    if (!until) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(01684) "Authn cache: no credentials found for %s", user);
        return AUTH_USER_NOT_FOUND;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(01685) "Authn cache: found credentials for %s", user);
    if (auth_password_check(r, NULL, user, password, hash, NULL) != AUTH_GRANTED)
        return AUTH_DENIED;
    auth_memory_learn(&right, until);
    return AUTH_GRANTED;
}

static authn_status socache_realm_hash(request_rec *r, const char *user, const char *realm,
                                       char **out)
{
    char hash[AUTH_HASH_MOST];
    auth_mark key;

    auth_note_open(auth_note_of(r));
    if (!socache_conf_of(r)->providers || socache_is_empty())
        return AUTH_USER_NOT_FOUND;
    if (auth_leaves_loop(r))
        return AUTH_GENERAL_ERROR;
    if (!socache_key(&key, SOCACHE_HASH, r, user, realm) || !auth_hashes_get(&key, hash)) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(01687) "Authn cache: no credentials found for %s", user);
        return AUTH_USER_NOT_FOUND;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(01688) "Authn cache: found credentials for %s", user);
    *out = apr_pstrdup(r->pool, hash);
    return AUTH_USER_FOUND;
}

static const authn_provider socache_provider = {socache_check, socache_realm_hash};

/* ---- directives ---- */

/* Where Apache stores. Here it is the memory of each process, whatever is named, so these need no module. */
static int socache_is_place(const char *name)
{
    static const char *const places[] = {"default", "shmcb", "dbm", "dc", "memcache", "redis"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strcmp(name, places[i]))
            return 1;
    return ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, name, AP_SOCACHE_PROVIDER_VERSION) != NULL;
}

static const char *socache_cmd_place(cmd_parms *cmd, void *unused, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY), *name;

    if (err)
        return err;
    name = apr_pstrmemdup(cmd->temp_pool, arg, strcspn(arg, ":"));
    return socache_is_place(name)
               ? NULL
               : apr_psprintf(
                     cmd->pool,
                     "Unknown socache provider '%s'. Maybe you need to load the appropriate "
                     "socache module (mod_socache_%s?)",
                     name, name);
}

static const char *socache_cmd_enable(cmd_parms *cmd, void *unused)
{
    return ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

static const char *socache_cmd_provider(cmd_parms *cmd, void *mconfig, const char *name)
{
    socache_conf *conf = mconfig;

    if (!conf->providers)
        conf->providers = apr_array_make(cmd->pool, 4, sizeof(char *));
    APR_ARRAY_PUSH(conf->providers, const char *) = name;
    return NULL;
}

static const char *socache_cmd_timeout(cmd_parms *cmd, void *mconfig, const char *arg)
{
    socache_conf *conf = mconfig;

    conf->timeout = apr_time_from_sec(atoi(arg));
    conf->timeout_set = 1;
    return NULL;
}

static const char *socache_cmd_context(cmd_parms *cmd, void *mconfig, const char *arg)
{
    ((socache_conf *)mconfig)->context = arg;
    return NULL;
}

static void socache_child_init(apr_pool_t *p, server_rec *s)
{
    auth_hashes_open();
}

static void socache_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(ap_authn_cache_store);
    ap_register_auth_provider(p, AUTHN_PROVIDER_GROUP, "socache", AUTHN_PROVIDER_VERSION,
                              &socache_provider, AP_AUTH_INTERNAL_PER_CONF);
    ap_register_provider(p, AUTH_OWN_GROUP, "socache", "0", &socache_provider);
    ap_hook_child_init(socache_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&authn_socache_module, NULL);
}

static const command_rec socache_directives[] = {
    AP_INIT_TAKE1("AuthnCacheSOCache", socache_cmd_place, NULL, RSRC_CONF,
                  "taken, and of no effect: each process stores in memory of its own"),
    AP_INIT_NO_ARGS("AuthnCacheEnable", socache_cmd_enable, NULL, RSRC_CONF,
                    "taken, and of no effect: .htaccess files may name providers without it"),
    AP_INIT_ITERATE("AuthnCacheProvideFor", socache_cmd_provider, NULL, OR_AUTHCFG,
                    "the providers whose hashes are stored"),
    AP_INIT_TAKE1("AuthnCacheTimeout", socache_cmd_timeout, NULL, OR_AUTHCFG,
                  "how many seconds a hash is stored"),
    AP_INIT_TAKE1("AuthnCacheContext", socache_cmd_context, NULL, ACCESS_CONF,
                  "which requests share hashes: 'directory', 'server', or a name of any kind"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authn_socache_module = {
    STANDARD20_MODULE_STUFF,
    socache_create,
    socache_merge,
    NULL,
    NULL,
    socache_directives,
    socache_register_hooks,
    0,
};
