/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of HTTP/1 connections, turn by turn: an event loop with all that lives on one, files of a directory,
 * and clients over loopback TCP. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "test_loop.h"
#include "test_server.h"
#include "h1_conn.h"
#include "h1_conn_private.h"
#include "brigade/response_cache.h"
#include "http_protocol.h"
#include "http_request.h"
#include "placement.h"
#include "response_cache.h"
#include "thread_self.h"
#include "vhosts.h"

#define MANY (LOOP_QUANTUM_REQUESTS + 72)
#define WAIT_TRIES 100000 /* of a millisecond each, for a thread: cores may be busy */
#define ASK "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

static brg_listener listener;
static brg_listener *listeners[] = {&listener, NULL};
static brg_listener **of_loops[] = {listeners};
static const loop_services services = {
    .driver = &h1_driver, .accepted = vhost_of_connection, TEST_LOOP_SERVICES};
static loops_config config = {TEST_LOOP_CONFIG(&services, of_loops), .n_workers = 1,
                              .queue_most = 4, .max_connections = 16};
static brg_loop *loop;
static apr_pool_t *pool;
static brg_conn *conn;
static int client;
static sem_t gate;
static atomic_int gate_waits;
static atomic_uint fixups;
static uint64_t last_page;
static char seen[1 << 20];
static size_t seen_n;

/* ---- the loop ---- */

static void turn(void)
{
    loop_wake(loop);
    loop_turn(loop);
}

/* All that came until now, after a few turns. */
static const char *answers(void)
{
    struct pollfd p = {.fd = client, .events = POLLIN};
    ssize_t n = 1;

    for (int i = 0; i < 4; i++) {
        turn();
        while (n > 0 && poll(&p, 1, 0) == 1 &&
               (n = recv(client, seen + seen_n, sizeof seen - 1 - seen_n, 0)) > 0)
            seen_n += (size_t)n;
    }
    seen[seen_n] = '\0';
    return seen;
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static void say(const char *text)
{
    assert_int_equal(send(client, text, strlen(text), 0), (ssize_t)strlen(text));
}

static int connect_again(void)
{
    struct sockaddr_in addr;
    socklen_t len = sizeof addr;
    unsigned n = loop->conns.n;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(getsockname(listener.fd, (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    while (loop->conns.n == n)
        turn();
    return fd;
}

static int connect_client(void **state)
{
    sem_init(&gate, 0, 0);
    atomic_store(&gate_waits, 0);
    apr_pool_create(&pool, NULL);
    assert_int_equal(loop_create(&loop, pool, &config, 0), APR_SUCCESS);
    loop_begin(loop);
    client = connect_again();
    conn = loop->conns.all;
    seen_n = 0;
    return 0;
}

static int disconnect_client(void **state)
{
    close(client);
    sem_post(&gate); /* should a test have failed before it did so */
    worker_pool_stop(loop->workers);
    while (!worker_pool_ended(loop->workers))
        usleep(1000);
    thread_self_end();
    loop_free(loop);
    apr_pool_destroy(pool);
    return 0;
}

static uint64_t hits(void)
{
    cache_figures figures;

    cache_figures_of(loop->cache, &figures);
    return figures.hits;
}

/* ---- tests ---- */

/* It is asked for, armed, filled, and then there. */
static void test_from_memory(void **state)
{
    for (unsigned i = 1; i <= 5; i++) {
        say(ASK);
        assert_int_equal(count(answers(), "HTTP/1.1 200 OK\r\n"), i);
        assert_int_equal(conn->state, CONN_IDLE);
        assert_null(conn->input.at);
        assert_int_equal(conn->requests, i);
    }
    assert_in_range(hits(), 1, 2);
}

/* The head of an answer is that of the same answer to GET. */
static void test_a_head_from_memory(void **state)
{
    uint64_t before = 0;

    for (int i = 0; i < 5; i++) {
        say(ASK);
        answers();
        before = hits();
    }
    say("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(count(answers(), "Content-Length: 6\r\n"), 6);
    assert_int_equal(count(seen, "\r\n\r\nfile a"), 5);
    assert_int_equal(hits(), before + 1);
}

/* One answer is for all names that the folder does not hold, after workers gave it to some of them. */
static void test_no_such_name_from_memory(void **state)
{
    char ask[80];

    for (unsigned i = 1; i <= 20; i++) {
        snprintf(ask, sizeof ask, "GET /none%u HTTP/1.1\r\nHost: x\r\n\r\n", i);
        say(ask);
        for (int k = 0; k < WAIT_TRIES && count(answers(), "HTTP/1.1 404 Not Found\r\n") < i; k++)
            usleep(1000);
    }
    assert_int_equal(count(seen, "HTTP/1.1 404 Not Found\r\n"), 20);
    assert_int_equal(count(seen, "<title>404 Not Found</title>"), 20);
    assert_int_equal(count(seen, "<h1>Not Found</h1>"), 20);
    assert_true(hits() > 0);
}

/* The names that lie beside a file may count, too. */
static void test_of_a_folder_from_memory(void **state)
{
    for (unsigned i = 1; i <= 5; i++) {
        say("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(count(answers(), "\r\n\r\nfile b"), i);
    }
    assert_in_range(hits(), 1, 2);
}

/* A worker reads a file from the disk once, and the loop from then on: what the worker answered counts, too. */
static void test_from_memory_after_a_worker(void **state)
{
    say("GET /a HTTP/1.1\r\nHost: x\r\nX-Cold: 1\r\n\r\n");
    for (int i = 0; i < WAIT_TRIES && (!count(answers(), "file a") || conn->state != CONN_IDLE);
         i++)
        usleep(1000); /* the worker gives the connection back after its answer */
    for (unsigned i = 2; i <= 4; i++) {
        say(ASK);
        assert_int_equal(count(answers(), "HTTP/1.1 200 OK\r\n"), i);
    }
    assert_int_equal(hits(), 1);
}

/* A file, whose query nobody looks at, is there for whatever query; others may have to be refused. */
static void test_from_memory_with_any_query(void **state)
{
    char ask[80];

    for (unsigned i = 1; i <= 5; i++) {
        snprintf(ask, sizeof ask, "GET /a?%u HTTP/1.1\r\nHost: x\r\n\r\n", i);
        say(ask);
        assert_int_equal(count(answers(), "HTTP/1.1 200 OK\r\n"), i);
    }
    assert_int_equal(hits(), 2);
    say("GET /a?{ HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(count(answers(), "HTTP/1.1 200 OK\r\n"), 6);
    assert_int_equal(hits(), 2);
}

/* Also if some of them are for a worker. */
static void test_pipelined_in_order(void **state)
{
    say("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /waits HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /none HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"
        "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < WAIT_TRIES && conn->requests < 5; i++) {
        answers();
        usleep(1000);
    }
    answers();
    const char *a = strstr(seen, "\r\n\r\nfile a"), *w = strstr(seen, "\r\n\r\nby a worker"),
               *none = strstr(seen, "HTTP/1.1 404"), *b = strstr(seen, "\r\n\r\nfile b");
    assert_true(a && w && none && b && a < w && w < none && none < b);
    assert_int_equal(count(seen, "file a"), 1);
    assert_int_equal(count(seen, "HTTP/1.1 200 OK\r\n"), 4);
    assert_int_equal(conn->state, CONN_IDLE);
}

static void test_a_head_in_pieces(void **state)
{
    static const char text[] = ASK;

    for (size_t i = 0; i + 1 < sizeof text; i++) {
        assert_int_equal(send(client, text + i, 1, 0), 1);
        turn();
        if (i + 2 < sizeof text) {
            assert_int_equal(conn->state, CONN_HEAD);
            assert_non_null(conn->timer.prev);
            assert_int_equal(conn_in_size(conn), i + 1);
        }
    }
    assert_int_equal(count(answers(), "HTTP/1.1 200 OK\r\n"), 1);
}

/* A connection with many requests gives way to others, and goes on in the next turn without an event. */
static void test_quantum(void **state)
{
    static char text[MANY * (sizeof ASK - 1) + 1];

    unsigned before = 0;

    for (; !hits() && before < 10; before++) {
        say(ASK);
        answers();
    }
    for (int i = 0; i < MANY; i++)
        memcpy(text + (size_t)i * (sizeof ASK - 1), ASK, sizeof ASK);
    conn->requests = 0;
    say(text);
    turn();
    assert_int_equal(conn->requests, LOOP_QUANTUM_REQUESTS);
    assert_ptr_equal(loop->turn.again, conn);
    assert_null(conn->timer.prev);
    turn();
    assert_int_equal(conn->requests, MANY);
    assert_int_equal(count(answers(), "HTTP/1.1 200 OK\r\n"), MANY + before);
}

static void check_gone(void)
{
    for (int i = 0; i < 8 && loop->conns.n; i++)
        turn();
    assert_int_equal(loop->conns.n, 0);
}

/* What the client still sends is read for a while, so that it gets the answer. */
static void test_close_lingers(void **state)
{
    say("GET /a HTTP/1.0\r\n\r\n");
    assert_non_null(strstr(answers(), "HTTP/1.1 200 OK\r\n"));
    assert_int_equal(conn->state, CONN_LINGER);
    shutdown(client, SHUT_WR);
    check_gone();
}

static void test_an_error_closes(void **state)
{
    say("GET /a HTTP/1.1\r\nNo host\r\n\r\n");
    assert_non_null(strstr(answers(), "HTTP/1.1 400 Bad Request\r\n"));
    assert_non_null(strstr(seen, "Connection: close\r\n"));
    assert_int_equal(conn->state, CONN_LINGER);
    say("more of it");
    turn();
    assert_int_equal(loop->conns.n, 1);
    shutdown(client, SHUT_WR);
    check_gone();
}

static void test_the_client_leaves(void **state)
{
    say("GET /a HT");
    turn();
    shutdown(client, SHUT_WR);
    check_gone();
    assert_string_equal(answers(), "");
}

/* What APR makes of a socket is made once, for the connections of a thread one after the other. */
static void test_sockets_serve_again(void **state)
{
    const apr_socket_t *first;

    say(ASK);
    answers();
    assert_non_null(first = ap_get_conn_socket(conn->c));
    close(client);
    check_gone();
    client = connect_again();
    conn = loop->conns.all;
    say(ASK);
    answers();
    assert_ptr_equal(ap_get_conn_socket(conn->c), first);
}

static void test_half_a_head_in_time(void **state)
{
    say("GET /a HTTP/1.1\r\nHost: x\r\n");
    turn();
    h1_driver.expired(conn);
    assert_non_null(strstr(answers(), "HTTP/1.1 408 Request Timeout\r\n"));
    assert_int_equal(conn->state, CONN_LINGER);
}

static void test_silence(void **state)
{
    say(ASK);
    answers();
    h1_driver.expired(conn);
    assert_int_equal(conn->state, CONN_LINGER); /* a request may be on its way */
    h1_driver.expired(conn);
    check_gone();
}

/* The body of a request for a file is thrown away on the loop, however it comes; then the file is sent. */
static void test_a_body_for_a_file(void **state)
{
    say("GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    assert_string_equal(answers(), "");
    assert_int_equal(conn->state, CONN_BODY);
    assert_non_null(conn->held.r);
    assert_non_null(conn->timer.prev);
    say("56789" ASK);
    assert_int_equal(count(answers(), "\r\n\r\nfile a"), 2);
    assert_int_equal(conn->state, CONN_IDLE);
}

/* A worker gets the request when the beginning of its body is here. */
static void test_a_body_for_a_worker(void **state)
{
    say("POST /waits HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    assert_string_equal(answers(), "");
    assert_int_equal(conn->state, CONN_BODY);
    assert_int_equal(conn->body.wanted, 10);
    say("56789");
    for (int i = 0; i < WAIT_TRIES && !count(answers(), "by a worker"); i++)
        usleep(1000);
    assert_int_equal(count(seen, "HTTP/1.1 200 OK\r\n"), 1);
}

static int phases_of_a_worker(const request_rec *r)
{
    return apr_table_get(r->headers_in, "X-Cold") != NULL;
}

/* A worker goes through the phases, once, and finds that nobody wants the body: the loop throws it away, and sends the file. */
static void test_a_body_that_a_worker_finds_unwanted(void **state)
{
    const unsigned before = atomic_load(&fixups);

    policy_phases_ask(phases_of_a_worker);
    say("GET /a HTTP/1.1\r\nHost: x\r\nX-Cold: 1\r\nContent-Length: 10\r\n\r\n01234");
    for (int i = 0; i < WAIT_TRIES && conn->body.wanted == 0; i++)
        turn();
    say("56789");
    for (int i = 0; i < WAIT_TRIES && !count(answers(), "file a"); i++)
        usleep(1000);
    policy_phases_ask(NULL);
    assert_int_equal(count(seen, "HTTP/1.1 200 OK\r\n"), 1);
    assert_int_equal(atomic_load(&fixups), before + 1);
}

static void test_a_body_that_is_late(void **state)
{
    say("GET /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n012");
    turn();
    assert_int_equal(conn->state, CONN_BODY);
    h1_driver.expired(conn);
    assert_non_null(strstr(answers(), "HTTP/1.1 408 Request Timeout\r\n"));
}

static void test_a_body_that_ends_early(void **state)
{
    say("GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    turn();
    shutdown(client, SHUT_WR);
    assert_non_null(strstr(answers(), "HTTP/1.1 400 Bad Request\r\n"));
    check_gone();
}

/* What waits is for a worker: 503 if all are at work, and as many wait as may. */
static void test_no_worker(void **state)
{
    int at_gate = client, queued;

    worker_pool_bound(loop->workers, 1, 0);
    say("GET /waits?gate HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < WAIT_TRIES && !atomic_load(&gate_waits); i++) {
        turn();
        usleep(1000);
    }
    assert_true(atomic_load(&gate_waits));
    client = queued = connect_again();
    say("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(answers(), "");
    client = connect_again();
    say("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(answers(), "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_non_null(strstr(seen, "Retry-After: "));
    close(client);
    client = at_gate;
    seen_n = 0;
    sem_post(&gate);
    for (int i = 0; i < WAIT_TRIES && !count(answers(), "by a worker"); i++)
        usleep(1000);
    assert_int_equal(count(seen, "HTTP/1.1 200 OK\r\n"), 1);
    close(queued);
}

/* What did not take long on the loop stays there, once another page did. Tried again, since a machine may be busy. */
static void test_a_quick_answer(void **state)
{
    int takes_long = 1;

    loop_page_took_long(loop, 1, 0);
    for (int i = 0; i < 100 && takes_long; i++) {
        takes_long = 0;
        for (int k = 0; k < 20 && !takes_long; k++) {
            say("OPTIONS /a HTTP/1.1\r\nHost: x\r\n\r\n"); /* never from memory */
            answers();
            takes_long = loop_takes_long(loop, last_page);
        }
        loop_page_is_quick(loop, last_page);
    }
    assert_false(takes_long);
}

/* ---- a handler that waits ---- */

static int waits_fixup(request_rec *r)
{
    atomic_fetch_add(&fixups, 1);
    last_page = loop_page_of(r);
    if (apr_table_get(r->headers_in, "X-Cold"))
        brg_request_needs_worker(r);
    if (!strcmp(r->uri, "/b"))
        brg_cache_depends_on_names(r, test_dir);
    if (strcmp(r->uri, "/waits"))
        return DECLINED;
    r->handler = "waits";
    brg_request_needs_worker(r);
    return OK;
}

static int waits_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "waits"))
        return DECLINED;
    if (r->args) {
        atomic_store(&gate_waits, 1);
        sem_wait(&gate);
    }
    ap_rputs(loop_self() ? "by a loop" : "by a worker", r);
    return OK;
}

/* ---- the group ---- */

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", test_dir, name);
    assert_non_null(f = fopen(path, "w"));
    fputs(text, f);
    fclose(f);
    assert_int_equal(
        utimensat(AT_FDCWD, path, (struct timespec[2]){{1000000000, 0}, {1000000000, 0}}, 0), 0);
}

static int group_setup(void **state)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    test_server_up("MaxKeepAliveRequests 0\n");
    write_file("a", "file a");
    write_file("b", "file b");
    apr_hook_debug_current =
        "core.c"; /* which is declared: the survey asks in whose name hooks are registered */
    ap_hook_handler(waits_handler, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_fixups(waits_fixup, NULL, NULL, APR_HOOK_FIRST);
    apr_hook_sort_all();
    assert_int_equal(conf_generation_open(test_process, CONF_DEPTH_TRIAL), APR_SUCCESS);
    assert_true(phases_may_run_inline());
    connection_child_init(0);
    listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener.fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(listener.fd, 16), 0);
    assert_int_equal(
        apr_sockaddr_info_get(&listener.addr, "127.0.0.1", APR_INET, 1, 0, test_process->pconf),
        APR_SUCCESS);
    listener.tcp = 1;
    config.server = ap_server_conf;
    return 0;
}

#define DRIVE(test) cmocka_unit_test_setup_teardown(test, connect_client, disconnect_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DRIVE(test_from_memory),
        DRIVE(test_a_head_from_memory),
        DRIVE(test_of_a_folder_from_memory),
        DRIVE(test_no_such_name_from_memory),
        DRIVE(test_from_memory_after_a_worker),
        DRIVE(test_from_memory_with_any_query),
        DRIVE(test_pipelined_in_order),
        DRIVE(test_a_head_in_pieces),
        DRIVE(test_quantum),
        DRIVE(test_close_lingers),
        DRIVE(test_an_error_closes),
        DRIVE(test_the_client_leaves),
        DRIVE(test_half_a_head_in_time),
        DRIVE(test_silence),
        DRIVE(test_a_body_for_a_file),
        DRIVE(test_a_body_for_a_worker),
        DRIVE(test_a_body_that_a_worker_finds_unwanted),
        DRIVE(test_a_body_that_is_late),
        DRIVE(test_a_body_that_ends_early),
        DRIVE(test_no_worker),
        DRIVE(test_a_quick_answer),
        DRIVE(test_sockets_serve_again),
    };

    return cmocka_run_group_tests(tests, group_setup, test_server_down);
}
