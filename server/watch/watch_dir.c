/* SPDX-License-Identifier: Apache-2.0 */
/* The objects for directories that watched paths lead through: found by path, each with an inotify
 * watch and a reference to the directory above and to a symbolic link's far end. Whether one is
 * alive is found out when it is asked for: an event marks the one directory that it is about. */
#include "watch_private.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WATCH_DIR_MASK                                                                  \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | \
     IN_MOVE_SELF | IN_ONLYDIR)

static void dir_unmap(watch_set *w, watch_dir *d)
{
    watch_dir **p = &w->dirs[d->hash & w->mask];

    if (!d->mapped)
        return;
    while (*p != d)
        p = &(*p)->next;
    *p = d->next;
    d->mapped = 0;
}

static void dir_map(watch_set *w, watch_dir *d)
{
    watch_dir **bucket = &w->dirs[d->hash & w->mask];

    BRG_ASSERT(!d->mapped && !d->dead);
    d->next = *bucket;
    *bucket = d;
    d->mapped = 1;
}

static void dir_free(watch_set *w, watch_dir *d)
{
    watch_dir *parent = d->parent, *target = d->target;

    BRG_ASSERT(!d->any && d->refs == 0);
    dir_unmap(w, d);
    watch_names_drop(w, d);
    if (d->prev_of_inode) {
        *d->prev_of_inode = d->next_of_inode;
        if (d->next_of_inode)
            d->next_of_inode->prev_of_inode = d->prev_of_inode;
    }
    if (d->inode)
        watch_inode_put(w, d->inode);
    w->bytes -= watch_block(sizeof *d + d->path_len + 1);
    free(d);
    if (target)
        watch_dir_put(w, target);
    if (parent)
        watch_dir_put(w, parent);
}

void watch_dir_put(watch_set *w, watch_dir *d)
{
    BRG_ASSERT(d->refs > 0);
    if (--d->refs == 0)
        dir_free(w, d);
}

/* After a change of the mount table: does its path lead where it did? A directory on its way does.
 */
static int dir_is_in_place(const watch_set *w, watch_dir *d)
{
    if (d->mounted == w->mounted)
        return 1;
    if (watch_place_of(d->path, 1) != d->place)
        return 0;
    d->mounted = w->mounted;
    return 1;
}

/* Recursion ends at /; links and depth are bounded when an object is made. */
int watch_dir_is_alive(const watch_set *w, watch_dir *d)
{
    if (d->dead)
        return 0;
    if (d->generation == w->generation)
        return 1;
    if (d->epoch != w->epoch || (d->parent && !watch_dir_is_alive(w, d->parent)) ||
        (d->target && !watch_dir_is_alive(w, d->target)) || !dir_is_in_place(w, d)) {
        d->dead = 1;
        return 0;
    }
    d->generation = w->generation;
    return 1;
}

size_t watch_normalise(char *path, size_t len)
{
    size_t n = 0, i = 0;

    while (i < len) {
        size_t from = i;

        while (i < len && path[i] != '/')
            i++;
        if (i > from && !(i - from == 1 && path[from] == '.')) {
            path[n++] = '/';
            memmove(path + n, path + from, i - from);
            n += i - from;
        }
        i++;
    }
    if (!n)
        path[n++] = '/';
    path[n] = '\0';
    return n;
}

size_t watch_link_path(char *out, const char *path, size_t dir_len, const char *text, size_t len)
{
    if (text[0] == '/')
        dir_len = 0;
    if (dir_len + 2 + len >= PATH_MAX)
        return 0;
    memcpy(out, path, dir_len);
    out[dir_len++] = '/';
    memcpy(out + dir_len, text, len);
    return watch_normalise(out, dir_len + len);
}

static uint32_t dir_hash(const char *path, size_t len)
{
    return (uint32_t)keyed_hash_of(0, path, len);
}

/* The object for a path that still has the same meaning; an outdated one is forgotten. No
 * reference. */
static watch_dir *dir_find(watch_set *w, const char *path, size_t len, uint32_t hash)
{
    watch_dir *d = w->dirs[hash & w->mask];

    while (d && (d->hash != hash || d->path_len != len || memcmp(d->path, path, len) != 0))
        d = d->next;
    if (d && !watch_dir_is_alive(w, d)) {
        dir_unmap(w, d);
        return NULL;
    }
    return d;
}

watch_dir *watch_dir_below(watch_set *w, const watch_dir *d, const char *name)
{
    size_t len = strlen(name), at = d->path_len > 1 ? d->path_len : 0;
    char path[PATH_MAX];
    watch_dir *below;

    if (at + 1 + len >= sizeof path)
        return NULL;
    memcpy(path, d->path, at);
    path[at] = '/';
    memcpy(path + at + 1, name, len);
    below = dir_find(w, path, at + 1 + len, dir_hash(path, at + 1 + len));
    return below && below->parent == d ? below : NULL;
}

/* The directory above is under watch already, so results read here are watched. */
static int dir_follow_link(watch_set *w, watch_dir *d, int links)
{
    char text[PATH_MAX], far_end[PATH_MAX];
    size_t up = watch_parent_len(d->path, d->path_len), n;
    ssize_t len = readlink(d->path, text, sizeof text - 1);

    if (len <= 0)
        return 0;
    n = watch_link_path(far_end, d->path, up > 1 ? up : 0, text, (size_t)len);
    if (!n || links >= WATCH_LINKS_MOST) {
        errno = ELOOP;
        return -1;
    }
    return (d->target = watch_dir_get(w, far_end, n, links + 1)) ? 0 : -1;
}

static int dir_attach(watch_set *w, watch_dir *d, int links)
{
    watch_look look;

    if (d->path_len > 1 && dir_follow_link(w, d, links))
        return -1;
    if (!(d->inode = watch_inode_get(w, d->path, WATCH_DIR_MASK)))
        return -1;
    d->next_of_inode = d->inode->dirs;
    d->prev_of_inode = &d->inode->dirs;
    if (d->next_of_inode)
        d->next_of_inode->prev_of_inode = &d->next_of_inode;
    d->inode->dirs = d;
    look = watch_look_at(d->path, 1);
    d->place = look.place;
    d->mount = look.mount;
    d->layered = watch_is_layered(d->path) != 0;
    if (watch_is_local(d->path))
        return 0;
    errno = EXDEV;
    return -1;
}

/* Takes over the reference to parent. */
static watch_dir *dir_create(watch_set *w, const char *path, size_t len, uint32_t hash,
                             watch_dir *parent, int links)
{
    watch_dir *d = calloc(1, sizeof *d + len + 1);
    int error;

    if (!d) {
        if (parent)
            watch_dir_put(w, parent);
        errno = ENOMEM;
        return NULL;
    }
    memcpy(d->path, path, len);
    d->path_len = (uint32_t)len;
    d->hash = hash;
    d->refs = 1;
    d->parent = parent;
    d->generation = w->generation;
    d->epoch = w->epoch;
    d->mounted = w->mounted;
    w->bytes += watch_block(sizeof *d + len + 1);
    if (dir_attach(w, d, links)) {
        error = errno;
        watch_dir_put(w, d);
        w->failed_len = (uint32_t)len;
        errno = error;
        return NULL;
    }
    w->seen += WATCH_SEEN_FILE + 1;
    dir_map(w, d);
    return d;
}

/* One component after the other, from / on. */
static watch_dir *dir_walk(watch_set *w, const char *path, size_t len, int links)
{
    watch_dir *d = NULL, *next;
    int depth = 0;

    for (size_t end = 1;; end++) {
        uint32_t hash;

        while (end > 1 && end < len && path[end] != '/')
            end++;
        hash = dir_hash(path, end);
        if ((next = dir_find(w, path, end, hash)) != NULL) {
            next->refs++;
            if (d)
                watch_dir_put(w, d);
        } else if (!(next = dir_create(w, path, end, hash, d, links))) {
            return NULL;
        }
        d = next;
        if (end >= len)
            return d;
        if (++depth > WATCH_DEPTH_MOST) {
            watch_dir_put(w, d);
            errno = ENAMETOOLONG;
            return NULL;
        }
    }
}

watch_dir *watch_dir_get(watch_set *w, const char *path, size_t len, int links)
{
    watch_dir *d;

    BRG_ASSERT(len > 0 && path[0] == '/');
    d = dir_find(w, path, len, dir_hash(path, len));
    if (!d)
        return dir_walk(w, path, len, links);
    d->refs++;
    return d;
}
