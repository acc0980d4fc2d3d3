/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_QUIC_H
#define BRIGADE_TLS_TLS_QUIC_H

/**
 * @file tls_quic.h
 * The TLS handshake of a QUIC connection (RFC 9001): messages go in CRYPTO frames, and packets are encrypted with the
 * secrets that the handshake gives. Certificates, virtual hosts, tickets, client certificates and protocols are those of
 * TLS over TCP: the same contexts, the same callbacks.
 *
 * tls_quic.c            what both backs have in common
 * tls_quic_notes.c      what a step says, in order
 * tls_quic_compat.c     OpenSSL before 3.5: secrets by our key derivation (tls_kdf.c), messages by its records
 * tls_quic_callbacks.c  OpenSSL 3.5 and later: SSL_set_quic_tls_cbs()
 *
 * Threads: the connection's loop, calls of the user included. Blocking: no; slow steps are left to
 * a worker, and the handshake goes on by itself when that is done.
 */
#include "conn.h"
#include <stddef.h>
#include <stdint.h>

/** Which keys a CRYPTO frame's packet has (RFC 9001, 2.1). */
typedef enum tls_quic_level {
    TLS_QUIC_INITIAL,
    TLS_QUIC_EARLY,
    TLS_QUIC_HANDSHAKE,
    TLS_QUIC_APPLICATION,
    TLS_QUIC_LEVELS
} tls_quic_level;

#define TLS_QUIC_SECRET_MOST 48 /**< bytes of a secret */

/** The handshake's calls to its connection. Within tls_quic_give(), or within the run of a worker's
 * return. */
typedef struct tls_quic_user {
    /** Bytes for the peer, behind those before of that level. Copied by the callee. @return 0; -1: no memory, it ends */
    int (*send)(void *of, tls_quic_level level, const uint8_t *data, size_t len);
    /** Keys of a level. @param suite  of TLS: 0x1301 AES-128-GCM, 0x1302 AES-256-GCM (SHA-384), 0x1303 ChaCha20-Poly1305
     * @return 0; -1: it ends */
    int (*secret)(void *of, tls_quic_level level, int is_write, uint16_t suite,
                  const uint8_t *secret, size_t len);
    /** The peer's transport parameters came, and those of this side leave behind them: they may be changed in place. It knows nothing
     * but its arguments. Threads: any. May be NULL */
    void (*answer_params)(const uint8_t *peer, size_t len, uint8_t *ours, size_t ours_len);
    /** The peer's transport parameters, as they came, before secrets of TLS_QUIC_APPLICATION. @return 0; -1: they are wrong, it ends */
    int (*peer_params)(void *of, const uint8_t *params, size_t len);
    /** The handshake failed with this alert: the connection ends with CRYPTO_ERROR, 0x100 + alert. Comes once; nothing comes after it. */
    void (*alert)(void *of, unsigned alert);
    /** Early data is taken (RFC 9001, 4.6): the secret of TLS_QUIC_EARLY was told, and those to write with. The client's parameters
     * and ALPN are known; done() follows. The user may set bc->driver from now on: no worker takes part any more. May be NULL */
    void (*early)(void *of);
    /** The handshake is done, within tls_quic_give() or the return of a worker. ALPN is the
     * server's choice. */
    void (*done)(void *of);
    /** The process ends, or the loop is short of room, while the handshake goes on: the user closes its connection at once,
     * bc, too (loop_close()). On the loop, or after all threads ended. */
    void (*drop)(void *of);
} tls_quic_user;

/** A handshake, and its facts for requests afterwards (tls_connection.h). Belongs to bc, as its
 * transport's. */
typedef struct tls_quic tls_quic;

/**
 * Begin a handshake as a server.
 * @param bc      of loop_conn_begin(): it gets the transport tls_quic_transport, and a driver of this room: the user
 *                sets another one when the handshake is done
 * @param user    lives as long as bc; @a of is handed to it
 * @param params  transport parameters of this side (RFC 9000, 18), encoded; copied
 * @return NULL: no memory, or the server has no TLS: logged
 */
tls_quic *tls_quic_begin(brg_conn *bc, const tls_quic_user *user, void *of, const uint8_t *params,
                         size_t len);

/**
 * Take early data in this handshake, and in later ones with its tickets. Directly behind
 * tls_quic_begin().
 * @param bound  the parameters that clients remember of this server, as a number that is not 0:
 *               early data of a ticket with another number is not taken (RFC 9000, 7.4.1)
 */
void tls_quic_allow_early(tls_quic *q, uint64_t bound);

/** 1: this OpenSSL has early data for QUIC. Threads: any */
int tls_quic_has_early(void);

/**
 * Bytes of CRYPTO frames, in order, of a level. Bytes that come while a worker has the handshake
 * are kept.
 * @return 0; -1: it failed, and alert() was called (within this call, or before)
 */
int tls_quic_give(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len);

/**
 * The user is gone: no call comes any more. loop_close(bc) frees it (transport.end).
 * @return 0; 1: a worker has it, and bc is closed when it returns: the caller forgets bc
 */
int tls_quic_end(tls_quic *q);

/** 1 if the program can do QUIC with this OpenSSL; else @a why is set. Threads: main, after the configuration was read. */
int tls_quic_works(const char **why);

/** Contexts of the server processes to come take part in handshakes of QUIC, or not. Threads: main. */
void tls_quic_want(int on);

#endif
