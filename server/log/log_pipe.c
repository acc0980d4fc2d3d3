/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Piped logs: programs that read a log from their standard input.
 *
 * The supervisor keeps both ends of the pipe. When a program dies it starts another on the same
 * read end, so lines in the pipe are not lost and no writer gets EPIPE. When the configuration is
 * replaced, the supervisor closes both ends. The program reads the rest until the last server process
 * of that generation has closed its end, and then sees the end of the file.
 *
 *   state    moved on by                             process
 *   -------  --------------------------------------  -------
 *   open     pipe_spawn()                            NULL
 *   running  the program dies: spawned again         set
 *            ap_close_piped_log(), the pool ends     set
 *   waiting  pipe_monitor(), if it cannot be spawned NULL
 *   closed                                           NULL
 */
#include "log_private.h"
#include "clock.h"
#include "trial.h"

#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "brigade/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* A program that dies sooner after its start is not started again at once. */
#define PIPE_RESTART_MIN_US APR_USEC_PER_SEC

#define PIPE_TAG 0x50495045

struct piped_log {
    uint32_t tag;
    apr_pool_t *p;
    const char *program;
    apr_cmdtype_e type;
    apr_file_t *read_fd, *write_fd;
    apr_proc_t *process, room; /* process: NULL, or room */
    apr_time_t started;        /* clock_monotonic() */
    piped_log *waiting;        /* the next waiting one */
    piped_log *next;           /* of all that are open */
    pid_t owner;
};

static piped_log *pipe_first;

/* Whose program died and could not be started again: no process or no memory was to be had, or its file was being replaced. */
static piped_log *pipe_first_waiting;

static void pipe_maintain(int reason, void *data, apr_wait_t status);

/* Runs between fork and exec in the program's process. */
static void pipe_child_error(apr_pool_t *p, apr_status_t err, const char *description)
{
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, err, NULL, "%s", description);
}

/* Standard error may be a piped log, even the log that is being started: a program that held its
 * own pipe open for writing would never see the end of it. */
static apr_status_t pipe_error_output(apr_procattr_t *attr, apr_pool_t *p)
{
    apr_file_t *null;
    struct stat st;
    apr_status_t rv;

    if (fstat(STDERR_FILENO, &st) == 0 && !S_ISFIFO(st.st_mode))
        return APR_SUCCESS;
    rv = apr_file_open(&null, "/dev/null", APR_FOPEN_WRITE, APR_OS_DEFAULT, p);
    return rv == APR_SUCCESS ? apr_procattr_child_err_set(attr, null, NULL) : rv;
}

static apr_status_t pipe_attributes(const piped_log *pl, apr_procattr_t **attr, apr_pool_t *p)
{
    apr_status_t rv = apr_procattr_create(attr, p);

    if (rv == APR_SUCCESS)
        rv = apr_procattr_cmdtype_set(*attr, pl->type);
    if (rv == APR_SUCCESS)
        rv = apr_procattr_child_in_set(*attr, pl->read_fd, NULL);
    if (rv == APR_SUCCESS)
        rv = pipe_error_output(*attr, p);
    if (rv == APR_SUCCESS)
        rv = apr_procattr_child_errfn_set(*attr, pipe_child_error);
    if (rv == APR_SUCCESS)
        rv = apr_procattr_error_check_set(*attr, 1);
    return rv;
}

/* Could it be started? In a trial it is not: the program may open, rotate or truncate files of the
 * running one. Lines written to its pipe, which nobody reads, are lost with the process. */
static apr_status_t pipe_try(const piped_log *pl, const char *program, apr_pool_t *p)
{
    const char *at = getenv("PATH");

    if (pl->type == APR_SHELLCMD || pl->type == APR_SHELLCMD_ENV)
        return APR_SUCCESS; /* the shell can */
    if (strchr(program, '/'))
        return access(program, X_OK) ? errno : APR_SUCCESS;
    while (at && *at) {
        size_t len = strcspn(at, ":");

        if (!access(apr_psprintf(p, "%.*s/%s", (int)len, at, program), X_OK))
            return APR_SUCCESS;
        at += len + (at[len] == ':');
    }
    return APR_ENOENT;
}

static apr_status_t pipe_spawn(piped_log *pl)
{
    apr_procattr_t *attr;
    apr_pool_t *p; /* holds a copy of the read end that is needed up to the fork only */
    char **args;
    apr_status_t rv;

    BRG_ASSERT_TAG(pl, PIPE_TAG);
    BRG_ASSERT(!pl->process);
    apr_pool_create(&p, pl->p);
    rv = pipe_attributes(pl, &attr, p);
    if (rv == APR_SUCCESS)
        rv = apr_tokenize_to_argv(pl->program, &args, p);
    if (rv == APR_SUCCESS && trial_runs()) {
        rv = pipe_try(pl, args[0], p);
        apr_pool_destroy(p);
        return rv;
    }
    if (rv == APR_SUCCESS) {
        pl->room = (apr_proc_t){0};
        pl->process = &pl->room;
        pl->started = clock_monotonic();
        rv = apr_proc_create(pl->process, args[0], (const char *const *)args, NULL, attr, p);
    }
    if (rv == APR_SUCCESS)
        apr_proc_other_child_register(pl->process, pipe_maintain, pl, NULL, pl->p);
    else
        pl->process = NULL;
    apr_pool_destroy(p);
    return rv;
}

static void pipe_restart(piped_log *pl)
{
    apr_status_t rv;

    if (clock_monotonic() - pl->started < PIPE_RESTART_MIN_US)
        apr_sleep(PIPE_RESTART_MIN_US / 10);
    rv = pipe_spawn(pl);
    if (rv == APR_SUCCESS)
        return;
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, rv, NULL,
                 APLOGNO(00107) "piped_log_maintenance: unable to respawn '%s'", pl->program);
    pl->waiting = pipe_first_waiting;
    pipe_first_waiting = pl;
}

static void pipe_wait_no_longer(const piped_log *pl)
{
    piped_log **at = &pipe_first_waiting;

    while (*at && *at != pl)
        at = &(*at)->waiting;
    if (*at)
        *at = pl->waiting;
}

int pipe_monitor(apr_pool_t *p, server_rec *s)
{
    piped_log *next;

    for (piped_log *pl = pipe_first_waiting; pl; pl = next) {
        next = pl->waiting;
        BRG_ASSERT_TAG(pl, PIPE_TAG);
        if (pipe_spawn(pl) != APR_SUCCESS)
            continue;
        pipe_wait_no_longer(pl);
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "piped log program '%s' is started again",
                     pl->program);
    }
    return OK;
}

static void pipe_maintain(int reason, void *data, apr_wait_t status)
{
    piped_log *pl = data;

    BRG_ASSERT_TAG(pl, PIPE_TAG);
    if (reason == APR_OC_REASON_UNREGISTER)
        pl->process = NULL; /* its pool goes, or pipe_cleanup() asked for it */
    if (reason == APR_OC_REASON_DEATH || reason == APR_OC_REASON_LOST) {
        apr_proc_other_child_unregister(pl);
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_NOTICE, 0, NULL,
                     APLOGNO(00106) "piped log program '%s' failed unexpectedly", pl->program);
        pipe_restart(pl);
    }
}

static void pipe_forget(const piped_log *pl)
{
    piped_log **at = &pipe_first;

    while (*at && *at != pl)
        at = &(*at)->next;
    if (*at)
        *at = pl->next;
}

static apr_status_t pipe_cleanup(void *data)
{
    piped_log *pl = data;

    BRG_ASSERT_TAG(pl, PIPE_TAG);
    if (pl->process)
        apr_proc_other_child_unregister(pl);
    pl->process = NULL;
    pipe_wait_no_longer(pl);
    pipe_forget(pl);
    apr_file_close(pl->read_fd);
    apr_file_close(pl->write_fd);
    return APR_SUCCESS;
}

void pipe_leave(void)
{
    for (piped_log *pl = pipe_first; pl; pl = pl->next)
        if (pl->owner != getpid())
            apr_file_close(pl->read_fd);
}

static apr_status_t pipe_cleanup_for_exec(void *data)
{
    piped_log *pl = data;

    BRG_ASSERT_TAG(pl, PIPE_TAG);
    apr_file_close(pl->read_fd);
    apr_file_close(pl->write_fd);
    return APR_SUCCESS;
}

static piped_log *pipe_not_opened(const piped_log *pl, apr_status_t rv)
{
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, rv, NULL,
                 APLOGNO(00104) "unable to start piped log program '%s'", pl->program);
    return NULL;
}

AP_DECLARE(piped_log *)
ap_open_piped_log_ex(apr_pool_t *p, const char *program, apr_cmdtype_e cmdtype)
{
    piped_log *pl = apr_pcalloc(p, sizeof *pl);
    apr_status_t rv;

    pl->tag = PIPE_TAG;
    pl->p = p;
    pl->program = apr_pstrdup(p, program);
    pl->type = cmdtype;
    rv = apr_file_pipe_create_ex(&pl->read_fd, &pl->write_fd, APR_FULL_BLOCK, p);
    if (rv != APR_SUCCESS)
        return pipe_not_opened(pl, rv);
    apr_file_inherit_unset(pl->read_fd);
    apr_file_inherit_unset(pl->write_fd);
    pl->owner = getpid();
    pl->next = pipe_first;
    pipe_first = pl;
    apr_pool_cleanup_register(p, pl, pipe_cleanup, pipe_cleanup_for_exec);
    if ((rv = pipe_spawn(pl)) != APR_SUCCESS) {
        apr_pool_cleanup_run(p, pl, pipe_cleanup);
        return pipe_not_opened(pl, rv);
    }
    return pl;
}

AP_DECLARE(piped_log *) ap_open_piped_log(apr_pool_t *p, const char *program)
{
    return ap_open_piped_log_ex(p, program, APR_PROGRAM_ENV);
}

AP_DECLARE(void) ap_close_piped_log(piped_log *pl)
{
    BRG_ASSERT_TAG(pl, PIPE_TAG);
    apr_pool_cleanup_run(pl->p, pl, pipe_cleanup);
}

AP_DECLARE(apr_file_t *) ap_piped_log_read_fd(piped_log *pl)
{
    BRG_ASSERT_TAG(pl, PIPE_TAG);
    return pl->read_fd;
}

AP_DECLARE(apr_file_t *) ap_piped_log_write_fd(piped_log *pl)
{
    BRG_ASSERT_TAG(pl, PIPE_TAG);
    return pl->write_fd;
}
