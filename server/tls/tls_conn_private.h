/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_CONN_PRIVATE_H
#define BRIGADE_TLS_TLS_CONN_PRIVATE_H

/**
 * @file tls_conn_private.h
 * A connection with TLS, and the TLS of its loop.
 *
 * tls_begin.c      a connection before its ClientHello is there
 * tls_handshake.c  the driver of connections until the handshake is done
 * tls_sign.c       signatures of the handshake that take long
 * tls_named.c      certificates by name, for which a handshake may wait
 * tls_client.c     connections that this server makes (tls_client.h)
 * tls_transport.c  struct conn_transport over TLS
 * tls_bio.c        between OpenSSL and the socket
 * tls_floods.c     bounds of requests of a client without data
 * tls_keys.c       keys of records after the handshake
 * tls_kdf.c        key derivation, as a provider of OpenSSL's
 * tls_hkdf.c       that of TLS 1.3
 * tls_prf.c        that of TLS 1.2
 * tls_digest.c     their digests
 * tls_share.c      connections share an SSL
 * tls_return.c     records are OpenSSL's again
 * tls_selftest.c   whether records of our own work with this OpenSSL
 *
 * An SSL is used by the thread that owns its connection.
 */
#include "tls_aead.h"
#include "conn.h"
#include "loop.h"
#include "tls_connection.h"
#include <openssl/ssl.h>
#include <time.h>

#define TLS_RECORD 16384            /**< most plaintext of a record */
#define TLS_BATCH (64 * 1024)       /**< plaintext that is encrypted before it is written */
#define TLS_SMALL 1369              /**< plaintext of a record that fits one packet */
#define TLS_SMALL_BYTES (64 * 1024) /**< so much is sent in small records first */
#define TLS_HANDSHAKES 8            /**< steps of handshakes in one turn of a loop ... */
#define TLS_HANDSHAKE_US 5000       /**< ... and in so many microseconds of it, but for one */
#define TLS_SIGNERS 1               /**< workers that make signatures for a loop at a time */
#define TLS_NAMING 64         /**< handshakes of a loop that wait for a certificate (tls_named.h) */
#define TLS_SIGN_BITS 3072    /**< RSA keys of so many bits are theirs */
#define TLS_READS 16          /**< reads from the socket in one call */
#define TLS_ASKS 100          /**< KeyUpdates and renegotiations in a second */
#define TLS_SHARED 16         /**< SSLs that a loop has for connections to share */
#define TLS_INPUT (33 * 1024) /**< ciphertext in one read: two records */

/** Ciphers of records that are made without SSL_write(). */
enum { TLS_AES_128_GCM, TLS_AES_256_GCM, TLS_CHACHA20, TLS_AEADS };

/** A cipher of OpenSSL's, see tls_record_private.h. */

/** Key derivation, see tls_kdf.c. */
typedef struct tls_kdf tls_kdf;

/** TLS of a loop. */
typedef struct tls_loop {
    OSSL_LIB_CTX *lib;
    SSL_CTX **ctx; /**< by tls_server_conf.index */
    struct tls_staple *staples;
    uint64_t *versions; /**< of their certificates, by tls_store_version() */
    /** when failed ones are tried once more; of clock_monotonic() */
    apr_time_t again;
    apr_time_t turn;           /**< the turn that steps were counted in */
    int steps;                 /**< handshake steps in it */
    apr_time_t steps_began;    /**< the first of them; of clock_monotonic() */
    tls_aead *aead[TLS_AEADS]; /**< NULL: OpenSSL has none */
    tls_kdf *kdf;
    SSL *shared[TLS_SHARED]; /**< see tls_share() */
    int shared_next;
    struct tls_view *views; /**< see tls_view_set() */
    int signing;            /**< connections whose signature a worker makes */
    /** when a session was offered that could not be taken up, and the loop signed */
    apr_time_t refused_at;
    struct tls_conn *sign_first, **sign_tail; /**< connections that wait for it */
    struct tls_named_pair *named;   /**< certificates by name that were used; NULL: none */
    int naming;                     /**< connections that wait for one */
    struct tls_proxy_ctx **clients; /**< by tls_proxy_ctx.index; see tls_client_here() */
    int clients_n;
} tls_loop;

typedef struct tls_records tls_records;
struct tls_quic;

/** A connection's TLS: brg_conn.below. */
#define TLS_CONN_TAG 0x544c5343u

struct tls_conn {
    uint32_t tag; /**< TLS_CONN_TAG */
    brg_conn *bc;
    /** NULL until the ClientHello is there; with t->shared: of several connections, to be looked at alone */
    SSL *ssl;
    tls_loop *loop;
    server_rec *server;  /**< that the handshake was for */
    unsigned char *held; /**< ciphertext that the socket did not take; malloc() */
    size_t held_off, held_len;
    struct transport_sink *sink; /**< takes the socket's place; NULL: the socket */
    size_t credit;               /**< plaintext that was encrypted and not yet reported as sent */
    size_t burst;                /**< bytes sent since the connection was last idle */
    apr_time_t sent_at;          /**< when; of the loop's clock */
    int reads_left;              /**< of this call */
    int asks;                    /**< KeyUpdates and attempts to renegotiate ... */
    apr_time_t asks_at;          /**< ... since then; of clock_monotonic() */
    /* From the handshake on: records are our own (tls_record_private.h). NULL: OpenSSL's. */
    tls_records *records;
    /* Read and unused bytes: plaintext, then ciphertext. malloc(), or NULL */
    unsigned char *kept;
    uint32_t kept_off, kept_plain, kept_len;
    /** of the session that was taken up, or looked at last; seconds since the epoch */
    time_t session_ends;
    int mode;                   /**< SSL_VERIFY_*: of its handshakes */
    uint8_t step;               /**< tls_handshake.c: result of a worker's step of the handshake */
    struct tls_conn *sign_next; /**< with t->queues */
    apr_time_t named_until;     /**< with t->naming: how long it waits; of the loop's clock */
    struct tls_client *client;  /**< this server made the connection; NULL: it was accepted */
    struct tls_quic *quic;      /**< its messages go in frames of QUIC (tls_quic.h); NULL */
    unsigned signs : 1;         /**< its ClientHello was left to a worker */
    unsigned queues : 1;        /**< for that */
    unsigned offers : 1;        /**< it was not: the client offers a session */
    unsigned signing : 1;       /**< it is one of tls_loop.signing */
    unsigned alerted : 1;       /**< OpenSSL sent an alert that ends the handshake */
    unsigned waits : 1;    /**< the rest of the handshake is a worker's: it may wait for others */
    unsigned generous : 1; /**< a certificate of an unknown authority counts (optional_no_ca) */
    unsigned drained : 1, last : 1, more : 1, established : 1, shut : 1, failed : 1, sni : 1,
        eof : 1, shared : 1;
    unsigned named : 1;  /**< a server has the name that the client said */
    unsigned naming : 1; /**< it waits for a certificate of that name, as one of tls_loop.naming */
    unsigned looks : 1;  /**< ... and looks for it now */
    unsigned own_cert : 1; /**< it has a certificate by name, not the server's */
};

/** Memory of a thread within a call of this room; nothing stays in it. */
typedef struct tls_scratch {
    size_t len; /**< of data: records to be written */
    /** a batch, and the overhead of its records */
    unsigned char data[TLS_BATCH + TLS_RECORD + 8192];
    char staged[TLS_RECORD];  /**< a record's plaintext, in one piece */
    const tls_conn *input_of; /**< whose input it is, within a call */
    size_t input_off, input_len;
    unsigned char input[TLS_INPUT]; /**< ciphertext as it was read */
} tls_scratch;

extern const struct conn_transport tls_transport;
extern const struct conn_driver tls_handshake_driver;
extern const struct conn_transport tls_quic_transport; /**< tls_quic.c */

/** The handshake is done: keep its facts for requests. @return 0; -1: no memory. Threads: the
 * loop's */
int tls_handshake_settle(tls_conn *t);

/** Free t->quic, which may be NULL. */
void tls_quic_free(struct tls_quic *q);

/** For SSL_CTX_set_msg_callback(): which messages went by. */
void tls_handshake_message(int sent, int version, int type, const void *data, size_t len, SSL *ssl,
                           void *unused);

/* ---- tls_sign.c ---- */

/** 1: the ClientHello that was just read leads to a signature that takes long; an OCSP response, which the
 * loop has, is fetched then. Threads: the loop's. */
int tls_handshake_signs_long(SSL *ssl);

/** Such a handshake goes on. @return 1: a worker may make the signature now; 0: it waits in a queue, and runs when it is its turn.
 * Threads: the loop's */
int tls_sign_begins(tls_conn *t);

/** Its worker made it: the next one may go. Threads: as tls_handshake_forget() */
void tls_sign_is_over(tls_conn *t);

/** Take @a t, which ends, out of the queue for signatures. Threads: the loop's, or after all threads ended */
void tls_handshake_forget(tls_conn *t);

/* ---- tls_named.c; threads: the loop's ---- */

/** Within the ClientHello's callback: give @a t the certificate of the name that it said, where there is one.
 * @return tls_named_state; below 0: no memory */
int tls_named_choose(tls_conn *t, const char *name, size_t len);

/** @a t does not wait any more. */
void tls_named_forget(tls_conn *t);
void tls_named_end(tls_loop *l);

/* ---- tls_begin.c; threads: the loop's ---- */

/** The state of a new connection. NULL: no memory */
tls_conn *tls_conn_new(brg_conn *bc);

/** 1 if @a data begins with a whole ClientHello, or with bytes that cannot become one: OpenSSL
 * knows the answer. 0: more is to come. Threads: any */
int tls_hello_is_whole(const unsigned char *data, size_t len);

/** Read until that is so. @return 1; 0: the rest is to come; -1: the client is gone */
int tls_hello_came(tls_conn *t, tls_scratch *in);

/** Make t->ssl. @return 0; -1: it cannot be, which was logged */
int tls_conn_begin(tls_conn *t);

/** The same without its BIOs. @return 0, or -1 */
int tls_conn_ssl(tls_conn *t);

/* ---- tls_bio.c; threads: the owner of the connection ---- */

/** A BIO for @a t, or NULL. */
BIO *tls_bio_new(tls_conn *t);

/** Write waiting records. @return 0: nothing waits; -1 with errno, EAGAIN: the socket takes no more
 */
int tls_flush(tls_conn *t);

/**
 * Reading begins: kept bytes are put into the thread's buffer, and reads may be made.
 * @return the buffer, or NULL: no memory, the connection failed
 */
tls_scratch *tls_input_begin(tls_conn *t);

/** Read once more behind the buffer's bytes. As recv(); t->drained: the socket is empty. */
ssize_t tls_input_more(tls_conn *t, tls_scratch *in);

/** Forget kept bytes. */
void tls_kept_drop(tls_conn *t);

/** Reading ends: unused bytes are kept. */
void tls_input_end(tls_conn *t);

/** Before the first tls_bio_new(). Threads: main. @return 0, or -1: no memory */
int tls_bio_begin(void);

/** The calling thread's; NULL: no memory. */
tls_scratch *tls_scratch_of_thread(void);

/* ---- tls_transport.c ---- */

/** OpenSSL's error after a call that failed, as errno; 0: the peer closed. Logged, unless that is
 * usual. @param what  for the log */
int tls_error(tls_conn *t, int rc, const char *what);

/** Give up the TLS of bc, whose socket stays open. */
void tls_release(brg_conn *bc);

/** The client asked for something that costs more than it is worth. @return -1: too often; failed */
int tls_is_flood(tls_conn *t);

/** For SSL_CTX_set_info_callback(): bound requests of a client without data. */
void tls_asked(const SSL *ssl, int where, int value);

/* ---- tls_keys.c: threads: the owner of the connection ---- */

/** Threads: main. @return 0, or -1: no memory */
int tls_keys_begin(tls_loop *l);
void tls_keys_end(tls_loop *l);

/** The callback of an SSL_CTX that counts records for tls_keys_take(). */
void tls_keys_count(int sent, int version, int type, const void *data, size_t len, SSL *ssl,
                    void *unused);

/** See that it works with this OpenSSL. @return 1; 0: it does not, and that was logged. Threads: main. */
int tls_selftest(const server_rec *log);

/** The same for connections that this server makes. */
int tls_selftest_client(const server_rec *log);

/** During a handshake: @a records learn its secrets. NULL: no longer. Threads: the caller's alone. */
void tls_kdf_listen(tls_records *records);

/** Room for keys: before the handshake. Without it the records stay OpenSSL's. With t->client: for that role. */
void tls_keys_expect(tls_conn *t);

/** The handshake is done: from now on records are our own. @return 0; -1: they stay OpenSSL's */
int tls_keys_take(tls_conn *t);

/**
 * From now on they are OpenSSL's again: before a handshake in the middle of a connection. Read
 * bytes stay with the connection. No output may wait (tls_flush).
 * @return 0; -1: it cannot be, after a KeyUpdate or very many records, and they stay our own
 * Threads: a worker, since it takes some microseconds for each record of before.
 */
int tls_keys_return(tls_conn *t);

/** Let t->ssl be shared with other connections, if possible. After tls_keys_take(). */
void tls_share(tls_conn *t);

/** Connections that come have others. */
void tls_share_forget(tls_loop *l);

/** The configuration was read. Threads: main. */
void tls_share_begin(void);

/* ---- tls_client.c: connections that this server makes; threads: the owner of the connection ---- */

/** The handshake is over, and no session comes any more: the SSL is not needed. */
void tls_client_settle(tls_conn *t);

/** A failure of the connection, for the log. @param what  "read" or "write" */
void tls_client_tell(tls_conn *t, const char *what);

/** Free its memory. */
void tls_client_free(tls_conn *t);

/** Wipe and free. */
void tls_keys_drop(tls_conn *t);

#endif
