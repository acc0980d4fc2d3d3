/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mimalloc as a memory system: `MemorySystem request mimalloc`. Every block is one of mimalloc's,
 * from the heap that it gives to the calling thread; the rest of the program goes on with its own
 * malloc.
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/sms.h"
#include <mimalloc.h>

static void *mimalloc_allocate(brg_sms *s, size_t bytes)
{
    return mi_malloc_aligned(bytes, BRG_SMS_ALIGNMENT);
}

static void *mimalloc_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    return mi_realloc_aligned(block, bytes, BRG_SMS_ALIGNMENT);
}

static void mimalloc_free(brg_sms *s, void *block, size_t bytes)
{
    mi_free_size_aligned(block, bytes, BRG_SMS_ALIGNMENT);
}

static void mimalloc_destroy(brg_sms *s)
{
}

static void mimalloc_statistics(const brg_sms *s, brg_sms_figures *out)
{
    out->held_bytes = out->live_bytes;
}

static size_t mimalloc_good_size(const brg_sms *s, size_t bytes)
{
    return mi_good_size(bytes);
}

static void mimalloc_trim(brg_sms *s)
{
    mi_collect(0);
}

static const brg_sms_ops mimalloc_ops = {
    .kind = "mimalloc",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = mimalloc_allocate,
    .resize = mimalloc_resize,
    .free = mimalloc_free,
    .destroy = mimalloc_destroy,
    .statistics = mimalloc_statistics,
    .good_size = mimalloc_good_size,
    .trim = mimalloc_trim,
};

static const char *mimalloc_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                                   int params_n, apr_pool_t *p)
{
    if (parent != brg_sms_os())
        return "mimalloc must be the last word of a specification";
    if (params_n > 0)
        return "it has no parameters";
    *out = brg_sms_make(sizeof(brg_sms), &mimalloc_ops, parent);
    return *out != NULL ? NULL : "out of memory";
}

static void mimalloc_hooks(apr_pool_t *p)
{
    brg_sms_kind_register("mimalloc", mimalloc_create, "no parameters");
}

AP_DECLARE_MODULE(sms_mimalloc) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, mimalloc_hooks, 0,
};
