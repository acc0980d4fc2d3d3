/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_WATCH_WATCH_H
#define BRIGADE_WATCH_WATCH_H

/**
 * @file watch.h
 * Dependencies of stored answers in the file system, watched with inotify.
 *
 * An answer for /a/b/c depends on the entry "c" of the directory /a/b, on the inode behind it, and
 * on the meaning of the path /a/b: on the entry "b" of /a, on "a" of /, on the permissions of each,
 * and where one of them is a symbolic link, on the same for its target. A name that does not exist
 * is watched where it would appear.
 *
 * Nothing here takes time that grows with the number of owners: an event marks its subject (a
 * directory, an entry, an inode) and, if more than one owner depends on that, moves the generation
 * of the set on. An owner looks at its own dependencies when it is asked for the next time after
 * that: watch_changed().
 *
 * | State of an owner | Moved on by                   | Legal in it                            |
 * |-------------------|-------------------------------|----------------------------------------|
 * | empty (all zero)  | watch_add()                   | watch_add(), watch_remove()            |
 * | watching          | an event, seen by watch_drain | watch_add(), watch_changed(), _remove()|
 * | changed           | watch_remove()                | watch_changed(): 1; watch_remove()     |
 *
 * Threads: the owning loop only. Blocking: watch_add() makes system calls for paths (the directory
 * entries are cached by the kernel as a rule, since the path was just used); nothing else does.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct watch_set watch_set;
struct watch_node;

/** Something that depends on files: embed it. All zero before use. */
typedef struct watch_owner {
    struct watch_node **nodes; /**< its dependencies */
    uint32_t n, room;
    uint64_t generation; /**< of the set, when nothing had changed yet */
    uint64_t epoch;      /**< of the set, when the first dependency was added */
    int changed;         /**< internal: ask watch_changed() */
} watch_owner;

/**
 * A set with an inotify instance of its own.
 * @param expected  how many owners it is made for; it may have more
 * @return NULL when no instance can be had, or changes of the mount table cannot be seen
 */
watch_set *watch_set_create(size_t expected);

/** All owners must have been removed. */
void watch_set_destroy(watch_set *w);

/** In a process that was forked from the set's: forget it without touching the watches, which the
 * two share. The owners' nodes are left. */
void watch_set_forget(watch_set *w);

/** A descriptor that is readable when there is something to read for watch_drain(). */
int watch_fd(const watch_set *w);

/**
 * From now on watch_drain() makes no system call when nothing happened, if the kernel has io_uring and lets this process
 * use it. All further calls must be those of one thread, whose waits may end early (EINTR) when something happens.
 */
void watch_ring_open(watch_set *w);

/** Read the events since the last call: all that happened before the calling thread last returned
 * from a system call. One system call when nothing did, or none: see watch_ring_open(). */
void watch_drain(watch_set *w);

/** For watch_add(): the owner depends on every entry of the path's last directory: the path itself
 * if it is one, else the directory around it. */
#define WATCH_ENTRIES 1

/**
 * Let @a owner depend on the meaning and content of @a path, absolute; it need not exist.
 * @return 0; -1 where changes cannot be seen (a file system that is not local, a directory that
 *         may not be read, watches exhausted): nothing is left of owner's dependencies
 */
int watch_add(watch_set *w, watch_owner *owner, const char *path, int flags);

/**
 * Let @a owner depend on files of certain names in each directory on the way from the root to @a path, and in the path
 * itself if that is a directory.
 * @param names  NULL-terminated: as AccessFileName has them; relative, may have slashes
 * @return as watch_add()
 */
int watch_add_names(watch_set *w, watch_owner *owner, const char *path, const char *const *names);

/** A file put under watch adds at most this to watch_seen(): its name and its inode. */
#define WATCH_SEEN_FILE 2

/**
 * A number that grows with each event that is read, with each loss of events, and with each
 * directory, entry that exists and inode that is put under watch for the first time: by more than
 * WATCH_SEEN_FILE for a directory. While it stays the same, the next watch_drain() sees any change
 * to paths of a watch_add(), also a change before that watch_add(). Never 0.
 */
uint64_t watch_seen(const watch_set *w);

/** 1 if @a path, which need not exist, lies in layers (overlayfs): a change in a lower one is no
 * event here, and a dependent has to look at it, too. One system call or more. Threads: any. */
int watch_is_layered(const char *path);

/** The same, without a system call for a regular file that is under watch in @a w. Threads: that of @a w. */
int watch_path_is_layered(watch_set *w, const char *path);

/** 1 if anything that @a owner depends on has changed, as far as watch_drain() has read. */
int watch_changed(watch_set *w, watch_owner *owner);

/** End all dependencies of @a owner; it is as if new. */
void watch_remove(watch_set *w, watch_owner *owner);

/** @name Directories for callers that keep knowledge of them (watch_folder.c) */
/** @{ */
typedef struct watch_dir watch_folder;

/**
 * The directory at @a path, absolute and without empty or dot segments, put under watch with all
 * above it. Knowledge about it from now on holds while watch_folder_is_current(), and about its
 * entries while watch_folder_changes() stays the same.
 * @return a reference; NULL with errno: ENOENT and ENOTDIR tell that there is no such directory, all else that it cannot be watched
 */
watch_folder *watch_folder_open(watch_set *w, const char *path, size_t len);
void watch_folder_close(watch_set *w, watch_folder *d);

/** 1 while its path, permissions, owner and attributes are the same, as far as watch_drain() has
 * read. */
int watch_folder_is_current(const watch_set *w, watch_folder *d);

/** 1: its path is a symbolic link. */
int watch_folder_is_link(const watch_folder *d);

/** Its path, and the last component of that; they live as long as the reference. */
const char *watch_folder_path(const watch_folder *d);
const char *watch_folder_name(const watch_folder *d);

/** Grows with each change of an entry: a new, removed or renamed one, or other attributes; not with
 * the content of files. */
uint32_t watch_folder_changes(const watch_folder *d);

/** Which names a folder holds, as hashes: 8 bytes or more for each. */
typedef struct watch_names watch_names;

/** Names that are kept of a folder at most. */
#define WATCH_NAMES_MOST 16384

/**
 * Read the names in the folder at @a path.
 * @return of malloc(); NULL: there are too many, or its file system may take other names for the same ones, or changes in it where no
 *         event tells. Threads: any. Blocking: reads the directory.
 */
watch_names *watch_names_read(const char *path);
void watch_names_free(watch_names *names);

/** Let @a d have the names, which it frees; the caller knows that watch_folder_changes() did not grow since they were read. Names that
 * come are added. */
void watch_folder_set_names(watch_set *w, watch_folder *d, watch_names *names);

/** 1: its names are known. */
int watch_folder_has_names(const watch_folder *d);

/** 1: nothing in it is called @a name. 0: that is not known. */
int watch_folder_lacks(const watch_folder *d, const char *name, size_t len);
/** @} */

/** Watches in use. */
unsigned watch_count(const watch_set *w);

/** Bytes of all that the owners' dependencies take, with an estimate of the kernel's part. */
size_t watch_bytes(const watch_set *w);

/** Bytes of @a owner's own share of that. */
size_t watch_owner_bytes(const watch_owner *owner);

/** Counts since the set was made. */
typedef struct watch_counts {
    uint64_t looks;    /**< how often the kernel was asked whether there is something */
    uint64_t events;   /**< read from inotify */
    uint64_t flushes;  /**< how often everything was dropped: events were lost */
    uint64_t mounts;   /**< changes of the mount table: paths elsewhere stay */
    uint64_t rechecks; /**< how often an owner looked at its dependencies */
} watch_counts;

const watch_counts *watch_counts_of(const watch_set *w);

#endif
