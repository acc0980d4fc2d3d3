/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers that wait on their loop in every way of brigade/wait.h:
 *
 *   /w/time?MS      for the time             /w/thread?MS   for another thread
 *   /w/pipe         for a descriptor         /w/echo        for the request's body, which it sends back
 *   /w/flood?KIB    for room for its output  /w/twice       one wait after the other, with output between
 *   /w/status?N     for the time, then ends with a status   /w/long   for ever: until the client leaves
 *   /w/count        how many waits began, went on, and were given up
 *
 * And hooks of access control that do, below /auth and /any: for the time that ?MS says. "user" and "refuse" in the
 * field X-Waits say what comes of it; "access", "twice" and "long", in which way.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_poll.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "brigade/wait.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

module AP_MODULE_DECLARE_DATA waits_module;

static atomic_int began, went_on, gone;

typedef struct state {
    int number, steps, ends[2];
    apr_size_t left;
    brg_waiting *waiting;
    pthread_mutex_t lock; /* of what the thread shares */
    int over, refs;
} state;

static int waits(request_rec *r, state *s, brg_wait_for *wanted, brg_wait_go_on_fn *go_on);

static int say(request_rec *r, const char *text)
{
    ap_set_content_type(r, "text/plain");
    ap_rputs(text, r);
    return OK;
}

static void on_gone(request_rec *r, void *baton)
{
    gone++;
}

/* ---- time, status, twice ---- */

static int time_go_on(request_rec *r, void *baton, int came)
{
    state *s = baton;

    went_on++;
    if (came != BRG_WAIT_TIMEOUT)
        return HTTP_BAD_GATEWAY;
    if (s->steps < 0)
        return s->number;
    if (s->steps-- > 1) {
        brg_wait_for again = {.timeout = 1000, .fd = -1};

        ap_rputs("first ", r);
        ap_rflush(r);
        return waits(r, s, &again, time_go_on);
    }
    return say(r, brg_thread_is_loop() ? "time\n" : "no loop\n");
}

/* ---- a descriptor ---- */

static int pipe_go_on(request_rec *r, void *baton, int came)
{
    state *s = baton;
    char c = 0;

    went_on++;
    if (came != BRG_WAIT_FD || read(s->ends[0], &c, 1) != 1)
        return HTTP_BAD_GATEWAY;
    close(s->ends[0]);
    close(s->ends[1]);
    return say(r, c == 'x' ? "pipe\n" : "wrong\n");
}

static void *pipe_writer(void *baton)
{
    const int fd = (int)(intptr_t)baton;

    usleep(20000);
    if (write(fd, "x", 1) != 1)
        abort();
    return NULL;
}

/* ---- another thread ---- */

static void thread_release(state *s)
{
    int refs;

    pthread_mutex_lock(&s->lock);
    refs = --s->refs;
    pthread_mutex_unlock(&s->lock);
    if (!refs)
        free(s);
}

static void *thread_main(void *baton)
{
    state *s = baton;

    usleep((useconds_t)s->number * 1000);
    pthread_mutex_lock(&s->lock);
    if (!s->over)
        brg_wait_resume(s->waiting);
    pthread_mutex_unlock(&s->lock);
    thread_release(s);
    return NULL;
}

static int thread_end(state *s)
{
    pthread_mutex_lock(&s->lock);
    s->over = 1;
    pthread_mutex_unlock(&s->lock);
    thread_release(s);
    return 0;
}

static int thread_go_on(request_rec *r, void *baton, int came)
{
    went_on++;
    thread_end(baton);
    return say(r, came == BRG_WAIT_RESUMED ? "thread\n" : "time is up\n");
}

static void thread_gone(request_rec *r, void *baton)
{
    gone++;
    thread_end(baton);
}

static int thread_begin(request_rec *r, int ms)
{
    state *s = calloc(1, sizeof *s);
    brg_wait_for wanted = {.timeout = 300000, .fd = -1, .waiting = &s->waiting};
    int rc;

    s->number = ms;
    s->refs = 2;
    pthread_mutex_init(&s->lock, NULL);
    began++;
    rc = brg_wait(r, &wanted, thread_go_on, thread_gone, s);
    if (brg_thread_start(thread_main, s, 65536, NULL))
        abort();
    return rc;
}

/* ---- the body ---- */

static int echo_go_on(request_rec *r, void *baton, int came)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    brg_wait_for more = {.fd = -1, .body = 1};

    went_on += came != 0;
    for (;;) {
        apr_status_t rv =
            ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_NONBLOCK_READ, 8192);
        int end;

        if (APR_STATUS_IS_EAGAIN(rv) || (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(bb)))
            return waits(r, baton, &more, echo_go_on);
        if (rv != APR_SUCCESS)
            return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        end = APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb));
        if (end)
            apr_bucket_delete(APR_BRIGADE_LAST(bb));
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(r->connection->bucket_alloc));
        if (ap_pass_brigade(r->output_filters, bb) != APR_SUCCESS)
            return AP_FILTER_ERROR;
        apr_brigade_cleanup(bb);
        if (end)
            return OK;
    }
}

/* ---- room ---- */

static int flood_go_on(request_rec *r, void *baton, int came)
{
    state *s = baton;
    brg_wait_for room = {.fd = -1, .room = 1};
    static char block[8192];

    went_on += came != 0;
    while (s->left && brg_wait_output(r) <= 131072) {
        apr_size_t n = s->left < sizeof block ? s->left : sizeof block;

        memset(block, 'f', sizeof block);
        if (ap_rwrite(block, (int)n, r) < 0 || ap_rflush(r) < 0)
            return AP_FILTER_ERROR;
        s->left -= n;
    }
    return s->left ? waits(r, s, &room, flood_go_on) : OK;
}

/* ---- */

static int waits(request_rec *r, state *s, brg_wait_for *wanted, brg_wait_go_on_fn *go_on)
{
    began++;
    return brg_wait(r, wanted, go_on, on_gone, s);
}

static int waits_handler(request_rec *r)
{
    state *s;
    brg_wait_for wanted = {.fd = -1, .timeout = 1000};
    const char *what;

    if (!r->handler || (strcmp(r->handler, "waits") && strcmp(r->handler, "waits-worker")))
        return DECLINED;
    what = strrchr(r->uri, '/');
    if (!strcmp(what, "/count"))
        return say(r, apr_psprintf(r->pool, "%d %d %d\n", began, went_on, gone));
    if (!brg_wait_possible(r))
        return say(r, "not possible\n");
    s = apr_pcalloc(r->pool, sizeof *s);
    s->number = r->args ? atoi(r->args) : 0;
    s->steps = 1;
    if (!strcmp(what, "/thread"))
        return thread_begin(r, s->number);
    if (!strcmp(what, "/echo"))
        return echo_go_on(r, s, 0);
    if (!strcmp(what, "/flood")) {
        s->left = (apr_size_t)s->number * 1024;
        return flood_go_on(r, s, 0);
    }
    if (!strcmp(what, "/pipe")) {
        if (pipe(s->ends) ||
            brg_thread_start(pipe_writer, (void *)(intptr_t)s->ends[1], 65536, NULL))
            return HTTP_INTERNAL_SERVER_ERROR;
        wanted = (brg_wait_for){.fd = s->ends[0], .fd_events = APR_POLLIN};
        return waits(r, s, &wanted, pipe_go_on);
    }
    if (!strcmp(what, "/long"))
        wanted.timeout = apr_time_from_sec(3600);
    if (!strcmp(what, "/time"))
        wanted.timeout = apr_time_from_msec(s->number);
    if (!strcmp(what, "/status"))
        s->steps = -1;
    if (!strcmp(what, "/twice"))
        s->steps = 2;
    return waits(r, s, &wanted, time_go_on);
}

/* ---- access control ---- */

static int has(request_rec *r, const char *word)
{
    const char *field = apr_table_get(r->headers_in, "X-Waits");

    return field && strstr(field, word);
}

static int access_go_on(request_rec *r, void *baton, int came)
{
    state *s = baton;

    went_on++;
    if (s->steps-- > 1) {
        brg_wait_for again = {.timeout = 1000, .fd = -1};

        return waits(r, s, &again, access_go_on);
    }
    apr_table_setn(r->notes, "learned", "1");
    return has(r, "refuse") ? HTTP_FORBIDDEN : OK;
}

static int access_wait(request_rec *r)
{
    state *s = apr_pcalloc(r->pool, sizeof *s);
    brg_wait_for wanted = {.fd = -1, .timeout = 1000};

    if (!brg_wait_possible(r))
        return HTTP_SERVICE_UNAVAILABLE;
    s->steps = has(r, "twice") ? 2 : 1;
    wanted.timeout = apr_time_from_msec(r->args ? atoi(r->args) : 0);
    if (has(r, "long"))
        wanted.timeout = apr_time_from_sec(3600);
    return waits(r, s, &wanted, access_go_on);
}

static int waits_access(request_rec *r)
{
    return has(r, "access") && !apr_table_get(r->notes, "learned") ? access_wait(r) : OK;
}

static int waits_user(request_rec *r)
{
    if (strncmp(r->uri, "/auth/", 6) && strncmp(r->uri, "/any/", 5))
        return DECLINED;
    if (!apr_table_get(r->notes, "learned"))
        return access_wait(r);
    if (!has(r, "user"))
        return HTTP_UNAUTHORIZED;
    r->user = apr_pstrdup(r->pool, "someone");
    return OK;
}

static void waits_hooks(apr_pool_t *p)
{
    ap_hook_access_checker(waits_access, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_user_id(waits_user, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(waits_handler, NULL, NULL, APR_HOOK_MIDDLE);
    if (!getenv("WAITS_UNDECLARED"))
        brg_nonblocking_declare(&waits_module);
}

AP_DECLARE_MODULE(waits) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, waits_hooks, 0};
