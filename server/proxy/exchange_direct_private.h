/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_EXCHANGE_DIRECT_PRIVATE_H
#define BRIGADE_PROXY_EXCHANGE_DIRECT_PRIVATE_H

/**
 * @file exchange_direct_private.h
 * What the sinks of exchanges without a request_rec have in common (exchange_direct.c): exchange_direct_h1.c and
 * exchange_direct_stream.c. Threads: the loop's. Blocking: no.
 */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "h1_response.h"

/** The object that @a x is a part of. */
static inline proxy_ahead *direct_of(const proxy_exchange *x)
{
    return (proxy_ahead *)(void *)((char *)(uintptr_t)x - offsetof(proxy_ahead, x));
}

/** What goes on of a head, as far as it is known to be simple. */
typedef struct direct_head {
    http_head *head; /* the backend's */
    h1_top top;
    uint8_t goes[HTTP_HEAD_OWN_FIELDS]; /* by index of a field */
    int n;                              /* of those */
    size_t more;                        /* bytes of values that were changed */
    int typed, varies, dated;
} direct_head;

http_field direct_field(const char *name, uint32_t name_len, const char *value, size_t value_len);

/** What this server adds, if the plan's via_len is not 0. */
http_field direct_via(const proxy_plan *plan);

/** @param d  [out] @return 0: its request has to be made */
int direct_takes(proxy_ahead *a, http_head *head, direct_head *d);

/** Of a plan that is logged. @return 0: a module needs the request for it */
int direct_log_is_ready(proxy_ahead *a, const direct_head *d);

/* Of both tables. */
void direct_answered(proxy_exchange *x);
void direct_trailer(proxy_exchange *x, const http_field *f);
apr_bucket *direct_request(proxy_exchange *x);

#endif
