/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_BACKEND_H
#define BRIGADE_TEST_BACKEND_H

/**
 * @file test_backend.h
 * A backend in a thread of a test, which answers with a given text and keeps what it was asked. Include after test_site.h.
 */
#include <pthread.h>
#include <stdatomic.h>

static struct {
    int listener, port;
    pthread_t thread;
    char asked[65536];
    const char *answer; /* NULL: close at once */
    const char *until;  /* what is read before, at least, behind the head */
    atomic_int connections;
} backend;

static inline size_t backend_read(int fd)
{
    const char *end = NULL;
    size_t n = 0;
    ssize_t got;

    while (!end || !strstr(end, backend.until)) {
        if ((got = recv(fd, backend.asked + n, sizeof backend.asked - 1 - n, 0)) <= 0)
            break;
        n += (size_t)got;
        backend.asked[n] = '\0';
        end = strstr(backend.asked, "\r\n\r\n");
    }
    return n;
}

static inline void *backend_main(void *unused)
{
    int fd;

    while ((fd = accept(backend.listener, NULL, NULL)) >= 0) {
        atomic_fetch_add(&backend.connections, 1);
        backend.asked[0] = '\0';
        if (backend.answer && backend_read(fd))
            send(fd, backend.answer, strlen(backend.answer), MSG_NOSIGNAL);
        close(fd);
    }
    return NULL;
}

static inline const char *ask(const char *answer, const char *request)
{
    backend.answer = answer;
    backend.until = "";
    return site_ask(request);
}

static inline const char *get(const char *answer, const char *path, const char *fields)
{
    backend.answer = answer;
    backend.until = "";
    return site_get(path, fields);
}

static inline void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static inline void lacks(const char *text, const char *part)
{
    if (ap_strcasestr(text, part))
        fail_msg("\"%s\" is in \"%s\"", part, text);
}

/** Before the configuration, which names backend.port. */
static inline void backend_up(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;

    backend.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(backend.listener, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(getsockname(backend.listener, (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(listen(backend.listener, 16), 0);
    backend.port = ntohs(addr.sin_port);
}

static inline void backend_begin(void)
{
    assert_int_equal(pthread_create(&backend.thread, NULL, backend_main, NULL), 0);
}

static inline void backend_end(void)
{
    shutdown(backend.listener, SHUT_RDWR);
    pthread_join(backend.thread, NULL);
    close(backend.listener);
}

#endif
