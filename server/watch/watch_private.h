/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_WATCH_WATCH_PRIVATE_H
#define BRIGADE_WATCH_WATCH_PRIVATE_H

/**
 * @file watch_private.h
 * Shared by watch.c (inotify watches, dependencies of owners, events) and watch_dir.c (the nodes
 * for directories).
 */
#include "watch.h"

#define WATCH_BUCKETS 4096
#define WATCH_LINKS_MOST \
    16 /* symbolic links followed for one path; more is treated as not watchable */

/* An inotify watch: one per inode, whatever number of paths lead to it. */
typedef struct watch_wd {
    struct watch_wd *next; /* in the bucket of wd */
    int wd;
    unsigned refs;          /* directories and file dependencies below */
    watch_dir *dirs;        /* by next_of_wd */
    struct watch_dep *deps; /* on the inode itself, by next_of_target */
} watch_wd;

struct watch_dir {
    watch_dir *next; /* in the bucket of path; only while alive */
    watch_dir *next_of_wd;
    watch_wd *wd;
    watch_dir *parent;               /* NULL for / and for a link's far end */
    watch_dir *target;               /* what a symbolic link leads to, else NULL */
    struct watch_dep *any;           /* on every entry */
    struct watch_dir_list *children; /* directories that die with this one */
    unsigned refs;
    int dead;
    uint32_t hash;
    size_t path_len;
    char path[];
};

struct watch_dir_list {
    struct watch_dir_list *next;
    watch_dir *dir;
};

/* One thing that an owner depends on: an entry of a directory, all entries, or an inode. */
struct watch_dep {
    struct watch_dep *next_of_owner;
    struct watch_dep *next_of_target,
        **prev_of_target; /* bucket of (dir, name), dir->any or wd->deps */
    watch_owner *owner;
    watch_dir *dir; /* referenced; NULL for an inode */
    watch_wd *wd;   /* of an inode */
    uint32_t hash;
    char name[]; /* "" for all entries and for an inode */
};

struct watch_set {
    int fd;
    unsigned count;
    watch_wd *wds[WATCH_BUCKETS];
    watch_dir *dirs[WATCH_BUCKETS];
    struct watch_dep *names[WATCH_BUCKETS];
};

static inline uint32_t watch_hash(const char *s, size_t len, uint32_t h)
{
    h ^= 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ (h >> 15);
}

/** Bytes of what comes before the last component: "/" alone keeps its slash. */
static inline size_t watch_parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 1 ? len - 1 : len;
}

static inline void watch_tell(struct watch_dep *dep)
{
    for (; dep; dep = dep->next_of_target)
        dep->owner->changed = 1;
}

/* ---- watch.c ---- */

/** Watch the inode at @a path for @a mask as well. NULL: errno says why not. Counts a reference. */
watch_wd *watch_wd_get(watch_set *w, const char *path, uint32_t mask);
void watch_wd_put(watch_set *w, watch_wd *x);

/* ---- watch_dir.c ---- */

/** A referenced node for a directory's path, or NULL. @param links  symbolic links followed so far
 */
watch_dir *watch_dir_get(watch_set *w, const char *path, size_t len, int links);
void watch_dir_put(watch_set *w, watch_dir *d);

/** The path no longer means what it meant: the node and all below it are not found any more, and
 * their owners are told. */
void watch_dir_kill(watch_set *w, watch_dir *d);

/** The far end of a symbolic link whose text is @a text, met at path[0..dir_len) + "/" + name.
 * Needs PATH_MAX bytes in @a out. @return its length; 0: too long */
size_t watch_link_path(char *out, const char *path, size_t dir_len, const char *text, size_t len);

#endif
