/* SPDX-License-Identifier: Apache-2.0 */
/* A handler that takes as much memory as the query says: WHAT=BYTES/BLOCK, in blocks of that size.
 *
 *   pool     from the request's pool, and touches it
 *   write    writes a block, and takes one from the pool, in turn
 *   buckets  writes all as buckets of one brigade
 *   pools    destroys pools in odd orders, with cleanups that allocate, destroy and create others
 */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define HOG_POOLS 64

static int hog_pool(request_rec *r, long bytes, long block)
{
    for (long had = 0; had < bytes; had += block)
        memset(apr_palloc(r->pool, (apr_size_t)block), 'x', (apr_size_t)block);
    ap_rputs("had it\n", r);
    return OK;
}

static int hog_write(request_rec *r, long bytes, long block)
{
    for (long had = 0; had < bytes; had += block) {
        char *text = apr_palloc(r->pool, (apr_size_t)block);

        memset(text, 'x', (apr_size_t)block);
        if (ap_rwrite(text, (int)block, r) < 0 || ap_rflush(r) < 0)
            return OK;
    }
    return OK;
}

static int hog_buckets(request_rec *r, long bytes, long block)
{
    apr_bucket_alloc_t *list = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, list);
    char *text = malloc((size_t)block);

    memset(text, 'x', (size_t)block);
    for (long had = 0; had < bytes; had += block)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_heap_create(text, (apr_size_t)block, NULL, list));
    free(text);
    ap_pass_brigade(r->output_filters, bb);
    return OK;
}

typedef struct hog_tree {
    apr_pool_t *pool[HOG_POOLS];
    apr_pool_t *top;
    unsigned seed;
} hog_tree;

static unsigned hog_random(hog_tree *t)
{
    t->seed = t->seed * 1103515245u + 12345u;
    return (t->seed >> 16) % HOG_POOLS;
}

static apr_status_t hog_cleanup(void *data);

static void hog_make(hog_tree *t, unsigned i, apr_pool_t *parent)
{
    if (t->pool[i] != NULL)
        return;
    apr_pool_create(&t->pool[i], parent);
    apr_pool_cleanup_register(t->pool[i], t->pool[i], apr_pool_cleanup_null, apr_pool_cleanup_null);
    apr_pool_userdata_setn(t, "tree", NULL, t->pool[i]);
    apr_pool_cleanup_register(t->pool[i], t->pool[i], hog_cleanup, apr_pool_cleanup_null);
    apr_psprintf(t->pool[i], "%0*u", (int)(i * 300 + 1), i);
}

/* In the middle of the end of a pool: it still serves, others come, and others below it go. */
static apr_status_t hog_cleanup(void *data)
{
    apr_pool_t *ending = data, *child;
    void *found = NULL;
    hog_tree *t;
    unsigned i;

    apr_pool_userdata_get(&found, "tree", ending);
    t = found;
    for (i = 0; i < HOG_POOLS; i++)
        if (t->pool[i] == ending)
            t->pool[i] = NULL;
    memset(apr_palloc(ending, 5000), 'y', 5000);
    apr_pool_create(&child, ending);
    apr_pstrdup(child, "gone with its parent");
    apr_pool_create(&child, ending);
    apr_pool_destroy(child);
    return APR_SUCCESS;
}

static int hog_pools(request_rec *r, long rounds, long seed)
{
    hog_tree *t = apr_pcalloc(r->pool, sizeof(*t));
    unsigned i;

    t->seed = (unsigned)seed;
    apr_pool_create(&t->top, r->pool);
    for (; rounds > 0; rounds--) {
        unsigned above = hog_random(t);

        i = hog_random(t);
        if (t->pool[i] == NULL)
            hog_make(t, i, t->pool[above] != NULL ? t->pool[above] : t->top);
        else if (rounds % 3 != 0)
            apr_pool_destroy(t->pool[i]);
        else {
            apr_pool_t *p = t->pool[i];

            apr_pool_clear(p); /* its cleanup forgot it */
            apr_pool_destroy(p);
        }
    }
    if (seed % 2 != 0)
        apr_pool_destroy(t->top);
    ap_rputs("all gone\n", r);
    return OK;
}

static int hog_handler(request_rec *r)
{
    static const struct {
        const char *name;
        int (*take)(request_rec *r, long bytes, long block);
    } ways[] = {{"pool=", hog_pool}, {"write=", hog_write}, {"buckets=", hog_buckets}, {"pools=", hog_pools}};
    char *end;
    size_t i;

    if (strcmp(r->handler, "hog") != 0 || r->args == NULL)
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strncmp(r->args, ways[i].name, strlen(ways[i].name)) == 0) {
            long bytes = strtol(r->args + strlen(ways[i].name), &end, 10);

            return ways[i].take(r, bytes, *end == '/' ? atol(end + 1) : bytes);
        }
    return HTTP_BAD_REQUEST;
}

static void hog_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(hog_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA hog_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, hog_register_hooks, 0,
};
