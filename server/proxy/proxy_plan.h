/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PLAN_H
#define BRIGADE_PROXY_PLAN_H

/**
 * @file proxy_plan.h
 * Requests that a loop sends to an HTTP backend by a plan (cache/cache_plan.h, h1/h1_ahead.h).
 *
 * proxy_plan.c decides for which requests there may be one, and makes it of a request that took the full way. proxy_ahead.c sends
 * requests by it and runs their exchanges, which have no request_rec; exchange_direct.c is where answers go. An answer that needs the
 * request, and a failure, are left to an exchange that has it (proxy_ahead_take()): one try, whose request is sent.
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
    cache_plan plan;          /**< first */
    proxy_worker *worker;     /**< NULL: one of the balancer's members */
    proxy_balancer *balancer; /**< NULL: none */
    server_rec *server;
    proxy_reversal reversal; /**< of answers */
    uint32_t target_len, before_len, ours_len, behind_len;
    uint32_t via_at, via_len; /**< in text: what Via of an answer tells; 0: nothing */
    uint8_t any_query;        /**< the target ends before the query, which is the request's own */
    uint8_t adds_for;         /**< X-Forwarded-For is sent */
    uint8_t reverses_urls;    /**< there is a ProxyPassReverse */
    uint8_t reverses_cookies;
    uint8_t overrides; /**< an answer of 400 and above may get another page: the request is made */
    uint8_t looks_at_via; /**< so it is for an answer with a Via */
    uint8_t names_member; /**< Host is the member's; it is not in text */
    int8_t minor;         /**< of clients of HTTP/1 that it holds for; -1: all */
    char text
        []; /**< "GET " and the target; what follows it; what follows the fields of the client, before and behind X-Forwarded-For */
} proxy_plan;

/** A request that was sent, and its exchange. Zeroed at first. */
typedef struct proxy_ahead {
    struct conn_ahead base; /**< first */
    proxy_exchange x;       /**< without a request_rec */
    proxy_target target;
    const proxy_plan *plan; /**< of base.entry */
    brg_conn *bc;
    apr_time_t began; /**< of the wall clock */
    char *asked;      /**< the request, if there was no connection for it; malloc(); NULL */
    uint32_t asked_len;
    /* Of the answer, by its sink: */
    const char
        *head;  /**< of HTTP/1, until it is passed; where the loop gathers its output, or kept */
    char *kept; /**< malloc(); NULL */
    shared_ref *part; /**< of a stream, likewise */
    http_answer *log; /**< malloc(); NULL: nobody logs it */
    cache_planned_answer told;
    uint32_t head_len;
    uint8_t chunks; /**< the body is framed in chunks */
    uint8_t closes; /**< the client's connection ends behind it */
    uint8_t
        trailers; /**< there were some: the body's length is not told, as the other sink would not */
    uint8_t logged;
} proxy_ahead;

/** Before @a x begins: note whether a plan may be made of it (x->may_plan). */
void proxy_plan_look(proxy_exchange *x);

/** @a x is answered: offer a plan, if that was noted. */
void proxy_plan_offer(proxy_exchange *x);

/** cache_plan_kind.begin */
int proxy_ahead_begin(const cache_plan *base, cache_entry *entry, brg_conn *bc,
                      const http_head *head);

#define AHEAD_HEAD_MOST 4096 /**< bytes of a request's head that is sent so */

/* ---- proxy_ahead_head.c ---- */

/** 1: nothing of @a head, its fields aside, asks for more than a plan. */
int ahead_is_plain(const http_head *head);

/** Its fields do neither, and there is room. Before a member is chosen: it will be asked. */
int ahead_will_fit(const http_head *head);

/** Write it. @param buf  AHEAD_HEAD_MOST bytes @return its length; 0: it cannot be sent so */
size_t ahead_write(const proxy_plan *plan, const proxy_worker *w, const brg_conn *bc,
                   const http_head *head, char *buf);

/** 1 if the Connection field of @a head, should there be one, names "close" or "keep-alive" and no field. */
int proxy_connection_is_plain(const http_head *head);

/** An answer, or what there is of it, was passed: tell figures and logs. Once. */
void proxy_direct_told(proxy_ahead *a);

/** What was made of a head that is not passed yet outlives this turn. @return 0: no memory */
int proxy_direct_keep(proxy_ahead *a);

/** Free what sinks made. */
void proxy_direct_end(proxy_ahead *a);

/** The member of @a b that a request was sent to of which @a r is made now. NULL: none was. Threads: the request's. */
proxy_worker *proxy_ahead_member(const request_rec *r, const proxy_balancer *b);

/** The request of @a x was sent already: @a x takes its connection over, in EXCHANGE_TALK. Else nothing happens. */
void proxy_ahead_take(proxy_exchange *x);

#endif
