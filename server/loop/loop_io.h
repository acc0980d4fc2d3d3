/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_LOOP_IO_H
#define BRIGADE_LOOP_LOOP_IO_H

/**
 * @file loop_io.h
 * A descriptor in the poll set of an event loop, and the function that its events go to. Clients' connections, listening
 * sockets, the loop's wake-up and its orders are such, and so is whatever else a loop waits for: a backend, a timer
 * descriptor, a pipe. Deadlines are in timer_wheel.h.
 *
 * Ownership: the caller's, embedded in its own object (loop_io_of()). After loop_io_remove() no event comes any more,
 * also none that the kernel told already in this turn; so the object may be freed at once.
 *
 * Threads: the loop's own. Blocking: no.
 */
#include <stddef.h>
#include <stdint.h>

struct brg_loop;
struct loop_io;

/** @param events  EPOLLIN, EPOLLOUT and the others of epoll_ctl(2) that came */
typedef void loop_io_fn(struct loop_io *io, uint32_t events);

struct loop_io {
    loop_io_fn *ready; /**< set by the owner before loop_io_add() */
};

/** The object of @a type whose @a member an io is. */
#define loop_io_of(io, type, member) ((type *)(void *)((char *)(io)-offsetof(type, member)))

/**
 * Put @a fd into the poll set.
 * @param events  as of epoll_ctl(2); with EPOLLET each change is told once
 * @return 0, or the errno of epoll_ctl(2)
 */
int loop_io_add(struct brg_loop *loop, struct loop_io *io, int fd, uint32_t events);

/** Wait for other events. @return 0, or the errno of epoll_ctl(2) */
int loop_io_change(struct brg_loop *loop, struct loop_io *io, int fd, uint32_t events);

/**
 * Take @a fd out, as must be done before it is closed: while a child process that was just forked has the descriptor,
 * too, closing alone does not.
 * @return 0, or the errno of epoll_ctl(2)
 */
int loop_io_remove(struct brg_loop *loop, struct loop_io *io, int fd);

#endif
