/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_QUIC_QUIC_H
#define BRIGADE_QUIC_QUIC_H

/**
 * @file quic.h
 * The QUIC transport of the server: RFC 9000, 9001, 9002, 9368, 9369. It knows nothing of HTTP.
 *
 *   quic_endpoint  a UDP socket of one loop, and its connections
 *   quic_conn      a connection; it has a brg_conn whose descriptor is that socket, borrowed
 *   quic_stream    a stream of it
 *
 * Sent data is held by its owner until the peer has acknowledged it; lost data is sent again from
 * there.
 *
 * Threads: the loop's own, all of it. Blocking: never.
 */
#include "conn.h"
#include "shared_ref.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct quic_endpoint quic_endpoint;
typedef struct quic_conn quic_conn;
typedef struct quic_stream quic_stream;

#define QUIC_CID_LEN 8    /**< bytes of the connection ids that the server issues */
#define QUIC_KEY_BYTES 32 /**< of each secret of quic_setup */

/** Why a connection ended. */
typedef struct quic_end {
    uint64_t code;
    uint8_t is_application; /**< the code is the application protocol's */
    uint8_t by_peer;
    /** nobody said anything: idle for too long, a stateless reset, or the handshake took too long */
    uint8_t is_silent;
    const char *reason; /**< text of ours, or "" */
} quic_end;

/** Functions of the application protocol. Between begun and closed a connection is up. None of them
 * may free the connection, but by quic_conn_close() and quic_conn_drop(), which are allowed
 * everywhere. */
typedef struct quic_user {
    /**
     * A client begins a handshake. quic_conn_bc() has the client's address; this sets its driver, chain and base.
     * @return 0: the client is refused, and the bc is closed by the caller
     */
    int (*accepted)(quic_conn *qc);
    /** The handshake is done; or early data is taken, and is not: quic_conn_is_up(). */
    void (*begun)(quic_conn *qc);
    /** The handshake is done, and begun() was called for early data. May be NULL, where quic_setup.early is 0 */
    void (*up)(quic_conn *qc);
    /** The peer opened a stream. */
    void (*stream_came)(quic_stream *qs);
    /** Bytes in order, valid during the call; quic_stream_credit() tells later that they are consumed. len may be 0 with fin */
    void (*data)(quic_stream *qs, const uint8_t *data, size_t len, int fin);
    /** The peer sends no more (RESET_STREAM). */
    void (*reset)(quic_stream *qs, uint64_t code);
    /** The peer reads no more (STOP_SENDING), of a stream of ours without a user, too. RESET_STREAM with the same code is sent. Nothing
     * may be written any more. */
    void (*stopped)(quic_stream *qs, uint64_t code);
    /** The peer takes more of it: quic_stream_room() was 0, and is not any more. May be NULL */
    void (*room)(quic_stream *qs);
    /** All of it is over in both directions, acknowledged: qs is gone behind this. */
    void (*ended)(quic_stream *qs);
    /** There is room for @a room bytes on the connection (congestion, pacing, flow control, less
     * the bytes that are written and not sent): write to streams, in order of their urgency. Called
     * after quic_conn_wants(), again and again until it has nothing to write.
     * @return 0: nothing more is to be written: it is called again after the next quic_conn_wants()
     */
    int (*fill)(quic_conn *qc, size_t room);
    /** The connection is over. qc and its streams are gone behind this; its bc is the callee's, which calls loop_close() at once or later. */
    void (*closed)(quic_conn *qc, const quic_end *why);
} quic_user;

/** Data of an endpoint. All of it lives as long as the endpoint. */
typedef struct quic_setup {
    const quic_user *user;
    const void *of;     /**< the user's: quic_conn_of() */
    uint8_t route;      /**< of the socket in its group: see quic_cid_route() */
    uint32_t route_key; /**< odd, random: of all loops, processes and generations */
    /** of address tokens: the same in all processes and generations */
    uint8_t token_key[QUIC_KEY_BYTES];
    uint8_t reset_key[QUIC_KEY_BYTES];     /**< of stateless resets: the same in all of them, too */
    apr_interval_time_t idle_timeout;      /**< default 30 s */
    apr_interval_time_t handshake_timeout; /**< default 10 s */
    uint32_t max_streams; /**< requests (bidirectional streams of the peer) at once; default 100 */
    uint32_t max_uni_streams; /**< default 3 and some for GREASE: 8 */
    uint32_t stream_window;   /**< bytes of a stream that nobody has consumed; default 65536 */
    uint32_t conn_window;     /**< of the connection; default 1 MB */
    /** handshakes under way of this endpoint from which on clients must prove their address; 0:
     * always; UINT32_MAX: never */
    uint32_t retry_above;
    uint32_t handshakes_most; /**< under way; more are dropped; default 4096 */
    /** where connections write what they do (quic_qlog.h); NULL: they do not */
    const char *qlog_dir;
    int (*qlogs)(const quic_conn *qc); /**< 1: this one does; NULL: all */
    /** what clients remember of this server, as a number (tls_quic_allow_early()): they may send
     * early data; 0: they may not */
    uint64_t early;
} quic_setup;

/** Set the defaults. */
void quic_setup_defaults(quic_setup *setup);

/** The product of a connection id's random part: big-endian 32 bits at cid[1], times the key. */
static inline uint32_t quic_cid_product(const uint8_t *cid, uint32_t route_key)
{
    return ((uint32_t)cid[1] << 24 | (uint32_t)cid[2] << 16 | (uint32_t)cid[3] << 8 | cid[4]) *
           route_key;
}

/** Make an id of ours out of QUIC_CID_LEN random bytes. A filter of the kernel reads it, too. */
static inline void quic_cid_lead(uint8_t *cid, uint8_t route, uint32_t route_key)
{
    const uint32_t m = quic_cid_product(cid, route_key);

    cid[0] = (uint8_t)(route ^ m >> 24);
    cid[5] = (uint8_t)(m >> 16);
    cid[6] = (uint8_t)(m >> 8);
}

/** The route that an id of ours leads to; -1: it is not one of ours. */
static inline int quic_cid_route(const uint8_t *cid, uint32_t route_key)
{
    const uint32_t m = quic_cid_product(cid, route_key);

    return cid[5] == (uint8_t)(m >> 16) && cid[6] == (uint8_t)(m >> 8) ? cid[0] ^ (int)(m >> 24)
                                                                       : -1;
}

/* ---- the endpoint ---- */

/**
 * Receive on @a fd, a UDP socket that does not block and is bound, for the listener that it belongs to; it sets the options that it
 * needs on it (packet information, ECN, GRO). The descriptor stays the caller's, and must be open until quic_endpoint_end().
 * @return NULL: no memory, or the socket does not do it; logged
 */
quic_endpoint *quic_endpoint_begin(brg_loop *loop, brg_listener *listener, int fd,
                                   const quic_setup *setup);

/** Take no new connections any more: present ones go on. New clients get no answer here. */
void quic_endpoint_drain(quic_endpoint *ep);

/** All connections are closed: the rest (draining ones) goes, too. */
void quic_endpoint_end(quic_endpoint *ep);

/* ---- connections ---- */

/** Its brg_conn. With it bc->loop, and bc->above, which is the user's. */
brg_conn *quic_conn_bc(const quic_conn *qc);

/** quic_setup.of of its endpoint. */
const void *quic_conn_of(const quic_conn *qc);

/** There is something to write: quic_user.fill is called in this turn, when there is room. */
void quic_conn_wants(quic_conn *qc);

/** End the connection: the peer is told. qc and its streams are gone; closed and ended are not called; bc is the caller's.
 * @param reason  at most 100 bytes of it are sent; may be NULL */
void quic_conn_close(quic_conn *qc, uint64_t code, int is_application, const char *reason);

/** The same at once, when the process has to end: the peer is told if the socket takes it. */
void quic_conn_drop(quic_conn *qc);

/** A unidirectional stream of ours. NULL: the peer does not allow another one (yet), or no memory. */
quic_stream *quic_open_uni(quic_conn *qc);

/** 1: the handshake is done; early data is over. */
int quic_conn_is_up(const quic_conn *qc);

/* ---- streams ---- */

uint64_t quic_stream_id(const quic_stream *qs);
quic_conn *quic_stream_conn(const quic_stream *qs);
static inline int quic_id_is_uni(uint64_t id)
{
    return (id & 2) != 0;
}

/** The user's pointer. NULL, as at first: none of data, reset and ended is called for it, but its bytes are dropped and credited. So
 * stream_came sets it. */
void *quic_stream_user(const quic_stream *qs);
void quic_stream_set_user(quic_stream *qs, void *user);

/** Bytes that the peer takes of this stream, less the written ones. The connection's own window is
 * in fill's room. */
uint64_t quic_stream_room(const quic_stream *qs);

/**
 * Append to the output, all of it, beyond the windows, too.
 * @param owner  is held until the peer has all of it; @a data is valid as long. NULL: the bytes are copied
 * @param fin    nothing follows; len may be 0
 * @return 0; -1: no memory, and the connection is to be closed
 */
int quic_stream_write(quic_stream *qs, const void *data, size_t len, shared_ref *owner, int fin);

/** So many bytes that data() brought are consumed. The rest is when the stream ends or is stopped. */
void quic_stream_credit(quic_stream *qs, uint64_t bytes);

/** Send no more: RESET_STREAM. Written data is let go. */
void quic_stream_reset(quic_stream *qs, uint64_t code);

/** Read no more: STOP_SENDING. data() is not called any more. */
void quic_stream_stop(quic_stream *qs, uint64_t code);

/* ---- figures ---- */

typedef struct quic_figures {
    /** sends: calls of the kernel */
    uint64_t datagrams_in, datagrams_out, bytes_in, bytes_out, sends;
    uint64_t packets_bad; /**< that could not be decrypted or read */
    uint64_t packets_lost, packets_sent;
    uint64_t conns, handshakes_failed, retries, resets_sent, refused;
    uint64_t migrations, key_updates, floods, early;
    uint64_t gso;          /**< datagrams that left together with others */
    uint64_t probes;       /**< times that nothing was acknowledged in time */
    uint64_t congestion;   /**< times that a window became smaller */
    uint64_t rtt_us, rtts; /**< sum and number of round trips that were measured */
} quic_figures;

/** Of an endpoint, since it began. */
const quic_figures *quic_endpoint_figures(const quic_endpoint *ep);

#endif
