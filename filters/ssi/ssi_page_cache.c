/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of pages in memory, once per version of the file, start and end tag, and thread.
 *
 * Each thread has its own cache, so nothing here is locked. The request's knowledge of the file
 * (device, inode, size, times) tells whether a page is current. A page whose file was changed
 * shortly before it was read is used once (SSI_IDENTITY_REST_US).
 */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "brigade/assert.h"
#include "brigade/files.h"
#include "apr_time.h"
#include <pthread.h>
#include <stdlib.h>

#define PAGE_POOL_BYTES 8192 /* size of a small pool */
#define PAGE_BUCKETS 256     /* of a new cache; a power of two */

typedef struct ssi_page_cache {
    ssi_page **bucket;
    unsigned buckets_n; /* a power of two */
    unsigned pages_n;
    apr_size_t bytes; /* of all pages */
    ssi_page *newest, *oldest;
} ssi_page_cache;

static __thread ssi_page_cache *cache_self;
static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

/* ---- pages ---- */

void ssi_page_hold(ssi_page *page)
{
    unsigned before;

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    before = __atomic_fetch_add(&page->refs, 1, __ATOMIC_RELAXED);
    BRG_ASSERT(before > 0);
}

void ssi_page_release(ssi_page *page)
{
    unsigned before;

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    before = __atomic_fetch_sub(&page->refs, 1, __ATOMIC_ACQ_REL);
    BRG_ASSERT(before > 0);
    if (before > 1)
        return;
    BRG_ASSERT(!page->cache); /* which would have a reference */
    ssi_lookups_free(page);
    page->tag = 0;
    ssi_renderings_free(page->renderings);
    if (page->pool)
        apr_pool_destroy(page->pool);
    free(page->nodes);
    free(page->data);
    free(page->path);
    free(page);
}

static int page_is_current(const ssi_page *page, const ssi_identity *id)
{
    return ssi_identity_same(&page->id, id) && ssi_identity_is_stable(&page->id, page->looked);
}

/* The page of an open file, not compiled. r: whose file it is, NULL: of a command line. */
static int page_fill(ssi_page *page, request_rec *r, apr_file_t *file)
{
    apr_finfo_t info;
    apr_size_t len;

    if (apr_file_info_get(&info, SSI_IDENTITY_FINFO | APR_FINFO_TYPE, file) != APR_SUCCESS ||
        info.filetype != APR_REG || info.size > (apr_off_t)ssi_cache_budget())
        return -1;
    page->id = ssi_identity_of(&info);
    len = page->len = (apr_size_t)info.size;
    if (!(page->data = malloc(len + 1)))
        return -1;
    if (r ? brg_file_pread(r, file, page->data, &len, 0) != APR_SUCCESS
          : len && apr_file_read_full(file, page->data, len, &len) != APR_SUCCESS)
        return -1;
    if (len != page->len)
        return -1;
    page->data[len] = '\0';
    return 0;
}

static ssi_page *page_make(const char *path, request_rec *r, apr_file_t *file, const ssi_tags *tags,
                           apr_time_t now)
{
    ssi_page *page = calloc(1, sizeof *page);

    if (!page)
        ap_abort_on_oom();
    page->tag = SSI_PAGE_TAG;
    page->refs = 1;
    page->tags = tags;
    page->looked = now;
    if (page_fill(page, r, file) || !(page->path = strdup(path))) {
        ssi_page_release(page);
        return NULL;
    }
    if (tags)
        ssi_compile(page);
    page->bytes = sizeof *page + strlen(path) + page->len + page->nodes_n * sizeof *page->nodes +
                  (page->pool ? PAGE_POOL_BYTES : 0) +
                  page->nodes_n * (sizeof(ssi_directive) + 2 * sizeof(ssi_arg));
    return page;
}

ssi_page *ssi_page_read(const char *path, const ssi_tags *tags, apr_pool_t *p)
{
    apr_file_t *file;
    ssi_page *page;

    if (apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_NONBLOCK, APR_FPROT_OS_DEFAULT, p) !=
        APR_SUCCESS)
        return NULL;
    page = page_make(path, NULL, file, tags, apr_time_now());
    apr_file_close(file);
    return page;
}

/* On an event loop it succeeds only if the kernel has the file in memory. */
static ssi_page *page_of_request(request_rec *r, const ssi_tags *tags, unsigned hash)
{
    ssi_page *page = NULL;
    apr_file_t *file;

    if (brg_file_open(&file, r) == APR_SUCCESS)
        page = page_make(r->filename, r, file, tags, r->request_time);
    if (page)
        page->hash = hash;
    return page;
}

/* ---- the cache of a thread ---- */

static void cache_unlink_age(ssi_page_cache *c, ssi_page *page)
{
    BRG_ASSERT(page->newer || c->newest == page);
    BRG_ASSERT(page->older || c->oldest == page);
    *(page->newer ? &page->newer->older : &c->newest) = page->older;
    *(page->older ? &page->older->newer : &c->oldest) = page->newer;
}

static void cache_link_age(ssi_page_cache *c, ssi_page *page)
{
    page->newer = NULL;
    page->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = page;
    c->newest = page;
}

static void cache_used(ssi_page_cache *c, ssi_page *page)
{
    if (c->newest == page)
        return;
    cache_unlink_age(c, page);
    cache_link_age(c, page);
}

static void cache_drop(ssi_page_cache *c, ssi_page *page)
{
    ssi_page **p = &c->bucket[page->hash & (c->buckets_n - 1)];

    BRG_ASSERT(page->cache == c);
    BRG_ASSERT(c->pages_n > 0 && c->bytes >= page->bytes);
    while (*p != page)
        p = &(*p)->next;
    *p = page->next;
    cache_unlink_age(c, page);
    c->pages_n--;
    c->bytes -= page->bytes;
    page->cache = NULL;
    ssi_page_release(page);
}

static void cache_destroy(void *cachev)
{
    ssi_page_cache *c = cachev;

    while (c->oldest)
        cache_drop(c, c->oldest);
    BRG_ASSERT(!c->pages_n && !c->bytes);
    free(c->bucket);
    free(c);
}

static void cache_key_make(void)
{
    pthread_key_create(&cache_key, cache_destroy);
}

static ssi_page_cache *cache_get(void)
{
    ssi_page_cache *c = cache_self;

    if (c || !ssi_cache_budget())
        return c;
    pthread_once(&cache_once, cache_key_make);
    c = calloc(1, sizeof *c);
    if (!c || !(c->bucket = calloc(PAGE_BUCKETS, sizeof *c->bucket)))
        ap_abort_on_oom();
    c->buckets_n = PAGE_BUCKETS;
    pthread_setspecific(cache_key, c);
    return cache_self = c;
}

static void cache_grow(ssi_page_cache *c)
{
    unsigned n = c->buckets_n * 2;
    ssi_page **bucket = calloc(n, sizeof *bucket), *page, *next;

    if (!bucket)
        return;
    for (unsigned i = 0; i < c->buckets_n; i++)
        for (page = c->bucket[i]; page; page = next) {
            next = page->next;
            page->next = bucket[page->hash & (n - 1)];
            bucket[page->hash & (n - 1)] = page;
        }
    free(c->bucket);
    c->bucket = bucket;
    c->buckets_n = n;
}

static unsigned cache_hash(const char *path, const ssi_tags *tags)
{
    apr_uint64_t h = (apr_uintptr_t)tags >> 4, w;
    apr_size_t len = strlen(path);

    for (; len >= sizeof w; path += sizeof w, len -= sizeof w) {
        memcpy(&w, path, sizeof w);
        h = (h ^ w) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    }
    w = 0;
    memcpy(&w, path, len);
    h = (h ^ w) * 0x9e3779b97f4a7c15ull;
    return (unsigned)(h >> 32);
}

static ssi_page *cache_find(ssi_page_cache *c, const char *path, const ssi_tags *tags,
                            unsigned hash)
{
    ssi_page *page = c->bucket[hash & (c->buckets_n - 1)];

    while (page && (page->hash != hash || page->tags != tags || strcmp(page->path, path)))
        page = page->next;
    return page;
}

static void cache_add(ssi_page_cache *c, ssi_page *page)
{
    ssi_page **p;

    BRG_ASSERT(!page->cache && c == cache_self);
    if (page->bytes > ssi_cache_budget() / 4)
        return;
    if (c->pages_n >= c->buckets_n)
        cache_grow(c);
    p = &c->bucket[page->hash & (c->buckets_n - 1)];
    page->next = *p;
    *p = page;
    cache_link_age(c, page);
    c->pages_n++;
    c->bytes += page->bytes;
    page->cache = c;
    ssi_page_hold(page);
    while (c->bytes > ssi_cache_budget())
        cache_drop(c, c->oldest);
}

void ssi_page_charge(ssi_page *page, apr_ssize_t bytes)
{
    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    if (!page->cache)
        return;
    BRG_ASSERT(page->cache == cache_self);
    page->bytes += (apr_size_t)bytes;
    cache_self->bytes += (apr_size_t)bytes;
}

unsigned ssi_page_hash(const char *path)
{
    return cache_hash(path, NULL);
}

ssi_page *ssi_page_find(const char *path, unsigned hash, const apr_finfo_t *finfo)
{
    const ssi_identity id = ssi_identity_of(finfo);
    ssi_page *page = cache_self ? cache_find(cache_self, path, NULL, hash) : NULL;

    if (!page || !page_is_current(page, &id))
        return NULL;
    cache_used(cache_self, page);
    ssi_page_hold(page);
    return page;
}

ssi_page *ssi_page_get(request_rec *r, const ssi_tags *tags)
{
    ssi_page_cache *c = cache_get();
    ssi_identity id = ssi_identity_of(&r->finfo);
    unsigned hash;
    ssi_page *page;

    BRG_ASSERT(r->filename != NULL);
    if (r->finfo.size > (apr_off_t)ssi_cache_budget())
        return NULL;
    hash = cache_hash(r->filename, tags);
    if (!c || (r->finfo.valid & SSI_IDENTITY_FINFO) != SSI_IDENTITY_FINFO)
        return page_of_request(r, tags, hash);
    page = cache_find(c, r->filename, tags, hash);
    if (page && page_is_current(page, &id)) {
        cache_used(c, page);
        ssi_page_hold(page);
        return page;
    }
    if (page)
        cache_drop(c, page);
    page = page_of_request(r, tags, hash);
    if (page)
        cache_add(c, page);
    return page;
}

/* ---- buckets ---- */

static void span_destroy(void *pagev)
{
    ssi_page_release(pagev);
}

static apr_status_t span_read(apr_bucket *e, const char **data, apr_size_t *len,
                              apr_read_type_e block)
{
    const ssi_page *page = ssi_span_page(e);

    BRG_ASSERT((apr_size_t)e->start + e->length <= page->len);
    *data = page->data + e->start;
    *len = e->length;
    return APR_SUCCESS;
}

static apr_status_t span_split(apr_bucket *e, apr_size_t at)
{
    ssi_page *page = ssi_span_page(e);
    apr_status_t rv = apr_bucket_simple_split(e, at);

    if (rv == APR_SUCCESS)
        ssi_page_hold(page);
    return rv;
}

static apr_status_t span_copy(apr_bucket *e, apr_bucket **copy)
{
    ssi_page_hold(ssi_span_page(e));
    return apr_bucket_simple_copy(e, copy);
}

const apr_bucket_type_t ssi_span_type = {
    "SSI_SPAN", 5,         APR_BUCKET_DATA, span_destroy, span_read, apr_bucket_setaside_noop,
    span_split, span_copy,
};

apr_bucket *ssi_span_create(ssi_page *page, apr_size_t off, apr_size_t len,
                            apr_bucket_alloc_t *list)
{
    apr_bucket *e = apr_bucket_alloc(sizeof *e, list);

    BRG_ASSERT(off <= page->len && len <= page->len - off);
    APR_BUCKET_INIT(e);
    e->free = apr_bucket_free;
    e->list = list;
    e->type = &ssi_span_type;
    e->data = page;
    e->start = (apr_off_t)off;
    e->length = len;
    ssi_page_hold(page);
    brg_buffer_shared();
    return e;
}
