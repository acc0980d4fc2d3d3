/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SMS_LIBRARY_H
#define BRIGADE_SMS_LIBRARY_H

/**
 * @file sms_library.h
 * The part that modules share whose memory system is an allocator of a library: each block is one of the
 * library's. Included once, by a module that defines before
 *
 *   LIBRARY_KIND                                 the word in MemorySystem, a string
 *   library_allocate(s, bytes)                   a block with alignment BRG_SMS_ALIGNMENT, or NULL
 *   library_resize(s, block, old_bytes, bytes)   the same with another size, or NULL
 *   library_free(s, block, bytes)
 *   library_good_size(s, bytes)                  size of the block for that request
 *   library_trim(s)                              give back the calling thread's reserve
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/sms.h"

static void library_destroy(brg_sms *s)
{
}

static void library_statistics(const brg_sms *s, brg_sms_figures *out)
{
    out->held_bytes = out->live_bytes;
}

static const brg_sms_ops library_ops = {
    .kind = LIBRARY_KIND,
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = library_allocate,
    .resize = library_resize,
    .free = library_free,
    .destroy = library_destroy,
    .statistics = library_statistics,
    .good_size = library_good_size,
    .trim = library_trim,
};

static const char *library_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                                  int params_n, apr_pool_t *p)
{
    if (parent != brg_sms_os())
        return LIBRARY_KIND " must be the last word of a specification";
    if (params_n > 0)
        return "it has no parameters";
    *out = brg_sms_make(sizeof(brg_sms), &library_ops, parent);
    return *out != NULL ? NULL : "out of memory";
}

static void library_hooks(apr_pool_t *p)
{
    brg_sms_kind_register(LIBRARY_KIND, library_create, "no parameters");
}

#endif
