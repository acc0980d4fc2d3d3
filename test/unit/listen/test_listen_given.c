/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that the service manager opened: which Listen line gets which. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "listen_sockets.h"
#include "test_pool.h"

/* Sockets stay for as long as the process, so each test has ports of its own. */
static uint16_t port_of(int fd)
{
    struct sockaddr_in6 addr;
    socklen_t len = sizeof addr;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    return ntohs(addr.sin6_port); /* where that of IPv4 is */
}

static int opened(uint32_t address, int type)
{
    const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    int fd = socket(AF_INET, type, 0);

    assert_true(fd >= 3);
    assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof addr), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(fd, 5), 0);
    return fd;
}

static int given(uint32_t address, const char *name)
{
    int fd = opened(address, SOCK_STREAM);

    listen_given_take(fd, name);
    return fd;
}

static int find(const char *host, uint16_t port, const char *protocol)
{
    ap_listen_rec rec = {.protocol = protocol};

    assert_int_equal(apr_sockaddr_info_get(&rec.bind_addr, host, APR_UNSPEC, port, 0, test_pool),
                     APR_SUCCESS);
    return listen_given_find(&rec);
}

static void a_line_gets_the_socket_of_its_address(void **state)
{
    int one = given(INADDR_LOOPBACK, ""), two = given(INADDR_LOOPBACK + 1, "");

    assert_int_equal(find("127.0.0.2", port_of(two), "http"), two);
    assert_int_equal(find("127.0.0.1", port_of(one), "http"), one);
}

static void another_port_or_address_has_none(void **state)
{
    int fd = given(INADDR_LOOPBACK, "");

    assert_int_equal(find("127.0.0.3", port_of(fd), "http"), -1);
    assert_int_equal(find("127.0.0.1", port_of(fd) ^ 1, "http"), -1);
    assert_int_equal(find("::1", port_of(fd), "http"), -1);
}

static void a_socket_is_taken_once(void **state)
{
    int fd = given(INADDR_LOOPBACK, "");
    const uint16_t port = port_of(fd);

    assert_int_equal(find("127.0.0.1", port, "http"), fd);
    assert_int_equal(find("127.0.0.1", port, "http"), -1);
    listen_given_return(fd);
    assert_int_equal(find("127.0.0.1", port, "http"), fd);
}

static void a_socket_in_use_is_not_found(void **state)
{
    int fd = given(INADDR_LOOPBACK, "");

    listen_given_use(fd);
    assert_int_equal(find("127.0.0.1", port_of(fd), "http"), -1);
    listen_given_return(fd);
    assert_int_equal(find("127.0.0.1", port_of(fd), "http"), fd);
}

static void a_socket_of_all_addresses_covers_each(void **state)
{
    int fd = given(INADDR_ANY, "");

    assert_int_equal(find("127.0.0.9", port_of(fd), "http"), fd);
}

static void the_name_is_a_port_or_a_protocol(void **state)
{
    int by_port = given(INADDR_LOOPBACK, "81"), by_protocol = given(INADDR_LOOPBACK, "gemini");

    assert_int_equal(find("127.0.0.1", 82, "http"), -1);
    assert_int_equal(find("127.0.0.1", 81, "http"), by_port);
    assert_int_equal(find("127.0.0.1", 83, "gemini"), by_protocol);
}

/* A name that would fit earlier in the list is no reason to leave one's own address. */
static void the_address_counts_more_than_a_name(void **state)
{
    int named = given(INADDR_LOOPBACK, "chosen"), at = given(INADDR_LOOPBACK, "");

    assert_int_equal(find("127.0.0.1", port_of(at), "chosen"), at);
    assert_int_equal(find("127.0.0.1", 84, "chosen"), named);
}

static void sockets_do_not_block_and_are_closed_in_programs(void **state)
{
    int fd = given(INADDR_LOOPBACK, "");

    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static int handed(int fd)
{
    const char *name;
    int n;

    for (int i = 0; (n = listen_given_handed(i, &name)) >= 0; i++)
        if (n == fd)
            return 1;
    return 0;
}

static void what_does_not_listen_is_left(void **state)
{
    int udp = opened(INADDR_LOOPBACK, SOCK_DGRAM), file = open("/dev/null", O_RDONLY),
        tcp = socket(AF_INET, SOCK_STREAM, 0), fd = given(INADDR_LOOPBACK, "");

    listen_given_take(udp, "udp");
    listen_given_take(file, "file");
    listen_given_take(tcp, "tcp");
    assert_false(handed(udp));
    assert_false(handed(file));
    assert_false(handed(tcp));
    assert_true(handed(fd));
}

static void each_is_handed_on_with_its_name(void **state)
{
    int fd = given(INADDR_LOOPBACK, "last");
    const char *name = NULL;
    int n = 0;

    while (listen_given_handed(n, &name) != fd)
        n++;
    assert_string_equal(name, "last");
    assert_int_equal(listen_given_handed(n + 1, &name), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(a_line_gets_the_socket_of_its_address),
        TEST_WITH_POOL(another_port_or_address_has_none),
        TEST_WITH_POOL(a_socket_is_taken_once),
        TEST_WITH_POOL(a_socket_in_use_is_not_found),
        TEST_WITH_POOL(a_socket_of_all_addresses_covers_each),
        TEST_WITH_POOL(the_name_is_a_port_or_a_protocol),
        TEST_WITH_POOL(the_address_counts_more_than_a_name),
        TEST_WITH_POOL(sockets_do_not_block_and_are_closed_in_programs),
        TEST_WITH_POOL(what_does_not_listen_is_left),
        TEST_WITH_POOL(each_is_handed_on_with_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
