/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_WATCH_WATCH_H
#define BRIGADE_WATCH_WATCH_H

/**
 * @file watch.h
 * What a remembered answer depends on in the file system, watched with inotify.
 *
 * An answer for /a/b/c depends on the entry "c" of the directory /a/b, on the inode that it leads
 * to, and on /a/b still being what that path means: on the entry "b" of /a, on "a" of /, on the
 * permissions of each, and where one of them is a symbolic link, on the same for its target.
 * Directories are therefore shared nodes: one that is moved, replaced or changed dies with all
 * below it, and answers hold references to the node that they came from.
 *
 * Threads: the owning loop only.
 */
#include "apr_pools.h"
#include <stdint.h>

typedef struct watch_set watch_set;
typedef struct watch_dir watch_dir;

/** Something that depends on files: embed it. All zero before use. */
typedef struct watch_owner {
    struct watch_dep *deps;
    int changed; /**< set when anything that it depends on changed; never cleared */
} watch_owner;

/** A set with an inotify instance of its own, or NULL when there is none to be had. */
watch_set *watch_set_create(void);

/** All owners must have been removed. */
void watch_set_destroy(watch_set *w);

/** Read what happened since the last call. One system call when nothing did. */
void watch_drain(watch_set *w);

/**
 * Let @a owner depend on the meaning and content of @a path (absolute; need not exist) and on the
 * entries
 * @a also_names[] (NULL-terminated, may be NULL) of each directory on the way from @a tree_root
 * down.
 *
 * @param any_entry  the owner depends on every entry of the last directory (an index was looked
 * for)
 * @return 0; -1 where changes cannot be seen (network or FUSE file system, watches exhausted):
 * nothing is left
 */
int watch_add(watch_set *w, watch_owner *owner, const char *path, const char *tree_root,
              const char *const *also_names, int any_entry);

/** End all dependencies of @a owner. */
void watch_remove(watch_set *w, watch_owner *owner);

/** Watches in use. */
unsigned watch_count(const watch_set *w);

#endif
