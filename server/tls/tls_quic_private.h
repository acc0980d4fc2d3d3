/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_QUIC_PRIVATE_H
#define BRIGADE_TLS_TLS_QUIC_PRIVATE_H

/**
 * @file tls_quic_private.h
 * A handshake of QUIC's (tls_quic.h), between its user and one of two backs.
 *
 * Output of a step of the handshake is kept as notes, and told when the step is over, on the loop:
 * a worker may have made it, and the user may end the connection at any call.
 */
#include "tls_quic.h"
#include "tls_record_private.h"

/** 1: OpenSSL has functions for it (tls_quic_callbacks.c); 0: tls_quic_compat.c. */
#if OPENSSL_VERSION_NUMBER >= 0x30500010L
#define TLS_QUIC_CALLBACKS 1
#else
#define TLS_QUIC_CALLBACKS 0
#endif

#define TLS_QUIC_PARAMS 0x39 /**< the extension quic_transport_parameters */

typedef enum tls_quic_said {
    TLS_QUIC_SEND,
    TLS_QUIC_READ_SECRET,
    TLS_QUIC_WRITE_SECRET,
    TLS_QUIC_PEER_PARAMS,
    TLS_QUIC_GIVEN /**< not said: input that waits for a worker */
} tls_quic_said;

typedef struct tls_quic_note {
    struct tls_quic_note *next;
    tls_quic_said said;
    tls_quic_level level;
    size_t len;
    uint8_t data[];
} tls_quic_note;

typedef struct tls_quic_notes {
    tls_quic_note *first, **tail;
} tls_quic_notes;

/** Result of a step of a handshake. */
enum { TLS_QUIC_DONE, TLS_QUIC_WAITS, TLS_QUIC_SIGNS, TLS_QUIC_FAILED };

struct tls_quic {
    tls_conn *t;
    const tls_quic_user *user; /**< NULL: it is gone */
    void *of;
    uint8_t *params; /**< of this side */
    size_t params_len;
    tls_quic_notes said, given;
    tls_quic_level read, write; /**< of input, and of the next output */
    uint8_t busy, step, got_params, alerted;
    uint8_t is_over;      /**< it succeeded */
    uint8_t is_early;     /**< the secret of early data was said */
    uint64_t early_bound; /**< tls_quic_allow_early(); 0: no early data */
    uint8_t alert;
    /* OpenSSL's next input: pieces as they came, or, in tls_quic_compat.c, records, and their keys
     */
    tls_quic_notes wires;
    tls_records *rec;
    uint8_t *wire;
    size_t wire_off, wire_len;
};

/* ---- tls_quic_notes.c ---- */

/** @return the first one, which is the caller's; NULL: empty */
tls_quic_note *tls_quic_note_take(tls_quic_notes *from);
void tls_quic_note_free(tls_quic_note *n);
void tls_quic_notes_drop(tls_quic_notes *of);

/** Keep a note. No memory: the step fails. Threads: the thread of the step. */
void tls_quic_say(tls_quic *q, tls_quic_said said, tls_quic_level level, const void *data,
                  size_t len);

/** Input that is kept, in pieces. @return 0; -1: no memory */
int tls_quic_note_keep(tls_quic_notes *to, tls_quic_level level, const uint8_t *data, size_t len);

/** Free the first one, if there is one. */
void tls_quic_note_drop(tls_quic_notes *of);

/** The client's transport parameters, whose answer is q->params. Threads: as tls_quic_say() */
void tls_quic_params_came(tls_quic *q, const uint8_t *params, size_t len);

/** The step fails with an alert of TLS. The first counts. */
void tls_quic_refuse(tls_quic *q, unsigned alert);

/* ---- of the back ---- */

/** Once for the program. @return 0, or -1: @a why. Threads: main */
int tls_quic_back_begin(const char **why);

/** A context takes part. @return 0, or -1 */
int tls_quic_back_context(SSL_CTX *ctx);

/** t->ssl is made: prepare it for QUIC. @return 0, or -1 */
int tls_quic_back_ssl(tls_quic *q);

/** The same, where early data is taken: q->early_bound is set. */
void tls_quic_back_early(tls_quic *q);

/** Input for the next step. @return 0, or -1: no memory, or it was refused */
int tls_quic_back_give(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len);

/** SSL_do_handshake(). */
int tls_quic_back_step(tls_quic *q);

void tls_quic_back_end(tls_quic *q);

/** Of tls_quic_compat.c, for tls_kdf.c: a secret was derived, by its label in TLS. */
void tls_quic_learn(tls_quic *q, const char *label, size_t label_len, const uint8_t *secret,
                    size_t len);

#endif
