/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operating system: every block is a mapping of its own, so this is a source of chunks and not
 * of small blocks.
 *
 * os(huge) aligns mappings of 2 MB and more, and asks for huge pages behind them.
 */
#include "sms_private.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OS_HUGE ((size_t)2 << 20)

typedef struct os_sms {
    brg_sms base;
    int huge;
} os_sms;

static size_t os_page(void)
{
    static _Atomic size_t page;
    size_t known = atomic_load_explicit(&page, memory_order_relaxed);

    if (known == 0) {
        known = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&page, known, memory_order_relaxed);
    }
    return known;
}

static size_t os_rounded(const brg_sms *s, size_t bytes)
{
    size_t unit = ((const os_sms *)s)->huge && bytes >= OS_HUGE ? OS_HUGE : os_page();

    return SMS_ROUND(bytes, unit);
}

/* Pointers to leak-checked memory may stand in mapped memory: the leak checker has to be told to look
 * there. */
#if SMS_ASAN
#include <sanitizer/lsan_interface.h>
#define os_watch_leaks(at, bytes) __lsan_register_root_region(at, bytes)
#define os_ignore_leaks(at, bytes) __lsan_unregister_root_region(at, bytes)
#else
#define os_watch_leaks(at, bytes) ((void)0)
#define os_ignore_leaks(at, bytes) ((void)0)
#endif

static void *os_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return at != MAP_FAILED ? at : NULL;
}

/* A mapping that begins at a multiple of OS_HUGE: a larger one, with both ends cut off. */
static void *os_map_huge(size_t bytes)
{
    char *wide = os_map(bytes + OS_HUGE), *at;
    size_t before;

    if (wide == NULL)
        return NULL;
    at = (char *)SMS_ROUND((uintptr_t)wide, OS_HUGE);
    before = (size_t)(at - wide);
    if (before != 0)
        munmap(wide, before);
    if (before != OS_HUGE)
        munmap(at + bytes, OS_HUGE - before);
    (void)madvise(at, bytes, MADV_HUGEPAGE); /* a wish: kernels without it give small pages */
    return at;
}

static void *os_allocate(brg_sms *s, size_t bytes)
{
    size_t rounded = os_rounded(s, bytes);
    void *at =
        rounded % OS_HUGE == 0 && ((os_sms *)s)->huge ? os_map_huge(rounded) : os_map(rounded);

    if (at == NULL)
        return NULL;
    os_watch_leaks(at, rounded);
    sms_count_held(s, (int64_t)rounded);
    return at;
}

static void os_free(brg_sms *s, void *block, size_t bytes)
{
    size_t rounded = os_rounded(s, bytes);

    sms_unpoison(block, rounded);
    os_ignore_leaks(block, rounded);
    munmap(block, rounded);
    sms_count_held(s, -(int64_t)rounded);
}

/* A move by the kernel would lose the alignment for huge pages. And ThreadSanitizer does not see
 * that mremap() gives pages another address: it takes another thread's earlier data there for a
 * race. */
static int os_moves_by_copy(const brg_sms *s, size_t was, size_t rounded)
{
    return SMS_TSAN || (((const os_sms *)s)->huge && (was >= OS_HUGE || rounded >= OS_HUGE));
}

static void *os_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    size_t was = os_rounded(s, old_bytes), rounded = os_rounded(s, bytes);
    void *at = block;

    if (os_moves_by_copy(s, was, rounded)) {
        if (was == rounded)
            return block;
        at = os_allocate(s, bytes);
        if (at == NULL)
            return NULL;
        memcpy(at, block, old_bytes < bytes ? old_bytes : bytes);
        os_free(s, block, old_bytes);
        return at;
    }
    if (was != rounded)
        at = mremap(block, was, rounded, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return NULL;
    os_ignore_leaks(block, was);
    os_watch_leaks(at, rounded);
    sms_count_held(s, (int64_t)rounded - (int64_t)was);
    return at;
}

/* Whole pages only. With the next touch they are there again, and zero. */
static void os_discard(brg_sms *s, void *part, size_t bytes)
{
    uintptr_t start = SMS_ROUND((uintptr_t)part, os_page());
    uintptr_t end = ((uintptr_t)part + bytes) & ~(uintptr_t)(os_page() - 1);

    if (end > start)
        (void)madvise((void *)start, end - start, MADV_DONTNEED);
}

static void os_destroy(brg_sms *s)
{
}

static size_t os_good_size(const brg_sms *s, size_t bytes)
{
    return os_rounded(s, bytes);
}

static void os_describe(const brg_sms *s, char *out, size_t n)
{
    if (((const os_sms *)s)->huge)
        memcpy(out, "huge", sizeof("huge"));
}

static const brg_sms_ops os_ops = {
    .kind = "os",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_CHUNKED,
    .allocate = os_allocate,
    .resize = os_resize,
    .free = os_free,
    .destroy = os_destroy,
    .discard = os_discard,
    .good_size = os_good_size,
    .describe = os_describe,
};

static os_sms os_root;
static struct brg_sms_counts os_root_counts;

static void os_root_make(void)
{
    sms_counts_begin(&os_root.base, &os_ops, NULL, NULL, &os_root_counts, NULL);
    os_root.base.flags |= SMS_ROOT;
}

BRG_DECLARE(brg_sms *) brg_sms_os(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, os_root_make);
    return &os_root.base;
}

const char *sms_os_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params, int params_n,
                          apr_pool_t *p)
{
    int i, huge = 0;

    if (parent != brg_sms_os())
        return "it must be the last word of a specification";
    for (i = 0; i < params_n; i++) {
        if (params[i].name != NULL || strcmp(params[i].value, "huge") != 0)
            return sms_param_unknown(&params[i], p);
        huge = 1;
    }
    *out = sms_make_threaded(sizeof(os_sms), &os_ops, NULL, NULL);
    if (*out == NULL)
        return "out of memory";
    ((os_sms *)*out)->huge = huge;
    return NULL;
}
