/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: cleanups.
 *
 * Each record leaves its list before its function runs, so that a cleanup may register and remove
 * others; new ones run next. Records are reused within a pool. A NULL pool is tolerated, as APR
 * does.
 */
#include "pool_private.h"

/* A record, where there is one without asking for a chunk. */
static inline pool_cleanup *cleanup_at_hand(apr_pool_t *p)
{
    pool_cleanup *c = p->free_cleanups;

    if (c != NULL)
        p->free_cleanups = c->next;
    else if (sizeof(*c) <= (apr_size_t)(p->head.end - p->head.bump))
        c = pool_alloc(p, sizeof(*c));
    return c;
}

static inline void cleanup_add(apr_pool_t *p, pool_cleanup **list, pool_cleanup *c,
                               const void *data, apr_status_t (*plain)(void *),
                               apr_status_t (*child)(void *))
{
    c->data = data;
    c->plain = plain;
    c->child = child;
    c->next = *list;
    *list = c;
    p->cleanups_n++;
}

static __attribute__((noinline)) void cleanup_add_slow(apr_pool_t *p, const void *data,
                                                       apr_status_t (*plain)(void *),
                                                       apr_status_t (*child)(void *))
{
    pool_cleanup *c = pool_alloc_at(p, sizeof(*c), POOL_CLEANUP_SITE);

    if (c != NULL)
        cleanup_add(p, &p->cleanups, c, data, plain, child);
}

APR_DECLARE(void)
apr_pool_cleanup_register(apr_pool_t *p, const void *data, apr_status_t (*plain_cleanup)(void *),
                          apr_status_t (*child_cleanup)(void *))
{
    pool_cleanup *c;

    if (p == NULL)
        return;
    c = cleanup_at_hand(p);
    if (__builtin_expect(c != NULL, 1))
        cleanup_add(p, &p->cleanups, c, data, plain_cleanup, child_cleanup);
    else
        cleanup_add_slow(p, data, plain_cleanup, child_cleanup);
}

APR_DECLARE(void)
apr_pool_pre_cleanup_register(apr_pool_t *p, const void *data,
                              apr_status_t (*plain_cleanup)(void *))
{
    pool_cleanup *c;

    if (p == NULL)
        return;
    c = cleanup_at_hand(p);
    if (c == NULL)
        c = pool_alloc_at(p, sizeof(*c), POOL_CLEANUP_SITE);
    if (c != NULL)
        cleanup_add(p, &p->pre_cleanups, c, data, plain_cleanup, NULL);
}

static pool_cleanup **cleanup_find(pool_cleanup **link, const void *data,
                                   apr_status_t (*plain)(void *))
{
    for (; *link != NULL; link = &(*link)->next)
        if ((*link)->data == data && (*link)->plain == plain)
            return link;
    return NULL;
}

static void cleanup_remove(apr_pool_t *p, pool_cleanup **list, const void *data,
                           apr_status_t (*plain)(void *))
{
    pool_cleanup **link = cleanup_find(list, data, plain);
    pool_cleanup *c;

    if (link == NULL)
        return;
    c = *link;
    *link = c->next;
    c->next = p->free_cleanups;
    p->free_cleanups = c;
}

APR_DECLARE(void)
apr_pool_cleanup_kill(apr_pool_t *p, const void *data, apr_status_t (*cleanup)(void *))
{
    if (p == NULL)
        return;
    cleanup_remove(p, &p->cleanups, data, cleanup);
    cleanup_remove(p, &p->pre_cleanups, data, cleanup);
}

APR_DECLARE(void)
apr_pool_child_cleanup_set(apr_pool_t *p, const void *data, apr_status_t (*plain_cleanup)(void *),
                           apr_status_t (*child_cleanup)(void *))
{
    pool_cleanup **link;

    if (p == NULL)
        return;
    link = cleanup_find(&p->cleanups, data, plain_cleanup);
    if (link != NULL)
        (*link)->child = child_cleanup;
}

APR_DECLARE(apr_status_t)
apr_pool_cleanup_run(apr_pool_t *p, void *data, apr_status_t (*cleanup)(void *))
{
    apr_pool_cleanup_kill(p, data, cleanup);
    return cleanup(data);
}

APR_DECLARE_NONSTD(apr_status_t) apr_pool_cleanup_null(void *data)
{
    return APR_SUCCESS;
}

void pool_cleanups_run(pool_cleanup **list)
{
    pool_cleanup *c;

    while ((c = *list) != NULL) {
        *list = c->next;
        c->plain((void *)c->data);
    }
}

/* In a child process that is about to exec: every pool of the tree, each before its children. */
static void cleanup_for_exec(apr_pool_t *p)
{
    pool_cleanup *c;

    while ((c = p->cleanups) != NULL) {
        p->cleanups = c->next;
        c->child((void *)c->data);
    }
    for (p = p->child; p != NULL; p = p->sibling)
        cleanup_for_exec(p);
}

APR_DECLARE(void) apr_pool_cleanup_for_exec(void)
{
    if (pool_root != NULL)
        cleanup_for_exec(pool_root);
}
