/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: starts server processes, replaces dead ones, carries out signals.
 *
 * The main program calls it through ap_run_mpm once per configuration. Returning OK means "read the
 * configuration again and come back", anything else "the end". Server processes live on over that:
 * they are told to go only when those of the new configuration are up. All that has to survive
 * therefore lives in static variables and the heap, never in pconf.
 */
#include "log_watch.h"
#include "sandbox.h"
#include "supervisor_parts.h"
#include "brigade/assert.h"
#include "generation.h"
#include "listen_sockets.h"
#include "notify.h"
#include "pidfile.h"
#include "figures.h"
#include "scores.h"
#include "supervised.h"
#include "trial.h"

#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "unixd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

#define SUP_DAEMONS_US APR_USEC_PER_SEC /* for requests that daemons of modules answer */
#define SUP_MONITOR_US (10 * APR_USEC_PER_SEC)
/* Rotation moves log files away, makes new ones, and often asks for a reload: wait until it has done both. */
#define SUP_LOGS_US APR_USEC_PER_SEC

static struct {
    int started;             /* a first configuration runs */
    int was_graceful;        /* how the processes of the last configuration are to end */
    int served;              /* all processes were up once */
    ap_generation_t serving; /* the newest generation that was complete once */
    apr_time_t monitor;      /* when modules are next asked */
    apr_time_t logs;         /* when log files are compared next; 0: not before one is touched */
} sup;

void sup_take_over(ap_generation_t serving)
{
    BRG_ASSERT(!sup.started && serving < mpm_generation);
    sup.started = 1;
    sup.was_graceful = 1;
    sup.serving = serving;
    ap_unixd_mpm_get_retained_data()->my_generation = mpm_generation;
}

ap_generation_t sup_serving(void)
{
    return sup.serving;
}

/* ---- listening ---- */

/* 1 if processes of a generation have not ended. */
static int sup_generation_lives(int generation)
{
    for (const sup_process *c = sup_processes; c; c = c->next)
        if (c->generation == generation)
            return 1;
    return 0;
}

int supervisor_open(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int startup = !sup.started;

    BRG_ASSERT(sup_is_supervisor());
    listen_set_lives(sup_generation_lives);
    if (trial_runs() ? listen_try(s) > 0 : ap_setup_listeners(s) > 0)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_ALERT | (startup ? APLOG_STARTUP : 0), 0, startup ? NULL : s,
                 "no listening sockets available, shutting down");
    return !OK;
}

/* ---- one generation ---- */

static int sup_scoreboard(server_rec *s)
{
    /* Two generations side by side, and several that are slow to go. */
    int processes = (mpm_settings.prefork ? 2 : 3) * mpm_processes_most() + 16;
    scoreboard_limits limits = {.loops = mpm_loops(),
                                .generation = mpm_generation,
                                .totals_stay = sup.was_graceful && ap_exists_scoreboard_image()};

    limits.processes =
        mpm_settings.server_limit > processes ? mpm_settings.server_limit : processes;
    limits.threads = limits.loops + mpm_workers_most();
    BRG_ASSERT(limits.processes > mpm_processes_most());
    scoreboard_set_limits(&limits);
    if (ap_run_pre_mpm(s->process->pool, SB_SHARED) != OK)
        return -1;
    ap_scoreboard_image->global->running_generation = mpm_generation;
    figures_name_hosts(s, mpm_generation);
    return 0;
}

/* Each process model of Apache has numbers of its own for messages that say the same. */
#define SUP_NUMBERED(of_event, of_prefork, text) \
    (mpm_settings.prefork ? APLOGNO(of_prefork) text : APLOGNO(of_event) text)

static void sup_announce(apr_pool_t *plog, server_rec *s)
{
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                 SUP_NUMBERED(00489, 00163, "%s configured -- resuming normal operations"),
                 ap_get_server_description());
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s, SUP_NUMBERED(00490, 00164, "Server built: %s"),
                 ap_get_server_built());
    ap_log_command_line(plog, s);
    ap_log_mpm_common(s);
}

static void sup_say_end(server_rec *s)
{
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                 SUP_NUMBERED(00491, 00169, "caught SIGTERM, shutting down"));
}

static void sup_set_state(int state)
{
    BRG_ASSERT(state == AP_MPMQ_RUNNING || state == AP_MPMQ_STOPPING);
    mpm_state = state;
    ap_unixd_mpm_get_retained_data()->mpm_state = state;
}

static int sup_begin(apr_pool_t *pconf, apr_pool_t *plog, server_rec *s)
{
    BRG_ASSERT(mpm_state != AP_MPMQ_STOPPING);
    /* At a reload the process has its number still, and the old file names it. */
    if (pidfile_log(pconf, ap_pid_fname) != APR_SUCCESS && !sup.started)
        return -1;
    sup_signals_reading(0);
    sandbox_prepare(pconf, s);
    if (sup_signals_init() < 0 || sup_scoreboard(s) < 0) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s, "the supervisor cannot start");
        return -1;
    }
    sup_spare_begin();
    log_watch_adopt();
    /* A file moved between its opening and its watch has told nobody. */
    sup.logs = clock_monotonic() + SUP_LOGS_US;
    sup.served = 0;
    sup.monitor = clock_monotonic() + SUP_MONITOR_US;
    sup_set_state(AP_MPMQ_RUNNING);
    sup_announce(plog, s);
    return 0;
}

/* ---- waiting ---- */

/* None while the server ends. */
static const supervised_work *sup_work(apr_time_t deadline)
{
    return mpm_state == AP_MPMQ_RUNNING && !deadline ? supervised_get() : NULL;
}

static int sup_poll_ms(apr_time_t now, apr_time_t deadline)
{
    const supervised_work *work = sup_work(deadline);
    apr_time_t until = sup.monitor;
    apr_time_t due[] = {sup_children_due(), sup_spare_due(), work ? work->due() : 0, notify_due(),
                        sup.logs,           deadline,        sup_stalls_due()};

    for (size_t i = 0; i < sizeof due / sizeof *due; i++)
        if (due[i] && due[i] < until)
            until = due[i];
    BRG_ASSERT(until <= now + SUP_MONITOR_US);
    return until <= now ? 0 : (int)((until - now + 999) / 1000);
}

static int sup_count(void)
{
    int n = 0;

    for (sup_process *c = sup_processes; c; c = c->next)
        n++;
    return n;
}

static void sup_logs_changed(void)
{
    log_watch_drain();
    if (!sup.logs)
        sup.logs = clock_monotonic() + SUP_LOGS_US;
}

/* @return 1 if log files were moved: a graceful reload opens them anew */
static int sup_logs_look(server_rec *s)
{
    if (!sup.logs || clock_monotonic() < sup.logs)
        return 0;
    sup.logs = 0;
    if (!log_watch_moved())
        return 0;
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                 "log files were moved or removed: they are opened anew");
    return 1;
}

void sup_wait_for_news(apr_time_t deadline)
{
    const supervised_work *work = sup_work(deadline);
    int n = sup_count(), i = 1;
    struct pollfd *fds = ap_calloc((size_t)n + 3, sizeof *fds);
    sup_process *c;

    fds[0] = (struct pollfd){.fd = sup_signals_fd(), .events = POLLIN};
    for (c = sup_processes; c; c = c->next)
        fds[i++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
    BRG_ASSERT(i == n + 1);
    fds[i] = (struct pollfd){.fd = work ? work->fd() : -1, .events = POLLIN};
    fds[n + 2] = (struct pollfd){.fd = log_watch_fd(), .events = POLLIN};
    if (poll(fds, (nfds_t)n + 3, sup_poll_ms(clock_monotonic(), deadline)) > 0) {
        for (c = sup_processes, i = 1; c; c = c->next, i++)
            if (c->fd >= 0 && fds[i].revents)
                sup_children_hear(c);
        if (fds[n + 2].revents)
            sup_logs_changed();
    }
    free(fds);
    sup_stalls_look();
    sup_signals_drain();
}

static void sup_monitor(apr_pool_t *pconf, server_rec *s)
{
    apr_time_t now = clock_monotonic();

    if (now < sup.monitor)
        return;
    sup.monitor = now + SUP_MONITOR_US;
    listen_restore();
    ap_run_monitor(pconf, s);
}

/* ---- the end ---- */

/* Wait until all processes are gone, or the deadline (0: none) is past. 1: none is left; -1: cut
 * short. */
static int sup_await_end(apr_pool_t *pconf, server_rec *s, apr_time_t deadline)
{
    sup_children_want(0);
    while (sup_processes && (!deadline || clock_monotonic() < deadline)) {
        sup_wait_for_news(deadline);
        sup_children_reap(pconf, s);
        notify_look();
        if (sup_signals_take().terminate)
            return -1;
    }
    return sup_processes == NULL;
}

void sup_terminate(apr_pool_t *pconf, server_rec *s)
{
    BRG_ASSERT(sup_is_supervisor());
    upgrade_complete();
    notify_stopping();
    sup_set_state(AP_MPMQ_STOPPING);
    sup_children_stop_all(-1, 0);
    while (sup_await_end(pconf, s, clock_monotonic() + SUP_TERMINATE_US) < 0)
        continue; /* asked once more: no reason to wait less */
    sup_children_kill();
    sup_await_end(pconf, s, clock_monotonic() + SUP_TERMINATE_US);
    listen_socket_close_all();
    pidfile_remove_logged(pconf);
}

/* Serve on until load balancers have seen that this server is about to end. A second order to end gracefully
 * ends that at once. -1: an order to end at once came */
static int sup_drain(apr_pool_t *pconf, server_rec *s)
{
    const apr_time_t deadline = clock_monotonic() + apr_time_from_sec(mpm_settings.drain_seconds);
    sup_requests asked = {0};

    scoreboard_set_draining();
    if (mpm_settings.drain_seconds)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "serving on for %d seconds, while readiness says 503",
                     mpm_settings.drain_seconds);
    while (!asked.terminate && !asked.graceful_stop && clock_monotonic() < deadline) {
        sup_children_start(pconf, s);
        sup_wait_for_news(deadline);
        sup_children_reap(pconf, s);
        sup_spare_look(s);
        notify_look();
        asked = sup_signals_take();
        if (asked.restart || asked.graceful || asked.upgrade)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "the server is about to end: it takes no new configuration");
    }
    return asked.terminate ? -1 : 0;
}

void sup_end_gracefully(apr_pool_t *pconf, server_rec *s)
{
    const apr_time_t deadline =
        ap_graceful_shutdown_timeout
            ? clock_monotonic() + apr_time_from_sec(ap_graceful_shutdown_timeout)
            : 0;

    sup_set_state(AP_MPMQ_STOPPING);
    listen_socket_close_all();
    pidfile_remove_logged(pconf);
    sup_children_stop_all(-1, 1);
    if (sup_await_end(pconf, s, deadline) != 1)
        sup_terminate(pconf, s);
}

static void sup_graceful_stop(apr_pool_t *pconf, server_rec *s)
{
    BRG_ASSERT(mpm_state == AP_MPMQ_RUNNING);
    upgrade_complete();
    notify_stopping();
    if (sup_drain(pconf, s))
        sup_terminate(pconf, s);
    else
        sup_end_gracefully(pconf, s);
}

/* ---- the loop ---- */

typedef enum { SUP_GO_ON, SUP_RELOAD, SUP_END, SUP_FAILED } sup_verdict;

/* mod_wsgi starts its daemons with the configuration, and they end with it, while processes of the
 * old configuration would still send them requests. So these processes end first; a client that connects
 * meanwhile waits in the queues of the sockets, which stay open. */
static int sup_has_daemons(void)
{
    return ap_find_linked_module("mod_wsgi.c") != NULL;
}

static void sup_end_before_daemons(apr_pool_t *pconf, server_rec *s)
{
    apr_time_t deadline = clock_monotonic() + SUP_DAEMONS_US;

    sup_children_stop_all(-1, 1);
    sup_children_want(0);
    while (sup_processes && clock_monotonic() < deadline && !sup_signals_end_is_asked()) {
        sup_wait_for_news(deadline);
        sup_children_reap(pconf, s);
    }
}

typedef enum { SUP_BY_RESTART, SUP_BY_GRACEFUL, SUP_BY_UPGRADE } sup_way;

static void sup_log_reload(server_rec *s, sup_way way)
{
    if (way == SUP_BY_UPGRADE)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "SIGUSR2 received.  %s takes over",
                     upgrade_program());
    else if (way == SUP_BY_GRACEFUL && mpm_settings.prefork)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     APLOGNO(00171) "Graceful restart requested, doing restart");
    else if (way == SUP_BY_GRACEFUL)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     APLOGNO(00493) "%s received.  Doing graceful restart", AP_SIG_GRACEFUL_STRING);
    else
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     SUP_NUMBERED(00494, 00173, "SIGHUP received.  Attempting to restart"));
}

static sup_verdict sup_reload(apr_pool_t *pconf, server_rec *s, sup_way way)
{
    int graceful = way != SUP_BY_RESTART;

    BRG_ASSERT(sup.started && sup_is_supervisor());
    sup_log_reload(s, way);
    notify_reloading();
    if (!(way == SUP_BY_UPGRADE ? upgrade_check(s->process) : conf_test_in_child(s->process, 0))) {
        notify_ready(); /* with its old configuration */
        return SUP_GO_ON;
    }
    /* A generation replaced before it took over: its predecessor still serves. */
    if (!sup.served && mpm_generation)
        sup_children_stop_all(sup.serving, 1);
    if (graceful && sup_has_daemons())
        sup_end_before_daemons(pconf, s);
    sup.was_graceful = graceful;
    ap_unixd_mpm_get_retained_data()->was_graceful = graceful;
    if (way == SUP_BY_UPGRADE)
        upgrade_ask();
    return SUP_RELOAD;
}

static sup_verdict sup_obey(apr_pool_t *pconf, server_rec *s)
{
    sup_requests asked = sup_signals_take();

    if (asked.terminate) {
        sup_terminate(pconf, s);
        sup_say_end(s);
        return SUP_END;
    }
    if (asked.graceful_stop) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     SUP_NUMBERED(00492, 00170, "caught %s, shutting down gracefully"),
                     AP_SIG_GRACEFUL_STOP_STRING);
        sup_graceful_stop(pconf, s);
        return SUP_END;
    }
    if (asked.upgrade)
        return sup_reload(pconf, s, SUP_BY_UPGRADE);
    if (sup_logs_look(s))
        asked.graceful = 1;
    if (asked.restart || asked.graceful)
        return sup_reload(pconf, s, asked.restart ? SUP_BY_RESTART : SUP_BY_GRACEFUL);
    return SUP_GO_ON;
}

/* Processes of the last configuration go when those of the new one can take over. */
static void sup_hand_over(void)
{
    if (sup.served || !sup_children_complete())
        return;
    BRG_ASSERT(sup.serving <= mpm_generation);
    sup.served = 1;
    sup.serving = mpm_generation;
    sup_reading_failed(0);
    upgrade_complete();
    listen_serves();
    sup_children_stop_all(mpm_generation, sup.was_graceful);
    daemon_ready();
    notify_ready();
}

static sup_verdict sup_turn(apr_pool_t *pconf, server_rec *s)
{
    sup_children_start(pconf, s);
    sup_wait_for_news(0);
    if (sup_children_reap(pconf, s) == APEXIT_CHILDFATAL && !sup.served &&
        (!mpm_generation || upgrade_is_under_way())) {
        if (!upgrade_is_under_way())
            sup_terminate(pconf, s);
        ap_log_error(APLOG_MARK, APLOG_ALERT, 0, s, "no server process could start: giving up");
        return SUP_FAILED;
    }
    sup_hand_over();
    if (upgrade_is_under_way() && sup_signals_is_late()) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, 0, s,
                     "the server processes are not up in time (ReloadTimeout): giving up");
        return SUP_FAILED;
    }
    sup_children_retire();
    if (sup.served)
        sup_spare_look(s);
    sup_monitor(pconf, s);
    notify_look();
    if (supervised_get())
        supervised_get()->look();
    return sup_obey(pconf, s);
}

static int sup_run_one_process(apr_pool_t *pconf, apr_pool_t *plog, server_rec *s)
{
    if (sup_signals_one_process() < 0)
        return !OK;
    if (pidfile_log(pconf, ap_pid_fname) != APR_SUCCESS || sup_scoreboard(s) < 0)
        return !OK;
    sandbox_prepare(pconf, s);
    scoreboard_slot_start(0, getpid(), mpm_generation);
    signal(SIGPIPE, SIG_IGN);
    sup_announce(plog, s);
    notify_ready();
    server_process_run(pconf, s, 0, 0, -1);
    ap_remove_pid(pconf, ap_pid_fname);
    sup_say_end(s);
    return DONE;
}

int supervisor_run(apr_pool_t *pconf, apr_pool_t *plog, server_rec *s)
{
    sup_verdict verdict;
    int began;

    BRG_ASSERT(sup_is_supervisor());
    if (mpm_one_process())
        return sup_run_one_process(pconf, plog, s);
    conf_fault_phase();
    began = sup_begin(pconf, plog, s) == 0;
    if (!began)
        conf_fault_found("the supervisor cannot start");
    conf_fault_end();
    if (began) {
        sup.started = 1;
        do
            verdict = sup_turn(pconf, s);
        while (verdict == SUP_GO_ON);
        if (verdict != SUP_RELOAD)
            return verdict == SUP_END ? DONE : !OK;
    } else if (sup.started && !upgrade_is_under_way())
        sup_reading_failed(sup_has_failed() + 1); /* processes of the one before serve on */
    else
        return !OK;
    /* The process that reads the new configuration is of the new generation: modules name files by it. */
    ap_unixd_mpm_get_retained_data()->my_generation = ++mpm_generation;
    return OK;
}
