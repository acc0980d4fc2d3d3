/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets over configurations: who gets which, which stay open, what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "listen_sockets.h"
#include "mpm_settings.h"

#include <apr_portable.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>

static const listen_options defaults = {.backlog = 16, .defer_accept_s = 30};

static ap_listen_rec *record(apr_pool_t *p, const char *host, apr_port_t port)
{
    ap_listen_rec *rec = apr_pcalloc(p, sizeof *rec);

    assert_int_equal(apr_sockaddr_info_get(&rec->bind_addr, host, APR_UNSPEC, port, 0, p),
                     APR_SUCCESS);
    rec->protocol = "http";
    return rec;
}

/* A port that was free a moment ago. */
static apr_port_t free_port(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    close(fd);
    return ntohs(addr.sin_port);
}

static apr_pool_t *pool;

static int set_up(void **state)
{
    (void)state;
    return apr_pool_create(&pool, ap_pglobal);
}

static int tear_down(void **state)
{
    (void)state;
    listen_socket_close_all();
    apr_pool_destroy(pool);
    return 0;
}

static int connect_to(apr_port_t port)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
        return fd;
    close(fd);
    return -1;
}

static int count(brg_listener **list)
{
    int n = 0;

    while (list[n])
        n++;
    return n;
}

static void each_loop_has_its_own(void **state)
{
    ap_listen_rec *rec = record(pool, "127.0.0.1", free_port());
    brg_listener ***all;
    int one = 0;
    socklen_t len = sizeof one;

    (void)state;
    listen_set_shares(1, 3);
    assert_int_equal(listen_socket_ensure(rec, 3, 0, 0, &defaults), APR_SUCCESS);
    assert_int_equal(listen_sockets(), 3);
    all = listen_for_process(pool, 0, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(count(all[i]), 1);
        assert_ptr_equal(all[i][0]->lr, rec);
        assert_int_equal(getsockopt(all[i][0]->fd, IPPROTO_TCP, TCP_NODELAY, &one, &len), 0);
        assert_int_not_equal(one, 0); /* accepted sockets inherit it */
    }
    assert_int_not_equal(all[0][0]->fd, all[1][0]->fd);
}

static void sockets_survive_a_reload(void **state)
{
    apr_port_t port = free_port();
    ap_listen_rec *rec = record(pool, "127.0.0.1", port);
    brg_listener ***before, ***after;
    int waiting, accepted;

    (void)state;
    listen_set_shares(1, 2);
    assert_int_equal(listen_socket_ensure(rec, 2, 0, 0, &defaults), APR_SUCCESS);
    before = listen_for_process(pool, 0, 1);
    waiting = connect_to(port);
    assert_true(waiting >= 0);
    listen_socket_mark();
    rec = record(pool, "127.0.0.1", port);
    listen_set_shares(1, 4); /* more loops */
    assert_int_equal(listen_socket_ensure(rec, 4, 0, 0, &defaults), APR_SUCCESS);
    listen_socket_sweep();
    assert_int_equal(listen_sockets(), 4);
    after = listen_for_process(pool, 0, 1);
    assert_int_equal(after[0][0]->fd, before[0][0]->fd);
    assert_int_equal(after[1][0]->fd, before[1][0]->fd);
    listen_socket_mark();
    listen_set_shares(1, 1); /* fewer: nothing is closed, one loop serves all */
    assert_int_equal(listen_socket_ensure(rec, 1, 0, 0, &defaults), APR_SUCCESS);
    listen_socket_sweep();
    after = listen_for_process(pool, 0, 1);
    assert_int_equal(count(after[0]), 4);
    accepted = -1;
    for (int i = 0; i < 4 && accepted < 0; i++)
        accepted = accept(after[0][i]->fd, NULL, NULL);
    assert_true(accepted >= 0); /* that which waited */
    close(accepted);
    close(waiting);
}

static void what_is_not_configured_closes(void **state)
{
    apr_port_t gone = free_port(), stays = free_port();
    ap_listen_rec *rec = record(pool, "127.0.0.1", stays);
    int fd;

    (void)state;
    listen_set_shares(1, 1);
    assert_int_equal(listen_socket_ensure(record(pool, "127.0.0.1", gone), 1, 0, 0, &defaults),
                     APR_SUCCESS);
    assert_int_equal(listen_socket_ensure(rec, 1, 0, 0, &defaults), APR_SUCCESS);
    listen_socket_mark();
    assert_int_equal(listen_socket_ensure(rec, 1, 0, 0, &defaults), APR_SUCCESS);
    listen_socket_sweep();
    assert_int_equal(connect_to(gone), -1);
    fd = connect_to(stays);
    assert_true(fd >= 0);
    close(fd);
}

static void taken_ports_are_refused(void **state)
{
    apr_port_t port = free_port();
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    ap_listen_rec *rec = record(pool, "127.0.0.1", port);

    (void)state;
    /* Even one whose owner would share it: another server of the same user. */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(listen_socket_ensure(rec, 2, 0, 0, &defaults), EADDRINUSE);
    assert_int_equal(listen_sockets(), 0);
    close(fd);
    assert_int_equal(listen_socket_ensure(rec, 2, 0, 0, &defaults), APR_SUCCESS);
    /* The same Listen twice. */
    assert_int_equal(listen_socket_ensure(record(pool, "127.0.0.1", port), 2, 0, 0, &defaults),
                     EADDRINUSE);
}

static void processes_share_out_what_there_is(void **state)
{
    ap_listen_rec *rec = record(pool, "127.0.0.1", free_port());
    ap_listen_rec *other = record(pool, "127.0.0.1", free_port());
    int seen = 0;

    (void)state;
    listen_set_shares(2, 2);
    assert_int_equal(listen_socket_ensure(rec, 4, 0, 0, &defaults), APR_SUCCESS);
    assert_int_equal(listen_socket_ensure(other, 4, 0, 0, &defaults), APR_SUCCESS);
    for (int process = 0; process < 2; process++) {
        brg_listener ***all = listen_for_process(pool, process, 1);
        for (int l = 0; l < 2; l++) {
            assert_int_equal(count(all[l]), 2);
            seen += count(all[l]);
        }
    }
    assert_int_equal(seen, listen_sockets());
}

static const struct {
    const char *argument;
    const char *host;
    int port; /* 0: refused */
} arguments[] = {
    {"127.0.0.1:8080", "127.0.0.1", 8080},
    {"[::1]:81", "::1", 81},
    {"*:82", NULL, 82},
    {"83", NULL, 83},
    {"127.0.0.1", NULL, 0},
    {"0", NULL, 0},
    {"70000", NULL, 0},
    {"x:y", NULL, 0},
    {"[::1%lo]:80", NULL, 0},
};

static void arguments_of_listen(void **state)
{
    static const command_rec listen = {.name = "Listen"};

    (void)state;
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        ap_directive_t directive = {.directive = "Listen"};
        cmd_parms cmd = {.limited = -1,
                         .pool = pool,
                         .temp_pool = pool,
                         .server = ap_server_conf,
                         .cmd = &listen,
                         .directive = &directive};
        char *argv[] = {(char *)(uintptr_t)arguments[i].argument, NULL};
        const char *err;

        ap_listen_pre_config();
        err = ap_set_listener(&cmd, NULL, 1, argv);
        if ((err == NULL) != (arguments[i].port != 0))
            fail_msg("%s: %s", arguments[i].argument, err ? err : "accepted");
        if (err)
            continue;
        assert_int_equal(ap_listeners->bind_addr->port, arguments[i].port);
        assert_string_equal(ap_listeners->protocol, "http");
        if (arguments[i].host) {
            char *ip;
            apr_sockaddr_ip_get(&ip, ap_listeners->bind_addr);
            assert_string_equal(ip, arguments[i].host);
        } else
            assert_true(apr_sockaddr_is_wildcard(ap_listeners->bind_addr));
    }
    ap_listen_pre_config();
}

/* A server may be started without a standard input. */
static void the_first_descriptor_is_closed_too(void **state)
{
    const int input = dup(STDIN_FILENO);
    ap_listen_rec *rec = record(pool, "127.0.0.1", free_port());
    int was_taken, is_open;

    (void)state;
    close(STDIN_FILENO);
    listen_set_shares(1, 1);
    assert_int_equal(listen_socket_ensure(rec, 1, 0, 0, &defaults), APR_SUCCESS);
    was_taken = fcntl(STDIN_FILENO, F_GETFD) >= 0;
    listen_socket_close_all();
    is_open = fcntl(STDIN_FILENO, F_GETFD) >= 0;
    if (input >= 0) {
        dup2(input, STDIN_FILENO);
        close(input);
    }
    assert_true(was_taken);
    assert_false(is_open);
}

#define LISTENING(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static int group_set_up(void **state)
{
    (void)state;
    test_server_up("");
    return 0;
}

/* By a server process, which shares them. */
static void sockets_that_were_ended_listen_again(void **state)
{
    apr_port_t port = free_port();
    ap_listen_rec *rec = record(pool, "127.0.0.1", port);
    struct sockaddr_in other = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof other;
    int fd, listener = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(bind(listener, (struct sockaddr *)&other, sizeof other), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&other, &len), 0);
    assert_int_equal(listen_socket_ensure(rec, 1, 0, 0, &defaults), APR_SUCCESS);
    assert_int_equal(apr_os_sock_get(&fd, rec->sd), APR_SUCCESS);
    for (int connected = 0; connected < 2; connected++) {
        int flags = fcntl(fd, F_GETFL);

        assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
        assert_int_equal(fcntl(fd, F_SETFL, flags & ~O_NONBLOCK), 0);
        if (connected) { /* it is a client's, and cannot listen any more */
            int client = socket(AF_INET, SOCK_STREAM, 0);

            assert_int_equal(connect(client, (struct sockaddr *)&other, sizeof other), 0);
            assert_int_equal(dup2(client, fd), fd);
            close(client);
        }
        listen_socket_restore(&defaults);
        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
        flags = connect_to(port);
        assert_true(flags >= 0);
        close(flags);
    }
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LISTENING(each_loop_has_its_own),
        LISTENING(sockets_survive_a_reload),
        LISTENING(the_first_descriptor_is_closed_too),
        LISTENING(what_is_not_configured_closes),
        LISTENING(taken_ports_are_refused),
        LISTENING(processes_share_out_what_there_is),
        LISTENING(arguments_of_listen),
        LISTENING(sockets_that_were_ended_listen_again),
    };

    return cmocka_run_group_tests(tests, group_set_up, test_server_down);
}
