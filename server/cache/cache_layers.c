/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers made of files in layers (overlayfs). inotify tells of changes through the overlay, and of
 * none in a lower layer beneath it: so the files' states are compared, too, each time such an
 * answer is requested.
 */
#include "cache_source_private.h"
#include "file_identity.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LAYERS_MOST 16 /* paths of one answer */

typedef struct cache_look {
    file_identity seen; /* all zero: nothing is there */
    char *path;
} cache_look;

struct cache_looks {
    int n;
    size_t bytes;
    cache_look look[LAYERS_MOST];
};

static void layers_look(const char *path, file_identity *out)
{
    struct stat st;

    memset(out, 0, sizeof *out);
    if (stat(path, &st))
        return;
    out->dev = (uint64_t)st.st_dev;
    out->ino = (uint64_t)st.st_ino;
    out->size = (uint64_t)st.st_size;
    out->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    out->ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

static int layers_add(cache_looks *looks, watch_set *w, const char *path)
{
    cache_look *look = &looks->look[looks->n];

    BRG_ASSERT(looks->n >= 0 && looks->n <= LAYERS_MOST);
    if (!watch_path_is_layered(w, path))
        return 0;
    if (looks->n == LAYERS_MOST || !(look->path = strdup(path)))
        return -1;
    looks->n++;
    looks->bytes += cache_block(strlen(path) + 1);
    layers_look(path, &look->seen);
    return 0;
}

/* Access files that were read, or were not there. */
static int layers_add_access_files(cache_looks *looks, watch_set *w, request_rec *r,
                                   const char *const *names)
{
    int failed = 0;

    for (const struct htaccess_result *a = r->htaccess; a && names && !failed; a = a->next)
        for (const char *const *name = names; *name && !failed; name++)
            failed = layers_add(looks, w, apr_pstrcat(r->pool, a->dir, *name, NULL));
    return failed;
}

int cache_layers_arm(watch_set *w, cache_entry *e, request_rec *r, const apr_array_header_t *paths,
                     const char *const *names)
{
    cache_looks *looks = calloc(1, sizeof *looks);
    int failed = !looks;

    BRG_ASSERT(!e->looks);
    for (int i = 0; i < paths->nelts && !failed; i++)
        failed = layers_add(looks, w, APR_ARRAY_IDX(paths, i, const char *));
    if (!failed)
        failed = layers_add_access_files(looks, w, r, names);
    e->looks = looks;
    if (failed || !looks->n)
        cache_layers_drop(e);
    return failed ? -1 : 0;
}

int cache_layers_same(const cache_entry *e)
{
    const cache_looks *looks = e->looks;

    BRG_ASSERT(looks && looks->n > 0);
    for (int i = 0; i < looks->n; i++) {
        file_identity now;

        layers_look(looks->look[i].path, &now);
        if (!file_identity_same(&now, &looks->look[i].seen))
            return 0;
    }
    return 1;
}

void cache_layers_drop(cache_entry *e)
{
    for (int i = 0; e->looks && i < e->looks->n; i++)
        free(e->looks->look[i].path);
    free(e->looks);
    e->looks = NULL;
}

size_t cache_layers_bytes(const cache_entry *e)
{
    return e->looks ? cache_block(sizeof *e->looks) + e->looks->bytes : 0;
}
