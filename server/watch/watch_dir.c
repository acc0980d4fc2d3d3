/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes for directories that watched paths lead through: found by path, each with an inotify
 * watch and a reference to the directory above and to a symbolic link's far end. */
#include "watch_private.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#define WATCH_DIR_MASK                                                                  \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | \
     IN_MOVE_SELF | IN_ONLYDIR)

static void watch_dir_unmap(watch_set *w, watch_dir *d)
{
    watch_dir **p = &w->dirs[d->hash % WATCH_BUCKETS];

    while (*p && *p != d)
        p = &(*p)->next;
    if (*p)
        *p = d->next;
}

static void watch_child_forget(watch_dir *above, const watch_dir *d)
{
    struct watch_dir_list **p = &above->children, *l;

    while ((l = *p) != NULL)
        if (l->dir == d) {
            *p = l->next;
            free(l);
        } else {
            p = &l->next;
        }
}

static void watch_dir_free(watch_set *w, watch_dir *d)
{
    watch_dir **p;

    if (!d->dead)
        watch_dir_unmap(w, d);
    if (d->wd) {
        for (p = &d->wd->dirs; *p != d; p = &(*p)->next_of_wd)
            ;
        *p = d->next_of_wd;
        watch_wd_put(w, d->wd);
    }
    if (d->parent) {
        watch_child_forget(d->parent, d);
        watch_dir_put(w, d->parent);
    }
    if (d->target) {
        watch_child_forget(d->target, d);
        watch_dir_put(w, d->target);
    }
    free(d);
}

void watch_dir_put(watch_set *w, watch_dir *d)
{
    if (--d->refs == 0)
        watch_dir_free(w, d);
}

/* Owners learn of it through the dependencies that they have on entries of d. */
void watch_dir_kill(watch_set *w, watch_dir *d)
{
    if (d->dead)
        return;
    d->dead = 1;
    watch_dir_unmap(w, d);
    watch_tell(d->any);
    for (unsigned i = 0; i < WATCH_BUCKETS; i++)
        for (struct watch_dep *dep = w->names[i]; dep; dep = dep->next_of_target)
            if (dep->dir == d)
                dep->owner->changed = 1;
    for (struct watch_dir_list *l = d->children; l; l = l->next)
        watch_dir_kill(w, l->dir);
}

static int watch_is_remote(const char *path)
{
    static const unsigned long remote[] = {
        0x6969,     /* NFS */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x517b,     /* SMB */
        0x65735546, /* FUSE */
        0x01021997, /* 9P */
        0x00c36400, /* Ceph */
        0x5346414f, /* AFS */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
        0x0bd00bd0, /* Lustre */
        0x9fa0,     /* proc: its files change without events */
        0x62656572, /* sysfs */
    };
    struct statfs fs;

    if (statfs(path, &fs))
        return 1;
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if ((unsigned long)fs.f_type == remote[i])
            return 1;
    return 0;
}

static int watch_dir_below(watch_dir *above, watch_dir *d)
{
    struct watch_dir_list *l = malloc(sizeof *l);

    if (!l)
        return -1;
    l->dir = d;
    l->next = above->children;
    above->children = l;
    return 0;
}

size_t watch_link_path(char *out, const char *path, size_t dir_len, const char *text, size_t len)
{
    if (text[0] == '/')
        dir_len = 0;
    if (dir_len + 1 + len >= PATH_MAX)
        return 0;
    memcpy(out, path, dir_len);
    if (dir_len)
        out[dir_len++] = '/';
    memcpy(out + dir_len, text, len);
    out[dir_len + len] = '\0';
    return dir_len + len;
}

static int watch_dir_attach(watch_set *w, watch_dir *d, int links)
{
    char text[PATH_MAX], far_end[PATH_MAX];
    size_t up = watch_parent_len(d->path, d->path_len), n;
    ssize_t len;

    if (d->path_len > 1) {
        if (!(d->parent = watch_dir_get(w, d->path, up, links)) || watch_dir_below(d->parent, d))
            return -1;
        len = readlink(d->path, text, sizeof text - 1);
        if (len > 0) {
            n = watch_link_path(far_end, d->path, up > 1 ? up : 0, text, (size_t)len);
            if (!n || !(d->target = watch_dir_get(w, far_end, n, links + 1)) ||
                watch_dir_below(d->target, d))
                return -1;
        }
    }
    if (!(d->wd = watch_wd_get(w, d->path, WATCH_DIR_MASK)))
        return -1;
    d->next_of_wd = d->wd->dirs;
    d->wd->dirs = d;
    return watch_is_remote(d->path) ? -1 : 0;
}

watch_dir *watch_dir_get(watch_set *w, const char *path, size_t len, int links)
{
    uint32_t hash;
    watch_dir *d;

    while (len > 1 && path[len - 1] == '/')
        len--;
    hash = watch_hash(path, len, 0);
    if (len == 0 || path[0] != '/' || links > WATCH_LINKS_MOST)
        return NULL;
    for (d = w->dirs[hash % WATCH_BUCKETS]; d; d = d->next)
        if (d->hash == hash && d->path_len == len && !memcmp(d->path, path, len)) {
            d->refs++;
            return d;
        }
    if (!(d = calloc(1, sizeof *d + len + 1)))
        return NULL;
    memcpy(d->path, path, len);
    d->path_len = len;
    d->hash = hash;
    d->refs = 1;
    if (watch_dir_attach(w, d, links)) {
        d->dead = 1; /* was never mapped */
        watch_dir_free(w, d);
        return NULL;
    }
    d->next = w->dirs[hash % WATCH_BUCKETS];
    w->dirs[hash % WATCH_BUCKETS] = d;
    return d;
}
