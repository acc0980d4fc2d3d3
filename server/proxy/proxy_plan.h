/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PLAN_H
#define BRIGADE_PROXY_PLAN_H

/**
 * @file proxy_plan.h
 * Requests that a loop sends to an HTTP backend by a plan (cache/cache_plan.h, h1/h1_ahead.h).
 *
 * proxy_plan.c decides for which requests there may be one, and makes it of a request that took the full way. proxy_ahead.c
 * sends requests by it, proxy_ahead_answer.c answers that are whole and simple, proxy_ahead_stream.c those of streams of HTTP/2. What is
 * not simple goes on in an exchange as any other (proxy_ahead_take()): one try, whose request is sent.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_plan.h"
#include "h1_ahead.h"
#include "proxy_exchange.h"
#include "proxy_private.h"
#include "transport.h"

/** In one block from malloc(). */
typedef struct proxy_plan {
    cache_plan plan; /**< first */
    proxy_worker *worker;
    client_origin *origin;
    server_rec *server;
    apr_interval_time_t timeout;
    uint32_t target_len, before_len, behind_len;
    uint8_t any_query; /**< the target ends before the query, which is the request's own */
    uint8_t adds_for;  /**< X-Forwarded-For is sent */
    uint8_t
        reverses_urls; /**< there is a ProxyPassReverse: an answer with a URL takes the full way */
    uint8_t reverses_cookies;
    char text
        []; /**< "GET " and the target; what follows it; what follows the fields of the client */
} proxy_plan;

/** A request that was sent. */
typedef struct proxy_ahead {
    struct conn_ahead base; /**< first */
    const proxy_plan *plan; /**< of base.entry */
    brg_conn *bc;
    client_conn *cc;      /**< NULL: given back */
    client_blocks early;  /**< of the answer's body, behind what cc has */
    apr_time_t began;     /**< of the wall clock */
    apr_time_t chosen_at; /**< monotonic */
    uint32_t sent;
} proxy_ahead;

/** Before @a x begins: note whether a plan may be made of it (x->may_plan). */
void proxy_plan_look(proxy_exchange *x);

/** @a x is answered: offer a plan, if that was noted. */
void proxy_plan_offer(proxy_exchange *x);

/** cache_plan_kind.begin */
int proxy_ahead_begin(const cache_plan *base, cache_entry *entry, brg_conn *bc,
                      const http_head *head);

/** 1 if the Connection field of @a head, should there be one, names "close" or "keep-alive" and no field. */
int proxy_ahead_connection_is_plain(const http_head *head);

/**
 * The answer of @a a goes to its stream, with the body behind @a head_len bytes of what its connection has. The memory that it was
 * read into may go with it.
 * @return bytes that its head counts as; 0: no memory, nothing was sent
 */
size_t proxy_ahead_send_stream(proxy_ahead *a, const stream_fields *fields, uint32_t head_len);

/** Bytes of the answer that came. */
apr_off_t proxy_ahead_got(const proxy_ahead *a);

/** What came is looked at, and sent to the client if it is an answer that may be. @return H1_AHEAD_WAITS: it is not whole */
h1_ahead_step proxy_ahead_look(proxy_ahead *a);

/** The request of @a x was sent already: @a x takes its connection over, in EXCHANGE_TALK. Else nothing happens. */
void proxy_ahead_take(proxy_exchange *x);

#endif
