/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_ORIGIN_H
#define BRIGADE_PROXY_ORIGIN_H

/**
 * @file proxy_origin.h
 * Which origin of the room client a target's connections lead to.
 */
#include "upstream.h"
#include "proxy.h"

/** Make the origins of all workers: at the end of post_config. Threads: main. */
void proxy_origins_make(apr_pool_t *pconf, server_rec *s);

/** Of a URL that a handler names, for requests without a worker of their own: its connections serve one request each.
 * @param p  its hold ends with it; strings are copied. NULL: no memory. Threads: a loop's, and for its requests */
upstream_origin *proxy_origin_of_handler(apr_pool_t *p, server_rec *s, const char *host,
                                         apr_port_t port, const char *socket);

/** Of a member that was added while the server runs. NULL: it is spoken to over TLS, which is not enabled. Threads: any, one at a time */
upstream_origin *proxy_origin_of_member(apr_pool_t *p, const proxy_worker *w);

/** Of the worker, or of the request alone. NULL: it cannot be made; the log has a line. Threads: the request's. */
upstream_origin *proxy_origin_of(request_rec *r, const proxy_target *target);

#endif
