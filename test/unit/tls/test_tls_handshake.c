/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes of many clients at once, turn by turn of an event loop: a turn makes a few of them, in a time that is bounded,
 * and all get theirs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdatomic.h>
#include <time.h>

#include "test_certificate.h"
#include "test_loop.h"
#include "test_server.h"
#include "h1_conn.h"
#include "response_cache.h"
#include "thread_self.h"
#include "tls_conn_private.h"
#include "vhosts.h"

#define CLIENTS 20
#define TURNS 200

static brg_listener listener;
static brg_listener *listeners[] = {&listener, NULL};
static brg_listener **of_loops[] = {listeners};
static loop_services services = {.driver = &h1_driver, TEST_LOOP_SERVICES};
static loops_config config = {TEST_LOOP_CONFIG(&services, of_loops), .n_workers = 1,
                              .queue_most = 4, .max_connections = 2 * CLIENTS};
static const loop_layer *layer;
static brg_loop *loop;
static apr_pool_t *pool;
static SSL_CTX *client_ctx;
static SSL *client[CLIENTS];

/* ---- what is under the test's control ---- */

static _Atomic int64_t step_us, ahead_us; /* each look at the clock takes so long */

void __wrap_loop_layer_set(const loop_layer *l);
void __real_loop_layer_set(const loop_layer *l);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __real_clock_gettime(clockid_t clock, struct timespec *t);

void __wrap_loop_layer_set(const loop_layer *l)
{
    layer = l;
    __real_loop_layer_set(l);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int64_t us = atomic_fetch_add(&ahead_us, atomic_load(&step_us));
    int rc = __real_clock_gettime(clock, t);

    t->tv_sec += us / 1000000;
    t->tv_nsec += us % 1000000 * 1000;
    if (t->tv_nsec >= 1000000000) {
        t->tv_sec++;
        t->tv_nsec -= 1000000000;
    }
    return rc;
}

/* ---- clients ---- */

static int client_socket(void)
{
    struct sockaddr_in addr;
    socklen_t len = sizeof addr;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(getsockname(listener.fd, (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static int clients_begin(void **state)
{
    apr_pool_create(&pool, NULL);
    assert_int_equal(loop_create(&loop, pool, &config, 0), APR_SUCCESS);
    loop_begin(loop);
    for (int i = 0; i < CLIENTS; i++) {
        client[i] = SSL_new(client_ctx);
        SSL_set_fd(client[i], client_socket());
        SSL_set_connect_state(client[i]);
        assert_int_equal(SSL_do_handshake(client[i]), -1);
    }
    return 0;
}

static int clients_end(void **state)
{
    atomic_store(&step_us, 0);
    for (int i = 0; i < CLIENTS; i++) {
        close(SSL_get_fd(client[i]));
        SSL_free(client[i]);
    }
    worker_pool_stop(loop->workers);
    while (!worker_pool_ended(loop->workers))
        usleep(1000);
    thread_self_end();
    loop_free(loop);
    layer->end(loop);
    apr_pool_destroy(pool);
    return 0;
}

/* To how many the server has said something. */
static int answered(void)
{
    struct pollfd p[CLIENTS];
    int n = 0;

    for (int i = 0; i < CLIENTS; i++)
        p[i] = (struct pollfd){.fd = SSL_get_fd(client[i]), .events = POLLIN};
    poll(p, CLIENTS, 0);
    for (int i = 0; i < CLIENTS; i++)
        n += p[i].revents != 0;
    return n;
}

/* @return the most in a turn */
static int answer_all(void)
{
    int most = 0, before = 0;

    for (int i = 0; i < TURNS && before < CLIENTS; i++) {
        int now;

        loop_wake(loop);
        loop_turn(loop);
        now = answered();
        most = now - before > most ? now - before : most;
        before = now;
    }
    assert_int_equal(before, CLIENTS);
    return most;
}

/* ---- tests ---- */

static void a_turn_makes_a_few(void **state)
{
    assert_in_range(answer_all(), 2, TLS_HANDSHAKES);
}

static void fewer_where_they_take_long(void **state)
{
    atomic_store(&step_us, TLS_HANDSHAKE_US * 2 / 3);
    assert_in_range(answer_all(), 1, 2);
}

/* ---- the server ---- */

static int group_setup(void **state)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *file = certificate();
    char directives[256];

    snprintf(directives, sizeof directives, "SSLEngine on\nSSLCertificateFile %s\n", file);
    test_server_up(directives);
    assert_int_equal(conf_generation_open(test_process, CONF_DEPTH_TRIAL), APR_SUCCESS);
    unlink(file);
    assert_non_null(layer);
    services.accepted = layer->accepted;
    connection_child_init(0);
    listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener.fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(listener.fd, CLIENTS), 0);
    assert_int_equal(
        apr_sockaddr_info_get(&listener.addr, "127.0.0.1", APR_INET, 1, 0, test_process->pconf),
        APR_SUCCESS);
    listener.tcp = 1;
    config.server = ap_server_conf;
    client_ctx = SSL_CTX_new(TLS_client_method());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_turn_makes_a_few, clients_begin, clients_end),
        cmocka_unit_test_setup_teardown(fewer_where_they_take_long, clients_begin, clients_end)};

    return cmocka_run_group_tests(tests, group_setup, test_server_down);
}
