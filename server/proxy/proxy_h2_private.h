/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_H2_PRIVATE_H
#define BRIGADE_PROXY_H2_PRIVATE_H

/**
 * @file proxy_h2_private.h
 * Between the files of HTTP/2 towards backends: exchanges (proxy_h2.c),
 * sessions and their streams (proxy_h2_session.c), received frames (proxy_h2_frames.c; those of the
 * connection: proxy_h2_control.c), sending (proxy_h2_send.c), answers (proxy_h2_answer.c).
 *
 * A session is a connection that exchanges of one loop share, each with a stream. It reads frames
 * and gives each stream its own, in memory of the stream: only its own exchange touches a request,
 * since a worker may have the request's connection. An exchange on a worker has a session for
 * itself. Threads: the loop's, or the worker's. Blocking: no.
 */
#include "exchange_private.h"
#include "h2_wire.h"
#include "hpack_decode.h"

/* of a stream, that the backend may fill before its client took some */
#define H2C_WINDOW (256 * 1024)
#define H2C_WINDOW_ALL (4 << 20)   /* of the connection: in one event */
#define H2C_HEAD_MOST (256 * 1024) /* bytes of a field block, packed and unpacked */
#define H2C_FIELDS_MOST 1000
#define H2C_CONTINUATIONS 256
/* frames in a row that carry nothing of an exchange: a flood beyond */
#define H2C_CONTROL_MOST 10000
#define H2C_STREAMS 100 /* at a time, until the backend says how many */
#define H2C_STREAMS_MOST 256
#define H2C_OUT (64 * 1024) /* bytes that wait for the socket, before more data is framed */
/* with heads, and with replies to the backend: a flood beyond */
#define H2C_OUT_MOST (512 * 1024)
/* a session that gave up on exchanges after it, and heard nothing, gets no more */
#define H2C_SILENT_US apr_time_from_sec(1)

typedef struct h2c_stream h2c_stream;

/* A decoded field block that its exchange has not taken. Strings lie behind the fields. */
typedef struct h2c_block {
    struct h2c_block *next;
    uint32_t n;
    http_field field[];
} h2c_block;

/* Of a connection, as long as that. */
typedef struct h2c_session {
    upstream_conn *cc;
    hpack_table table;
    h2c_stream *first, **last; /* the last sender of data is last */
    h2c_stream *found;         /* whose frame came last; NULL */
    unsigned streams_n, most;  /* SETTINGS_MAX_CONCURRENT_STREAMS of the backend */
    uint32_t next;             /* stream that is opened next */
    int64_t window;            /* bytes that may be sent on the connection */
    uint32_t initial;          /* SETTINGS_INITIAL_WINDOW_SIZE of the backend */
    uint32_t frame_most;       /* and its SETTINGS_MAX_FRAME_SIZE */
    uint64_t taken; /* bytes of DATA that were read and not given back by WINDOW_UPDATE */

    h2c_stream *data_of;         /* whose DATA arrives in pieces; NULL: nobody's */
    uint32_t data_left, padding; /* of that frame, and behind it */
    uint8_t data_ends;           /* and it ends the stream */
    h2_block block;
    unsigned control;

    uint8_t *out; /* out[out_from .. out_to) waits for the socket */
    apr_size_t out_from, out_to, out_cap;

    apr_time_t heard;    /* when something came */
    uint8_t leaving;     /* no more streams */
    const char *bad;     /* the backend's fault; NULL */
    apr_status_t broken; /* the connection ended */
} h2c_session;

/* Of an exchange, in its pool. */
struct h2c_stream {
    h2c_session *s; /* NULL: it has left */
    h2c_stream *next, **prev;
    proxy_exchange *x;
    uint32_t id;
    apr_time_t began;

    int64_t window;           /* bytes that may be sent on it */
    apr_bucket_brigade *body; /* waits for a window */
    uint8_t last;             /* the body ends with the waiting bytes */
    uint8_t ended;            /* END_STREAM was sent */

    h2c_block *blocks, **blocks_last; /* came, not taken */
    unsigned blocks_n;
    apr_bucket_brigade *data; /* came, not taken: data_n bytes */
    apr_size_t data_n;
    apr_size_t stored_n; /* came, and lie in x->in: data_store() */
    uint32_t owed;       /* bytes of DATA that came and are not given back */
    uint32_t given;      /* of these: the exchange has taken them */
    uint8_t headed;      /* a head that is not 1xx came */
    uint8_t over;        /* END_STREAM came */
    uint8_t untouched;   /* the backend has not looked at it */
    const char *bad;     /* why the answer is malformed */

    int64_t length; /* Content-Length of the answer; -1: it has none */
    int64_t came;   /* bytes of its body */
};

/** The answer is malformed. */
static inline apr_status_t h2c_bad(proxy_exchange *x, const char *why)
{
    x->answer.bad = why;
    return APR_EGENERAL;
}

/* ---- proxy_h2_session.c ---- */

/** Of a connection that is ready: its session, made if missing. @return NULL: no memory */
h2c_session *h2c_session_get(upstream_conn *cc);

/** 1: it takes another stream. */
int h2c_session_has_room(const h2c_session *s);

/** A stream for @a x. */
h2c_stream *h2c_stream_open(h2c_session *s, proxy_exchange *x);

/** @a x needs it no more: the stream is reset unless it is over on both sides. The connection becomes idle or closed with its last. */
void h2c_stream_leave(h2c_stream *st);

/** NULL: not there (any more). */
h2c_stream *h2c_stream_find(h2c_session *s, uint32_t id);

/** Its exchange has something to do. */
void h2c_stream_wake(h2c_stream *st);

/** Its bytes, or its end, make no answer. */
void h2c_stream_fault(h2c_stream *st, const char *why);

/** Those whose bodies wait for a window or for room. */
void h2c_session_wake_senders(const h2c_session *s);

/** The backend broke a rule, or the connection ended: all streams are over. */
void h2c_session_fault(h2c_session *s, const char *why);
static inline int h2c_is_right(h2c_session *s, h2_breach breach)
{
    if (breach.why)
        h2c_session_fault(s, breach.why);
    return !breach.why;
}
void h2c_session_broken(h2c_session *s, apr_status_t rv);

/** Read all that is there. */
void h2c_session_read(h2c_session *s);

/* ---- proxy_h2_frames.c ---- */

/** Take frames of s->cc's block. Stops at a fault. */
void h2c_demux(h2c_session *s);

/* ---- proxy_h2_control.c ---- */

/** A frame that is neither of a head nor DATA, whole. */
void h2c_control(h2c_session *s, const h2_frame *f, const uint8_t *p);

/* ---- proxy_h2_send.c ---- */

/** Send bytes behind the waiting ones. */
void h2c_out(h2c_session *s, const uint8_t *data, apr_size_t len);

/** A frame whose payload is a number of 32 bits. */
void h2c_put_number(h2c_session *s, h2_frame_type type, uint32_t stream, uint32_t value);

/** The preface, SETTINGS and the connection's window. */
void h2c_greet(h2c_session *s);

/** The request's head. @return bytes */
apr_size_t h2c_request(proxy_exchange *x, const h2c_stream *st);

/** Frame as much of the body as the windows and the room let. @return 1: something */
int h2c_flush(proxy_exchange *x, h2c_stream *st);

/** proxy_codec.body */
void h2c_body(proxy_exchange *x, apr_bucket_brigade *bb, int last);

/** Write waiting bytes. */
void h2c_write(h2c_session *s);

/* ---- proxy_h2_answer.c ---- */

/** Give x the received part of its answer. @return as proxy_codec.take */
apr_status_t h2c_take(proxy_exchange *x, h2c_stream *st);

#endif
