/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONN_CONNECTION_H
#define BRIGADE_CONN_CONNECTION_H

/**
 * @file connection.h
 * Shared by the core's connection files (connection.c, core_input.c,
 * core_output.c), with their functions for process start-up.
 */
#include "conn.h"
#include "brigade/figures.h"
#include "util_filter.h"
#include "http_core.h"

/**
 * Give bc its conn_rec: pool with an allocator of its own, bucket allocator, addresses,
 * apr_socket_t, the create_connection and pre_connection hooks, CORE and CORE_IN filters. c->cs is
 * a conn_state_t whose owner can be found again with connection_of().
 * @return APR_SUCCESS; on failure bc->c is NULL and the connection is to be closed
 */
apr_status_t connection_attach(brg_conn *bc);

/**
 * The same for a stream (bc->master), whose master has its conn_rec: pre_connection hooks run with c->master set;
 * the socket is the master's.
 */
apr_status_t connection_attach_stream(brg_conn *bc);

/**
 * A conn_rec in @a p for a thread that runs a part of a request of @a of: with a bucket allocator, notes, configuration and state
 * of its own, the same filters, and @a of or its master as master. connection_of() knows it not.
 * Threads: that of @a of; then the other.
 */
conn_rec *connection_copy(conn_rec *of, apr_pool_t *p);

/** Run pre_close_connection and destroy c, its pool and output. bc->fd stays open and belongs to
 * the loop. */
void connection_detach(brg_conn *bc);

/** Nothing is waiting to be read: the buffer that a request's body was read into is let go. Threads: the owner of bc. */
void connection_input_idle(brg_conn *bc);

/** bc->c is run by the calling thread from now on: its line of the scoreboard is this thread's. */
void connection_on_thread(brg_conn *bc);

/**
 * Log that a peer was too slow with a part of a request, as mod_reqtimeout does in Apache and under its LogLevel.
 * @param stage  "handshake", "header" or "body"
 */
void connection_log_late(brg_conn *bc, const char *stage);

/**
 * The deadline for the body of the running request (RequestReadTimeout body=), counted from its
 * first read or the first such question, later by the received bytes. @param now  monotonic
 * @return monotonic; 0: it has any time, as that of a stream. Threads: the loop's.
 */
apr_time_t connection_body_due(brg_conn *bc, apr_time_t now);

/** That is over: reads of the body say APR_TIMEUP in place of APR_EAGAIN. */
void connection_body_late(brg_conn *bc);

/** The beginning of connection_attach()'s object; written by connection.c alone. */
typedef struct connection_link {
    conn_rec c;
    uint32_t magic; /**< CONNECTION_MAGIC */
    brg_conn *bc;
} connection_link;

#define CONNECTION_MAGIC 0x42434f4eu

/** Bytes from it to its conn_state_t: a copy of the conn_rec, and one of a module's making, has that elsewhere. */
extern const size_t connection_to_state;

/** The object that @a c begins; NULL for a conn_rec that the core did not make, and for a copy of
 * one. */
static inline const connection_link *connection_link_of(const conn_rec *c)
{
    const connection_link *link = (const connection_link *)(const void *)c;

    if (!c || (const char *)c->cs != (const char *)c + connection_to_state)
        return NULL;
    return link->magic == CONNECTION_MAGIC ? link : NULL;
}

/** The brg_conn below a conn_rec; NULL for a connection that is not of this server's sockets. */
static inline brg_conn *connection_of(const conn_rec *c)
{
    const connection_link *link = connection_link_of(c);

    return link ? link->bc : NULL;
}

/** The protocol of @a c, which has a brg_conn, as figures tell it. */
brg_figure_protocol connection_protocol(conn_rec *c);

/** The same of a connection of the server's own, or its stream. Threads: the owner of bc. */
brg_figure_protocol connection_protocol_of(const brg_conn *bc);

/** 1 if nothing but the core stands on both of c's connection-level filter chains. */
int connection_is_plain(const conn_rec *c);

/**
 * Write the bytes that were set aside, as far as the socket takes them without waiting. May destroy
 * request pools (EOR).
 * @return APR_SUCCESS when nothing is left, APR_EAGAIN when the socket is full, else the error
 * (latched)
 */
apr_status_t core_output_flush(brg_conn *bc);

/** 1 while set-aside output waits. */
int core_output_pending(const brg_conn *bc);

/** Bytes of memory in it. */
apr_size_t core_output_memory(const brg_conn *bc);

/** 1 if output of all connections of the loop that waits in memory is much. Threads: the loop. */
int core_output_is_pressed(const brg_conn *bc);

/** A worker gets the connection: its output does not count any more. Threads: the loop. */
void core_output_leaves_loop(brg_conn *bc);

/**
 * The client is slow: waiting memory goes to disk, and so do later additions until all is sent.
 * @return 1: some of it is on its way; 0: it stays in memory (OutputSpoolSize, a disk that failed)
 * Threads: the loop. Blocking: no.
 */
int core_output_park(brg_conn *bc);

/** 1 while output waits only to share a call with the answer to the next request, which is here. */
int core_output_gathers(const brg_conn *bc);

/** Count bytes that the loop wrote past the core's output, for brg_connection_octets(). */
void core_output_add_bytes(brg_conn *bc, apr_off_t n);

/** Bytes handed to the kernel since this was last asked. */
uint64_t core_output_take_bytes(brg_conn *bc);

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

/** That slot. */
int connection_child_slot(void);

/**
 * The id of a thread's connection number @a count (from 1) in the process of scoreboard slot
 * @a slot: no other of the server's connections has it. Ids of threads outside 0 .. threads - 1
 * are of one series, whose count they share.
 * @param slots    slots are 0 .. slots - 1
 */
long connection_id_of(unsigned long count, int slot, long slots, int thread, long threads);

/** The id of a connection that the calling thread makes. */
long connection_next_id(void);

/** get_pollfd_from_conn hook. */
struct apr_pollfd_t;
apr_status_t connection_get_pollfd(conn_rec *c, struct apr_pollfd_t *pfd,
                                   apr_interval_time_t *timeout);

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

/** The connection of connection_socket(); NULL: it has ended, or @a csd is another one. Threads: the owner of @a csd. */
brg_conn *connection_of_socket(apr_socket_t *csd);

/** The socket has no descriptor any more, and is the connection's no longer: its pool goes. Once for each connection_socket(). */
void connection_disown(apr_socket_t *csd);

/** Context of CORE_IN for @a c. @a bc is NULL for a connection that is not of this server's
 * sockets. */
struct core_input *core_input_create(conn_rec *c, brg_conn *bc, apr_socket_t *csd);
void core_input_idle(struct core_input *in); /**< for connection_input_idle() */
apr_time_t core_input_body_due(struct core_input *in,
                               apr_time_t now);   /**< for connection_body_due() */
void core_input_body_late(struct core_input *in); /**< for connection_body_late() */
apr_status_t core_input_insert_network_bucket(conn_rec *c, apr_bucket_brigade *bb,
                                              apr_socket_t *csd);
void core_input_register(apr_pool_t *p);

/** Output state for @a c; also the context of CORE. @a bc as above. */
struct core_output *core_output_create(conn_rec *c, brg_conn *bc, apr_socket_t *csd);

/** Drop waiting output (request pools of EOR buckets are destroyed) before the connection's pool
 * goes. */
void core_output_drop(struct core_output *out);
void core_output_register(apr_pool_t *p);

/** Bytes handed to the kernel on this connection so far. Owner thread of the connection only. */
apr_off_t core_output_bytes(const conn_rec *c);

/** The connection is of no more use: latch it, so that nothing is sent after a gap. */
void connection_abort(conn_rec *c);

/** Timeout of the connection's socket in microseconds, as modules may have set it; negative = for
 * ever. */
apr_interval_time_t connection_timeout(conn_rec *c);

/** A stream's timeout in the place of Timeout, after connection_attach_stream(); 0: that. */
void connection_stream_timeout(brg_conn *bc, apr_interval_time_t timeout);

/** Output passed to the core's filter of bc does not gather: each piece is written at once. */
void core_output_at_once(brg_conn *bc);

#endif
