/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LISTEN_LISTEN_SOCKETS_H
#define BRIGADE_LISTEN_LISTEN_SOCKETS_H

/**
 * @file listen_sockets.h
 * Listening sockets: one per event loop of every server process, for each address of a Listen
 * directive.
 *
 * The supervisor opens them before any process starts and keeps them as long as the address stays
 * configured, over all reloads; closing one would reset the connections in its queue. When a reload
 * asks for fewer loops, the sockets that are too many are shared out among the loops that remain.
 */
#include "conn.h"
#include "ap_listen.h"
#include <sys/socket.h>

/** Which listeners have a UDP socket beside their own, by address. @param lives  1 if processes of a generation have not ended */
void listen_set_lives(int (*lives)(int generation));

/** The generation serves: from now on new clients of HTTP/3 come to it. */
void listen_serves(void);

/** How many loops there are to serve; set before ap_setup_listeners(). */
void listen_set_shares(int processes, int loops);

/**
 * The listeners of one server process. Its sockets are those of the supervisor; all others are
 * closed in the calling process.
 *
 * @param process  index among the server processes of a generation
 * @return [loops], each a NULL-terminated array; allocated from @a p
 * Call in a new child, or in the only process with -X (@a keep_all: nothing is closed).
 */
brg_listener ***listen_for_process(apr_pool_t *p, int process, int keep_all);

/**
 * All processes that have a listening socket share it, so a process that was taken over can end it
 * for all later ones (shutdown(2)). The supervisor looks before it starts a process, and now and
 * then: such a socket listens again, or another one takes its place.
 */
void listen_restore(void);

/** For a trial: how many addresses the server would listen at. With a start that is not looked at: another server may have them
 * still. With a reload it has, or can have, them. Logs why it cannot. */
int listen_try(server_rec *s);

/** In a trial for a reload: which addresses the server that asked has, each in hexadecimal digits as for bind(), behind a space;
 * "*" for any. @a text lives as long as the trial. */
void listen_trial_addresses(const char *text);

/** Number of sockets that are open, of all addresses. */
int listen_sockets(void);

/** 1: its socket takes no IPv4: [::] does, unless 0.0.0.0 has a Listen of its own for the same port. */
int listen_v6only(const ap_listen_rec *rec);

/* ---- between listen.c and listen_socket.c ---- */

typedef struct listen_options {
    int backlog;
    int send_bytes, receive_bytes; /**< 0: as the system has it */
    int defer_accept_s;            /**< TCP_DEFER_ACCEPT, seconds */
} listen_options;

/** Open sockets for @a rec until there are @a n. Logs why it cannot. */
apr_status_t listen_socket_ensure(ap_listen_rec *rec, int n, int v6only, int defer,
                                  const listen_options *options);

/** Make sockets that a server process ended, or changed, listen again. Logs its repairs. */
void listen_socket_restore(const listen_options *options);

/** 1 if a socket for @a rec can be bound; else it is logged why not. Nothing listens. */
int listen_socket_try(ap_listen_rec *rec, int v6only);

/** Before and after a round of ensure: sockets that no rec asked for in between are closed. */
void listen_socket_mark(void);
void listen_socket_sweep(void);

/** Close all. */
void listen_socket_close_all(void);

/** The sockets of one address, as they are handed to the program that takes this one's place. */
typedef struct listen_handed {
    struct sockaddr_storage addr;
    socklen_t addr_len;
    int given;      /**< the descriptor of the service manager that they are copies of; -1: none */
    const int *fds; /**< [n] */
    int n;
} listen_handed;

/** Of the @a i-th address, from 0. @return 0: past the last */
int listen_socket_handed(int i, listen_handed *out);

/** Take the sockets of an address over; before any configuration is read, and after listen_given_take(). */
void listen_socket_take(const listen_handed *from);

/* ---- listen_given.c: sockets that the service manager opened ---- */

/** Take the sockets of LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, once, as the program starts;
 * programs that the server starts do not have these variables. */
void listen_given_begin(void);

/** A socket for @a rec: of its address, else of its port at all addresses, else one whose name is its port or its
 * protocol. @return it, taken until listen_given_return(), and never to be closed; -1: none */
int listen_given_find(const ap_listen_rec *rec);
void listen_given_return(int fd);

/** The @a i-th of them, from 0. @return its descriptor, with its name; -1: past the last */
int listen_given_handed(int i, const char **name);

/** Take one over from the program that this one replaces. */
void listen_given_take(int fd, const char *name);

/** @a fd is in use, as by listen_given_find(). */
void listen_given_use(int fd);

/** Log, once each, sockets without a Listen line. */
void listen_given_tell(void);

/* ---- listen_udp.c: for HTTP/3 ---- */

/**
 * UDP sockets of @a rec's address for @a n loops of a generation.
 * @param key    quic_setup.route_key, the same in all generations
 * @param lives  1 if processes of a generation have not ended
 * @return APR_SUCCESS, or an error, which was logged
 */
apr_status_t listen_udp_ensure(const ap_listen_rec *rec, int n, int v6only, uint32_t key,
                               int generation, int (*lives)(int generation));

/** Before a round of ensure: the next listen_udp_switch() releases sockets that no rec asked for.
 */
void listen_udp_mark(void);

/** The generation serves: new clients come to it. */
void listen_udp_switch(void);
void listen_udp_close_all(void);

/** The UDP socket of @a rec for the loop @a owner of all loops. @param route  [out] its number in its group @return -1: none */
int listen_udp_of(const ap_listen_rec *rec, int owner, uint8_t *route);

/** In a server process: close all but those of @a n owners from @a first on. */
void listen_udp_release_others(int first, int n);

/** The UDP sockets of one address, as they are handed to the program that takes this one's place. */
typedef struct listen_udp_handed_over {
    struct sockaddr_storage addr;
    socklen_t addr_len;
    int fds[256], generation[256], n; /**< in the order of their group */
} listen_udp_handed_over;

/** Of the @a i-th address, from 0. @return 0: past the last */
int listen_udp_handed(int i, listen_udp_handed_over *out);

/** Take the sockets of an address over. */
void listen_udp_take(const listen_udp_handed_over *from);

/** 1 if the sockets survived an earlier configuration: this is a reload. */
int listen_socket_any(void);

#endif
