/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_CLIENT_H
#define BRIGADE_TLS_TLS_CLIENT_H

/**
 * @file tls_client.h
 * TLS on connections that this server makes, on event loops: to servers behind
 * it, by SSLProxy*.
 *
 *   configuration  tls_client_context_make() for each server and each <Proxy> section
 *   connected      tls_client_begin(); then tls_client_step() until it is done, whenever the socket can be read from or
 *                  written to
 *   afterwards     transport_recv() and transport_sendv(), as on accepted connections (transport.h)
 *   the end        transport_end(), which sends close_notify unless bc->failed is set, and frees it all
 *
 * bc needs: loop (NULL: a worker has the connection), fd (connected, non-blocking), tag; transport and
 * below NULL; base: whose log is written, or NULL for the context's. Nothing else of it is read. bc->rd_ready is
 * set where a further transport_recv() gives something though no event of the socket will tell: after any call here or of the
 * transport, look at it before you wait. When an event tells that the peer shut its side (EPOLLRDHUP), read once more even if
 * the last read got less than it had room for, as with a clear socket.
 *
 * A recv() of 0 is the end of the server's data, with a close_notify or without
 * (tls_client_was_closed()), and bytes of a broken connection are never an end: -1 with
 * ECONNABORTED. The server may shut its side while this one goes on to send.
 *
 * Records are made without OpenSSL where that is right (TLS 1.3; 1.2 with AES-GCM or ChaCha20), else by it: with other
 * ciphers, on workers, and where this server has certificates to show, since a server may ask for one at any time. Without those, a
 * server that asks to renegotiate TLS 1.2 gets a warning that it will not be done.
 *
 * Errors are logged with the numbers and words of Apache's mod_ssl, at its levels, as of the remote
 * server. Signatures with a certificate of this server's are made on the loop.
 *
 * Threads: the loop or the worker that owns bc, unless said otherwise. Blocking: nothing, unless said otherwise.
 */
#include "conn.h"

struct ap_conf_vector_t;

/** Settings of SSLProxy*, with files read: the same for all that say the same. Lives as long as the configuration. */
typedef struct tls_proxy_ctx tls_client_context;

/**
 * The context of a server or of a <Proxy> section, to be called in a post_config hook behind
 * APR_HOOK_FIRST, so that files are read as root and each loop has its own when it begins.
 * @param p        the configuration's
 * @param section  gets missing settings from @a s; NULL: s's own
 * @return NULL: SSLProxyEngine is not on, or a setting does not work, which was logged (APLOG_EMERG), or there is no ssl
 *         module of the server's own
 * Threads: main. Blocking: reads files
 */
const tls_client_context *tls_client_context_make(apr_pool_t *p, server_rec *s,
                                                  struct ap_conf_vector_t *section);

/**
 * The context that was made for these settings, where they are on.
 * @param dir  r->per_dir_config, or a section's; NULL: @a s's own
 * @return NULL: off
 * Threads: any
 */
const tls_client_context *tls_client_context_of(const server_rec *s,
                                                const struct ap_conf_vector_t *dir);

#define TLS_CLIENT_SESSIONS 4 /**< one for each of so many connections at once */

/**
 * Sessions with a server, by which handshakes with it are shorter: the caller has one of these, set to zero, for each
 * server, name and context. Those of TLS 1.3 are used once.
 * Threads: those of one loop. It outlives the connections that it is given to.
 */
typedef struct tls_client_sessions {
    struct ssl_session_st *session[TLS_CLIENT_SESSIONS]; /**< the newest is the last */
    unsigned n;
} tls_client_sessions;

/** Get one that is valid @a now (seconds since the epoch); the caller frees it. NULL: there is none. */
struct ssl_session_st *tls_client_session_get(tls_client_sessions *sessions, apr_time_t now);

/** Free them all. */
void tls_client_sessions_clear(tls_client_sessions *sessions);

/**
 * TLS begins on bc: its transport is set. Nothing is sent before tls_client_step().
 * @param name      that the server is asked for and that its certificate is to have, or an address; stays until the
 *                  handshake is over. NULL: any
 * @param alpn      protocols as ALPN has them on the wire ("\2h2\10http/1.1"); NULL: none
 * @param sessions  NULL: none are used or kept
 * @return APR_ENOMEM; APR_EGENERAL: the loop has nothing of this context, which was logged
 */
apr_status_t tls_client_begin(brg_conn *bc, const tls_client_context *context, const char *name,
                              const char *alpn, tls_client_sessions *sessions);

typedef enum tls_client_result {
    TLS_CLIENT_DONE,       /**< the handshake is over, and the server is the right one */
    TLS_CLIENT_WANT_READ,  /**< call again when the socket can be read from */
    TLS_CLIENT_WANT_WRITE, /**< ... or written to */
    TLS_CLIENT_FAILED      /**< logged; see tls_client_failure_of(). Close it: transport_end() */
} tls_client_result;

/** Go on with the handshake. To be called again after TLS_CLIENT_DONE does nothing. */
tls_client_result tls_client_step(brg_conn *bc);

/** Why a handshake failed. */
typedef struct tls_client_failure {
    unsigned number;    /**< of Apache's message, as 2411 of AH02411 */
    const char *reason; /**< static; NULL: it did not fail */
} tls_client_failure;

/** Of a connection of tls_client_begin(), until its transport_end(). */
tls_client_failure tls_client_failure_of(const brg_conn *bc);

/** The protocol that ALPN chose, until transport_end(). @return "": none */
const char *tls_client_protocol(const brg_conn *bc);

/** 1 if the server said that it sends nothing more: the bytes before are whole. */
int tls_client_was_closed(const brg_conn *bc);

#endif
