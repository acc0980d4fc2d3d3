/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of inotify watches, and the effect of events on them.
 *
 * A mount hides files without an event for them, and may come or go anywhere. So the kernel's list
 * of mounts is in the same poll set as the inotify instance. After a change of it each directory
 * and each entry is compared with where its path leads now (watch_place_of()), when it is asked
 * for; where the kernel does not tell that, everything that was watched so far is invalid, as after
 * the loss of events: the epoch moves on.
 */
#include "watch_private.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WATCH_BUCKETS_LEAST 256
#define WATCH_BUCKETS_MOST (1u << 20)

static int set_open(watch_set *w)
{
    struct epoll_event events = {.events = EPOLLIN, .data.fd = 0};
    struct epoll_event mounts = {.events = EPOLLPRI, .data.fd = 1};

    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    w->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    w->ready = epoll_create1(EPOLL_CLOEXEC);
    if (w->fd < 0 || w->mounts < 0 || w->ready < 0 ||
        epoll_ctl(w->ready, EPOLL_CTL_ADD, w->fd, &events) ||
        epoll_ctl(w->ready, EPOLL_CTL_ADD, w->mounts, &mounts))
        return -1;
    return 0;
}

static int set_tables(watch_set *w, size_t expected)
{
    size_t n = WATCH_BUCKETS_LEAST;

    while (n < expected && n < WATCH_BUCKETS_MOST)
        n *= 2;
    w->mask = (uint32_t)n - 1;
    w->inodes = calloc(n, sizeof(*w->inodes));
    w->dirs = calloc(n, sizeof(*w->dirs));
    w->entries = calloc(n, sizeof(*w->entries));
    return w->inodes && w->dirs && w->entries ? 0 : -1;
}

watch_set *watch_set_create(size_t expected)
{
    watch_set *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    keyed_hash_seed();
    w->fd = w->mounts = w->ready = -1;
    w->generation = w->epoch = w->seen = 1;
    w->has_places = watch_place_of("/", 1) > WATCH_NO_PLACE;
    if (set_tables(w, expected) || set_open(w)) {
        watch_set_destroy(w);
        return NULL;
    }
    return w;
}

void watch_set_forget(watch_set *w)
{
    watch_ring_close(w);
    if (w->ready >= 0)
        close(w->ready);
    if (w->mounts >= 0)
        close(w->mounts);
    if (w->fd >= 0)
        close(w->fd);
    free(w->inodes);
    free(w->dirs);
    free(w->entries);
    free(w);
}

void watch_set_destroy(watch_set *w)
{
    BRG_ASSERT(w->count == 0 && w->bytes == 0);
    watch_set_forget(w);
}

int watch_fd(const watch_set *w)
{
    return w->ready;
}

unsigned watch_count(const watch_set *w)
{
    return w->count;
}

size_t watch_bytes(const watch_set *w)
{
    return w->bytes;
}

uint64_t watch_seen(const watch_set *w)
{
    return w->seen;
}

const watch_counts *watch_counts_of(const watch_set *w)
{
    return &w->counts;
}

/* ---- events ---- */

/* Nothing that was found out before now counts any more. */
static void set_flush(watch_set *w)
{
    w->epoch++;
    w->generation++;
    w->seen++;
    w->counts.flushes++;
}

static void set_mounted(watch_set *w)
{
    if (!w->has_places) {
        set_flush(w);
        return;
    }
    w->mounted++;
    w->generation++;
    w->seen++;
    w->counts.mounts++;
}

/* Directories below find out by themselves, when they are asked. */
static void dir_kill(watch_set *w, watch_dir *d)
{
    BRG_ASSERT(d->refs > 0);
    if (d->dead)
        return;
    d->dead = 1;
    w->generation++;
}

static void entry_changed(watch_set *w, watch_dir *d, const char *name, uint32_t mask)
{
    watch_dir *below;

    watch_names_event(w, d, name, mask);
    watch_node_change(w, d->any);
    watch_node_change(w, watch_entry_find(w, d, name, strlen(name)));
    if ((below = watch_dir_below(w, d, name)) != NULL)
        dir_kill(w, below);
}

static void watch_event(watch_set *w, const struct inotify_event *e)
{
    watch_inode *x;

    w->seen++;
    w->counts.events++;
    if (e->mask & IN_Q_OVERFLOW) {
        set_flush(w);
        return;
    }
    if (!(x = watch_inode_find(w, e->wd)))
        return; /* of a watch that was removed */
    BRG_ASSERT(x->refs > 0);
    if (!e->len)
        watch_node_change(w, x->node);
    for (watch_dir *d = x->dirs; d; d = d->next_of_inode)
        if (!e->len)
            dir_kill(w, d);
        else if (!d->dead)
            entry_changed(w, d, e->name, e->mask);
}

static void drain_events(watch_set *w)
{
    char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;

    while ((n = read(w->fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        for (char *p = buf; p < buf + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)p;

            watch_event(w, e);
            p += sizeof *e + e->len;
        }
        if ((size_t)n < sizeof buf / 2)
            return; /* all that there was */
    }
    if (n < 0 && errno != EAGAIN)
        set_flush(w);
}

void watch_drain(watch_set *w)
{
    struct epoll_event ready[2];
    int n;

    if (watch_ring_silent(w))
        return;
    w->counts.looks++;
    do
        n = epoll_wait(w->ready, ready, 2, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        set_flush(w);
    for (int i = 0; i < n; i++)
        if (ready[i].data.fd == 1)
            set_mounted(w);
        else
            drain_events(w);
    watch_ring_arm(w);
}
