/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_EXCHANGE_DIRECT_PRIVATE_H
#define BRIGADE_PROXY_EXCHANGE_DIRECT_PRIVATE_H

/**
 * @file exchange_direct_private.h
 * Shared by the sinks of exchanges without a request_rec
 * (exchange_direct.c): exchange_direct_h1.c and exchange_direct_stream.c. Threads: the loop's.
 * Blocking: no.
 */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "h1_response.h"

#define DIRECT_MADE \
    (PROXY_EDITS_MOST + 4) /**< Via, Proxy-Status, Vary, Content-Encoding, and one for each edit */

/** The object that @a x is a part of. */
static inline proxy_ahead *direct_of(const proxy_exchange *x)
{
    return (proxy_ahead *)(void *)((char *)(uintptr_t)x - offsetof(proxy_ahead, x));
}

/** The fields of a head that go on, as far as it is known to be simple. */
typedef struct direct_head {
    http_head *head; /* the backend's */
    h1_top top;
    /** In the order in which they are sent: of the backend's head, or of made. */
    http_field *field[HTTP_HEAD_OWN_FIELDS + DIRECT_MADE];
    int n;
    int always_n; /* so many of them, the first ones, lie in err_headers_out: filters that compress do not look there */
    http_field made[DIRECT_MADE]; /* this server's fields */
    int made_n;
    http_field last[2]; /* of scripts: behind what tells of body and connection */
    int last_n;
    char length[24];          /* digits of the body, for a stream */
    char type[128];           /* Content-Type with a charset that was added */
    char vary[128], tag[160]; /* of an answer that is compressed */
    size_t more;              /* bytes of values that were changed, and of made */
    int typed, varies, dated;
} direct_head;

http_field direct_field(const char *name, uint32_t name_len, const char *value, size_t value_len);

/** Room for a field of this server's at the end. */
http_field *direct_make(direct_head *d);

/** Edits of the plan (proxy_plan_edits.c). @return 0: its request has to be made */
int direct_edit(proxy_ahead *a, direct_head *d);

/** Filters of the plan that may compress (proxy_plan_coding.c). @return 0: likewise */
int direct_code(proxy_ahead *a, direct_head *d);

/** Its body is compressed as @a step tells (exchange_direct_coded.c). @param length  of the body; -1: not known @return 0: no memory */
int direct_coded_begin(proxy_ahead *a, const struct brg_coding_step *step, apr_off_t length);

/** In place of x->in, and of what is lent, what is to be sent of it. @return 1; 0: nothing yet; -1: it failed, and is cut off */
int direct_coded_pass(proxy_exchange *x);

/** 1: it was begun before its end, so that its length is not told. */
int direct_coded_is_early(const proxy_ahead *a);
void direct_coded_end(proxy_ahead *a);

/** 1: the length of the answer's body is known as its head is taken. */
static inline int direct_tells_length(const proxy_ahead *a)
{
    return a->x.h1.end == H1_BODY_LENGTH && !a->coded;
}

/** @param d  [out] @return 0: its request has to be made */
int direct_takes(proxy_ahead *a, http_head *head, direct_head *d);

/** Of a plan that is logged. @return 0: a module needs the request for it */
int direct_log_is_ready(proxy_ahead *a, const direct_head *d);

/* Of both tables. */
void direct_answered(proxy_exchange *x);
int direct_works(const proxy_exchange *x);
apr_bucket *direct_request(proxy_exchange *x);

#endif
