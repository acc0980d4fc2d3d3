/* SPDX-License-Identifier: Apache-2.0 */
/* Would the configuration start? A new process of this program tests it (`-t` with our own command line), so nothing
 * that our code or a module's does while it reads can change the running server. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "generation.h"
#include "supervisor_private.h"

#include "apr_portable.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define CONF_SELF "/proc/self/exe"

/* Options that only make sense for the process that was started with them: their letters, with or
 * without a value behind. */
static int conf_check_skips(const char *arg, int *value_follows)
{
    *value_follows = 0;
    if (arg[0] != '-')
        return 0;
    if (arg[1] == 'k' || arg[1] == 'E') {
        *value_follows = !arg[2];
        return 1;
    }
    return arg[1] == 'X' && !arg[2];
}

const char *const *conf_program_args(const process_rec *process, const char *first, apr_pool_t *p)
{
    apr_array_header_t *args = apr_array_make(p, process->argc + 2, sizeof(const char *));

    APR_ARRAY_PUSH(args, const char *) = process->argv[0];
    if (first)
        APR_ARRAY_PUSH(args, const char *) = first;
    for (int i = 1; i < process->argc; i++) {
        int value_follows;

        if (conf_check_skips(process->argv[i], &value_follows))
            i += value_follows;
        else
            APR_ARRAY_PUSH(args, const char *) = process->argv[i];
    }
    APR_ARRAY_PUSH(args, const char *) = NULL;
    return (const char *const *)args->elts;
}

/* Between fork and exec. */
static void conf_check_failed(apr_pool_t *p, apr_status_t rv, const char *what)
{
    char why[256];

    dprintf(STDERR_FILENO, "%s: %s\n", what, apr_strerror(rv, why, sizeof why));
}

static apr_status_t conf_check_start(const process_rec *process, const char *program,
                                     apr_proc_t *child, apr_pool_t *p)
{
    apr_procattr_t *attr;
    apr_file_t *nowhere;
    apr_status_t rv;

    /* Standard output of -t is for users. */
    if ((rv = apr_file_open(&nowhere, "/dev/null", APR_FOPEN_WRITE, APR_FPROT_OS_DEFAULT, p)) !=
            APR_SUCCESS ||
        (rv = apr_procattr_create(&attr, p)) != APR_SUCCESS ||
        (rv = apr_procattr_io_set(attr, APR_NO_PIPE, APR_NO_PIPE, APR_FULL_BLOCK)) != APR_SUCCESS ||
        (rv = apr_procattr_child_out_set(attr, nowhere, NULL)) != APR_SUCCESS ||
        (rv = apr_procattr_cmdtype_set(attr, APR_PROGRAM)) != APR_SUCCESS ||
        (rv = apr_procattr_child_errfn_set(attr, conf_check_failed)) != APR_SUCCESS ||
        (rv = apr_procattr_error_check_set(attr, 1)) != APR_SUCCESS)
        return rv;
    return apr_proc_create(child, program, conf_program_args(process, "-t", p),
                           (const char *const *)environ, attr, p);
}

static int conf_check_left_ms(apr_time_t deadline)
{
    apr_time_t left = deadline - clock_monotonic();

    return left <= 0 ? 0 : (int)(left / 1000 + 1);
}

/* Wait until the child writes something or ends. 0: the server was told to end, or it is late. */
static int conf_check_wait(const apr_proc_t *child, apr_time_t deadline)
{
    struct pollfd fds[] = {{.events = POLLIN}, {.fd = sup_signals_fd(), .events = POLLIN}};
    apr_os_file_t fd = -1;

    apr_os_file_get(&fd, child->err);
    BRG_ASSERT(fd >= 0 && fds[1].fd >= 0);
    fds[0].fd = fd;
    for (;;) {
        const int left = conf_check_left_ms(deadline);

        if (sup_signals_end_is_asked() || !left)
            return 0;
        if (poll(fds, 2, left) < 0 && errno != EINTR)
            return 1;
        if (fds[0].revents)
            return 1;
        if (fds[1].revents)
            sup_signals_drain();
    }
}

static void conf_check_is_late(const char *program)
{
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                 "%s has not read the configuration within %d seconds (ReloadTimeout); "
                 "the server goes on as it is",
                 program, mpm_reload_seconds);
}

/* The child's messages; kept until it is known whether they are complaints. NULL: it was ended,
 * since the server is to end or it took too long. */
static apr_array_header_t *conf_check_output(apr_proc_t *child, const char *program, apr_pool_t *p)
{
    const apr_time_t deadline = clock_monotonic() + apr_time_from_sec(mpm_reload_seconds);
    apr_array_header_t *lines = apr_array_make(p, 8, sizeof(char *));
    char buf[HUGE_STRING_LEN];

    while (conf_check_wait(child, deadline) &&
           apr_file_gets(buf, sizeof buf, child->err) == APR_SUCCESS) {
        buf[strcspn(buf, "\n")] = '\0';
        if (*buf)
            APR_ARRAY_PUSH(lines, char *) = apr_pstrdup(p, buf);
    }
    sup_signals_wake();
    if (!sup_signals_end_is_asked() && conf_check_left_ms(deadline))
        return lines;
    if (!sup_signals_end_is_asked())
        conf_check_is_late(program);
    apr_proc_kill(child, SIGKILL);
    return NULL;
}

static int conf_check_has_line(const apr_array_header_t *lines, const char *line)
{
    for (int i = 0; i < lines->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(lines, i, char *), line))
            return 1;
    return 0;
}

static int conf_check_verdict(const process_rec *process, const char *program, const char *says,
                              apr_pool_t *p)
{
    apr_array_header_t *lines;
    apr_exit_why_e why;
    apr_proc_t child;
    int code = 1;
    apr_status_t rv = conf_check_start(process, program, &child, p);

    BRG_ASSERT(program != NULL);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, ap_server_conf,
                     "cannot start %s to check the configuration; the server goes on as it is",
                     program);
        return 0;
    }
    lines = conf_check_output(&child, program, p);
    rv = apr_proc_wait(&child, &code, &why, APR_WAIT);
    if (!lines)
        return 0;
    if (rv == APR_CHILD_DONE && why == APR_PROC_EXIT && code == 0) {
        if (!says || conf_check_has_line(lines, says))
            return 1;
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "%s is no Brigade that can take over from this one (it does not say \"%s\"); "
                     "the server goes on as it is",
                     program, says);
        return 0;
    }
    for (int i = 0; i < lines->nelts; i++)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf, "%s",
                     APR_ARRAY_IDX(lines, i, char *));
    if (says)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "%s does not find the configuration usable; the server goes on as it is",
                     program);
    else
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "the new configuration is not usable; the server goes on with the one it has");
    return 0;
}

int conf_test_program_in_child(process_rec *process, const char *program, const char *says)
{
    apr_pool_t *p;
    int good;

    BRG_ASSERT(sup_is_supervisor());
    apr_pool_create(&p, process->pool);
    good = conf_check_verdict(process, program, says, p);
    apr_pool_destroy(p);
    return good;
}

int conf_test_in_child(process_rec *process)
{
    return conf_test_program_in_child(process, CONF_SELF, NULL);
}
