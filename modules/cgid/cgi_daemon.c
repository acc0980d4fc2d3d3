/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon: one thread, which waits for messages and for the ends of programs.
 *
 * It keeps its end of the stream of errors of each program. When the server process closes the other end, the request is over:
 * a program that still runs then is ended; if the server process said so, with all processes of its group. A program is not
 * waited for before, so that its number cannot become another process's.
 */
#include "cgi_daemon.h"
#include "cgi_record.h"
#include "http_config.h"
#include "http_log.h"
#include "unixd.h"
#include "brigade/log_service.h"
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern module cgid_module;
APLOG_USE_MODULE(cgid);

#define DAEMON_FDS 3        /* of a message, at most */
#define DAEMON_LOOK_MS 20   /* between looks at programs that are to end */
#define DAEMON_PATIENCE 150 /* looks until SIGKILL: 3 seconds */

typedef struct daemon_child {
    pid_t pid;
    int life;  /* its stream of errors; -1: the request is over */
    int group; /* end all of its group */
    int looks; /* since the request is over */
} daemon_child;

typedef struct cgi_daemon {
    server_rec *s;
    int control;
    pid_t supervisor;
    daemon_child *children;
    struct pollfd *polled; /* the first is control */
    size_t n, room;
    char *record;
    const char **strings;
} cgi_daemon;

/* ---- starting programs ---- */

static void daemon_limit(int what, const cgi_limit *limit)
{
    const struct rlimit to = {.rlim_cur = limit->soft, .rlim_max = limit->hard};

    if (limit->is_set)
        setrlimit(what, &to);
}

/* Runs in memory that the daemon shares until the program is there: system calls alone. */
static int daemon_become(const cgi_program *p, int io, int errors)
{
    if (dup2(io, STDIN_FILENO) < 0 || dup2(io, STDOUT_FILENO) < 0 ||
        dup2(errors, STDERR_FILENO) < 0 || setpgid(0, 0) || chdir(p->folder))
        return errno;
    daemon_limit(RLIMIT_CPU, &p->limits[CGI_LIMIT_CPU]);
    daemon_limit(RLIMIT_AS, &p->limits[CGI_LIMIT_MEM]);
    daemon_limit(RLIMIT_NPROC, &p->limits[CGI_LIMIT_NPROC]);
    execve(p->file, (char *const *)p->argv, (char *const *)p->env);
    return errno;
}

/* @return its number; -1: no process; 0: the program could not be started, *error says why */
static pid_t daemon_start(const cgi_program *p, int io, int errors, int *error)
{
    volatile int failed = 0;
    pid_t pid = vfork();

    if (pid == 0) {
        failed = daemon_become(p, io, errors);
        _exit(127);
    }
    *error = pid < 0 ? errno : failed;
    if (pid > 0 && failed) {
        waitpid(pid, NULL, 0);
        return 0;
    }
    return pid;
}

static int daemon_grow(cgi_daemon *d)
{
    const size_t room = d->room ? 2 * d->room : 64;
    daemon_child *children = realloc(d->children, room * sizeof *children);
    struct pollfd *polled;

    if (children)
        d->children = children;
    polled = children ? realloc(d->polled, (room + 1) * sizeof *polled) : NULL;
    if (!polled)
        return 0;
    d->polled = polled;
    d->room = room;
    return 1;
}

/* @return 1: the daemon keeps the stream of errors */
static int daemon_program(cgi_daemon *d, const cgi_program *p, int io, int errors)
{
    int error = 0;
    pid_t pid;

    if (d->n == d->room && !daemon_grow(d))
        return 0;
    pid = daemon_start(p, io, errors, &error);
    if (pid < 0)
        ap_log_error(APLOG_MARK, APLOG_ERR, error, d->s,
                     APLOGNO(01252) "couldn't create child process: %d: %s", error, p->file);
    else if (!pid)
        ap_log_error(APLOG_MARK, APLOG_ERR, error, d->s, APLOGNO(01241) "exec of '%s' failed",
                     p->file);
    if (pid <= 0)
        return 0;
    d->children[d->n++] = (daemon_child){.pid = pid, .life = errors};
    return 1;
}

/* ---- messages ---- */

typedef struct daemon_message {
    int fds[DAEMON_FDS];
    int fds_n;
    size_t len;
} daemon_message;

static void daemon_take_fds(struct msghdr *m, daemon_message *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            message->fds_n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(message->fds, CMSG_DATA(c), (size_t)message->fds_n * sizeof(int));
        }
}

/* @return bytes; 0: no server process is left; -1: none is there yet */
static ssize_t daemon_receive(cgi_daemon *d, daemon_message *message)
{
    char room[CMSG_SPACE(sizeof message->fds)];
    struct iovec iov = {d->record, CGI_RECORD_INLINE};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t n = recvmsg(d->control, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, d->s,
                     APLOGNO(01248) "Error reading request on cgid socket");
    if (n > 0)
        daemon_take_fds(&m, message);
    message->len = n > 0 ? (size_t)n : 0;
    return n;
}

/* A long record is in a file in memory. */
static char *daemon_record(cgi_daemon *d, daemon_message *message, char **mapped)
{
    struct stat st;

    *mapped = NULL;
    if (message->fds_n < 3)
        return d->record;
    if (fstat(message->fds[2], &st) || st.st_size < 1 || st.st_size > CGI_RECORD_MOST)
        return NULL;
    /* A copy: a file that gets shorter would end this process. */
    if (!(*mapped = malloc((size_t)st.st_size)))
        return NULL;
    message->len = (size_t)st.st_size;
    return pread(message->fds[2], *mapped, message->len, 0) == (ssize_t)message->len ? *mapped
                                                                                     : NULL;
}

static void daemon_serve(cgi_daemon *d, daemon_message *message)
{
    char *mapped, *record = daemon_record(d, message, &mapped);
    cgi_program p;
    int kept = 0;

    if (!record || message->fds_n < 2 ||
        !cgi_record_read(record, message->len, d->strings, CGI_RECORD_STRINGS, &p))
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, d->s,
                     APLOGNO(01248) "Error reading request on cgid socket");
    else
        kept = daemon_program(d, &p, message->fds[0], message->fds[1]);
    for (int i = 0; i < message->fds_n; i++)
        if (i != 1 || !kept)
            close(message->fds[i]);
    free(mapped);
}

/* @return 0: no server process is left */
static int daemon_messages(cgi_daemon *d)
{
    for (int i = 0; i < 16; i++) {
        daemon_message message = {.fds_n = 0};
        const ssize_t n = daemon_receive(d, &message);

        if (n == 0)
            return 0;
        if (n < 0)
            return 1;
        daemon_serve(d, &message);
    }
    return 1;
}

/* ---- ends ---- */

static void daemon_signal(const daemon_child *c, int signal)
{
    kill(c->group ? -c->pid : c->pid, signal);
}

/* @return 1: it is over */
static int daemon_has_ended(cgi_daemon *d, daemon_child *c)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == c->pid) {
        if (c->group) /* its children, before its number is free */
            daemon_signal(c, SIGKILL);
        waitpid(c->pid, NULL, WNOHANG);
        return 1;
    }
    if (++c->looks == 2 || (c->group && c->looks == 1))
        daemon_signal(c, SIGTERM);
    if (c->looks != DAEMON_PATIENCE && c->looks != 2 * DAEMON_PATIENCE)
        return 0;
    if (c->looks == DAEMON_PATIENCE)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, d->s,
                     APLOGNO(01259) "CGI process %d didn't exit, sending SIGKILL", (int)c->pid);
    else
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, d->s,
                     APLOGNO(01260) "CGI process %d didn't exit, sending SIGKILL again",
                     (int)c->pid);
    daemon_signal(c, SIGKILL);
    return 0;
}

/* The server process said something, or has closed the stream. */
static void daemon_hear(daemon_child *c)
{
    char words[16];
    const ssize_t n = recv(c->life, words, sizeof words, MSG_DONTWAIT);

    if (n > 0) {
        c->group |= memchr(words, CGI_SAYS_KILL, (size_t)n) != NULL;
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close(c->life);
    c->life = -1;
}

static void daemon_children(cgi_daemon *d)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->n; i++) {
        daemon_child c = d->children[i];

        if (c.life >= 0 && d->polled[i + 1].fd == c.life && d->polled[i + 1].revents) {
            daemon_hear(&c);
            if (c.life >= 0)
                daemon_hear(&c); /* the end may stand behind the word */
        }
        if (c.life >= 0 || !daemon_has_ended(d, &c))
            d->children[kept++] = c;
    }
    d->n = kept;
}

/* ---- the process ---- */

static void daemon_signals(void)
{
    sigset_t none;

    for (int i = 1; i < 32; i++)
        signal(i, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGWINCH, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* @return the control socket; descriptors of the supervisor are closed, but for the error log */
static int daemon_close_others(int control, int log)
{
    const int first = STDERR_FILENO + 1;

    if (log == first) {
        close_range((unsigned)first + 1, (unsigned)control - 1, 0);
    } else if (log > first && log < control) {
        close_range((unsigned)first, (unsigned)log - 1, 0);
        if (log + 1 < control)
            close_range((unsigned)log + 1, (unsigned)control - 1, 0);
    } else if (control > first) {
        close_range((unsigned)first, (unsigned)control - 1, 0);
    }
    if (log > control) {
        if (log > control + 1)
            close_range((unsigned)control + 1, (unsigned)log - 1, 0);
        close_range((unsigned)log + 1, ~0U, 0);
    } else {
        close_range((unsigned)control + 1, ~0U, 0);
    }
    return control;
}

static int daemon_privileges(server_rec *s)
{
    const unixd_config_rec *u = &ap_unixd_config;

    if (geteuid() != 0)
        return 1;
    if (setgid(u->group_id) || initgroups(u->user_name, u->group_id) || setuid(u->user_id)) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s,
                     APLOGNO(01238) "cgid daemon failed to initialize");
        return 0;
    }
    return 1;
}

static int daemon_timeout(const cgi_daemon *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->children[i].life < 0)
            return DAEMON_LOOK_MS;
    return 1000;
}

/* Behind the last message programs are still waited for. */
static void daemon_wait(cgi_daemon *d, int is_open)
{
    d->polled[0] = (struct pollfd){.fd = is_open ? d->control : -1, .events = POLLIN};
    for (size_t i = 0; i < d->n; i++)
        d->polled[i + 1] = (struct pollfd){.fd = d->children[i].life, .events = POLLIN};
    if (poll(d->polled, d->n + 1, daemon_timeout(d)) < 0)
        for (size_t i = 0; i <= d->n; i++)
            d->polled[i].revents = 0;
}

void cgi_daemon_run(server_rec *s, int control, pid_t supervisor)
{
    cgi_daemon d = {.s = s, .supervisor = supervisor};
    int is_open = 1;

    daemon_signals();
    prctl(PR_SET_NAME, "brigade-cgid");
    d.control = daemon_close_others(control, brg_error_log_descriptor(s));
    d.record = malloc(CGI_RECORD_INLINE);
    d.strings = malloc((CGI_RECORD_STRINGS + 2) * sizeof *d.strings);
    if (!d.record || !d.strings || !daemon_grow(&d) || !daemon_privileges(s))
        _exit(1);
    while (is_open || d.n) {
        daemon_wait(&d, is_open);
        daemon_children(&d);
        if (is_open && d.polled[0].revents)
            is_open = daemon_messages(&d);
    }
    _exit(0);
}
