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
 * tls_quic_compat.c     OpenSSL before 3.5: secrets by our key derivation (tls_kdf.c), messages by its records
 * tls_quic_callbacks.c  OpenSSL 3.5 and later: SSL_set_quic_tls_cbs()
 *
 * Threads: the connection's loop, calls of the user included. Blocking: no; what takes long is left to a worker, and the
 * handshake goes on by itself when that is done.
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

/** What the handshake tells its connection. Within tls_quic_give(), or within the run of a worker's return. */
typedef struct tls_quic_user {
    /** Bytes for the peer, behind those before of that level. Copied by the callee. @return 0; -1: no memory, it ends */
    int (*send)(void *of, tls_quic_level level, const uint8_t *data, size_t len);
    /** Keys of a level. @param suite  of TLS: 0x1301 AES-128-GCM, 0x1302 AES-256-GCM (SHA-384), 0x1303 ChaCha20-Poly1305
     * @return 0; -1: it ends */
    int (*secret)(void *of, tls_quic_level level, int is_write, uint16_t suite,
                  const uint8_t *secret, size_t len);
    /** The peer's transport parameters, as they came, before secrets of TLS_QUIC_APPLICATION. @return 0; -1: they are wrong, it ends */
    int (*peer_params)(void *of, const uint8_t *params, size_t len);
    /** The handshake failed with this alert: the connection ends with CRYPTO_ERROR, 0x100 + alert. Comes once; nothing comes after it. */
    void (*alert)(void *of, unsigned alert);
    /** The handshake is done, within tls_quic_give() or the return of a worker. ALPN is what the server speaks. */
    void (*done)(void *of);
    /** The process ends, or the loop is short of room, while the handshake goes on: the user closes its connection at once,
     * bc, too (loop_close()). On the loop, or after all threads ended. */
    void (*drop)(void *of);
} tls_quic_user;

/** A handshake, and what requests may know of it afterwards (tls_connection.h). Belongs to bc, as its transport's. */
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
 * Bytes of CRYPTO frames, in order, of a level. What comes while a worker has the handshake is kept.
 * @return 0; -1: it failed, and alert() was called (within this call, or before)
 */
int tls_quic_give(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len);

/** 1 when the handshake is complete. */
int tls_quic_is_done(const tls_quic *q);

/** 1 while a worker has the handshake: bc may not be closed. tls_quic_end() ends it then, too, when the worker returns. */
int tls_quic_is_busy(const tls_quic *q);

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
