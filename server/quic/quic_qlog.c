/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a connection, one by one. */
#include "quic_qlog.h"
#include "quic_private.h"
#include "apr_time.h"
#include <arpa/inet.h>
#include <stdlib.h>

#define QLOG_METRICS 1000 /* microseconds between two events of metrics */

struct quic_qlog {
    qlog_file *file;
    qlog_chunk *chunk; /* that is being filled; NULL */
    uint64_t bytes;
    uint32_t left_out; /* events */
    apr_time_t began;
    /* told last: */
    uint64_t window, in_flight;
    apr_interval_time_t rtt;
    apr_time_t metrics_at;
};

/* ---- pieces ---- */

static void piece_write(quic_qlog *q)
{
    if (q->chunk)
        qlog_chunk_write(q->chunk);
    q->chunk = NULL;
}

/* @return 0: there is no room, and the event is left out */
static int piece_room(quic_qlog *q, size_t len)
{
    if (q->chunk && q->chunk->len + len <= QLOG_CHUNK)
        return 1;
    piece_write(q);
    q->chunk = qlog_chunk_new(q->file, 0);
    return q->chunk != NULL;
}

static void piece_add(quic_qlog *q, const char *text, size_t len)
{
    BRG_ASSERT(len <= QLOG_EVENT_MOST);
    if (!piece_room(q, len)) {
        q->left_out++;
        return;
    }
    memcpy(q->chunk->data + q->chunk->len, text, len);
    q->chunk->len += (uint32_t)len;
    q->bytes += len;
}

static void qlog_end_file(quic_conn *qc)
{
    quic_qlog *q = qc->qlog;
    qlog_chunk *last = q->chunk ? q->chunk : qlog_chunk_new(q->file, 1);

    BRG_ASSERT(q->file);
    if (last) { /* else there is no memory, and a descriptor is lost */
        last->is_last = 1;
        qlog_chunk_write(last);
    }
    free(q);
    qc->qlog = NULL;
}

/* ---- events ---- */

typedef struct qlog_event {
    qlog_text t;
    char room[QLOG_EVENT_MOST];
} qlog_event;

static qlog_text *event_begin(qlog_event *e, const quic_conn *qc, const char *name)
{
    e->t = (qlog_text){e->room, e->room + sizeof e->room, 0};
    qlog_put(&e->t, "\x1e{\"time\":");
    qlog_put_ms(&e->t, quic_now(qc) - qc->qlog->began);
    qlog_put(&e->t, ",\"name\":\"");
    qlog_put(&e->t, name);
    qlog_put(&e->t, "\",\"data\":{");
    return &e->t;
}

static void event_end(qlog_event *e, quic_conn *qc)
{
    quic_qlog *q = qc->qlog;

    qlog_put(&e->t, "}}\n");
    if (e->t.cut)
        q->left_out++;
    else
        piece_add(q, e->room, (size_t)(e->t.at - e->room));
    if (q->bytes > QLOG_FILE_MOST)
        qlog_end_file(qc);
}

/* Before an event: how many were left out since the last one. */
static void qlog_confess(quic_conn *qc)
{
    quic_qlog *q = qc->qlog;
    qlog_event e;
    qlog_text *t;

    if (!q->left_out || !piece_room(q, 256))
        return;
    t = event_begin(&e, qc, "loglevel:warning");
    qlog_put(t, "\"message\":\"events were left out: too long, or the disk was slow\"");
    qlog_put_pair(t, "events", q->left_out);
    q->left_out = 0;
    event_end(&e, qc);
}

static void event_text(qlog_text *t, const char *key, const char *value)
{
    qlog_put(t, "\"");
    qlog_put(t, key);
    qlog_put(t, "\":\"");
    qlog_put(t, value);
    qlog_put(t, "\"");
}

/* ---- the beginning ---- */

/* RFC 3339 */
static void put_time(qlog_text *t, apr_time_t now)
{
    char text[32] = "";
    apr_size_t len;
    apr_time_exp_t x;

    apr_time_exp_gmt(&x, now);
    apr_strftime(text, &len, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &x);
    qlog_put(t, text);
}

/* The record before all events: main schema, "QlogFileSeq". */
static void qlog_head(quic_conn *qc)
{
    qlog_event e;

    e.t = (qlog_text){e.room, e.room + sizeof e.room, 0};
    qlog_put(&e.t, "\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\","
                   "\"serialization_format\":\"application/qlog+json-seq\",\"title\":\"Brigade\","
                   "\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"event_schemas\":["
                   "\"urn:ietf:params:qlog:events:quic\"],\"common_fields\":{\"group_id\":\"");
    qlog_put_hex(&e.t, qc->original.id, qc->original.len);
    qlog_put(&e.t, "\",\"time_format\":\"relative_to_epoch\",\"reference_time\":{\"clock_type\":"
                   "\"monotonic\",\"epoch\":\"unknown\",\"wall_clock_time\":\"");
    put_time(&e.t, qc->ep->loop->wall);
    qlog_put(&e.t, "\"}}}}\n");
    BRG_ASSERT(!e.t.cut);
    piece_add(qc->qlog, e.room, (size_t)(e.t.at - e.room));
}

static void put_endpoint(qlog_text *t, const char *key, const quic_addr *a, const quic_cid *cid)
{
    const int is_v6 = a->any.sa_family == AF_INET6;
    char ip[INET6_ADDRSTRLEN] = "";

    inet_ntop(a->any.sa_family,
              is_v6 ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr, ip,
              sizeof ip);
    qlog_put(t, "\"");
    qlog_put(t, key);
    qlog_put(t, "\":{\"connection_ids\":[\"");
    qlog_put_hex(t, cid->id, cid->len);
    qlog_put(t, is_v6 ? "\"],\"ip_v6\":\"" : "\"],\"ip_v4\":\"");
    qlog_put(t, ip);
    qlog_put(t, "\"");
    qlog_put_pair(t, is_v6 ? "port_v6" : "port_v4", ntohs(a->v4.sin_port));
    qlog_put(t, "}");
}

void quic_qlog_path(quic_conn *qc, const char *name)
{
    qlog_event e;
    qlog_text *t;

    if (!qc->qlog)
        return;
    t = event_begin(&e, qc, name);
    put_endpoint(t, "local", &qc->path.local, &qc->own[0].cid);
    qlog_put(t, ",");
    put_endpoint(t, "remote", &qc->path.peer, &qc->theirs[qc->their_at].cid);
    event_end(&e, qc);
}

void quic_qlog_begin(quic_conn *qc)
{
    const quic_setup *setup = qc->ep->setup;
    char name[2 * QUIC_CID_MOST + sizeof "_server.sqlog"];
    qlog_text t = {name, name + sizeof name - 1, 0};
    quic_qlog *q;

    BRG_ASSERT(!qc->qlog);
    if (!setup->qlog_dir || (setup->qlogs && !setup->qlogs(qc)) || !(q = calloc(1, sizeof *q)))
        return;
    qlog_put_hex(&t, qc->original.id, qc->original.len);
    qlog_put(&t, "_server.sqlog");
    *t.at = '\0';
    if (!(q->file = qlog_file_new(setup->qlog_dir, name))) {
        free(q);
        return;
    }
    q->began = quic_now(qc);
    qc->qlog = q;
    qlog_head(qc);
    quic_qlog_path(qc, "quic:connection_started");
}

/* ---- packets ---- */

static const char *packet_name(quic_packet_type type)
{
    return type == QUIC_INITIAL     ? "initial"
           : type == QUIC_HANDSHAKE ? "handshake"
           : type == QUIC_0RTT      ? "0RTT"
                                    : "1RTT";
}

static void put_header(qlog_text *t, quic_packet_type type, uint64_t pn)
{
    qlog_put(t, "\"header\":{");
    event_text(t, "packet_type", packet_name(type));
    qlog_put_pair(t, "packet_number", pn);
    qlog_put(t, "}");
}

void quic_qlog_packet(quic_conn *qc, int is_sent, quic_packet_type type, uint64_t pn,
                      const uint8_t *payload, size_t len)
{
    qlog_event e;
    qlog_text *t;

    qlog_confess(qc);
    if (!qc->qlog)
        return;
    t = event_begin(&e, qc, is_sent ? "quic:packet_sent" : "quic:packet_received");
    put_header(t, type, pn);
    qlog_put(t, ",\"raw\":{\"payload_length\":");
    qlog_put_number(t, len);
    qlog_put(t, "}");
    qlog_put_frames(t, payload, len,
                    is_sent || !qc->params_came ? QUIC_ACK_EXPONENT
                                                : (unsigned)qc->peer.ack_exponent);
    event_end(&e, qc);
}

void quic_qlog_lost(quic_conn *qc, quic_packet_type type, uint64_t pn)
{
    qlog_event e;

    if (!qc->qlog)
        return;
    put_header(event_begin(&e, qc, "quic:packet_lost"), type, pn);
    event_end(&e, qc);
}

/* ---- metrics ---- */

void quic_qlog_metrics(quic_conn *qc)
{
    quic_qlog *q = qc->qlog;
    qlog_event e;
    qlog_text *t;

    if (quic_now(qc) - q->metrics_at < QLOG_METRICS ||
        (q->window == qc->cc.window && q->in_flight == qc->cc.in_flight && q->rtt == qc->rtt))
        return;
    q->metrics_at = quic_now(qc);
    q->window = qc->cc.window;
    q->in_flight = qc->cc.in_flight;
    q->rtt = qc->rtt;
    t = event_begin(&e, qc, "quic:recovery_metrics_updated");
    qlog_put(t, "\"smoothed_rtt\":");
    qlog_put_ms(t, qc->rtt);
    qlog_put(t, ",\"min_rtt\":");
    qlog_put_ms(t, qc->rtt_min == QUIC_NEVER ? 0 : qc->rtt_min);
    qlog_put(t, ",\"latest_rtt\":");
    qlog_put_ms(t, qc->rtt_last);
    qlog_put(t, ",\"rtt_variance\":");
    qlog_put_ms(t, qc->rtt_var);
    qlog_put_pair(t, "congestion_window", qc->cc.window);
    qlog_put_pair(t, "bytes_in_flight", qc->cc.in_flight);
    qlog_put_pair(t, "pto_count", qc->pto_n);
    if (qc->cc.threshold != UINT64_MAX)
        qlog_put_pair(t, "ssthresh", qc->cc.threshold);
    event_end(&e, qc);
}

void quic_qlog_params(quic_conn *qc)
{
    const quic_params *p = &qc->peer;
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {{"max_idle_timeout", p->idle_timeout},
                {"max_udp_payload_size", p->max_udp},
                {"ack_delay_exponent", p->ack_exponent},
                {"max_ack_delay", p->ack_delay},
                {"active_connection_id_limit", p->cid_limit},
                {"initial_max_data", p->max_data},
                {"initial_max_stream_data_bidi_local", p->max_data_bidi_local},
                {"initial_max_stream_data_uni", p->max_data_uni},
                {"initial_max_streams_uni", p->max_uni}};
    qlog_event e;
    qlog_text *t;

    if (!qc->qlog)
        return;
    t = event_begin(&e, qc, "quic:parameters_set");
    event_text(t, "initiator", "remote");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        qlog_put_pair(t, rows[i].key, rows[i].value);
    event_end(&e, qc);
}

void quic_qlog_state(quic_conn *qc, const char *state)
{
    qlog_event e;

    if (!qc->qlog)
        return;
    event_text(event_begin(&e, qc, "quic:connection_state_updated"), "new", state);
    event_end(&e, qc);
}

void quic_qlog_number(quic_conn *qc, const char *name, const char *key, uint64_t value)
{
    qlog_event e;
    qlog_text *t;

    if (!qc->qlog)
        return;
    t = event_begin(&e, qc, name);
    event_text(t, "initiator", "local");
    qlog_put_pair(t, key, value);
    event_end(&e, qc);
}

/* ---- the end ---- */

void quic_qlog_closed(quic_conn *qc)
{
    const quic_end *end = &qc->end;
    qlog_event e;
    qlog_text *t;

    if (!qc->qlog)
        return;
    t = event_begin(&e, qc, "quic:connection_closed");
    event_text(t, "initiator", end->by_peer ? "remote" : "local");
    qlog_put(t, ",");
    event_text(t, "trigger",
               end->is_silent && end->by_peer ? "stateless_reset"
               : end->is_silent               ? "idle_timeout"
               : end->is_application          ? "application"
                                              : "error");
    qlog_put_pair(t, "error_code", end->code);
    event_end(&e, qc);
}

void quic_qlog_end(quic_conn *qc)
{
    if (qc->qlog)
        qlog_end_file(qc);
}
