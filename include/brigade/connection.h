/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONNECTION_H
#define BRIGADE_CONNECTION_H

/** @file brigade/connection.h Facts about a client connection beyond its conn_rec. */
#include "httpd.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Bytes of a connection since it began, as they were on the wire: received and taken by its
 * requests so far, and sent. In a log_transaction hook both include the request that is logged. No
 * bytes of later requests were sent, but a request in the same packet may be received already.
 *
 * Both 0 for a connection that is not a client's.
 * Threads: the connection's. Blocking: no.
 */
BRG_DECLARE(void) brg_connection_octets(conn_rec *c, apr_off_t *received, apr_off_t *sent);

#ifdef __cplusplus
}
#endif
#endif
