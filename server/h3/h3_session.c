/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of an HTTP/3 connection. QUIC calls with received bytes, and gets answers from memory
 * at once; a request that has to run waits for the connection's turn, and its output is asked for
 * when there is room.
 *
 *   begin -> CONN_HEAD: streams are open
 *            CONN_IDLE: nothing is open; it ends when no request comes for H3IdleTimeout, or QUIC hears nothing for as long
 *   -> GOAWAY -> all streams ended -> CONNECTION_CLOSE
 *
 * While a worker runs one of its streams, the connection's object stays, whatever becomes of QUIC's.
 */
#include "h3_private.h"
#include "h1_conn.h"
#include "h2_hints.h"
#include "brigade/read_timeout.h"
#include "connection.h"
#include "http_log.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(http3);

#define SESSION_MEMORY 65536 /* bytes of a response that wait for the client */
#define SESSION_BLOCK 65536  /* bytes of a field section */

static server_rec *session_server(const brg_conn *bc)
{
    return bc->c ? bc->c->base_server : bc->base;
}

/* ---- begin and end ---- */

static void session_streams_begin(h3_session *h)
{
    h->streams.protocol = &h3_protocol;
    h->streams.counted = &h->streams.bc->loop->http3.streams;
    h->streams.terms = (stream_terms){.max_streams = h->conf->max_streams,
                                      .max_memory = SESSION_MEMORY,
                                      .max_block = SESSION_BLOCK,
                                      .max_errors = h->conf->max_errors,
                                      .timeout = h->conf->stream_timeout,
                                      .frame_most = H3_FRAME_DATA,
                                      .window = h->conf->stream_window,
                                      .early_hints = h2_sends_hints(session_server(h->streams.bc)),
                                      .buffering = 1};
    streams_begin(&h->streams);
}

static h3_session *session_new(brg_conn *bc, quic_conn *qc)
{
    h3_session *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->tag = H3_SESSION_TAG;
    h->qc = qc;
    h->streams.bc = bc;
    h->conf = quic_conn_of(qc);
    session_streams_begin(h);
    bc->above = h;
    bc->protocol = CONN_HTTP3;
    bc->driver = &h3_driver;
    bc->loop->http3.n++;
    bc->input.began = bc->loop->monotonic;
    bc->idle_until = bc->input.began + h->conf->idle_timeout;
    return h;
}

static void session_free(h3_session *h)
{
    while (h->all) {
        h3_stream_detach(h->all);
        h3_stream_free(h->all);
    }
    streams_end(&h->streams);
    h->streams.bc->above = NULL;
    BRG_ASSERT(h->streams.bc->loop->http3.n > 0);
    h->streams.bc->loop->http3.n--;
    h->tag = 0;
    free(h);
}

/* QUIC's connection is gone. The rest goes at once, or when the workers are done: h3_run() comes here again. */
static void session_close(h3_session *h)
{
    brg_conn *bc = h->streams.bc;

    BRG_ASSERT(!h->qc && bc->above == h);
    BRG_ASSERT(h->streams.ending);
    bc->failed = 1;
    bc->local = NULL; /* it was QUIC's */
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    while (h->all) { /* nor is there anything that they could write to */
        h3_stream_detach(h->all);
        h3_stream_free(h->all);
    }
    if (streams_cancel(&h->streams))
        return;
    session_free(h);
    if (bc->c)
        connection_detach(bc);
    loop_close(bc->loop, bc);
}

static void session_end(h3_session *h, h3_error code, const char *why)
{
    quic_conn *qc = h->qc;

    h->qc = NULL;
    h->control = NULL;
    h->streams.ending = 1;
    if (qc)
        quic_conn_close(qc, code, 1, why);
    session_close(h);
}

static void h3_drain(brg_conn *bc);

void h3_session_begun(quic_conn *qc)
{
    brg_conn *bc = quic_conn_bc(qc);
    h3_session *h = session_new(bc, qc);

    if (!h) {
        quic_conn_close(qc, H3_INTERNAL_ERROR, 1, "no memory");
        loop_close(bc->loop, bc);
        return;
    }
    if (h3_control_begin(h))
        h3_fail(h, H3_STREAM_CREATION_ERROR, "the client takes no control stream");
    if (bc->loop->draining)
        h3_drain(bc);
    h3_wants(h);
}

void h3_session_up(quic_conn *qc)
{
    h3_session *h = quic_conn_bc(qc)->above;

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    h3_wants(h);
}

void h3_session_closed(quic_conn *qc, const quic_end *why)
{
    h3_session *h = quic_conn_bc(qc)->above;

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    ap_log_error(APLOG_MARK, APLOG_TRACE1, 0, session_server(h->streams.bc),
                 "HTTP/3 connection is over: %s, error %" APR_UINT64_T_FMT " %s",
                 why->is_silent ? "nothing came"
                 : why->by_peer ? "closed by the client"
                                : "closed",
                 (apr_uint64_t)why->code, why->reason ? why->reason : "");
    h->qc = NULL;
    h->control = NULL;
    h->streams.ending = 1;
    session_close(h);
}

void h3_fail(h3_session *h, h3_error code, const char *why)
{
    const brg_conn *bc = h->streams.bc;
    char client[CONN_CLIENT_TEXT];

    BRG_ASSERT(code >= H3_NO_ERROR && why);
    if (h->streams.ending)
        return;
    h->streams.ending = 1;
    h->error = code;
    h->why = why;
    if (code == H3_EXCESSIVE_LOAD)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, session_server(bc),
                     "HTTP/3 connection ended: %s, client %s", why, conn_client(bc, client));
    else
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, session_server(bc),
                     "HTTP/3 connection ended with error 0x%x: %s", (unsigned)code, why);
    h3_wants(h);
}

void h3_wants(h3_session *h)
{
    if (!h->running && loop_self() && h->streams.bc->fd >= 0)
        loop_ready(h->streams.bc->loop, h->streams.bc);
}

/* ---- waiting ---- */

/* The time limit of a head: RequestReadTimeout, and Timeout. */
static apr_interval_time_t session_head_time(const h3_session *h)
{
    const server_rec *s = session_server(h->streams.bc);
    const brg_read_timeout *t = &h1_read_timeouts(s)->header;

    return t->first_us && t->first_us < s->timeout ? t->first_us : s->timeout;
}

/* 0: nothing has to come by any time. Packets without a request in them do not keep a connection. */
static apr_time_t session_due(const h3_session *h)
{
    apr_time_t due = 0, head;

    if (h->leaving && !h->goaway_sent)
        return h->leaving + LOOP_DRAIN_US;
    if (h->goaway_sent && !h->streams.n)
        return h->goaway_at + LOOP_DRAIN_US;
    if (!h->streams.n && !h->heads_n)
        return h->streams.bc->input.began + h->conf->idle_timeout;
    if (h->streams.n > h->streams.running_n)
        due = h->streams.progress + (h->conf->stream_timeout
                                         ? h->conf->stream_timeout
                                         : session_server(h->streams.bc)->timeout);
    head = h->heads_n ? h3_stream_oldest(h) + session_head_time(h) : 0;
    return head && (!due || head < due) ? head : due;
}

static void session_wait(h3_session *h)
{
    brg_conn *bc = h->streams.bc;

    BRG_ASSERT(h->qc && !h->streams.ending);
    conn_enter(bc, h->streams.n || !h->requests ? CONN_HEAD : CONN_IDLE);
    if (h->streams.more)
        loop_again(bc->loop, bc);
    (void)loop_wait(bc, session_due(h), 0);
}

/* ---- the driver ---- */

/* 1: a client has not got all of an answer, which may have come from memory. */
static int session_sends(const h3_session *h)
{
    for (const h3_stream *x = h->all; x; x = x->next)
        if (x->kind == H3_REQUEST)
            return 1;
    return 0;
}

/* Requests that were on their way when it was told which ones are taken are rejected, so that their clients ask elsewhere: a
 * connection that ended at once would leave them without a word. */
static int session_is_over(const h3_session *h)
{
    return !h->streams.n &&
           ((h->goaway_came && !session_sends(h)) ||
            (h->goaway_sent && h->streams.bc->loop->monotonic >= h->goaway_at + LOOP_DRAIN_US));
}

static void session_turn(h3_session *h)
{
    BRG_ASSERT(!h->running);
    h->running = 1;
    h->streams.more = 0;
    h->streams.answered = 0;
    if (h->streams.n == h->streams.running_n)
        h->streams.progress = h->streams.bc->loop->monotonic;
    if (h->streams.n)
        h->streams.bc->input.began = h->streams.bc->loop->monotonic;
    /* Early data that memory does not answer waits until the client has proved that nobody else
     * sends it again: RFC 8470, 3. */
    if (h->streams.waiting_n && !h->streams.ending && quic_conn_is_up(h->qc))
        stream_run_waiting(&h->streams);
    h->running = 0;
    if (stream_first(h->streams.ready))
        quic_conn_wants(h->qc);
}

static void h3_run(brg_conn *bc)
{
    h3_session *h = bc->above;

    BRG_ASSERT(loop_self() == bc->loop && !bc->master);
    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    BRG_ASSERT(!h->running);
    if (!h->qc) {
        session_close(h);
        return;
    }
    if (!h->streams.ending)
        session_turn(h);
    if (h->streams.ending)
        session_end(h, h->error, h->why);
    else if (session_is_over(h))
        session_end(h, H3_NO_ERROR, NULL);
    else
        session_wait(h);
}

/* It was told that the connection is to end, a moment ago. */
static void session_leave(h3_session *h)
{
    BRG_ASSERT(h->qc && !h->goaway_sent);
    h3_control_goaway(h, h->next_request);
    h->goaway_sent = 1;
    h->goaway_at = h->streams.bc->loop->monotonic;
    h3_wants(h);
}

/* 1: heads were late, and their streams are reset; nothing else was. */
static int session_reads_late(h3_session *h)
{
    const apr_time_t now = h->streams.bc->loop->monotonic;

    if (!h->heads_n || h3_stream_oldest(h) + session_head_time(h) > now)
        return 0;
    h3_stream_late(h, now - session_head_time(h));
    return 1;
}

static void h3_expired(brg_conn *bc)
{
    h3_session *h = bc->above;

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    if (h->qc && h->leaving && !h->goaway_sent) {
        session_leave(h);
        return;
    }
    if (h->qc && session_reads_late(h)) {
        h3_wants(h);
        return;
    }
    session_end(h, !h->streams.n ? H3_NO_ERROR : H3_EXCESSIVE_LOAD, NULL);
}

/* On the loop, streams with workers stay: their memory ends with the process, or is dropped after
 * all threads ended. */
static void h3_drop(brg_conn *bc)
{
    h3_session *h = bc->above;
    quic_conn *qc = h->qc;

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    h->qc = NULL;
    h->control = NULL;
    h->streams.ending = 1;
    if (qc)
        quic_conn_drop(qc);
    session_close(h);
}

/* Requests that are under way are taken: RFC 9114, 5.2. A client that is about to send its first one, and knows of no other
 * connection, is told afterwards: some take any GOAWAY for an end. */
static void h3_drain(brg_conn *bc)
{
    h3_session *h = bc->above;

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    if (!h->qc || h->leaving || h->streams.ending)
        return;
    h->leaving = bc->loop->monotonic;
    if (h->requests)
        h3_control_goaway(h, H3_GOAWAY_ALL);
    h3_wants(h);
}

/* The connection itself is never with a worker. */
static void h3_not_worker(brg_conn *bc)
{
    BRG_ASSERT(bc->state != CONN_WORKER);
}

const struct conn_driver h3_driver = {.name = "h3",
                                      .run = h3_run,
                                      .expired = h3_expired,
                                      .drop = h3_drop,
                                      .refused = h3_not_worker,
                                      .work = h3_not_worker,
                                      .drain = h3_drain};
