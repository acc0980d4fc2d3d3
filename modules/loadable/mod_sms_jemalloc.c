/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc as a memory system: `MemorySystem request jemalloc`. Every block is one of jemalloc's, from the
 * arena that it gives to the calling thread; the rest of the program keeps its own malloc.
 */
#include "brigade/sms.h"
#include <jemalloc/jemalloc.h>

#define LIBRARY_KIND "jemalloc"
#define ALIGNED MALLOCX_ALIGN(BRG_SMS_ALIGNMENT)

static void *library_allocate(brg_sms *s, size_t bytes)
{
    return mallocx(bytes, ALIGNED);
}

static void *library_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    return rallocx(block, bytes, ALIGNED);
}

static void library_free(brg_sms *s, void *block, size_t bytes)
{
    sdallocx(block, bytes, ALIGNED);
}

static size_t library_good_size(const brg_sms *s, size_t bytes)
{
    return nallocx(bytes, ALIGNED);
}

static void library_trim(brg_sms *s)
{
    (void)mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

#include "sms_library.h"

AP_DECLARE_MODULE(sms_jemalloc) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, library_hooks, 0,
};
