/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that answers a request: the body goes to it while its output comes, and neither waits for the other.
 *
 *   step   moves everything that needs no waiting: body, errors, head, output
 *   wait   on the event loop by brg_wait() for the streams, for more of the body, or until the client has taken output; a
 *          sub-request, or a connection of another kind, waits on its worker by poll()
 */
#include "cgi_private.h"
#include "cgi_daemon.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "brigade/wait.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/socket.h>

APLOG_USE_MODULE(cgid);

#define RUN_READ 16384          /* bytes of output that are read at a time */
#define RUN_STEP 16             /* such reads before others have their turn */
#define RUN_HEAD_MOST (1 << 20) /* bytes of the head */
#define RUN_WAITS (-1)          /* no status yet: wait */

void cgi_run_close(cgi_run *run, int ends)
{
    static const char word = CGI_SAYS_KILL;

    if (run->errors >= 0) {
        cgi_log_errors(run);
        cgi_log_errors_end(run);
        if (ends)
            (void)!send(run->errors, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(run->errors);
    }
    if (run->both >= 0)
        close(run->both);
    if (run->io >= 0)
        close(run->io);
    run->io = run->errors = run->both = -1;
}

/* ---- the body ---- */

static void run_body_ends(cgi_run *run)
{
    run->body_open = 0;
    if (!run->deaf)
        shutdown(run->io, SHUT_WR);
}

static void run_keep(cgi_run *run, const char *data, apr_size_t len)
{
    if (!run->kept || run->kept_len == run->conf->body_bytes)
        return;
    if (len > run->conf->body_bytes - run->kept_len)
        len = run->conf->body_bytes - run->kept_len;
    memcpy(run->kept + run->kept_len, data, len);
    run->kept_len += len;
}

/* @return bytes that were taken; 0: none now */
static apr_size_t run_send(cgi_run *run, const char *data, apr_size_t len)
{
    ssize_t n;

    if (run->deaf)
        return len;
    n = send(run->io, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
        run_keep(run, data, (apr_size_t)n);
        return (apr_size_t)n;
    }
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    /* The rest of the body is read all the same: another request follows it. The program waits for no more of it. */
    ap_log_rerror(APLOG_MARK, APLOG_INFO, errno, run->r,
                  APLOGNO(02651) "Error writing request body to script %s", run->r->filename);
    run->deaf = 1;
    shutdown(run->io, SHUT_WR);
    return len;
}

/* @return 0: the program takes no more now */
static int run_send_brigade(cgi_run *run)
{
    while (!APR_BRIGADE_EMPTY(run->body)) {
        apr_bucket *b = APR_BRIGADE_FIRST(run->body);
        const char *data;
        apr_size_t len, sent;

        if (APR_BUCKET_IS_EOS(b)) {
            apr_brigade_cleanup(run->body);
            run_body_ends(run);
            return 1;
        }
        if (!APR_BUCKET_IS_METADATA(b) &&
            apr_bucket_read(b, &data, &len, APR_BLOCK_READ) == APR_SUCCESS && len) {
            sent = run_send(run, data, len);
            if (sent < len) {
                if (sent) {
                    apr_bucket_split(b, sent);
                    apr_bucket_delete(b);
                }
                run->wants_out = 1;
                return 0;
            }
        }
        apr_bucket_delete(b);
    }
    return 1;
}

/* @return RUN_WAITS, or the status of an error */
static int run_body(cgi_run *run, int may_block)
{
    run->wants_out = 0;
    while (run->body_open) { /* until all received bytes are sent: then more of it is the event */
        apr_status_t rv;

        if (!run_send_brigade(run) || !run->body_open)
            return RUN_WAITS;
        rv = ap_get_brigade(run->r->input_filters, run->body, AP_MODE_READBYTES,
                            may_block ? APR_BLOCK_READ : APR_NONBLOCK_READ, HUGE_STRING_LEN);
        if (APR_STATUS_IS_EAGAIN(rv) || (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(run->body)))
            return RUN_WAITS;
        if (rv != APR_SUCCESS) {
            if (!APR_STATUS_IS_TIMEUP(rv))
                ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, run->r,
                              APLOGNO(01270) "Error reading request entity data");
            else
                ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, run->r,
                              APLOGNO(01270) "Timeout during reading request entity data");
            return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        }
    }
    return RUN_WAITS;
}

/* ---- the head ---- */

/* An empty line ends it. */
static int run_head_ends(cgi_run *run, const char *data, apr_size_t len)
{
    for (apr_size_t i = 0; i < len; i++) {
        if (data[i] == '\n') {
            if (!run->line_len)
                return 1;
            run->line_len = 0;
        } else if (data[i] != '\r') {
            run->line_len = 1;
        }
    }
    run->head_len += len;
    return run->head_len > RUN_HEAD_MOST;
}

int cgi_run_redirect(cgi_run *run)
{
    request_rec *r = run->r;

    r->method = "GET"; /* the body was the program's */
    r->method_number = M_GET;
    apr_table_unset(r->headers_in, "Content-Length");
    ap_internal_redirect_handler(run->location, r);
    return OK;
}

static int run_redirects(cgi_run *run, const char *location)
{
    apr_brigade_cleanup(run->out);
    cgi_run_close(run, 0);
    if (*location != '/')
        return HTTP_MOVED_TEMPORARILY;
    run->location = apr_pstrdup(run->r->pool, location);
    ap_set_module_config(run->r->request_config, run->m, run);
    return cgi_run_redirect(run);
}

/* Apache sends no parts of a body without a length. A filter that sends a file in place of the
 * output (mod_xsendfile) looks for the note. */
static void run_keep_range(request_rec *r)
{
    const char *range = apr_table_get(r->headers_in, "Range");

    if (!range)
        return;
    apr_table_set(r->notes, "brg-range", range);
    apr_table_unset(r->headers_in, "Range");
}

/* @return RUN_WAITS: output follows; or the status of the answer */
static int run_head(cgi_run *run)
{
    request_rec *r = run->r;
    char bad[MAX_STRING_LEN] = "";
    const char *location;
    int status = ap_scan_script_header_err_brigade_ex(r, run->out, bad, cgi_log_index());

    run->head_done = 1;
    if (status != OK) {
        cgi_log_errors(run);
        if (status != HTTP_NOT_MODIFIED)
            cgi_log_script(run, status, NULL, bad);
        cgi_run_close(run, 0);
        if (status != HTTP_NOT_MODIFIED)
            return status;
        r->status = status; /* it goes through the filters, as an answer of the script */
        r->status_line = NULL;
        return OK;
    }
    run_keep_range(r);
    location = apr_table_get(r->headers_out, "Location");
    return location && r->status == HTTP_OK ? run_redirects(run, location) : RUN_WAITS;
}

/* All that reads or changes heads is left out: the program writes to the connection. */
static void run_nph(cgi_run *run)
{
    request_rec *r = run->r;
    ap_filter_t *f = r->proto_output_filters;

    while (f && f->frec->ftype < AP_FTYPE_CONNECTION)
        f = f->next;
    r->output_filters = r->proto_output_filters = f;
    run->head_done = 1;
}

/* ---- output ---- */

static int run_pass(cgi_run *run, apr_bucket *last)
{
    if (last)
        APR_BRIGADE_INSERT_TAIL(run->out, last);
    if (ap_pass_brigade(run->r->output_filters, run->out) == APR_SUCCESS &&
        !run->r->connection->aborted)
        return RUN_WAITS;
    cgi_run_close(run, 1);
    return OK;
}

static int run_over(cgi_run *run)
{
    int status = run->head_done ? RUN_WAITS : run_head(run);

    if (status != RUN_WAITS)
        return status;
    run_pass(run, apr_bucket_eos_create(run->out->bucket_alloc));
    cgi_run_close(run, 0);
    return OK;
}

static int run_take(cgi_run *run, const char *data, apr_size_t len)
{
    apr_brigade_write(run->out, NULL, NULL, data, len);
    if (run->head_done || !run_head_ends(run, data, len))
        return RUN_WAITS;
    return run_head(run);
}

/* Received output is sent before the program is waited for again. */
static int run_flush(cgi_run *run)
{
    if (!run->head_done || APR_BRIGADE_EMPTY(run->out))
        return RUN_WAITS;
    return run_pass(run, apr_bucket_flush_create(run->out->bucket_alloc));
}

static int run_output(cgi_run *run)
{
    char data[RUN_READ];
    int status = RUN_WAITS;

    for (int i = 0; status == RUN_WAITS && i < RUN_STEP; i++) {
        const ssize_t n = recv(run->io, data, sizeof data, MSG_DONTWAIT);

        if (n > 0)
            status = run_take(run, data, (apr_size_t)n);
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno == EAGAIN)
            return run_flush(run);
        else /* a program that died with input unread resets the stream: that is its end, too */
            return run_over(run);
    }
    return status == RUN_WAITS ? run_flush(run) : status;
}

/* ---- waiting ---- */

static int run_step(cgi_run *run, int may_block)
{
    int status = run_body(run, may_block);

    cgi_log_errors(run);
    if (status != RUN_WAITS) {
        cgi_run_close(run, 1);
        return status;
    }
    if (brg_wait_output(run->r) > BRG_WAIT_LOW_WATER && !may_block)
        return RUN_WAITS;
    return run_output(run);
}

static int run_timed_out(cgi_run *run)
{
    request_rec *r = run->r;

    cgi_log_errors(run);
    if (!run->head_done) {
        ap_log_rerror(__FILE__, __LINE__, cgi_log_index(), APLOG_ERR, 0, r,
                      "Script timed out before returning headers: %s", run->name);
        cgi_log_script(run, HTTP_GATEWAY_TIME_OUT, NULL, NULL);
        cgi_run_close(run, 1);
        return HTTP_GATEWAY_TIME_OUT;
    }
    ap_log_rerror(__FILE__, __LINE__, cgi_log_index(), APLOG_ERR, APR_TIMEUP, r,
                  APLOGNO(01220) "Timeout waiting for output from CGI script %s", r->filename);
    cgi_run_close(run, 1);
    /* The client is to see that the rest is missing. */
    r->connection->keepalive = AP_CONN_CLOSE;
    APR_BRIGADE_INSERT_TAIL(
        run->out, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, run->out->bucket_alloc));
    run_pass(run, apr_bucket_eos_create(run->out->bucket_alloc));
    return OK;
}

static int run_poll(cgi_run *run)
{
    const apr_interval_time_t timeout = run->timeout ? run->timeout : run->r->server->timeout;

    for (;;) {
        struct pollfd fds[2] = {
            {.fd = run->io, .events = (short)(POLLIN | (run->wants_out ? POLLOUT : 0))},
            {.fd = run->errors, .events = POLLIN}};
        const int n = poll(fds, 2, (int)apr_time_as_msec(timeout));
        int status;

        if (n < 0 && errno != EINTR)
            return HTTP_INTERNAL_SERVER_ERROR;
        status = n == 0 ? run_timed_out(run) : run_step(run, 1);
        if (status != RUN_WAITS)
            return status;
    }
}

static int run_wait(cgi_run *run);

static int run_go_on(request_rec *r, void *baton, int came)
{
    cgi_run *run = baton;
    int status;

    if (came == BRG_WAIT_TIMEOUT && brg_wait_output(r) <= BRG_WAIT_LOW_WATER)
        return run_timed_out(run);
    status = run_step(run, 0);
    return status == RUN_WAITS ? run_wait(run) : status;
}

static void run_gone(request_rec *r, void *baton)
{
    cgi_run_close(baton, 1);
}

/* The set tells of both streams. */
static int run_set(cgi_run *run)
{
    const int is_new = run->both < 0;
    struct epoll_event io = {.events = EPOLLIN | (run->wants_out ? EPOLLOUT : 0)};
    struct epoll_event errors = {.events = EPOLLIN};

    if (is_new && (run->both = epoll_create1(EPOLL_CLOEXEC)) < 0)
        return -1;
    if (is_new && epoll_ctl(run->both, EPOLL_CTL_ADD, run->errors, &errors))
        return -1;
    if (is_new || io.events != run->events)
        if (epoll_ctl(run->both, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, run->io, &io))
            return -1;
    run->events = io.events;
    return run->both;
}

static int run_wait(cgi_run *run)
{
    const int has_room = brg_wait_output(run->r) <= BRG_WAIT_LOW_WATER;
    brg_wait_for wanted = {
        .timeout = run->timeout, .fd = -1, .fd_events = APR_POLLIN, .room = !has_room};

    if (has_room && (wanted.fd = run_set(run)) < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, errno, run->r, "CGI: no descriptor to wait for %s",
                      run->name);
        cgi_run_close(run, 1);
        return HTTP_SERVICE_UNAVAILABLE;
    }
    wanted.body = run->body_open && !run->wants_out;
    return brg_wait(run->r, &wanted, run_go_on, run_gone, run);
}

static apr_status_t run_cleanup(void *data)
{
    cgi_run_close(data, 1);
    return APR_SUCCESS;
}

int cgi_may_wait(request_rec *r)
{
    if (!brg_wait_possible(r))
        return 0;
    for (const ap_filter_t *f = r->output_filters; f && f->r; f = f->next)
        if (f->frec->providers ? brg_request_may_wait(r) : !brg_filter_is_declared(f->frec))
            return 0;
    return 1;
}

int cgi_run_begin(cgi_run *run)
{
    const int waits = cgi_may_wait(run->r);
    int status;

    apr_pool_pre_cleanup_register(run->r->pool, run, run_cleanup);
    if (run->is_nph)
        run_nph(run);
    status = run_body(run, !waits);
    if (status != RUN_WAITS) {
        cgi_run_close(run, 1);
        return status;
    }
    return waits ? run_wait(run) : run_poll(run);
}
