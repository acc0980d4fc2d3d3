/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's table of processes, with processes: sup_children_start() forks them, and in place of
 * server_process_run() they obey the test (this program is linked with --wrap). The clock is the test's too.
 * test_supervisor_entries.c has entries without processes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <apr_general.h>
#include "http_main.h"
#include "scores.h"
#include "supervisor_parts.h"

#define PROCESSES 4
#define SLOTS 16
#define MS 1000 /* microseconds */

int __wrap_server_process_run(apr_pool_t *pconf, server_rec *s, int index, int slot, int fd);
int __wrap_clock_gettime(clockid_t which, struct timespec *out);

static apr_pool_t *pool;
static server_rec *server;
static int command[SLOTS][2]; /* from the test to the process in a slot */
static apr_time_t test_now;

/* Time stands still until a test moves it. */
int __wrap_clock_gettime(clockid_t which, struct timespec *out)
{
    *out = (struct timespec){.tv_sec = test_now / APR_USEC_PER_SEC,
                             .tv_nsec = test_now % APR_USEC_PER_SEC * 1000};
    return 0;
}

/* In the process: U and W are said to the supervisor, A accepts a connection, O ends with the order that came as
 * status, K kills, F is an end that no restart mends. The test's end ends it. */
int __wrap_server_process_run(apr_pool_t *pconf, server_rec *s, int index, int slot, int fd)
{
    char c, order;

    close(command[slot][1]);
    assert_false(sup_is_supervisor());
    while (read(command[slot][0], &c, 1) == 1)
        switch (c) {
        case 'U':
        case 'W':
            order = c == 'U' ? SERVER_UP : SERVER_WORN;
            if (send(fd, &order, 1, 0) != 1)
                _exit(1);
            break;
        case 'A':
            loop_score_add(&scoreboard_loop(slot, 0)->accepted, 1);
            order = SERVER_UP; /* so that the test sees when */
            if (send(fd, &order, 1, 0) != 1)
                _exit(1);
            break;
        case 'O': {
            struct pollfd p = {.fd = fd, .events = POLLIN};

            while (poll(&p, 1, -1) < 0)
                continue;
            _exit(recv(fd, &order, 1, 0) == 1 ? order : 1);
        }
        case 'K':
            raise(SIGKILL);
            break;
        default:
            _exit(c == 'F' ? APEXIT_CHILDFATAL : 0);
        }
    _exit(0);
}

static int group_setup(void **state)
{
    static const scoreboard_limits limits = {.processes = SLOTS, .threads = 2, .loops = 1};

    apr_initialize();
    apr_pool_create(&pool, NULL);
    ap_pglobal = pool;
    server = apr_pcalloc(pool, sizeof *server);
    scoreboard_set_limits(&limits);
    return ap_create_scoreboard(pool, SB_SHARED);
}

static int group_teardown(void **state)
{
    ap_cleanup_scoreboard(NULL);
    ap_pglobal = NULL;
    apr_pool_destroy(pool);
    return 0;
}

static int live_setup(void **state)
{
    test_now = 1000 * APR_USEC_PER_SEC;
    sup_processes = NULL;
    for (int i = 0; i < SLOTS; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, command[i]), 0);
    sup_children_want(PROCESSES);
    return 0;
}

/* Wait until it has ended; what is reaped then is known. */
static void await_end(const sup_process *c)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT) < 0)
        assert_int_equal(errno, EINTR);
}

static int live_teardown(void **state)
{
    sup_children_want(0);
    sup_children_kill();
    for (sup_process *c = sup_processes; c; c = c->next)
        await_end(c);
    sup_children_reap(pool, server);
    assert_null(sup_processes);
    for (int i = 0; i < SLOTS; i++) {
        close(command[i][0]);
        close(command[i][1]);
    }
    return 0;
}

static void tell(const sup_process *c, char what)
{
    assert_int_equal(write(command[c->slot][1], &what, 1), 1);
}

/* Have a process say something to the supervisor, and let that hear it. */
static void have_say(sup_process *c, char what)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    tell(c, what);
    while (poll(&p, 1, -1) < 0)
        assert_int_equal(errno, EINTR);
    sup_children_hear(c);
}

static int reap_after(const sup_process *c, char what)
{
    tell(c, what);
    await_end(c);
    return sup_children_reap(pool, server);
}

static sup_process *of_index(int index)
{
    for (sup_process *c = sup_processes; c; c = c->next)
        if (c->index == index && c->generation == mpm_generation && !c->worn && !c->stopping)
            return c;
    return NULL;
}

static int count(void)
{
    int n = 0;

    for (sup_process *c = sup_processes; c; c = c->next)
        n++;
    return n;
}

static void start_all_up(void)
{
    assert_int_equal(sup_children_start(pool, server), 0);
    for (int i = 0; i < PROCESSES; i++)
        have_say(of_index(i), 'U');
    assert_true(sup_children_complete());
}

static void test_starts_what_is_wanted(void **state)
{
    unsigned slots = 0;

    assert_true(sup_is_supervisor());
    assert_int_equal(sup_children_due(), 1); /* at once */
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_int_equal(count(), PROCESSES);
    for (sup_process *c = sup_processes; c; c = c->next) {
        assert_true(c->pid > 0 && c->pid != getpid());
        assert_false(slots & 1u << c->slot);
        slots |= 1u << c->slot;
        assert_int_equal(ap_get_scoreboard_process(c->slot)->pid, c->pid);
    }
    assert_int_equal(sup_children_due(), 0);
    assert_int_equal(sup_children_start(pool, server), 0); /* there is nothing to start */
    assert_int_equal(count(), PROCESSES);
    start_all_up();
}

/* One that served for a while, or that a request killed, is replaced at once, in its slot. */
static void test_replaced_at_once(void **state)
{
    int slot;

    start_all_up();
    slot = of_index(2)->slot;
    test_now += 2 * APR_USEC_PER_SEC;
    reap_after(of_index(2), 'K');
    assert_int_equal(count(), PROCESSES - 1);
    assert_int_equal(sup_children_due(), 1);
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_int_equal(of_index(2)->slot, slot);
    have_say(of_index(2), 'U');
    have_say(of_index(2), 'A');
    reap_after(of_index(2), 'K'); /* young, but it had a connection */
    assert_int_equal(sup_children_due(), 1);
}

/* One that dies soon after its start is waited for longer and longer, up to half a minute. */
static void test_back_off(void **state)
{
    apr_time_t delay = 100 * MS;

    start_all_up();
    for (int i = 0; i < 12; i++) {
        reap_after(of_index(1), 'K');
        assert_int_equal(sup_children_due(), test_now + delay);
        test_now += delay - 1;
        assert_int_equal(sup_children_start(pool, server), 0);
        assert_null(of_index(1));
        test_now++;
        assert_int_equal(sup_children_start(pool, server), 0);
        assert_non_null(of_index(1));
        have_say(of_index(1), 'U');
        delay = 2 * delay < 30 * APR_USEC_PER_SEC ? 2 * delay : 30 * APR_USEC_PER_SEC;
    }
    test_now += APR_USEC_PER_SEC;
    reap_after(of_index(1), 'K'); /* this one lived: the next starts at once */
    assert_int_equal(sup_children_due(), 1);
}

/* A reload: the old serve until the new are up, then drain; their slots are free when they have ended. */
static void test_reload_drains_the_old(void **state)
{
    sup_process *old[PROCESSES];

    start_all_up();
    for (int i = 0; i < PROCESSES; i++)
        old[i] = of_index(i);
    mpm_generation++;
    sup_children_want(PROCESSES);
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_int_equal(count(), 2 * PROCESSES);
    assert_false(sup_children_complete());
    for (int i = 0; i < PROCESSES; i++)
        have_say(of_index(i), 'U');
    assert_true(sup_children_complete());
    sup_children_stop_all(mpm_generation, 1);
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_true(old[i]->stopping);
        tell(old[i], 'O');
        await_end(old[i]);
        assert_int_equal(waitpid(old[i]->pid, &status, WNOHANG), old[i]->pid);
        assert_int_equal(WEXITSTATUS(status), SUP_GRACEFUL);
        old[i]->pid = fork(); /* its status is taken: another that ends in its place */
        if (old[i]->pid == 0)
            _exit(0);
        await_end(old[i]);
        sup_children_reap(pool, server);
        assert_int_equal(count(), 2 * PROCESSES - i - 1);
        assert_int_equal(sup_children_due(), 0);
    }
    assert_true(sup_children_complete());
}

/* A slot is free when its process has ended, not before; who finds none waits. */
static void test_no_slot(void **state)
{
    sup_children_want(SLOTS);
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_int_equal(count(), SLOTS);
    mpm_generation++;
    sup_children_want(1);
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_null(of_index(0));
    assert_true(sup_children_due() > test_now);
    sup_children_stop(sup_processes, 1);
    reap_after(sup_processes, 'X');
    assert_int_equal(sup_children_due(), 1);
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_non_null(of_index(0));
}

/* ---- a model ---- */

typedef struct model_index {
    pid_t pid; /* 0: none */
    int up;
    apr_time_t started, delay, due;
} model_index;

static model_index model[PROCESSES];
static int model_others; /* processes of no index: worn ones, and those that are told to end */

static void model_check(void)
{
    apr_time_t due = 0, said = sup_children_due();
    int complete = 1, n = model_others;

    for (int i = 0; i < PROCESSES; i++) {
        sup_process *c = of_index(i);

        assert_int_equal(c ? c->pid : 0, model[i].pid);
        assert_int_equal(c ? c->up : 0, model[i].up);
        complete &= model[i].up;
        n += model[i].pid != 0;
        if (!model[i].pid && (!due || model[i].due < due))
            due = model[i].due ? model[i].due : 1;
    }
    assert_int_equal(sup_children_complete(), complete);
    if (!due || due > test_now)
        assert_int_equal(said, due);
    else
        assert_true(said > 0 && said <= test_now); /* at once */
    assert_int_equal(count(), n);
}

static void model_start(void)
{
    assert_int_equal(sup_children_start(pool, server), 0);
    for (int i = 0; i < PROCESSES; i++)
        if (!model[i].pid && model[i].due <= test_now) {
            assert_non_null(of_index(i));
            model[i].pid = of_index(i)->pid;
            model[i].started = test_now;
            model[i].due = 0;
        }
}

static void model_die(int i)
{
    model_index *m = &model[i];

    reap_after(of_index(i), 'K');
    if (test_now - m->started >= APR_USEC_PER_SEC)
        m->delay = 0;
    else
        m->delay = m->delay ? 2 * m->delay : 100 * MS;
    if (m->delay > 30 * APR_USEC_PER_SEC)
        m->delay = 30 * APR_USEC_PER_SEC;
    m->due = m->delay ? test_now + m->delay : 0;
    m->pid = m->up = 0;
}

static void model_end_others(void)
{
    for (sup_process *c = sup_processes, *next; c; c = next) {
        next = c->next;
        if (c->stopping) {
            reap_after(c, 'X');
            model_others--;
        }
    }
}

static void model_reload(void)
{
    model_end_others();
    mpm_generation++;
    sup_children_want(PROCESSES);
    sup_children_stop_all(mpm_generation, 1);
    model_others = count();
    memset(model, 0, sizeof model);
}

static void model_step(int what, int i)
{
    sup_process *c = of_index(i);

    switch (what) {
    case 0:
    case 1:
        model_start();
        break;
    case 2:
        if (c && !c->up) {
            have_say(c, 'U');
            model[i].up = 1;
        }
        break;
    case 3:
        if (c)
            model_die(i);
        break;
    case 4:
        if (c && c->up && model_others < SLOTS - PROCESSES) {
            have_say(c, 'W');
            model_others++;
            model[i] = (model_index){.delay = model[i].delay};
        }
        break;
    case 5:
        sup_children_retire();
        for (c = sup_processes; c; c = c->next)
            if (c->worn && c->generation == mpm_generation)
                assert_int_equal(c->stopping, model[c->index].up || c->stopping);
        break;
    case 6:
        model_end_others();
        break;
    case 7:
        if (i == 0)
            model_reload();
        break;
    default:
        test_now += (apr_time_t)(rand() % 2000) * MS;
    }
}

/* Random starts, deaths, reloads, replacements: after each step the table is what the model says. */
static void test_random_steps(void **state)
{
    srand(9);
    memset(model, 0, sizeof model);
    model_others = 0;
    for (int n = 0; n < 600; n++) {
        model_step(rand() % 9, rand() % PROCESSES);
        model_check();
    }
    mpm_generation++;
}

/* What no restart mends is told to the caller. Last, since the count of early deaths stays. */
static void test_fatal(void **state)
{
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_int_equal(reap_after(of_index(0), 'F'), APEXIT_CHILDFATAL);
    for (int i = 1; i < PROCESSES; i++)
        reap_after(of_index(i), 'K');
    test_now += APR_USEC_PER_SEC;
    assert_int_equal(sup_children_start(pool, server), 0);
    assert_int_equal(reap_after(of_index(0), 'K'), APEXIT_CHILDFATAL);
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, live_setup, live_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(test_starts_what_is_wanted),
        LIVE(test_replaced_at_once),
        LIVE(test_back_off),
        LIVE(test_reload_drains_the_old),
        LIVE(test_no_slot),
        LIVE(test_random_steps),
        LIVE(test_fatal),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
