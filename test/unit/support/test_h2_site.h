/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_H2_SITE_H
#define BRIGADE_TEST_H2_SITE_H

/**
 * @file test_h2_site.h
 * An event loop whose connections speak HTTP/2 over a transport of the test's own, to a client in memory
 * (test_h2_peer.h), and a site:
 *
 *   /a, /b, /c     files of 6, 40,000 and 300,000 bytes
 *   /echo          the body of the request; by a worker
 *   /write         100,000 bytes in pieces, with trailers; by a worker
 *   /read          how many bytes the body had
 *   /breaks        says that it has more than it has
 *   /hints         103, then a response
 *   /stream        as many bytes as the stream's number has digits, as mod_http2 tells it
 *
 * Include after cmocka.h. The calling thread is the loop's.
 */
#include "test_loop.h"
#include "test_server.h"
#include "test_h2_peer.h"
#include "brigade/response_cache.h"
#include "h1_conn.h"
#include "h2_private.h"
#include "http_protocol.h"
#include "http_request.h"
#include "placement.h"
#include "response_cache.h"
#include "thread_self.h"
#include "transport.h"
#include "vhosts.h"
#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#define SITE_BODY 100000

static brg_loop *site_loop;
static apr_pool_t *site_pool;
static peer *site_peer;     /**< the client of the connection that is accepted next */
static brg_conn *site_conn; /**< the open one; NULL: it was closed */
static int site_closed;     /**< a connection was closed */

/* ---- the transport: bc->below is the peer ---- */

static ssize_t site_recv(brg_conn *bc, void *buf, size_t len)
{
    peer *p = bc->below;
    size_t n = peer_take(p, buf, len);

    if (n)
        return (ssize_t)n;
    errno = p->gone ? ECONNRESET : EAGAIN;
    return -1;
}

static ssize_t site_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    size_t done = 0;

    for (int i = 0; i < n; i++) {
        size_t took = peer_hear(bc->below, iov[i].iov_base, iov[i].iov_len);

        done += took;
        if (took < iov[i].iov_len)
            break;
    }
    if (done)
        return (ssize_t)done;
    errno = EAGAIN;
    return -1;
}

static int site_shut(brg_conn *bc)
{
    return 0;
}

static void site_end(brg_conn *bc)
{
    if (bc == site_conn)
        site_conn = NULL;
    site_closed = 1;
}

static const struct conn_transport site_transport = {
    .name = "memory", .recv = site_recv, .sendv = site_sendv, .shut = site_shut, .end = site_end};

static void site_accepted(brg_conn *bc)
{
    vhost_of_connection(bc);
    bc->transport = &site_transport;
    bc->below = site_peer;
    site_conn = bc;
}

/* ---- handlers ---- */

static int site_read_all(request_rec *r, int echo)
{
    char buf[3000];
    long n, total = 0;

    if (ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK) != OK)
        return -1;
    while ((n = ap_get_client_block(r, buf, sizeof buf)) > 0) {
        total += n;
        if (echo && ap_rwrite(buf, (int)n, r) < 0)
            return -1;
    }
    return n < 0 ? -1 : (int)total;
}

static int site_handler(request_rec *r)
{
    static char text[1000];

    if (!strcmp(r->uri, "/echo"))
        return site_read_all(r, 1) < 0 ? HTTP_BAD_REQUEST : OK;
    if (!strcmp(r->uri, "/read")) {
        int n = site_read_all(r, 0);

        if (n < 0)
            return HTTP_BAD_REQUEST;
        ap_rprintf(r, "%d", n);
        return OK;
    }
    if (!strcmp(r->uri, "/breaks")) {
        ap_set_content_length(r, 5000);
        ap_rputs("short", r);
        ap_rflush(r);
        r->connection->keepalive = AP_CONN_CLOSE;
        return OK;
    }
    if (!strcmp(r->uri, "/hints")) {
        apr_table_setn(r->headers_out, "Link", "</s>; rel=preload");
        r->status = 103;
        ap_send_interim_response(r, 1);
        r->status = 200;
        ap_rputs("hints", r);
        return OK;
    }
    if (!strcmp(r->uri, "/stream")) {
        const char *id = apr_table_get(r->subprocess_env, "H2_STREAM_ID");

        ap_rputs(id ? id : "none", r);
        return OK;
    }
    if (strcmp(r->uri, "/write"))
        return DECLINED;
    memset(text, 'w', sizeof text);
    apr_table_setn(r->trailers_out, "x-end", "here");
    for (int i = 0; i < SITE_BODY / (int)sizeof text; i++)
        if (ap_rwrite(text, sizeof text, r) < 0 || (i == 50 && ap_rflush(r) < 0))
            return AP_FILTER_ERROR;
    return OK;
}

static int site_fixup(request_rec *r)
{
    if (!strcmp(r->uri, "/echo") || !strcmp(r->uri, "/write"))
        brg_request_needs_worker(r);
    return DECLINED;
}

static int site_map(request_rec *r)
{
    return strcmp(r->uri, "/a") && strcmp(r->uri, "/b") && strcmp(r->uri, "/c") ? OK : DECLINED;
}

/* ---- begin and end ---- */

static brg_listener site_listener;

static void site_file(const char *name, size_t size)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", test_dir, name);
    assert_non_null(f = fopen(path, "w"));
    for (size_t i = 0; i < size; i++)
        fputc('a' + (int)(i % 26), f);
    fclose(f);
    assert_int_equal(
        utimensat(AT_FDCWD, path, (struct timespec[2]){{1000000000, 0}, {1000000000, 0}}, 0), 0);
}

static void site_listen(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};

    site_listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(site_listener.fd, (struct sockaddr *)&any, sizeof any.sun_family), 0);
    assert_int_equal(listen(site_listener.fd, 16), 0);
    assert_int_equal(apr_sockaddr_info_get(&site_listener.addr, "127.0.0.1", APR_INET, 1, 0,
                                           test_process->pconf),
                     APR_SUCCESS);
    site_listener.pretended = site_listener.addr;
}

/** Read the configuration, once per program. */
static void site_open(const char *directives)
{
    test_server_up(directives);
    site_file("a", 6);
    site_file("b", 40000);
    site_file("c", 300000);
    apr_hook_debug_current = "core.c"; /* which is declared */
    ap_hook_handler(site_handler, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_fixups(site_fixup, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_map_to_storage(site_map, NULL, NULL, APR_HOOK_FIRST);
    apr_hook_sort_all();
    assert_int_equal(conf_generation_open(test_process, CONF_DEPTH_TRIAL), APR_SUCCESS);
    connection_child_init(0);
    site_listen();
}

static void site_begin(void)
{
    static brg_listener *listeners[] = {&site_listener, NULL};
    static brg_listener **of_loops[] = {listeners};
    static const loop_services services = {
        .driver = &h2_driver, .accepted = site_accepted, TEST_LOOP_SERVICES};
    static loops_config config = {TEST_LOOP_CONFIG(&services, of_loops), .n_workers = 4,
                                  .queue_most = 1000, .max_connections = 16};

    config.server = ap_server_conf;
    apr_pool_create(&site_pool, NULL);
    assert_int_equal(loop_create(&site_loop, site_pool, &config, 0), APR_SUCCESS);
    loop_begin(site_loop);
}

static void site_finish(void)
{
    worker_pool_stop(site_loop->workers);
    while (!worker_pool_ended(site_loop->workers))
        sched_yield();
    thread_self_end();
    loop_free(site_loop);
    apr_pool_destroy(site_pool);
}

static void site_end_process(void)
{
    site_finish();
    (void)test_server_down(NULL);
}

/** The site of a program that has it to its end, as a fuzz target. @return 0: it has it already */
static inline int site_open_once(const char *directives)
{
    static int open;

    if (open)
        return 0;
    open = 1;
    site_open(directives);
    site_begin();
    atexit(site_end_process);
    return 1;
}

/* ---- turns ---- */

static void site_turn(void)
{
    loop_wake(site_loop); /* so that it does not wait */
    loop_turn(site_loop);
}

/** As if the socket had told of input, or of room. */
static void site_event(void)
{
    brg_conn *bc = site_conn;

    if (bc) {
        bc->rd_ready = 1;
        conn_fill(bc);
        loop_ready(site_loop, bc);
    }
    site_turn();
}

/** A new connection with p as its client; it was driven once. @return the client's end of its socket */
static inline int site_connect(peer *p)
{
    struct sockaddr_un addr;
    socklen_t len = sizeof addr;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    site_peer = p;
    site_conn = NULL;
    site_closed = 0;
    assert_int_equal(getsockname(site_listener.fd, (struct sockaddr *)&addr, &len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, len), 0);
    while (!site_conn && !site_closed)
        site_turn();
    return fd;
}

/** Streams that a worker has, and whether the loop would go on by itself. */
static unsigned site_at_work(void)
{
    return site_loop->conns.streams[CONN_WORKER] + (site_loop->turn.again || site_loop->turn.ready);
}

/** Turns until nothing moves any more, but what waits for the client. @param tries  turns that may pass without
 * anything while a worker has a http_stream */
static inline void site_settle(int tries)
{
    int idle = 0;

    while (site_conn && idle < 2 + (site_at_work() ? tries : 0)) {
        const peer *p = site_conn->below;
        const size_t at = p->to_at;
        const unsigned frames = p->frames, at_work = site_at_work();
        const uint64_t got = p->got;

        site_event();
        if (!site_conn)
            return;
        idle = at == p->to_at && frames == p->frames && got == p->got && at_work == site_at_work()
                   ? idle + 1
                   : 0;
        if (idle && at_work)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
}

/** The client goes: the connection has to end, whatever it was doing. */
static inline void site_leave(peer *p)
{
    p->gone = 1;
    p->limit = p->room = SIZE_MAX;
    for (int i = 0; site_loop->conns.n && i < 100000; i++) {
        site_event();
        if (i > 10)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    PEER_CHECK(!site_loop->conns.n);
    for (int i = 0; i < CONN_STATES; i++)
        PEER_CHECK(!site_loop->conns.streams[i]);
}

/** The session of the open connection, or NULL. */
static inline h2_session *site_session(void)
{
    return site_conn && site_conn->driver == &h2_driver ? site_conn->above : NULL;
}

/** Nothing that the client may still send is missing from the connection's window. */
static inline void site_check_window(void)
{
    const h2_session *h = site_session();

    if (h && !h->streams.n && !h->streams.ending)
        PEER_CHECK(h->recv_window + (int64_t)h->owed == H2_CONN_WINDOW);
}

#endif
