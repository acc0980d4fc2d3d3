/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether anything happened, without a system call: io_uring polls the set's epoll descriptor for the loop's thread, once.
 *
 * Why that is not too late. A change wakes pollers before the call that made it returns: there the
 * poll becomes work of the loop's thread, which the kernel does whenever that thread returns to
 * user space. So when the thread returns from the recv() that brought a request sent after the
 * change, the ring in memory tells of the change. Readiness that the thread itself found out before
 * recv() would prove nothing.
 *
 * The poll is not renewed before its set is read: a folder in which files change all the time wakes a loop once.
 */
#include "watch_private.h"
#include <linux/io_uring.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_ENTRIES 1

struct watch_ring {
    int fd, armed;
    void *map; /* both queues */
    size_t map_size;
    struct io_uring_sqe *sqe;
    _Atomic(unsigned) *sq_tail, *cq_head, *cq_tail;
    unsigned *sq_array, sq_mask;
};

static void ring_close(watch_ring *r)
{
    if (r->sqe)
        munmap(r->sqe, RING_ENTRIES * sizeof *r->sqe);
    if (r->map)
        munmap(r->map, r->map_size);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}

static void *ring_map(const watch_ring *r, size_t size, off_t what)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, what);

    return at == MAP_FAILED ? NULL : at;
}

static int ring_map_all(watch_ring *r, const struct io_uring_params *p)
{
    const size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
    const size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
    char *map;

    r->map_size = sq > cq ? sq : cq;
    r->map = map = ring_map(r, r->map_size, IORING_OFF_SQ_RING);
    r->sqe = ring_map(r, RING_ENTRIES * sizeof *r->sqe, (off_t)IORING_OFF_SQES);
    if (!map || !r->sqe)
        return -1;
    r->sq_tail = (void *)(map + p->sq_off.tail);
    r->cq_head = (void *)(map + p->cq_off.head);
    r->cq_tail = (void *)(map + p->cq_off.tail);
    r->sq_array = (void *)(map + p->sq_off.array);
    r->sq_mask = p->sq_entries - 1;
    return 0;
}

/* Without COOP_TASKRUN the thread would be interrupted where it computes, and no sooner know. A kernel that knows it has both queues
 * in one map. */
void watch_ring_open(watch_set *w)
{
    struct io_uring_params p = {.flags = IORING_SETUP_COOP_TASKRUN};
    watch_ring *r;

    BRG_ASSERT(!w->ring && w->ready >= 0);
    if (!(r = calloc(1, sizeof *r)))
        return;
    r->fd = (int)syscall(__NR_io_uring_setup, RING_ENTRIES, &p);
    if (r->fd < 0 || ring_map_all(r, &p))
        ring_close(r);
    else
        w->ring = r;
}

void watch_ring_close(watch_set *w)
{
    if (w->ring)
        ring_close(w->ring);
    w->ring = NULL;
}

int watch_ring_silent(const watch_set *w)
{
    const watch_ring *r = w->ring;

    return r && r->armed &&
           atomic_load_explicit(r->cq_tail, memory_order_acquire) ==
               atomic_load_explicit(r->cq_head, memory_order_relaxed);
}

void watch_ring_arm(watch_set *w)
{
    watch_ring *r = w->ring;
    unsigned tail, head;

    if (!r)
        return;
    head = atomic_load_explicit(r->cq_head, memory_order_relaxed);
    if (r->armed && head == atomic_load_explicit(r->cq_tail, memory_order_acquire))
        return;
    if (r->armed) /* of the poll that has ended: there is one at a time */
        atomic_store_explicit(r->cq_head, head + 1, memory_order_release);
    tail = atomic_load_explicit(r->sq_tail, memory_order_relaxed);
    *r->sqe = (struct io_uring_sqe){
        .opcode = IORING_OP_POLL_ADD, .fd = w->ready, .poll32_events = POLLIN};
    r->sq_array[tail & r->sq_mask] = 0;
    atomic_store_explicit(r->sq_tail, tail + 1, memory_order_release);
    r->armed = 1;
    if (syscall(__NR_io_uring_enter, r->fd, 1, 0, 0, NULL, 0) != 1)
        watch_ring_close(w);
}
