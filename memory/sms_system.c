/* SPDX-License-Identifier: Apache-2.0 */
/* The C library: one malloc for each block, as valgrind and sanitizers want to see it. */
#include "sms_private.h"
#include <stddef.h>
#include <stdlib.h>

_Static_assert(_Alignof(max_align_t) >= BRG_SMS_ALIGNMENT, "malloc aligns to 16");

static void *system_allocate(brg_sms *s, size_t bytes)
{
    return malloc(bytes);
}

static void *system_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    return realloc(block, bytes);
}

static void system_free(brg_sms *s, void *block, size_t bytes)
{
    free(block);
}

static void system_destroy(brg_sms *s)
{
}

static void system_statistics(const brg_sms *s, brg_sms_figures *out)
{
    out->held_bytes = out->live_bytes;
}

static const brg_sms_ops system_ops = {
    .kind = "system",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = system_allocate,
    .resize = system_resize,
    .free = system_free,
    .destroy = system_destroy,
    .statistics = system_statistics,
};

const char *sms_system_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                              int params_n, apr_pool_t *p)
{
    if (parent != brg_sms_os())
        return "it must be the last word of a specification";
    if (params_n > 0)
        return sms_param_unknown(&params[0], p);
    *out = brg_sms_make(sizeof(brg_sms), &system_ops, parent);
    return *out != NULL ? NULL : "out of memory";
}
