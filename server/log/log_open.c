/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the error logs: files, programs, services; and standard error, which becomes the main one
 * of them. */
#include "log_private.h"
#include "log_watch.h"
#include "trial.h"
#include "brigade/assert.h"
#include "brigade/log_files.h"
#include "brigade/loop.h"

#include "ap_mpm.h"
#include "ap_listen.h"
#include "http_main.h"
#include "mpm_common.h"

#include "apr_portable.h"
#include "apr_strings.h"

#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

apr_file_t *log_stderr;
int log_is_open;
const apr_array_header_t *log_startup_format;

static apr_pool_t *log_stderr_pool;
static apr_file_t *log_main_pipe; /* of the main server's log, if it is piped */

/* ---- standard error ---- */

AP_DECLARE(void) ap_open_stderr_log(apr_pool_t *p)
{
    if (apr_file_open_stderr(&log_stderr, p) == APR_SUCCESS)
        log_stderr_pool = p;
}

static apr_status_t log_dup_to_stderr(apr_file_t *file)
{
    apr_os_file_t fd;

    apr_file_flush(file);
    apr_os_file_get(&fd, file);
    return fd == STDERR_FILENO || dup2(fd, STDERR_FILENO) >= 0 ? APR_SUCCESS : errno;
}

AP_DECLARE(apr_status_t) ap_replace_stderr_log(apr_pool_t *p, const char *fname)
{
    const char *path = ap_server_root_relative(p, fname);
    apr_file_t *file;
    apr_status_t rv;

    if (!path) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, APR_EBADPATH, NULL,
                     APLOGNO(00085) "Invalid -E error log file %s", fname);
        return APR_EBADPATH;
    }
    rv = apr_file_open(&file, path, APR_FOPEN_APPEND | APR_FOPEN_WRITE | APR_FOPEN_CREATE,
                       APR_OS_DEFAULT, p);
    if (rv == APR_SUCCESS)
        rv = log_dup_to_stderr(file);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, rv, NULL,
                     APLOGNO(00086) "%s: could not open error log file %s.", ap_server_argv0, path);
        return rv;
    }
    return log_stderr ? APR_SUCCESS : apr_file_open_stderr(&log_stderr, p);
}

AP_DECLARE(void) ap_error_log2stderr(server_rec *s)
{
    apr_file_t *file;

    if (apr_file_open_stderr(&file, s->process->pool) == APR_SUCCESS)
        s->error_log = file;
}

/* ---- syslog, the journal ---- */

typedef struct log_service {
    const char *name; /* as ErrorLog has it */
    brg_log_service *service;
} log_service;

static apr_array_header_t *log_services; /* of log_service; NULL: logs are closed */
static int log_service_fd = -1;          /* for all of them */

const brg_log_service *log_service_of(const server_rec *s, int *fd)
{
    const char *name = s->error_fname;

    if (!name && ap_server_conf)
        name = ap_server_conf->error_fname;
    *fd = log_service_fd;
    for (int i = 0; name && log_services && i < log_services->nelts; i++) {
        const log_service *known = &APR_ARRAY_IDX(log_services, i, log_service);

        if (!strcmp(known->name, name))
            return known->service;
    }
    return NULL;
}

static apr_status_t log_services_end(void *unused)
{
    log_services = NULL;
    log_service_fd = -1;
    return APR_SUCCESS;
}

static void log_services_begin(apr_pool_t *p)
{
    log_services = apr_array_make(p, 2, sizeof(log_service));
    apr_pool_cleanup_register(p, NULL, log_services_end, apr_pool_cleanup_null);
}

static int log_open_service(server_rec *s, apr_pool_t *p)
{
    log_service one = {.name = s->error_fname};
    const char *why = brg_log_service_parse(p, s->error_fname, &one.service);
    apr_status_t rv = why ? APR_EBADPATH : APR_SUCCESS;

    BRG_ASSERT(log_services != NULL);
    s->error_log = NULL;
    if (rv == APR_SUCCESS && log_service_fd < 0)
        rv = brg_log_service_open(p, &log_service_fd);
    if (rv == APR_SUCCESS) {
        APR_ARRAY_PUSH(log_services, log_service) = one;
        return OK;
    }
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, rv, NULL,
                 APLOGNO(10036) "%s: could not open error log %s%s%s", ap_server_argv0,
                 s->error_fname, why ? ": " : "", why ? why : "");
    return DONE;
}

/* ---- the logs of a configuration ---- */

/* A missing folder is reported before any log is opened. */
static int log_check_folder(const server_rec *s, apr_pool_t *p)
{
    const char *path;
    apr_finfo_t finfo;
    apr_status_t rv;

    if (!s->error_fname || *s->error_fname == '|' || brg_log_service_is_named(s->error_fname) ||
        !(path = ap_server_root_relative(p, s->error_fname)))
        return OK;
    path = ap_make_dirstr_parent(p, path);
    rv = apr_stat(&finfo, path, APR_FINFO_TYPE, p);
    if (rv == APR_SUCCESS && finfo.filetype != APR_DIR)
        rv = APR_ENOTDIR;
    if (rv == APR_SUCCESS)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_EMERG, rv, NULL,
                 APLOGNO(02291) "Cannot access directory '%s' for %s", path,
                 s->is_virtual ? apr_psprintf(p, "error log of vhost defined at %s:%u",
                                              s->defn_name, s->defn_line_number)
                               : "main error log");
    return !OK;
}

static int log_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                            server_rec *s_main)
{
    int rc = OK;

    for (const server_rec *s = s_main; s; s = s->next)
        if (log_check_folder(s, ptemp) != OK)
            rc = HTTP_INTERNAL_SERVER_ERROR;
    return rc;
}

static int log_open_file(server_rec *s, apr_pool_t *p)
{
    const char *path = ap_server_root_relative(p, s->error_fname);
    apr_status_t rv = APR_EBADPATH;
    apr_os_file_t fd;

    if (path)
        /* Not for reading: it becomes standard error of every program that the server runs. */
        rv = apr_file_open(&s->error_log, path,
                           APR_FOPEN_APPEND | APR_FOPEN_WRITE | APR_FOPEN_CREATE |
                               APR_FOPEN_LARGEFILE,
                           APR_OS_DEFAULT, p);
    if (rv == APR_SUCCESS && apr_os_file_get(&fd, s->error_log) == APR_SUCCESS)
        brg_log_file_watch(p, path, fd);
    if (rv == APR_SUCCESS)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, rv, NULL,
                 APLOGNO(00091) "%s: could not open error log file %s.", ap_server_argv0,
                 path ? path : s->error_fname);
    return DONE;
}

/* A second open file of the pipe, without blocking: nobody waits for the pipe's reader. The first one stays as it
 * is, since it becomes standard error of other programs, which expect that writing to it waits. */
static apr_file_t *log_open_unblocked(apr_file_t *pipe, apr_pool_t *p)
{
    apr_file_t *file;
    apr_os_file_t fd;
    char path[64];

    apr_os_file_get(&fd, pipe);
    apr_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return apr_file_open(&file, path, APR_FOPEN_WRITE | APR_FOPEN_APPEND | APR_FOPEN_NONBLOCK,
                         APR_OS_DEFAULT, p) == APR_SUCCESS
               ? file
               : pipe;
}

static int log_open_pipe(server_rec *s, apr_pool_t *p)
{
    apr_cmdtype_e type = APR_PROGRAM_ENV;
    const char *program = s->error_fname + 1;
    piped_log *pl;

    BRG_ASSERT(*s->error_fname == '|');
    if (*program == '$') {
        type = APR_SHELLCMD_ENV;
        program++;
    } else if (*program == '|')
        program++;
    if (!(pl = ap_open_piped_log_ex(p, program, type))) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, NULL,
                     APLOGNO(00089) "Couldn't start ErrorLog process '%s'.", s->error_fname + 1);
        return DONE;
    }
    s->error_log = log_open_unblocked(ap_piped_log_write_fd(pl), p);
    if (!s->is_virtual)
        log_main_pipe = ap_piped_log_write_fd(pl);
    return OK;
}

static int log_open_server(server_rec *s, apr_pool_t *p)
{
    BRG_ASSERT(s->error_fname != NULL);
    if (*s->error_fname == '|')
        return log_open_pipe(s, p);
    if (brg_log_service_is_named(s->error_fname))
        return log_open_service(s, p);
    return log_open_file(s, p);
}

/* Virtual hosts that name the same log share it. */
static int log_share(server_rec *s, const server_rec *s_main)
{
    BRG_ASSERT(s != s_main && s->error_fname != NULL);
    for (const server_rec *other = s_main; other != s; other = other->next)
        if (other->error_fname && !strcmp(other->error_fname, s->error_fname)) {
            s->error_log = other->error_log;
            return 1;
        }
    return 0;
}

static int log_open_all(server_rec *s_main, apr_pool_t *p)
{
    log_main_pipe = NULL;
    log_services_begin(p);
    if (s_main->error_fname && log_open_server(s_main, p) != OK)
        return DONE;
    for (server_rec *s = s_main->next; s; s = s->next)
        if (!s->error_fname)
            s->error_log = s_main->error_log;
        else if (!log_share(s, s_main) && log_open_server(s, p) != OK)
            return DONE;
    return OK;
}

/* They can be opened; the server that may have them open writes them alone. */
static int log_try_all(server_rec *s_main, apr_pool_t *ptemp)
{
    apr_pool_t *p;
    int rc;

    apr_pool_create(&p, ptemp);
    rc = log_open_all(s_main, p);
    apr_pool_destroy(p);
    for (server_rec *s = s_main; s; s = s->next)
        ap_error_log2stderr(s);
    return rc;
}

int ap_open_logs(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s_main)
{
    apr_file_t *standard_error;

    if (trial_runs())
        return log_try_all(s_main, ptemp);
    if (log_open_all(s_main, plog) != OK)
        return DONE;
    /* Output of libraries and other programs goes to the log, also while a later configuration is read. */
    standard_error = log_main_pipe ? log_main_pipe : s_main->error_log;
    if (standard_error && log_dup_to_stderr(standard_error) == APR_SUCCESS) {
        log_is_open = 1;
        log_startup_format = log_json_of(s_main);
    }
    return OK;
}

/* Messages of a server process are no messages of the start any more. */
void ap_logs_child_init(apr_pool_t *p, server_rec *s)
{
    log_is_open = 1;
    log_watch_leave();
    pipe_leave();
}

/* ---- messages of the start ---- */

AP_DECLARE(void) ap_log_command_line(apr_pool_t *plog, server_rec *s)
{
    process_rec *process = s->process;
    const char *line = process->argc ? ap_escape_logitem(plog, process->argv[0]) : "";

    for (int i = 1; i < process->argc; i++)
        line = apr_pstrcat(plog, line, " ", ap_escape_logitem(plog, process->argv[i]), NULL);
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, APLOGNO(00094) "Command line: '%s'", line);
}

AP_DECLARE(void) ap_log_mpm_common(server_rec *s)
{
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, s, APLOGNO(02639) "Using SO_REUSEPORT: %s (%d)",
                 ap_have_so_reuseport ? "yes" : "no", ap_num_listen_buckets);
}

AP_DECLARE(void) ap_log_assert(const char *expression, const char *file, int line)
{
    ap_log_error(APLOG_MARK, APLOG_CRIT, 0, NULL,
                 APLOGNO(00102) "file %s, line %d, assertion \"%s\" failed", file, line,
                 expression);
    abort();
}

void log_register_hooks(apr_pool_t *p)
{
    ap_hook_generate_log_id(log_generate_id, NULL, NULL, APR_HOOK_REALLY_LAST);
    log_items_register();
    ap_hook_check_config(log_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_open_logs(ap_open_logs, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(ap_logs_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(pipe_monitor, NULL, NULL, APR_HOOK_MIDDLE);
    brg_hook_turn_end(log_said_turn_end, NULL, NULL, APR_HOOK_MIDDLE);
}
