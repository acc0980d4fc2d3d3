/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of an event loop with a driver of the test's own: in which order it reads, looks at the file watches and
 * runs connections, what it does with those that end, wait, or come back from a worker. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "apr_hooks.h"
#include "brigade/loop.h"
#include "driver.h"
#include "loop.h"
#include "loop_lines.h"
#include "figures.h"
#include "scores.h"
#include "thread_self.h"

#define CONNECTIONS 4

static apr_pool_t *pool;
static brg_loop *loop;
static loops_config config;
static brg_listener listener;
static brg_listener *listeners[] = {&listener, NULL};
static brg_listener **of_loops[] = {listeners};

/* What happened, a letter each: R the file watches, a to d a connection that runs, X one that expired, W one on a
 * worker, E the end of a turn. */
static char story[256];
static brg_conn *conns[CONNECTIONS + 1];
static int clients[CONNECTIONS + 1], accepted_n;
static void (*on_run)(brg_conn *bc, int which);

static void tell(char c)
{
    size_t n = strlen(story);

    assert_true(n + 1 < sizeof story);
    story[n] = c;
    story[n + 1] = '\0';
}

static int which(const brg_conn *bc)
{
    for (int i = accepted_n; i-- > 0;)
        if (conns[i] == bc)
            return i;
    fail_msg("an unknown connection");
    return -1;
}

static void mock_run(brg_conn *bc)
{
    tell((char)('a' + which(bc)));
    if (on_run)
        on_run(bc, which(bc));
}

static int lingers; /* connections that expire do */

static void mock_expired(brg_conn *bc)
{
    tell('X');
    if (!lingers) {
        loop_close(bc->loop, bc);
        return;
    }
    conn_enter(bc, CONN_LINGER);
    bc->idle_until = bc->loop->monotonic + apr_time_from_sec(30);
    wheel_set(&bc->loop->wheel, &bc->timer, bc->idle_until);
}

static void mock_drop(brg_conn *bc)
{
    loop_close(bc->loop, bc);
}

static void mock_work(brg_conn *bc)
{
    assert_null(loop_self());
    assert_int_equal(bc->state, CONN_WORKER);
}

static void mock_accepted(brg_conn *bc)
{
    conns[accepted_n++] = bc;
}

static void mock_nothing(brg_loop *l)
{
}

static void mock_refresh(brg_loop *l)
{
    tell('R');
}

static void mock_trim(void)
{
}

/* Workers run the hook, too. */
static void turn_ends(apr_time_t now)
{
    if (loop_self())
        tell('E');
}

static const struct conn_driver driver = {.name = "mock",
                                          .run = mock_run,
                                          .expired = mock_expired,
                                          .drop = mock_drop,
                                          .refused = mock_drop,
                                          .work = mock_work};
static const loop_services services = {.driver = &driver,
                                       .accepted = mock_accepted,
                                       .begin = mock_nothing,
                                       .end = mock_nothing,
                                       .refresh = mock_refresh,
                                       .thread_trim = mock_trim};

static void listen_somewhere(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};

    listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener.fd, (struct sockaddr *)&any, sizeof any.sun_family), 0);
    assert_int_equal(listen(listener.fd, 16), 0);
}

static int setup(void **state)
{
    apr_pool_create(&pool, NULL);
    config = (loops_config){.services = &services,
                            .slot = -1,
                            .n_loops = 1,
                            .listeners = of_loops,
                            .n_workers = 1,
                            .queue_most = 4,
                            .max_connections = CONNECTIONS};
    listen_somewhere();
    apr_palloc(pool, 8); /* nothing is aligned by chance */
    assert_int_equal(loop_create(&loop, pool, &config, 0), APR_SUCCESS);
    loop_begin(loop);
    loop->turn.end_last = loop->spare.trimmed = loop->monotonic;
    memset(story, 0, sizeof story);
    accepted_n = 0;
    on_run = NULL;
    return 0;
}

static int teardown(void **state)
{
    worker_pool_stop(loop->workers);
    while (!worker_pool_ended(loop->workers))
        usleep(1000);
    thread_self_end();
    loop_free(loop);
    close(listener.fd);
    for (int i = 0; i < accepted_n; i++)
        close(clients[i]);
    apr_pool_destroy(pool);
    return 0;
}

/* ---- clients ---- */

static int client_connect(void)
{
    struct sockaddr_un name;
    socklen_t len = sizeof name;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_int_equal(getsockname(listener.fd, (struct sockaddr *)&name, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&name, len), 0);
    return fd;
}

static void wait_for_more(brg_conn *bc, int i)
{
    assert_int_equal(loop_poll(bc->loop, bc), 0);
}

/* n connections that the loop has accepted and polls; the story begins after that. */
static void open_connections(int n)
{
    for (int i = 0; i < n; i++)
        clients[i] = client_connect();
    on_run = wait_for_more;
    while (accepted_n < n || loop->turn.ready)
        loop_turn(loop);
    loop_wake(loop);
    loop_turn(loop); /* what is put into the poll set is ready to be written to */
    on_run = NULL;
    story[0] = '\0';
}

static void client_send(int i, const char *text)
{
    assert_int_equal(send(clients[i], text, strlen(text), 0), (ssize_t)strlen(text));
}

/* ---- tests ---- */

static void all_is_read(brg_conn *bc, int i)
{
    for (int k = 0; k < accepted_n; k++)
        assert_int_equal(conn_in_size(conns[k]), 5);
}

/* A change that was made before a request was sent is seen by that request: all is read, then the watches are looked
 * at once, then all is answered. */
static void test_reads_then_watches_then_runs(void **state)
{
    open_connections(3);
    client_send(2, "third");
    client_send(0, "first");
    client_send(1, "secnd");
    on_run = all_is_read;
    loop_turn(loop);
    assert_int_equal(strlen(story), 4);
    assert_int_equal(story[0], 'R');
    assert_non_null(strchr(story, 'a'));
    assert_non_null(strchr(story, 'b'));
    assert_non_null(strchr(story, 'c'));
}

static void test_an_idle_turn_looks_at_nothing(void **state)
{
    open_connections(1);
    loop_wake(loop);
    loop_turn(loop);
    assert_string_equal(story, "");
}

static void run_again_once(brg_conn *bc, int i)
{
    if (strlen(story) < 3)
        loop_again(bc->loop, bc);
}

/* The next turn does not wait, and reads again before it runs. */
static void test_again(void **state)
{
    open_connections(1);
    client_send(0, "one");
    on_run = run_again_once;
    loop_turn(loop);
    assert_string_equal(story, "Ra");
    assert_ptr_equal(loop->turn.again, conns[0]);
    conns[0]->rd_ready = 1;
    client_send(0, "two");
    loop_turn(loop);
    assert_string_equal(story, "RaRa");
    assert_int_equal(conn_in_size(conns[0]), 6);
    assert_null(loop->turn.again);
}

static void close_both(brg_conn *bc, int i)
{
    loop_close(bc->loop, conns[0]);
    loop_close(bc->loop, conns[1]);
}

/* Each of two that are ready closes the other one: that does not run any more, and both objects are kept for the
 * connections that come next. */
static void test_closed_in_this_turn(void **state)
{
    open_connections(2);
    client_send(0, "x");
    client_send(1, "y");
    on_run = close_both;
    loop_turn(loop);
    assert_int_equal(strlen(story), 2);
    assert_int_equal(loop->conns.n, 0);
    assert_int_equal(loop->spare.conns_n, 2);
    assert_null(loop->turn.closed);
    close(clients[0]);
    close(clients[1]);
    accepted_n = 0;
    open_connections(2);
    assert_int_equal(loop->spare.conns_n, 0);
    assert_int_equal(loop->conns.n, 2);
    assert_int_equal(conns[0]->tag, CONN_TAG);
}

/* One that is on the list of the next turn stays an object until then. */
static void again_and_close(brg_conn *bc, int i)
{
    loop_again(bc->loop, bc);
    loop_close(bc->loop, bc);
}

static void test_closed_on_the_list(void **state)
{
    open_connections(1);
    client_send(0, "x");
    on_run = again_and_close;
    loop_turn(loop);
    assert_ptr_equal(loop->turn.closed, conns[0]);
    assert_int_equal(conns[0]->tag, CONN_TAG);
    loop_turn(loop);
    assert_null(loop->turn.closed);
    assert_int_equal(loop->spare.conns_n, 1);
    assert_string_equal(story, "Ra");
}

static void test_deadlines(void **state)
{
    open_connections(2);
    wheel_set(&loop->wheel, &conns[0]->timer, loop->monotonic + 2 * WHEEL_TICK_US);
    wheel_set(&loop->wheel, &conns[1]->timer, loop->monotonic + apr_time_from_sec(30));
    while (loop->conns.n == 2)
        loop_turn(loop);
    assert_non_null(strchr(story, 'X'));
    assert_null(strchr(story, 'R'));
    assert_int_equal(conns[0]->fd, -1);
    assert_int_equal(loop->spare.conns_n, 1);
}

/* Where there is no room, the half of the silent connections that has been so for the longest goes, and no other one, whatever
 * their deadlines. */
static void test_silent_ones_make_room(void **state)
{
    static const int silent[] = {10, 20, 30};
    char byte;

    open_connections(CONNECTIONS);
    for (int i = 0; i < 3; i++) {
        conns[i]->input.began -= apr_time_from_sec(silent[i]);
        wheel_set(&loop->wheel, &conns[i]->timer, loop->monotonic + apr_time_from_sec(silent[i]));
    }
    conn_enter(conns[0], CONN_IDLE);
    conn_enter(conns[1], CONN_IDLE); /* the third never said anything */
    clients[CONNECTIONS] = client_connect();
    while (accepted_n == CONNECTIONS)
        loop_turn(loop);
    for (int i = 0; i < CONNECTIONS; i++)
        assert_int_equal(recv(clients[i], &byte, 1, MSG_DONTWAIT), i == 1 || i == 2 ? 0 : -1);
    assert_int_equal(loop->conns.n, CONNECTIONS - 1);
    assert_int_equal(loop->figures->own.value[BRG_FIGURE_SHED], 2);
}

/* Those that have to go and wait for their client's end do so for a moment. */
static void test_what_makes_room_lingers_shortly(void **state)
{
    open_connections(CONNECTIONS);
    for (int i = 0; i < 2; i++) {
        conns[i]->input.began -= apr_time_from_sec(10);
        wheel_set(&loop->wheel, &conns[i]->timer, loop->monotonic + apr_time_from_sec(30));
        conn_enter(conns[i], CONN_IDLE);
    }
    lingers = 1;
    clients[CONNECTIONS] = client_connect();
    while (!strchr(story, 'X'))
        loop_turn(loop);
    lingers = 0;
    for (int i = 0; i < 2; i++)
        if (conns[i]->state == CONN_LINGER)
            assert_true(conns[i]->idle_until < loop->monotonic + apr_time_from_sec(1));
    while (accepted_n == CONNECTIONS)
        loop_turn(loop);
}

static void to_worker(brg_conn *bc, int i)
{
    if (bc->state != CONN_HEAD)
        return;
    conn_enter(bc, CONN_WORKER);
    assert_int_equal(worker_pool_submit(bc->loop->workers, bc), 0);
}

/* It runs when it is back, and not for what comes meanwhile, which is found by reading then. */
static void test_worker(void **state)
{
    open_connections(1);
    client_send(0, "work");
    on_run = to_worker;
    loop_turn(loop);
    assert_string_equal(story, "Ra");
    client_send(0, "more");
    while (!story[2])
        loop_turn(loop);
    assert_string_equal(story, "RaRa");
    assert_int_equal(conns[0]->state, CONN_WORKER); /* what follows is the driver's */
    assert_true(conns[0]->rd_ready);
    assert_int_equal(conn_in_size(conns[0]), 4);
    conn_enter(conns[0], CONN_HEAD);
    conn_fill(conns[0]);
    assert_int_equal(conn_in_size(conns[0]), 8);
}

/* Beyond max_connections the kernel keeps them, until one is closed. */
static void test_no_room(void **state)
{
    open_connections(CONNECTIONS);
    clients[CONNECTIONS] = client_connect();
    loop_wake(loop);
    loop_turn(loop);
    loop_turn(loop);
    assert_int_equal(loop->conns.n, CONNECTIONS);
    assert_false(loop->accept.on);
    client_send(2, "x");
    on_run = close_both;
    loop_turn(loop); /* a and b are gone */
    assert_true(loop->accept.on);
    on_run = NULL;
    while (accepted_n <= CONNECTIONS)
        loop_turn(loop);
    assert_int_equal(loop->conns.n, CONNECTIONS - 1);
}

static int put_off;

static void later_once(brg_conn *bc, int i)
{
    if (strlen(story) < 5)
        put_off += loop_later(bc->loop, bc);
}

/* What is left for later runs behind all that is ready, in its order, in the same turn. */
static void test_later(void **state)
{
    char first[4] = "";

    put_off = 0;
    open_connections(3);
    for (int i = 0; i < 3; i++)
        client_send(i, "x");
    on_run = later_once;
    loop_turn(loop);
    assert_int_equal(put_off, 3);
    assert_int_equal(strlen(story), 7);
    memcpy(first, story + 1, 3);
    assert_string_equal(story + 4, first);
    assert_int_equal(loop->turn.later_n, 0);
}

/* One alone waits for nobody. */
static void test_later_alone(void **state)
{
    put_off = 0;
    open_connections(2);
    client_send(1, "x");
    on_run = later_once;
    loop_turn(loop);
    assert_string_equal(story, "Rb");
    assert_int_equal(put_off, 0);
}

static void later_twice(brg_conn *bc, int i)
{
    put_off += loop_later(bc->loop, bc);
    if (strlen(story) == 1 + 2 * 2)
        on_run = NULL;
}

/* It may be left again, as long as others are. */
static void test_later_again(void **state)
{
    put_off = 0;
    open_connections(2);
    client_send(0, "x");
    client_send(1, "y");
    on_run = later_twice;
    loop_turn(loop);
    assert_int_equal(put_off, 4);
    assert_int_equal(strlen(story), 7);
}

static void later_and_close(brg_conn *bc, int i)
{
    loop_later(bc->loop, bc);
    loop_close(bc->loop, bc);
}

static void test_later_and_closed(void **state)
{
    open_connections(2);
    client_send(0, "x");
    client_send(1, "y");
    on_run = later_and_close;
    loop_turn(loop);
    assert_int_equal(strlen(story), 3);
    assert_int_equal(loop->conns.n, 0);
    assert_int_equal(loop->spare.conns_n, 2);
}

/* Of a client that sends on and on a turn drops a bounded piece. */
static void test_what_is_dropped(void **state)
{
    static char much[100000];

    open_connections(1);
    conn_enter(conns[0], CONN_LINGER);
    assert_int_equal(send(clients[0], much, sizeof much, MSG_DONTWAIT), sizeof much);
    conns[0]->rd_ready = 1;
    conn_fill(conns[0]);
    assert_true(conns[0]->rd_ready); /* more is there */
    conn_fill(conns[0]);
    assert_false(conns[0]->rd_ready);
}

static void look_for_the_end(brg_conn *bc, int i)
{
    if (!bc->read_eof)
        conn_fill(bc);
    assert_true(bc->read_eof);
}

static void test_the_client_leaves(void **state)
{
    open_connections(1);
    client_send(0, "last");
    shutdown(clients[0], SHUT_WR);
    on_run = look_for_the_end;
    loop_turn(loop);
    assert_string_equal(story, "Ra");
    assert_int_equal(conn_in_size(conns[0]), 4);
}

static void request_ends(brg_conn *bc, int i)
{
    bc->loop->turn.ended_n++;
}

/* The hook runs at the end of a turn in which a request ended, and once a second. */
static void test_turn_end(void **state)
{
    open_connections(1);
    client_send(0, "x");
    loop_turn(loop);
    assert_string_equal(story, "Ra");
    client_send(0, "y");
    on_run = request_ends;
    loop_turn(loop);
    assert_string_equal(story, "RaRaE");
    loop->turn.end_last = loop->monotonic - apr_time_from_sec(1);
    loop_wake(loop);
    loop_turn(loop);
    assert_string_equal(story, "RaRaEE");
}

/* What is to be dropped at once is dropped, in whatever state. */
static void test_drop(void **state)
{
    open_connections(2);
    thread_self_end();
    atomic_store(&loops_phase, LOOPS_DROP);
    loop_main(loop);
    atomic_store(&loops_phase, LOOPS_RUN);
    assert_int_equal(loop->conns.n, 0);
    assert_null(loop_self());
}

/* A process that ends waits for what is under way, and accepts what waits already, but nothing new. */
static void test_drain(void **state)
{
    open_connections(1);
    clients[1] = client_connect();
    thread_self_end();
    atomic_store(&loops_phase, LOOPS_DRAIN);
    shutdown(clients[0], SHUT_WR);
    on_run = close_both;
    loop_main(loop);
    atomic_store(&loops_phase, LOOPS_RUN);
    assert_int_equal(accepted_n, 2);
    assert_int_equal(loop->conns.n, 0);
    assert_int_equal(listener.fd, -1);
}

static int group_setup(void **state)
{
    apr_pool_t *hooks;

    apr_initialize();
    apr_pool_create(&hooks, NULL);
    apr_hook_global_pool = hooks;
    brg_hook_turn_end(turn_ends, NULL, NULL, APR_HOOK_MIDDLE);
    apr_hook_sort_all();
    return 0;
}

/* What loops write with each request, and what is taken from the same pool next. */
static void test_no_line_is_shared(void **state)
{
    const void *const own[] = {loop, loop->workers, loop->score, loop->figures};
    char *before = apr_palloc(pool, 1), *lines = loop_lines_calloc(pool, LOOP_SCORE_LINE + 1);
    char *after = apr_palloc(pool, 1);

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_int_equal((uintptr_t)own[i] % LOOP_SCORE_LINE, 0);
    assert_int_equal(sizeof(loop_score) % LOOP_SCORE_LINE, 0);
    assert_int_equal((uintptr_t)lines % LOOP_SCORE_LINE, 0);
    assert_true((uintptr_t)before / LOOP_SCORE_LINE != (uintptr_t)lines / LOOP_SCORE_LINE);
    assert_true((uintptr_t)after / LOOP_SCORE_LINE !=
                (uintptr_t)(lines + LOOP_SCORE_LINE) / LOOP_SCORE_LINE);
}

/* So the C library need not mark system calls of this thread (thread_self_uncancelled()). */
static void test_a_loop_is_never_cancelled(void **state)
{
    int enabled, type;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &enabled);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    assert_int_equal(enabled, PTHREAD_CANCEL_DISABLE);
    assert_int_equal(type, PTHREAD_CANCEL_ASYNCHRONOUS);
}

/* The last one: nothing is posted afterwards. */
static void test_outside(void **state)
{
    thread_self_end();
    assert_true(loops_outside_begin());
    loops_outside_end();
    loop_notes_end();
    assert_false(loops_outside_begin());
    assert_false(loops_outside_begin());
}

#define TURN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TURN(test_no_line_is_shared),
        TURN(test_a_loop_is_never_cancelled),
        TURN(test_reads_then_watches_then_runs),
        TURN(test_an_idle_turn_looks_at_nothing),
        TURN(test_again),
        TURN(test_later),
        TURN(test_later_alone),
        TURN(test_later_again),
        TURN(test_later_and_closed),
        TURN(test_closed_in_this_turn),
        TURN(test_closed_on_the_list),
        TURN(test_deadlines),
        TURN(test_silent_ones_make_room),
        TURN(test_what_makes_room_lingers_shortly),
        TURN(test_worker),
        TURN(test_no_room),
        TURN(test_what_is_dropped),
        TURN(test_the_client_leaves),
        TURN(test_turn_end),
        TURN(test_drop),
        TURN(test_drain),
        cmocka_unit_test(test_outside),
    };

    return cmocka_run_group_tests(tests, group_setup, NULL);
}
