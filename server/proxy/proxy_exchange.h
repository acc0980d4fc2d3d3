/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_EXCHANGE_H
#define BRIGADE_PROXY_EXCHANGE_H

/**
 * @file proxy_exchange.h
 * One request at one backend: a machine without a thread of its own.
 * exchange_go() does as much as it can at once and names the event to wait for; proxy_handler.c
 * lets it wait on an event loop (brigade/wait.h), or on a worker by poll().
 *
 *   state     moved on by                                   on failure
 *   --------  --------------------------------------------  ------------------------------------------
 *   BODY      the codec wants the whole body first: it came  the client's fault
 *   CONNECT   an idle connection, or a new one is ready      another address, another worker, 503
 *   TALK      the answer is complete                         before its head: the next try, or 502, 504;
 *                                                            after it: the client's connection ends
 *   TUNNEL    both sides have closed                         -
 *   DONE
 *
 * How a backend is spoken to is a codec's (HTTP/1, FastCGI, SCGI, uwsgi).
 *
 * Threads: the owner of the request. Blocking: exchange_go() never on a loop.
 */
#include "cache_plan.h"
#include "upstream.h"
#include "h1_chunked.h"
#include "h1_response_head.h"
#include "proxy.h"
#include "proxy_settings.h"
#include "proxy_tell.h"
#include "brigade/wait.h"

#define EXCHANGE_PIECE 32768 /**< bytes of a body that are read from the client at once */
/** of a request body that wait for the backend, before more is read */
#define EXCHANGE_AHEAD (64 * 1024)
/** of an answer that wait for the client, before more is read */
#define EXCHANGE_BEHIND (256 * 1024)
#define EXCHANGE_SPOOLED (32 * 1024) /**< the same, in memory, while the rest waits on disk */
/** of an answer's beginning that wait for the bytes at hand of the rest */
#define EXCHANGE_GATHERED (64 * 1024)
/** of an answer that filters make anew, in a turn of the loop: compressing takes a millisecond for
 * so much */
#define EXCHANGE_TURN (64 * 1024)
/** for the client of one answer; then it waits on disk */
#define EXCHANGE_PATIENCE_US apr_time_from_msec(250)
/** of an answer's head, if responsefieldsize= does not say */
#define EXCHANGE_HEAD_MOST (256 * 1024)
/** bytes of a field of an answer, if responsefieldsize= does not say */
#define PROXY_FIELD_SIZE 8192
#define EXCHANGE_REPLAY (64 * 1024) /**< of a request body that are kept, to be sent once more */
#define EXCHANGE_INTERIM_MOST 32    /**< 1xx answers to one request */

typedef struct proxy_exchange proxy_exchange;
struct script_format;
typedef struct proxy_sink proxy_sink;

/** Of a codec whose connections several exchanges share. x->cc is then the codec's from begin() on. */
typedef struct proxy_mux {
    /** Take part in a connection of this loop. @return APR_SUCCESS: x->cc is set, and ready;
     * APR_EAGAIN: it is told by its ticket; APR_NOTFOUND: no connection */
    apr_status_t (*join)(proxy_exchange *x);
    /** Send as much as possible. @return 1: some of the body that the codec held */
    int (*send)(proxy_exchange *x);
    /** As take(), of bytes that the connection has for it, or that have to be read. */
    apr_status_t (*receive)(proxy_exchange *x);
    /** Whatever its state: x->cc is not its any more. */
    void (*leave)(proxy_exchange *x);
} proxy_mux;

/** Where an answer goes: the filters of a request_rec (exchange_answer.c), or without one a connection of HTTP/1 or a stream
 * (exchange_direct.c). */
struct proxy_sink {
    /** A body that ends with what the connection has is left there: x->answer.lent. */
    unsigned lends : 1;
    unsigned
        ahead : 1; /**< the request was sent by a plan: request() has all of it, and a head is taken as a whole or not at all */
    unsigned interims : 1; /**< it takes 1xx answers, and heads in steps */
    /** The head of a request of HTTP/1. @return NULL: it cannot be sent */
    apr_bucket *(*request)(proxy_exchange *x);
    /** A final head of HTTP/1 came. @return 0: the request has to be made first; nothing was done */
    int (*head)(proxy_exchange *x, http_head *head);
    /** All of the head was told. */
    void (*answered)(proxy_exchange *x);
    void (*trailer)(proxy_exchange *x, const http_field *f);
    /** Send x->in, and the end where x->answer.complete. The client may have left then: exchange_client_left(). */
    void (*pass)(proxy_exchange *x);
    /** NULL, or the sink that stores the passed body, and has memory for it (NULL: nobody). */
    const struct request_sink *(*stores)(proxy_exchange *x);
    /** Some was passed, and the rest does not come. */
    void (*cut)(proxy_exchange *x);
    /** 1: the answer is made anew, which takes much longer for it than its way through the server does. */
    int (*works)(const proxy_exchange *x);
    /** 1: the client has to take some of the passed output before more is read. */
    int (*is_behind)(proxy_exchange *x);
};

extern const proxy_sink proxy_sink_request, proxy_sink_h1, proxy_sink_stream;

/** DONE without an answer: its request has to be made, and goes on with the connection. */
#define EXCHANGE_NEEDS_REQUEST (-100)

typedef struct proxy_codec {
    const char *name;     /**< in the log, as Apache's: "HTTP", "FCGI" */
    const char *protocol; /**< of ALPN; NULL */
    const module *module; /**< whose messages a failure gives */
    const proxy_mux *mux; /**< NULL: an exchange has its connection for itself */
    int broken;           /**< the status for an answer that breaks off before its head */
    unsigned whole : 1;   /**< the whole body is there before anything is sent */
    unsigned
        close : 1; /**< the backend serves one exchange for each connection unless it is told otherwise */
    unsigned any_length : 1; /**< with whole: of a body whose length the client did not tell, too */
    unsigned plans : 1;      /**< requests may be sent by a plan (proxy_plan.h) */
    unsigned expects : 1;    /**< Expect: 100-continue goes on to the backend */
    unsigned script : 1;     /**< variables of CGI are sent */
    unsigned path_info : 1;  /**< with script: PATH_INFO is what follows the worker's path */
    unsigned http_head : 1;  /**< with script: an answer has a head of HTTP, not of a CGI program */
    unsigned
        client_repeats : 1;  /**< a client whose connection had answers gets none of a broken one */
    unsigned beside_own : 1; /**< an answer's fields stand beside earlier ones */
    /** With script: how variables are framed where requests are sent by a plan (proxy_script_format.h); NULL: none is. */
    const struct script_format *format;
    /** NULL, or the field of an answer that names a path of this server, or a file; these return NULL where none does. */
    const char *(*path_field)(const proxy_exchange *x);
    const char *(*file_field)(const proxy_exchange *x);
    /** NULL, or the line of the log for a broken answer. @param text  "" if no more is known */
    void (*log_broken)(const proxy_exchange *x, apr_status_t error, const char *text);
    /** Put the begin of the request into x->out. @return OK or a status */
    int (*begin)(proxy_exchange *x);
    /** NULL, or the same of a request that was sent without a request_rec: what is here is what came. */
    void (*resume)(proxy_exchange *x);
    /** Frame a piece of the request's body, all of @a bb, into x->out. @param last  it ends with this */
    void (*body)(proxy_exchange *x, apr_bucket_brigade *bb, int last);
    /** Take received bytes: the head (x->answer.begun), the body into x->in, the end (x->answer.complete).
     * @return APR_SUCCESS: something was taken; APR_EAGAIN: more is needed; else the answer is
     *   malformed (x->answer.bad says why) */
    apr_status_t (*take)(proxy_exchange *x);
    /** NULL, or read bytes of the body itself, by upstream_recv_blocks(). @return as upstream_recv();
     * APR_ENOTIMPL: the next bytes are not of the body */
    apr_status_t (*receive)(proxy_exchange *x);
    /** The backend closed: behind the answer's head, or, where heads are taken as a whole, before it was. @return APR_SUCCESS: that was the
     * end of the answer, and x->answer.complete is set */
    apr_status_t (*end)(proxy_exchange *x);
} proxy_codec;

extern const proxy_codec proxy_http_codec, proxy_h2_codec, proxy_fcgi_codec, proxy_scgi_codec,
    proxy_uwsgi_codec;

/** NULL: no codec. */
const proxy_codec *proxy_codec_of(proxy_scheme scheme);

typedef enum exchange_state {
    EXCHANGE_CHOOSE, /**< no member of the balancer may be asked yet: timeout= of it */
    EXCHANGE_BODY,
    EXCHANGE_CONNECT,
    EXCHANGE_TALK,
    EXCHANGE_TUNNEL,
    EXCHANGE_DONE
} exchange_state;

/** The request's body on its way to the backend (exchange_body.c, exchange_spool.c). */
typedef struct exchange_body {
    /** Whole (codec->whole), or kept to be sent once more. */
    apr_bucket_brigade *kept;
    struct exchange_spool *spool; /**< on disk in front of kept; NULL: nothing is */
    apr_off_t read;               /**< bytes of the client, so far */
    apr_off_t held;               /**< bytes that the codec holds until the backend has room */
    uint32_t room;                /**< bytes that fit behind the last small piece of kept */
    uint8_t exists;               /**< the request has one */
    uint8_t chunked;              /**< to the backend: in chunks */
    uint8_t over;                 /**< all of it was read */
    uint8_t lost;                 /**< some of it was sent and not kept: no other try */
    uint8_t ended;                /**< all of it, and its end, are in out */
    uint8_t holds;                /**< Expect: 100-continue: it waits for the backend */
    uint8_t spool_error;          /**< the spool cannot be read any more */
    uint8_t wanted;               /**< more of it is waited for, beside the backend's socket */
} exchange_body;

/** A try with one backend. */
typedef struct exchange_attempt {
    apr_off_t sent, got;     /**< bytes to and from the backend */
    apr_time_t chosen_at;    /**< monotonic */
    apr_time_t choose_until; /**< EXCHANGE_CHOOSE: so long a member is waited for */
    apr_time_t connect_at;   /**< when it began to connect; 0: it did not */
    apr_status_t send_error; /**< the rest of the request could not be sent */
    int n;                   /**< which of them: those at no charge are not counted */
    uint8_t free_n;          /**< so many were at no charge */
    uint8_t reused;          /**< the connection served others before */
    uint8_t fresh;           /**< the next try is to have a new connection */
    uint8_t untouched;       /**< the backend said that it did not look at the request */
} exchange_attempt;

/** The answer on its way to the sink (exchange_answer.c, exchange_direct.c). */
typedef struct exchange_answer {
    const char *bad;               /**< why it is malformed */
    const char *local_file;        /**< name of the file sent in place of its body; NULL */
    apr_time_t behind_at;          /**< since then its client is waited for; 0: it is not */
    apr_interval_time_t behind_us; /**< and was so far */
    int code;                      /**< of the head that came last */
    uint32_t lent;    /**< bytes of its body behind x->in, the last ones, that cc has still */
    uint32_t behind;  /**< bytes that stand behind them in cc, and are no body */
    uint8_t begun;    /**< its head was taken */
    uint8_t passed;   /**< and went to the client */
    uint8_t complete; /**< it ended */
    uint8_t swallow;  /**< its body is dropped: another page is sent */
    uint8_t interims;
    uint8_t gathers; /**< x->in was not passed, since more is here */
    uint8_t
        keeps; /**< of what was passed the sink keeps some: it asks for a pass when nothing more is here */
    uint8_t breaks; /**< it ends before its end: what came of it goes */
    uint8_t spools; /**< the rest that the client leaves goes to disk */
    uint8_t here;   /**< bytes of it had come before the exchange had the connection */
} exchange_answer;

/** A plan for requests to come (proxy_plan.c). */
typedef struct exchange_plan {
    cache_plan_offer offer;          /**< with may, when it is answered */
    apr_array_header_t *coding;      /**< with may: filters that may compress; NULL: none */
    const apr_array_header_t *edits; /**< with is_edited; NULL: none */
    int coding_files;                /**< so many of coding, the last ones, are of Apache's files */
    uint8_t may;                     /**< proxy_plan_look() */
    uint8_t is_edited;               /**< the same: mod_headers changes fields of the answer */
    uint16_t
        named; /**< with may: so many variables had names of fields before the client's became some */
} exchange_plan;

struct proxy_exchange {
    request_rec *
        /** NULL: of a plan. Codecs do not look at it: their data stands in the fields behind it */
        r;
    const proxy_sink *sink;
    conn_rec *client; /**< its connection; of a stream without a request_rec: that one's */
    server_rec *server;
    apr_pool_t *pool; /**< of r; exchange_pool() */
    apr_bucket_alloc_t *alloc;
    const char *method;
    const char *uri;              /**< that the client asked for, for the log */
    const apr_table_t *variables; /**< of codecs with .script, from begin() on */
    proxy_target *target;
    const proxy_codec *codec;
    proxy_request_settings conf;
    upstream_origin *origin;
    upstream_conn *cc; /**< NULL until connected, and when it was given back */
    brg_loop *loop;    /**< NULL: a worker runs it */
    upstream_ticket ticket;
    brg_waiting *waiting;
    exchange_state state;
    int status;         /**< DONE: the handler's result */
    uint8_t came;       /**< set of BRG_WAIT_*, since the last wait */
    uint8_t is_head;    /**< HEAD: the answer has no body, whatever its head says */
    uint8_t no_keep;    /**< the connection is closed behind it (proxy-nokeepalive) */
    uint8_t keep;       /**< the connection may be used again */
    uint8_t upgrade;    /**< an Upgrade was sent to the backend */
    uint8_t wants_room; /**< of its client, beside the backend's socket */
    uint8_t yields;     /**< other connections of the loop come first, then it goes on */

    apr_bucket_brigade own[3]; /**< out, in and body.kept: without cleanups of their own */
    apr_bucket_brigade *out;   /**< to the backend, framed */
    apr_bucket_brigade *in;    /**< of the answer, to its sink */
    apr_off_t out_n;           /**< bytes in out */

    exchange_attempt attempt;
    exchange_answer answer;
    exchange_body body;

    struct {
        h1_body_end end;
        h1_chunked chunked;
        uint64_t left; /**< H1_BODY_LENGTH */
    } h1;              /**< of codecs whose answers are framed as in HTTP/1 */

    struct {
        int status; /**< of the answer proper, while a 1xx is told */
        const char *line;
        apr_table_t *fields;
    } interim;

    struct {
        uint8_t known; /**< the exchange failed that was begun without a request */
        proxy_failure why;
        apr_status_t error;
        const char *text;
    } failed;

    exchange_plan plan;
    proxy_told told;
    void *script;              /**< of the codec: FastCGI, SCGI, uwsgi */
    _Alignas(8) char room[64]; /**< for that, if it is so small */
};

/** Microseconds of the clock that the exchange goes by. */
apr_time_t exchange_now(const proxy_exchange *x);

/**
 * Go on as far as possible.
 * @return APR_SUCCESS: DONE, x->status is set; APR_EAGAIN: it waits
 */
apr_status_t exchange_go(proxy_exchange *x);

/** How long it may wait, microseconds. */
apr_interval_time_t exchange_patience(const proxy_exchange *x);

/** That time is over. */
void exchange_expired(proxy_exchange *x);

/** Give all that is held back: the client has left, or it is DONE. */
void exchange_end(proxy_exchange *x);

/* ---- exchange_body.c: the request's body ---- */

/** @return APR_SUCCESS: x->body.over, or something was read; APR_EAGAIN; else x->status names the
 *   error */
apr_status_t exchange_body_read(proxy_exchange *x, apr_bucket_brigade *bb);

/** Put pieces of the body that came into x->out. @return as above */
apr_status_t exchange_body_pump(proxy_exchange *x);

/** Read the body's bytes at hand, up to 16 KiB, and keep them: a whole body is told by its length.
 * Errors are found later. */
apr_status_t exchange_body_ahead(proxy_exchange *x);

/** Read the whole body into x->body.kept, and to disk beyond 16 KiB. @return as above */
apr_status_t exchange_body_whole(proxy_exchange *x);

/** 1: the request may be sent to a backend once more: nothing of its body is lost, and it may be repeated. */
int exchange_may_repeat(const proxy_exchange *x);

/** Add to x->out. */
void exchange_out(proxy_exchange *x, apr_bucket *e);

/* ---- exchange_answer.c ---- */

/** An interim head came, by fields, as in steps. */
void exchange_head(proxy_exchange *x, const http_head *head);

/** The same in steps: the status (@a reason NULL: the usual), each field (strings live as long as x->pool), and the end. */
void exchange_status(proxy_exchange *x, int code, const char *reason, apr_size_t len);
void exchange_field(proxy_exchange *x, const char *name, const char *value);
void exchange_fields_done(proxy_exchange *x);

/** The same of a script's head, all of @a text. @return APR_SUCCESS; else x->answer.bad is set */
apr_status_t exchange_script_head(proxy_exchange *x, char *text, apr_size_t len);

/** For data that lives as long as the exchange. */
apr_pool_t *exchange_pool(proxy_exchange *x);

/** A 1xx answer: between these its fields are told; then it goes on to the client, unless x->answer.bad is set. */
void exchange_interim_begin(proxy_exchange *x, int code);
void exchange_interim_end(proxy_exchange *x);

/** A head came that the codec set in r. The answer may have another page in its place, or be a redirect here. */
void exchange_head_done(proxy_exchange *x);

/** A line of the error log about it. */
void exchange_log(const char *file, int line, int module_index, int level, apr_status_t error,
                  const proxy_exchange *x, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

/* ---- exchange_tunnel.c ---- */

/** 101 or CONNECT: from now on bytes go both ways. */
void exchange_tunnel_begin(proxy_exchange *x);
apr_status_t exchange_tunnel_go(proxy_exchange *x);

/* ---- proxy_fields.c ---- */

/** The head of a request to an HTTP/1 backend, as one bucket. */
apr_bucket *proxy_request_head(proxy_exchange *x);

#endif
