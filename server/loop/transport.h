/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_TRANSPORT_H
#define BRIGADE_LOOP_TRANSPORT_H

/**
 * @file transport.h
 * The layer below a connection's protocol: the bytes of its socket, or TLS or a
 * stream over them. The loop, the drivers of protocols and the core's output filter read and write
 * through these functions alone.
 *
 * A connection over a plain socket has no table: its calls are the system calls, behind one test of
 * a pointer.
 *
 * All functions return the same as the system call of that name, with its errno: EAGAIN when the
 * transport can take or give nothing now (the loop waits for the socket), EINTR to be called again.
 * None blocks. Threads: the owner of the connection.
 */
#include "conn.h"
#include "file_output.h"
#include "http_head.h"
#include "shared_ref.h"
#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

/** Where a layer puts the bytes that it made for the socket, while it is diverted. */
struct transport_sink {
    /** As writev() on the socket. Threads: the owner of the connection. Blocking: on workers, for room. */
    ssize_t (*take)(struct transport_sink *sink, const struct iovec *iov, int n);
};

/** A head or a trailer section of a stream, before its protocol has given it a form. */
typedef struct stream_fields {
    int status;    /**< 100 to 999; 0: trailers */
    int is_whole;  /**< with status: no body follows */
    int is_wanted; /**< a 103 that is sent whatever the session does with those of others */
    int n;
    /** names in any case, ids are not looked at; fields of one connection are left out */
    const http_field *field;
} stream_fields;

#define STREAM_FIELD_ADDED 40 /**< bytes of name and value */

struct conn_transport {
    const char *name; /**< for logs and figures */
    /** 1: the loop may call sendv() while a worker owns the connection and does not (loop_drain.h). */
    unsigned shared : 1;
    ssize_t (*recv)(brg_conn *bc, void *buf, size_t len);
    /** @param more  further bytes follow at once */
    ssize_t (*sendv)(brg_conn *bc, const struct iovec *iov, int n, int more);
    /**
     * Streams: a head or trailers in the form of the stream's protocol, for put(). NULL as a
     * function: the transport takes bytes alone. @return NULL: no memory. The caller releases a
     * head that it does not put. Threads: the owner of the connection.
     */
    shared_ref *(*encode)(brg_conn *bc, const stream_fields *fields);
    /**
     * Streams: a field more for a head that encode() made. @param f  of STREAM_FIELD_ADDED bytes at most; NULL: none
     * @return bytes that the head counts as. Threads: the owner of the connection.
     */
    size_t (*add)(brg_conn *bc, shared_ref *part, const http_field *f);
    /**
     * Streams: send the result of encode(), behind all earlier bytes. It is taken over, in case of
     * errors, too. Never EAGAIN.
     * @param part  of trailers: the response is complete, as it is with NULL; else a head
     * @return bytes that it counts as; -1 with errno
     */
    ssize_t (*put)(brg_conn *bc, shared_ref *part);
    /**
     * Streams: as sendv() with bytes of a file, of any length. @return as sendv(); 0: the file ended; EAGAIN with bc->cold:
     * the disk would have to be asked, and @a wait forbids it
     */
    ssize_t (*send_file)(brg_conn *bc, int fd, off_t off, size_t len, file_wait wait);
    /**
     * Streams: as sendv() of @a len bytes at @a data, which lie in @a base. @a base is taken over if all are taken, and is the
     * caller's if not. @param end  frees it, on any thread, however late
     */
    ssize_t (*give)(brg_conn *bc, void *base, void (*end)(void *), const char *data, size_t len);
    /** Streams: nothing follows the data that was put, sent with @a more, or given: it may leave.
     * Threads: the owner of the connection. */
    void (*sent)(brg_conn *bc);
    /**
     * Streams: the trailers behind the body, whose end recv() told: bytes come as they are, whether
     * their length is known or not.
     * @return valid as long as the stream; *@a n 0: nothing
     */
    const http_field *(*trailers)(brg_conn *bc, int *n);
    /** NULL: files are read and sent by sendv. */
    ssize_t (*sendfile)(brg_conn *bc, int fd, off_t *off, size_t len);
    /** No further byte is sent. 0 on success. */
    int (*shut)(brg_conn *bc);
    /** The connection ends; its socket is closed next. */
    void (*end)(brg_conn *bc);
    /** Wait until recv() or sendv() has something to do. NULL: for the socket. Threads: the worker
     * that owns bc. @return as conn_wait() */
    apr_status_t (*wait)(brg_conn *bc, int for_write, apr_interval_time_t timeout);
    /** From now on output for the socket goes to @a sink, in order, beginning with the layer's own
     * rest; NULL: to the socket again. NULL as a function: it cannot. Threads: the owner of the
     * connection. */
    void (*divert)(brg_conn *bc, struct transport_sink *sink);
    /** 1: nobody waits for the response any more. NULL: the socket tells. Threads: any, while bc waits for a worker or
     * a worker has it. */
    int (*is_unwanted)(const brg_conn *bc);
};

static inline int transport_is_plain(const brg_conn *bc)
{
    return __builtin_expect(bc->transport == NULL, 1);
}

/** 1 if the loop may send a worker's output while the worker has the connection. */
static inline int transport_loop_may_send(const brg_conn *bc)
{
    return transport_is_plain(bc) || bc->transport->shared;
}

static inline ssize_t transport_recv(brg_conn *bc, void *buf, size_t len)
{
    return transport_is_plain(bc) ? recv(bc->fd, buf, len, 0) : bc->transport->recv(bc, buf, len);
}

static inline ssize_t transport_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    if (!transport_is_plain(bc))
        return bc->transport->sendv(bc, iov, n, more);
    if (more) {
        struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};

        return sendmsg(bc->fd, &msg, MSG_NOSIGNAL | MSG_MORE);
    }
    if (n == 1) /* 304, HEAD: a twentieth less in the kernel than writev() */
        return send(bc->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL);
    return writev(bc->fd, iov, n);
}

/** 1: nobody waits for a response on bc any more, whatever its socket tells. */
static inline int transport_is_unwanted(const brg_conn *bc)
{
    return !transport_is_plain(bc) && bc->transport->is_unwanted && bc->transport->is_unwanted(bc);
}

/** 1 if it is a stream's: responses leave as parts and data, and bodies of requests come as bytes, without HTTP/1's framing. */
static inline int transport_takes_parts(const brg_conn *bc)
{
    return !transport_is_plain(bc) && bc->transport->encode != NULL;
}

/** 1 if files may leave by transport_sendfile(). */
static inline int transport_sends_files(const brg_conn *bc)
{
    return transport_is_plain(bc) || bc->transport->sendfile != NULL;
}

static inline ssize_t transport_sendfile(brg_conn *bc, int fd, off_t *off, size_t len)
{
    return transport_is_plain(bc) ? sendfile(bc->fd, fd, off, len)
                                  : bc->transport->sendfile(bc, fd, off, len);
}

static inline int transport_shut(brg_conn *bc)
{
    return transport_is_plain(bc) ? shutdown(bc->fd, SHUT_WR) : bc->transport->shut(bc);
}

/** 1 if there is a layer over the socket whose bytes may be diverted. */
static inline int transport_diverts(const brg_conn *bc)
{
    return !transport_is_plain(bc) && bc->transport->divert != NULL;
}

/** 1 if a worker's output may wait on disk. */
static inline int transport_takes_spool(const brg_conn *bc)
{
    return transport_loop_may_send(bc) || transport_diverts(bc);
}

static inline void transport_divert(brg_conn *bc, struct transport_sink *sink)
{
    if (transport_diverts(bc))
        bc->transport->divert(bc, sink);
}

static inline void transport_end(brg_conn *bc)
{
    if (!transport_is_plain(bc) && bc->transport->end)
        bc->transport->end(bc);
}

/**
 * Wait until a socket can be read from or written to.
 * @param timeout  microseconds; negative = for ever
 * @return APR_SUCCESS, APR_TIMEUP, or an error. Threads: any but an event loop. Blocks.
 */
apr_status_t socket_wait(int fd, int for_write, apr_interval_time_t timeout);

/**
 * The same for bc's socket, on the worker that owns bc. While requests wait for a worker, a client
 * that neither sends nor takes anything for WorkerStallTimeout has no longer: APR_TIMEUP.
 */
apr_status_t conn_wait(brg_conn *bc, int for_write, apr_interval_time_t timeout);

#endif
