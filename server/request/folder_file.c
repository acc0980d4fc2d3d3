/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose handlers ask a backend (SetHandler "proxy:..." for scripts): their properties, as
 * long as nothing of their path changes.
 *
 *   state    moved on by                                  what a look finds
 *   -------  -------------------------------------------  -----------------
 *   SEEN     asked for once more: put under watch, then   nothing
 *            looked at
 *   KNOWN    an event: it is dropped                      the kept data
 *   REFUSED  cannot be watched                            nothing
 *
 * Places are found by hash, one for each; a place that is in use is kept for FILE_KEPT_US.
 */
#include "folder_private.h"
#include "keyed_hash.h"
#include "brigade/assert.h"
#include "brigade/files.h"
#include <stdlib.h>
#include <string.h>

#define FILE_PLACES 256 /* a power of two */
#define FILE_KEPT_US apr_time_from_sec(10)

enum { FILE_SEEN, FILE_KNOWN, FILE_REFUSED };

typedef struct folder_file {
    char *path; /* NULL: the place is free */
    uint32_t hash;
    uint32_t len;
    int state;
    apr_time_t used; /* monotonic */
    watch_owner owner;
    apr_finfo_t info;
} folder_file;

struct folder_files {
    int n; /* in FILE_KNOWN */
    folder_file file[FILE_PLACES];
};

static uint32_t file_hash(const char *path, size_t len)
{
    return (uint32_t)keyed_hash_of(0, path, len);
}

static void file_drop(folder_table *t, folder_file *k)
{
    folder_files *files = *folder_files_of(t);

    BRG_ASSERT(k->path && files->n >= 0);
    if (k->state == FILE_KNOWN)
        files->n--;
    watch_remove(folders_watch(t), &k->owner);
    free(k->path);
    memset(k, 0, sizeof *k);
}

void folder_files_end(folder_table *t)
{
    folder_files *files = *folder_files_of(t);

    for (int i = 0; files && i < FILE_PLACES; i++)
        if (files->file[i].path)
            file_drop(t, &files->file[i]);
    free(files);
    *folder_files_of(t) = NULL;
}

int folder_file_find(folder_table *t, const char *path, size_t len, apr_finfo_t *info)
{
    folder_files *files = *folder_files_of(t);
    folder_file *k;
    uint32_t hash;

    if (!files || !files->n)
        return 0;
    hash = file_hash(path, len);
    k = &files->file[hash % FILE_PLACES];
    if (k->state != FILE_KNOWN || k->hash != hash || k->len != len || memcmp(k->path, path, len))
        return 0;
    BRG_ASSERT(k->path && files->n > 0);
    if (watch_changed(folders_watch(t), &k->owner)) {
        file_drop(t, k);
        return 0;
    }
    k->used = folders_now(t);
    *info = k->info;
    return 1;
}

/* @return 0: another busy file has the place */
static int file_take(folder_table *t, folder_file *k, uint32_t hash, const char *path, size_t len)
{
    if (k->path && k->state != FILE_SEEN && folders_now(t) - k->used < FILE_KEPT_US)
        return 0;
    if (k->path)
        file_drop(t, k);
    if (!(k->path = malloc(len + 1)))
        return 0;
    BRG_ASSERT(k->state == FILE_SEEN && !k->owner.n);
    memcpy(k->path, path, len + 1);
    k->len = (uint32_t)len;
    k->hash = hash;
    k->used = folders_now(t);
    return 1;
}

/* Data from before the watch began may be outdated. */
static void file_know(folder_table *t, folder_file *k, apr_pool_t *p)
{
    BRG_ASSERT(k->state == FILE_SEEN);
    k->state = FILE_REFUSED;
    if (watch_is_layered(k->path) || watch_add(folders_watch(t), &k->owner, k->path, 0))
        return;
    if (apr_stat(&k->info, k->path, APR_FINFO_MIN, p) != APR_SUCCESS ||
        k->info.filetype != APR_REG) {
        watch_remove(folders_watch(t), &k->owner);
        return;
    }
    k->info.valid &= ~(APR_FINFO_LINK | APR_FINFO_NAME);
    k->state = FILE_KNOWN;
    (*folder_files_of(t))->n++;
}

BRG_DECLARE(int) brg_file_is_known(const request_rec *r)
{
    const request_files *files = request_files_of(r);

    return files && files->known && files->walked == r->filename && !files->links;
}

BRG_DECLARE(void) brg_file_remember(const request_rec *r)
{
    folder_table *t = folders_of(r);
    folder_files **files = t ? folder_files_of(t) : NULL;
    folder_file *k;
    uint32_t hash;
    size_t len;

    if (!t || r->main || r->finfo.filetype != APR_REG || r->filename[0] != '/' ||
        brg_file_is_known(r))
        return;
    if (!*files && !(*files = calloc(1, sizeof **files)))
        return;
    len = strlen(r->filename);
    hash = file_hash(r->filename, len);
    k = &(*files)->file[hash % FILE_PLACES];
    if (!k->path || k->hash != hash || strcmp(k->path, r->filename) != 0)
        (void)file_take(t, k, hash, r->filename, len);
    else if (k->state == FILE_SEEN)
        file_know(t, k, r->pool);
}
