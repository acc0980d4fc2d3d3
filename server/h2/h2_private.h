/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_H2_PRIVATE_H
#define BRIGADE_H2_H2_PRIVATE_H

/**
 * @file h2_private.h
 * HTTP/2 connections in their parts:
 *
 *   h2_session.c  the driver of a connection: begin, turns, deadlines, end
 *   h2_input.c    what each frame does
 *   h2_request.c  field blocks to request heads; trailers
 *   h2_waiting.c  requests that wait for their turn
 *   h2_stream.c   streams: found, opened, ended
 *   h2_pipe.c     the transport of a stream that runs as a request: body in, response out (h2_pipe_output.c)
 *   h2_parts.c    the response that comes out: fields to blocks, and the end
 *   h2_answer.c   data of it; and what programs write as HTTP/1 text
 *   h2_priority.c what clients and content types say about that
 *   h2_output.c   which stream sends next, and frames in as few writes as possible
 *   h2_file.c     bodies of stored responses that are in files
 *   h2_limits.c   floods
 *   h2_score.c    what the status page tells of a connection
 *   h2_codec.c    heads of stored responses
 *   h2_conf.c     directives
 *   h2_upgrade.c  connections of HTTP/1.1 that become such ones
 *   mod_http2.c   hooks, variables, early hints
 *
 * A session belongs to its connection's loop. Of a stream that a worker runs, what is under the session's lock is
 * shared with that worker, and nothing else.
 *
 * Life of a stream:
 *
 *   state       what moves it on                              holds
 *   ----------  --------------------------------------------  ------------------------------------------
 *   open        HEADERS                                       -
 *   stored      memory answers, and the windows do not take   the entry's body; while a worker asks the disk for
 *               all of it at once, or it is in a file         it a brg_conn
 *   waiting     memory does not answer                        brg_conn, the head (h2_asked)
 *   running     the driver of HTTP/1 has h2_stream.bc         brg_conn, conn_rec, request_rec
 *   sending     the request is over (bc is NULL)              queued output
 *   ended       END_STREAM or RST_STREAM was sent, and bc is  freed
 *               NULL
 */
#include "conn.h"
#include "h1_chunked.h"
#include "h2_frame.h"
#include "hpack_decode.h"
#include "http_head.h"
#include "loop.h"
#include "response_cache.h"
#include "shared_ref.h"
#include "transport.h"
#include "httpd.h"
#include "http_config.h"
#include <pthread.h>

#define H2_SESSION_TAG 0x48325345u
#define H2_STREAM_TAG 0x48325354u
#define H2_UPGRADE_TAG 0x48325550u
#define H2_BUCKETS 32
#define H2_URGENCIES 8
#define H2_URGENCY_DEFAULT 3
#define H2_LARGE 65536 /**< bytes of a body from which on a stream gives way after each frame */
#define H2_CHUNK    \
    (H2_FRAME_MAX - \
     H2_FRAME_HEAD)          /**< output of a running request is kept in such pieces: a frame */
#define H2_CTL_MOST 16384    /**< bytes of frames that answer frames and wait for the client */
#define H2_BUDGET 100        /**< streams that may come to nothing without one that is completed */
#define H2_TURN_BYTES 262144 /**< sent on a connection in one turn */
#define H2_LONGS_MOST 8      /**< streams of a connection that take long, with workers at once */
#define H2_CONN_OUTPUT \
    (1 << 20) /**< of responses that wait for the client; beyond it a stream keeps one chunk */
#define H2_CONN_WINDOW (1 << 20) /**< of request bodies of a connection that nobody has read */

typedef struct h2_session h2_session;
typedef struct h2_stream h2_stream;
typedef struct h2_upgrade h2_upgrade;
typedef struct h2_asked h2_asked;

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

/** With defaults for what is not set. */
void h2_conf_of(const server_rec *s, h2_server_conf *out);

/** A piece of output. */
typedef struct h2_chunk {
    shared_ref ref; /**< one for the queue, one for each write */
    struct h2_chunk *next;
    uint32_t off, len, cap; /**< off: sent; len: filled */
    uint8_t *data;          /**< own, or in given */
    void *given;            /**< malloc(), freed with it; NULL: own */
    uint8_t own[];
} h2_chunk;

/** A field block that is to be sent. */
typedef struct h2_block {
    shared_ref ref;
    struct h2_block *next;
    uint32_t len;
    int last; /**< no data follows: END_STREAM */
    /* Of a part (h2_parts.c): */
    uint16_t status;   /**< 0: trailers */
    uint8_t is_tunnel; /**< it was a 101, and bytes follow */
    uint8_t urgency;
    uint64_t length; /**< of the body; UINT64_MAX: unknown */
    uint8_t data[];
} h2_block;

/** The response of what runs in a stream (h2_parts.c, h2_answer.c). Under the session's lock. */
typedef struct h2_answer {
    char *head; /**< a head that is not complete; malloc() */
    size_t head_len, head_cap;
    enum {
        H2_ANSWER_HEAD,
        H2_ANSWER_PARTS,
        H2_ANSWER_LENGTH,
        H2_ANSWER_CHUNKED,
        H2_ANSWER_TO_END,
        H2_ANSWER_OVER
    } state;
    uint64_t left; /**< of the length that the head told; UINT64_MAX: it told none */
    h1_chunked chunked;
    int bad; /**< it cannot be completed */
} h2_answer;

/** Between a stream and the request that it runs. All under the session's lock. */
typedef struct h2_pipe {
    pthread_cond_t changed; /**< for a worker that waits */
    /* The body of the request: */
    char *in;
    uint32_t in_off, in_len, in_cap;
    uint32_t owed;           /**< bytes that were read, and not yet told the client */
    int in_over;             /**< END_STREAM came */
    http_field *trailers_in; /**< with it; malloc(), their text in the same block */
    int trailers_in_n;
    /* The response: */
    h2_answer answer;
    h2_block *blocks, **blocks_tail; /**< to be sent before data */
    h2_block *trailers;
    h2_chunk *out, *out_last;
    size_t out_bytes;
    int out_most;
    int over;                /**< the response is complete */
    int reset;               /**< nobody wants it */
    uint8_t ranked, urgency; /**< the head told what it is worth */
    uint64_t length;         /**< of the body, with ranked */
    int dirty;               /**< on session->dirty */
    h2_stream *dirty_next;
} h2_pipe;

/** Streams in the order in which they came. */
typedef struct h2_list {
    h2_stream *first, **tail;
} h2_list;

struct h2_stream {
    uint32_t tag, id;
    h2_session *session;
    h2_stream *next; /**< in the bucket */
    h2_stream *ready_next,
        **ready_prev;       /**< of its urgency, in h2_session.waiting or ready; prev NULL:
                                            it has nothing to send */
    int64_t window;         /**< that the client gave */
    int32_t recv_window;    /**< that we gave */
    uint64_t expects, came; /**< Content-Length of the request, and data so far */
    uint8_t urgency, incremental;
    uint8_t asked;   /**< by the client: its response does not change it */
    uint8_t is_head; /**< the method is HEAD */
    uint8_t has_length;
    uint8_t is_tunnel; /**< the extended CONNECT: bytes go both ways behind a 101 of what runs */
    uint8_t remote_closed, local_closed;
    uint8_t answered; /**< the final HEADERS were sent */
    uint8_t failed;   /**< RST_STREAM is due instead of the rest */
    /* stored: */
    shared_ref *owner;
    cache_piece now;         /**< what is sent next */
    const cache_piece *more; /**< what follows it; the owner's */
    unsigned more_n;
    size_t left;    /**< of the body */
    h2_chunk *file; /**< read of a piece that is in a file, from now.off on */
    /* waiting: */
    h2_asked *asked_head; /**< NULL: it does not wait */
    /* waiting, running and sending: */
    brg_conn *bc;
    h2_pipe *pipe;
};

struct h2_session {
    uint32_t tag;
    brg_conn *bc;
    h2_server_conf conf;
    hpack_table decoder;
    h2_upgrade *upgrade; /**< stream 1 runs when the preface came; of the conn_rec's pool */
    uint32_t peer_window;
    int frame_most;      /**< bytes of data in a frame that is sent */
    int64_t window;      /**< of the connection, that the client gave */
    int32_t recv_window; /**< that we gave */
    uint32_t owed;
    uint64_t padding;      /**< state of what decides how much; see h2_conf.padding */
    uint32_t last_id;      /**< highest stream that the client opened */
    uint32_t block_stream; /**< CONTINUATION is due for it; 0: none */
    uint8_t block_flags;
    uint8_t preface, settings_came, goaway_sent, goaway_came;
    uint8_t ending;  /**< nothing more is read; closed when ctl is written */
    uint8_t running; /**< within h2_run() */
    uint8_t more;    /**< there is more to read, run or send than a turn's share */
    char *block;     /**< the beginning of a field block; malloc() */
    uint32_t block_len, block_cap, block_frames;
    h2_stream *bucket[H2_BUCKETS];
    unsigned streams_n; /**< all, those included that ended for the client and run still */
    unsigned open_n;    /**< those that the client counts as open */
    unsigned running_n; /**< with a brg_conn */
    unsigned waiting_n; /**< of these: waiting for their turn */
    unsigned answered;  /**< requests in this turn */
    h2_list ready[H2_URGENCIES], waiting[H2_URGENCIES];
    uint8_t *ctl; /**< frames that do not belong to streams' output; malloc() */
    uint32_t ctl_len, ctl_cap;
    pthread_mutex_t lock;
    uint8_t unranked; /**< heads came whose pipes are ranked; under the lock */
    h2_stream *dirty; /**< workers changed them; under the lock */
    size_t out_bytes; /**< in the pipes of all streams; under the lock */
    struct loop_note note;
    apr_time_t frame_began; /**< when what is incomplete began to come */
    apr_time_t
        leaving; /**< when the client was told that the connection is to end; 0: it was not */
    apr_time_t progress; /**< when bytes last left, or nothing had to */
    int credit;          /**< see h2_limits.c */
    int cheap;           /**< frames in this second that nothing came of */
    apr_time_t cheap_second;
    int empty;              /**< DATA without data in a row */
    uint8_t tiny;           /**< DATA frames with little in them, modulo its size */
    int faults;             /**< that are still forgiven */
    uint32_t reset_ids[16]; /**< streams that we reset: late frames for them are no errors */
    unsigned reset_at;
    unsigned long requests;
    struct http2_score *score; /**< on the status page; NULL: it is not told by itself */
};

extern const struct conn_driver h2_driver;
extern const struct conn_transport h2_pipe_transport;
extern const struct http_codec h2_codec;

/* ---- h2_session.c; the loop ---- */

/** The connection cannot go on: GOAWAY, and the end when it is written. @param why  for the log; constant */
__attribute__((cold)) void h2_fail(h2_session *h, h2_error code, const char *why);

/** Append GOAWAY: no stream after the last that came is taken, but those that open are finished. */
void h2_goaway(h2_session *h, h2_error code);

/** Have h2_run() called for the connection, if that is not what happens. */
void h2_wants(h2_session *h);

/* ---- h2_score.c; the loop ---- */

/** Tell of the connection on the status page, if a place is free and ExtendedStatus is On. */
void h2_score_begin(h2_session *h);
/** What changed in a turn. */
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
/** What h2_upgrade_begin() left, taken out of bc->above; NULL: nothing. It lives as long as bc->c. Threads: the loop. */
h2_upgrade *h2_upgrade_of(brg_conn *bc);
/** The settings that came with it hold from here on. Threads: the loop. */
void h2_upgrade_settings(h2_session *h);
/** The preface came: run stream 1. Some clients have no room for a response behind 101. Threads: the loop. */
void h2_upgrade_run(h2_session *h);

/* ---- h2_request.c; the loop ---- */

/** A field block that opens a stream, or ends one with trailers. @param flags  of its HEADERS */
void h2_take_block(h2_session *h, uint32_t id, unsigned flags, const uint8_t *block, size_t len);

/** 1: memory answers the request, into h2_output_room(). */
int h2_memory_answers(h2_session *h, const http_head *head, cache_reply *reply);

/* ---- h2_waiting.c; the loop ---- */

/** s waits to run a request, of which @a head is copied. @return 0; -1: no memory */
int h2_wait(h2_stream *s, const http_head *head);
/** It waits no longer, if it did. */
void h2_wait_end(h2_stream *s);
/** Run those that wait, up to the share of a turn. */
void h2_run_waiting(h2_session *h);

/** 1: others have their turn now. */
static inline int h2_turn_is_over(const h2_session *h)
{
    return h->answered && loop_turn_is_over(h->bc->loop, h->answered);
}

/* ---- h2_priority.c; the loop, but for the last ---- */

/** Read a priority field. Source: RFC 9218, 4 */
void h2_priority_parse(const char *value, size_t len, uint8_t *urgency, uint8_t *incremental);
/** Set the priority of a stream by a field value; what it leaves out gets its default. Source: RFC 9218, 7 */
void h2_set_priority(h2_stream *s, const char *value, size_t len);
/** The same by its response, if the client said nothing. @param len  of its body; UINT64_MAX: unknown */
void h2_rank(h2_stream *s, uint8_t urgency, uint64_t len);
/** What a content type is worth. Threads: any */
uint8_t h2_urgency_of_type(const char *type, size_t len);

/* ---- h2_stream.c; the loop ---- */

h2_stream *h2_stream_find(const h2_session *h, uint32_t id);
/** NULL: no memory. */
h2_stream *h2_stream_open(h2_session *h, uint32_t id);
/** The first of those whose urgency is the highest; NULL: there is none. */
static inline h2_stream *h2_first(const h2_list *lists)
{
    for (int u = 0; u < H2_URGENCIES; u++)
        if (lists[u].first)
            return lists[u].first;
    return NULL;
}

/** It has something to send, or, while it waits, is to be run. */
void h2_stream_ready(h2_stream *s);
void h2_stream_unready(h2_stream *s);
/** RST_STREAM, and the end of what runs in it. s may be gone afterwards. */
void h2_stream_reset(h2_stream *s, h2_error code);
/** RST_STREAM for a stream that there is not. */
void h2_reset_id(h2_session *h, uint32_t id, h2_error code);
/** 1 if it was reset by us not long ago. */
int h2_was_reset(const h2_session *h, uint32_t id);
/** The client reset it, or the connection ends. s may be gone afterwards. */
void h2_stream_cancel(h2_stream *s);
/** END_STREAM was sent. s may be gone afterwards. */
void h2_stream_sent(h2_stream *s);
/** Free it if nothing needs it any more. */
void h2_stream_release(h2_stream *s);

/* ---- h2_pipe.c ---- */

/** Give the stream what runs in it: a brg_conn and a pipe. @return 0; -1: no memory */
int h2_pipe_begin(h2_stream *s);
/** Body data came. @return 0; -1: no memory. Threads: the loop */
int h2_pipe_body(h2_stream *s, const uint8_t *data, size_t len);
/** It is over. @param trailers  @a n of them, in one block of malloc() with their text, which is taken over. Threads: the loop */
void h2_pipe_body_over(h2_stream *s, http_field *trailers, int n);
/** What runs is of no use: tell it. Threads: the loop */
void h2_pipe_cancel(h2_stream *s);
/** Its response is complete: the rest of the body is not waited for. Threads: the loop */
void h2_pipe_abandon(h2_stream *s);
/** There is room for output again, or body: let what waits go on. Threads: the loop */
void h2_pipe_go_on(h2_stream *s);
void h2_pipe_free(h2_stream *s);
/** 1: it takes more of the response. With the lock held */
static inline int h2_pipe_has_room(const h2_stream *s)
{
    size_t most = (size_t)s->pipe->out_most;

    if (s->session->out_bytes >= H2_CONN_OUTPUT && most > H2_CHUNK)
        most = H2_CHUNK;
    return s->pipe->out_bytes < most;
}
/** loop_note.run: workers changed streams. */
void h2_pipe_note(struct loop_note *note);

/* ---- h2_input.c, h2_blocks.c; the loop ---- */

/** What of a frame is not padding. @return 0; -1: it says that it has more padding than bytes */
int h2_input_unpad(const h2_frame *f, const uint8_t **payload, uint32_t *len);
/** Take a frame of that type. */
void h2_input_headers(h2_session *h, const h2_frame *f, const uint8_t *payload);
void h2_input_continuation(h2_session *h, const h2_frame *f, const uint8_t *payload);

/* ---- h2_head.c; any thread ---- */

/** Pseudo fields, and what is found on the way. */
typedef struct h2_request_parts {
    const hpack_field *method, *scheme, *authority, *path;
    const hpack_field *protocol; /* of the extended CONNECT: RFC 8441, 4 */
    const hpack_field *priority;
    const char *why; /* it is malformed */
    size_t cookies;  /* bytes of all Cookie lines */
    int cookies_n, lengths_n;
    int host; /* index in the list, -1 */
} h2_request_parts;

/** What the field lines of a request are; parts->why is set if it is malformed. @param tunnels  the extended CONNECT is offered */
void h2_parts_of(h2_request_parts *p, const hpack_list *list, int tunnels);
/** Why a field must not be sent; NULL: it may. */
const char *h2_field_why(const hpack_field *f);
/** An empty head of this protocol. */
void h2_head_begin(http_head *head);
/** Fill @a head from the list. @param to  where Cookie lines are joined */
void h2_head_fill(http_head *head, const h2_request_parts *p, const hpack_list *list, char *to);
/** Give the names of fields that lie in @a text the capitals that they have in HTTP/1. */
void h2_head_spell(http_head *head, char *text, size_t size);
/** Set head->status where the request is to be refused. */
void h2_head_judge(http_head *head, const hpack_list *list, const server_rec *s);
/** Append a field. */
void h2_head_add(http_head *head, const char *name, size_t name_len, const char *value,
                 size_t value_len);

/* ---- h2_parts.c ---- */

/** conn_transport.encode. Threads: any */
shared_ref *h2_parts_encode(brg_conn *bc, const stream_fields *fields);
/** conn_transport.put, under the session's lock. */
ssize_t h2_parts_put(h2_stream *s, shared_ref *part);
/** An empty piece of output. NULL: no memory. Threads: any */
h2_chunk *h2_chunk_new(size_t cap);
/** A full one, in memory that it takes over. NULL: no memory, and @a base is the caller's. Threads: any */
h2_chunk *h2_chunk_of(void *base, const char *data, size_t len);
/** Room for bytes of a file; 0: none. *@a own: they are many enough for a chunk of their own, which h2_answer_add() queues. */
size_t h2_answer_room(const h2_stream *s, size_t len, int *own);
/** Queue a chunk, which is taken over. @return bytes taken: less where the response is shorter */
size_t h2_answer_add(h2_stream *s, h2_chunk *c);

/* ---- h2_answer.c; under the session's lock ---- */

/** Take data between parts, or HTTP/1 text where no part came. @return bytes taken, all or up to where the queue is full */
size_t h2_answer_take(h2_stream *s, const char *data, size_t len);
/** No more text comes. */
void h2_answer_end(h2_stream *s);
void h2_answer_free(h2_answer *a);

/* ---- h2_output.c; the loop ---- */

/** Append a frame that answers a frame. */
void h2_ctl(h2_session *h, h2_frame_type type, unsigned flags, uint32_t stream, const void *payload,
            size_t len);
/** Tell the client of bytes that were taken. */
void h2_credit(h2_session *h, uint32_t stream, uint32_t bytes);
/** Send what may be sent. */
void h2_output(h2_session *h);
/** Answer from memory, with window and priority of @a as: the head is at h2_output_room(). Takes over the reply's
 * owner. @return 0; -1: no memory, nothing of the body is sent */
int h2_output_stored(h2_session *h, uint32_t id, const cache_reply *reply, const h2_stream *as);
/** Where the head of a stored response is to be put. */
char *h2_output_room(h2_session *h);

/* ---- h2_file.c; the loop ---- */

/**
 * The next bytes of the file of s->now. Never waits for a disk: a worker asks it, and s is ready again when they are here.
 * @param len [in] as many as may be sent [out] as many as are here, at least 1
 * @return NULL: none now; s->failed: they will not come
 */
const char *h2_file_read(h2_stream *s, size_t *len);
/** So many of them are sent. */
void h2_file_sent(h2_stream *s, size_t len);
/** 1: a worker asks the disk. */
static inline int h2_file_waits(const h2_stream *s)
{
    return s->bc && !s->pipe;
}
/** The stream is over: what it has of this. A worker that asks the disk ends that by itself. */
void h2_file_end(h2_stream *s);

/* ---- h2_limits.c; the loop ---- */

/** A frame that costs the client little and brings nothing. 1: the connection was ended */
int h2_limit_cheap(h2_session *h, const char *what);
/** A stream came to nothing through a fault of the client. 1: the connection was ended */
__attribute__((cold)) int h2_limit_fault(h2_session *h, const char *what);
/** A stream came to nothing: reset by the client, or refused. 1: the connection was ended */
int h2_limit_waste(h2_session *h, const char *what);
/** A response was completed. */
void h2_limit_earn(h2_session *h);
/** 1 if further streams are to be refused. */
int h2_limit_streams(const h2_session *h);

#endif
