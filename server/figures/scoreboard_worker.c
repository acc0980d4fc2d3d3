/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread's line of the scoreboard: written by that thread, read by status pages in any thread
 * and process.
 *
 * There is no lock. Every access to a number of the shared line is a relaxed atomic word, so a reader
 * may see the old and the new value of neighbouring fields side by side, but never a torn word;
 * strings always keep their NUL.
 */
#include "scores.h"
#include "program_thread.h"

#include "http_core.h"
#include "http_protocol.h"

#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>
#include <sys/times.h>

AP_DECLARE_DATA int ap_extended_status;
AP_DECLARE_DATA int ap_mod_status_reqtail;

struct ap_sb_handle_t {
    int child, thread;
};

#define score_put(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* The slot's thread is nearly always the only one that counts: no locked instruction. Where a
 * module's thread ends a request in the same instant, one of the two may be missing. */
#if UINTPTR_MAX == UINT64_MAX
#define score_add(field, n) counter_add((uint64_t *)(void *)&(field), (uint64_t)(n))
_Static_assert(sizeof((worker_score *)0)->access_count == sizeof(uint64_t) &&
                   sizeof((worker_score *)0)->conn_bytes == sizeof(uint64_t),
               "all counters are words");
#else
#define score_add(field, n) \
    score_put(field, (__typeof__(field))(__atomic_load_n(&(field), __ATOMIC_RELAXED) + (n)))
#endif
#define score_get(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

const char *ap_set_extended_status(cmd_parms *cmd, void *dummy, int arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!err)
        ap_extended_status = arg;
    return err;
}

const char *ap_set_reqtail(cmd_parms *cmd, void *dummy, int arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!err)
        ap_mod_status_reqtail = arg;
    return err;
}

/* ---- handles ---- */

AP_DECLARE(void) ap_create_sb_handle(ap_sb_handle_t **sbh, apr_pool_t *p, int child, int thread)
{
    *sbh = apr_palloc(p, sizeof **sbh);
    ap_update_sb_handle(*sbh, child, thread);
}

AP_DECLARE(void) ap_update_sb_handle(ap_sb_handle_t *sbh, int child, int thread)
{
    sbh->child = child;
    sbh->thread = thread;
}

AP_DECLARE(worker_score *) ap_get_scoreboard_worker(ap_sb_handle_t *sbh)
{
    return sbh ? ap_get_scoreboard_worker_from_indexes(sbh->child, sbh->thread) : NULL;
}

/* ---- strings ---- */

/* src (NULL as "") into a field of n bytes, NUL-terminated at every moment: the last byte is never
 * anything else. A concurrent reader may see some of the old text and some of the new one. */
static void score_put_string(char *field, apr_size_t n, const char *src)
{
    const apr_size_t len = src ? strnlen(src, n - 1) : 0;

    BRG_ASSERT(n > 0);
#ifdef __SANITIZE_THREAD__ /* which takes it for a race of bytes that are not text */
    for (apr_size_t i = 0; i < len; i++)
        score_put(field[i], src[i]);
#else
    memcpy(field, src ? src : "", len);
#endif
    score_put(field[len], '\0');
}

/* The shown part of the request line: its start, or with SeeRequestTail its end. */
static void score_put_request(worker_score *ws, const request_rec *r)
{
    const char *line = r->the_request;

    if (line && ap_mod_status_reqtail) {
        apr_size_t len = strlen(line), fits = sizeof ws->request - 1;
        if (len > fits)
            line += len - fits;
    }
    score_put_string(ws->request, sizeof ws->request, line);
}

static void score_put_client(worker_score *ws, const char *ip)
{
    score_put_string(ws->client, sizeof ws->client, ip);
    score_put_string(ws->client64, sizeof ws->client64, ip);
}

static void score_put_vhost(worker_score *ws, server_rec *s, conn_rec *c)
{
    char vhost[64], digits[8], *p = digits + sizeof digits;
    apr_port_t port = s->addrs ? s->addrs->host_port : 0;

    if (!port)
        port = s->port ? s->port : (c && c->local_addr ? c->local_addr->port : 0);
    *--p = '\0';
    for (unsigned n = port; n || p[0] == '\0'; n /= 10)
        *--p = (char)('0' + n % 10);
    *--p = ':';
    apr_cpystrn(vhost, s->server_hostname ? s->server_hostname : "",
                sizeof vhost - (size_t)(digits + sizeof digits - p) + 1);
    strcat(vhost, p);
    score_put_string(ws->vhost, sizeof ws->vhost, vhost);
}

/* ---- status ---- */

/* Counters of the connection that the thread serves. */
static void score_reset_connection(worker_score *ws)
{
    score_put(ws->conn_count, 0);
    score_put(ws->conn_bytes, 0);
}

/* A thread that begins or dies starts to count anew. */
static void score_reset(worker_score *ws, int status)
{
    if (status == SERVER_DEAD) {
        score_put(ws->my_access_count, 0);
        score_put(ws->my_bytes_served, 0);
    }
    score_put(ws->last_used, apr_time_now());
}

/* The connection in the calling thread's line, over which its requests come as a rule one after the
 * other. The address is the connection's own, which stays for its life. */
static PROGRAM_THREAD_LOCAL struct {
    const worker_score *line;
    const server_rec *server;
    const char *ip;
    long connection; /* its id */
} score_said;

static int score_is_said(const worker_score *ws, const request_rec *r)
{
    const conn_rec *c = r->connection;

    return score_said.line == ws && score_said.connection == c->id &&
           score_said.ip == r->useragent_ip && score_said.ip == c->client_ip &&
           score_said.server == r->server;
}

static void score_say(worker_score *ws, request_rec *r)
{
    conn_rec *c = r->connection;

    score_said.line = ws;
    score_said.connection = c->id;
    score_said.ip = r->useragent_ip;
    score_said.server = r->server;
    score_put_client(ws, r->useragent_ip);
    score_put_string(ws->protocol, sizeof ws->protocol, ap_get_protocol(c));
    score_put_vhost(ws, r->server, c);
}

static void score_describe(worker_score *ws, conn_rec *c, server_rec *s, request_rec *r,
                           const char *descr)
{
    if (r && s == r->server && !descr) { /* nearly always */
        if (!score_is_said(ws, r))
            score_say(ws, r);
        score_put_request(ws, r);
        return;
    }
    score_said.line = NULL;
    if (r) {
        score_put_client(ws, r->useragent_ip);
        if (!descr) {
            score_put_request(ws, r);
            score_put_string(ws->protocol, sizeof ws->protocol, ap_get_protocol(r->connection));
        }
    } else if (c) {
        score_put_client(ws, c->client_ip);
        score_put_string(ws->request, sizeof ws->request, NULL);
        score_put_string(ws->protocol, sizeof ws->protocol, ap_get_protocol(c));
    }
    if (descr)
        score_put_string(ws->request, sizeof ws->request, descr);
    if (s)
        score_put_vhost(ws, s, c);
}

static int score_update(int child, int thread, int status, conn_rec *c, server_rec *s,
                        request_rec *r, const char *descr)
{
    worker_score *ws = ap_get_scoreboard_worker_from_indexes(child, thread);
    const process_score *ps;
    int old;

    if (!ws)
        return -1;
    ps = &ap_scoreboard_image->parent[child];
    old = score_get(ws->status);
    if (status >= 0) {
        score_put(ws->status, (unsigned char)status);
        if (status == SERVER_STARTING || score_get(ws->pid) != score_get(ps->pid)) {
            score_put(ws->pid, score_get(ps->pid));
            score_put(ws->generation, score_get(ps->generation));
            score_put(ws->thread_num, child * scoreboard_threads() + thread);
        }
        if (status == SERVER_READY && old == SERVER_STARTING)
            score_put(ws->tid, apr_os_thread_current());
        if (status == SERVER_DEAD || status == SERVER_READY)
            score_reset_connection(ws);
        else if (r && status == SERVER_BUSY_WRITE) /* the request itself is counted, too */
            score_put(ws->conn_count, (unsigned short)(r->connection->keepalives + 1));
        if (status == SERVER_DEAD || (status == SERVER_READY && old == SERVER_STARTING))
            score_reset(ws, status);
    }
    if (ap_extended_status) {
        score_put(ws->last_used, r ? r->request_time : apr_time_now());
        score_describe(ws, c, s, r, descr);
    }
    return old;
}

AP_DECLARE(int)
ap_update_child_status_from_indexes(int child, int thread, int status, request_rec *r)
{
    return score_update(child, thread, status, r ? r->connection : NULL, r ? r->server : NULL, r,
                        NULL);
}

AP_DECLARE(int) ap_update_child_status(ap_sb_handle_t *sbh, int status, request_rec *r)
{
    return sbh ? score_update(sbh->child, sbh->thread, status, r ? r->connection : NULL,
                              r ? r->server : NULL, r, NULL)
               : -1;
}

AP_DECLARE(int) ap_update_child_status_from_conn(ap_sb_handle_t *sbh, int status, conn_rec *c)
{
    return sbh ? score_update(sbh->child, sbh->thread, status, c, NULL, NULL, NULL) : -1;
}

AP_DECLARE(int)
ap_update_child_status_from_server(ap_sb_handle_t *sbh, int status, conn_rec *c, server_rec *s)
{
    return sbh ? score_update(sbh->child, sbh->thread, status, c, s, NULL, NULL) : -1;
}

AP_DECLARE(int) ap_update_child_status_descr(ap_sb_handle_t *sbh, int status, const char *descr)
{
    return sbh ? score_update(sbh->child, sbh->thread, status, NULL, NULL, NULL, descr) : -1;
}

/* ---- counts and times ---- */

/* CPU time of the process, for the status page. A system call: once a second on each thread is
 * enough. */
static void score_take_times(worker_score *ws, apr_time_t now)
{
#ifdef HAVE_TIMES
    static _Thread_local apr_time_t last;
    struct tms t;

    if (now - last < apr_time_from_sec(1))
        return;
    last = now;
    times(&t);
    score_put(ws->times.tms_utime, t.tms_utime);
    score_put(ws->times.tms_stime, t.tms_stime);
    score_put(ws->times.tms_cutime, t.tms_cutime);
    score_put(ws->times.tms_cstime, t.tms_cstime);
#endif
}

AP_DECLARE(void) ap_increment_counts(ap_sb_handle_t *sbh, request_rec *r)
{
    worker_score *ws = ap_get_scoreboard_worker(sbh);
    apr_off_t bytes = r->bytes_sent;

    if (!ws)
        return;
    if (ap_extended_status)
        score_take_times(ws, r->request_time);
    score_add(ws->access_count, 1);
    score_add(ws->my_access_count, 1);
    score_add(ws->bytes_served, bytes);
    score_add(ws->my_bytes_served, bytes);
    if (score_get(ws->status) != SERVER_READY)
        score_add(ws->conn_bytes, bytes);
}

AP_DECLARE(void) ap_set_conn_count(ap_sb_handle_t *sb, request_rec *r, unsigned short conn_count)
{
    worker_score *ws = ap_get_scoreboard_worker(sb);

    if (ws)
        score_put(ws->conn_count, conn_count);
}

AP_DECLARE(void)
ap_set_time_process_request(ap_sb_handle_t *const sbh, const apr_time_t timebeg,
                            const apr_time_t timeend)
{
    worker_score *ws = ap_get_scoreboard_worker(sbh);

    if (!ws)
        return;
    score_put(ws->start_time, timebeg);
    score_put(ws->stop_time, timeend);
    if (timebeg && timeend)
        score_put(ws->duration, ws->duration + (timeend - timebeg));
}

AP_DECLARE(void) ap_time_process_request(ap_sb_handle_t *sbh, int status)
{
    worker_score *ws = ap_get_scoreboard_worker(sbh);
    apr_time_t now = apr_time_now();

    if (!ws)
        return;
    if (status == START_PREQUEST) {
        score_put(ws->start_time, now);
        score_put(ws->last_used, now);
    } else if (status == STOP_PREQUEST) {
        score_put(ws->stop_time, now);
        score_put(ws->last_used, now);
        if (ap_extended_status)
            score_put(ws->duration, ws->duration + (now - ws->start_time));
    }
}

/* ---- readers ---- */

static void score_hold(worker_score *ws)
{
    ws->conn_bytes = score_held(ws->conn_bytes);
    ws->bytes_served = score_held(ws->bytes_served);
    ws->my_bytes_served = score_held(ws->my_bytes_served);
    ws->start_time = score_held(ws->start_time);
    ws->stop_time = score_held(ws->stop_time);
    ws->last_used = score_held(ws->last_used);
    ws->duration = score_held(ws->duration);
#ifdef HAVE_TIMES
    ws->times.tms_utime = score_held(ws->times.tms_utime);
    ws->times.tms_stime = score_held(ws->times.tms_stime);
    ws->times.tms_cutime = score_held(ws->times.tms_cutime);
    ws->times.tms_cstime = score_held(ws->times.tms_cstime);
#endif
}

AP_DECLARE(void) ap_copy_scoreboard_worker(worker_score *dest, int child, int thread)
{
    worker_score *ws = ap_get_scoreboard_worker_from_indexes(child, thread);
    apr_size_t i;

    if (!ws) {
        memset(dest, 0, sizeof *dest);
        return;
    }
    _Static_assert(sizeof(worker_score) % sizeof(uint64_t) == 0, "copied by words");
    for (i = 0; i < sizeof *dest / sizeof(uint64_t); i++) {
        uint64_t word = score_get(((uint64_t *)(void *)ws)[i]);
        memcpy((char *)dest + i * sizeof word, &word, sizeof word);
    }
    score_hold(dest);
    dest->client[sizeof dest->client - 1] = '\0';
    dest->client64[sizeof dest->client64 - 1] = '\0';
    dest->request[sizeof dest->request - 1] = '\0';
    dest->vhost[sizeof dest->vhost - 1] = '\0';
    dest->protocol[sizeof dest->protocol - 1] = '\0';
}
