/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of a request that goes the full way, and nothing else: what a server can come close to, hardly below.
 * One thread; nothing is parsed, a request is what one recv() brings. For test/bench/full_way.py.
 *
 *   full_way_floor PORT FILE */
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EVENTS 64

static const char head[] = "HTTP/1.1 200 OK\r\nDate: Sun, 09 Sep 2001 01:46:40 GMT\r\nServer: floor\r\n"
                           "Last-Modified: Sun, 09 Sep 2001 01:46:40 GMT\r\nETag: \"2800-0\"\r\nAccept-Ranges: bytes\r\n"
                           "Content-Length: 10240\r\nContent-Type: text/plain\r\n\r\n";
static char body[10240];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void watch(int set, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &e))
        fail("epoll_ctl");
}

static void take(int set, int listener)
{
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    watch(set, fd);
}

static void answer(int fd, const char *name)
{
    static char in[4096];
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    struct iovec parts[2] = {{(void *)head, sizeof head - 1}, {body, sizeof body}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct stat st;
    int file;

    if (recv(fd, in, sizeof in, 0) <= 0) {
        close(fd);
        return;
    }
    file = (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how);
    if (file < 0 || fstat(file, &st) || preadv2(file, parts + 1, 1, 0, RWF_NOWAIT) != sizeof body)
        fail(name);
    if (sendmsg(fd, &message, MSG_NOSIGNAL) != (ssize_t)(sizeof head - 1 + sizeof body))
        fail("sendmsg");
    close(file);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event events[EVENTS];
    int set = epoll_create1(0), listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    if (argc != 3)
        return 2;
    address.sin_port = htons((unsigned short)atoi(argv[1]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024))
        fail("listen");
    watch(set, listener);
    for (;;) {
        int n = epoll_wait(set, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener)
                take(set, listener);
            else
                answer(events[i].data.fd, argv[2]);
        }
    }
}
