/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STREAMS_STREAMS_H
#define BRIGADE_STREAMS_STREAMS_H

/**
 * @file streams.h
 * Requests that share a connection, whatever frames carry them: HTTP/2 (../h2) and HTTP/3 (../h3).
 *
 *   stream_table.c     streams: found, opened, in lists by urgency, ended
 *   stream_head.c      field lines to request heads
 *   stream_request.c   requests, trailers and bodies, as they come
 *   stream_waiting.c   requests that wait for their turn
 *   stream_pipe.c      the transport of a stream that runs as a request: body in, response out (stream_pipe_output.c)
 *   stream_parts.c     the response that comes out: fields to blocks, and the end
 *   stream_answer.c    data of it; and what programs write as HTTP/1 text
 *   stream_output.c    the next piece that a stream sends
 *   stream_limits.c    floods
 *   stream_codec.c     heads of stored responses
 *   stream_priority.c  what clients and content types say about their order
 *   stream_file.c      bodies of stored responses that are in files
 *
 * The room knows no frame. A protocol (stream_protocol) reads frames, opens streams, gives them bodies, takes what they have to
 * send, and keeps its windows.
 *
 * All streams of a connection belong to its loop. Of a stream that a worker runs, what is under http_streams.lock is shared
 * with that worker, and nothing else.
 *
 * Life of a stream:
 *
 *   state       moved on by                                   holds
 *   ----------  --------------------------------------------  ------------------------------------------
 *   open        stream_open()                                 -
 *   stored      memory answers, and the windows do not take   the entry's body; while a worker asks the disk for
 *               all of it at once, or it is in a file         it a brg_conn
 *   waiting     memory does not answer                        brg_conn, the head (stream_asked)
 *   ahead       its backend was asked by a plan               brg_conn, the head
 *   running     the driver of HTTP/1 has http_stream.bc       brg_conn, conn_rec, request_rec
 *   sending     the request is over (bc is NULL)              queued output
 *   ended       local_closed, and bc is NULL                  freed
 */
#include "conn.h"
#include "h1_chunked.h"
#include "http_answer.h"
#include "http_field_block.h"
#include "loop.h"
#include "response_cache.h"
#include "shared_ref.h"
#include "transport.h"
#include "httpd.h"
#include <pthread.h>

#define STREAM_TAG 0x53545245u
#define STREAM_BUCKETS 16
#define STREAM_URGENCIES 8
#define STREAM_URGENCY_DEFAULT 3
#define STREAM_LARGE 65536 /**< bytes of a body from which on a stream gives way after each frame */
#define STREAM_CHUNK 16375 /**< output of a running request is kept in such pieces: a frame */
#define STREAM_LONGS_MOST 8 /**< streams of a connection that take long, with workers at once */
/** of responses that wait for the client; beyond it a stream keeps one chunk */
#define STREAM_OUTPUT_MOST (1 << 20)
/** bytes that a line of a block takes at most */
#define STREAM_LINE_ROOM(name_len, value_len) ((size_t)(name_len) + (size_t)(value_len) + 16)

typedef struct http_streams http_streams;
typedef struct http_stream http_stream;
typedef struct stream_asked stream_asked;
typedef struct stream_block stream_block;

/** A protocol's functions for its streams. Threads: the loop, but for put_status and put_line: any.
 */
typedef struct stream_protocol {
    const char *name; /**< of r->protocol */
    uint16_t name_len;
    uint8_t major;
    /** ":status", and a line whose name is in lower case, with no state of the connection. @return behind it, at most
     * STREAM_LINE_ROOM() on */
    uint8_t *(*put_status)(uint8_t *out, int status);
    uint8_t *(*put_line)(uint8_t *out, const char *name, size_t name_len, const char *value,
                         size_t value_len);
    /** The same, with the value as it is at its end, so that it can be written over. */
    uint8_t *(*put_plain)(uint8_t *out, const char *name, size_t name_len, const char *value,
                          size_t value_len);
    /** Bytes that the client takes of a stream now. */
    int64_t (*window)(const http_stream *s);
    /** Send data of @a owner, as many as window() allows; NULL with 0 bytes. @param last  the response ends with it */
    void (*put_data)(http_stream *s, const char *data, size_t len, shared_ref *owner, int last);
    /** Send a field block; with b->last the response ends with it. */
    void (*put_block)(http_stream *s, stream_block *b);
    /** All was sent. s may be gone afterwards. */
    void (*sent)(http_stream *s);
    /** Have the connection run, unless that is under way. */
    void (*wants)(http_streams *all);
    /** So many bytes of bodies were taken, or are of no use. @param s  the stream may have more, too; NULL: the connection alone */
    void (*credit)(http_streams *all, http_stream *s, uint32_t bytes);
    /** Answer a stream that waits from memory, which ends it. @return 0: memory does not answer; *@a planned as of cache_reply_to() */
    int (*answer_stored)(http_stream *s, const http_head *head, cache_entry **planned);
    /** End a stream that cannot go on through no fault of the client's. */
    void (*fail)(http_stream *s);
    /** The file of a stored response cannot be sent. @param error  errno; 0: it became shorter */
    void (*file_failed)(const http_stream *s, int error);
} stream_protocol;

/** The server's settings. */
typedef struct stream_terms {
    int max_streams;             /**< that run at once */
    int max_memory;              /**< bytes of a response that wait for the client */
    int max_block;               /**< bytes of a field block that is sent */
    int max_errors;              /**< streams that may be malformed without a completed one */
    int frame_most;              /**< bytes of data in a frame that is sent */
    int window;                  /**< bytes of a request's body that nobody has read */
    int early_hints;             /**< 103 is sent */
    int buffering;               /**< small pieces of a response gather */
    apr_interval_time_t timeout; /**< of a stream's reads and writes */
} stream_terms;

/** A piece of output. */
typedef struct stream_chunk {
    shared_ref ref; /**< one for the queue, one for each write */
    struct stream_chunk *next;
    uint32_t off, len, cap; /**< off: sent; len: filled */
    uint8_t *data;          /**< own, or in given */
    void *given;            /**< freed with it, by given_end; NULL: own */
    void (*given_end)(void *);
    uint8_t own[];
} stream_chunk;

/** A field block that is to be sent. */
struct stream_block {
    shared_ref ref;
    struct stream_block *next;
    uint32_t len;
    int last; /**< no data follows */
    /* Of a part (stream_parts.c): */
    uint16_t status;   /**< 0: trailers */
    uint8_t is_tunnel; /**< it was a 101, and bytes follow */
    uint8_t is_wanted; /**< as stream_fields has it */
    uint8_t urgency;
    uint64_t length; /**< of the body; UINT64_MAX: unknown */
    uint8_t data[];
};

/** The response of a stream's request (stream_parts.c, stream_answer.c). Under the lock. */
typedef struct stream_answer {
    char *head; /**< a head that is not complete; malloc() */
    size_t head_len, head_cap, scanned;
    enum {
        STREAM_ANSWER_HEAD,
        STREAM_ANSWER_PARTS,
        STREAM_ANSWER_LENGTH,
        STREAM_ANSWER_CHUNKED,
        STREAM_ANSWER_TO_END,
        STREAM_ANSWER_OVER
    } state;
    uint64_t left; /**< of the length that the head told; UINT64_MAX: it told none */
    h1_chunked chunked;
    int bad; /**< it cannot be completed */
} stream_answer;

/** Between a stream and the request that it runs. All under the lock. */
typedef struct stream_pipe {
    pthread_cond_t changed; /**< for a worker that waits; as long as the object */
    /* The body of the request: */
    char *in;
    uint32_t in_off, in_len, in_cap;
    uint32_t owed;           /**< bytes that were read, and not yet told the client */
    int in_over;             /**< its end came */
    http_field *trailers_in; /**< with it; malloc(), their text in the same block */
    int trailers_in_n;
    /* The response: */
    stream_answer answer;
    stream_block *blocks, **blocks_tail; /**< to be sent before data */
    stream_block *trailers;
    stream_chunk *out, *out_last;
    size_t out_bytes;
    size_t reserved; /**< all of its answer has room, which has so many bytes; 0: none has */
    int out_most;
    int over;                /**< the response is complete */
    int reset;               /**< nobody wants it */
    uint8_t ranked, urgency; /**< the head told its urgency, and the loop has not heard of it */
    uint64_t length;         /**< of the body, with ranked */
    int dirty;               /**< on http_streams.dirty */
    http_stream *dirty_next;
} stream_pipe;

/** A stream, and the room of its pipe: stream_open() makes both at once, and keeps them for another one. */
typedef struct stream_object stream_object;

/** Streams in the order in which they came. */
typedef struct stream_list {
    http_stream *first, **tail;
} stream_list;

struct http_stream {
    uint32_t tag, id;
    http_streams *session;
    http_stream *next; /**< in the bucket */
    /** of its urgency, in http_streams.waiting or ready; prev NULL: it has nothing to send */
    http_stream *ready_next, **ready_prev;
    union {
        int64_t window; /**< that the client gave; HTTP/2's */
        void *carrier;  /**< HTTP/3's */
    };
    int32_t recv_window;    /**< that we gave; the protocol's */
    uint64_t expects, came; /**< Content-Length of the request, and data so far */
    uint8_t urgency, incremental;
    uint8_t asked;   /**< by the client: its response does not change it */
    uint8_t is_head; /**< the method is HEAD */
    uint8_t has_length;
    uint8_t is_tunnel; /**< the extended CONNECT: bytes go both ways behind a 101 of the request */
    uint8_t remote_closed, local_closed;
    uint8_t answered; /**< the final head was sent */
    uint8_t failed;   /**< a reset is due instead of the rest */
    /* stored: */
    shared_ref *owner;
    cache_piece now;         /**< the next piece to send */
    const cache_piece *more; /**< the pieces behind it; the owner's */
    unsigned more_n;
    size_t left;        /**< of the body */
    stream_chunk *file; /**< read of a piece that is in a file, from now.off on */
    /* waiting: */
    stream_asked *asked_head; /**< NULL: it does not wait */
    /** its request was sent on ahead (h1/h1_ahead.h), and this is its head; NULL */
    stream_asked *ahead;
    /* waiting, running and sending: */
    brg_conn *bc;
    stream_pipe *pipe;
};

/** The streams of a connection: the first member of its protocol's session. */
struct http_streams {
    brg_conn *bc;
    const stream_protocol *protocol;
    stream_terms terms;
    unsigned *counted; /**< streams of the protocol on this loop */
    http_stream *bucket[STREAM_BUCKETS];
    stream_object *spare; /**< of streams that ended: at most one more than there are streams */
    unsigned spare_n;
    unsigned n;         /**< all, those included that ended for the client and run still */
    unsigned open_n;    /**< streams that the client counts as open */
    unsigned running_n; /**< with a brg_conn */
    unsigned waiting_n; /**< of these: waiting for their turn */
    unsigned answered;  /**< requests in this turn */
    stream_list ready[STREAM_URGENCIES], waiting[STREAM_URGENCIES];
    uint8_t ending; /**< nothing more is read or run */
    uint8_t more;   /**< there is more to read, run or send than a turn's share */
    pthread_mutex_t lock;
    http_stream *dirty; /**< workers changed them; under the lock */
    size_t out_bytes;   /**< in the pipes of all streams; under the lock */
    size_t reserved;    /**< for streams whose answers have room; the loop's */
    struct loop_note note;
    apr_time_t progress; /**< when bytes last left, or nothing had to */
    struct {
        int credit, faults, cheap;
        apr_time_t cheap_second;
    } limits; /**< stream_limits.c */
};

extern const struct conn_transport stream_pipe_transport;

/* ---- stream_table.c; the loop ---- */

/** Begin with none. bc, protocol, terms and counted are set. */
void streams_begin(http_streams *all);
/** There are none, and no worker has one. */
void streams_end(http_streams *all);
/** All of them end. @return how many a worker runs still */
unsigned streams_cancel(http_streams *all);
/** Each may have something to send. */
void streams_ready(http_streams *all);

http_stream *stream_find(const http_streams *all, uint32_t id);
/** NULL: no memory. */
http_stream *stream_open(http_streams *all, uint32_t id);
/** The first stream of the highest urgency; NULL: no streams. */
static inline http_stream *stream_first(const stream_list *lists)
{
    for (int u = 0; u < STREAM_URGENCIES; u++)
        if (lists[u].first)
            return lists[u].first;
    return NULL;
}
/** It has something to send, or, while it waits, is to be run. */
void stream_ready(http_stream *s);
void stream_unready(http_stream *s);
/** The client counts it no more. */
void stream_closed(http_stream *s);
/** The client reset it, or the connection ends: so does its request. s may be gone afterwards. */
void stream_cancel(http_stream *s);
/** Free it if nothing needs it any more. */
void stream_release(http_stream *s);

/* ---- stream_waiting.c; the loop ---- */

/** s waits to run a request, of which @a head is copied. @param planned  its plan's entry, or NULL. @return 0; -1: no memory */
int stream_wait(http_stream *s, const http_head *head, cache_entry *planned);
/** It waits no longer, if it did. */
void stream_wait_end(http_stream *s);
/** The request in s ends: the head of a request that was sent ahead. */
void stream_ahead_end(http_stream *s);
/** Run waiting streams, up to the share of a turn. */
void stream_run_waiting(http_streams *all);

/** 1: others have their turn now. */
static inline int stream_turn_is_over(const http_streams *all)
{
    return all->answered && loop_turn_is_over(all->bc->loop, all->answered);
}

/* ---- stream_priority.c; the loop, but for the last ---- */

/** Read a priority field. Source: RFC 9218, 4 */
void stream_priority_parse(const char *value, size_t len, uint8_t *urgency, uint8_t *incremental);
/** Set the priority of a stream by a field value; missing parameters get their defaults. Source:
 * RFC 9218, 7 */
void stream_set_priority(http_stream *s, const char *value, size_t len);
/** The same by its response, if the client said nothing. @param len  of its body; UINT64_MAX: unknown */
void stream_rank(http_stream *s, uint8_t urgency, uint64_t len);
/** The head of its response says so (stream_pipe.ranked). With the lock held. Threads: any; the loop does it, at once or later */
void stream_rank_told(http_stream *s);
/** The urgency of a content type. Threads: any */
uint8_t stream_urgency_of_type(const char *type, size_t len);

/* ---- stream_pipe.c ---- */

/** The room for the pipe of @a s; all of it but the condition is zero. Threads: the loop */
stream_pipe *stream_pipe_room(http_stream *s);
/** Give the stream a brg_conn and a pipe for its request. @return 0; -1: no memory */
int stream_pipe_begin(http_stream *s);
/** Body data came. @return 0; -1: no memory. Threads: the loop */
int stream_pipe_body(http_stream *s, const uint8_t *data, size_t len);
/** It is over. @param trailers  @a n of them, in one block of malloc() with their text, which is taken over. Threads: the loop */
void stream_pipe_body_over(http_stream *s, http_field *trailers, int n);
/** The stream's request is of no use: tell it. Threads: the loop */
void stream_pipe_cancel(http_stream *s);
/** Its response is complete: the rest of the body is not waited for. Threads: the loop */
void stream_pipe_abandon(http_stream *s);
/** There is room for output again, or body: wake the waiting request. Threads: the loop */
void stream_pipe_go_on(http_stream *s);
void stream_pipe_free(http_stream *s);
/** 1: it takes more of the response. With the lock held */
static inline int stream_pipe_has_room(const http_stream *s)
{
    size_t most = (size_t)s->pipe->out_most;

    if (s->session->out_bytes >= STREAM_OUTPUT_MOST && most > STREAM_CHUNK)
        most = STREAM_CHUNK;
    return s->pipe->out_bytes < most || s->pipe->reserved;
}

/* ---- stream_head.c; any thread ---- */

/** Pseudo fields, and facts that reading them yields. */
typedef struct stream_request {
    const http_field *method, *scheme, *authority, *path;
    const http_field *protocol; /* of the extended CONNECT: RFC 8441, 4 */
    const http_field *priority;
    const char *why; /* it is malformed */
    size_t cookies;  /* bytes of all Cookie lines */
    int cookies_n, lengths_n;
    int host; /* index in the list, -1 */
} stream_request;

/** Sort the field lines of a request; p->why is set if it is malformed. @param tunnels  the
 * extended CONNECT is offered */
void stream_parts_of(stream_request *p, const http_field_block *list, int tunnels);
/** Why a field must not be sent; NULL: it may. */
const char *stream_field_why(const http_field *f);
/** An empty head of this protocol. */
void stream_head_begin(http_head *head, const stream_protocol *protocol);
/** Fill @a head from the list. @param to  where Cookie lines are joined */
void stream_head_fill(http_head *head, const stream_request *p, const http_field_block *list,
                      char *to);
/** Give the names of fields that lie in @a text the capitals that they have in HTTP/1. */
void stream_head_spell(http_head *head, char *text, size_t size);
/** Set head->status where the request is to be refused. */
void stream_head_judge(http_head *head, const http_field_block *list, const server_rec *s);
/** Append a field. */
void stream_head_add(http_head *head, const char *name, size_t name_len, const char *value,
                     size_t value_len);

/* ---- stream_request.c; the loop ---- */

/** Memory of a thread within a call. */
typedef struct stream_scratch {
    http_head head;
    http_field field[HTTP_HEAD_OWN_FIELDS];
    size_t room;
    char text[]; /**< strings of a block, then those made of them */
} stream_scratch;

/** The loop's: one for all its connections. @param list  ready to decode a block into */
stream_scratch *stream_scratch_of(const http_streams *all, http_field_block *list);
/**
 * Make t->head of the request of stream @a id.
 * @param fin  there is no body
 * @param as   [out] properties for the stream
 * @return why it is malformed; NULL: it is not
 */
const char *stream_request_read(http_streams *all, stream_scratch *t, const http_field_block *list,
                                const stream_request *p, uint32_t id, int fin, http_stream *as);
/** 1: memory answers it. @param out  where the head of the response goes @param planned  as of cache_reply_to() */
int stream_request_stored(http_streams *all, const http_head *head, const http_codec *codec,
                          char *out, cache_reply *reply, cache_entry **planned);
/** s, a new stream, waits for its turn with t->head. @return 0; -1: no memory */
int stream_request_wait(http_stream *s, stream_scratch *t, const http_stream *as,
                        cache_entry *planned);
/** Why these are no trailers of s; NULL: they are. */
const char *stream_trailers_why(const http_stream *s, const http_field_block *list);
/** They are, and end the request. @return 0; -1: no memory */
int stream_trailers_take(http_stream *s, const http_field_block *list);

typedef enum stream_body_said {
    STREAM_BODY_TAKEN,    /**< stream_pipe_go_on() is the caller's */
    STREAM_BODY_UNWANTED, /**< nobody reads it */
    STREAM_BODY_WRONG,    /**< it is longer than Content-Length */
    STREAM_BODY_NO_MEMORY
} stream_body_said;

/** Data of a request's body came. */
stream_body_said stream_body_take(http_stream *s, const uint8_t *data, size_t len);
/** The body is over, without trailers. @return 0; -1: Content-Length said otherwise */
int stream_body_end(http_stream *s);

/* ---- stream_output.c; the loop ---- */

/** Send a stored response, of which now, left and owner are set, if it fits into a frame. @return 1: it was sent whole */
int stream_stored_at_once(http_stream *s);
/** s, a new stream, sends the rest of the stored response of @a now. @param as  its priority */
void stream_stored_wait(http_stream *s, const http_stream *now, const http_stream *as,
                        const cache_reply *reply);
/** The next frame of s, which is ready. s may be gone afterwards. @return 1: it can send more */
int stream_output(http_stream *s);

/* ---- stream_limits.c; the loop ---- */

/** streams_begin() calls it. */
void stream_limits_begin(http_streams *all);
/** A frame that costs the client little and brings nothing. 1: there were too many. */
int stream_limit_cheap(http_streams *all);
/** A stream came to nothing through a fault of the client. 1: as above */
int stream_limit_fault(http_streams *all);
/** A stream came to nothing: reset by the client, or refused. 1: as above */
int stream_limit_waste(http_streams *all);
/** A response was completed. */
void stream_limit_earn(http_streams *all);

/* ---- stream_codec.c: http_codec; the loop ---- */

http_stored_head *stream_codec_serialise(const stream_protocol *protocol, const http_answer *a,
                                         http_stored_head *room);
size_t stream_codec_put(char *to, http_stored_head *head, const http_answer *a,
                        const http_answer_terms *t);
size_t stream_codec_put_part(const stream_protocol *protocol, char *to, http_stored_head *head,
                             const http_answer *a, const http_answer_terms *t,
                             const http_part *part, apr_off_t length);

/* ---- stream_parts.c ---- */

/** conn_transport.encode, .add. Threads: any */
shared_ref *stream_parts_encode(brg_conn *bc, const stream_fields *fields);
size_t stream_parts_add(brg_conn *bc, shared_ref *part, const http_field *f);
/** The same for the stream; NULL: no memory. */
stream_block *stream_parts_block(const http_stream *s, const stream_fields *fields);
/** Queue a head, which the pipe then owns. Under the lock. @return 0; -1: it cannot be sent, and is the caller's */
int stream_parts_head(http_stream *s, stream_block *b);
/** End the response; @a b: trailers, or NULL. Under the lock. @return 0; -1: it is shorter than announced */
int stream_parts_end(http_stream *s, stream_block *b);
/** conn_transport.put, under the lock. */
ssize_t stream_parts_put(http_stream *s, shared_ref *part);
/** An empty piece of output. NULL: no memory. Threads: any */
stream_chunk *stream_chunk_new(size_t cap);
/** A full one, in memory that it takes over. NULL: no memory, and @a base is the caller's. Threads: any */
stream_chunk *stream_chunk_of(void *base, void (*end)(void *), const char *data, size_t len);
/** Room for bytes of a file; 0: none. *@a own: they are many enough for a chunk of their own, which stream_answer_add() queues. */
size_t stream_answer_room(const http_stream *s, size_t len, int *own);
/** Queue a chunk, which is taken over. @return bytes taken: less where the response is shorter */
size_t stream_answer_add(http_stream *s, stream_chunk *c);

/* ---- stream_answer.c; under the lock ---- */

/** Take data between parts, or HTTP/1 text where no part came. @return bytes taken, all or up to where the queue is full */
size_t stream_answer_take(http_stream *s, const char *data, size_t len);
/** No more text comes. */
void stream_answer_end(http_stream *s);
void stream_answer_free(stream_answer *a);

/* ---- stream_file.c; the loop ---- */

/**
 * The next bytes of the file of s->now. Never waits for a disk: a worker asks it, and s is ready again when they are here.
 * @param window  bytes that the client takes of s now: no more are read
 * @param len [in] as many as may be sent [out] as many as are here, at least 1
 * @return NULL: none now; s->failed: they will not come
 */
const char *stream_file_read(http_stream *s, int64_t window, size_t *len);
/** So many of them are sent. */
void stream_file_sent(http_stream *s, size_t len);
/** 1: a worker asks the disk. */
static inline int stream_file_waits(const http_stream *s)
{
    return s->bc && !s->pipe;
}
/** The stream is over: close its file. A worker that asks the disk ends that by itself. */
void stream_file_end(http_stream *s);

#endif
