/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_SITE_H
#define BRIGADE_TEST_SITE_H

/**
 * @file test_site.h
 * A site in the process of a test: a configuration, files, one loop with its workers and its cache, and a client over loopback
 * TCP for each request. Include after cmocka.h; site_up() once per program.
 */
#include <poll.h>

#include "test_loop.h"
#include "test_server.h"
#include "h1_conn.h"
#include "http_protocol.h"
#include "thread_self.h"
#include "vhosts.h"

static brg_listener site_listener;
static brg_listener *site_listeners[] = {&site_listener, NULL};
static brg_listener **site_of_loops[] = {site_listeners};
static const loop_services site_services = {
    .driver = &h1_driver, .accepted = vhost_of_connection, TEST_LOOP_SERVICES};
static loops_config site_config = {TEST_LOOP_CONFIG(&site_services, site_of_loops), .n_workers = 2,
                                   .queue_most = 4, .max_connections = 16};
static brg_loop *site_loop;
static apr_pool_t *site_pool;
static char site_seen[1 << 20];
static size_t site_seen_n; /* bytes of the last answer: a body may hold NUL */

/** Write a file of the site. */
static inline void site_file(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", test_dir, name);
    assert_non_null(f = fopen(path, "w"));
    fputs(text, f);
    fclose(f);
}

/** Before the first request, with all files and hooks there. */
static inline void site_up(const char *directives)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    test_server_up(directives);
    assert_int_equal(conf_generation_open(test_process, CONF_DEPTH_TRIAL), APR_SUCCESS);
    connection_child_init(0);
    site_listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(site_listener.fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(site_listener.fd, 16), 0);
    assert_int_equal(apr_sockaddr_info_get(&site_listener.addr, "127.0.0.1", APR_INET, 1, 0,
                                           test_process->pconf),
                     APR_SUCCESS);
    site_listener.tcp = 1;
    site_config.server = ap_server_conf;
}

/** Fixtures of a test. */
static inline int site_begin(void **state)
{
    apr_pool_create(&site_pool, NULL);
    assert_int_equal(loop_create(&site_loop, site_pool, &site_config, 0), APR_SUCCESS);
    loop_begin(site_loop);
    return 0;
}

static inline int site_end(void **state)
{
    worker_pool_stop(site_loop->workers);
    while (!worker_pool_ended(site_loop->workers))
        usleep(1000);
    thread_self_end();
    loop_free(site_loop);
    apr_pool_destroy(site_pool);
    return 0;
}

#define SITE_TEST(test) cmocka_unit_test_setup_teardown(test, site_begin, site_end)

static inline void site_turn(void)
{
    loop_wake(site_loop);
    loop_turn(site_loop);
}

/** All that comes for a request, which has to close its connection. */
static inline const char *site_ask(const char *text)
{
    struct sockaddr_in addr;
    socklen_t len = sizeof addr;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t n = 0;
    ssize_t got = -1;

    assert_int_equal(getsockname(site_listener.fd, (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    for (int tries = 0; got && tries < 20000; tries++) { /* of a millisecond: cores may be busy */
        site_turn();
        if (poll(&p, 1, 1) == 1 && (got = recv(fd, site_seen + n, sizeof site_seen - 1 - n, 0)) > 0)
            n += (size_t)got;
    }
    assert_int_equal(got, 0);
    close(fd);
    site_turn();
    site_seen[n] = '\0';
    site_seen_n = n;
    return site_seen;
}

/** The answer to GET, with @a fields, each with its line end. */
static inline const char *site_get(const char *path, const char *fields)
{
    char text[2048];

    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n",
             path, fields);
    return site_ask(text);
}

/** The content of such an answer, without chunks. */
static inline const char *site_body(const char *path, const char *fields)
{
    char text[2048];
    const char *body;

    snprintf(text, sizeof text, "GET %s HTTP/1.0\r\nHost: localhost\r\n%s\r\n", path, fields);
    body = strstr(site_ask(text), "\r\n\r\n");
    return body ? body + 4 : "";
}

#endif
