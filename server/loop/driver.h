/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_DRIVER_H
#define BRIGADE_LOOP_DRIVER_H

/**
 * @file driver.h
 * The two seams above the event loop: the protocol that drives a connection, and the
 * services of a loop. The loop knows neither; its creator hands them in (loops_config).
 */
#include "conn.h"

/** How a protocol drives its connections. A connection may change its driver while it is idle. */
struct conn_driver {
    const char *name; /**< "http/1.1" */
    /** Go on with bc as far as possible: it was read from, its output can go on, or a worker gave it
     * back. On the loop. bc may be gone afterwards. */
    void (*run)(brg_conn *bc);
    /** bc's deadline passed. On the loop. */
    void (*expired)(brg_conn *bc);
    /** Close bc at once, whatever it was doing. On the loop, or after all threads ended. */
    void (*drop)(brg_conn *bc);
    /** The worker pool gave bc back (bc->queue.refused says why): answer, or let it go. On the loop; bc may
     * be gone afterwards. */
    void (*refused)(brg_conn *bc);
    /** The part of bc's request that may wait, to its end. On a worker. */
    void (*work)(brg_conn *bc);
    /** The process is to end: tell the client. NULL: nothing has to be told. On the loop; bc may be
     * gone afterwards. */
    void (*drain)(brg_conn *bc);
};

/** Another protocol than HTTP/1, for connections of the server's own. */
typedef struct conn_protocol {
    uint8_t number;   /**< conn_protocol_number */
    const char *name; /**< in ALPN, as Protocols has it */
    const struct conn_driver *driver;
    int is_quic; /**< it lies over QUIC, and over nothing else */
    /** 1 if a clear connection whose first bytes are these is to be driven by it; -1: too few are here to tell. NULL: none
     * is. */
    int (*claims)(const brg_conn *bc, const char *in, size_t len);
    /** 1 if a client that offers this list (the wire form of ALPN) to @a s over TLS gets it, where no module
     * proposes another one. */
    int (*chosen)(const server_rec *s, const unsigned char *in, size_t len);
    /** 1 if @a s does not speak it where TLS is older than 1.2, or has a cipher without ephemeral keys or
     * without authenticated encryption (RFC 9113, 9.2.2). */
    int (*is_modern)(const server_rec *s);
} conn_protocol;

/**
 * For the server processes to come.
 * @param number    of it; not CONN_HTTP1, which is always spoken
 * @param protocol  NULL: it is not offered
 * @param proposes  hooks of the kind protocol_propose that its module has, whether it is offered or not
 * Threads: main, while the configuration is read.
 */
void conn_protocol_set(conn_protocol_number number, const conn_protocol *protocol, int proposes);

/** The @a proposes of all protocols: where there are more such hooks, modules speak other ones. */
int conn_protocols_propose(void);

/** The protocol with that number, or NULL. Threads: any, while no configuration is read. */
const conn_protocol *conn_protocol_of(unsigned number);

/** The protocol with that name, or NULL. Threads: as above. */
const conn_protocol *conn_protocol_named(const char *name, size_t len);

/** Services that a loop has beside its connections. */
typedef struct loop_services {
    const struct conn_driver *driver; /**< of new connections */
    /** bc was accepted: find the virtual hosts that its address leads to (bc->chain, bc->base). */
    void (*accepted)(brg_conn *bc);
    /** A loop is made, before its thread starts; and its end, when all threads ended. */
    void (*begin)(brg_loop *loop);
    void (*end)(brg_loop *loop);
    /** Learn of every change to watched files made until now: once per turn, before it answers. */
    void (*refresh)(brg_loop *loop);
    /** Free the calling thread's reserve for new connections. */
    void (*thread_trim)(void);
    /** Once a second: set the figures (loop->figures) that the loop itself cannot know. NULL: there
     * are none. */
    void (*figures)(brg_loop *loop);
} loop_services;

/** A transport that new connections may get. Its owner says while the configuration is read that there
 * is one. */
typedef struct loop_layer {
    /** In the place of loop_services.accepted. */
    void (*accepted)(brg_conn *bc);
    /** A loop is made; all its connections are closed. */
    void (*begin)(brg_loop *loop);
    void (*end)(brg_loop *loop);
    /** The calling thread, a loop's or a worker, ends: it returns everything that belongs to loops,
     * before end() frees that. */
    void (*thread_end)(void);
} loop_layer;

/** The receiver of datagrams that come to the addresses of listeners. */
typedef struct loop_datagrams {
    /** 1 if a listener has a UDP socket beside its own. Threads: main, of the supervisor */
    int (*wanted)(const server_rec *s, const struct ap_listen_rec *rec);
    /** The key by which connection ids lead to their sockets: the same for all generations.
     * Threads: as above */
    uint32_t (*route_key)(void);
    /** A loop is made, and @a l has a socket. @return 0; -1: logged. Threads: main */
    int (*begin)(brg_loop *loop, brg_listener *l);
    /** The loop takes no further connections. Threads: the loop's own */
    void (*drain)(brg_loop *loop);
    /** Once a second: set its figures. Threads: as above */
    void (*figures)(brg_loop *loop);
    /** All its connections are closed. */
    void (*end)(brg_loop *loop);
} loop_datagrams;

/** For the server processes to come; NULL: none. Lives as long as they. Threads: main. */
void loop_datagrams_set(const loop_datagrams *datagrams);
const loop_datagrams *loop_datagrams_offered(void);

/** A step before all else with new connections, in the place of loop_services.accepted and the layer's; NULL: none. It
 * calls loop_front_done(), at once or later. For the server processes to come. Threads: main. */
void loop_front_set(void (*accepted)(brg_conn *bc));

/** Says of each connection whether it may stay. */
typedef struct loop_doorkeeper {
    /** It is known whom bc is with, and bc->base is set. @return 0: it is closed, without a word */
    int (*enters)(brg_conn *bc);
    /** bc, which has a place (bc->held_places), is closed. */
    void (*leaves)(brg_conn *bc);
} loop_doorkeeper;

/** For the server processes to come; NULL: all may stay. Lives as long as they. Threads: main. */
void loop_doorkeeper_set(const loop_doorkeeper *keeper);

/** bc is closed: its places are given back. Threads: its loop's. */
void loop_doorkeeper_leave(brg_conn *bc);

/** bc goes on as if it were accepted now. Threads: its loop's. */
void loop_front_done(brg_conn *bc);

/** For the server processes to come; NULL: none. Threads: main. */
void loop_layer_set(const loop_layer *layer);

#endif
