/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec: the output of a command or CGI program.
 *
 * A command runs in a process group of its own, which is killed as a whole at the time limit or
 * when the client is gone. It gets the page's variables as environment, and nothing of the request
 * as argument. Between fork and exec only calls that are safe there are made.
 */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"

#include "brigade/loop.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_strings.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXEC_POLL_MS 100 /* before the deadline of a command that closed its output and continues */
#define EXEC_CGI_TYPE "application/x-httpd-cgi"

/* ---- the child ---- */

typedef struct exec_command {
    const char *text, *dir;
    char **env;
    const core_dir_config *core;
} exec_command;

static void exec_limit(int resource, const struct rlimit *limit)
{
    if (limit)
        setrlimit(resource, limit);
}

static void exec_child(const exec_command *command, int out) __attribute__((noreturn));
static void exec_child(const exec_command *command, int out)
{
    sigset_t none;
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    exec_limit(RLIMIT_CPU, command->core->limit_cpu);
    exec_limit(RLIMIT_AS, command->core->limit_mem);
    exec_limit(RLIMIT_NPROC, command->core->limit_nproc);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || (command->dir && chdir(command->dir)))
        _exit(127);
    close_range(3, ~0u, 0);
    execle("/bin/sh", "/bin/sh", "-c", command->text, (char *)NULL, command->env);
    _exit(127);
}

static pid_t exec_start(const exec_command *command, int *out)
{
    int fd[2];
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC))
        return -1;
    pid = fork();
    if (pid == 0)
        exec_child(command, fd[1]);
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return -1;
    }
    setpgid(pid, pid); /* here too: the group must be there before it is killed */
    *out = fd[0];
    return pid;
}

/* ---- its output ---- */

/* Milliseconds until the deadline, for poll(). */
static int exec_wait_ms(apr_time_t deadline)
{
    apr_interval_time_t left;

    if (!deadline)
        return -1;
    left = deadline - brg_monotonic_now();
    return left <= 0 ? 0 : (int)(left / 1000 + 1);
}

/* The fate of a command. */
enum {
    EXEC_ENDED,
    EXEC_LATE,    /* its time is over */
    EXEC_STOPPED, /* the client is gone, or the page reached a limit */
    EXEC_UNREAD   /* its output cannot be read; there was a message */
};

static int exec_unread(const include_ctx_t *ctx, const char *call)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, errno, ctx->r,
                  "the output of a command in %s cannot be read: %s", ctx->r->filename, call);
    return EXEC_UNREAD;
}

/* Copies the command's output into the page until it ends. @return EXEC_... */
static int exec_read(include_ctx_t *ctx, int fd, apr_time_t deadline)
{
    ssi_out *out = &ctx->intern->out;
    char buf[8000];

    BRG_ASSERT(fd >= 0);
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, 0);
        ssize_t n;

        if (ready == 0) {
            ssi_out_flush(out);
            ready = poll(&p, 1, exec_wait_ms(deadline));
        }
        if (ready < 0 && errno == EINTR)
            continue; /* never to read(), which knows no deadline */
        if (ready < 0)
            return exec_unread(ctx, "poll");
        if (ready == 0 || (deadline && brg_monotonic_now() > deadline))
            return EXEC_LATE;
        n = read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return exec_unread(ctx, "read");
        if (n == 0)
            return EXEC_ENDED;
        ssi_out_bytes(out, buf, (apr_size_t)n);
        if (out->status != APR_SUCCESS || ctx->intern->top->stopped)
            return EXEC_STOPPED;
    }
}

/* A command may close its output and continue. @return EXEC_ENDED or EXEC_LATE */
static int exec_reap(pid_t pid, apr_time_t deadline)
{
    int status;

    BRG_ASSERT(pid > 1);
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);

        if (got == pid || (got < 0 && errno != EINTR))
            return EXEC_ENDED;
        if (deadline && brg_monotonic_now() > deadline)
            return EXEC_LATE;
        poll(NULL, 0,
             deadline && exec_wait_ms(deadline) < EXEC_POLL_MS ? exec_wait_ms(deadline) : 1);
    }
}

static void exec_kill(pid_t pid)
{
    int status;

    BRG_ASSERT(pid > 1); /* -1 would be every process */
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
}

/* The command's own, or that of the include that its page belongs to. */
static apr_time_t exec_deadline(include_ctx_t *ctx, const char **limit)
{
    apr_interval_time_t most = ctx->intern->conf->exec_us;
    apr_time_t own = most ? brg_monotonic_now() + most : 0, page = ctx->intern->link->deadline;

    *limit = page && (!own || page < own) ? "SSIIncludeTimeout" : "SSIExecTimeout";
    return page && (!own || page < own) ? page : own;
}

static void exec_own_path(include_ctx_t *ctx, int replace)
{
    request_rec *r = ctx->r, *found;
    apr_table_t *env = r->subprocess_env;
    apr_pool_t *p = ctx->intern->top->r->pool;

    if (!r->path_info || !*r->path_info || (!replace && apr_table_get(env, "PATH_INFO")))
        return;
    apr_table_setn(env, "PATH_INFO", apr_pstrdup(p, r->path_info));
    found = ap_sub_req_lookup_uri(ap_escape_uri(ssi_dpool(ctx), r->path_info), r, NULL);
    if (found->filename) {
        apr_table_setn(env, "PATH_TRANSLATED",
                       apr_pstrcat(p, found->filename, found->path_info, NULL));
    }
    ap_destroy_sub_req(found);
}

/* As in Apache, a command sees the query and the path of the page that was included last, or of its own page
 * if no included one had any. After the command those of its own page are set. */
static void exec_own_vars(include_ctx_t *ctx, int replace)
{
    request_rec *r = ctx->r;

    exec_own_path(ctx, replace);
    if (replace || !apr_table_get(r->subprocess_env, "QUERY_STRING"))
        ssi_env_add_query(r, ctx->intern->top);
}

static int exec_cmd(include_ctx_t *ctx, const char *text)
{
    request_rec *r = ctx->r;
    const char *limit;
    apr_time_t deadline = exec_deadline(ctx, &limit);
    exec_command command = {.text = text};
    int fd, ended;
    pid_t pid;

    ssi_vars_resolve(ctx);
    exec_own_vars(ctx, 0);
    command.core = ap_get_core_module_config(r->per_dir_config);
    command.env = ap_create_environment(ssi_dpool(ctx), r->subprocess_env);
    command.dir = ap_make_dirstr_parent(ctx->dpool, r->filename);
    exec_own_vars(ctx, 1);
    pid = exec_start(&command, &fd);
    if (pid < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, errno, r,
                      APLOGNO(01227) "couldn't spawn child process: %s", text);
        return 0;
    }
    ended = exec_read(ctx, fd, deadline);
    close(fd);
    if (ended == EXEC_ENDED)
        ended = exec_reap(pid, deadline);
    if (ended == EXEC_ENDED)
        return 1;
    exec_kill(pid);
    if (ended == EXEC_LATE)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_TIMEUP, r,
                      "command took longer than %s and was killed: \"%s\" in %s", limit, text,
                      r->filename);
    return ended == EXEC_STOPPED;
}

/* ---- cgi ---- */

static void exec_redirect(include_ctx_t *ctx, const request_rec *sub)
{
    const char *location = apr_table_get(sub->headers_out, "Location");
    const char *shown = ap_escape_html(ssi_dpool(ctx), location ? location : "");

    ssi_out_text(&ctx->intern->out,
                 apr_pstrcat(ctx->dpool, "<a href=\"", shown, "\">", shown, "</a>", NULL));
}

static int exec_cgi_run(include_ctx_t *ctx, request_rec *sub)
{
    ssi_state *s = ctx->intern;
    ssi_link *outer = s->capture_link;
    const char *limit;
    int status;

    BRG_ASSERT(sub->main == ctx->r);
    sub->path_info = ctx->r->path_info;
    sub->args = ctx->r->args;
    ap_set_content_type(sub, EXEC_CGI_TYPE);
    sub->handler = EXEC_CGI_TYPE;
    s->capture_link = ssi_sub_begin(ctx, sub, exec_deadline(ctx, &limit));
    status = ap_run_sub_req(sub);
    s->capture_link = outer;
    if (ssi_sub_is_late(sub, status)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_TIMEUP, ctx->r,
                      "exec cgi took longer than %s: \"%s\" in %s", limit, sub->uri,
                      ctx->r->filename);
        return 0;
    }
    if (ap_is_HTTP_REDIRECT(status))
        exec_redirect(ctx, sub);
    return 1;
}

/* Without a module for CGI the program's text would be sent. */
static int exec_has_cgi(void)
{
    return ap_find_linked_module("mod_cgi.c") || ap_find_linked_module("mod_cgid.c");
}

static int exec_cgi(include_ctx_t *ctx, const char *target)
{
    request_rec *sub;
    int ok;

    if (!exec_has_cgi()) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      "exec cgi needs mod_cgi or mod_cgid, which are not loaded, in %s",
                      ctx->r->filename);
        return 0;
    }
    ssi_env_ready(ctx);
    sub = ap_sub_req_lookup_uri(target, ctx->r, &ctx->intern->capture);
    ok = sub->status == HTTP_OK && (!sub->path_info || !*sub->path_info) && !sub->args &&
         sub->finfo.filetype == APR_REG && exec_cgi_run(ctx, sub);
    ssi_sub_end(sub);
    return ok;
}

/* ---- the element ---- */

static int exec_one(include_ctx_t *ctx, void *unused, const ssi_arg *arg)
{
    request_rec *r = ctx->r;

    if (!strcmp(arg->name, "cmd")) {
        if (exec_cmd(ctx, ssi_expand(ctx, arg->decoded, SSI_EXPAND_LEAVE_NAME)))
            return 1;
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01229) "execution failure for parameter \"%s\" to tag exec in file "
                                     "%s",
                      arg->name, r->filename);
    } else if (!strcmp(arg->name, "cgi")) {
        if (exec_cgi(ctx, ssi_expand(ctx, arg->decoded, SSI_EXPAND_DROP_NAME)))
            return 1;
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01230) "invalid CGI ref \"%s\" in %s",
                      arg->decoded, r->filename);
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01231) "unknown parameter \"%s\" to tag exec in %s", arg->name,
                      r->filename);
    }
    return 0;
}

apr_status_t ssi_do_exec(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    const ssi_directive *d = ctx->intern->directive;

    ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    if (d->args_n && (ctx->flags & SSI_FLAG_NO_EXEC)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01228) "exec used but not allowed in %s", ctx->r->filename);
        ssi_error(ctx);
        return APR_SUCCESS;
    }
    if (!d->args_n || !ssi_about_to_wait(ctx))
        ssi_attributes(ctx, APLOGNO(03195), 1, exec_one, NULL);
    return APR_SUCCESS;
}
