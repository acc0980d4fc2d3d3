/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies of an owner for a path: the entry, symbolic links and their targets, the inode, and
 * access files in each directory on the way. */
#include "watch_private.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes through a mapping or by Linux AIO make no event; that the writer closes the file does. */
#define WATCH_FILE_MASK (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)

static int is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* The directory of path, or the first existing one above it: *len is cut to the entry in the
 * result. NULL: it cannot be watched. */
static watch_dir *path_existing(watch_set *w, const char *path, size_t *len, int links)
{
    for (;;) {
        size_t up = watch_parent_len(path, *len);
        watch_dir *d = watch_dir_get(w, path, up, links);

        if (d || !is_missing(errno) || up <= 1 || w->failed_len <= 1)
            return d; /* NULL: where a container ends, say, the root has none */
        BRG_ASSERT(w->failed_len <= up);
        *len = w->failed_len;
    }
}

/* A missing name has come while watches were set: nothing of it is under watch. */
static int path_has_come(const char *path, size_t len)
{
    char copy[PATH_MAX];
    struct stat st;

    memcpy(copy, path, len);
    copy[len] = '\0';
    return stat(copy, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Where a path leads. */
typedef struct path_end {
    int missing;      /* to nothing */
    int local;        /* to a file beside a directory under watch, in the same file system */
    watch_node *node; /* local, and not by a link: the entry */
} path_end;

static int path_entry(watch_set *w, watch_owner *owner, const char *path, size_t len, int links,
                      path_end *end);

/* 1: a link; 0: no link, and end->missing tells whether anything is there; -1: not watchable. */
static int path_link(watch_set *w, watch_owner *owner, const char *path, size_t len, int links,
                     path_end *end)
{
    char text[PATH_MAX], far_end[PATH_MAX];
    size_t up = watch_parent_len(path, len), n;
    ssize_t text_len;

    memcpy(far_end, path, len);
    far_end[len] = '\0';
    text_len = readlink(far_end, text, sizeof text - 1);
    if (text_len <= 0) {
        end->missing = text_len < 0 && is_missing(errno);
        return 0;
    }
    if (links >= WATCH_LINKS_MOST)
        return -1;
    n = watch_link_path(far_end, path, up > 1 ? up : 0, text, (size_t)text_len);
    return n && !path_entry(w, owner, far_end, n, links + 1, end) ? 1 : -1;
}

static int path_entry(watch_set *w, watch_owner *owner, const char *path, size_t len, int links,
                      path_end *end)
{
    size_t have = len, up;
    watch_node *node;
    watch_dir *d;
    int rc;

    BRG_ASSERT(path[0] == '/' && links <= WATCH_LINKS_MOST);
    *end = (path_end){0};
    if (len == 1)
        return 0; /* "/" is no entry */
    if (!(d = path_existing(w, path, &have, links)))
        return -1;
    up = watch_parent_len(path, have);
    up += up > 1;
    node = watch_on_entry(w, owner, d, path + up, have - up);
    watch_dir_put(w, d);
    if (!node)
        return -1;
    if (node->missing) { /* found out before, and it is under watch since then */
        end->missing = 1;
        return 0;
    }
    end->local = node->local;
    end->node = node->local && have == len ? node : NULL;
    rc = node->plain ? 0 : path_link(w, owner, path, have, links, end);
    node->missing = rc == 0 && end->missing;
    if (rc < 0 || (have < len && path_has_come(path, have)))
        return -1;
    end->missing |= have < len;
    return 0;
}

/* It is under watch already, and so is the name that leads to it: should another file have taken its place meanwhile, an event says so. */
static watch_inode *path_inode_known(watch_set *w, const watch_node *node)
{
    watch_inode *x = node && node->wd ? watch_inode_find(w, node->wd) : NULL;

    if (!x || !x->node)
        return NULL;
    BRG_ASSERT(!node->changed && node->local && !x->node->changed);
    x->refs++;
    return x;
}

/* The file itself, whatever links lead to it. */
static int path_inode(watch_set *w, watch_owner *owner, const char *path, const path_end *end)
{
    watch_inode *x = path_inode_known(w, end->node);

    if (!x && !(x = watch_inode_get(w, path, WATCH_FILE_MASK)))
        return is_missing(errno) ? 0 : -1;
    if (end->node)
        end->node->wd = x->wd;
    if (watch_on_inode(w, owner, x))
        return -1;
    return end->local || watch_is_local(path) ? 0 : -1; /* a file may be mounted over a file */
}

static int path_file(watch_set *w, watch_owner *owner, const char *path, size_t len)
{
    path_end end;
    int rc = path_entry(w, owner, path, len, 0, &end);

    return rc || end.missing ? rc : path_inode(w, owner, path, &end);
}

static int path_names_in(watch_set *w, watch_owner *owner, const watch_dir *d,
                         const char *const *names)
{
    char path[PATH_MAX];
    size_t at = d->path_len > 1 ? d->path_len : 0;

    for (; *names; names++) {
        size_t len = strlen(*names);

        if (at + len + 2 > sizeof path)
            return -1;
        memcpy(path, d->path, at);
        path[at] = '/';
        memcpy(path + at + 1, *names, len);
        if (path_file(w, owner, path, watch_normalise(path, at + 1 + len)))
            return -1;
    }
    return 0;
}

/* Needs PATH_MAX bytes in clean. @return its length; 0: it cannot be watched */
static size_t path_clean(char *clean, const char *path)
{
    size_t len = strlen(path);

    if (path[0] != '/' || len + 1 >= PATH_MAX)
        return 0;
    memcpy(clean, path, len);
    return watch_normalise(clean, len);
}

/* The directory of a path, with a reference, and what is known of the entry there; NULL: it is not. */
static watch_dir *path_of_entry(watch_set *w, const char *path, size_t len, const watch_node **node)
{
    size_t up = watch_parent_len(path, len);
    watch_dir *d = len > 1 ? watch_dir_get(w, path, up, 0) : NULL;

    up += up > 1;
    *node = d ? watch_entry_find(w, d, path + up, len - up) : NULL;
    if (*node && !(*node)->changed && (*node)->mounted == w->mounted)
        return d;
    if (d)
        watch_dir_put(w, d);
    return NULL;
}

/* The same of a path that is known to be that of a regular file. */
static watch_dir *path_of_file(watch_set *w, const char *path, size_t len, const watch_node **node)
{
    watch_dir *d = path_of_entry(w, path, len, node);

    if (d && !(*node)->file) {
        watch_dir_put(w, d);
        d = NULL;
    }
    return d;
}

/* A file of the directory's file system, or a name that is not there, over which nothing can be mounted: an access file, mostly. */
static int node_is_of_its_directory(const watch_node *node)
{
    return node->file ? node->local : node->missing && !node->place;
}

int watch_path_is_layered(watch_set *w, const char *path)
{
    char clean[PATH_MAX];
    size_t len = path_clean(clean, path);
    const watch_node *node;
    watch_dir *d = len ? path_of_entry(w, clean, len, &node) : NULL;
    int layered = d && node_is_of_its_directory(node) ? d->layered : watch_is_layered(path);

    if (d)
        watch_dir_put(w, d);
    return layered;
}

/* In the directory at path, or the last existing one on its way, and all above. */
static int path_names(watch_set *w, watch_owner *owner, const char *path, size_t len,
                      const char *const *names)
{
    const watch_node *node;
    watch_dir *d = path_of_file(w, path, len, &node);
    int rc = 0;

    if (!d)
        d = watch_dir_get(w, path, len, 0);
    if (!d && is_missing(errno) && len > 1)
        d = path_existing(w, path, &len, 0);
    if (!d)
        return -1;
    for (const watch_dir *at = d; at && !rc; at = at->parent)
        rc = path_names_in(w, owner, at, names);
    watch_dir_put(w, d);
    return rc;
}

static int path_any(watch_set *w, watch_owner *owner, const char *path, size_t len)
{
    watch_dir *d = watch_dir_get(w, path, len, 0);
    int rc;

    if (!d && is_missing(errno) && len > 1)
        d = path_existing(w, path, &len, 0);
    if (!d)
        return -1;
    rc = watch_on_any(w, owner, d);
    watch_dir_put(w, d);
    return rc;
}

int watch_add(watch_set *w, watch_owner *owner, const char *path, int flags)
{
    char clean[PATH_MAX];
    size_t len = path_clean(clean, path);
    int rc = len ? path_file(w, owner, clean, len) : -1;

    if (!rc && (flags & WATCH_ENTRIES))
        rc = path_any(w, owner, clean, len);
    if (rc)
        watch_remove(w, owner);
    return rc;
}

int watch_add_names(watch_set *w, watch_owner *owner, const char *path, const char *const *names)
{
    char clean[PATH_MAX];
    size_t len = path_clean(clean, path);
    int rc = len ? path_names(w, owner, clean, len, names) : -1;

    if (rc)
        watch_remove(w, owner);
    return rc;
}
