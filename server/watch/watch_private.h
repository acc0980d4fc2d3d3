/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_WATCH_WATCH_PRIVATE_H
#define BRIGADE_WATCH_WATCH_PRIVATE_H

/**
 * @file watch_private.h
 * Shared by watch.c (the set, events), watch_path.c (an owner's dependencies
 * for a path), watch_dir.c (the objects for directories) and watch_inode.c (inotify watches, file
 * systems), watch_ring.c (whether anything happened), watch_folder.c (names of a directory).
 *
 * | Object      | Made by          | Referenced by                       | Dies                    |
 * |-------------|------------------|-------------------------------------|-------------------------|
 * | watch_inode | watch_inode_get  | directories, inode nodes            | with the last reference |
 * | watch_dir   | watch_dir_get    | entry nodes, directories below,     | with the last reference;|
 * |             |                  | symbolic links that lead there      | "dead" before: its path |
 * |             |                  |                                     | means something else    |
 * | watch_node  | watch_node_get   | owners                              | with the last reference;|
 * |             |                  |                                     | "changed" before: new   |
 * |             |                  |                                     | owners get another one  |
 */
#include "watch.h"
#include "keyed_hash.h"
#include "brigade/assert.h"

#define WATCH_LINKS_MOST 16  /**< symbolic links followed for one path; more: not watchable */
#define WATCH_DEPTH_MOST 256 /**< components of a path; more: not watchable */

/** The kernel's memory for one watch: its mark, and the inode that the mark holds in memory. */
#define WATCH_KERNEL_BYTES 1024

typedef struct watch_dir watch_dir;
typedef struct watch_ring watch_ring;
typedef struct watch_node watch_node;

/** An inotify watch: one per inode, whatever number of paths lead to it. */
typedef struct watch_inode {
    struct watch_inode *next; /**< in the bucket of wd */
    int wd;
    unsigned refs;
    watch_dir *dirs;  /**< by next_of_inode */
    watch_node *node; /**< on the inode itself and unchanged, or NULL */
} watch_inode;

/** A directory by its path. */
struct watch_dir {
    watch_dir *next; /**< in the bucket of path, while mapped */
    watch_dir *next_of_inode, **prev_of_inode;
    watch_inode *inode;
    watch_dir *parent;   /**< NULL for / */
    watch_dir *target;   /**< target of a symbolic link, else NULL */
    watch_node *any;     /**< on every entry and unchanged, or NULL */
    uint64_t generation; /**< of the set, when it was last found alive */
    uint64_t epoch;
    uint64_t place;     /**< watch_place_of() it, when it was made */
    uint64_t mount;     /**< watch_look: of its target */
    uint64_t mounted;   /**< of the set, when that was last compared */
    watch_names *names; /**< all that are in it, or more; NULL: not known */
    unsigned refs;
    uint8_t dead;
    uint8_t mapped;
    uint8_t layered; /**< watch_is_layered() */
    uint32_t hash;
    uint32_t changes; /**< watch_folder_changes() */
    uint32_t path_len;
    char path[];
};

enum { WATCH_ENTRY, WATCH_ANY, WATCH_INODE };

/** One thing that owners depend on. */
struct watch_node {
    watch_node *next;        /**< an entry: in the bucket of (directory, name), while unchanged */
    const watch_owner *last; /**< the owner that was added last; NULL: it is gone */
    watch_dir *dir;          /**< referenced; NULL for an inode */
    watch_inode *inode;      /**< referenced; NULL but for an inode */
    uint64_t place;          /**< of an entry: watch_place_of() it, without following a link */
    uint64_t mounted;        /**< of the set, when that was last compared */
    uint32_t refs;           /**< owners */
    uint32_t hash;
    int wd;          /**< local: of its inode, once that was put under watch; it may be gone */
    uint8_t kind;    /**< WATCH_* */
    uint8_t changed; /**< not found any more */
    uint8_t missing; /**< an entry that did not exist when it was put under watch */
    uint8_t plain;   /**< an entry that was there, and no link */
    uint8_t file;    /**< plain, and a regular file */
    uint8_t local;   /**< plain, and of the same file system as its directory */
    uint32_t len;
    char name[]; /**< of an entry, else "" */
};

struct watch_set {
    int fd;           /**< inotify */
    int mounts;       /**< /proc/self/mountinfo */
    int ready;        /**< epoll of the two */
    watch_ring *ring; /**< tells whether ready is, NULL: ask the kernel */
    unsigned count;
    size_t bytes;
    uint64_t generation, epoch;
    uint64_t mounted;    /**< how often the mount table changed */
    uint64_t seen;       /**< watch_seen() */
    int has_places;      /**< the kernel tells watch_place_of() */
    uint32_t mask;       /**< buckets of each table, less one */
    uint32_t failed_len; /**< bytes of the path that watch_dir_get() failed at */
    watch_inode **inodes;
    watch_dir **dirs;
    watch_node **entries;
    watch_counts counts;
};

/** Bytes before the last component: "/" alone keeps its slash. */
static inline size_t watch_parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 1 ? len - 1 : len;
}

/** Bytes of a block from malloc(). */
static inline size_t watch_block(size_t size)
{
    return (size + 8 + 15) & ~(size_t)15;
}

/** @name watch_ring.c */
/** @{ */

/** 1: nothing has happened since watch_ring_arm(). */
int watch_ring_silent(const watch_set *w);

/** The events were read: report later ones, those that came meanwhile included. No ring, or an
 * error: nothing is told. */
void watch_ring_arm(watch_set *w);
void watch_ring_close(watch_set *w);
/** @} */

/** @name watch_inode.c */
/** @{ */

/** Watch the inode at @a path for @a mask as well. Counts a reference. NULL: errno says why not. */
watch_inode *watch_inode_get(watch_set *w, const char *path, uint32_t mask);
void watch_inode_put(watch_set *w, watch_inode *x);
watch_inode *watch_inode_find(watch_set *w, int wd);

/** The object at a path. */
typedef struct watch_look {
    uint64_t
        place; /**< the mount, the device, the inode as a number; 0: nothing is there; WATCH_NO_PLACE */
    uint64_t mount; /**< its id; WATCH_NO_MOUNT: the kernel does not tell */
    int is_link;    /**< where it was not followed */
    int is_file;    /**< a regular one */
} watch_look;

#define WATCH_NO_PLACE 1 /**< the kernel does not tell */
#define WATCH_NO_MOUNT UINT64_MAX

/**
 * A mount over the path, or on its way, changes place. Does not wait for remote file systems that
 * were there before.
 * @param follow  a symbolic link at its end
 */
watch_look watch_look_at(const char *path, int follow);

static inline uint64_t watch_place_of(const char *path, int follow)
{
    return watch_look_at(path, follow).place;
}

/** 1 if inotify tells of every change to the object at @a path. */
int watch_is_local(const char *path);
/** @} */

/** @name watch_dir.c */
/** @{ */

/**
 * The object for a directory's path, normalised. Counts a reference.
 * @param links  symbolic links followed so far
 * @return NULL: errno is ENOENT or ENOTDIR if there is no such directory
 */
watch_dir *watch_dir_get(watch_set *w, const char *path, size_t len, int links);
void watch_dir_put(watch_set *w, watch_dir *d);

/** 1 while its path has the meaning that it had when d was made. */
int watch_dir_is_alive(const watch_set *w, watch_dir *d);

/** The object for @a name in @a d, if there is one and it hangs below d. */
watch_dir *watch_dir_below(watch_set *w, const watch_dir *d, const char *name);

/** Take empty components and "." out of an absolute path, in place; it needs room for one more byte
 * than @a len. @return its length */
size_t watch_normalise(char *path, size_t len);

/** The far end of a symbolic link whose text is @a text, met at path[0..dir_len) + "/" + name.
 * Needs PATH_MAX bytes in @a out. @return its length; 0: too long */
size_t watch_link_path(char *out, const char *path, size_t dir_len, const char *text, size_t len);
/** @} */

/** @name watch_folder.c */
/** @{ */

/** An event of @a mask about the entry @a name. */
void watch_names_event(watch_set *w, watch_dir *d, const char *name, uint32_t mask);
void watch_names_drop(watch_set *w, watch_dir *d);
/** @} */

/** @name watch_node.c */
/** @{ */

/** Let @a owner depend on an entry of @a d. NULL: out of memory. */
watch_node *watch_on_entry(watch_set *w, watch_owner *owner, watch_dir *d, const char *name,
                           size_t len);
/** On every entry of @a d. 0; -1: out of memory */
int watch_on_any(watch_set *w, watch_owner *owner, watch_dir *d);
/** On an inode, whose reference is taken over. 0; -1: out of memory */
int watch_on_inode(watch_set *w, watch_owner *owner, watch_inode *x);

watch_node *watch_entry_find(watch_set *w, const watch_dir *d, const char *name, size_t len);

/** It changed: owners learn of it, and new ones do not find it. NULL: nothing. */
void watch_node_change(watch_set *w, watch_node *node);
/** @} */

#endif
