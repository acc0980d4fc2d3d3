/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories for callers that keep knowledge of them, and the names in them.
 *
 * Names are kept as hashes in a table that only grows: two names of one hash, and names that went,
 * let a name be looked for in vain. A name that is there is never missed.
 */
#include "watch_private.h"
#include "brigade/assert.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NAMES_ROOM 64 /* tags of a table, at least */
#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

struct watch_names {
    uint32_t n, mask; /* of the tags: half of them are free */
    uint32_t tag[];   /* 0: free */
};

/* ---- a set of names ---- */

static size_t names_bytes(const watch_names *names)
{
    return watch_block(sizeof *names + ((size_t)names->mask + 1) * sizeof(*names->tag));
}

static watch_names *names_create(uint32_t n)
{
    uint32_t room = NAMES_ROOM;
    watch_names *names;

    while (room < n * 2)
        room *= 2;
    BRG_ASSERT(!(room & (room - 1)));
    names = calloc(1, sizeof *names + room * sizeof(*names->tag));
    if (names)
        names->mask = room - 1;
    return names;
}

static uint32_t names_tag(const char *name, size_t len)
{
    return (uint32_t)(keyed_hash_of(1, name, len) >> 32) | 1;
}

/* @return its place, or the free one where it would be */
static uint32_t *names_place(watch_names *names, uint32_t tag)
{
    uint32_t at = tag >> 1 & names->mask;

    BRG_ASSERT_DEBUG(tag && names->n <= names->mask);
    while (names->tag[at] && names->tag[at] != tag)
        at = (at + 1) & names->mask;
    return &names->tag[at];
}

/* @return -1: it is full */
static int names_add(watch_names *names, const char *name)
{
    uint32_t tag = names_tag(name, strlen(name)), *place = names_place(names, tag);

    if (*place)
        return 0;
    if (names->n * 2 > names->mask)
        return -1;
    *place = tag;
    names->n++;
    return 0;
}

/* @return one with more room, instead of names; NULL: no memory, or they are too many */
static watch_names *names_grown(watch_names *names)
{
    watch_names *grown = names->n < WATCH_NAMES_MOST ? names_create(names->n * 2) : NULL;

    for (uint32_t i = 0; grown && i <= names->mask; i++)
        if (names->tag[i]) {
            *names_place(grown, names->tag[i]) = names->tag[i];
            grown->n++;
        }
    BRG_ASSERT(!grown || grown->n == names->n);
    if (grown)
        free(names);
    return grown;
}

void watch_names_free(watch_names *names)
{
    free(names);
}

/* ---- reading a folder ---- */

/* File systems that know a file by the name it was given, and by no other. */
static int names_are_exact(int fd)
{
    static const uint32_t exact[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994, 0x858458f6,
                                     0xf2f52010, 0xca451a4e, 0x73717368, 0xe0f5e1e2};
    struct statfs fs;
    int flags = 0;

    if (fstatfs(fd, &fs))
        return 0;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if ((uint32_t)fs.f_type == exact[i])
            return ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0 || !(flags & FS_CASEFOLD_FL);
    return 0;
}

/* Is a file found by a name in the other case, which is not listed? */
static int names_fold_case(int fd, watch_names *names, const char *name)
{
    char other[NAME_MAX + 1];
    size_t len = strlen(name), i = 0;
    struct stat is;

    if (len > NAME_MAX)
        return 0;
    memcpy(other, name, len + 1);
    while (other[i] && !((other[i] | 0x20) >= 'a' && (other[i] | 0x20) <= 'z'))
        i++;
    if (!other[i])
        return 0;
    other[i] ^= 0x20;
    return !*names_place(names, names_tag(other, len)) &&
           fstatat(fd, other, &is, AT_SYMLINK_NOFOLLOW) == 0;
}

/* @return 0; -1: too many, or the read failed. @param last  [out] one of the names */
static int names_collect(DIR *dir, watch_names **names, char *last)
{
    const struct dirent *entry;

    errno = 0;
    while ((entry = readdir(dir)) != NULL) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        memcpy(last, entry->d_name, strlen(entry->d_name) + 1);
        while (names_add(*names, entry->d_name)) {
            watch_names *grown = names_grown(*names);

            if (!grown)
                return -1;
            *names = grown;
        }
        errno = 0;
    }
    return errno ? -1 : 0;
}

watch_names *watch_names_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    watch_names *names = NULL;
    char last[NAME_MAX + 1] = "";
    DIR *dir;

    if (fd < 0)
        return NULL;
    if (!(dir = fdopendir(fd))) {
        close(fd);
        return NULL;
    }
    if (names_are_exact(fd) && (names = names_create(0)) &&
        (names_collect(dir, &names, last) || names_fold_case(fd, names, last))) {
        free(names);
        names = NULL;
    }
    closedir(dir);
    return names;
}

/* ---- of a directory under watch ---- */

watch_folder *watch_folder_open(watch_set *w, const char *path, size_t len)
{
    return watch_dir_get(w, path, len, 0);
}

void watch_folder_close(watch_set *w, watch_folder *d)
{
    watch_dir_put(w, d);
}

int watch_folder_is_current(const watch_set *w, watch_folder *d)
{
    return watch_dir_is_alive(w, d);
}

int watch_folder_is_link(const watch_folder *d)
{
    return d->target != NULL;
}

const char *watch_folder_path(const watch_folder *d)
{
    return d->path;
}

const char *watch_folder_name(const watch_folder *d)
{
    BRG_ASSERT(*d->path == '/');
    return strrchr(d->path, '/') + 1;
}

uint32_t watch_folder_changes(const watch_folder *d)
{
    return d->changes;
}

void watch_names_drop(watch_set *w, watch_dir *d)
{
    if (!d->names)
        return;
    BRG_ASSERT(w->bytes >= names_bytes(d->names));
    w->bytes -= names_bytes(d->names);
    free(d->names);
    d->names = NULL;
}

void watch_names_event(watch_set *w, watch_dir *d, const char *name, uint32_t mask)
{
    d->changes++;
    if (d->names && (mask & (IN_CREATE | IN_MOVED_TO)) && names_add(d->names, name))
        watch_names_drop(w, d);
}

void watch_folder_set_names(watch_set *w, watch_folder *d, watch_names *names)
{
    BRG_ASSERT(names != NULL);
    watch_names_drop(w, d);
    d->names = names;
    w->bytes += names_bytes(names);
}

int watch_folder_has_names(const watch_folder *d)
{
    return d->names != NULL;
}

int watch_folder_lacks(const watch_folder *d, const char *name, size_t len)
{
    return d->names && !*names_place(d->names, names_tag(name, len));
}
