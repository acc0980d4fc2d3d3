/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers: implementations by group, name and version ("authn", "file", "0").
 *
 * Registered while the configuration is read, looked up by threads afterwards. Each group and
 * version has a table of names, so that listing the names of one does not search all.
 */
#include "httpd.h"
#include "ap_provider.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "provider.h"
#include "brigade/assert.h"

typedef struct provider_group {
    const char *name, *version;
    apr_hash_t *providers; /* by name */
    struct provider_group *next;
} provider_group;

static provider_group *provider_groups;

void provider_registry_clear(void)
{
    provider_groups = NULL;
}

/* A pool that held part of the registry goes: with it go all registrations, since all modules
 * register anew for the next configuration. (Built-in ones first register with the process's pool,
 * loaded ones with pconf.) */
static apr_status_t provider_forget(void *data)
{
    provider_registry_clear();
    return APR_SUCCESS;
}

static provider_group *provider_group_find(const char *name, const char *version)
{
    provider_group *g = provider_groups;

    while (g && (strcmp(g->name, name) || strcmp(g->version, version)))
        g = g->next;
    return g;
}

AP_DECLARE(apr_status_t)
ap_register_provider(apr_pool_t *pool, const char *provider_group_name, const char *provider_name,
                     const char *provider_version, const void *provider)
{
    provider_group *g = provider_group_find(provider_group_name, provider_version);

    apr_pool_cleanup_register(pool, NULL, provider_forget, apr_pool_cleanup_null);
    if (!g) {
        g = apr_palloc(pool, sizeof *g);
        g->name = apr_pstrdup(pool, provider_group_name);
        g->version = apr_pstrdup(pool, provider_version);
        g->providers = apr_hash_make(pool);
        BRG_ASSERT(g->name && g->version && g->providers);
        g->next = provider_groups;
        provider_groups = g;
    }
    apr_hash_set(g->providers, apr_pstrdup(pool, provider_name), APR_HASH_KEY_STRING, provider);
    return APR_SUCCESS;
}

AP_DECLARE(void *)
ap_lookup_provider(const char *provider_group_name, const char *provider_name,
                   const char *provider_version)
{
    const provider_group *g = provider_group_find(provider_group_name, provider_version);

    return g ? apr_hash_get(g->providers, provider_name, APR_HASH_KEY_STRING) : NULL;
}

AP_DECLARE(apr_array_header_t *)
ap_list_provider_names(apr_pool_t *pool, const char *provider_group_name,
                       const char *provider_version)
{
    apr_array_header_t *names = apr_array_make(pool, 10, sizeof(ap_list_provider_names_t));
    const provider_group *g = provider_group_find(provider_group_name, provider_version);

    if (g)
        for (apr_hash_index_t *hi = apr_hash_first(pool, g->providers); hi; hi = apr_hash_next(hi))
            APR_ARRAY_PUSH(names, ap_list_provider_names_t).provider_name = apr_hash_this_key(hi);
    return names;
}

AP_DECLARE(apr_array_header_t *) ap_list_provider_groups(apr_pool_t *pool)
{
    apr_array_header_t *groups = apr_array_make(pool, 10, sizeof(ap_list_provider_groups_t));

    for (const provider_group *g = provider_groups; g; g = g->next) {
        ap_list_provider_groups_t *entry = apr_array_push(groups);

        entry->provider_group = g->name;
        entry->provider_version = g->version;
    }
    return groups;
}
