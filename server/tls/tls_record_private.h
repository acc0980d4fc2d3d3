/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_RECORD_PRIVATE_H
#define BRIGADE_TLS_TLS_RECORD_PRIVATE_H

/**
 * @file tls_record_private.h
 * Records of the server's own: after the handshake, TLS 1.3 and TLS 1.2 with AEAD are encrypted from
 * where the bytes are, and decrypted to where they are wanted, without SSL_write() and SSL_read().
 *
 * Threads: the owner of the connection.
 */
#include "tls_conn_private.h"
#include "tls_aead.h"
#include "tls_hmac.h"

#define TLS_HEADER 5
#define TLS_TAG 16
#define TLS_IV 12
#define TLS_FIXED_IV 4     /**< with AES in TLS 1.2 */
#define TLS_SECRET_MOST 48 /**< bytes of a traffic secret */
#define TLS_EXPLICIT_IV 8
#define TLS_ADDED_MOST 256 /**< largest overhead of a record (RFC 8446, 5.2) */

enum { TLS_TYPE_CCS = 20, TLS_TYPE_ALERT, TLS_TYPE_HANDSHAKE, TLS_TYPE_DATA };

/** A record's state by direction. */
typedef struct tls_half {
    void *ctx;    /**< of aead->make() */
    uint64_t seq; /**< of the next record */
    unsigned char iv[TLS_IV];
    unsigned char secret[TLS_SECRET_MOST]; /**< TLS 1.2: in.secret is the client's key */
} tls_half;

/** The handshake's key material. in.secret is the client's until the keys are taken. The block of
 * TLS 1.2 begins in in.secret and goes on in out.secret. */
enum { TLS_KNOWS_CLIENT = 1, TLS_KNOWS_SERVER = 2, TLS_KNOWS_BLOCK = 4 };

#define TLS_KEY_MOST 32

/** What OpenSSL derived of a secret. */
typedef struct tls_learned {
    unsigned char key[TLS_KEY_MOST], iv[TLS_IV];
    uint8_t key_len, has_iv;
} tls_learned;

struct tls_records {
    /** [2], of in and of out, until the keys are taken; NULL: they are derived once more */
    tls_learned *learned;
    struct tls_quic
        *quic; /**< its handshake hears of all traffic secrets (tls_quic_compat.c); NULL */
    const tls_aead *aead; /**< the loop's */
    uint8_t v13, explicit_iv;
    uint8_t known, secret_len;   /**< TLS_KNOWS_*, and bytes of that */
    uint8_t idle;                /**< records without data since the last with some */
    uint8_t warnings;            /**< alerts that are no end, in all */
    uint8_t update_due;          /**< the peer asked for a KeyUpdate */
    uint8_t updated;             /**< keys changed by KeyUpdate */
    uint8_t in_first, out_first; /**< numbers of the first records of ours */
    uint8_t ended;               /**< the peer sends nothing more */
    uint8_t client;              /**< this server is the client */
    uint8_t tickets; /**< client, TLS 1.3: all records so far were OpenSSL's, too: sessions come */
    uint8_t head_n;  /**< bytes of ... */
    uint8_t head[4]; /**< ... the header of a handshake message that goes over records */
    uint32_t message_left; /**< bytes of it that are to come */
    uint8_t session_len;
    unsigned char session[SSL_MAX_SSL_SESSION_ID_LENGTH]; /**< with t->shared: its id */
    tls_half in, out;
};

/* ---- tls_aead.c ---- */

/** Give a direction its key. @return 0, or -1 */
int tls_half_key(tls_half *h, const tls_aead *aead, const unsigned char *key, int seal);

/** The functions of an algorithm, by one of its names; NULL: there are none. @param operation  OSSL_OP_* */
const OSSL_DISPATCH *tls_provider_functions(const OSSL_PROVIDER *provider, int operation,
                                            const char *name);

/* ---- tls_digest.c ---- */

/** The digest of all pieces. @param out  room for a digest. @return 1, or 0 */
int tls_hash_all(tls_hash *h, const tls_piece *pieces, int n, unsigned char *out);

/** Nothing of what was hashed stays. @return 1, or 0 */
int tls_hash_forget(tls_hash *h);

/* ---- tls_hkdf.c ---- */

/** Values of a digest that are the same in all handshakes. */
typedef struct tls_hkdf_known {
    unsigned char empty[TLS_SECRET_MOST];   /**< the digest of nothing */
    unsigned char early[TLS_SECRET_MOST];   /**< the schedule's first secret, without a session */
    unsigned char derived[TLS_SECRET_MOST]; /**< from that, for the second */
} tls_hkdf_known;

/** @return 1, or 0. Threads: main, or once */
int tls_hkdf_know(tls_hash *h, tls_hkdf_known *known);

/** HKDF-Expand-Label of RFC 8446. @return 1, or 0 */
int tls_hkdf_expand(tls_hash *h, tls_piece key, tls_piece prefix, tls_piece label, tls_piece data,
                    unsigned char *out, size_t len);

/**
 * The next secret of the schedule: from the one before, by @a label, and from @a key.
 * @param key   no data: zeros
 * @param salt  the secret before; no data: this is the first
 * @return 1, or 0
 */
int tls_hkdf_extract(tls_hash *h, const tls_hkdf_known *known, tls_piece key, tls_piece salt,
                     tls_piece prefix, tls_piece label, unsigned char *out, size_t len);

/* ---- tls_kdf.c ---- */

/** Let a loop's handshakes derive their keys with it. NULL: OpenSSL has no such way. Threads: main. */
tls_kdf *tls_kdf_begin(OSSL_LIB_CTX *lib);
void tls_kdf_end(tls_kdf *kdf);

/* ---- tls_keys.c ---- */

/** Key and IV out of a direction's secret (TLS 1.3). Numbers begin at 0. @return 0, or -1 */
int tls_half_begin(const tls_loop *l, const tls_records *rec, tls_half *h, int seal);

/** Next keys of a direction, by KeyUpdate. @return 0, or -1: no memory */
int tls_key_update(const tls_loop *l, tls_records *rec, tls_half *h, int seal);

/** RFC 8446's HKDF-Expand-Label without a context. @return 0, or -1 */
int tls_expand_label(const tls_loop *l, const unsigned char *secret, size_t secret_len,
                     const char *label, unsigned char *out, size_t len);

/* ---- tls_prf.c ---- */

/** The PRF of TLS 1.2: @a seeds are its label and the seeds behind it. @return 1, or 0 */
int tls_prf(tls_hash *h, tls_piece secret, const tls_piece *seeds, int n, unsigned char *out,
            size_t len);

/* ---- tls_record.c ---- */

/**
 * Make a record of the next @a len bytes of @a from.
 * @param out  room for len + TLS_ADDED_MOST
 * @return bytes of the record; 0: OpenSSL failed
 */
size_t tls_seal(tls_records *rec, unsigned type, const struct iovec *from, size_t off, size_t len,
                unsigned char *out);

/** Bytes of the record at @a data, header included; 0: the header is not there;
 * less: an alert of TLS, negative */
ssize_t tls_record_length(const unsigned char *data, size_t have);

/** The most plaintext that a record of @a len bytes may have. */
size_t tls_record_room(const tls_records *rec, size_t len);

/**
 * Decrypt a record of @a len bytes.
 * @param out   where to, with room for tls_record_room(). NULL: in place, and it is set to where
 * @param type  of its content
 * @return bytes of plaintext, or an alert of TLS, negative: made with other keys, or invalid
 */
ssize_t tls_open(tls_records *rec, unsigned char *record, size_t len, unsigned char **out,
                 unsigned *type);

/* ---- tls_input.c: for tls_transport.c ---- */

/** As recv(), of plaintext that was kept: there is some. */
ssize_t tls_kept_take(tls_conn *t, char *buf, size_t len);

/** As recv(): plaintext of data records. Other records are dealt with. */
ssize_t tls_records_recv(tls_conn *t, char *buf, size_t len);

/** Put a record behind the waiting ones in the thread's buffer. @return 0, or -1 */
int tls_records_say(tls_conn *t, unsigned type, const void *data, size_t len);

/** Write records that have to leave before further data: the KeyUpdate that the peer asked for. 0,
 * or -1: failed */
int tls_records_due(tls_conn *t);

#endif
