/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/3 connection, by a list of steps: bytes of streams in order, whole requests for a site, resets, credit, what is acknowledged, the
 * loop's turns and deadlines. QUIC is real but for packets: its frames come as they are, and all that is written counts as received. What
 * the server writes has to be frames of HTTP/3 in their order, a GOAWAY names a request, none later than the one before, and the connection
 * must end when the client goes.
 * Covers: server/h3/h3_session.c server/h3/h3_stream.c server/h3/h3_frame.c server/h3/h3_control.c server/h3/h3_request.c
 *     server/h3/h3_output.c server/h3/qpack_decode.c server/quic/quic_streams.c server/quic/quic_stream_out.c
 *     server/streams/stream_request.c server/streams/stream_waiting.c
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_h2_site.h"
#include "h3_private.h"
#include "qpack.h"
#include "quic_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STREAMS 24 /* of each kind that a client opens */

/* What came of a stream of the server's, frame by frame. */
typedef struct heard {
    uint8_t head[16];
    unsigned head_n, heads, in_frame, is_goaway;
    uint64_t left, goaway; /* 0: none came */
} heard;

static struct {
    quic_endpoint *ep;
    quic_setup setup;
    h3_server_conf conf;
    quic_conn *qc;
    uint64_t off[STREAMS * 4]; /* by id: what the client sent */
    heard heard[STREAMS * 4];
} play;

typedef struct steps {
    const uint8_t *at, *end;
} steps;

static unsigned byte(steps *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

/* ---- QUIC without packets ---- */

static brg_conn *play_open(brg_loop *loop, brg_listener *l, int fd, const struct sockaddr *client,
                           const struct sockaddr *local)
{
    return loop_conn_begin(loop, l, site_listener.fd, client, local);
}

static int play_end_tls(tls_quic *unused)
{
    return 0;
}

static const quic_below play_below = {.open = play_open, .close = loop_close, .end = play_end_tls};

static void play_take(void *of, const uint8_t *data, size_t len, const quic_addr *to, int ecn)
{
}

/* The user closed it, or it ended by itself. */
static int play_is_over(void)
{
    if (play.qc && (!site_conn || play.qc->state > QUIC_UP))
        play.qc = NULL;
    return !play.qc;
}

static void play_frame(const uint8_t *frame, size_t len)
{
    quic_came came = {.space = QUIC_S_APP, .type = QUIC_1RTT, .size = len};
    quic_conn *qc = play.qc;

    if (play_is_over())
        return;
    came.peer = &qc->path.peer;
    came.local = &qc->path.local;
    came.dcid = &qc->own[0].cid;
    quic_conn_enter(qc);
    quic_frames(qc, &came, frame, len);
    quic_conn_leave(qc);
    site_turn();
    play_is_over();
}

static void play_begin(void)
{
    const quic_head h = {
        .type = QUIC_INITIAL, .version = QUIC_V1, .dcid = {8, "clients!"}, .scid = {5, "mine!"}};
    quic_addr client = {.v4 = {.sin_family = AF_INET, .sin_port = htons(4444)}};
    quic_conn *qc = quic_conn_new(play.ep, &h, &client, &client);

    assert_non_null(qc);
    quic_conn_enter(qc);
    qc->peer = (quic_params){.max_uni = 10, .max_data_bidi_local = 100000, .max_data_uni = 100000};
    qc->params_came = qc->begun = qc->confirmed = 1;
    qc->path.validated = 1;
    qc->out_max = 1 << 20;
    qc->own_uni_most = 10;
    qc->state = QUIC_UP;
    assert_non_null(quic_space_new(qc, QUIC_S_APP));
    play.qc = qc;
    h3_user.begun(qc);
    quic_conn_leave(qc);
    memset(play.off, 0, sizeof play.off);
    memset(play.heard, 0, sizeof play.heard);
}

/* ---- what the server writes ---- */

static void heard_head(heard *h, int is_request)
{
    const uint64_t type = h3_int_get(h->head);

    h->left = h3_int_get(h->head + h3_int_len(*h->head));
    h->head_n = 0;
    h->in_frame = h->left != 0;
    h->is_goaway = !is_request && type == H3_GOAWAY;
    if (!is_request)
        return;
    PEER_CHECK(type == H3_HEADERS || type == H3_DATA);
    PEER_CHECK(type == H3_HEADERS ? h->left > QPACK_PREFIX : h->heads);
    h->heads += type == H3_HEADERS;
}

static void heard_goaway(heard *h, uint8_t b)
{
    uint64_t id;

    PEER_CHECK(h->head_n < 8);
    h->head[h->head_n++] = b;
    if (h->in_frame)
        return;
    id = h3_int_get(h->head);
    PEER_CHECK(h3_int_len(*h->head) == h->head_n && !(id & 3));
    PEER_CHECK(!h->goaway || id < h->goaway);
    h->goaway = id + 1;
    h->head_n = 0;
}

static void heard_byte(heard *h, uint8_t b, int is_request)
{
    size_t need;

    if (h->in_frame) {
        h->in_frame = --h->left != 0;
        if (h->is_goaway)
            heard_goaway(h, b);
        return;
    }
    h->head[h->head_n++] = b;
    need = h3_int_len(*h->head);
    if (h->head_n <= need)
        return;
    need += h3_int_len(h->head[need]);
    if (h->head_n == need)
        heard_head(h, is_request);
}

static void heard_bytes(quic_stream *qs, uint64_t off, size_t len)
{
    heard *h = &play.heard[qs->id % (STREAMS * 4)];
    uint8_t bytes[4096];

    if ((qs->id & 3) == 3 && !off) { /* its type is no frame */
        off++;
        len--;
    }
    while (len) {
        const size_t n = len < sizeof bytes ? len : sizeof bytes;

        quic_sendq_copy(&qs->out, off, n, bytes);
        for (size_t i = 0; i < n; i++)
            heard_byte(h, bytes[i], !(qs->id & 2));
        off += n;
        len -= n;
    }
}

/* All of a stream arrived. */
static void play_arrived_bytes(quic_stream *qs)
{
    quic_sendq *q = &qs->out;
    const uint64_t from = q->sent, n = q->written - q->sent;

    if (n)
        heard_bytes(qs, from, (size_t)n);
    if (q->fin)
        PEER_CHECK(!play.heard[qs->id % (STREAMS * 4)].in_frame);
    q->sent = q->written;
    qs->qc->unsent -= n;
    qs->qc->out_sent += n;
    qs->out_max = q->written + 100000;
    qs->qc->out_max = qs->qc->out_sent + (1 << 20);
    assert_int_equal(quic_sendq_acked(q, from, n), 0);
    q->fin_sent = q->fin_acked = q->fin;
    quic_stream_unsends(qs);
}

static void play_arrived(quic_stream *qs)
{
    if (qs->due & QUIC_DUE_RESET)
        qs->reset_acked = 1;
    qs->due = 0;
    quic_stream_undue(qs);
    if (!qs->out_over)
        play_arrived_bytes(qs);
    quic_stream_check(qs);
}

static void play_output(size_t room)
{
    quic_stream *all[STREAMS * 4];
    unsigned n = 0;
    quic_conn *qc = play.qc;

    if (play_is_over())
        return;
    quic_conn_enter(qc);
    if (qc->wants && !h3_user.fill(qc, room))
        qc->wants = 0;
    for (int i = 0; qc->state <= QUIC_UP && i < QUIC_STREAM_BUCKETS; i++)
        for (quic_stream *qs = qc->bucket[i]; qs && n < STREAMS * 4; qs = qs->hash_next)
            all[n++] = qs;
    for (unsigned i = 0; i < n && qc->state <= QUIC_UP; i++)
        if (!all[i]->is_dead)
            play_arrived(all[i]);
    quic_conn_leave(qc);
    site_turn();
    play_is_over();
}

/* ---- steps ---- */

static uint64_t step_id(steps *s, int is_uni)
{
    return (uint64_t)(byte(s) % STREAMS) << 2 | (is_uni ? 2 : 0);
}

/* Bytes of a stream, behind those before. */
static void step_bytes(uint64_t id, const uint8_t *data, size_t len, int fin)
{
    uint8_t frame[1200], *at = frame;

    *at++ =
        (uint8_t)(QUIC_F_STREAM | QUIC_STREAM_OFF | QUIC_STREAM_LEN | (fin ? QUIC_STREAM_FIN : 0));
    at = quic_put_varint(quic_put_varint(at, id), play.off[id % (STREAMS * 4)]);
    at = quic_put_bytes(quic_put_varint(at, len), data, len);
    play.off[id % (STREAMS * 4)] += len;
    play_frame(frame, (size_t)(at - frame));
}

static void step_raw(steps *s, unsigned kind)
{
    const uint64_t id = step_id(s, kind & 1);
    size_t len = byte(s);

    len = len < (size_t)(s->end - s->at) ? len : (size_t)(s->end - s->at);
    step_bytes(id, s->at, len, (kind & 2) != 0);
    s->at += len;
}

static void step_request(steps *s)
{
    static const char *const pages[] = {"/a",    "/b",    "/c",      "/echo", "/write",
                                        "/read", "/none", "/breaks", "/hints"};
    static const char *const methods[] = {"GET", "POST", "HEAD", "CONNECT", "get"};
    const uint64_t id = step_id(s, 0);
    const char *page = pages[byte(s) % 9], *method = methods[byte(s) % 5];
    const unsigned more = byte(s);
    uint8_t block[300], frame[400], *at = block, *to;

    *at++ = 0;
    *at++ = 0;
    at = qpack_put_line(at, ":method", 7, method, strlen(method));
    at = qpack_put_line(at, ":scheme", 7, "https", 5);
    at = qpack_put_line(at, ":authority", 10, "localhost", 9);
    at = qpack_put_line(at, ":path", 5, page, strlen(page));
    if (more & 2)
        at = qpack_put_line(at, "content-length", 14, "5", 1);
    if (more & 4)
        at = qpack_put_line(at, ":protocol", 9, "websocket", 9);
    if (more & 8)
        at = qpack_put_line(at, "priority", 8, "u=1, i", 6);
    to = h3_put_frame(frame, H3_HEADERS, (uint64_t)(at - block));
    to = quic_put_bytes(to, block, (size_t)(at - block));
    step_bytes(id, frame, (size_t)(to - frame), more & 1);
}

static void step_number(steps *s, unsigned type)
{
    uint8_t frame[32] = {(uint8_t)type}, *at = frame + 1;
    const uint64_t id = step_id(s, byte(s) & 1), value = byte(s);

    at = quic_put_varint(at, id);
    at = quic_put_varint(at, type == QUIC_F_MAX_STREAM_DATA ? value * value * 50 : 0x100 + value);
    if (type == QUIC_F_RESET_STREAM)
        at = quic_put_varint(at, play.off[id % (STREAMS * 4)] + (value == 1));
    play_frame(frame, (size_t)(at - frame));
}

static void step_turn(steps *s)
{
    const unsigned kind = byte(s);

    if ((kind & 3) == 1 && site_conn->timer.prev && site_conn->state != CONN_WORKER)
        site_conn->driver->expired(site_conn);
    else if ((kind & 3) == 2)
        site_conn->driver->drain(site_conn);
    for (unsigned i = 0; i < (kind >> 4); i++)
        site_turn();
    play_is_over();
}

static void step(steps *s)
{
    const unsigned kind = byte(s) & 15;

    switch (kind) {
    case 8:
    case 9:
        step_request(s);
        break;
    case 10:
        step_number(s, QUIC_F_RESET_STREAM);
        break;
    case 11:
        step_number(s, QUIC_F_STOP_SENDING);
        break;
    case 12:
        step_number(s, QUIC_F_MAX_STREAM_DATA);
        break;
    case 13:
    case 14:
        play_output((size_t)byte(s) * 256);
        break;
    case 15:
        step_turn(s);
        break;
    default:
        step_raw(s, kind);
    }
}

/* ---- begin and end ---- */

static void end(void)
{
    quic_endpoint_end(play.ep);
}

/* @return 1: it was not open yet */
static int open_once(void)
{
    if (!site_open_once(
            "MaxKeepAliveRequests 0\nH2EarlyHints on\nH3MaxConcurrentStreams 20\nH3WebSockets On\n"
            "H3MaxRequestBodySize 100000\nLogLevel crit\nTimeout 10\n"))
        return 0;
    quic_setup_defaults(&play.setup);
    play.setup.user = &h3_user;
    h3_conf_of(ap_server_conf, &play.conf);
    play.setup.of = &play.conf;
    play.setup.route_key = 1;
    play.setup.max_streams = 20;
    play.ep = quic_endpoint_begin(site_loop, &site_listener, -1, &play.setup);
    assert_non_null(play.ep);
    play.ep->below = &play_below;
    play.ep->take = play_take;
    atexit(end);
    return 1;
}

/* The client goes: the connection has to end, whatever it was doing. */
static void leave(void)
{
    if (!play_is_over())
        site_conn->driver->drop(site_conn);
    for (int i = 0; site_loop->conns.n && i < 100000; i++) {
        site_turn();
        if (i > 10)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    PEER_CHECK(!site_loop->conns.n && !site_loop->http3.n && !site_loop->http3.streams);
    while (play.ep->all)
        quic_conn_free(play.ep->all);
    play.qc = NULL;
}

/* As many settings as are read are no mistake, and one more is. */
static void check_settings(unsigned n)
{
    uint8_t frame[3 + 32 * 4 + 4] = {H3_STREAM_CONTROL}, values[33 * 4], *to = values;

    for (unsigned i = 0; i < n; i++)
        to = h3_int_put(h3_int_put(to, 100 + i), i);
    play_begin();
    step_bytes(2, frame, 1, 0);
    to = quic_put_bytes(h3_put_frame(frame, H3_SETTINGS, (uint64_t)(to - values)), values,
                        (size_t)(to - values));
    step_bytes(2, frame, (size_t)(to - frame), 0);
    PEER_CHECK(play_is_over() == (n > 32));
    leave();
}

/* The beginning of a head may stay alone for a time: RequestReadTimeout, or Timeout if that is shorter. */
static void check_slow_head(void)
{
    static const uint8_t begun[] = {H3_HEADERS, 20, 0};

    play_begin();
    step_bytes(0, begun, sizeof begun, 0);
    PEER_CHECK(!play_is_over() && site_conn->timer.prev);
    PEER_CHECK(site_conn->timer.due > site_loop->monotonic + apr_time_from_sec(1) &&
               site_conn->timer.due <= site_loop->monotonic + apr_time_from_sec(10));
    leave();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    steps s = {.at = data, .end = data + size};

    if (open_once()) {
        check_settings(32);
        check_settings(33);
        check_slow_head();
    }
    if (!size)
        return 0;
    play_begin();
    while (s.at < s.end && !play_is_over())
        step(&s);
    for (int i = 0; i < 20 && !play_is_over(); i++)
        play_output(20000);
    leave();
    return 0;
}
