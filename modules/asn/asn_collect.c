/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's process.
 *
 *   starting   listens where it has to, gives privileges up, waits if the one before died soon
 *   reading    each file once; then the supervisor goes on
 *   running    sessions; once a second whether a file is another one
 */
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "http_log.h"
#include "http_main.h"
#include "unixd.h"
#include "brigade/assert.h"
#include "brigade/log_service.h"
#include "brigade/sandbox.h"
#include "asn_collector.h"
#include "asn_feed.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

#define LOOK_US 1000000                 /* between looks at files */
#define AGAIN_US (5 * INT64_C(1000000)) /* until an unreadable file is read again */

/* The state of a file when it was read. */
typedef struct file_state {
    struct stat stat;
    int tried;
    int error;     /* errno for which it could not be read; 0: that is not to be tried again */
    int64_t again; /* bgp_now(): when it is */
} file_state;

typedef struct collecting {
    const asn_collector *c;
    asn_figures *figures; /* to write */
    brg_asn_writer *w;
    const brg_asn_table *table; /* that it writes to */
    int serving;                /* its index, once it is complete; -1: it is in use already */
    int64_t serve_at;           /* bgp_now(): asked from then on, complete or not */
    int control, log;           /* log: the descriptor for lines, -1 if the log is no file */
    int feeds_n;
    asn_feed feeds[ASN_TABLE_RIBS];
    file_state files[ASN_TABLE_RIBS];
} collecting;

static volatile sig_atomic_t asked_to_end;

static void end_asked(int signal)
{
    asked_to_end = 1;
}

static void obey_signals(void)
{
    static const int defaults[] = {SIGCHLD, SIGPIPE, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    static const int ignored[] = {SIGHUP, SIGUSR1, SIGWINCH, SIGUSR2};
    sigset_t none;

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        signal(defaults[i], SIG_DFL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = end_asked}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = end_asked}, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_between(int first, int last)
{
    if (first <= last)
        close_range((unsigned)first, (unsigned)last, 0);
}

/* Listening sockets above all: they would stay open when the server ends. */
static void close_what_is_of_others(const collecting *g)
{
    const int a = g->control < g->log ? g->control : g->log;
    const int b = g->control < g->log ? g->log : g->control;

    close_between(STDERR_FILENO + 1, (a > STDERR_FILENO ? a : b) - 1);
    if (a > STDERR_FILENO)
        close_between(a + 1, b - 1);
    close_between(b + 1, INT_MAX);
}

/* @return 0 if privileges stay that should not */
static int give_up_privileges(void)
{
    const unixd_config_rec *u = &ap_unixd_config;

    if (geteuid() != 0)
        return 1;
    if (setgid(u->group_id) || initgroups(u->user_name, u->group_id) || setuid(u->user_id)) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, ap_server_conf,
                     "the collector of ASTable cannot become %s", u->user_name);
        return 0;
    }
    return 1;
}

/* It hears routers, and files that strangers made: a mistake of a parser is not to reach more than these. */
static int enter_sandbox(const asn_collector *c, server_rec *s)
{
    const asn_source *sources = (const asn_source *)c->sources->elts;
    const char *read[ASN_TABLE_RIBS + 1] = {NULL};
    brg_sandbox_needs needs = {.read = read};
    int n = 0;

    for (int i = 0; i < c->sources->nelts; i++) {
        if (sources[i].file) /* it comes and goes in its folder */
            read[n++] = ap_make_dirstr_parent(c->pool, sources[i].file);
        if (sources[i].bgp && sources[i].bgp->listens)
            needs.listens = 1;
    }
    return brg_sandbox_enter(s, &needs) == APR_SUCCESS;
}

/* ---- the supervisor's word ---- */

void asn_collect_log(int control, int log)
{
    char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    *head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof log), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &log, sizeof log);
    (void)!sendmsg(control, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Another error log takes the place of the one before. */
static void take_log(const collecting *g, struct msghdr *message)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int log;

    if (!head || head->cmsg_type != SCM_RIGHTS)
        return;
    memcpy(&log, CMSG_DATA(head), sizeof log);
    if (g->log >= 0)
        dup3(log, g->log, O_CLOEXEC);
    dup2(log, STDERR_FILENO);
    close(log);
}

/* The supervisor's end closes with it, or when it becomes another program. */
static void listen_to_supervisor(const collecting *g)
{
    char room[CMSG_SPACE(sizeof(int))], byte;
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t n = recvmsg(g->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n > 0)
        take_log(g, &message);
    else if (!n) /* behind any error, too, if it is closed */
        asked_to_end = 1;
}

/* ---- sources ---- */

static void open_feeds(collecting *g)
{
    const asn_source *sources = (const asn_source *)g->c->sources->elts;

    BRG_ASSERT(g->c->sources->nelts <= ASN_TABLE_RIBS);
    for (int i = 0; i < g->c->sources->nelts; i++)
        if (sources[i].bgp)
            asn_feed_begin(&g->feeds[g->feeds_n++], sources[i].bgp, &g->figures->sources[i], i);
}

static void feeds_write_to(collecting *g, brg_asn_writer *w)
{
    for (int i = 0; i < g->feeds_n; i++)
        g->feeds[i].w = w;
}

/* While a long file is read, too. */
static void run_feeds(void *data)
{
    collecting *g = data;

    asn_feeds_run(g->feeds, g->feeds_n, 0, g->control);
}

/* Its inode's time, too: a file becomes readable, or is copied with its old date. */
static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void file_was_read(asn_source_figures *f, int read)
{
    const int before = atomic_exchange(&f->state, read);

    if (read || before || !atomic_load(&f->since))
        atomic_store(&f->since, apr_time_now());
    if (read)
        atomic_fetch_add(&f->sessions, 1);
}

/* After a lack of descriptors or memory, or an error of the disk, the same file may be readable. */
static int is_to_read(const file_state *known, const struct stat *now)
{
    return !known->tried || !same_file(now, &known->stat) ||
           (known->error && bgp_now() >= known->again);
}

/* A file that went away keeps its routes. */
static void look_at(collecting *g, int rib, const char *path)
{
    file_state *known = &g->files[rib];
    struct stat now = {0};

    if (stat(path, &now) ? known->tried : !is_to_read(known, &now))
        return;
    if (!same_file(&now, &known->stat))
        known->error = 0;
    known->tried = 1;
    known->stat = now;
    file_was_read(&g->figures->sources[rib],
                  asn_file_load(g->w, rib, path, run_feeds, g, &known->error));
    known->again = bgp_now() + AGAIN_US;
}

static void look_at_files(collecting *g)
{
    const asn_source *sources = (const asn_source *)g->c->sources->elts;

    for (int i = 0; i < g->c->sources->nelts && !asked_to_end; i++)
        if (sources[i].file)
            look_at(g, i, sources[i].file);
    atomic_store(&g->figures->tried, 1);
}

/* ---- which table is asked ---- */

/* age of a file's networks, when the next process cannot read it */
#define KEEP_FILE_US (300 * INT64_C(1000000))

/* The table of a process that died is asked until there is another one: routes outlive their process as they do a
 * session. */
static brg_asn_table *table_to_fill(collecting *g)
{
    const asn_collector *c = g->c;
    const int serving = atomic_load(&c->figures->serving) & 1;
    const asn_source *sources = (const asn_source *)c->sources->elts;
    int64_t keep = 0;

    g->serving = brg_asn_ready(c->tables[serving]) ? !serving : -1;
    for (int i = 0; i < c->sources->nelts; i++) {
        const int64_t of_this =
            sources[i].bgp ? (int64_t)sources[i].bgp->keep * 1000000 : KEEP_FILE_US;

        keep = of_this > keep ? of_this : keep;
    }
    g->serve_at = bgp_now() + keep;
    return c->tables[g->serving < 0 ? serving : g->serving];
}

static int is_complete(const collecting *g)
{
    for (int i = 0; i < g->c->sources->nelts; i++) {
        brg_asn_rib_figures rib;

        brg_asn_rib_read(g->table, i, &rib);
        if (!rib.ready)
            return 0;
    }
    return 1;
}

static void serve_when_complete(collecting *g)
{
    if (g->serving < 0 || (bgp_now() < g->serve_at && !is_complete(g)))
        return;
    atomic_store_explicit(&g->figures->serving, g->serving, memory_order_release);
    g->serving = -1;
}

static void collect(collecting *g)
{
    int64_t next = 0, age = 0;

    while (!asked_to_end && getppid() == g->c->supervisor) {
        if (bgp_now() >= next) {
            look_at_files(g);
            next = bgp_now() + LOOK_US;
        }
        serve_when_complete(g);
        if (bgp_now() >= age) {
            asn_count_age(g->c->counts);
            age = bgp_now() + ASN_AGE_SECONDS * INT64_C(1000000);
        }
        asn_feeds_run(g->feeds, g->feeds_n, (int)((next - bgp_now()) / 1000) + 1, g->control);
        listen_to_supervisor(g);
    }
    for (int i = 0; i < g->feeds_n; i++)
        asn_feed_end(&g->feeds[i]);
}

void asn_collect(const asn_collector *c, server_rec *s)
{
    collecting *g = calloc(1, sizeof *g);
    brg_asn_table *table;

    if (!g)
        _exit(1);
    obey_signals();
    prctl(PR_SET_NAME, "brigade-asn");
    *g = (collecting){.c = c,
                      .figures = brg_one_writer_write(c->figures_memory),
                      .control = c->control[1],
                      .log = brg_error_log_descriptor(s)};
    close_what_is_of_others(g);
    open_feeds(g);
    if (!give_up_privileges() || !enter_sandbox(c, s))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* behind setuid(), which resets it */
    if (c->delay)
        sleep((unsigned)c->delay);
    table = table_to_fill(g);
    if (!(g->w = brg_asn_writer_begin(table)))
        _exit(1);
    g->table = table;
    feeds_write_to(g, g->w);
    collect(g);
    _exit(0);
}
