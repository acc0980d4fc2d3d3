/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a program that was started: permission, arguments and variables, streams. */
#include "cgi_private.h"
#include "cgi_daemon.h"
#include "cgi_record.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "unixd.h"
#include "util_script.h"
#include "apr_strings.h"
#include "brigade/wait.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

APLOG_USE_MODULE(cgid);

#define HANDLER_AGAIN apr_time_from_msec(50) /* until the daemon takes messages again */

/* ---- permission ---- */

static int handler_is_aliased(const request_rec *r)
{
    const char *type = apr_table_get(r->notes, "alias-forced-type");

    return type && !strcasecmp(type, "cgi-script");
}

static int handler_refuses(cgi_run *run, int status, const char *number, const char *error)
{
    ap_log_rerror(__FILE__, __LINE__, cgi_log_index(), APLOG_ERR, 0, run->r, "%sstderr from %s: %s",
                  number, run->r->filename, error);
    cgi_log_script(run, status, error, NULL);
    return status;
}

static int handler_check(cgi_run *run)
{
    request_rec *r = run->r;

    if (!(ap_allow_options(r) & OPT_EXECCGI) && !handler_is_aliased(r))
        return handler_refuses(run, HTTP_FORBIDDEN, APLOGNO(01262),
                               "Options ExecCGI is off in this directory");
    if (run->is_nph && !strcmp(r->protocol, "INCLUDED"))
        return handler_refuses(run, HTTP_FORBIDDEN, APLOGNO(01263),
                               "attempt to include NPH CGI script");
    if (r->finfo.filetype == APR_NOFILE)
        return handler_refuses(run, HTTP_NOT_FOUND,
                               cgi_log_index() == cgid_module.module_index ? APLOGNO(01264)
                                                                           : APLOGNO(02811),
                               "script not found or unable to stat");
    if (r->finfo.filetype == APR_DIR)
        return handler_refuses(run, HTTP_FORBIDDEN, APLOGNO(01265),
                               "attempt to invoke directory as script");
    if (r->used_path_info == AP_REQ_REJECT_PATH_INFO && r->path_info && *r->path_info)
        return handler_refuses(run, HTTP_NOT_FOUND, APLOGNO(01266),
                               "AcceptPathInfo off disallows user's path");
    return OK;
}

/* ---- the program ---- */

/* A query without '=' is a list of words (ISINDEX). */
static void handler_add_words(apr_pool_t *p, apr_array_header_t *argv, const char *args)
{
    if (!args || !*args || strchr(args, '='))
        return;
    while (*args) {
        char *word = ap_getword_nulls(p, &args, '+');

        ap_unescape_url(word);
        APR_ARRAY_PUSH(argv, const char *) = ap_escape_shell_cmd(p, word);
    }
}

static cgi_limit handler_limit(const struct rlimit *limit)
{
    return limit ? (cgi_limit){1, limit->rlim_cur, limit->rlim_max} : (cgi_limit){0};
}

static const char *handler_suexec(const request_rec *r, apr_array_header_t *argv)
{
    const ap_unix_identity_t *identity =
        ap_unixd_config.suexec_enabled ? ap_run_get_suexec_identity(r) : NULL;

    if (!identity)
        return r->filename;
    APR_ARRAY_PUSH(argv, const char *) = SUEXEC_BIN;
    APR_ARRAY_PUSH(argv, const char *) = identity->userdir
                                             ? apr_psprintf(r->pool, "~%ld", (long)identity->uid)
                                             : apr_psprintf(r->pool, "%ld", (long)identity->uid);
    APR_ARRAY_PUSH(argv, const char *) = apr_psprintf(r->pool, "%ld", (long)identity->gid);
    return SUEXEC_BIN;
}

static void handler_program(const cgi_run *run, cgi_program *program)
{
    request_rec *r = run->r;
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_array_header_t *argv = apr_array_make(r->pool, 8, sizeof(const char *));

    program->file = handler_suexec(r, argv);
    APR_ARRAY_PUSH(argv, const char *) = run->name;
    handler_add_words(r->pool, argv, r->args);
    APR_ARRAY_PUSH(argv, const char *) = NULL;
    program->argv = (const char *const *)argv->elts;
    program->folder = ap_make_dirstr_parent(r->pool, r->filename);
    ap_add_common_vars(r);
    ap_add_cgi_vars(r);
    program->env = (const char *const *)ap_create_environment(r->pool, r->subprocess_env);
    program->limits[CGI_LIMIT_CPU] = handler_limit(core->limit_cpu);
    program->limits[CGI_LIMIT_MEM] = handler_limit(core->limit_mem);
    program->limits[CGI_LIMIT_NPROC] = handler_limit(core->limit_nproc);
}

/* ---- the message ---- */

typedef struct handler_message {
    cgi_run *run;
    char *record;
    size_t len;
    int fds[3]; /* the program's ends of streams, a file in memory; -1 */
} handler_message;

static void handler_message_close(handler_message *m)
{
    for (int i = 0; i < 3; i++) {
        if (m->fds[i] >= 0)
            close(m->fds[i]);
        m->fds[i] = -1;
    }
}

static apr_status_t handler_message_cleanup(void *data)
{
    handler_message_close(data);
    return APR_SUCCESS;
}

/* A record that is longer than a message. */
static int handler_to_memory(handler_message *m)
{
    m->fds[2] = memfd_create("cgi", MFD_CLOEXEC);
    return m->fds[2] >= 0 && write(m->fds[2], m->record, m->len) == (ssize_t)m->len;
}

static int handler_streams(handler_message *m)
{
    int io[2], errors[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, io))
        return 0;
    m->run->io = io[0];
    m->fds[0] = io[1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, errors))
        return 0;
    m->run->errors = errors[0];
    m->fds[1] = errors[1];
    return 1;
}

/* @return 0, or an errno */
static int handler_send(const handler_message *m)
{
    const int fds_n = m->fds[2] >= 0 ? 3 : 2;
    char room[CMSG_SPACE(sizeof m->fds)] = {0};
    struct iovec iov = {m->record, m->fds[2] >= 0 ? sizeof(cgi_record_head) : m->len};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = CMSG_SPACE((size_t)fds_n * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_len = CMSG_LEN((size_t)fds_n * sizeof(int));
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(head), m->fds, (size_t)fds_n * sizeof(int));
    return sendmsg(cgi_daemon_socket(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

static int handler_fails(cgi_run *run, int error)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, error, run->r,
                  APLOGNO(10245) "stderr from %s: could not send request to cgi daemon",
                  run->r->filename);
    cgi_log_script(run, HTTP_SERVICE_UNAVAILABLE, "could not send request to cgi daemon", NULL);
    cgi_run_close(run, 0);
    return HTTP_SERVICE_UNAVAILABLE;
}

static int handler_try(handler_message *m);

static int handler_again(request_rec *r, void *baton, int came)
{
    return handler_try(baton);
}

static void handler_gone(request_rec *r, void *baton)
{
    handler_message *m = baton;

    handler_message_close(m);
    cgi_run_close(m->run, 0);
}

/* The daemon has more to do than its socket holds. */
static int handler_wait(handler_message *m)
{
    const brg_wait_for wanted = {.timeout = HANDLER_AGAIN, .fd = -1};
    struct pollfd daemon = {.fd = cgi_daemon_socket(), .events = POLLOUT};

    if (cgi_may_wait(m->run->r))
        return brg_wait(m->run->r, &wanted, handler_again, handler_gone, m);
    if (poll(&daemon, 1, (int)apr_time_as_msec(m->run->r->server->timeout)) <= 0)
        return handler_fails(m->run, ETIMEDOUT);
    return handler_try(m);
}

static int handler_try(handler_message *m)
{
    const int error = handler_send(m);

    if (error == EAGAIN || error == EINTR)
        return handler_wait(m);
    handler_message_close(m);
    return error ? handler_fails(m->run, error) : cgi_run_begin(m->run);
}

static int handler_start(cgi_run *run)
{
    request_rec *r = run->r;
    handler_message *m = apr_palloc(r->pool, sizeof *m);
    cgi_program program;

    *m = (handler_message){.run = run, .fds = {-1, -1, -1}};
    handler_program(run, &program);
    m->len = cgi_record_size(&program);
    if (!m->len)
        return handler_fails(run, E2BIG);
    if (cgi_daemon_socket() < 0)
        return handler_fails(run, ENOTCONN);
    m->record = apr_palloc(r->pool, m->len);
    cgi_record_write(m->record, &program);
    apr_pool_pre_cleanup_register(r->pool, m, handler_message_cleanup);
    if (!handler_streams(m) || (m->len > CGI_RECORD_INLINE && !handler_to_memory(m))) {
        const int error = errno;

        handler_message_close(m);
        return handler_fails(run, error);
    }
    return handler_try(m);
}

/* ---- the handler ---- */

static cgi_run *handler_run(request_rec *r, const module *m)
{
    const cgi_dir_conf *dir = ap_get_module_config(r->per_dir_config, m);
    const char *slash = strrchr(r->filename, '/');
    cgi_run *run = apr_pcalloc(r->pool, sizeof *run);

    run->r = r;
    run->m = m;
    run->conf = ap_get_module_config(r->server->module_config, m);
    run->timeout = dir->timeout;
    run->name = slash ? slash + 1 : r->filename;
    run->is_nph = !strncmp(run->name, "nph-", 4);
    run->io = run->errors = run->both = -1;
    run->body = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    run->out = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    run->body_open = 1;
    if (run->conf->log && run->conf->body_bytes)
        run->kept = apr_palloc(r->pool, run->conf->body_bytes);
    return run;
}

int cgi_handle(request_rec *r, const module *m)
{
    cgi_run *run;
    int status;

    if (!r->handler || (strcmp(r->handler, CGI_TYPE) != 0 && strcmp(r->handler, "cgi-script") != 0))
        return DECLINED;
    run = ap_get_module_config(r->request_config, m);
    if (run && run->location)
        return cgi_run_redirect(run);
    run = handler_run(r, m);
    status = handler_check(run);
    return status == OK ? handler_start(run) : status;
}
