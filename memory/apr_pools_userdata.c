/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: data by key. Pools have one or two, so a list serves; a key that
 * is found moves to its head.
 */
#include "pool_private.h"
#include <string.h>

static pool_userdata *userdata_find(apr_pool_t *pool, const char *key)
{
    pool_userdata **link, *u;

    for (link = &pool->userdata; (u = *link) != NULL; link = &u->next)
        if (strcmp(u->key, key) == 0) {
            *link = u->next;
            u->next = pool->userdata;
            pool->userdata = u;
            return u;
        }
    return NULL;
}

static apr_status_t userdata_set(const void *data, const char *key, apr_status_t (*cleanup)(void *),
                                 apr_pool_t *pool, int copy_key)
{
    pool_userdata *u = userdata_find(pool, key);
    apr_size_t key_bytes;
    char *copy;

    if (u == NULL) {
        u = pool_alloc(pool, sizeof(*u));
        if (u == NULL)
            return APR_ENOMEM;
        u->key = key;
        if (copy_key) {
            key_bytes = strlen(key) + 1;
            copy = pool_alloc(pool, key_bytes);
            if (copy == NULL)
                return APR_ENOMEM;
            u->key = memcpy(copy, key, key_bytes);
        }
        u->next = pool->userdata;
        pool->userdata = u;
    }
    u->data = data;
    if (cleanup != NULL)
        apr_pool_cleanup_register(pool, data, cleanup, cleanup);
    return APR_SUCCESS;
}

APR_DECLARE(apr_status_t)
apr_pool_userdata_set(const void *data, const char *key, apr_status_t (*cleanup)(void *),
                      apr_pool_t *pool)
{
    return userdata_set(data, key, cleanup, pool, 1);
}

APR_DECLARE(apr_status_t)
apr_pool_userdata_setn(const void *data, const char *key, apr_status_t (*cleanup)(void *),
                       apr_pool_t *pool)
{
    return userdata_set(data, key, cleanup, pool, 0);
}

APR_DECLARE(apr_status_t) apr_pool_userdata_get(void **data, const char *key, apr_pool_t *pool)
{
    pool_userdata *u = userdata_find(pool, key);

    *data = u != NULL ? (void *)u->data : NULL;
    return APR_SUCCESS;
}
