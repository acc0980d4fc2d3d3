/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H3_H3_PRIVATE_H
#define BRIGADE_H3_H3_PRIVATE_H

/**
 * @file h3_private.h
 * HTTP/3 (RFC 9114) over connections of ../quic, in its parts:
 *
 *   h3_session.c   a connection: begin, turns, deadlines, GOAWAY, end; its driver
 *   h3_stream.c    streams of QUIC: their input, their end
 *   h3_frame.c     frames as they come, in pieces of any size
 *   h3_control.c   the client's unidirectional streams: settings, priorities, GOAWAY
 *   h3_request.c   field sections to requests, which memory answers or a stream waits with; trailers
 *   h3_output.c    responses in frames
 *   h3_endpoint.c  the UDP sockets of a loop
 *   h3_conf.c      directives
 *   h3_status.c    the handler http3-status, the page of server-status
 *   mod_http3.c    hooks: which servers speak it
 *   qpack_*.c      field sections (qpack.h)
 *
 * Requests and responses are streams' (../streams), as those of HTTP/2. A session belongs to its connection's loop.
 */
#include "h3_servers.h"
#include "h3_wire.h"
#include "quic.h"
#include "streams.h"
#include "httpd.h"
#include "http_config.h"
#include "brigade/assert.h"

#define H3_SESSION_TAG 0x48335345u
#define H3_STREAM_TAG 0x48335354u
#define H3_FRAME_DATA 16375  /**< bytes that a stream sends before others have their turn */
#define H3_CONTROL_MOST 1024 /**< bytes of a frame of a control stream that is read */
#define H3_KEPT_MOST 262144  /**< bytes of field sections of a connection that are not all there */
#define H3_GOAWAY_ALL ((UINT64_C(1) << 62) - 4)

typedef struct h3_session h3_session;
typedef struct h3_stream h3_stream;

/** When clients have to prove their address before a handshake. */
enum { H3_VALIDATE_NEVER, H3_VALIDATE_BY_LOAD, H3_VALIDATE_ALWAYS };

/** Settings of a server; H3_UNSET: not set. */
typedef struct h3_server_conf {
    int max_streams;                    /**< H3MaxConcurrentStreams */
    int alt_svc;                        /**< H3AltSvc */
    int alt_svc_age;                    /**< H3AltSvcMaxAge, seconds */
    int validation;                     /**< H3AddressValidation: an h3_validation */
    int port;                           /**< H3Port; the main server's */
    int early;                          /**< H3EarlyData */
    int websockets;                     /**< H3WebSockets */
    int max_errors;                     /**< H3MaxStreamErrors */
    apr_interval_time_t stream_timeout; /**< H3StreamTimeout; 0: Timeout */
    const char *qlog_dir;               /**< H3QLog; NULL */
    apr_array_header_t *qlog_of;        /**< of apr_ipsubnet_t *: clients; NULL: all */
    apr_interval_time_t handshake_timeout, idle_timeout;
    apr_off_t max_body;       /**< H3MaxRequestBodySize; 0: no limit */
    int stream_window;        /**< bytes of a body that nobody has read */
    const char *alt_svc_text; /**< the value of Alt-Svc for ... */
    int alt_svc_port;         /**< ... clients of this port; NULL: they are not told */
} h3_server_conf;

#define H3_UNSET (-1)

extern module http3_module;

/** The kind of a client's unidirectional stream; or that it carries a request. */
typedef enum h3_kind {
    H3_REQUEST,
    H3_UNTYPED, /**< its type did not come yet */
    H3_CONTROL,
    H3_ENCODER,
    H3_DECODER,
    H3_IGNORED
} h3_kind;

/** A stream of QUIC. */
struct h3_stream {
    uint32_t tag;
    uint8_t kind, got_head, got_trailers;
    uint8_t in_frame; /**< its head came; left bytes of type are to come */
    uint8_t head_n;   /**< bytes of a frame's head, or of a stream's type, that came */
    uint8_t head[16];
    uint8_t deferred;      /**< block is a request of which nobody knows whether a body follows */
    uint8_t over;          /**< it was reset, or is of no use: further bytes are dropped */
    uint8_t owes_head;     /**< something of a request's head came, and not all of it */
    apr_time_t head_began; /**< then */
    h3_session *h;
    quic_stream *qs;
    http_stream *s; /**< the request; NULL: none yet, or none any more */
    h3_stream *next, **prev;
    uint64_t type, left;
    uint64_t data_left; /**< of the DATA frame that is being sent */
    /** bytes of a HEADERS frame so far, or of a frame of a control stream; malloc() */
    uint8_t *block;
    uint32_t block_len, block_cap;
};

struct h3_session {
    http_streams streams; /**< the first member: h3_session_of() */
    uint32_t tag;
    quic_conn *qc;              /**< NULL: it is over, and workers have streams still */
    const h3_server_conf *conf; /**< of its endpoint: h3_first_server() */
    h3_stream *all;
    unsigned heads_n;      /**< of these: owe a head */
    uint32_t kept;         /**< bytes of their blocks */
    quic_stream *control;  /**< ours */
    uint64_t next_request; /**< the id of QUIC behind the highest that came */
    int64_t room;          /**< bytes that may be sent now */
    /** when the client was told that the connection is to end; 0: it was not */
    apr_time_t leaving;
    uint8_t running; /**< within its driver */
    h3_error error;  /**< with streams.ending: the error for the client */
    const char *why;
    uint8_t got_control, got_encoder, got_decoder, got_settings;
    uint8_t goaway_sent, goaway_came;
    apr_time_t goaway_at; /**< when it was sent */
    uint64_t goaway_id;   /**< the client's last one */
    uint64_t max_push;
    unsigned long requests;
};

static inline h3_session *h3_session_of(const http_stream *s)
{
    h3_session *h = (h3_session *)(void *)s->session;

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    return h;
}

/** The stream of a request's QUIC stream, by number: odd, as HTTP/2 has them. */
static inline uint32_t h3_id_of(uint64_t quic_id)
{
    return (uint32_t)(quic_id / 4 * 2 + 1);
}

extern const struct conn_driver h3_driver;
extern const struct http_codec h3_codec;
extern const stream_protocol h3_protocol;
extern const quic_user h3_user;

/* ---- h3_session.c; the loop ---- */

/** The connection is to end with an error: nothing more is read, and its driver ends it in this turn. @param why  for the log and
 * the client; constant */
__attribute__((cold)) void h3_fail(h3_session *h, h3_error code, const char *why);
/** quic_user.begun, up and closed */
void h3_session_begun(quic_conn *qc);
void h3_session_up(quic_conn *qc);
void h3_session_closed(quic_conn *qc, const quic_end *why);
/** Have the driver run for the connection, unless that is under way. */
void h3_wants(h3_session *h);

/* ---- h3_stream.c; the loop ---- */

/** RESET_STREAM and STOP_SENDING, and the end of the stream's request. x stays until QUIC is done
 * with its stream. */
void h3_stream_reset(h3_stream *x, h3_error code);
void h3_stream_free(h3_stream *x);
/** Keep bytes of a frame that is to be looked at whole. @return 0; -1: no memory, the connection
 * ended */
int h3_stream_keep(h3_stream *x, const uint8_t *data, size_t len);
void h3_stream_drop_block(h3_stream *x);
/** Its head is all there, or is not waited for. */
void h3_stream_head_over(h3_stream *x);
/** The begin of the oldest stream that owes a head; with h->heads_n. */
apr_time_t h3_stream_oldest(const h3_session *h);
/** Reset streams that owe a head since before @a since. */
void h3_stream_late(h3_session *h, apr_time_t since);
/** Its http_stream goes on without it, or is about to end. */
void h3_stream_detach(h3_stream *x);

/* ---- h3_frame.c; the loop ---- */

/** The next varints of a head: x->head gets bytes until there are @a n. @return bytes taken; *@a done: they are all there */
size_t h3_head_take(h3_stream *x, const uint8_t *data, size_t len, int n, int *done);
/** Bytes of a request stream. */
void h3_frame_request(h3_stream *x, const uint8_t *data, size_t len, int fin);

/* ---- h3_control.c; the loop ---- */

/** Bytes of a unidirectional stream. */
void h3_control_data(h3_stream *x, const uint8_t *data, size_t len, int fin);
/** Open ours, with SETTINGS. @return 0, or -1 */
int h3_control_begin(h3_session *h);
/** GOAWAY: requests from @a id on are not taken. */
void h3_control_goaway(h3_session *h, uint64_t id);

/* ---- h3_request.c; the loop ---- */

/** A field section: a request, or the trailers of one. @param more  bytes follow in this call @return 1: it is a request whose end is
 * not known yet, and comes again */
int h3_take_block(h3_stream *x, const uint8_t *block, size_t len, int fin, int more);
/** stream_protocol.answer_stored */
int h3_answer_stored(http_stream *s, const http_head *head, cache_entry **planned);
/** Faults of clients, again and again. 1: the connection was ended */
int h3_limit_fault(h3_session *h, const char *what);
int h3_limit_waste(h3_session *h, const char *what);
int h3_limit_cheap(h3_session *h, const char *what);

/* ---- h3_output.c; the loop ---- */

#define H3_HEAD_ROOM 16 /**< bytes of frame heads before and behind a field section */

/** A stored response whose field section is at room + H3_HEAD_ROOM. Takes over the reply's owner. @return 0; -1: no memory */
int h3_output_stored(h3_stream *x, uint8_t *room, const cache_reply *reply, const http_stream *as);
int64_t h3_output_window(const http_stream *s);
void h3_output_data(http_stream *s, const char *data, size_t len, shared_ref *owner, int last);
void h3_output_block(http_stream *s, stream_block *b);
/** quic_user.fill */
int h3_output_fill(quic_conn *qc, size_t room);

/* ---- h3_endpoint.c ---- */

/** Loops receive on the UDP sockets of their listeners from now on, or do not. Threads: main, while the configuration is read. */
void h3_endpoints_set(int on);
/** The first server that speaks HTTP/3 at a port: its settings hold for the port's connections,
 * since they are needed before the client names a host. @return @a s: none does */
const server_rec *h3_first_server(const server_rec *s, apr_port_t port);

/* ---- h3_conf.c ---- */

void *h3_server_create(apr_pool_t *p, server_rec *s);
void *h3_server_merge(apr_pool_t *p, void *base, void *add);
extern const command_rec h3_commands[];
/** With defaults for unset directives. */
void h3_conf_of(const server_rec *s, h3_server_conf *out);
/** 1: the settings for connections are the same. */
int h3_conf_is_alike(const h3_server_conf *a, const h3_server_conf *b);

/* ---- h3_status.c ---- */

int h3_status_handler(request_rec *r);
void h3_status_register(apr_pool_t *p);

/* ---- mod_http3.c (h3_servers.h) ---- */

/** 1: a server speaks it. */
int h3_is_offered(void);

#endif
