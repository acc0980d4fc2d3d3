/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc as a memory system: `MemorySystem request jemalloc`. Every block is one of jemalloc's,
 * from the arena that it gives to the calling thread; the rest of the program goes on with its own
 * malloc.
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/sms.h"
#include <jemalloc/jemalloc.h>

#define ALIGNED MALLOCX_ALIGN(BRG_SMS_ALIGNMENT)

static void *jemalloc_allocate(brg_sms *s, size_t bytes)
{
    return mallocx(bytes, ALIGNED);
}

static void *jemalloc_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    return rallocx(block, bytes, ALIGNED);
}

static void jemalloc_free(brg_sms *s, void *block, size_t bytes)
{
    sdallocx(block, bytes, ALIGNED);
}

static void jemalloc_destroy(brg_sms *s)
{
}

static void jemalloc_statistics(const brg_sms *s, brg_sms_figures *out)
{
    out->held_bytes = out->live_bytes;
}

static size_t jemalloc_good_size(const brg_sms *s, size_t bytes)
{
    return nallocx(bytes, ALIGNED);
}

static void jemalloc_trim(brg_sms *s)
{
    (void)mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

static const brg_sms_ops jemalloc_ops = {
    .kind = "jemalloc",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = jemalloc_allocate,
    .resize = jemalloc_resize,
    .free = jemalloc_free,
    .destroy = jemalloc_destroy,
    .statistics = jemalloc_statistics,
    .good_size = jemalloc_good_size,
    .trim = jemalloc_trim,
};

static const char *jemalloc_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                                   int params_n, apr_pool_t *p)
{
    if (parent != brg_sms_os())
        return "jemalloc must be the last word of a specification";
    if (params_n > 0)
        return "it has no parameters";
    *out = brg_sms_make(sizeof(brg_sms), &jemalloc_ops, parent);
    return *out != NULL ? NULL : "out of memory";
}

static void jemalloc_hooks(apr_pool_t *p)
{
    brg_sms_kind_register("jemalloc", jemalloc_create, "no parameters");
}

AP_DECLARE_MODULE(sms_jemalloc) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, jemalloc_hooks, 0,
};
