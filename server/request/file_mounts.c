/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which paths lie on file systems that another machine or a process serves. Such a file system may stop
 * to respond, and then even a file whose name the kernel has in memory cannot be opened: no loop may try.
 *
 * The list is read when a process starts, again when the kernel says that it changed (asked once a
 * second), and when a file turns up on a file system that is not in it. A list in use is never freed,
 * since loops read it without a lock; there are as many as there were new mounts.
 */
#include "program_thread.h"
#include "file_open_private.h"
#include "brigade/assert.h"
#include "brigade/files.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MOUNTS_LINE 8192
#define MOUNTS_MOST 4096
#define MOUNTS_LOOK_US APR_USEC_PER_SEC

typedef struct mounts_one {
    char *path; /* NULL: a local file system, of which the device alone counts */
    size_t len;
    dev_t dev;
} mounts_one;

typedef struct mounts_list {
    struct mounts_list *older; /* its predecessor, which loops may still read */
    size_t n, remote_n, room;
    mounts_one one[];
} mounts_list;

static _Atomic(mounts_list *) mounts;
static pthread_mutex_t mounts_lock = PTHREAD_MUTEX_INITIALIZER;

static int mounts_type_is_remote(const char *type)
{
    static const char *const types[] = {"nfs",  "nfs4",   "cifs",     "smb3",     "smbfs",  "9p",
                                        "afs",  "ceph",   "coda",     "ncpfs",    "lustre", "gfs2",
                                        "gpfs", "beegfs", "orangefs", "virtiofs", "autofs"};

    if (strncmp(type, "fuse", 4) == 0)
        return strcmp(type, "fusectl") != 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return 1;
    return 0;
}

/* "\040" and its kind, as the kernel writes white space and backslashes. */
static void mounts_unescape(char *s)
{
    char *to = s;

    for (; *s; s++) {
        if (s[0] == '\\' && s[1] && s[2] && s[3]) {
            *to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

/* Room for one more; NULL without memory: a mount that is not in the list counts as local. */
static mounts_list *mounts_grow(mounts_list *list)
{
    size_t room = list ? list->room * 2 : 32;
    mounts_list *grown;

    if (list && list->n < list->room)
        return list;
    if (room > MOUNTS_MOST || !(grown = realloc(list, sizeof *list + room * sizeof *list->one)))
        return NULL;
    if (!list)
        *grown = (mounts_list){0};
    grown->room = room;
    return grown;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw" (proc_pid_mountinfo(5)) */
static void mounts_take_line(mounts_list *list, char *line)
{
    unsigned major, minor;
    char path[4096], type[64];
    const char *rest = strstr(line, " - ");
    mounts_one one = {0};

    BRG_ASSERT(list->n < list->room);
    if (!rest || sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, path) != 3 ||
        sscanf(rest, " - %63s", type) != 1)
        return;
    one.dev = makedev(major, minor);
    if (mounts_type_is_remote(type)) {
        mounts_unescape(path);
        one.path = strdup(path);
        one.len = strlen(path);
        list->remote_n += one.path != NULL;
    }
    list->one[list->n++] = one;
}

/* Under the lock. */
static mounts_list *mounts_read(void)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    mounts_list *list = NULL, *grown;
    char line[MOUNTS_LINE];

    while (f && fgets(line, sizeof line, f) && (grown = mounts_grow(list)) != NULL)
        mounts_take_line(list = grown, line);
    if (f)
        fclose(f);
    return list;
}

static int mounts_knows(const mounts_list *list, dev_t dev)
{
    for (size_t i = 0; list && i < list->n; i++)
        if (list->one[i].dev == dev)
            return 1;
    return list && list->n >= MOUNTS_MOST / 2;
}

static int mounts_are_same(const mounts_list *a, const mounts_list *b)
{
    if (!a || a->n != b->n || a->remote_n != b->remote_n)
        return 0;
    for (size_t i = 0; i < a->n; i++) {
        const mounts_one *x = &a->one[i], *y = &b->one[i];

        if (x->dev != y->dev || !x->path != !y->path || (x->path && strcmp(x->path, y->path)))
            return 0;
    }
    return 1;
}

static void mounts_free(mounts_list *list)
{
    BRG_ASSERT(!list->older); /* never used: loops read the others */
    for (size_t i = 0; i < list->n; i++)
        free(list->one[i].path);
    free(list);
}

/* Under the lock. A reload that finds the same mounts keeps the list that there is. */
static void mounts_use(mounts_list *list)
{
    mounts_list *older = atomic_load_explicit(&mounts, memory_order_relaxed);

    if (!list)
        return;
    BRG_ASSERT(list != older && list->n <= list->room);
    if (mounts_are_same(older, list)) {
        mounts_free(list);
        return;
    }
    list->older = older;
    atomic_store_explicit(&mounts, list, memory_order_release);
}

void file_mounts_open(void)
{
    pthread_mutex_lock(&mounts_lock);
    mounts_use(mounts_read());
    pthread_mutex_unlock(&mounts_lock);
}

/* Some file systems give their files devices that are in no list of mounts: these are noted as they
 * are seen, so that each makes the list be read once. */
void file_mounts_seen(apr_dev_t dev)
{
    const mounts_list *known = atomic_load_explicit(&mounts, memory_order_acquire);
    mounts_list *list, *grown;

    if (!known || mounts_knows(known, dev) || pthread_mutex_trylock(&mounts_lock))
        return;
    list = mounts_read();
    if (list && !mounts_knows(list, dev) && (grown = mounts_grow(list)) != NULL) {
        list = grown;
        list->one[list->n++] = (mounts_one){.dev = dev};
    }
    mounts_use(list);
    pthread_mutex_unlock(&mounts_lock);
}

/* Under the lock. The kernel reports each change once per open file, so each process opens the file
 * itself. */
static void mounts_poll(void)
{
    static int fd = -1;
    struct pollfd p = {.events = POLLPRI};

    if (fd < 0) {
        fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        p.revents = POLLPRI;
    } else {
        p.fd = fd;
        poll(&p, 1, 0);
    }
    if (p.revents)
        mounts_use(mounts_read());
}

void file_mounts_turn(apr_time_t now)
{
    static PROGRAM_THREAD_LOCAL apr_time_t looked;

    if (now - looked < MOUNTS_LOOK_US || pthread_mutex_trylock(&mounts_lock))
        return;
    looked = now;
    mounts_poll();
    pthread_mutex_unlock(&mounts_lock);
}

void file_mounts_look(void)
{
    pthread_mutex_lock(&mounts_lock);
    mounts_poll();
    pthread_mutex_unlock(&mounts_lock);
}

int file_mounts_may_hang(const char *path)
{
    const mounts_list *list = atomic_load_explicit(&mounts, memory_order_acquire);

    BRG_ASSERT(path != NULL);
    if (!list || !list->remote_n)
        return 0;
    for (size_t i = 0; i < list->n; i++) {
        const mounts_one *one = &list->one[i];

        if (one->path && strncmp(path, one->path, one->len) == 0 &&
            (path[one->len] == '/' || !path[one->len] || one->len == 1))
            return 1;
    }
    return 0;
}

BRG_DECLARE(int) brg_folder_may_hang(const char *path)
{
    const mounts_list *list = atomic_load_explicit(&mounts, memory_order_acquire);
    size_t len = strlen(path);

    for (size_t i = 0; list && list->remote_n && i < list->n; i++)
        if (list->one[i].path && strncmp(list->one[i].path, path, len) == 0)
            return 1;
    return file_mounts_may_hang(path);
}
