/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_PROVIDER_H
#define AP_PROVIDER_H

/**
 * @file ap_provider.h
 * Providers: a table of function pointers that one module offers under (group, name, version) and others look
 * up. Threads: register while the configuration is read; look up from any thread.
 */
#include "ap_config.h"
#include "apr_pools.h"
#include "apr_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Element of the list from ap_list_provider_names(). */
typedef struct {
    const char *provider_name;
} ap_list_provider_names_t;

/** Element of the list from ap_list_provider_groups(). */
typedef struct {
    const char *provider_group;
    const char *provider_version;
} ap_list_provider_groups_t;

/** Register; forgotten when @a pool is cleared. The strings must live as long. A later one replaces. */
AP_DECLARE(apr_status_t)
ap_register_provider(apr_pool_t *pool, const char *provider_group, const char *provider_name,
                     const char *provider_version, const void *provider);
/** The registered provider, or NULL. */
AP_DECLARE(void *)
ap_lookup_provider(const char *provider_group, const char *provider_name, const char *provider_version);
/** Names in a group and version, in no order; an empty array if there are none. */
AP_DECLARE(apr_array_header_t *)
ap_list_provider_names(apr_pool_t *pool, const char *provider_group, const char *provider_version);
/** All groups with their versions. */
AP_DECLARE(apr_array_header_t *) ap_list_provider_groups(apr_pool_t *pool);

#ifdef __cplusplus
}
#endif
#endif
