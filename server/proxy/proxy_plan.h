/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PLAN_H
#define BRIGADE_PROXY_PLAN_H

/**
 * @file proxy_plan.h
 * Requests that a loop sends to an HTTP backend by a plan (cache/cache_plan.h, h1/h1_ahead.h).
 *
 * proxy_plan.c decides for which requests there may be one, and makes it of a request that took the full way. proxy_ahead.c
 * sends requests by it, and answers that are whole and simple. What is not simple goes on in an exchange as any other
 * (proxy_ahead_take()): one try, whose request is sent.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_plan.h"
#include "proxy_exchange.h"
#include "proxy_private.h"

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

/** Before @a x begins: note whether a plan may be made of it (x->may_plan). */
void proxy_plan_look(proxy_exchange *x);

/** @a x is answered: offer a plan, if that was noted. */
void proxy_plan_offer(proxy_exchange *x);

/** cache_plan_kind.begin */
int proxy_ahead_begin(const cache_plan *plan, cache_entry *entry, brg_conn *bc,
                      const http_head *head);

/** The request of @a x was sent already: @a x takes its connection over, in EXCHANGE_TALK. Else nothing happens. */
void proxy_ahead_take(proxy_exchange *x);

#endif
