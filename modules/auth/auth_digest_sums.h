/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_DIGEST_SUMS_H
#define AUTH_DIGEST_SUMS_H

/**
 * @file auth_digest_sums.h
 * Proofs of Digest (RFC 7616, 3.4.1) with the part that a client's
 * requests share computed once: each thread keeps sums of its last clients and targets, in memory
 * that is locked and left out of core dumps.
 *
 * Threads: any; results are the caller's thread's, until its next call. Blocking: no.
 */
#include "auth_memory.h"
#include "auth_digest_private.h"
#include "apr_md5.h"

#define DIGEST_HASH_LEN 32 /**< hexadecimal digits */
#define DIGEST_USER_MOST 64

/** A user with a nonce. */
typedef struct digest_session {
    apr_uint64_t realm[2];
    char user[DIGEST_USER_MOST], nonce[DIGEST_NONCE_LEN + 1];
    auth_mark key; /**< of the user in the realm, for auth_hashes.h */
    int nonce_is_good;
    apr_time_t nonce_time;
    char hash[DIGEST_HASH_LEN]; /**< the user's, of which @a begun is; all NUL: none yet */
    apr_md5_ctx_t begun;
} digest_session;

/** The session of a field, or a new one in place of another: its key is set, the rest is empty.
 * NULL: there is no memory, or its user is too long. */
digest_session *digest_session_of(const apr_uint64_t realm[2], const digest_field *field);

/** The proofs of the client and of the server for a request: DIGEST_HASH_LEN bytes and a NUL each.
 * @param hash  of the user, DIGEST_HASH_LEN bytes */
void digest_session_proofs(digest_session *session, const char *hash, const digest_field *field,
                           const char *method, apr_size_t method_len, char *client, char *server);

/** MD5 of a field's target with a method, in hexadecimal digits without a NUL. */
void digest_target_put(char *out, const char *method, apr_size_t method_len, const char *uri);

/** 1 if a text that was given is that hash of DIGEST_HASH_LEN bytes. It takes as long wherever they differ. */
int digest_equal(const char *hash, const char *given);

void digest_hex_put(char *out, const unsigned char sum[APR_MD5_DIGESTSIZE]);

#endif
