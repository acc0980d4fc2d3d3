/* SPDX-License-Identifier: Apache-2.0 */
/* The directives of mod_cache_socache, and the calls of the provider that CacheSocache names. */
#include "cached_below_private.h"
#include "cached_tier.h"
#include "configuration.h"
#include "trial.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "ap_socache.h"
#include "http_core.h"
#include "http_log.h"
#include "util_mutex.h"
#include "apr_strings.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

APLOG_USE_MODULE(cache_socache);

#define SO_NAME "cache-socache" /* of keys, and of the mutex */
#define SO_BYTES 102400
#define SO_BYTES_LEAST 1024
#define SO_MOST 86400
#define SO_LEAST 600

typedef struct so_server {
    const char *named; /* as configured; NULL: not */
    const char *arguments;
    const ap_socache_provider_t *provider; /* NULL: it names memory */
} so_server;

static const so_server *so_in_use; /* of the configuration that was read last */
static ap_socache_instance_t *so_instance;
static server_rec *so_main;
static apr_global_mutex_t *so_mutex; /* for providers that need it */
static uint64_t so_bytes_most;
static int so_memory; /* the provider is shmcb: mod_cache's own memory */

static void *so_server_create(apr_pool_t *p, server_rec *s)
{
    (void)s;
    return apr_pcalloc(p, sizeof(so_server));
}

static void *so_section_create(apr_pool_t *p, char *path)
{
    cached_so_section *c = apr_palloc(p, sizeof *c);

    (void)path;
    c->bytes = c->most = c->least = -1;
    return c;
}

static void *so_section_merge(apr_pool_t *p, void *base, void *add)
{
    const cached_so_section *b = base, *a = add;
    cached_so_section *c = apr_palloc(p, sizeof *c);

    c->bytes = a->bytes < 0 ? b->bytes : a->bytes;
    c->most = a->most < 0 ? b->most : a->most;
    c->least = a->least < 0 ? b->least : a->least;
    return c;
}

static uint32_t so_seconds(int64_t given, uint32_t usual)
{
    return given < 0 ? usual : given > INT32_MAX ? INT32_MAX : (uint32_t)given;
}

void cached_so_limits(const request_rec *r, uint64_t *bytes, uint32_t *most, uint32_t *least)
{
    const cached_so_section *c = ap_get_module_config(r->per_dir_config, &cache_socache_module);

    *bytes = c->bytes < 0 ? SO_BYTES : (uint64_t)c->bytes;
    *most = so_seconds(c->most, SO_MOST);
    *least = so_seconds(c->least, SO_LEAST);
}

/* ---- the provider ---- */

int cached_so_is_memory(void)
{
    return so_memory;
}

int tier_is_configured(void)
{
    return cache_socache_module.module_index >= 0 && so_in_use != NULL;
}

const char *tier_name(void)
{
    return so_in_use ? so_in_use->named : "";
}

unsigned tier_object_most(void)
{
    return so_bytes_most > TIER_OBJECT_MOST ? TIER_OBJECT_MOST : (unsigned)so_bytes_most;
}

int tier_is_failure(apr_status_t rv)
{
    return rv != APR_SUCCESS && rv != APR_NOTFOUND && rv != APR_ENOSPC && rv != APR_ENOMEM &&
           rv != APR_EINVAL;
}

static void so_lock(void)
{
    if (so_mutex)
        (void)apr_global_mutex_lock(so_mutex);
}

static void so_unlock(void)
{
    if (so_mutex)
        (void)apr_global_mutex_unlock(so_mutex);
}

apr_status_t tier_get(const unsigned char id[TIER_ID], void *to, unsigned *n, apr_pool_t *p)
{
    const unsigned room = *n;
    apr_status_t rv;

    BRG_ASSERT(so_in_use && !brg_thread_is_loop());
    so_lock();
    rv = so_in_use->provider->retrieve(so_instance, so_main, id, TIER_ID, to, n, p);
    so_unlock();
    return rv == APR_SUCCESS && *n > room ? APR_ENOSPC : rv;
}

apr_status_t tier_put(const unsigned char id[TIER_ID], apr_time_t expiry, void *bytes, unsigned n,
                      apr_pool_t *p)
{
    apr_status_t rv;

    BRG_ASSERT(so_in_use && n && !brg_thread_is_loop());
    so_lock();
    rv = so_in_use->provider->store(so_instance, so_main, id, TIER_ID, expiry, bytes, n, p);
    so_unlock();
    return rv == APR_EGENERAL ? APR_ENOSPC : rv; /* it answered, and takes no such object */
}

/* ---- at the start ---- */

static int so_pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    const apr_status_t rv = ap_mutex_register(p, SO_NAME, NULL, APR_LOCK_DEFAULT, 0);

    (void)plog;
    (void)ptemp;
    so_in_use = NULL;
    so_memory = 0;
    so_bytes_most = SO_BYTES;
    if (rv != APR_SUCCESS)
        ap_log_perror(APLOG_MARK, APLOG_CRIT, rv, p, APLOGNO(02390) "failed to register %s mutex",
                      SO_NAME);
    return rv == APR_SUCCESS ? OK : 500;
}

/* The first server that names one. */
static const so_server *so_find(server_rec *main)
{
    const so_server *first = NULL;

    for (const server_rec *s = main; s; s = s->next) {
        const so_server *c = ap_get_module_config(s->module_config, &cache_socache_module);

        if (c->named && first && strcmp(c->named, first->named) != 0)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "CacheSocache %s is not used: all servers store in %s", c->named,
                         first->named);
        if (!first && c->named)
            first = c;
    }
    return first;
}

static apr_status_t so_destroy(void *main)
{
    if (so_in_use && so_instance)
        so_in_use->provider->destroy(so_instance, main);
    so_instance = NULL;
    so_in_use = NULL;
    return APR_SUCCESS;
}

static int so_open(apr_pool_t *p, apr_pool_t *ptemp, server_rec *main, const so_server *c)
{
    static const struct ap_socache_hints hints = {TIER_ID, 0, 0};
    ap_socache_instance_t *instance;
    const char *error = c->provider->create(&instance, c->arguments, ptemp, p);
    apr_status_t rv;

    if (error) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, main, APLOGNO(02392) "%s", error);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    rv = c->provider->init(instance, SO_NAME, &hints, main, p);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, main,
                     APLOGNO(02393) "failed to initialise %s cache", SO_NAME);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    BRG_ASSERT(instance && !so_in_use); /* so_pre_config() */
    so_instance = instance;
    so_main = main;
    so_in_use = c;
    apr_pool_cleanup_register(p, main, so_destroy, apr_pool_cleanup_null);
    return OK;
}

static int so_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main)
{
    const so_server *c = so_find(main);
    apr_status_t rv;

    (void)plog;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
        return OK; /* all is read once more */
    if (!c) {
        if (cached_names(main, "socache"))
            ap_log_error(APLOG_MARK, APLOG_WARNING | APLOG_STARTUP, 0, main,
                         "CacheEnable socache: nothing is stored without CacheSocache");
        return OK;
    }
    so_mutex = NULL;
    so_memory = !c->provider;
    if (so_memory)
        return OK;
    if (c->provider->flags & AP_SOCACHE_FLAG_NOTMPSAFE) {
        rv = ap_global_mutex_create(&so_mutex, NULL, SO_NAME, NULL, main, p, 0);
        if (rv != APR_SUCCESS) {
            ap_log_error(APLOG_MARK, APLOG_CRIT, rv, main,
                         APLOGNO(02391) "failed to create %s mutex", SO_NAME);
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    }
    if (trial_runs()) /* memory and files of the server that runs stay as they are */
        return so_mutex ? OK : so_open(p, ptemp, main, c);
    tier_purges_map();
    return so_open(p, ptemp, main, c);
}

/* The command line: the work of post_config. */
int tier_open_here(apr_pool_t *p, server_rec *main)
{
    const so_server *c = cache_socache_module.module_index < 0 ? NULL : so_find(main);

    if (so_instance)
        return 0;
    return c && c->provider && so_open(p, p, main, c) == OK ? 0 : -1;
}

static void so_child_init(apr_pool_t *p, server_rec *s)
{
    const char *file = so_mutex ? apr_global_mutex_lockfile(so_mutex) : NULL;
    const apr_status_t rv =
        so_mutex ? apr_global_mutex_child_init(&so_mutex, file, p) : APR_SUCCESS;

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s,
                     APLOGNO(02394) "failed to initialise mutex in child_init");
        return;
    }
    tier_process_begins();
}

/* ---- directives ---- */

static const char so_shared[] =
    "stored responses lie in memory that all processes share (CacheMemory)";

static const char *so_named_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    so_server *c = ap_get_module_config(cmd->server->module_config, &cache_socache_module);
    const char *colon = ap_strchr_c(arg, ':');
    const char *name = colon ? apr_pstrmemdup(cmd->pool, arg, (apr_size_t)(colon - arg)) : arg;

    (void)dir;
    c->named = arg;
    c->arguments = colon ? colon + 1 : NULL;
    c->provider = NULL;
    if (!strcmp(name, "shmcb") || !strcmp(name, AP_SOCACHE_DEFAULT_PROVIDER)) {
        conf_notice_no_effect(cmd, cache_socache_module.module_index, so_shared);
        return NULL;
    }
    c->provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, name, AP_SOCACHE_PROVIDER_VERSION);
    if (!c->provider)
        return apr_psprintf(cmd->pool,
                            "Unknown socache provider '%s'. Maybe you need to load the appropriate "
                            "socache module (mod_socache_%s?)",
                            name, name);
    return NULL;
}

static const char *so_bytes_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_so_section *c = dir;

    (void)cmd;
    c->bytes = apr_strtoi64(arg, NULL, 10);
    if (c->bytes < SO_BYTES_LEAST || c->bytes > UINT_MAX)
        return "CacheSocacheMaxSize argument must be a integer representing the max size of a "
               "cached entry (headers and body), at least 1024 and at most (4294967295U)";
    if ((uint64_t)c->bytes > so_bytes_most)
        so_bytes_most = (uint64_t)c->bytes;
    return NULL;
}

/* As Apache reads a number: text that does not begin with digits is 0. @return -1: not a number */
static int64_t so_number(const char *arg)
{
    apr_int64_t n;

    errno = 0;
    n = apr_strtoi64(arg, NULL, 10);
    return errno == ERANGE || n < 0 ? -1 : n;
}

/* cmd->info: 0 the longest time, 1 the addition to the lifetime. */
static const char *so_time_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_so_section *c = dir;
    int64_t *to = cmd->info ? &c->least : &c->most;

    *to = so_number(arg);
    if (*to >= 0)
        return NULL;
    return cmd->info ? "CacheSocacheMinTime argument must be the minimum amount of time in seconds "
                       "to cache an entry."
                     : "CacheSocacheMaxTime argument must be the maximum amount of time in seconds "
                       "to cache an entry.";
}

#define SO_ANY (RSRC_CONF | ACCESS_CONF)

static const command_rec so_commands[] = {
    AP_INIT_TAKE1("CacheSocache", so_named_cmd, NULL, RSRC_CONF,
                  "The shared object cache to store cache files"),
    AP_INIT_TAKE1("CacheSocacheMaxTime", so_time_cmd, NULL, SO_ANY,
                  "The maximum cache expiry age to cache a document in seconds"),
    AP_INIT_TAKE1("CacheSocacheMinTime", so_time_cmd, (void *)1, SO_ANY,
                  "The minimum cache expiry age to cache a document in seconds"),
    AP_INIT_TAKE1("CacheSocacheMaxSize", so_bytes_cmd, NULL, SO_ANY,
                  "The maximum cache entry size (headers and body) to cache a document"),
    AP_INIT_TAKE1("CacheSocacheReadSize", cached_pieces_cmd, CACHED_PIECES("data"), SO_ANY,
                  "The maximum quantity of data to attempt to read and cache in one go"),
    AP_INIT_TAKE1("CacheSocacheReadTime", cached_pieces_cmd, CACHED_PIECES("time taken"), SO_ANY,
                  "The maximum time taken to attempt to read and cache in go"),
    {.name = NULL}};

static void so_hooks(apr_pool_t *p)
{
    (void)p;
    brg_cache_declare(&cache_socache_module, NULL);
    ap_hook_pre_config(so_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(so_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(so_child_init, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA cache_socache_module = {STANDARD20_MODULE_STUFF,
                                                      so_section_create,
                                                      so_section_merge,
                                                      so_server_create,
                                                      NULL,
                                                      so_commands,
                                                      so_hooks,
                                                      0};
