/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc and mimalloc for the laboratory. The server has them as loadable modules; here their
 * libraries are opened when they are there, so that the laboratory runs without them, too.
 */
#include "membench_ours.h"
#include "brigade/sms.h"
#include <dlfcn.h>
#include <stddef.h>

#define KINDS_ALIGNED 4 /* what jemalloc calls MALLOCX_ALIGN(16): the logarithm */

static void *(*kinds_mallocx)(size_t bytes, int flags);
static void (*kinds_sdallocx)(void *block, size_t bytes, int flags);
static void *(*kinds_mi_malloc)(size_t bytes, size_t alignment);
static void (*kinds_mi_free)(void *block);

static void *kinds_jemalloc_allocate(brg_sms *s, size_t bytes)
{
    return kinds_mallocx(bytes, KINDS_ALIGNED);
}

static void kinds_jemalloc_free(brg_sms *s, void *block, size_t bytes)
{
    kinds_sdallocx(block, bytes, KINDS_ALIGNED);
}

static void *kinds_mimalloc_allocate(brg_sms *s, size_t bytes)
{
    return kinds_mi_malloc(bytes, BRG_SMS_ALIGNMENT);
}

static void kinds_mimalloc_free(brg_sms *s, void *block, size_t bytes)
{
    kinds_mi_free(block);
}

static void kinds_destroy(brg_sms *s)
{
}

static const brg_sms_ops kinds_jemalloc = {
    .kind = "jemalloc",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = kinds_jemalloc_allocate,
    .free = kinds_jemalloc_free,
    .destroy = kinds_destroy,
};

static const brg_sms_ops kinds_mimalloc = {
    .kind = "mimalloc",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = kinds_mimalloc_allocate,
    .free = kinds_mimalloc_free,
    .destroy = kinds_destroy,
};

static const char *kinds_make(brg_sms **out, const brg_sms_ops *ops, brg_sms *parent, int params_n)
{
    if (params_n > 0)
        return "it has no parameters";
    *out = brg_sms_make(sizeof(brg_sms), ops, parent);
    return *out != NULL ? NULL : "out of memory";
}

static const char *kinds_jemalloc_create(brg_sms **out, brg_sms *parent,
                                         const brg_sms_param *params, int params_n, apr_pool_t *p)
{
    return kinds_make(out, &kinds_jemalloc, parent, params_n);
}

static const char *kinds_mimalloc_create(brg_sms **out, brg_sms *parent,
                                         const brg_sms_param *params, int params_n, apr_pool_t *p)
{
    return kinds_make(out, &kinds_mimalloc, parent, params_n);
}

static int kinds_symbol(void *library, const char *name, void *out)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;

    *(void **)out = found;
    return found != NULL;
}

void bench_kinds_register(void)
{
    void *library = dlopen("libjemalloc.so.2", RTLD_NOW | RTLD_LOCAL);

    if (kinds_symbol(library, "mallocx", &kinds_mallocx) &&
        kinds_symbol(library, "sdallocx", &kinds_sdallocx))
        brg_sms_kind_register("jemalloc", kinds_jemalloc_create, "no parameters");
    library = dlopen("libmimalloc.so.2.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    if (kinds_symbol(library, "mi_malloc_aligned", &kinds_mi_malloc) &&
        kinds_symbol(library, "mi_free", &kinds_mi_free))
        brg_sms_kind_register("mimalloc", kinds_mimalloc_create, "no parameters");
}
