/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend and the clients of first_byte.py, in one process, so that one clock measures both. The backend answers one target: it
 * waits until all clients have asked and the server had a moment to read that, sends the head with the first bytes of the body, and
 * the rest. Each client is a connection; the time of its first byte is that at which a read of it came back.
 *
 *     first_byte_load SERVER_PORT BACKEND_PORT CLIENTS BYTES TARGET [first]
 *
 * first: clients leave when all have their first byte.
 * Prints: requests to the backend, clients that got all of the body, microseconds from the backend's first byte to the first byte of
 * a client (least, median, 99th, worst), and to the last byte of all.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PIECE 65536
#define GATHER_MS 300

typedef struct client {
    int fd;
    int64_t first; /* nanoseconds; 0: none */
    uint64_t got;
    int over;
} client;

static atomic_int asked; /* all clients have sent their requests */
static atomic_int fetches;
static _Atomic int64_t begun; /* the backend's first byte */
static uint64_t body_bytes;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void sleep_ms(int ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000l};

    nanosleep(&t, NULL);
}

static int send_all(int fd, const char *p, size_t n)
{
    while (n) {
        const ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return -1;
        p += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* Each request is answered alike; the first one to be answered says when. */
static void *backend_serves(void *arg)
{
    static char body[PIECE];
    char head[512], request[4096];
    const int fd = (int)(intptr_t)arg, one = 1;
    size_t have = 0;
    int64_t none = 0;
    int n;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (;;) {
        const ssize_t got = recv(fd, request + have, sizeof request - 1 - have, 0);

        if (got <= 0)
            break;
        have += (size_t)got;
        request[have] = '\0';
        if (!strstr(request, "\r\n\r\n"))
            continue;
        have = 0;
        atomic_fetch_add(&fetches, 1);
        while (!atomic_load(&asked))
            sleep_ms(1);
        sleep_ms(GATHER_MS);
        n = snprintf(head, sizeof head,
                     "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCache-Control: "
                     "max-age=600\r\n"
                     "Content-Length: %llu\r\n\r\n",
                     (unsigned long long)body_bytes);
        memcpy(body, head, (size_t)n);
        atomic_compare_exchange_strong(&begun, &none, now_ns());
        if (send_all(fd, body, (size_t)n + 16384 - 512))
            break;
        for (uint64_t left = body_bytes - (16384 - 512); left;) {
            const size_t piece = left < PIECE ? (size_t)left : PIECE;

            if (send_all(fd, body, piece))
                break;
            left -= piece;
        }
    }
    close(fd);
    return NULL;
}

static void *backend_accepts(void *arg)
{
    const int listener = (int)(intptr_t)arg;

    for (;;) {
        const int fd = accept(listener, NULL, NULL);
        pthread_t thread;

        if (fd >= 0 && !pthread_create(&thread, NULL, backend_serves, (void *)(intptr_t)fd))
            pthread_detach(thread);
    }
    return NULL;
}

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void backend_start(int port)
{
    const struct sockaddr_in at = local(port);
    const int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    pthread_t thread;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) || listen(fd, 4096) ||
        pthread_create(&thread, NULL, backend_accepts, (void *)(intptr_t)fd))
        die("backend");
}

static void client_read(client *c, char *room, size_t n)
{
    const ssize_t got = recv(c->fd, room, n, MSG_DONTWAIT);

    if (got < 0 && errno == EAGAIN)
        return;
    if (got > 0 && !c->first)
        c->first = now_ns();
    c->got += got > 0 ? (uint64_t)got : 0;
    c->over = got <= 0;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static char room[PIECE], request[512];
    struct rlimit files = {65536, 65536};
    struct epoll_event events[1024];
    client *clients;
    int64_t *first, last = 0, until;
    int n, whole = 0, open, epoll = epoll_create1(0), with = 0, begins = 0;

    if (argc < 6) {
        fprintf(stderr, "first_byte_load SERVER_PORT BACKEND_PORT CLIENTS BYTES TARGET [first]\n");
        return 2;
    }
    n = atoi(argv[3]);
    body_bytes = strtoull(argv[4], NULL, 10);
    setrlimit(RLIMIT_NOFILE, &files);
    clients = calloc((size_t)n, sizeof *clients);
    first = calloc((size_t)n, sizeof *first);
    backend_start(atoi(argv[2]));
    for (int i = 0; i < n; i++) {
        const struct sockaddr_in at = local(atoi(argv[1]));
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};

        clients[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(clients[i].fd, (const struct sockaddr *)&at, sizeof at))
            die("connect");
        epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &event);
    }
    const int len =
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", argv[5]);
    for (int i = 0; i < n; i++)
        if (send(clients[i].fd, request, (size_t)len, 0) != len)
            die("send");
    atomic_store(&asked, 1);
    until = now_ns() + 120ll * 1000000000;
    for (open = n; open && now_ns() < until && (argc < 7 || begins < n);) {
        const int ready = epoll_wait(epoll, events, 1024, 1000);

        /* First bytes of all before the rest of some: a long read would count as the server's time. */
        for (int i = 0; i < ready; i++)
            if (!clients[events[i].data.u32].first) {
                client_read(clients + events[i].data.u32, room, 1);
                begins += clients[events[i].data.u32].first != 0;
                if (argc > 6)
                    epoll_ctl(epoll, EPOLL_CTL_DEL, clients[events[i].data.u32].fd, NULL);
            }
        for (int i = 0; i < ready && argc < 7; i++) {
            client *c = clients + events[i].data.u32;

            client_read(c, room, PIECE);
            if (!c->over)
                continue;
            epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
            close(c->fd);
            last = now_ns();
            open--;
        }
    }
    for (int i = 0; i < n; i++) {
        whole += clients[i].got >= body_bytes;
        if (clients[i].first)
            first[with++] = (clients[i].first - begun) / 1000;
    }
    qsort(first, (size_t)with, sizeof *first, by_value);
    if (!with)
        return 1;
    printf("%d %d %lld %lld %lld %lld %lld\n", atomic_load(&fetches), whole, (long long)first[0],
           (long long)first[with / 2], (long long)first[(size_t)with * 99 / 100],
           (long long)first[with - 1], (long long)(argc > 6 ? 0 : (last - begun) / 1000));
    return 0;
}
