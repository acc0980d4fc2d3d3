/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that grow. Small ones are pool memory, which a pool cannot take back; from UTIL_VB_NODE
 * bytes on they are nodes of the pool's allocator, which go back when the buffer grows, is freed,
 * or its pool is cleared.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "apr_allocator.h"
#include "apr_pools.h"
#include "util_varbuf.h"

#define UTIL_VB_FIRST 32  /* smallest allocation, bytes */
#define UTIL_VB_NODE 8192 /* from this size on: a node */

struct ap_varbuf_info {
    apr_memnode_t *node;
    apr_allocator_t *allocator;
};

static char util_vb_empty[1];

static apr_status_t util_vb_cleanup(void *data)
{
    struct ap_varbuf_info *info = data;

    if (info->node) {
        info->node->next = NULL;
        apr_allocator_free(info->allocator, info->node);
        info->node = NULL;
    }
    return APR_SUCCESS;
}

static void util_vb_out_of_memory(const struct ap_varbuf *vb)
{
    apr_abortfunc_t abort_fn = apr_pool_abort_get(vb->pool);

    if (abort_fn)
        abort_fn(APR_ENOMEM);
    ap_abort_on_oom();
}

AP_DECLARE(void) ap_varbuf_init(apr_pool_t *pool, struct ap_varbuf *vb, apr_size_t init_size)
{
    vb->buf = util_vb_empty;
    vb->avail = 0;
    vb->strlen = AP_VARBUF_UNKNOWN;
    vb->pool = pool;
    vb->info = NULL;
    ap_varbuf_grow(vb, init_size);
    vb->strlen = 0;
    if (vb->avail)
        vb->buf[0] = '\0';
}

/* The buffer to grow into; for a node *node is set and *size raised to all that it holds. */
static char *util_vb_alloc(struct ap_varbuf *vb, apr_size_t *size, apr_memnode_t **node)
{
    apr_allocator_t *allocator = apr_pool_allocator_get(vb->pool);

    *node = NULL;
    if (*size < UTIL_VB_NODE || !allocator)
        return apr_palloc(vb->pool, *size);
    *node = apr_allocator_alloc(allocator, *size);
    if (!*node)
        util_vb_out_of_memory(vb);
    if (!vb->info) {
        vb->info = apr_palloc(vb->pool, sizeof(*vb->info));
        vb->info->node = NULL;
        vb->info->allocator = allocator;
        apr_pool_cleanup_register(vb->pool, vb->info, util_vb_cleanup, apr_pool_cleanup_null);
    }
    BRG_ASSERT((apr_size_t)((*node)->endp - (*node)->first_avail) >= *size);
    *size = (apr_size_t)((*node)->endp - (*node)->first_avail);
    return (*node)->first_avail;
}

AP_DECLARE(void) ap_varbuf_grow(struct ap_varbuf *vb, apr_size_t new_size)
{
    apr_size_t size = new_size + 1, used;
    apr_memnode_t *node;
    char *buf;

    if (new_size <= vb->avail)
        return;
    if (size == 0 || vb->avail > APR_SIZE_MAX / 2 - 1)
        util_vb_out_of_memory(vb);
    if (size < 2 * (vb->avail + 1))
        size = 2 * (vb->avail + 1);
    if (size < UTIL_VB_FIRST)
        size = UTIL_VB_FIRST;
    buf = util_vb_alloc(vb, &size, &node);
    used = vb->strlen == AP_VARBUF_UNKNOWN ? vb->avail : vb->strlen;
    memcpy(buf, vb->buf, used + 1);
    if (node) {
        util_vb_cleanup(vb->info);
        vb->info->node = node;
    }
    vb->buf = buf;
    vb->avail = size - 1;
    BRG_ASSERT(vb->avail >= new_size);
}

AP_DECLARE(void) ap_varbuf_free(struct ap_varbuf *vb)
{
    if (vb->info) {
        apr_pool_cleanup_run(vb->pool, vb->info, util_vb_cleanup);
        vb->info = NULL;
    }
    vb->buf = NULL;
}

AP_DECLARE(void) ap_varbuf_strmemcat(struct ap_varbuf *vb, const char *str, int len)
{
    apr_size_t total;

    if (len <= 0)
        return;
    if (vb->strlen == AP_VARBUF_UNKNOWN)
        vb->strlen = strlen(vb->buf);
    total = vb->strlen + (apr_size_t)len;
    if (vb->avail < total)
        ap_varbuf_grow(vb, total);
    BRG_ASSERT(vb->avail >= total);
    memcpy(vb->buf + vb->strlen, str, (size_t)len);
    vb->buf[total] = '\0';
    vb->strlen = total;
}

AP_DECLARE(char *)
ap_varbuf_pdup(apr_pool_t *p, struct ap_varbuf *vb, const char *prepend, apr_size_t prepend_len,
               const char *append, apr_size_t append_len, apr_size_t *new_len)
{
    apr_size_t total;
    char *out, *d;

    if (vb->strlen == AP_VARBUF_UNKNOWN)
        vb->strlen = strlen(vb->buf);
    if (!prepend)
        prepend_len = 0;
    if (!append)
        append_len = 0;
    total = prepend_len + vb->strlen + append_len;
    d = out = apr_palloc(p, total + 1);
    if (prepend_len)
        memcpy(d, prepend, prepend_len);
    d += prepend_len;
    memcpy(d, vb->buf, vb->strlen);
    d += vb->strlen;
    if (append_len)
        memcpy(d, append, append_len);
    out[total] = '\0';
    if (new_len)
        *new_len = total;
    return out;
}
