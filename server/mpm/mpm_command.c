/* SPDX-License-Identifier: Apache-2.0 */
/* The command line's say in the process model: -k and -X, and the signals behind -k. */
#include "mpm_settings.h"
#include "brigade/assert.h"
#include "pidfile.h"

#include "http_core.h"
#include "http_log.h"
#include "http_main.h"

#include "apr_getopt.h"
#include "apr_strings.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* A -k command: the signal for a running server, and the action when none runs. */
typedef struct mpm_verb {
    const char *name;
    int sig;           /* 0: start, or for status nothing */
    int start_instead; /* no server runs: start one */
    int status;        /* the program's, where none runs and none is started */
} mpm_verb;

static const mpm_verb mpm_verbs[] = {
    {"start", 0, 1, 0},
    {"stop", SIGTERM, 0, 0},
    {"restart", SIGHUP, 1, 0},
    /* Apache starts a server here: one with the default configuration where -f was forgotten. */
    {"graceful", AP_SIG_GRACEFUL, 0, 1},
    {"reload", AP_SIG_GRACEFUL, 0, 1},
    {"graceful-stop", AP_SIG_GRACEFUL_STOP, 0, 0},
    {"upgrade", SUP_SIG_UPGRADE, 0, 0},
    {"status", 0, 0, 3}, /* as LSB has it */
};

static const char *mpm_dash_k;

static int mpm_defined(const char *const *names)
{
    for (; *names; names++)
        if (ap_exists_config_define(*names))
            return 1;
    return 0;
}

int mpm_one_process(void)
{
    static const char *const names[] = {"ONE_PROCESS", "DEBUG", NULL};
    return mpm_defined(names);
}

int mpm_foreground(void)
{
    static const char *const names[] = {"FOREGROUND", "NO_DETACH", NULL};
    return mpm_one_process() || mpm_defined(names);
}

/* ---- argv ---- */

static void mpm_bad_usage(const process_rec *process, const char *why)
{
    fprintf(stderr, "%s: %s\n", process->short_name, why);
    exit(1);
}

/* Take -k out, which only the process model knows, and replace -X by its meaning. */
void ap_mpm_rewrite_args(process_rec *process)
{
    static const char options[] = "k:" AP_SERVER_BASEARGS;
    apr_array_header_t *argv = apr_array_make(process->pool, process->argc + 2, sizeof(char *));
    const char *value;
    apr_getopt_t *opt;
    char c;
    apr_status_t rv;

    APR_REGISTER_OPTIONAL_FN(ap_signal_server);
    APR_ARRAY_PUSH(argv, const char *) = process->argv[0];
    apr_getopt_init(&opt, process->pool, process->argc, process->argv);
    opt->errfn = NULL; /* main() reports errors */
    while ((rv = apr_getopt(opt, options, &c, &value)) == APR_SUCCESS) {
        if (c == 'k') {
            if (mpm_dash_k)
                mpm_bad_usage(process, "only one -k is allowed");
            mpm_dash_k = value;
            continue;
        }
        APR_ARRAY_PUSH(argv, const char *) =
            c == 'X' ? "-DDEBUG" : apr_psprintf(process->pool, "-%c", c);
        if (value)
            APR_ARRAY_PUSH(argv, const char *) = value;
    }
    if (!APR_STATUS_IS_EOF(rv) && opt->ind > 0)
        opt->ind--;
    for (; opt->ind < process->argc; opt->ind++)
        APR_ARRAY_PUSH(argv, const char *) = process->argv[opt->ind];
    process->argc = argv->nelts;
    APR_ARRAY_PUSH(argv, const char *) = NULL;
    process->argv = (const char *const *)argv->elts;
}

/* ---- -k ---- */

static int mpm_find_running(apr_pool_t *p, pid_t *pid, const char **status)
{
    const char *name = ap_pid_fname ? ap_pid_fname : DEFAULT_PIDLOG;
    apr_status_t rv = ap_read_pid(p, name, pid);

    if (!pidfile_wanted(ap_pid_fname)) {
        *status = "cannot find httpd: the configuration says PidFile none. Send signals to its "
                  "process instead";
        return 0;
    }
    if (APR_STATUS_IS_ENOENT(rv)) {
        *status = "httpd (no pid file) not running";
        return 0;
    }
    if (rv != APR_SUCCESS) {
        *status = "httpd (pid file unreadable) not running";
        return 0;
    }
    if (kill(*pid, 0) != 0 && errno == ESRCH) {
        *status = apr_psprintf(p, "httpd (pid %ld?) not running", (long)*pid);
        return 0;
    }
    if (!pidfile_is_believed(ap_server_root_relative(p, name), *pid)) {
        *status = apr_psprintf(p,
                               "httpd (pid %ld?) not running: the pid file is of another user than "
                               "that process, which is left alone",
                               (long)*pid);
        return 0;
    }
    *status = apr_psprintf(p, "httpd (pid %ld) already running", (long)*pid);
    return 1;
}

const char *mpm_command(void)
{
    return mpm_dash_k;
}

int mpm_runs(apr_pool_t *pconf)
{
    const char *status;
    pid_t pid;

    return mpm_find_running(pconf, &pid, &status) || !pidfile_wanted(ap_pid_fname);
}

pid_t mpm_running(apr_pool_t *pconf)
{
    const char *status;
    pid_t pid = 0;

    if (mpm_find_running(pconf, &pid, &status))
        return pid;
    fprintf(stderr, "%s: %s\n", ap_server_argv0, status);
    return 0;
}

static int mpm_send(pid_t pid, int sig)
{
    BRG_ASSERT(pid > 0 && sig > 0); /* kill() takes other numbers for groups of processes */
    if (kill(pid, sig) == 0)
        return 0;
    ap_log_error(APLOG_MARK, APLOG_STARTUP, errno, NULL, APLOGNO(00057) "sending signal to server");
    return 1;
}

/* The signals that the process @a pid handles, as the kernel tells it. */
static unsigned long long mpm_caught(pid_t pid)
{
    unsigned long long mask = 0;
    char path[64], line[256];
    FILE *in;

    BRG_ASSERT(pid > 0);
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    if (!(in = fopen(path, "re")))
        return 0;
    while (fgets(line, sizeof line, in))
        if (sscanf(line, "SigCgt: %llx", &mask) == 1)
            break;
    fclose(in);
    return mask;
}

/* A server that does not know the signal would be ended by it. */
static int mpm_send_known(pid_t pid, int sig)
{
    if (sig != SUP_SIG_UPGRADE || mpm_caught(pid) >> (sig - 1) & 1)
        return mpm_send(pid, sig);
    fprintf(stderr,
            "%s: the server (pid %ld) cannot be upgraded while it runs: it is older than -k "
            "upgrade, or of one process (-X)\n",
            ap_server_argv0, (long)pid);
    return 1;
}

/* Where the number of the running server is looked for. */
static const char *mpm_pid_path(apr_pool_t *p)
{
    const char *name = ap_pid_fname ? ap_pid_fname : DEFAULT_PIDLOG;
    const char *path = ap_server_root_relative(p, name);

    return pidfile_wanted(ap_pid_fname) && path ? path : name;
}

/* Nothing was sent, and nothing is started. @return the program's exit status */
static int mpm_none_runs(apr_pool_t *p, const mpm_verb *verb, const char *status)
{
    fprintf(stderr, "%s: %s; PidFile %s was looked at\n", ap_server_argv0, status, mpm_pid_path(p));
    if (verb->sig)
        fprintf(stderr,
                "%s: nothing is reloaded: -f FILE names the configuration of another server, -k "
                "start starts one\n",
                ap_server_argv0);
    return verb->status;
}

int ap_signal_server(int *exit_status, apr_pool_t *pconf)
{
    const mpm_verb *verb = mpm_verbs, *end = verb + sizeof mpm_verbs / sizeof *mpm_verbs;
    const char *status;
    pid_t pid = 0;
    int running;

    *exit_status = 0;
    if (!mpm_dash_k)
        return 0;
    while (verb < end && strcmp(verb->name, mpm_dash_k))
        verb++;
    if (verb == end) {
        fprintf(
            stderr,
            "%s: -k takes start, stop, status, reload, graceful, restart, graceful-stop, upgrade, "
            "purge, soft-purge or cache, not %s\n",
            ap_server_argv0, mpm_dash_k);
        *exit_status = 1;
        return 1;
    }
    running = mpm_find_running(pconf, &pid, &status);
    if (!running && verb->start_instead) {
        if (verb->sig) {
            puts("httpd not running, trying to start");
            (void)fflush(stdout); /* the parent of a daemon ends without */
        }
        return 0;
    }
    if (!running && verb->status)
        *exit_status = mpm_none_runs(pconf, verb, status);
    else if (running && verb->status == 3)
        printf("httpd (pid %ld) running, PidFile %s\n", (long)pid, mpm_pid_path(pconf));
    else if (!running || !verb->sig)
        printf("%s\n", status);
    else
        *exit_status = mpm_send_known(pid, verb->sig);
    return 1;
}
