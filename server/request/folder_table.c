/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders that a loop knows, as a tree: found by the folder above and a name. Each is under watch with all above it.
 *
 * A folder is made known when it is asked for a second time. Displaced are those without others in
 * them that were not used for longest. An outdated one leaves the table with all below; these are
 * freed a few at a time.
 *
 * Its names are read by a worker, when several requests asked for missing ones: a loop does not
 * wait for a directory. They are taken if the folder did not change since before they were read.
 */
#include "folder_private.h"
#include "file_open_private.h"
#include "conn.h"
#include "http_request.h"
#include "keyed_hash.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* a power of two: as many as can become known may be new at a time */
#define TABLE_SEEN FOLDERS_MOST
#define TABLE_REFUSED_US apr_time_from_sec(10)
#define TABLE_FREED 8  /* most folders freed for a new one */
#define TABLE_MISSES 3 /* names looked for in vain before a folder's names are read */
#define TABLE_MISSES_MOST 4096
#define TABLE_WATCH_BYTES 1536 /* memory of a directory under watch, the kernel's part included */

/* Folders that were asked for once, by hash. */
typedef struct table_seen {
    uint32_t hash;
    apr_time_t wait; /* monotonic: it cannot be known, do not try before */
} table_seen;

struct folder_table {
    brg_loop *loop;
    watch_set *watch;
    folder **bucket;
    uint32_t mask;
    unsigned n, most;
    size_t bytes, bytes_most;
    folder *root;
    folder *newest, *oldest; /* of those without children */
    folder *dying;           /* detached, by next */
    folder_files *files;
    uint64_t detached; /* so many since the table was made */
    folder_figures figures;
    table_seen seen[TABLE_SEEN];
};

/* ---- the list of those without children ---- */

static void idle_push(folder_table *t, folder *f)
{
    BRG_ASSERT(!f->idle && !f->children && !f->detached);
    f->older = t->newest;
    f->newer = NULL;
    if (t->newest)
        t->newest->newer = f;
    else
        t->oldest = f;
    t->newest = f;
    f->idle = 1;
}

static void idle_remove(folder_table *t, folder *f)
{
    if (!f->idle)
        return;
    *(f->newer ? &f->newer->older : &t->newest) = f->older;
    *(f->older ? &f->older->newer : &t->oldest) = f->newer;
    f->idle = 0;
}

void folder_used(folder_table *t, folder *f)
{
    if (!f->idle || f == t->newest)
        return;
    idle_remove(t, f);
    idle_push(t, f);
}

/* ---- coming and going ---- */

static size_t table_bytes_of(const folder *f)
{
    return sizeof *f + TABLE_WATCH_BYTES + f->name_len + (f->info ? sizeof *f->info : 0);
}

static void table_unlink(folder_table *t, folder *f)
{
    folder **p = &t->bucket[f->hash & t->mask], *parent = f->parent;

    while (*p != f)
        p = &(*p)->next;
    *p = f->next;
    if (f->of) {
        *f->of = f->sibling;
        if (f->sibling)
            f->sibling->of = f->of;
    }
    if (t->root == f)
        t->root = NULL;
    f->parent = NULL;
    if (parent && !parent->children && !parent->detached)
        idle_push(t, parent);
}

static void table_free(folder_table *t, folder *f)
{
    BRG_ASSERT(!f->children && !f->idle);
    folder_views_end(t, f);
    watch_folder_close(t->watch, f->dir);
    if (f->names)
        folder_names_release(f->names);
    t->bytes -= table_bytes_of(f);
    free(f->info);
    free(f);
    t->n--;
    t->figures.dropped++;
}

static void table_cut(folder_table *t, folder *f)
{
    idle_remove(t, f);
    f->detached = 1;
    t->detached++;
    table_unlink(t, f);
}

static void table_detach(folder_table *t, folder *f)
{
    table_cut(t, f);
    f->next = t->dying;
    t->dying = f;
}

/* The one at the end of a detached tree; its memory may be used for another folder only when nothing names it as parent. */
static void table_reap_one(folder_table *t)
{
    folder *f = t->dying;

    if (!f->children) {
        t->dying = f->next;
        table_free(t, f);
        return;
    }
    while (f->children)
        f = f->children;
    table_cut(t, f);
    table_free(t, f);
}

static void table_reap(folder_table *t, int n)
{
    while (n-- > 0 && t->dying)
        table_reap_one(t);
}

static int table_is_full(const folder_table *t)
{
    return t->n >= t->most || t->bytes > t->bytes_most;
}

/* For a folder in parent, which stays. */
static void table_make_room(folder_table *t, const folder *parent)
{
    for (int i = 0; i < TABLE_FREED && table_is_full(t); i++) {
        folder *f = t->oldest == parent ? NULL : t->oldest;

        if (t->dying)
            table_reap_one(t);
        else if (f)
            table_detach(t, f);
    }
}

/* ---- finding and making ---- */

static uint32_t table_hash(const folder *parent, const char *name, size_t len)
{
    return (uint32_t)keyed_hash_of((uint64_t)(uintptr_t)parent, name, len);
}

/* @return 1: it was asked for before, and may be known */
static int table_admits(folder_table *t, uint32_t hash)
{
    table_seen *seen = &t->seen[hash % TABLE_SEEN];

    if (seen->hash == hash)
        return seen->wait <= t->loop->monotonic;
    *seen = (table_seen){.hash = hash};
    return 0;
}

static void table_refuse(folder_table *t, uint32_t hash, int error)
{
    table_seen *seen = &t->seen[hash % TABLE_SEEN];

    if (error == ENOENT)
        seen->hash = 0;
    else
        seen->wait = t->loop->monotonic + TABLE_REFUSED_US;
}

/* Its path as a string. */
static int table_link_of(const watch_folder *dir, const char *path)
{
    struct stat link, is;

    if (!watch_folder_is_link(dir))
        return FOLDER_PLAIN;
    return !lstat(path, &link) && !stat(path, &is) && link.st_uid == is.st_uid
               ? FOLDER_LINK_SAME_OWNER
               : FOLDER_LINK;
}

static folder *table_insert(folder_table *t, folder *parent, watch_folder *dir, size_t name_len,
                            uint32_t hash)
{
    folder *f = calloc(1, sizeof *f), **bucket = &t->bucket[hash & t->mask];

    if (!f)
        return NULL;
    f->dir = dir;
    f->name_len = (uint32_t)name_len;
    f->hash = hash;
    f->misses_next = TABLE_MISSES;
    f->next = *bucket;
    *bucket = f;
    if ((f->parent = parent) != NULL) {
        idle_remove(t, parent);
        f->sibling = parent->children;
        f->of = &parent->children;
        if (f->sibling)
            f->sibling->of = &f->sibling;
        parent->children = f;
    } else {
        t->root = f;
    }
    idle_push(t, f);
    t->n++;
    t->bytes += table_bytes_of(f);
    t->figures.made++;
    return f;
}

/* Under watch first; all that is found out comes behind that. */
static folder *table_make(folder_table *t, folder *parent, const char *path, size_t path_len,
                          size_t name_len, uint32_t hash)
{
    char text[PATH_MAX];
    watch_folder *dir;
    folder *f = NULL;

    if (path_len >= sizeof text || name_len > NAME_MAX)
        return NULL;
    memcpy(text, path, path_len);
    text[path_len] = '\0';
    table_make_room(t, parent);
    if (!(dir = watch_folder_open(t->watch, text, path_len))) {
        table_refuse(t, hash, errno);
        return NULL;
    }
    if (!watch_is_layered(text) && !faccessat(AT_FDCWD, text, X_OK, AT_EACCESS) &&
        (f = table_insert(t, parent, dir, name_len, hash)) != NULL) {
        f->link = (uint8_t)table_link_of(dir, text);
        return f;
    }
    table_refuse(t, hash, EACCES);
    watch_folder_close(t->watch, dir);
    return NULL;
}

static folder *table_find(const folder_table *t, const folder *parent, const char *name, size_t len,
                          uint32_t hash)
{
    folder *f = t->bucket[hash & t->mask];

    while (f && (f->hash != hash || f->parent != parent || f->detached || f->name_len != len ||
                 memcmp(watch_folder_name(f->dir), name, len) != 0))
        f = f->next;
    return f;
}

folder *folder_step(folder_table *t, folder *parent, const char *path, size_t path_len,
                    size_t name_len, int make)
{
    const char *name = path + path_len - name_len;
    uint32_t hash = table_hash(parent, name, name_len);
    folder *f = parent ? table_find(t, parent, name, name_len, hash) : t->root;

    if (t->dying)
        table_reap(t, TABLE_FREED);
    if (f && watch_folder_is_current(t->watch, f->dir)) {
        t->figures.found++;
        return f;
    }
    if (f)
        table_detach(t, f);
    return make && table_admits(t, hash) ? table_make(t, parent, path, path_len, name_len, hash)
                                         : NULL;
}

/* ---- properties by stat() ---- */

int folder_info(folder_table *t, folder *f, const request_rec *r, apr_finfo_t *info)
{
    const uint32_t changes = watch_folder_changes(f->dir);

    if (!f->info || f->info_changes != changes) {
        apr_finfo_t found;

        if (apr_stat(&found, watch_folder_path(f->dir), APR_FINFO_MIN, r->pool) != APR_SUCCESS)
            return 0;
        if (!f->info) {
            if (!(f->info = malloc(sizeof *f->info)))
                return 0;
            t->bytes += sizeof *f->info;
        }
        *f->info = found;
        f->info->valid &= ~(APR_FINFO_LINK | APR_FINFO_NAME);
        f->info_changes = changes;
    }
    *info = *f->info;
    info->fname = r->filename;
    info->pool = r->pool;
    return 1;
}

/* ---- names ---- */

void folder_names_release(folder_names *names)
{
    if (atomic_fetch_sub_explicit(&names->refs, 1, memory_order_acq_rel) != 1)
        return;
    watch_names_free(atomic_load_explicit(&names->read, memory_order_relaxed));
    free(names);
}

/* A worker's result counts if nothing changed since. */
static void names_take(folder_table *t, folder *f)
{
    watch_names *read = atomic_exchange_explicit(&f->names->read, NULL, memory_order_acq_rel);

    if (read && watch_folder_changes(f->dir) == f->names->changes) {
        watch_folder_set_names(t->watch, f->dir, read);
        t->figures.names_known++;
    } else if (read) {
        watch_names_free(read);
    } else if (!atomic_load_explicit(&f->names->failed, memory_order_acquire)) {
        return; /* it still reads, or never will */
    } else {
        f->misses_next = TABLE_MISSES_MOST; /* they cannot be known, or are too many */
    }
    folder_names_release(f->names);
    f->names = NULL;
}

int folder_lacks(folder_table *t, folder *f, const char *name, size_t len)
{
    if (f->names)
        names_take(t, f);
    return len <= NAME_MAX && watch_folder_lacks(f->dir, name, len);
}

int folder_missed(folder *f)
{
    return !watch_folder_has_names(f->dir) && ++f->misses >= f->misses_next;
}

void folder_want_names(folder *f, request_rec *r)
{
    request_files *files = request_files_of(r);
    const char *path = watch_folder_path(f->dir);
    size_t len = strlen(path);
    folder_names *names;

    if (!files || !files->may_hold || files->wanted || watch_folder_has_names(f->dir))
        return;
    if (f->misses < f->misses_next && (f->names || f->misses_next > TABLE_MISSES))
        return;
    if (!(names = malloc(sizeof *names + len + 1)))
        return;
    atomic_init(&names->refs, 2);
    atomic_init(&names->read, NULL);
    atomic_init(&names->failed, 0);
    names->changes = watch_folder_changes(f->dir);
    memcpy(names->path, path, len + 1);
    if (f->names)
        folder_names_release(f->names);
    f->names = files->wanted = names;
    f->misses = 0;
    if (f->misses_next < TABLE_MISSES_MOST)
        f->misses_next *= 4;
}

void folder_read_names(request_rec *r)
{
    request_files *files = request_files_of(r);
    watch_names *read;

    if (!files || !files->wanted || conn_on_loop())
        return;
    read = watch_names_read(files->wanted->path);
    if (!read)
        atomic_store_explicit(&files->wanted->failed, 1, memory_order_release);
    watch_names_free(atomic_exchange_explicit(&files->wanted->read, read, memory_order_acq_rel));
    folder_names_release(files->wanted);
    files->wanted = NULL;
}

/* ---- the table of a loop ---- */

/* Hooks of modules may see other files than the kernel shows. */
static int table_hooks_are_ours(void)
{
    const apr_array_header_t *stats = ap_hook_get_dirwalk_stat(),
                             *opens = ap_hook_get_open_htaccess();

    return stats && stats->nelts == 1 && (!opens || opens->nelts == 1);
}

void folders_open(brg_loop *loop, watch_set *watch, size_t bytes)
{
    folder_table *t;
    uint32_t buckets = FOLDERS_LEAST;

    if (!watch || !table_hooks_are_ours() || !(t = calloc(1, sizeof *t)))
        return;
    t->most = FOLDERS_MOST / (unsigned)loop->config->n_loops;
    if (t->most < FOLDERS_LEAST)
        t->most = FOLDERS_LEAST;
    while (buckets < t->most)
        buckets *= 2;
    t->bucket = calloc(buckets, sizeof(*t->bucket));
    if (!t->bucket) {
        free(t);
        return;
    }
    t->mask = buckets - 1;
    t->loop = loop;
    t->watch = watch;
    t->bytes_most = bytes;
    loop->folders = t;
}

void folders_close(brg_loop *loop)
{
    folder_table *t = loop->folders;

    if (!t)
        return;
    folder_files_end(t);
    if (t->root)
        table_detach(t, t->root);
    while (t->dying)
        table_reap_one(t);
    BRG_ASSERT(t->n == 0 && !t->newest && !t->oldest);
    free(t->bucket);
    free(t);
    loop->folders = NULL;
}

int folders_are_known(const brg_loop *loop)
{
    return loop->folders && (loop->folders->n || loop->folders->files);
}

void folders_figures(const brg_loop *loop, folder_figures *out)
{
    *out = (folder_figures){0};
    if (!loop->folders)
        return;
    *out = loop->folders->figures;
    out->folders = loop->folders->n;
    out->bytes = loop->folders->bytes;
}

folder_table *folders_of(const request_rec *r)
{
    brg_loop *loop = loop_self();
    const request_files *files = request_files_of(r);

    return loop && loop->folders && files && files->may_hold ? loop->folders : NULL;
}

watch_set *folders_watch(const folder_table *t)
{
    return t->watch;
}

apr_time_t folders_now(const folder_table *t)
{
    return t->loop->monotonic;
}

/* Detached folders are freed by look-ups of others: these have to come by. */
uint64_t folders_stamp(const folder_table *t)
{
    return t->dying ? 0 : watch_seen(t->watch) + t->detached;
}

void folders_account(folder_table *t, long bytes)
{
    t->bytes += (size_t)bytes;
}

folder_files **folder_files_of(folder_table *t)
{
    return &t->files;
}
