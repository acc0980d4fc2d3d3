/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_H2_PRIVATE_H
#define BRIGADE_PROXY_H2_PRIVATE_H

/**
 * @file proxy_h2_private.h
 * Between the files of HTTP/2 towards backends: connections and frames that control them (proxy_h2.c), what is sent
 * (proxy_h2_send.c), answers (proxy_h2_answer.c). Threads: the owner of the exchange. Blocking: no.
 */
#include "exchange_private.h"
#include "h2_frame.h"
#include "hpack_decode.h"

#define H2C_WINDOW (1 << 20)       /* of a stream, that the backend may fill */
#define H2C_WINDOW_ALL (16 << 20)  /* of the connection */
#define H2C_HEAD_MOST (256 * 1024) /* bytes of a field block, packed and unpacked */
#define H2C_FIELDS_MOST 1000
#define H2C_CONTROL_MOST 10000 /* frames in an exchange that carry nothing of it: a flood beyond */

/* Of a connection, as long as that. */
typedef struct h2c_session {
    hpack_table table;
    uint32_t next;       /* stream that is opened next */
    int64_t window;      /* bytes that may be sent on the connection */
    uint32_t initial;    /* SETTINGS_INITIAL_WINDOW_SIZE of the backend */
    uint32_t frame_most; /* and its SETTINGS_MAX_FRAME_SIZE */
    uint64_t taken;      /* bytes of DATA that were read and not given back by WINDOW_UPDATE */
} h2c_session;

/* Of an exchange. */
typedef struct h2c_stream {
    uint32_t id;
    int64_t window; /* bytes that may be sent on it */
    uint64_t taken;
    apr_bucket_brigade *body; /* waits for a window */
    uint8_t last;             /* the body ends with what waits */
    uint8_t ended;            /* END_STREAM was sent */
    uint32_t data_left;       /* of a DATA frame that arrives in pieces */
    uint32_t padding;         /* behind it */
    uint8_t data_ends;        /* and it ends the stream */
    uint8_t *block;           /* a field block that arrives in pieces */
    apr_size_t block_n;
    uint8_t block_open, block_ends;
    unsigned control;
    int64_t length; /* Content-Length of the answer; -1: it has none */
    int64_t came;   /* bytes of its body */
} h2c_stream;

static inline h2c_session *h2c_session_of(const proxy_exchange *x)
{
    return x->cc->session;
}

/** What came is no answer. */
static inline apr_status_t h2c_bad(proxy_exchange *x, const char *why)
{
    x->bad = why;
    return APR_EGENERAL;
}

/* ---- proxy_h2_send.c ---- */

/** Add a copy of bytes to x->out. */
void h2c_out(proxy_exchange *x, const uint8_t *data, apr_size_t len);

/** A frame whose payload is a number of 32 bits. */
void h2c_put_number(proxy_exchange *x, h2_frame_type type, uint32_t stream, uint32_t value);

/** The preface, SETTINGS and the connection's window. */
void h2c_greet(proxy_exchange *x);

/** The request's head. */
void h2c_request(proxy_exchange *x, const h2c_stream *st);

/** As much of the body as the windows let. */
void h2c_flush(proxy_exchange *x, h2c_stream *st);

/** proxy_codec.body */
void h2c_body(proxy_exchange *x, apr_bucket_brigade *bb, int last);

/* ---- proxy_h2_answer.c ---- */

/** HEADERS, and @a n bytes of a field block. @param p  of the payload @return APR_SUCCESS; else x->bad is set */
apr_status_t h2c_headers(proxy_exchange *x, h2c_stream *st, const h2_frame *f, const uint8_t *p);
apr_status_t h2c_block_part(proxy_exchange *x, h2c_stream *st, const h2_frame *f, const uint8_t *p,
                            apr_size_t n);

/** The head of DATA; and bytes of what it has. @return as proxy_codec.take */
apr_status_t h2c_data_begin(proxy_exchange *x, h2c_stream *st, const h2_frame *f);
apr_status_t h2c_take_data(proxy_exchange *x, h2c_stream *st);

#endif
