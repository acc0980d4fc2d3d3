/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_TELL_H
#define BRIGADE_PROXY_TELL_H

/**
 * @file proxy_tell.h
 * Reports on an exchange: items of access logs (%{backend-time}n,
 * %{backend-address}n, %{backend-tries}n), and the field Proxy-Status (RFC 9209). Threads: the
 * request's. Blocking: no.
 */
#include "upstream.h"
#include "proxy.h"

/** Part of the exchange: as long as its request. Zeroed at first. */
typedef struct proxy_told {
    char peer[CONN_CLIENT_TEXT]; /**< address of the last try, or path of a Unix socket; "": none */
    apr_port_t port;
    uint16_t received;          /**< status of the answer; 0: none came */
    int tries;                  /**< at backends */
    apr_interval_time_t waited; /**< from the choice of the last backend to its answer's head; -1 */
    const char *error;          /**< of RFC 9209, 2.3; NULL */
    const char *protocol;       /**< of RFC 9209, 2.1.3: "h2"; NULL: none of ALPN */
} proxy_told;

/** Items of @a r get the values in @a told when the request is logged. */
void proxy_tell_begin(request_rec *r, proxy_told *told);

/** Whom the connection leads to: the backend, or a proxy on the way. @param peer  upstream_conn.peer, all of it */
void proxy_tell_peer(proxy_told *told, const char *peer, apr_port_t port);

/** The name of a failure. @param is_malformed  the answer is malformed */
const char *proxy_tell_error(proxy_failure why, apr_status_t error, int is_malformed);

/** This server's part of Proxy-Status, in @a p. */
const char *proxy_tell_status(apr_pool_t *p, const server_rec *s, const proxy_told *told);

/** Add the field. @param is_own_page  1: the answer is the server's, not the backend's */
void proxy_tell_field(request_rec *r, const proxy_told *told, int is_own_page);

/** Offer the items. Threads: main, pre_config. */
void proxy_tell_register(apr_pool_t *pconf);

#endif
