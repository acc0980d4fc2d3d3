/* SPDX-License-Identifier: Apache-2.0 */
/* Would the configuration start? A new process of this program tries it out (config_trial.c), so nothing
 * that our code or a module's does while it reads can change the running server, or end it. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_escape.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "ambient.h"
#include "generation.h"
#include "kept_secret.h"
#include "listen_sockets.h"
#include "supervisor_parts.h"

#include "apr_portable.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define CONF_ORDER_MOST 65536 /* bytes: a variable of the environment has room for twice as many */
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

static apr_status_t conf_check_attributes(apr_procattr_t **attr, apr_pool_t *p)
{
    apr_file_t *nowhere;
    apr_status_t rv;

    /* Standard output of -t is for users. */
    if ((rv = apr_file_open(&nowhere, "/dev/null", APR_FOPEN_WRITE, APR_FPROT_OS_DEFAULT, p)) !=
            APR_SUCCESS ||
        (rv = apr_procattr_create(attr, p)) != APR_SUCCESS ||
        (rv = apr_procattr_io_set(*attr, APR_NO_PIPE, APR_NO_PIPE, APR_FULL_BLOCK)) !=
            APR_SUCCESS ||
        (rv = apr_procattr_child_out_set(*attr, nowhere, NULL)) != APR_SUCCESS ||
        (rv = apr_procattr_cmdtype_set(*attr, APR_PROGRAM)) != APR_SUCCESS ||
        (rv = apr_procattr_child_errfn_set(*attr, conf_check_failed)) != APR_SUCCESS)
        return rv;
    return apr_procattr_error_check_set(*attr, 1);
}

/* The facts about this server for a trial of a reload. */
static const char *conf_check_order(apr_pool_t *p)
{
    const char *order = CONF_TRIAL_RELOAD, *name;
    listen_handed a;

    if (listen_given_handed(0, &name) >= 0)
        order = CONF_TRIAL_RELOAD " *";
    for (int i = 0; listen_socket_handed(i, &a); i++)
        order = apr_pstrcat(p, order, " ", apr_pescape_hex(p, &a.addr, a.addr_len, 0), NULL);
    if (strlen(order) > CONF_ORDER_MOST)
        order = CONF_TRIAL_RELOAD " *";
    return order;
}

static apr_status_t conf_check_start(const process_rec *process, const char *program,
                                     const char *order, apr_proc_t *child, apr_pool_t *p)
{
    apr_procattr_t *attr;
    int secrets;
    apr_status_t rv = conf_check_attributes(&attr, p);

    if (rv != APR_SUCCESS)
        return rv;
    secrets = kept_secret_give();
    if (secrets >= 0)
        order = apr_psprintf(p, "%s" CONF_TRIAL_SECRETS "%d", order, secrets);
    setenv(CONF_TRIAL_VARIABLE, order, 1);
    ambient_pass_on(1);
    rv = apr_proc_create(child, program, conf_program_args(process, "-t", p),
                         (const char *const *)environ, attr, p);
    ambient_pass_on(0);
    unsetenv(CONF_TRIAL_VARIABLE);
    if (secrets >= 0)
        close(secrets);
    return rv;
}

static int conf_check_left_ms(apr_time_t deadline)
{
    apr_time_t left = deadline - clock_monotonic();

    return left <= 0 ? 0 : (int)(left / 1000 + 1);
}

typedef struct conf_check {
    apr_proc_t child;
    int alive; /* readable when the child has ended: its children may keep its standard error open */
    apr_time_t deadline;
    apr_array_header_t *lines; /* its messages */
    const char *fault;         /* the fault that it found; NULL: it did not say */
    int told;                  /* its last line is there */
} conf_check;

/* Wait until the child writes something or ends. 0: the server was told to end, or it is late. */
static int conf_check_wait(const conf_check *c)
{
    struct pollfd fds[] = {{.events = POLLIN},
                           {.fd = sup_signals_fd(), .events = POLLIN},
                           {.fd = c->alive, .events = POLLIN}};
    apr_os_file_t fd = -1;

    apr_os_file_get(&fd, c->child.err);
    BRG_ASSERT(fd >= 0);
    fds[0].fd = fd;
    for (;;) {
        const int left = conf_check_left_ms(c->deadline);

        if (sup_signals_end_is_asked() || !left)
            return 0;
        if (poll(fds, 3, left) < 0 && errno != EINTR)
            return 1;
        if (fds[0].revents)
            return 1;
        if (fds[2].revents)
            return 0;
        if (fds[1].revents)
            sup_signals_drain();
    }
}

static void conf_check_is_late(const char *program)
{
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                 "%s has not read the configuration within %d seconds (ReloadTimeout); "
                 "the server goes on as it is",
                 program, mpm_settings.reload_seconds);
}

static void conf_check_line(conf_check *c, const char *line, const char *says)
{
    if (!*line)
        return;
    if (!strncmp(line, CONF_TRIAL_FAULT, strlen(CONF_TRIAL_FAULT)))
        c->fault = apr_pstrdup(c->lines->pool, line + strlen(CONF_TRIAL_FAULT));
    else
        APR_ARRAY_PUSH(c->lines, char *) = apr_pstrdup(c->lines->pool, line);
    c->told |= c->fault || !strcmp(line, says);
}

/* The child's messages; kept until it is known whether they are complaints. 0: it was ended,
 * since the server is to end or it took too long. */
static int conf_check_output(conf_check *c, const char *program, const char *says)
{
    char buf[HUGE_STRING_LEN];

    while (!c->told && conf_check_wait(c) &&
           apr_file_gets(buf, sizeof buf, c->child.err) == APR_SUCCESS) {
        buf[strcspn(buf, "\n")] = '\0';
        conf_check_line(c, buf, says);
    }
    if (sup_signals_fd() >= 0)
        sup_signals_wake();
    if (!sup_signals_end_is_asked() && conf_check_left_ms(c->deadline))
        return 1;
    if (!sup_signals_end_is_asked())
        conf_check_is_late(program);
    apr_proc_kill(&c->child, SIGKILL);
    return 0;
}

/* Its end may take as long as it likes, but not longer than there is time. */
static void conf_check_end(conf_check *c, int *code, apr_exit_why_e *why)
{
    struct pollfd fd = {.fd = c->alive, .events = POLLIN};

    while (c->alive >= 0 && !fd.revents && conf_check_left_ms(c->deadline) &&
           !sup_signals_end_is_asked())
        (void)poll(&fd, 1, conf_check_left_ms(c->deadline) < 100 ? 1 : 100);
    if (c->alive >= 0 && !fd.revents)
        apr_proc_kill(&c->child, SIGKILL);
    if (c->alive >= 0)
        close(c->alive);
    if (apr_proc_wait(&c->child, code, why, APR_WAIT) != APR_CHILD_DONE)
        *code = 1;
    /* A process of a module that it left behind, if it had a group of its own. */
    (void)kill(-c->child.pid, SIGKILL);
}

static int conf_check_has_line(const conf_check *c, const char *line)
{
    for (int i = 0; i < c->lines->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(c->lines, i, char *), line))
            return 1;
    return 0;
}

/* Another program, or a Brigade of before. */
static int conf_check_is_other(const conf_check *c)
{
    return !c->lines->nelts || conf_check_has_line(c, "Syntax OK");
}

/* How it ended without a word of its own, and its last words. */
static const char *conf_check_no_word(const conf_check *c, int code, apr_exit_why_e why,
                                      apr_pool_t *p)
{
    const char *last =
        c->lines->nelts ? APR_ARRAY_IDX(c->lines, c->lines->nelts - 1, char *) : NULL;

    return apr_psprintf(p, "the process that tried it ended %s %d%s%s",
                        APR_PROC_CHECK_SIGNALED(why) ? "by signal" : "with status", code,
                        last ? ": " : "", last ? last : "");
}

/* @return NULL if all is well, "" if it was ended, else the fault */
static const char *conf_check_ask(const process_rec *process, const char *program,
                                  const char *order, const char *says, conf_check *c, apr_pool_t *p)
{
    apr_exit_why_e why;
    int code = 1, done;
    apr_status_t rv = conf_check_start(process, program, order, &c->child, p);

    if (rv != APR_SUCCESS) {
        char buf[256];

        return apr_psprintf(p, "%s cannot be started: %s", program,
                            apr_strerror(rv, buf, sizeof buf));
    }
    c->alive = (int)syscall(SYS_pidfd_open, c->child.pid, 0);
    c->deadline = clock_monotonic() + apr_time_from_sec(mpm_settings.reload_seconds);
    c->lines = apr_array_make(p, 8, sizeof(char *));
    done = conf_check_output(c, program, says);
    conf_check_end(c, &code, &why);
    if (!done)
        return "";
    if (c->fault && *c->fault)
        return c->fault;
    if (!APR_PROC_CHECK_SIGNALED(why) && code == 0 && c->told)
        return NULL;
    if (!APR_PROC_CHECK_SIGNALED(why) && code == 0 && conf_check_is_other(c))
        return apr_psprintf(
            p, "%s is no Brigade that can take over from this one (it does not say \"%s\")",
            program, says);
    for (int i = 0; i < c->lines->nelts - 1; i++)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf, "%s",
                     APR_ARRAY_IDX(c->lines, i, char *));
    return conf_check_no_word(c, code, why, p);
}

int conf_trial_of_start(process_rec *process)
{
    conf_check c = {.alive = -1};
    apr_pool_t *p;
    const char *wrong;

    apr_pool_create(&p, process->pool);
    wrong = conf_check_ask(process, CONF_SELF, CONF_TRIAL_START, CONF_TRIAL_GOOD, &c, p);
    if (wrong && *wrong)
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, NULL, "%s: a start would fail: %s",
                     process->short_name, wrong);
    apr_pool_destroy(p);
    return !wrong;
}

/* @return 1 if it was said already, and last */
static int conf_check_is_known(const char *wrong)
{
    static char *last;

    if (wrong && last && !strcmp(wrong, last))
        return 1;
    free(last);
    last = wrong ? strdup(wrong) : NULL;
    return 0;
}

int conf_test_program_in_child(process_rec *process, const char *program, const char *says,
                               const char *also, int *said)
{
    conf_check c = {.alive = -1};
    apr_pool_t *p;
    const char *wrong;

    BRG_ASSERT(sup_is_supervisor() && program != NULL);
    apr_pool_create(&p, process->pool);
    wrong = conf_check_ask(process, program, conf_check_order(p), says, &c, p);
    if (wrong && *wrong)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "%s does not find the configuration usable; the server goes on as it is: %s",
                     program, wrong);
    *said = !wrong && conf_check_has_line(&c, also);
    apr_pool_destroy(p);
    return !wrong;
}

int conf_test_in_child(process_rec *process, int quietly)
{
    conf_check c = {.alive = -1};
    apr_pool_t *p;
    const char *wrong;

    BRG_ASSERT(sup_is_supervisor());
    apr_pool_create(&p, process->pool);
    wrong = conf_check_ask(process, CONF_SELF, conf_check_order(p), CONF_TRIAL_GOOD, &c, p);
    if (!(conf_check_is_known(wrong) && quietly) && wrong && *wrong)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "the new configuration is not usable; the server goes on with the one it "
                     "has: %s",
                     wrong);
    apr_pool_destroy(p);
    return !wrong;
}
