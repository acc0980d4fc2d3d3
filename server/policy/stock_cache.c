/* SPDX-License-Identifier: Apache-2.0 */
/* For which targets mod_cache may act: below the paths of CacheEnable. A target that is not a plain path, and
 * targets that may be written in another way, count as a match. */
#include "stock_policy.h"
#include "httpd.h"
#include "http_config.h"
#include "apr_strings.h"
#include "configuration.h"
#include <stdatomic.h>
#include <string.h>

/* Of the configuration that is read, or in force. Main thread; read only afterwards. */
static apr_array_header_t *cache_paths; /* of const char * */
/* Set by .htaccess, too, where AllowOverrideList has CacheEnable: by any thread, until the process ends. */
static atomic_int cache_everywhere;

static apr_status_t stock_cache_forget(void *unused)
{
    cache_paths = NULL;
    atomic_store_explicit(&cache_everywhere, 0, memory_order_relaxed);
    return APR_SUCCESS;
}

void stock_cache_directive(const cmd_parms *cmd, const char *name, const char *args)
{
    const char *path;

    if (ap_cstr_casecmp(name, "CacheEnable") != 0)
        return;
    if (conf_is_htaccess(cmd)) {
        atomic_store_explicit(&cache_everywhere, 1, memory_order_relaxed);
        return;
    }
    if (!cache_paths) {
        cache_paths = apr_array_make(cmd->pool, 4, sizeof(const char *));
        apr_pool_cleanup_register(cmd->pool, NULL, stock_cache_forget, apr_pool_cleanup_null);
    }
    (void)ap_getword_conf(cmd->pool, &args);
    path = ap_getword_conf(cmd->pool, &args);
    if (cmd->path || *path != '/')
        atomic_store_explicit(&cache_everywhere, 1, memory_order_relaxed);
    else
        APR_ARRAY_PUSH(cache_paths, const char *) = path;
}

int stock_cache_enabled(const request_rec *r)
{
    if (atomic_load_explicit(&cache_everywhere, memory_order_relaxed))
        return 1;
    if (!cache_paths)
        return 0;
    if (!r->uri || strchr(r->uri, '%') || strstr(r->uri, "//") || strstr(r->uri, "/."))
        return 1;
    for (int i = 0; i < cache_paths->nelts; i++) {
        const char *path = APR_ARRAY_IDX(cache_paths, i, const char *);

        if (!strncasecmp(r->uri, path, strlen(path)))
            return 1;
    }
    return 0;
}
