/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector: a process of the supervisor that reads all sources and is the only one that writes the table.
 *
 *   starting  waits, if the one before died soon
 *   reading   reads each source; the supervisor waits for the first time
 *   looking   once a second whether a file is another one
 */
#include <grp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include "apr_portable.h"
#include "apr_thread_proc.h"
#include "ap_mpm.h"
#include "http_log.h"
#include "http_main.h"
#include "unixd.h"
#include "brigade/assert.h"
#include "asn_module.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

#define SOON_US (30 * APR_USEC_PER_SEC)
#define DELAY_MAX 60 /* seconds */

/* What the supervisor knows of it. */
typedef struct collector {
    const asn_conf *conf;
    apr_pool_t *pool;
    apr_proc_t process;
    apr_time_t started;
    int delay;          /* seconds to wait before the next one reads */
    _Atomic int *tried; /* shared: sources that were read, or could not be */
} collector;

/* What a file was like when it was read. */
typedef struct file_state {
    struct stat stat;
    int tried;
} file_state;

/* ---- the process ---- */

/* Listening sockets above all: they would stay open when the server ends. */
static void close_what_is_of_others(const server_rec *s)
{
    apr_os_file_t log = -1;

    if (s->error_log && apr_os_file_get(&log, s->error_log))
        log = -1;
    if (log > STDERR_FILENO) {
        close_range(STDERR_FILENO + 1, (unsigned)log - 1, 0);
        close_range((unsigned)log + 1, ~0u, 0);
    } else {
        close_range(STDERR_FILENO + 1, ~0u, 0);
    }
}

static void obey_signals(void)
{
    static const int defaults[] = {SIGTERM, SIGINT,  SIGCHLD, SIGPIPE, SIGSEGV,
                                   SIGBUS,  SIGABRT, SIGFPE,  SIGILL};
    static const int ignored[] = {SIGHUP, SIGUSR1, SIGWINCH, SIGUSR2};
    sigset_t none;

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        signal(defaults[i], SIG_DFL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* @return 0 if privileges stay that should not */
static int give_up_privileges(void)
{
    const unixd_config_rec *u = &ap_unixd_config;

    if (geteuid() != 0)
        return 1;
    if (setgid(u->group_id) || initgroups(u->user_name, u->group_id) || setuid(u->user_id)) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, NULL,
                     "the collector of ASTable cannot become %s", u->user_name);
        return 0;
    }
    return 1;
}

static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file that went away keeps its routes. */
static void look_at(brg_asn_writer *w, int rib, const char *path, file_state *known)
{
    struct stat now;

    if (stat(path, &now) ? known->tried : known->tried && same_file(&now, &known->stat))
        return;
    known->tried = 1;
    known->stat = now;
    asn_file_load(w, rib, path);
}

static void collect(const collector *c, pid_t supervisor)
{
    const asn_source *sources = (const asn_source *)c->conf->sources->elts;
    int n = c->conf->sources->nelts;
    file_state *known = calloc((size_t)n, sizeof *known);
    brg_asn_writer *w = brg_asn_writer_begin(c->conf->table);

    if (!w || !known)
        return;
    while (getppid() == supervisor) {
        for (int i = 0; i < n; i++)
            look_at(w, i, sources[i].file, &known[i]);
        atomic_store(c->tried, n);
        sleep(1);
    }
}

static void run(const collector *c, pid_t supervisor) __attribute__((noreturn));
static void run(const collector *c, pid_t supervisor)
{
    obey_signals();
    prctl(PR_SET_NAME, "brigade-asn");
    close_what_is_of_others(ap_server_conf);
    if (!give_up_privileges())
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* behind setuid(), which resets it */
    if (c->delay)
        sleep((unsigned)c->delay);
    collect(c, supervisor);
    _exit(0);
}

/* ---- the supervisor ---- */

static void maintain(int reason, void *data, apr_wait_t status);

static apr_status_t spawn(collector *c)
{
    pid_t supervisor = getpid(), pid = fork();

    if (pid < 0)
        return errno;
    if (!pid)
        run(c, supervisor);
    c->process = (apr_proc_t){.pid = pid};
    c->started = apr_time_now();
    apr_proc_other_child_register(&c->process, maintain, c, NULL, c->pool);
    return APR_SUCCESS;
}

static void maintain(int reason, void *data, apr_wait_t status)
{
    collector *c = data;
    apr_status_t rv;

    if (reason != APR_OC_REASON_DEATH && reason != APR_OC_REASON_LOST)
        return;
    apr_proc_other_child_unregister(c);
    c->process.pid = 0;
    c->delay = apr_time_now() - c->started > SOON_US ? 0 : c->delay ? 2 * c->delay : 1;
    if (c->delay > DELAY_MAX)
        c->delay = DELAY_MAX;
    ap_log_error(
        APLOG_MARK, APLOG_ERR, 0, NULL,
        "the collector of ASTable died (status %d); another one reads the sources in %d seconds",
        status, c->delay);
    if ((rv = spawn(c)))
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, NULL,
                     "the collector of ASTable cannot be started again");
}

static apr_status_t stop(void *data)
{
    collector *c = data;

    apr_proc_other_child_unregister(c);
    if (c->process.pid > 0)
        kill(c->process.pid, SIGTERM);
    munmap(c->tried, sizeof *c->tried);
    return APR_SUCCESS;
}

static void wait_for_sources(const collector *c)
{
    for (int i = 0; i < ASN_START_SECONDS * 200 && !atomic_load(c->tried); i++)
        apr_sleep(5000);
    if (!atomic_load(c->tried))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                     "sources of ASTable are not read after %d seconds", ASN_START_SECONDS);
}

apr_status_t asn_collector_start(const asn_conf *conf, apr_pool_t *pconf)
{
    collector *c = apr_pcalloc(pconf, sizeof *c);
    void *shared =
        mmap(NULL, sizeof *c->tried, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    apr_status_t rv;

    BRG_ASSERT(conf->table);
    if (shared == MAP_FAILED)
        return errno;
    *c = (collector){.conf = conf, .pool = pconf, .tried = shared};
    if ((rv = spawn(c)))
        return rv;
    apr_pool_pre_cleanup_register(pconf, c, stop);
    wait_for_sources(c);
    return APR_SUCCESS;
}
