/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SETTINGS_MEMORY_REFUSAL_H
#define BRIGADE_SETTINGS_MEMORY_REFUSAL_H

/**
 * @file memory_refusal.h
 * Requests and connections whose memory system refused memory: how they end.
 */
#include "httpd.h"
#include "apr_buckets.h"
#include "brigade/memory.h"

/** The protocol tells how to learn whether all of a request's body was read. Called once, when its
 * hooks are registered. */
void memory_refusal_asks(int (*body_is_over)(request_rec *r));

/**
 * Output of a request with an exhausted pool: whether it must not go on. Then the brigade is
 * emptied.
 * @param result [out] the filter's return value
 */
int memory_refusal_stops(request_rec *r, apr_bucket_brigade *bb, apr_status_t *result);

/** The same for the result of its phases or its handler. @return the status to answer with, or @a
 * status */
int memory_refusal_result(request_rec *r, int status);

/** After its answer, with an exhausted pool: the status that is still to be sent, since none was
 * begun, or OK. */
int memory_refusal_unanswered(request_rec *r);

/**
 * Whether the status of a response is that of a refusal, and the connection may go on: the pool of
 * the next request has its own memory, and it is known where that request begins.
 */
int memory_refusal_keeps(request_rec *r);

/** A connection with an exhausted pool: it ends with the response that is being sent. */
void memory_refusal_of_connection(conn_rec *c);

/** The same, seen by its output: it is aborted, if it must end at once. */
void memory_refusal_cuts(conn_rec *c);

static inline int memory_request_status(request_rec *r, int status)
{
    return __builtin_expect(brg_pool_refused(r->pool), 0) ? memory_refusal_result(r, status)
                                                          : status;
}

#endif
