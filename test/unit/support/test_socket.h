/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_SOCKET_H
#define BRIGADE_TEST_SOCKET_H

/**
 * @file test_socket.h
 * sendmsg() and sendfile() under a test's control, and a thread that reads the other end. Include
 * in one file of a program, after cmocka.h.
 */
#include "conn.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- system calls under control ---- */

static struct {
    size_t most;      /* bytes that a call takes; 0 = no limit */
    int full_between; /* after each limited call, one answers that the socket is full */
    int is_full;
    int sendmsgs, sendfiles;
    int sendfile_errno;
} sys;

static int sys_refuses(void)
{
    if (sys.full_between && sys.is_full) {
        sys.is_full = 0;
        errno = EAGAIN;
        return 1;
    }
    sys.is_full = sys.most != 0;
    return 0;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    struct iovec cut[128];
    struct msghdr part = *msg;
    size_t left = sys.most, n = 0;

    sys.sendmsgs++;
    if (sys_refuses())
        return -1;
    if (sys.most) {
        for (; n < msg->msg_iovlen && left; n++) {
            cut[n] = msg->msg_iov[n];
            if (cut[n].iov_len > left)
                cut[n].iov_len = left;
            left -= cut[n].iov_len;
        }
        part.msg_iov = cut;
        part.msg_iovlen = n;
    }
    return syscall(SYS_sendmsg, fd, &part, flags);
}

ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
    sys.sendfiles++;
    if (sys.sendfile_errno) {
        errno = sys.sendfile_errno;
        return -1;
    }
    if (sys_refuses())
        return -1;
    return syscall(SYS_sendfile, out, in, offset, sys.most && count > sys.most ? sys.most : count);
}

/* ---- a reader at the other end ---- */

typedef struct reader {
    pthread_t thread;
    int fd;
    char *data;
    size_t n, cap;
} reader;

static void *reader_main(void *baton)
{
    reader *r = baton;
    ssize_t n;

    while (r->n < r->cap && (n = recv(r->fd, r->data + r->n, r->cap - r->n, 0)) > 0)
        r->n += (size_t)n;
    return NULL;
}

static void reader_start(reader *r, int fd, size_t cap)
{
    *r = (reader){.fd = fd, .cap = cap};
    r->data = malloc(cap);
    assert_int_equal(pthread_create(&r->thread, NULL, reader_main, r), 0);
}

/* Everything has to be there once the server's side is shut. */
static void reader_check(reader *r, const brg_conn *bc, const char *expect, size_t n)
{
    shutdown(bc->fd, SHUT_WR);
    pthread_join(r->thread, NULL);
    assert_int_equal(r->n, n);
    assert_memory_equal(r->data, expect, n);
    free(r->data);
}

#endif
