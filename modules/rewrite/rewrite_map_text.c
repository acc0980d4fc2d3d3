/* SPDX-License-Identifier: Apache-2.0 */
/* Text maps: a hash table for each version of a file, which all threads read without a lock. A reader says in a slot
 * of its own which table it reads (a hazard pointer), so that the thread that replaces a table knows when nobody
 * reads the old one. */
#include "rewrite_private.h"
#include "apr_file_io.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_LINE_MOST 1024 /* longer lines of the file are several */
#define TEXT_SLOTS 1024     /* threads that read without the lock */

typedef struct text_entry {
    uint32_t next; /* index + 1; 0: none */
    uint32_t key, value;
    uint32_t key_len, value_len;
    uint32_t hash;
    atomic_uchar seen; /* was looked up before */
} text_entry;

typedef struct text_table {
    struct text_table *retired; /* next of the tables that wait for their readers */
    struct stat is;
    char *bytes;
    text_entry *entry;
    uint32_t *bucket;
    uint32_t n, room, mask;
} text_table;

struct rewrite_text_map {
    const char *file;
    pthread_mutex_t lock; /* for whoever replaces the table, and readers without a slot */
    _Atomic(text_table *) table;
    text_table *retired;
};

/* A thread reads one table at a time. */
static struct {
    _Alignas(64) _Atomic(text_table *) table;
} text_slot[TEXT_SLOTS];

static void text_free(text_table *t)
{
    if (t) {
        free(t->bytes);
        free(t->entry);
        free(t->bucket);
        free(t);
    }
}

static apr_status_t text_cleanup(void *data)
{
    struct rewrite_text_map *map = data;
    text_table *next;

    text_free(atomic_load(&map->table));
    for (text_table *t = map->retired; t; t = next) {
        next = t->retired;
        text_free(t);
    }
    pthread_mutex_destroy(&map->lock);
    return APR_SUCCESS;
}

struct rewrite_text_map *rewrite_text_make(apr_pool_t *p, const char *file)
{
    struct rewrite_text_map *map = apr_pcalloc(p, sizeof *map);

    map->file = file;
    pthread_mutex_init(&map->lock, NULL);
    apr_pool_cleanup_register(p, map, text_cleanup, apr_pool_cleanup_null);
    return map;
}

/* ---- reading ---- */

static uint32_t text_hash(const char *s, size_t len)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ h >> 15;
}

static text_entry *text_find(const text_table *t, const char *key, size_t len, uint32_t hash)
{
    for (uint32_t i = t->mask ? t->bucket[hash & t->mask] : 0; i; i = t->entry[i - 1].next) {
        text_entry *e = &t->entry[i - 1];

        if (e->hash == hash && e->key_len == len && !memcmp(t->bytes + e->key, key, len))
            return e;
    }
    return NULL;
}

/* Twice as many buckets as entries at most, all in one chain less. */
static int text_grow(text_table *t)
{
    uint32_t room = t->room ? t->room * 2 : 64;
    text_entry *entry = realloc(t->entry, room * sizeof *entry);
    uint32_t *bucket = entry ? calloc(room, sizeof *bucket) : NULL;

    if (entry)
        t->entry = entry;
    if (!bucket)
        return -1;
    free(t->bucket);
    t->bucket = bucket;
    t->room = room;
    t->mask = room - 1;
    BRG_ASSERT(t->n < room && !(room & t->mask));
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t *head = &bucket[entry[i].hash & t->mask];

        entry[i].next = *head;
        *head = i + 1;
    }
    return 0;
}

/* Of several lines with one key the first counts. */
static int text_enter(text_table *t, const char *key, size_t key_len, const char *value,
                      size_t value_len)
{
    uint32_t hash = text_hash(key, key_len), *head;

    if (text_find(t, key, key_len, hash))
        return 0;
    if (t->n == t->room && text_grow(t))
        return -1;
    BRG_ASSERT(t->n < t->room);
    head = &t->bucket[hash & t->mask];
    t->entry[t->n] = (text_entry){.next = *head,
                                  .key = (uint32_t)(key - t->bytes),
                                  .value = (uint32_t)(value - t->bytes),
                                  .key_len = (uint32_t)key_len,
                                  .value_len = (uint32_t)value_len,
                                  .hash = hash};
    *head = ++t->n;
    return 0;
}

/* KEY VALUE; lines that begin with '#' or white space are comments. */
static int text_line(text_table *t, const char *line, const char *end)
{
    const char *key_end, *value, *value_end;

    BRG_ASSERT(line >= t->bytes && line <= end);
    if (line == end || *line == '#' || apr_isspace(*line))
        return 0;
    for (key_end = line; key_end < end && !apr_isspace(*key_end); key_end++)
        ;
    for (value = key_end; value < end && apr_isspace(*value); value++)
        ;
    if (value == end)
        return 0;
    for (value_end = value; value_end < end && !apr_isspace(*value_end); value_end++)
        ;
    return text_enter(t, line, (size_t)(key_end - line), value, (size_t)(value_end - value));
}

static int text_parse(text_table *t, size_t len)
{
    const char *at = t->bytes, *all = at + len;

    while (at < all) {
        size_t left = (size_t)(all - at);
        size_t most = left < TEXT_LINE_MOST ? left : TEXT_LINE_MOST;
        const char *newline = memchr(at, '\n', most), *end = newline ? newline : at + most;
        const char *nul = memchr(at, '\0', (size_t)(end - at));

        if (text_line(t, at, nul ? nul : end))
            return -1;
        at = newline ? newline + 1 : end;
    }
    return 0;
}

static int text_read_bytes(text_table *t, int fd)
{
    size_t len = (size_t)t->is.st_size, got = 0;
    ssize_t n = 1;

    if (t->is.st_size >= (off_t)UINT32_MAX || !(t->bytes = malloc(len + 1)))
        return -1;
    while (got < len && (n = read(fd, t->bytes + got, len - got)) != 0)
        if (n > 0)
            got += (size_t)n;
        else if (errno != EINTR)
            return -1;
    return text_parse(t, got);
}

static text_table *text_read(const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    text_table *t = fd >= 0 ? calloc(1, sizeof *t) : NULL;

    if (t && (fstat(fd, &t->is) || text_read_bytes(t, fd))) {
        text_free(t);
        t = NULL;
    }
    if (fd >= 0)
        close(fd);
    return t;
}

/* ---- replacing ---- */

static int text_is_of(const text_table *t, const struct stat *now)
{
    return t && t->is.st_dev == now->st_dev && t->is.st_ino == now->st_ino &&
           t->is.st_size == now->st_size && t->is.st_mtim.tv_sec == now->st_mtim.tv_sec &&
           t->is.st_mtim.tv_nsec == now->st_mtim.tv_nsec &&
           t->is.st_ctim.tv_sec == now->st_ctim.tv_sec &&
           t->is.st_ctim.tv_nsec == now->st_ctim.tv_nsec;
}

static int text_is_read(const text_table *t)
{
    for (int i = 0; i < TEXT_SLOTS; i++)
        if (atomic_load(&text_slot[i].table) == t)
            return 1;
    return 0;
}

static void text_free_unread(struct rewrite_text_map *map)
{
    text_table **link = &map->retired, *t;

    while ((t = *link) != NULL) {
        if (text_is_read(t)) {
            link = &t->retired;
            continue;
        }
        BRG_ASSERT(t != atomic_load(&map->table));
        *link = t->retired;
        text_free(t);
    }
}

/* With the lock held. */
static apr_status_t text_replace(struct rewrite_text_map *map, const struct stat *now)
{
    text_table *old = atomic_load(&map->table), *t;

    if (text_is_of(old, now)) /* another thread was faster */
        return APR_SUCCESS;
    errno = ENOMEM;
    if (!(t = text_read(map->file)))
        return errno;
    atomic_store(&map->table, t);
    if (old) {
        old->retired = map->retired;
        map->retired = old;
    }
    text_free_unread(map);
    return APR_SUCCESS;
}

static apr_status_t text_refresh(struct rewrite_text_map *map)
{
    apr_status_t status;
    struct stat now;

    if (stat(map->file, &now))
        return errno;
    pthread_mutex_lock(&map->lock);
    status = text_replace(map, &now);
    pthread_mutex_unlock(&map->lock);
    return status;
}

void rewrite_text_prepare(struct rewrite_text_map *map)
{
    (void)text_refresh(map);
}

/* ---- looking up ---- */

static void text_copy(const text_table *t, apr_pool_t *p, const char *key, const char **value,
                      int *fresh)
{
    size_t len = strlen(key);
    text_entry *e = t ? text_find(t, key, len, text_hash(key, len)) : NULL;

    *fresh = !e || !atomic_exchange_explicit(&e->seen, 1, memory_order_relaxed);
    *value = e ? apr_pstrmemdup(p, t->bytes + e->value, e->value_len) : NULL;
}

/* The table of this moment is not freed before text_leave(). */
static text_table *text_enter_slot(struct rewrite_text_map *map, int thread)
{
    text_table *t;

    do {
        t = atomic_load(&map->table);
        atomic_store(&text_slot[thread].table, t);
    } while (t != atomic_load(&map->table));
    return t;
}

apr_status_t rewrite_text_find(struct rewrite_text_map *map, apr_pool_t *p, const char *key,
                               const char **value, int *fresh)
{
    int thread = brg_thread_index();
    apr_status_t status = APR_SUCCESS;
    struct stat now;
    text_table *t;

    if (stat(map->file, &now))
        return errno;
    if (thread < 0 || thread >= TEXT_SLOTS) {
        pthread_mutex_lock(&map->lock);
        status = text_replace(map, &now);
        text_copy(atomic_load(&map->table), p, key, value, fresh);
        pthread_mutex_unlock(&map->lock);
        return status;
    }
    t = text_enter_slot(map, thread);
    if (!text_is_of(t, &now)) {
        atomic_store(&text_slot[thread].table, NULL);
        status = text_refresh(map);
        t = text_enter_slot(map, thread);
    }
    if (status == APR_SUCCESS)
        text_copy(t, p, key, value, fresh);
    atomic_store(&text_slot[thread].table, NULL);
    return status;
}
