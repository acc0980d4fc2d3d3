/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of connections. Each has an allocator of its own, so that a connection may move from loop
 * to worker and back without a lock. The thread that releases a pool clears it and keeps it for its
 * next connection.
 */
#include "connection.h"
#include "brigade/assert.h"
#include "thread_self.h"

#include "brigade/memory.h"

#include <pthread.h>

#define CONNECTION_POOLS_KEPT 64

/* Cleared pools for the next connections of the same thread. The memory system decides how much memory
 * each of them keeps. */
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
    BRG_ASSERT(kept_pools.n >= 0 && kept_pools.n <= CONNECTION_POOLS_KEPT);
    return kept_pools.n ? kept_pools.pool[--kept_pools.n] : connection_pool_create();
}

void connection_thread_fini(void)
{
    while (kept_pools.n)
        apr_pool_destroy(kept_pools.pool[--kept_pools.n]);
    thread_buffer_free();
}

static void connection_pools_end(void *pools)
{
    BRG_ASSERT(pools == &kept_pools); /* on the thread that kept them */
    connection_thread_fini();
}

static void connection_pools_init(void)
{
    pthread_key_create(&kept_pools_key, connection_pools_end);
}

void connection_pool_release(apr_pool_t *p)
{
    BRG_ASSERT(p != NULL && (!kept_pools.n || kept_pools.pool[kept_pools.n - 1] != p));
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
