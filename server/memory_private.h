/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SERVER_MEMORY_PRIVATE_H
#define BRIGADE_SERVER_MEMORY_PRIVATE_H

/*
 * memory_directives.c: what the configuration says about memory systems.
 * memory_trace.c: the recording of requests, MemoryTrace.
 * memory_refusal.c: requests to which these refused memory.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_buckets.h"
#include "brigade/memory.h"

/**
 * In a server process, before its threads begin: build the systems of its scopes.
 * @return NULL, or why one cannot be built, in @a p
 */
const char *memory_conf_apply(server_rec *main_server, apr_pool_t *p);

struct memory_stack;

/** Give what the calling thread's pools keep in reserve to the operating system. */
void memory_trim_thread(server_rec *main_server);

/** The same for malloc, of all threads. Takes its locks. */
void memory_trim_process(void);

/** @return NULL, or why this program has no memory systems: it was built without, in @a p */
const char *memory_unavailable(apr_pool_t *p);

/** The directive MemoryTrace. */
const char *memory_trace_directive(cmd_parms *cmd, void *dir, const char *args);

/** Another configuration begins: nothing is to be recorded. */
void memory_trace_forget(void);

/** Open the file that the configuration names, if it does. @return OK, or !OK after a message */
int memory_trace_open(apr_pool_t *pconf, server_rec *s);

/** Let pools on a stack be recorded if the configuration says so. */
void memory_trace_stack(struct memory_stack *stack);

/** The server of a request is known: let it draw from that one's memory system. Hot: one comparison
 * as a rule. */
void memory_request_settle(request_rec *r);

/**
 * Output of a request with an exhausted pool: whether it must not go on. Then the brigade is
 * emptied.
 * @param result [out] what the filter returns
 */
int memory_refusal_stops(request_rec *r, apr_bucket_brigade *bb, apr_status_t *result);

/** The same for the result of its phases or its handler. @return the status to die with, or @a
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

/** A connection with an exhausted pool: it ends with the response under way. */
void memory_refusal_of_connection(conn_rec *c);

/** The same, seen by its output: it is aborted, if it must end at once. */
void memory_refusal_cuts(conn_rec *c);

static inline int memory_request_status(request_rec *r, int status)
{
    return __builtin_expect(brg_pool_exhausted(r->pool), 0) ? memory_refusal_result(r, status)
                                                            : status;
}

#endif
