/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONNECTION_PRIVATE_H
#define BRIGADE_CONNECTION_PRIVATE_H

/**
 * @file connection_private.h
 * What the core's connection files (connection.c, core_input.c, core_output.c) share, and what the
 * process start-up calls of them.
 */
#include "conn.h"
#include "util_filter.h"
#include "http_core.h"

/**
 * Register the core's part in the life of connections: the create_connection, pre_connection,
 * insert_network_bucket and get_pollfd_from_conn hooks, the CORE and CORE_IN filters, and the
 * retrieval of the optional functions that they use. Call once per configuration, from the core's
 * register_hooks.
 */
void connection_register_hooks(apr_pool_t *p);

/** Scoreboard slot of this server process; part of connection ids. Call once in a child before its
 * threads. */
void connection_child_init(int slot);

/** 1 if a module other than the core took the process_connection hook: HTTP is then one protocol of
 * several. */
int connection_process_is_hooked(void);

/** An empty pool with an allocator of its own; NULL when memory ran out. (connection_pool.c) */
apr_pool_t *connection_pool_acquire(void);

/** Clear it and keep it for the next, or destroy it. */
void connection_pool_release(apr_pool_t *p);

/** Free the pools that the calling thread keeps for its next connections; also done when it ends.
 */
void connection_thread_fini(void);

/** An APR socket for @a bc 's descriptor, which stays the loop's: closing it ends the conversation.
 * (connection_socket.c) */
apr_status_t connection_socket(apr_socket_t **csd, brg_conn *bc, apr_pool_t *p,
                               apr_interval_time_t timeout);

/** The socket has no descriptor any more: its pool goes. */
void connection_disown(apr_socket_t *csd, apr_pool_t *p);

/** Context of CORE_IN for @a c. @a bc is NULL for a connection that is not of this server's
 * sockets. */
struct core_input *core_input_create(conn_rec *c, brg_conn *bc, apr_socket_t *csd);
apr_status_t core_input_insert_network_bucket(conn_rec *c, apr_bucket_brigade *bb,
                                              apr_socket_t *csd);
void core_input_register(apr_pool_t *p);

/** Output state for @a c; also the context of CORE. @a bc as above. */
struct core_output *core_output_create(conn_rec *c, brg_conn *bc, apr_socket_t *csd);

/** Drop what waits (request pools of EOR buckets are destroyed) before the connection's pool goes.
 */
void core_output_drop(struct core_output *out);
void core_output_register(apr_pool_t *p);

/** Bytes handed to the kernel on this connection so far. Owner thread of the connection only. */
apr_off_t core_output_bytes(const conn_rec *c);

/** The connection is of no more use: latch it, so that nothing is sent after a gap. */
void connection_abort(conn_rec *c);

/** Timeout of the connection's socket in microseconds, as modules may have set it; negative = for
 * ever. */
apr_interval_time_t connection_timeout(conn_rec *c);

#endif
