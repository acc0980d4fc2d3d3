/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_EXCHANGE_PRIVATE_H
#define BRIGADE_PROXY_EXCHANGE_PRIVATE_H

/**
 * @file exchange_private.h
 * The exchange with a backend: steps that its files call in each other. proxy_exchange.h has the exchange itself.
 */
#include "proxy_exchange.h"

/** upstream_notify_fn of the connection of an exchange. */
void exchange_told(void *baton);

/** An empty brigade for a step of the exchange: without memory of the request, which may live for long. Its end is
 * apr_brigade_cleanup(). */
static inline apr_bucket_brigade *exchange_brigade(const proxy_exchange *x, apr_bucket_brigade *bb)
{
    bb->p = x->pool;
    bb->bucket_alloc = x->alloc;
    APR_RING_INIT(&bb->list, apr_bucket, link);
    return bb;
}

/** Common begin of all exchanges, of a client and the server that it asked. Zeroed at first. */
void exchange_set_up(proxy_exchange *x, const proxy_sink *sink, conn_rec *client, server_rec *s);

/** The same for a request, with the fields for codecs. */
void exchange_of_request(proxy_exchange *x, request_rec *r);

/** The client is gone: further output is dropped. */
void exchange_client_left(proxy_exchange *x);

/** proxy_sink.is_behind of an answer that leaves by the filter of @a bc. */
int exchange_is_behind(proxy_exchange *x, brg_conn *bc);

/** EXCHANGE_CONNECT: get a connection. @return APR_SUCCESS; APR_EAGAIN: it is told; else it has failed (exchange_connect.c) */
apr_status_t exchange_connect(proxy_exchange *x);

/** Its codec begins on the connection: EXCHANGE_TALK. @return an error: the exchange is over, or has another try */
apr_status_t exchange_begin(proxy_exchange *x);

/** The exchange is over; the handler returns @a status. */
void exchange_done(proxy_exchange *x, int status);

/** Close the connection, if there is one. */
void exchange_drop(proxy_exchange *x);

/** Give the worker back, if that was not done. */
void exchange_release(proxy_exchange *x);

/** The backend failed. Another try is begun, or the exchange is over. @param text  may be NULL (exchange_fail.c) */
void exchange_fail(proxy_exchange *x, proxy_failure why, apr_status_t error, const char *text);

/** The connection goes back to its place, or is closed where it cannot be used again. */
void exchange_give_back(proxy_exchange *x);

/** More of the answer is here than x->in has. */
static inline int exchange_has_more(const proxy_exchange *x)
{
    return x->cc && x->cc->rd_ready;
}

/** 1: the backend has taken all of the body that came, and waits for more: a worker reads it before it waits for the backend. */
int exchange_brings_body(const proxy_exchange *x);

/** Send bytes of x->out, as the socket takes them. @return 1: something was sent */
int exchange_send(proxy_exchange *x);

/** The backend takes no more bytes of a tunnel, and some are lost: nothing more is sent, and the tunnel ends (exchange_tunnel.c) */
void exchange_tunnel_broken(proxy_exchange *x, apr_status_t error);

/** Variables for the backend of a script, in x->variables; CONTENT_LENGTH is right where the body was read. @return OK or a status
 * (exchange_script.c) */
int exchange_variables(proxy_exchange *x);

/** 1: a field of a request may become a variable of this name. */
int exchange_variable_is_named(const char *name);

/** Begin to send the body with the bytes that are kept: after codec->begin(). */
void exchange_body_begin(proxy_exchange *x);

/** Send the bytes of the body that are kept in memory, and its end if it is over (exchange_body.c) */
void exchange_body_memory(proxy_exchange *x);

/** The loop of the request's connection, also where a worker runs it. */
struct brg_loop *exchange_loop(const proxy_exchange *x);

/* ---- exchange_local.c: answers of scripts that name one of this server ---- */

/** The head came: does it name a path, or a file? */
void exchange_look_here(proxy_exchange *x);

/** The exchange is DONE: send the named file or URL. @return the handler's result */
int exchange_answer_local(proxy_exchange *x);

/** The redirect that an exchange of @a r led to, made now. @return OK; @a otherwise: there was none */
int exchange_redirect_local(request_rec *r, int otherwise);

/* ---- exchange_spool.c: of the request's body, on disk in front of x->body.kept ---- */

/** Bytes of it that are there, or on their way. */
apr_off_t exchange_spooled(const proxy_exchange *x);

/** A piece is on its way to disk or back: the exchange is told when it is there. */
int exchange_spool_is_busy(const proxy_exchange *x);

/** Put x->body.kept behind the spooled bytes; none is on its way. @return 0: it stays in memory
 * (OutputSpoolSize, a disk that failed) */
int exchange_spool_put(proxy_exchange *x);

/** 1: some of it is to be sent in this try, before x->body. */
int exchange_spool_left(const proxy_exchange *x);

/** Have the next piece of it framed into x->out; x->body.spool_error is set where that cannot be. */
void exchange_spool_get(proxy_exchange *x);

/** Another try begins; no more of it is wanted; the exchange ends. */
void exchange_spool_rewind(proxy_exchange *x);
void exchange_spool_forget(proxy_exchange *x);
void exchange_spool_end(proxy_exchange *x);

/** The first try. Where no member of the balancer may be asked, and its timeout= says so, the exchange waits in EXCHANGE_CHOOSE.
 * @return OK or a status */
int exchange_choose(proxy_exchange *x);

/** In EXCHANGE_CHOOSE: microseconds until the members are looked at again; that look. */
apr_interval_time_t exchange_choose_pause(const proxy_exchange *x);
void exchange_choose_again(proxy_exchange *x);

/** The next try: a worker, its codec and its origin. @return OK or a status */
int proxy_next_try(proxy_exchange *x);

#endif
