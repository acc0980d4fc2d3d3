/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server process: set-up after the fork, then a main thread that only waits for orders while the
 * loops serve.
 *
 *   fork
 *     process_set_up   privileges dropped, child_init, loops started
 *     process_serve    loops run; waits for an order to end
 *     process_stop     loops stopped and joined
 *     process_end      pools destroyed
 *   exit
 */
#include "kept_memory.h"
#include "vhosts.h"
#include "clock.h"
#include "brigade/assert.h"
#include "response_cache.h"
#include "h1_conn.h"
#include "sandbox.h"
#include "supervisor_parts.h"
#include "connection.h"
#include "core_settings.h"
#include "crash.h"
#include "descriptor_limit.h"
#include "listen_sockets.h"
#include "loops.h"
#include "scores.h"
#include "thread_self.h"

#include "http_config.h"
#include "http_log.h"
#include "brigade/memory.h"
#include "memory_settings.h"
#include "out_of_memory.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

#define PROCESS_SPARE_FDS 128        /* descriptors that are not connections */
#define PROCESS_JOIN_US (500 * 1000) /* for loops that are to drop everything */
#define PROCESS_LOOK_MS 1000         /* how often counters and workers are looked at */
#define PROCESS_IDLE_MS 2000         /* how often memory of idle threads is looked for */

typedef enum { ORDER_NONE, ORDER_GRACEFUL, ORDER_TERMINATE } process_order;

#define PROCESS_TAG 0x70726f63u

typedef struct server_process {
    uint32_t tag;     /* PROCESS_TAG */
    apr_pool_t *pool; /* pchild */
    server_rec *s;
    int slot, fd, signal_fd;
    int said_worn;
    apr_time_t trimmed;   /* when memory of idle threads was looked for, monotonic */
    apr_time_t watched;   /* when workers were looked at */
    process_order obeyed; /* with one thread */
} server_process;

/* ---- set-up ---- */

static int process_signals(void)
{
    static const int ours[] = {
        SIGTERM, SIGINT, SIGHUP, AP_SIG_GRACEFUL, AP_SIG_GRACEFUL_STOP, SUP_SIG_UPGRADE};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        sigaddset(&set, ours[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Share the descriptors out: a quarter for files that the caches keep open, some for other files,
 * most for connections. */
static void process_share_descriptors(loops_config *conf)
{
    rlim_t fds = descriptor_limit_raise();
    int all = fds > 1000000 ? 1000000 : (int)fds;
    int most = all > 4 * PROCESS_SPARE_FDS ? all - all / 4 - PROCESS_SPARE_FDS : all / 2;

    BRG_ASSERT(mpm_settings.processes > 0);
    if (mpm_connections() && mpm_connections() < most)
        most = mpm_connections();
    conf->max_connections = most > 0 ? most : 1;
    conf->max_files = all / 4;
    BRG_ASSERT(conf->max_files >= 0);
}

static void process_fail(const server_process *sp, const char *what, apr_status_t rv, int code)
{
    ap_log_error(APLOG_MARK, APLOG_ALERT, rv, sp->s, "server process: %s failed", what);
    exit(code);
}

/* ---- orders ---- */

static void process_say(const server_process *sp, char what)
{
    BRG_ASSERT(what == SERVER_UP || what == SERVER_WORN || what == SERVER_STUCK);
    if (sp->fd >= 0 && send(sp->fd, &what, 1, MSG_NOSIGNAL) != 1)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, errno, sp->s, "cannot write to the supervisor");
}

static process_order process_hear(server_process *sp)
{
    char order;
    ssize_t n = sp->fd >= 0 ? recv(sp->fd, &order, 1, 0) : -1;

    if (n == 1)
        return order == SUP_GRACEFUL ? ORDER_GRACEFUL : ORDER_TERMINATE;
    if (n < 0)
        return ORDER_NONE;
    /* The supervisor is gone. Free the ports for its successor, but finish the requests of clients.
     */
    ap_log_error(APLOG_MARK, APLOG_ALERT, 0, sp->s, "the supervisor died: ending");
    close(sp->fd);
    sp->fd = -1;
    return ORDER_GRACEFUL;
}

static process_order process_signalled(const server_process *sp)
{
    struct signalfd_siginfo info;
    process_order order = ORDER_NONE;

    while (read(sp->signal_fd, &info, sizeof info) == sizeof info) {
        int sig = (int)info.ssi_signo;
        /* A terminal's ^C reaches the whole group; with a supervisor, the order to end comes from
         * there. */
        if (sig == SIGTERM || (sig == SIGINT && sp->fd < 0))
            order = ORDER_TERMINATE;
        else if (sig == AP_SIG_GRACEFUL_STOP && order == ORDER_NONE)
            order = ORDER_GRACEFUL;
        else if (sp->fd < 0 && (sig == SIGHUP || sig == AP_SIG_GRACEFUL || sig == SUP_SIG_UPGRADE))
            ap_log_error(
                APLOG_MARK, APLOG_NOTICE, 0, sp->s,
                "a server of one process (-X) cannot reload its configuration: signal ignored");
    }
    return order;
}

static process_order process_wait(server_process *sp, int ms)
{
    struct pollfd fds[] = {{.fd = sp->signal_fd, .events = POLLIN},
                           {.fd = sp->fd, .events = POLLIN}};
    process_order order = ORDER_NONE, said = ORDER_NONE;

    BRG_ASSERT(sp->signal_fd >= 0);
    if (poll(fds, 2, ms) <= 0)
        return ORDER_NONE;
    if (fds[0].revents)
        order = process_signalled(sp);
    if (sp->fd >= 0 && fds[1].revents)
        said = process_hear(sp);
    return order > said ? order : said;
}

/* ---- running ---- */

/* MaxConnectionsPerChild: ask for a successor, and go on until it serves. */
static void process_check_age(server_process *sp)
{
    uint64_t accepted = 0;

    if (!ap_max_requests_per_child || sp->said_worn)
        return;
    for (int i = 0; i < scoreboard_loops(); i++)
        accepted += loop_score_get(&scoreboard_loop(sp->slot, i)->accepted);
    if (accepted < (uint64_t)ap_max_requests_per_child)
        return;
    sp->said_worn = 1;
    process_say(sp, SERVER_WORN);
}

static void process_check_memory(server_process *sp)
{
    apr_time_t now = clock_monotonic();

    if (now - sp->trimmed < PROCESS_IDLE_MS * 1000)
        return;
    sp->trimmed = now;
    memory_trim_idle();
}

static void process_check_workers(server_process *sp)
{
    apr_time_t now = clock_monotonic();

    if (now - sp->watched < PROCESS_LOOK_MS * 1000)
        return;
    sp->watched = now;
    if (loops_watch_workers(mpm_settings.worker_seconds))
        process_say(sp, SERVER_STUCK);
}

static process_order process_serve(server_process *sp)
{
    process_order order;

    sp->trimmed = clock_monotonic();
    do {
        order = process_wait(sp, PROCESS_LOOK_MS);
        process_check_age(sp);
        process_check_workers(sp);
        if (order == ORDER_NONE)
            process_check_memory(sp);
    } while (order == ORDER_NONE);
    return order;
}

/* ---- one thread ---- */

/* On the loop, which is the main thread too, at the end of each turn. */
static void process_obey_prefork(void *baton, int come)
{
    server_process *sp = baton;
    process_order order;

    BRG_ASSERT_TAG(sp, PROCESS_TAG);
    BRG_ASSERT(mpm_settings.prefork);
    order = come ? process_wait(sp, 0) : ORDER_NONE;
    process_check_age(sp);
    if (order <= sp->obeyed)
        return;
    mpm_state = AP_MPMQ_STOPPING;
    if (sp->obeyed == ORDER_NONE)
        ap_run_child_stopping(sp->pool, order == ORDER_GRACEFUL);
    sp->obeyed = order;
    loops_stop(order == ORDER_GRACEFUL);
}

/* ---- the whole ---- */

const loop_services server_process_services = {.driver = &h1_driver,
                                               .accepted = vhost_of_connection,
                                               .begin = cache_create,
                                               .end = cache_destroy,
                                               .refresh = cache_refresh,
                                               .thread_trim = connection_thread_fini,
                                               .figures = process_figures};

/* Before there are threads: all that it does holds for them too. */
static void process_lock(const server_process *sp)
{
    int rules = sandbox_open(sp->s);

    BRG_ASSERT(sp->pool != NULL);
    memory_keep_process();
    kept_memory_leave();
    if (rules < -1)
        process_fail(sp, "the sandbox", 0, APEXIT_CHILDFATAL);
    if (ap_run_drop_privileges(sp->pool, sp->s) > 0)
        process_fail(sp, "giving up privileges", 0, APEXIT_CHILDFATAL);
    if (sandbox_enter(sp->s, rules) < 0)
        process_fail(sp, "the sandbox", 0, APEXIT_CHILDFATAL);
}

static void process_set_up(server_process *sp, apr_pool_t *pconf, int index)
{
    loops_config conf = {
        .server = sp->s,
        .services = &server_process_services,
        .n_loops = mpm_loops(),
        .processor = mpm_processor,
        .process = index,
        .cache_bytes = mpm_cache_bytes(),
        .n_workers = mpm_workers(),
        .n_workers_most = mpm_workers_most(),
        .n_workers_kept = mpm_workers_kept(),
        .n_workers_all = mpm_workers_all(),
        .workers_full = mpm_workers_full,
        .queue_most = mpm_settings.queue,
        .queue_us = apr_time_from_sec(mpm_settings.queue_seconds),
        .stall_us = mpm_settings.prefork ? 0 : apr_time_from_sec(mpm_settings.stall_seconds),
        .spool_most = (apr_off_t)mpm_settings.spool,
        .spool_total = (apr_off_t)mpm_settings.spool_total,
        .spool_dir = mpm_settings.spool_dir,
        .slot = sp->slot,
        .stack_bytes = ap_thread_stacksize,
        .order_fds = {-1, sp->fd},
        .orders = process_obey_prefork,
        .baton = sp};
    const char *error = memory_conf_apply(sp->s, pconf);
    apr_status_t rv;

    BRG_ASSERT(index >= 0 && index < mpm_processes_most());
    if (error != NULL)
        process_fail(sp, error, 0, APEXIT_CHILDFATAL);
    brg_pool_create_scoped(&sp->pool, pconf, BRG_SCOPE_PROCESS);
    apr_pool_tag(sp->pool, "pchild");
    conf.listeners = listen_for_process(sp->pool, mpm_settings.prefork ? 0 : index, sp->fd < 0);
    process_share_descriptors(&conf);
    if ((sp->signal_fd = process_signals()) < 0)
        process_fail(sp, "signalfd", errno, APEXIT_CHILDFATAL);
    conf.order_fds[0] = sp->signal_fd;
    if (sp->fd < 0 && sup_signals_take().terminate)
        kill(getpid(), SIGTERM); /* it came before there was anyone to read it */
    process_lock(sp);
    thread_unblock_in_forks();
    ap_fatal_signal_setup(sp->s, pconf);
    crash_exit_watch();
    ap_fatal_signal_child_setup(sp->s);
    connection_child_init(sp->slot);
    ap_run_child_init(sp->pool, sp->s);
    if ((rv = loops_start(sp->pool, &conf)) != APR_SUCCESS)
        process_fail(sp, "start of the event loops", rv, APEXIT_CHILDSICK);
    mpm_state = AP_MPMQ_RUNNING;
}

/* 1 when all threads ended. A graceful end has no limit of its own: the supervisor cuts it short.
 */
static int process_stop(server_process *sp, process_order order)
{
    BRG_ASSERT(order != ORDER_NONE && !mpm_settings.prefork);
    mpm_state = AP_MPMQ_STOPPING;
    ap_run_child_stopping(sp->pool, order == ORDER_GRACEFUL);
    if (order == ORDER_GRACEFUL) {
        loops_stop(1);
        while (loops_join(0) != 0) {
            if (process_wait(sp, 20) == ORDER_TERMINATE)
                break;
            process_check_workers(sp);
        }
    }
    loops_stop(0);
    return loops_join(PROCESS_JOIN_US) == 0;
}

static void process_end(server_process *sp, int joined)
{
    if (!joined) {
        /* Threads still run: nothing that they use may be taken from them. */
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, sp->s, "ending with threads at work");
        fflush(NULL);
        _exit(0);
    }
    crash_exit_expected();
    mpm_timer_fini();
    loop_notes_end();
    loops_free();
    apr_pool_destroy(sp->pool);
    close(sp->signal_fd);
}

int server_process_run(apr_pool_t *pconf, server_rec *s, int index, int slot, int fd)
{
    server_process sp = {.tag = PROCESS_TAG, .s = s, .slot = slot, .fd = fd};
    process_order order = ORDER_NONE;

    BRG_ASSERT(slot >= 0 && (fd < 0 || !sup_is_supervisor()));
    oom_set_status(APEXIT_CHILDFATAL); /* no use to start another */
    if (fd >= 0)
        sup_signals_child();
    process_set_up(&sp, pconf, index);
    oom_set_status(1);
    process_say(&sp, SERVER_UP);
    if (fd < 0)
        daemon_ready();
    if (mpm_settings.prefork)
        loops_run_here();
    else
        order = process_serve(&sp);
    process_end(&sp, mpm_settings.prefork || process_stop(&sp, order));
    if (fd >= 0)
        exit(0);
    return 0;
}
