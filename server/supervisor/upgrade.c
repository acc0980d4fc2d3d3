/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another program takes this one's place: `-k upgrade`, SIGUSR2.
 *
 * It is a graceful restart in whose middle the supervisor becomes the new program, by exec: the
 * process stays, and with it the service manager's and the pid file's knowledge. Server processes
 * of the old program serve until those of the new one are up, on the same sockets.
 *
 *   step                                         what goes wrong              then
 *   -------------------------------------------  ---------------------------  -----------------------------------------
 *   upgrade_check: `-t` by the new program       any                          nothing was changed
 *   upgrade_if_asked: exec                       it fails                     this program reads the configuration
 *   the new program starts                       it exits, crashes, has no    it becomes the old program again, which
 *                                                memory, or its server        reads the configuration
 *                                                processes do not come up,
 *                                                or it takes longer than
 *                                                ReloadTimeout
 *   upgrade_complete: its processes serve
 *
 * A reload whose reading ends the program, since a module crashes or calls exit(), goes the same way: the program becomes
 * itself, and waits with its server processes for a configuration that can be read (supervisor_waits.c).
 */
#include "upgrade.h"
#include "supervisor_parts.h"
#include "ambient.h"
#include "brigade/assert.h"
#include "crash.h"
#include "generation.h"
#include "handover.h"
#include "kept_memory.h"
#include "out_of_memory.h"
#include "scores.h"

#include "http_log.h"

#include "apr_file_info.h"
#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

#define UPGRADE_CHECK_VARIABLE "BRIGADE_UPGRADE_CHECK"
#define UPGRADE_SAYS_WATCHED "brigade-watched"
#define UPGRADE_SELF "/proc/self/exe"

static struct {
    char *program; /* in the heap, as all else here: pools may be gone */
    char **argv;   /* without options of this process alone; NULL-terminated */
    int back;      /* the program to go back to; -1: none */
    int taken;     /* this program took another's place */
    int asked;
    int is_watched; /* the program that takes over says when it serves: upgrade_watch.c */
    int self;       /* this program, while it reads a configuration in place; -1: it does not */
    pid_t pid;      /* the supervisor, until the server serves */
} upgrade = {.back = -1, .self = -1};

/* The handover of the program before, until it is taken: upgrade_first(). */
static struct {
    int fd, back; /* back: the program to go back to; -1: none, or it is taken */
    char *const *argv;
} left = {-1, -1, NULL};

/* ---- which program ---- */

static int upgrade_is_self(const char *path)
{
    struct stat self, there;

    return !stat(UPGRADE_SELF, &self) && !stat(path, &there) && self.st_dev == there.st_dev &&
           self.st_ino == there.st_ino;
}

/* The first program of that name in PATH, as the shell found it. */
static const char *upgrade_search(const char *name, apr_pool_t *p)
{
    const char *at = getenv("PATH");

    while (at && *at) {
        size_t len = strcspn(at, ":");
        const char *path = apr_psprintf(p, "%.*s/%s", (int)len, at, name);

        if (*path == '/' && !access(path, X_OK))
            return path;
        at += len + (at[len] == ':');
    }
    return NULL;
}

/* The path that it was started by, links not followed: a package puts the next one there. Where its name is not the
 * program's (exec -a), the path that the kernel knows. */
static char *upgrade_find(const process_rec *process)
{
    const char *name = process->argv[0];
    char self[4096], *path = NULL;
    ssize_t len;

    if (!strchr(name, '/'))
        name = upgrade_search(name, process->pool);
    if (name && apr_filepath_merge(&path, NULL, name, 0, process->pool) == APR_SUCCESS &&
        upgrade_is_self(path))
        return strdup(path);
    len = readlink(UPGRADE_SELF, self, sizeof self - 1);
    if (len <= 0)
        return NULL;
    self[len] = '\0';
    return strdup(self);
}

const char *upgrade_program(void)
{
    return upgrade.program ? upgrade.program : "no program";
}

/* ---- becoming another program ---- */

static void upgrade_say(const char *what)
{
    if (write(STDERR_FILENO, what, strlen(what)) < 0)
        errno = 0; /* there is no other place to say it */
}

static void upgrade_say_back(void)
{
    upgrade_say(
        "brigade: the program that took over does not come up: the one before it goes on\n");
}

/* Returns if it fails. */
static void upgrade_exec(int target, int back)
{
    char **environment;
    int fd, error;

    sup_signals_wait(1);
    upgrade_watch_done(); /* the program to go back to is this one, whether or not it serves yet */
    if (upgrade.is_watched && upgrade_watch()) {
        sup_signals_wait(0);
        upgrade_say_back();
        errno = ECHILD;
        return;
    }
    fd = handover_give(upgrade.program, back, &environment);
    if (fd >= 0) {
        ambient_pass_on(1);
        if (target < 0)
            execve(upgrade.program, upgrade.argv, environment);
        else
            fexecve(target, upgrade.argv, environment);
        error = errno;
        ambient_pass_on(0);
        handover_undo(fd);
        errno = error;
    }
    error = errno;
    upgrade_watch_done();
    sup_signals_wait(0);
    errno = error;
}

/* While a configuration is read in place. */
static void upgrade_begin_anew(void)
{
    int self = upgrade.self;

    upgrade.is_watched = 0;
    upgrade.self = -1;
    upgrade_say("brigade: the program ended while it read the configuration, whose trial had gone "
                "well: it begins anew, and server processes go on with the one that they have\n");
    sup_reading_failed(sup_has_failed() + 1);
    upgrade_exec(self, -1);
}

/* Nothing was taken: the program before finds its handover again. */
static void upgrade_return(void)
{
    int back = left.back;

    left.back = -1;
    upgrade_say_back();
    handover_return(left.fd);
    ambient_pass_on(1);
    fexecve(back, left.argv, environ);
}

/* At exit, at a crash or without memory. The log may be closed, but for standard error. */
static void upgrade_go_back(void)
{
    int back = upgrade.back;

    if (getpid() != upgrade.pid)
        return;
    if (left.back >= 0)
        upgrade_return();
    if (upgrade.self >= 0)
        upgrade_begin_anew();
    if (back < 0)
        return;
    upgrade.back = -1;
    upgrade_watch_done();
    upgrade.is_watched = 0;
    upgrade_say_back();
    for (sup_process *c = sup_processes; c; c = c->next)
        if (c->generation == mpm_generation && !c->up) {
            c->stopping = 1;
            kill(c->pid, SIGKILL); /* it may hang, and serves nobody */
        } else if (c->generation == mpm_generation) {
            sup_children_stop(c, 0);
        }
    mpm_generation++;
    fcntl(back, F_SETFD, FD_CLOEXEC);
    upgrade_exec(back, -1);
}

/* From a signal handler. */
static void upgrade_is_late(void)
{
    upgrade_say("brigade: the program that takes over is late (ReloadTimeout)\n");
    upgrade_go_back();
}

/* The program before this one may have come here from a signal handler: its signal waits still, as does an alarm. */
static void upgrade_clean_signals(void)
{
    sigset_t none;

    BRG_ASSERT(upgrade.taken);
    if (!sup_signals_end_is_asked())
        alarm(0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void upgrade_at_exit(void)
{
    if (getpid() == upgrade.pid && (upgrade.self >= 0 || upgrade.back >= 0))
        crash_exit_tell();
    upgrade_go_back();
}

/* From now on this process's program does not end without upgrade_go_back(). @return 0 if that is sure */
static int upgrade_guard(void)
{
    static int registered;

    upgrade.pid = getpid();
    oom_last_resort(upgrade_go_back);
    crash_last_resort(upgrade_go_back);
    return registered++ ? 0 : atexit(upgrade_at_exit);
}

void upgrade_first(const char *const *argv)
{
    left.fd = handover_left(&left.back);
    left.argv = (char *const *)(uintptr_t)argv;
    if (left.fd < 0)
        return;
    if (upgrade_guard())
        upgrade_go_back();
}

void upgrade_reads(int on)
{
    if (upgrade.back >= 0)
        return; /* there is another program to go back to */
    if (on && upgrade.self < 0) {
        upgrade.self = open(UPGRADE_SELF, O_PATH | O_CLOEXEC);
        (void)upgrade_guard();
    } else if (!on && upgrade.self >= 0) {
        close(upgrade.self);
        upgrade.self = -1;
        crash_last_resort(NULL);
        oom_last_resort(NULL);
    }
}

static int upgrade_take(process_rec *process)
{
    handover_state state;

    if (!handover_take(&state)) {
        if (left.fd >= 0)
            mpm_process_exit(process, 1);
        return 0;
    }
    upgrade.program = state.program;
    upgrade.back = state.back;
    left.back = -1;
    upgrade.taken = 1;
    scoreboard_take_left();
    sup_children_take_slots();
    if (sup_signals_init() < 0)
        mpm_process_exit(process, 1);
    sup_signals_reading(1);
    upgrade_clean_signals();
    if (upgrade.back >= 0)
        sup_signals_time_limit(state.limit, upgrade_is_late);
    else
        upgrade_watch_done();
    return 1;
}

static void upgrade_keep_arguments(process_rec *process)
{
    const char *const *args = conf_program_args(process, NULL, process->pool);
    int n = 0;

    while (args[n])
        n++;
    upgrade.argv = ap_calloc((size_t)n + 1, sizeof *upgrade.argv);
    for (int i = 0; i < n; i++)
        upgrade.argv[i] = strdup(args[i]);
}

static int upgrade_checks_only; /* this program is asked whether it could take over */

void upgrade_begin(process_rec *process)
{
    BRG_ASSERT(!upgrade.program);
    upgrade_checks_only = getenv(UPGRADE_CHECK_VARIABLE) != NULL;
    unsetenv(UPGRADE_CHECK_VARIABLE);
    upgrade_keep_arguments(process);
    if (!upgrade_take(process))
        upgrade.program = upgrade_find(process);
}

void upgrade_checked(void)
{
    if (upgrade_checks_only)
        fprintf(stderr, "\n" UPGRADE_SAYS_WATCHED "\nbrigade-handover %d\n", HANDOVER_FORMAT);
}

int upgrade_took_over(void)
{
    return upgrade.taken;
}

int upgrade_is_last(void)
{
    return upgrade.taken && upgrade.back < 0;
}

int upgrade_is_under_way(void)
{
    return upgrade.back >= 0;
}

void upgrade_complete(void)
{
    BRG_ASSERT(sup_is_supervisor());
    if (upgrade.back >= 0)
        close(upgrade.back);
    upgrade.back = -1;
    upgrade_watch_done();
    sup_signals_time_limit(0, NULL);
    kept_memory_drop_unused();
    crash_last_resort(NULL);
    oom_last_resort(NULL);
}

/* ---- the order ---- */

int upgrade_check(process_rec *process)
{
    char says[32];
    int good;

    if (!upgrade.program || !upgrade_is_trusted(upgrade.program, process->pool))
        return 0;
    apr_snprintf(says, sizeof says, "brigade-handover %d", HANDOVER_FORMAT);
    setenv(UPGRADE_CHECK_VARIABLE, "1", 1);
    good = conf_test_program_in_child(process, upgrade.program, says, UPGRADE_SAYS_WATCHED,
                                      &upgrade.is_watched);
    unsetenv(UPGRADE_CHECK_VARIABLE);
    return good;
}

void upgrade_ask(void)
{
    BRG_ASSERT(upgrade.program != NULL);
    upgrade.asked = 1;
}

void upgrade_if_asked(process_rec *process)
{
    int self;

    if (!upgrade.asked)
        return;
    upgrade.asked = 0;
    /* As at a reload: modules and logs give up the old configuration. */
    conf_generation_clear(process);
    apr_pool_clear(conf_plog());
    self = open(UPGRADE_SELF, O_PATH | O_CLOEXEC);
    if (self >= 0)
        upgrade_exec(-1, self);
    ap_log_error(APLOG_MARK, APLOG_CRIT, errno, NULL, "%s cannot be started: the program stays",
                 upgrade.program);
    if (self >= 0)
        close(self);
}
