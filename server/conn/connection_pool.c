/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of connections: each has an allocator of its own, so that a connection may move from loop
 * to worker and back without a lock, and is kept, cleared, for the next connection of the thread
 * that lets it go.
 */
#include "connection.h"

#include "brigade/memory.h"

#include <pthread.h>

#define CONNECTION_POOLS_KEPT 64

/* Cleared pools for the next connections of the same thread. Kept small enough in number; how much
 * each keeps is its memory system's business. */
typedef struct connection_pools {
    apr_pool_t *pool[CONNECTION_POOLS_KEPT];
    int n;
} connection_pools;

static _Thread_local connection_pools kept_pools;
static pthread_key_t kept_pools_key; /* only for its destructor at the end of a thread */
static pthread_once_t kept_pools_once = PTHREAD_ONCE_INIT;

static apr_pool_t *connection_pool_create(void)
{
    apr_pool_t *p;

    if (brg_pool_create_scoped(&p, NULL, BRG_SCOPE_CONNECTION) != APR_SUCCESS)
        return NULL;
    apr_pool_tag(p, "connection");
    return p;
}

apr_pool_t *connection_pool_acquire(void)
{
    return kept_pools.n ? kept_pools.pool[--kept_pools.n] : connection_pool_create();
}

void connection_thread_fini(void)
{
    while (kept_pools.n)
        apr_pool_destroy(kept_pools.pool[--kept_pools.n]);
}

static void connection_pools_end(void *unused)
{
    connection_thread_fini();
}

static void connection_pools_init(void)
{
    pthread_key_create(&kept_pools_key, connection_pools_end);
}

void connection_pool_release(apr_pool_t *p)
{
    if (kept_pools.n == CONNECTION_POOLS_KEPT) {
        apr_pool_destroy(p);
        return;
    }
    pthread_once(&kept_pools_once, connection_pools_init);
    if (!kept_pools.n)
        pthread_setspecific(kept_pools_key, &kept_pools);
    apr_pool_clear(p);
    kept_pools.pool[kept_pools.n++] = p;
}
