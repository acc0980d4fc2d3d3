/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mimalloc as a memory system: `MemorySystem request mimalloc`. Every block is one of mimalloc's, from the
 * heap that it gives to the calling thread; the rest of the program keeps its own malloc.
 */
#include "brigade/sms.h"
#include <mimalloc.h>

#define LIBRARY_KIND "mimalloc"

static void *library_allocate(brg_sms *s, size_t bytes)
{
    return mi_malloc_aligned(bytes, BRG_SMS_ALIGNMENT);
}

static void *library_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    return mi_realloc_aligned(block, bytes, BRG_SMS_ALIGNMENT);
}

static void library_free(brg_sms *s, void *block, size_t bytes)
{
    mi_free_size_aligned(block, bytes, BRG_SMS_ALIGNMENT);
}

static size_t library_good_size(const brg_sms *s, size_t bytes)
{
    return mi_good_size(bytes);
}

static void library_trim(brg_sms *s)
{
    mi_collect(0);
}

#include "sms_library.h"

AP_DECLARE_MODULE(sms_mimalloc) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, library_hooks, 0,
};
