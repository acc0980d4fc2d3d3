/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of the supervisor. Handlers only set flags and make an eventfd readable, so that the main
 * loop can wait for signals, processes and time in one poll(). Nothing is blocked: programs that
 * are started inherit a clean mask.
 */
#include "supervisor_parts.h"
#include "brigade/assert.h"

#include "http_log.h"
#include "http_main.h"
#include "unixd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

static atomic_int sup_flags[NSIG]; /* lock-free: written by a handler */
static int sup_event_fd = -1;

static atomic_int sup_reading; /* a configuration is read in place, which may wait without end */

static void sup_handler(int sig)
{
    static const uint64_t one = 1;
    int saved = errno;

    atomic_store(&sup_flags[sig], 1);
    if ((sig == SIGTERM || sig == SIGINT) && atomic_load(&sup_reading))
        alarm(SUP_READING_SECONDS);
    if (write(sup_event_fd, &one, sizeof one) < 0)
        atomic_store(&sup_flags[sig], 1); /* the counter is full: readable already */
    errno = saved;
}

static const int sup_signals[] = {
    SIGTERM, SIGINT, SIGHUP, AP_SIG_GRACEFUL, AP_SIG_GRACEFUL_STOP, SUP_SIG_UPGRADE, SIGCHLD};

static int sup_install(int sig, void (*handler)(int))
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sigemptyset(&sa.sa_mask);
    sa.sa_handler = handler;
    sa.sa_flags = SA_RESTART | (sig == SIGCHLD ? SA_NOCLDSTOP : 0);
    return sigaction(sig, &sa, NULL);
}

static int sup_open_event(void)
{
    if (sup_event_fd < 0)
        sup_event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return sup_event_fd < 0 ? -1 : 0;
}

/* Whoever was started in the background of a script inherits that ^C is ignored; a server that is
 * still reading its configuration would miss the order to end. */
static void sup_not_ignored(int sig)
{
    struct sigaction sa;

    if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
        sup_install(sig, SIG_DFL);
}

int sup_signals_early(void)
{
    if (sup_open_event() < 0)
        return -1;
    sup_not_ignored(SIGTERM);
    sup_not_ignored(SIGINT);
    for (size_t i = 0; i < sizeof sup_signals / sizeof *sup_signals; i++)
        if (sup_signals[i] != SIGTERM && sup_signals[i] != SIGINT && sup_signals[i] != SIGCHLD &&
            sup_install(sup_signals[i], sup_handler) < 0)
            return -1;
    return 0;
}

int sup_signals_one_process(void)
{
    return sup_install(SIGTERM, sup_handler) | sup_install(SIGINT, sup_handler);
}

int sup_signals_init(void)
{
    if (sup_open_event() < 0)
        return -1;
    for (size_t i = 0; i < sizeof sup_signals / sizeof *sup_signals; i++)
        if (sup_install(sup_signals[i], sup_handler) < 0)
            return -1;
    sup_install(SIGPIPE, SIG_IGN);
    sup_install(SIGXCPU, SIG_DFL);
    sup_install(SIGXFSZ, SIG_IGN); /* a log at its size limit is an error of write(), not our end */
    return 0;
}

void sup_signals_wait(int wait)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof sup_signals / sizeof *sup_signals; i++)
        sigaddset(&set, sup_signals[i]);
    BRG_ASSERT(sigismember(&set, SUP_SIG_UPGRADE) == 1);
    sigprocmask(wait ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
    for (size_t i = 0; wait && i < sizeof sup_signals / sizeof *sup_signals; i++)
        if (atomic_load(&sup_flags[sup_signals[i]]))
            (void)kill(getpid(), sup_signals[i]); /* came, and was not taken yet */
}

int sup_signals_fd(void)
{
    return sup_event_fd;
}

/* The configuration that is read for a reload waits for something (a FIFO, a disk that hangs), and
 * the order to end came a while ago. The table of processes is at rest meanwhile. */
static void sup_give_up_reading(int sig)
{
    sup_children_signal_all(SIGTERM);
    _exit(APEXIT_INIT);
}

void sup_signals_reading(int on)
{
    BRG_ASSERT(sup_is_supervisor());
    sup_install(SIGALRM, on ? sup_give_up_reading : SIG_DFL);
    atomic_store(&sup_reading, on);
    if (!on)
        alarm(0);
    else if (sup_signals_end_is_asked())
        alarm(SUP_READING_SECONDS);
}

/* ---- a time limit ---- */

/* SIGALRM has another use, and modules have timers of their own. */
#define SUP_SIG_LATE (SIGRTMAX - 1)
#define SUP_LATE_AGAIN_SECONDS 5

static struct {
    timer_t timer;
    int runs;
    void (*act)(void);
    atomic_int is_late;
} sup_late;

static void sup_late_handler(int sig)
{
    int again = atomic_exchange(&sup_late.is_late, 1);

    if (sup_late.act && (again || atomic_load(&sup_reading)))
        sup_late.act();
    sup_signals_wake();
}

void sup_signals_time_limit(int seconds, void (*late)(void))
{
    const struct itimerspec at = {.it_value.tv_sec = seconds,
                                  .it_interval.tv_sec = SUP_LATE_AGAIN_SECONDS};
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SUP_SIG_LATE};

    BRG_ASSERT(seconds >= 0 && !seconds == !late);
    sup_late.act = late;
    if (sup_late.runs)
        timer_delete(sup_late.timer);
    sup_late.runs = 0;
    if (!seconds || sup_install(SUP_SIG_LATE, sup_late_handler) ||
        timer_create(CLOCK_MONOTONIC, &how, &sup_late.timer))
        return; /* without timers: without a limit */
    sup_late.runs = 1;
    timer_settime(sup_late.timer, 0, &at, NULL);
}

int sup_signals_is_late(void)
{
    return atomic_load(&sup_late.is_late);
}

int sup_signals_end_is_asked(void)
{
    return atomic_load(&sup_flags[SIGTERM]) || atomic_load(&sup_flags[SIGINT]);
}

void sup_signals_wake(void)
{
    static const uint64_t one = 1;

    BRG_ASSERT(sup_event_fd >= 0);
    if (write(sup_event_fd, &one, sizeof one) < 0)
        return; /* the counter is full: readable already */
}

static int sup_taken(int sig)
{
    return atomic_exchange(&sup_flags[sig], 0);
}

void sup_signals_drain(void)
{
    uint64_t count;

    BRG_ASSERT(sup_event_fd >= 0);
    if (read(sup_event_fd, &count, sizeof count) < 0 && errno != EAGAIN)
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, ap_server_conf, "signal descriptor");
}

sup_requests sup_signals_take(void)
{
    sup_requests r = {0};

    r.terminate = sup_taken(SIGTERM) | sup_taken(SIGINT);
    r.graceful_stop = sup_taken(AP_SIG_GRACEFUL_STOP);
    r.restart = sup_taken(SIGHUP);
    r.graceful = sup_taken(AP_SIG_GRACEFUL);
    r.upgrade = sup_taken(SUP_SIG_UPGRADE);
    r.child = sup_taken(SIGCHLD);
    return r;
}

void sup_signals_child(void)
{
    BRG_ASSERT(!sup_is_supervisor());
    for (size_t i = 0; i < sizeof sup_signals / sizeof *sup_signals; i++)
        sup_install(sup_signals[i], SIG_DFL);
    sup_install(SIGALRM, SIG_DFL);
    sup_install(SUP_SIG_LATE, SIG_DFL);
    sup_late.act = NULL;
    atomic_store(&sup_reading, 0);
    for (size_t i = 0; i < NSIG; i++)
        atomic_store(&sup_flags[i], 0);
    close(sup_event_fd);
    sup_event_fd = -1;
}

/* ---- unixd.h: the same for code that wants to know ---- */

AP_DECLARE(void) ap_unixd_mpm_set_signals(apr_pool_t *pconf, int once_process)
{
    if (sup_signals_init() < 0)
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, ap_server_conf, "signal handlers");
}

AP_DECLARE(ap_unixd_mpm_retained_data *) ap_unixd_mpm_get_retained_data(void)
{
    static const char key[] = "mpm_unixd_retained_data";
    ap_unixd_mpm_retained_data *data = ap_retained_data_get(key);

    if (!data) {
        data = ap_retained_data_create(key, sizeof *data);
        data->mpm_state = AP_MPMQ_STARTING;
    }
    return data;
}
