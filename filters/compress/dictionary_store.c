/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of files and what they became with each other. A list for each process, the last used first; who finds it taken for a moment
 * waits for no more than a look through STORE_ENTRIES, and on requests that memory does not answer alone.
 */
#include "dictionary_private.h"
#include "brigade/assert.h"
#include "brigade/util.h"
#include "util_filter.h"
#include "apr_hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define STORE_WINDOW_MOST 23 /* RFC 9842, 4: a decoder has 8 MiB at least */
#define STORE_HEAD 40
#define STORE_ENTRIES 1024 /* each look goes through all of them */

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static dictionary *store_first;
static apr_size_t store_bytes, store_most, store_n;

void dictionary_bound(apr_size_t bytes)
{
    store_most = bytes;
}

static apr_size_t store_cost(const dictionary *d)
{
    return sizeof *d + d->len + (d->path ? strlen(d->path) : 0);
}

static void store_free(dictionary *d)
{
    BRG_ASSERT(d->refs == 0);
    free(d->path);
    free(d->data);
    free(d);
}

void dictionary_release(dictionary *d)
{
    int last;

    if (!d)
        return;
    pthread_mutex_lock(&store_lock);
    BRG_ASSERT(d->refs > 0);
    last = --d->refs == 0;
    pthread_mutex_unlock(&store_lock);
    if (last)
        store_free(d);
}

/* From its place to the beginning. @return it, with a reference more */
static dictionary *store_use(dictionary **at)
{
    dictionary *d = *at;

    *at = d->next;
    d->next = store_first;
    store_first = d;
    d->refs++;
    return d;
}

typedef int store_is_fn(const dictionary *d, const dictionary *wanted);

static dictionary *store_find(store_is_fn *is, const dictionary *wanted)
{
    dictionary *found = NULL;

    pthread_mutex_lock(&store_lock);
    for (dictionary **at = &store_first; *at && !found; at = &(*at)->next)
        if (is(*at, wanted)) {
            found = store_use(at);
            break;
        }
    pthread_mutex_unlock(&store_lock);
    return found;
}

static void store_evict(void)
{
    while (store_first && store_first->next &&
           (store_bytes > store_most || store_n > STORE_ENTRIES)) {
        dictionary **at = &store_first, *d;

        while ((*at)->next)
            at = &(*at)->next;
        d = *at;
        *at = NULL;
        store_bytes -= store_cost(d);
        store_n--;
        if (--d->refs == 0)
            store_free(d);
    }
}

/* The list has one reference, the caller another. */
static dictionary *store_keep(dictionary *d)
{
    d->refs = 2;
    pthread_mutex_lock(&store_lock);
    d->next = store_first;
    store_first = d;
    store_bytes += store_cost(d);
    store_n++;
    store_evict();
    pthread_mutex_unlock(&store_lock);
    return d;
}

/* ---- contents ---- */

static int store_is_file(const dictionary *d, const dictionary *wanted)
{
    return d->rule == wanted->rule && d->path && d->mtime == wanted->mtime &&
           d->len == wanted->len && !strcmp(d->path, wanted->path);
}

dictionary *dictionary_of_file(const void *rule, const char *path, const apr_finfo_t *finfo)
{
    const dictionary wanted = {.rule = rule,
                               .path = (char *)(uintptr_t)path,
                               .mtime = finfo->mtime,
                               .len = (apr_size_t)finfo->size};

    return store_find(store_is_file, &wanted);
}

static int store_has_hash(const dictionary *d, const dictionary *wanted)
{
    return d->rule == wanted->rule && d->path && !memcmp(d->hash, wanted->hash, sizeof d->hash);
}

dictionary *dictionary_of_hash(const void *rule, const unsigned char *hash)
{
    dictionary wanted = {.rule = rule};

    memcpy(wanted.hash, hash, sizeof wanted.hash);
    return store_find(store_has_hash, &wanted);
}

static dictionary *store_make(apr_size_t room)
{
    dictionary *d = calloc(1, sizeof *d);

    if (d && (d->data = malloc(room ? room : 1)) != NULL)
        return d;
    free(d);
    return NULL;
}

/* @return 0: the file is not as it was */
static int store_fill(dictionary *d, apr_pool_t *p, const apr_finfo_t *finfo)
{
    apr_finfo_t now;
    apr_file_t *file;
    int whole = 0;

    if (apr_file_open(&file, d->path, APR_FOPEN_READ | APR_FOPEN_BINARY, APR_FPROT_OS_DEFAULT, p))
        return 0;
    if (!apr_file_info_get(&now, APR_FINFO_MTIME | APR_FINFO_SIZE | APR_FINFO_TYPE, file) &&
        now.filetype == APR_REG && now.mtime == finfo->mtime && now.size == finfo->size)
        whole = !apr_file_read_full(file, d->data, d->len, NULL);
    apr_file_close(file);
    return whole;
}

dictionary *dictionary_read(const void *rule, apr_pool_t *p, const char *path,
                            const apr_finfo_t *finfo)
{
    dictionary *d = store_make((apr_size_t)finfo->size);

    if (!d)
        return NULL;
    d->rule = rule;
    d->len = (apr_size_t)finfo->size;
    d->mtime = finfo->mtime;
    d->path = strdup(path);
    if (!d->path || !store_fill(d, p, finfo)) {
        store_free(d);
        return NULL;
    }
    brg_sha256(d->data, d->len, d->hash);
    return store_keep(d);
}

/* ---- folders ---- */

#define STORE_SCANS 64
#define STORE_SCAN_AGAIN apr_time_from_sec(60)

int dictionary_scan_is_due(const char *folder, apr_time_t now, int take)
{
    static struct {
        unsigned hash;
        apr_time_t at;
    } scans[STORE_SCANS];
    apr_ssize_t len = APR_HASH_KEY_STRING;
    const unsigned hash = apr_hashfunc_default(folder, &len);
    int due;

    pthread_mutex_lock(&store_lock);
    due = scans[hash % STORE_SCANS].hash != hash ||
          now - scans[hash % STORE_SCANS].at >= STORE_SCAN_AGAIN;
    if (due && take) {
        scans[hash % STORE_SCANS].hash = hash;
        scans[hash % STORE_SCANS].at = now;
    }
    pthread_mutex_unlock(&store_lock);
    return due;
}

/* ---- coded ---- */

static int store_is_coded(const dictionary *d, const dictionary *wanted)
{
    return !d->path && d->rule == wanted->rule && !memcmp(d->hash, wanted->hash, sizeof d->hash) &&
           !memcmp(d->by_hash, wanted->by_hash, sizeof d->by_hash);
}

static void store_name(dictionary *d, const dictionary *content, const dictionary *by)
{
    d->rule = content->rule;
    memcpy(d->hash, content->hash, sizeof d->hash);
    memcpy(d->by_hash, by->hash, sizeof d->by_hash);
}

dictionary *dictionary_coded(const dictionary *content, const dictionary *by)
{
    dictionary wanted = {.len = 0};

    store_name(&wanted, content, by);
    return store_find(store_is_coded, &wanted);
}

/* RFC 9842, 4.1: a frame that decoders skip, with the dictionary's digest. */
static void store_head(char *to, const dictionary *by)
{
    static const unsigned char magic[8] = {0x5e, 0x2a, 0x4d, 0x18, 0x20, 0, 0, 0};

    memcpy(to, magic, sizeof magic);
    memcpy(to + sizeof magic, by->hash, DICTIONARY_HASH);
}

static int store_window(apr_size_t bytes)
{
    int bits = 10;

    while (bits < STORE_WINDOW_MOST && ((apr_size_t)1 << bits) < bytes)
        bits++;
    return bits;
}

/* @return bytes behind the head; 0: it failed */
static size_t store_compress(char *to, size_t room, const dictionary *content, const dictionary *by,
                             int level)
{
    ZSTD_CCtx *state = ZSTD_createCCtx();
    size_t n = 0;

    if (state && !ZSTD_isError(ZSTD_CCtx_setParameter(state, ZSTD_c_compressionLevel, level)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(state, ZSTD_c_windowLog,
                                             store_window(content->len + by->len))) &&
        !ZSTD_isError(ZSTD_CCtx_refPrefix(state, by->data, by->len)))
        n = ZSTD_compress2(state, to, room, content->data, content->len);
    ZSTD_freeCCtx(state);
    return ZSTD_isError(n) ? 0 : n;
}

dictionary *dictionary_code(const dictionary *content, const dictionary *by, int level)
{
    const size_t room = ZSTD_compressBound(content->len);
    dictionary *d = store_make(STORE_HEAD + room);
    char *fits;
    size_t n;

    if (!d)
        return NULL;
    store_name(d, content, by);
    store_head(d->data, by);
    n = store_compress(d->data + STORE_HEAD, room, content, by, level);
    /* A dictionary of something else gains nothing: the usual codings do as well. */
    d->len = n && n + STORE_HEAD < content->len / 2 ? n + STORE_HEAD : 0;
    if ((fits = realloc(d->data, d->len ? d->len : 1)) != NULL)
        d->data = fits;
    return store_keep(d);
}
