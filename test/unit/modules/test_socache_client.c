/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of memcached and Redis: each byte in a packet of its own, cut after each byte, and lines that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "test_pool.h"
#include "apr_strings.h"
#include "socache_client.h"

/* A server for one connection, which sends bytes one by one and closes. */
typedef struct peer {
    int listener;
    const char *reply;
    size_t n;
    pthread_t thread;
} peer;

static void *peer_runs(void *baton)
{
    const peer *p = baton;
    const int fd = accept(p->listener, NULL, NULL), one = 1;
    char asked[256];

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (recv(fd, asked, sizeof asked, 0) > 0)
        for (size_t i = 0; i < p->n; i++)
            if (send(fd, p->reply + i, 1, MSG_NOSIGNAL) != 1)
                break;
    close(fd);
    return NULL;
}

static apr_status_t talk(socache_conn *c, const char *key, void *baton)
{
    const struct iovec asks = {(void *)(uintptr_t) "get x\r\n", 7};
    char line[SOCACHE_LINE_MOST];
    unsigned char value[8];
    apr_status_t rv = socache_send(c, &asks, 1);
    apr_int64_t n;

    (void)key;
    if (rv == APR_SUCCESS)
        rv = socache_line(c, line);
    if (rv != APR_SUCCESS)
        return rv;
    n = socache_redis_value(line);
    if (n < 0)
        return n == -1 ? APR_NOTFOUND : APR_EGENERAL;
    rv = socache_value(c, value, sizeof value, (apr_size_t)n);
    if (rv == APR_SUCCESS)
        *(char **)baton = apr_pstrmemdup(test_pool, (char *)value, (apr_size_t)n);
    return rv;
}

static apr_status_t asked(const char *reply, size_t n, char **value)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof to;
    peer p = {.listener = socket(AF_INET, SOCK_STREAM, 0), .reply = reply, .n = n};
    socache_client *client;
    const char *bad;
    apr_status_t rv;

    assert_int_equal(bind(p.listener, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(listen(p.listener, 1), 0);
    assert_int_equal(getsockname(p.listener, (struct sockaddr *)&to, &len), 0);
    client = socache_client_make(test_pool,
                                 apr_psprintf(test_pool, "127.0.0.1:%u", ntohs(to.sin_port)), 1);
    client->timeout = apr_time_from_sec(60);
    assert_int_equal(socache_client_init(client, test_pool, "test", &bad), APR_SUCCESS);
    assert_int_equal(pthread_create(&p.thread, NULL, peer_runs, &p), 0);
    rv = socache_client_do(client, (const unsigned char *)"id", 2, talk, value);
    pthread_join(p.thread, NULL);
    close(p.listener);
    return rv;
}

static void a_value_byte_by_byte(void **state)
{
    char *value = NULL;

    (void)state;
    assert_int_equal(asked("$5\r\na\r\nbc\r\n", 11, &value), APR_SUCCESS);
    assert_string_equal(value, "a\r\nbc");
    assert_int_equal(asked("$-1\r\n", 5, &value), APR_NOTFOUND);
    assert_int_equal(asked("$9\r\n123456789\r\n", 15, &value), APR_ENOSPC);
    assert_int_equal(asked("$5\r\nabcdeXY", 11, &value), APR_EGENERAL);
    assert_int_equal(asked("x\0\r\n", 4, &value), APR_EGENERAL);
}

static void a_reply_that_is_cut_anywhere(void **state)
{
    char *value = NULL;

    (void)state;
    for (size_t n = 0; n < 11; n++)
        assert_true(APR_STATUS_IS_EOF(asked("$5\r\na\r\nbc\r\n", n, &value)) ||
                    n == 0); /* 0: closed at once, perhaps before it was asked */
    assert_null(value);
}

static void nobody_listens(void **state)
{
    const char *bad;
    socache_client *client = socache_client_make(test_pool, "127.0.0.1:1,127.0.0.1:2", 1);

    (void)state;
    client->timeout = apr_time_from_sec(60);
    assert_int_equal(socache_client_init(client, test_pool, "test", &bad), APR_SUCCESS);
    for (int i = 0; i < 2; i++) /* at first it is tried; then both are left alone */
        assert_true(APR_STATUS_IS_ECONNREFUSED(
            socache_client_do(client, (const unsigned char *)"id", 2, talk, NULL)));
}

static void lines_with_values(void **state)
{
    static const char *const wrong[] = {"",
                                        "VALUE",
                                        "VALUE k",
                                        "VALUE k 0",
                                        "VALUE k 0 ",
                                        "VALUE k 0 x",
                                        "VALUE k 0 -1",
                                        "VALUE k 0 1 2",
                                        "VALUE kk 0 1",
                                        "value k 0 1",
                                        "VALUE k 0 99999999999999999999"};
    static const char *const none[] = {
        "", "5", "$", "$x", "$5x", "$-2", "$ 5", "$99999999999999999999", "+OK"};

    (void)state;
    assert_int_equal(socache_memcache_value("VALUE k 0 15", "k"), 15);
    assert_int_equal(socache_memcache_value("VALUE k 7 0", "k"), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(socache_memcache_value(wrong[i], "k"), -1);
    assert_int_equal(socache_redis_value("$0"), 0);
    assert_int_equal(socache_redis_value("$123"), 123);
    assert_int_equal(socache_redis_value("$-1"), -1);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(socache_redis_value(none[i]), -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(a_value_byte_by_byte),
        TEST_WITH_POOL(a_reply_that_is_cut_anywhere),
        TEST_WITH_POOL(nobody_listens),
        cmocka_unit_test(lines_with_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
