/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors in a loop's poll set. */
#include "loop_io.h"
#include "loop.h"
#include "brigade/assert.h"
#include <errno.h>
#include <sys/epoll.h>

static int io_control(brg_loop *loop, int what, struct loop_io *io, int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = io};

    BRG_ASSERT(fd >= 0 && io->ready);
    return epoll_ctl(loop->poll.fd, what, fd, &e) ? errno : 0;
}

int loop_io_add(brg_loop *loop, struct loop_io *io, int fd, uint32_t events)
{
    return io_control(loop, EPOLL_CTL_ADD, io, fd, events);
}

int loop_io_change(brg_loop *loop, struct loop_io *io, int fd, uint32_t events)
{
    return io_control(loop, EPOLL_CTL_MOD, io, fd, events);
}

int loop_io_remove(brg_loop *loop, struct loop_io *io, int fd)
{
    for (int i = 0; i < loop->poll.events_n; i++)
        if (loop->poll.events[i].data.ptr == io)
            loop->poll.events[i].data.ptr = NULL;
    return io_control(loop, EPOLL_CTL_DEL, io, fd, 0);
}

void loop_io_run(brg_loop *loop, struct epoll_event *events, int n)
{
    loop->poll.events = events;
    loop->poll.events_n = n;
    for (int i = 0; i < n; i++) {
        struct loop_io *io = events[i].data.ptr;

        if (io)
            io->ready(io, events[i].events);
    }
    loop->poll.events_n = 0;
}
