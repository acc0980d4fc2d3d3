/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of an HTTP/2 connection: one turn reads all received frames, runs their requests, up
 * to its share, and writes the frames of all streams that are ready, together.
 *
 *   begin -> CONN_HEAD: streams are open, or the preface is awaited
 *            CONN_IDLE: nothing is open; closed when KeepAliveTimeout is over
 *            CONN_WRITE: the socket is full; nothing is read
 *   -> GOAWAY -> all streams ended -> lingering close
 *
 * While a worker runs one of its streams, the connection stays, whatever the client does: the stream's conn_rec has
 * this one's as its master. */
#include "h2_private.h"
#include "connection.h"
#include "gather.h"
#include "h1_conn.h"
#include "http_log.h"
#include "response_cache.h"
#include "brigade/assert.h"
#include "brigade/read_timeout.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(http2);

static server_rec *session_server(const brg_conn *bc)
{
    return bc->c ? bc->c->base_server : bc->base;
}

/* ---- begin and end ---- */

static void session_settings(h2_session *h)
{
    uint8_t payload[30], *p = payload;
    const struct {
        h2_setting id;
        uint32_t value;
    } ours[] = {{H2_SET_MAX_CONCURRENT_STREAMS, (uint32_t)h->conf.max_streams},
                {H2_SET_INITIAL_WINDOW_SIZE, (uint32_t)h->conf.window},
                {H2_SET_MAX_HEADER_LIST_SIZE, (uint32_t)h->conf.max_block},
                {H2_SET_NO_RFC7540_PRIORITIES, 1},
                {H2_SET_ENABLE_CONNECT_PROTOCOL, 1}};
    const size_t n = sizeof ours / sizeof *ours - !h->conf.websockets;

    for (size_t i = 0; i < n; i++)
        p = h2_put_setting(p, ours[i].id, ours[i].value);
    h2_ctl(h, H2_SETTINGS, 0, 0, payload, (size_t)(p - payload));
    h->recv_window = H2_WINDOW_DEFAULT;
    h2_credit(h, 0, H2_CONN_WINDOW - H2_WINDOW_DEFAULT);
}

static void session_streams_begin(h2_session *h)
{
    const h2_server_conf *conf = &h->conf;
    int frame = H2_FRAME_MAX - H2_FRAME_HEAD; /* with its head as long as a TLS record */

    if (conf->max_frame && conf->max_frame < frame)
        frame = conf->max_frame;
    h->streams.protocol = &h2_protocol;
    h->streams.counted = &h->streams.bc->loop->http2.streams;
    h->streams.terms = (stream_terms){.max_streams = conf->max_streams,
                                      .max_memory = conf->max_memory,
                                      .max_block = conf->max_block,
                                      .max_errors = conf->max_errors,
                                      .frame_most = frame,
                                      .window = conf->window,
                                      .early_hints = conf->early_hints,
                                      .buffering = conf->buffering,
                                      .timeout = conf->stream_timeout};
    streams_begin(&h->streams);
}

static h2_session *session_new(brg_conn *bc)
{
    h2_session *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->tag = H2_SESSION_TAG;
    h->streams.bc = bc;
    h2_conf_of(session_server(bc), &h->conf);
    hpack_table_init(&h->decoder, HPACK_DEFAULT_TABLE_SIZE);
    h->peer_window = H2_WINDOW_DEFAULT;
    h->window = H2_WINDOW_DEFAULT;
    if (h->conf.padding)
        apr_generate_random_bytes((unsigned char *)&h->padding, sizeof h->padding);
    session_streams_begin(h);
    h->frame_began = bc->loop->monotonic;
    bc->above = h;
    bc->protocol = CONN_HTTP2;
    bc->loop->http2.n++;
    h2_score_begin(h);
    session_settings(h);
    return h;
}

static void session_free(h2_session *h)
{
    streams_end(&h->streams);
    h2_score_end(h);
    h->streams.bc->above = NULL;
    BRG_ASSERT(h->streams.bc->loop->http2.n > 0);
    h->streams.bc->loop->http2.n--;
    hpack_table_free(&h->decoder);
    h2_block_free(&h->block);
    free(h->ctl);
    h->tag = 0;
    free(h);
}

/* At once, or when the workers are done: h2_run() comes here again. */
static void session_close(h2_session *h)
{
    brg_conn *bc = h->streams.bc;

    bc->failed = 1;
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    if (streams_cancel(&h->streams))
        return;
    pending_drop(bc);
    session_free(h);
    if (bc->c)
        connection_detach(bc);
    loop_close(bc->loop, bc);
}

/* Written output gets to the client before the socket is closed. */
static void session_linger(h2_session *h)
{
    brg_conn *bc = h->streams.bc;

    BRG_ASSERT(!bc->pending);
    if (streams_cancel(&h->streams))
        return;
    if (bc->read_eof) {
        session_close(h);
        return;
    }
    session_free(h);
    if (bc->c)
        connection_detach(bc);
    loop_linger(bc->loop, bc);
}

static void session_put_goaway(h2_session *h, uint32_t last_id, h2_error code)
{
    uint8_t payload[8];

    h2_put32(h2_put32(payload, last_id), code);
    h2_ctl(h, H2_GOAWAY, 0, 0, payload, sizeof payload);
}

void h2_goaway(h2_session *h, h2_error code)
{
    BRG_ASSERT_TAG(h, H2_SESSION_TAG);
    session_put_goaway(h, h->last_id, code);
    h->goaway_sent = 1;
}

void h2_fail(h2_session *h, h2_error code, const char *why)
{
    brg_conn *bc = h->streams.bc;
    char client[CONN_CLIENT_TEXT];

    if (h->streams.ending)
        return;
    h->streams.ending = 1;
    if (code == H2_ENHANCE_YOUR_CALM)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, session_server(bc),
                     "HTTP/2 connection ended: %s, client %s", why, conn_client(bc, client));
    else
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, session_server(bc),
                     "HTTP/2 connection ended with error %d: %s", (int)code, why);
    h2_goaway(h, code);
}

void h2_wants(h2_session *h)
{
    if (!h->running && loop_self() && h->streams.bc->fd >= 0)
        loop_ready(h->streams.bc->loop, h->streams.bc);
}

/* ---- waiting ---- */

static apr_time_t session_head_due(const h2_session *h)
{
    const brg_conn *bc = h->streams.bc;
    const server_rec *s = session_server(bc);
    const brg_read_timeout *t = &h1_read_timeouts(s)->header;
    apr_interval_time_t most = s->timeout;

    /* While streams are open it may be a body, whose time its request keeps. */
    if (t->first_us && t->first_us < most && (!h->streams.n || h->block.stream))
        most = t->first_us;
    return h->frame_began + most;
}

static int session_is_idle(const h2_session *h)
{
    return !h->streams.n && !conn_in_size(h->streams.bc) && !h->block.stream && h->requests;
}

/* 0: nothing has to come by any time. */
static apr_time_t session_due(const h2_session *h)
{
    const brg_conn *bc = h->streams.bc;
    apr_interval_time_t timeout = session_server(bc)->timeout;

    if (bc->pending)
        return h->streams.progress + timeout;
    if (conn_in_size(bc) || h->block.stream || !h->settings_came || (!h->requests && !h->streams.n))
        return session_head_due(h);
    if (!h->streams.n)
        return bc->idle_until;
    return h->streams.n > h->streams.running_n ? h->streams.progress + timeout : 0;
}

/* It was told so, and may have sent further requests before it knew. */
static int session_is_leaving(const h2_session *h)
{
    return h->leaving && !h->goaway_sent;
}

static void session_wait(h2_session *h)
{
    brg_conn *bc = h->streams.bc;
    apr_time_t due, soon = bc->loop->monotonic + LOOP_DRAIN_US;

    if (bc->pending)
        conn_enter(bc, CONN_WRITE);
    else
        conn_enter(bc, session_is_idle(h) ? CONN_IDLE : CONN_HEAD);
    if (!bc->pending && (bc->rd_ready || h->streams.more))
        loop_again(bc->loop, bc);
    due = session_due(h);
    if (bc->state == CONN_IDLE && bc->loop->draining && soon < due)
        due = soon;
    if (session_is_leaving(h) && (!due || h->leaving + LOOP_DRAIN_US < due))
        due = h->leaving + LOOP_DRAIN_US;
    if (loop_wait(bc, due, 1))
        session_close(h);
}

/* ---- the driver ---- */

static int session_is_over(const h2_session *h)
{
    if (h->streams.bc->pending || h->ctl_len)
        return 0;
    return h->streams.ending || ((h->goaway_sent || h->goaway_came) && !h->streams.n);
}

/* Nothing more comes, and the client did not say that it waits for open streams. */
static int session_client_left(const h2_session *h)
{
    const brg_conn *bc = h->streams.bc;

    return bc->read_eof && !bc->rd_ready && !h->streams.ending && !h->goaway_sent;
}

static void session_turn(h2_session *h)
{
    brg_conn *bc = h->streams.bc;
    const int waited = bc->pending != NULL;

    h->running = 1;
    h->streams.more = 0;
    h->streams.answered = 0;
    if (!waited || pending_flush(bc) == APR_SUCCESS) {
        /* Frames of a client that keeps its windows closed are no progress. */
        if (waited || h->streams.n == h->streams.running_n)
            h->streams.progress = bc->loop->monotonic;
        if (!h->streams.ending)
            h2_input(h);
        if (h->streams.waiting_n && !session_client_left(h))
            stream_run_waiting(&h->streams);
        h2_output(h);
        h2_score_tell(h);
    }
    h->running = 0;
}

static void h2_run(brg_conn *bc)
{
    h2_upgrade *up = h2_upgrade_of(bc);
    h2_session *h = bc->above;

    BRG_ASSERT(loop_self() == bc->loop && !bc->master);
    if (!h && !(h = session_new(bc))) {
        bc->failed = 1;
        loop_close(bc->loop, bc);
        return;
    }
    BRG_ASSERT_TAG(h, H2_SESSION_TAG);
    if (up) {
        h->upgrade = up;
        h2_upgrade_settings(h);
    }
    if (!bc->failed)
        session_turn(h);
    if (bc->failed || session_client_left(h))
        session_close(h);
    else if (session_is_over(h))
        session_linger(h);
    else
        session_wait(h);
}

static void h2_expired(brg_conn *bc)
{
    h2_session *h = bc->above;

    BRG_ASSERT_TAG(h, H2_SESSION_TAG);
    if ((bc->state == CONN_IDLE && !h->goaway_sent) || session_is_leaving(h)) {
        h2_goaway(h, H2_NO_ERROR);
        h2_run(bc);
        return;
    }
    if (!bc->pending && !h->streams.ending &&
        (conn_in_size(bc) || h->block.stream || !h->settings_came)) {
        connection_log_late(bc, "header");
        h2_fail(h, H2_NO_ERROR, "frames did not arrive in time");
        h2_run(bc);
        return;
    }
    session_close(h);
}

/* On the loop, streams with workers stay: their memory ends with the process, or is dropped after
 * all threads ended. */
static void h2_drop(brg_conn *bc)
{
    h2_session *h = bc->above;

    bc->failed = 1;
    if (!h) {
        loop_close(bc->loop, bc);
        return;
    }
    session_close(h);
}

/* Requests that are under way are taken: RFC 9113, 6.8. The client's answer to PING comes behind all that it sent before
 * it knew; where none comes, a second has to do. */
static void h2_drain(brg_conn *bc)
{
    static const uint8_t leaving[8] = "leaving";
    h2_session *h = bc->above;

    if (!h || h->goaway_sent || h->leaving || bc->failed)
        return;
    BRG_ASSERT_TAG(h, H2_SESSION_TAG);
    h->leaving = bc->loop->monotonic;
    session_put_goaway(h, H2_STREAM_MAX, H2_NO_ERROR);
    h2_ctl(h, H2_PING, 0, 0, leaving, sizeof leaving);
    h2_wants(h);
}

/* The connection itself is never with a worker. */
static void h2_not_worker(brg_conn *bc)
{
    BRG_ASSERT(bc->state != CONN_WORKER);
}

const struct conn_driver h2_driver = {.name = "h2",
                                      .run = h2_run,
                                      .expired = h2_expired,
                                      .drop = h2_drop,
                                      .refused = h2_not_worker,
                                      .work = h2_not_worker,
                                      .drain = h2_drain};
