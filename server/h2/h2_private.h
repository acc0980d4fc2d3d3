/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_H2_PRIVATE_H
#define BRIGADE_H2_H2_PRIVATE_H

/**
 * @file h2_private.h
 * HTTP/2 connections in their parts:
 *
 *   h2_session.c  the driver of a connection: begin, turns, deadlines, end
 *   h2_input.c    the effect of each frame
 *   h2_wire.c     rules of frames that hold for backends as well
 *   h2_request.c  field blocks to requests, which memory answers or a stream waits with; trailers
 *   h2_stream.c   how streams begin and end
 *   h2_output.c   which stream sends next, and frames in as few writes as possible
 *   h2_limits.c   floods
 *   h2_score.c    a connection on the status page
 *   h2_codec.c    heads of stored responses
 *   h2_conf.c     directives
 *   h2_upgrade.c  connections of HTTP/1.1 that become such ones
 *   mod_http2.c   hooks, variables, early hints
 *
 * Streams, and the requests in them, are a room of their own (../streams), which knows no frame. A
 * session belongs to its connection's loop.
 */
#include "h2_wire.h"
#include "hpack_decode.h"
#include "http_head.h"
#include "response_cache.h"
#include "streams.h"
#include "httpd.h"
#include "http_config.h"
#include "brigade/assert.h"

#define H2_SESSION_TAG 0x48325345u
#define H2_UPGRADE_TAG 0x48325550u
#define H2_CTL_MOST 16384        /**< bytes of frames that answer frames and wait for the client */
#define H2_TURN_BYTES 262144     /**< sent on a connection in one turn */
#define H2_CONN_WINDOW (1 << 20) /**< of request bodies of a connection that nobody has read */

typedef struct h2_session h2_session;
typedef struct h2_upgrade h2_upgrade;

/** A field of responses 103. */
typedef struct h2_hint {
    const char *name, *value;
} h2_hint;

/** Settings of a server; H2_UNSET: not set. */
typedef struct h2_server_conf {
    int max_streams, window, max_errors, max_memory, max_block;
    int direct, early_hints, max_frame;
    int modern;     /**< no HTTP/2 over ciphers that RFC 9113 lists as bad */
    int padding;    /**< a frame gets less than 2^padding bytes of it */
    int websockets; /**< the extended CONNECT (RFC 8441) is offered */
    int buffering;  /**< small pieces of a response gather */
    apr_interval_time_t stream_timeout;
    apr_array_header_t *pushes, *hints; /**< of h2_hint; NULL: none */
} h2_server_conf;

/** Settings of a directory. */
typedef struct h2_dir_conf {
    apr_array_header_t *pushes, *hints;
    int upgrade;
} h2_dir_conf;

#define H2_UNSET (-1)

extern module http2_module;

/* ---- h2_conf.c ---- */

void *h2_server_create(apr_pool_t *p, server_rec *s);
void *h2_server_merge(apr_pool_t *p, void *base, void *add);
void *h2_dir_create(apr_pool_t *p, char *path);
void *h2_dir_merge(apr_pool_t *p, void *base, void *add);
extern const command_rec h2_commands[];

/** With defaults for unset directives. */
void h2_conf_of(const server_rec *s, h2_server_conf *out);

struct h2_session {
    http_streams streams; /**< the first member: h2_session_of() */
    uint32_t tag;
    h2_server_conf conf;
    hpack_table decoder;
    h2_upgrade *upgrade; /**< stream 1 runs when the preface came; of the conn_rec's pool */
    uint32_t peer_window;
    int64_t window;      /**< of the connection, that the client gave */
    int32_t recv_window; /**< that we gave */
    uint32_t owed;
    uint64_t padding; /**< state of the padding lengths; see h2_conf.padding */
    uint32_t last_id; /**< highest stream that the client opened */
    h2_block block;
    uint8_t preface, settings_came, goaway_sent, goaway_came;
    uint8_t running; /**< within h2_run() */
    uint8_t *ctl;    /**< frames that do not belong to streams' output; malloc() */
    uint32_t ctl_len, ctl_cap;
    apr_time_t frame_began; /**< arrival of the first byte of an incomplete frame */
    /** when the client was told that the connection is to end; 0: it was not */
    apr_time_t leaving;
    int empty;              /**< DATA without data in a row */
    uint8_t tiny;           /**< DATA frames with little in them, modulo its size */
    uint32_t reset_ids[16]; /**< streams that we reset: late frames for them are no errors */
    unsigned reset_at;
    unsigned long requests;
    struct http2_score *score; /**< on the status page; NULL: it is not told by itself */
};

/** The session of a stream. */
static inline h2_session *h2_session_of(const http_stream *s)
{
    h2_session *h = (h2_session *)(void *)s->session;

    BRG_ASSERT_TAG(h, H2_SESSION_TAG);
    return h;
}

extern const struct conn_driver h2_driver;
extern const struct http_codec h2_codec;

/* ---- h2_session.c; the loop ---- */

/** The connection cannot go on: GOAWAY, and the end when it is written. @param why  for the log; constant */
__attribute__((cold)) void h2_fail(h2_session *h, h2_error code, const char *why);

/** Append GOAWAY: no later stream is taken, but open ones are finished. */
void h2_goaway(h2_session *h, h2_error code);

/** Have h2_run() called for the connection, unless that is under way. */
void h2_wants(h2_session *h);

extern const stream_protocol h2_protocol;

/* ---- h2_score.c; the loop ---- */

/** Tell of the connection on the status page, if a place is free and ExtendedStatus is On. */
void h2_score_begin(h2_session *h);
/** Show the changes of a turn. */
void h2_score_tell(h2_session *h);
void h2_score_end(h2_session *h);

/* ---- h2_input.c; the loop ---- */

/** Take the frames that are here. */
void h2_input(h2_session *h);

/** Take settings of the client. @param payload  of SETTINGS */
void h2_input_settings(h2_session *h, const uint8_t *payload, uint32_t len);

/* ---- h2_upgrade.c ---- */

/** 1 if r, which asks for h2c, may have it. Threads: the owner of its connection. */
int h2_upgrade_fits(const request_rec *r);
/** r becomes stream 1 when it is over: bc->above is a h2_upgrade from here on. Threads: as above. */
void h2_upgrade_begin(const request_rec *r);
/** The object of h2_upgrade_begin(), taken out of bc->above; NULL: none. It lives as long as bc->c.
 * Threads: the loop. */
h2_upgrade *h2_upgrade_of(brg_conn *bc);
/** The settings that came with it hold from here on. Threads: the loop. */
void h2_upgrade_settings(h2_session *h);
/** The preface came: run stream 1. Some clients have no room for a response behind 101. Threads: the loop. */
void h2_upgrade_run(h2_session *h);

/* ---- h2_request.c; the loop ---- */

/** A field block that opens a stream, or ends one with trailers. @param flags  of its HEADERS */
void h2_take_block(h2_session *h, uint32_t id, unsigned flags, const uint8_t *block, size_t len);

/** stream_protocol.answer_stored */
int h2_answer_stored(http_stream *s, const http_head *head, cache_entry **planned);

/* ---- h2_stream.c; the loop ---- */

/** With the client's window. NULL: no memory. */
http_stream *h2_stream_open(h2_session *h, uint32_t id);
/** RST_STREAM, and the end of the stream's request. */
void h2_stream_reset(http_stream *s, h2_error code);
/** RST_STREAM for a stream that there is not. */
void h2_reset_id(h2_session *h, uint32_t id, h2_error code);
/** 1 if it was reset by us not long ago. */
int h2_was_reset(const h2_session *h, uint32_t id);

/* ---- h2_output.c; the loop ---- */

/** Append a frame that answers a frame. */
void h2_ctl(h2_session *h, h2_frame_type type, unsigned flags, uint32_t stream, const void *payload,
            size_t len);
/** Tell the client of bytes that were taken. */
void h2_credit(h2_session *h, uint32_t stream, uint32_t bytes);
/** Send as much as windows and the socket allow. */
void h2_output(h2_session *h);
/** Answer from memory, with window and priority of @a as: the head is at h2_output_room(). Takes over the reply's
 * owner. @return 0; -1: no memory, nothing of the body is sent */
int h2_output_stored(h2_session *h, uint32_t id, const cache_reply *reply, const http_stream *as);
/** stream_protocol.window, put_data, put_block */
int64_t h2_output_window(const http_stream *s);
void h2_output_data(http_stream *s, const char *data, size_t len, shared_ref *owner, int last);
void h2_output_block(http_stream *s, stream_block *b);
/** Where the head of a stored response is to be put. */
char *h2_output_room(h2_session *h);

/* ---- h2_limits.c; the loop ---- */

/** A frame that costs the client little and brings nothing. 1: the connection was ended */
int h2_limit_cheap(h2_session *h, const char *what);
/** A stream came to nothing through a fault of the client. 1: the connection was ended */
__attribute__((cold)) int h2_limit_fault(h2_session *h, const char *what);
/** A stream came to nothing: reset by the client, or refused. 1: the connection was ended */
int h2_limit_waste(h2_session *h, const char *what);
/** 1 if further streams are to be refused. */
int h2_limit_streams(const h2_session *h);

#endif
