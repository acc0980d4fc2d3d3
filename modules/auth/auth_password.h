/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_PASSWORD_H
#define AUTH_PASSWORD_H

/**
 * @file auth_password.h
 * Is a password right? By the credential memory, or by its hash, which may take long on purpose.
 */
#include "auth_request.h"

/**
 * 1 if that password was right for the file in that state, a while ago. The note of @a r says so
 * then.
 * @param mark [out] for auth_password_check(); its set is 0 if it cannot be remembered
 */
typedef struct auth_known {
    auth_mark mark;
    int set;
} auth_known;

int auth_password_is_known(request_rec *r, const auth_file *file, const char *user,
                           const char *password, auth_known *known);

/**
 * Compare with the hash, if the client has not guessed wrong too often, and remember a right
 * password.
 * @param file   NULL: the hash is not from a file, and nothing is noted of one
 * @param known  from auth_password_is_known(), or NULL: nothing is remembered
 * @return AUTH_GRANTED or AUTH_DENIED
 * Threads: a worker, as a rule. Blocking: it works for as long as the hash asks for.
 */
authn_status auth_password_check(request_rec *r, const auth_file *file, const char *user,
                                 const char *password, const char *hash, const auth_known *known);

/** There is no such user: work for as long as if there were one whose password is wrong. */
void auth_password_of_nobody(request_rec *r, const char *user, const char *password);

/**
 * @name clients that were let in While a client's guesses are refused its earlier right credentials
 * still count.
 */
/** @{ */
/**
 * 1 if the client of @a r guessed wrong too often, and was not let in with that before: its
 * credentials are not to be looked at, and do not count as a guess.
 * @param known  the mark of user and password, or NULL: no mark
 */
int auth_client_is_refused(const request_rec *r, const char *user, const auth_mark *known);
/** The credentials of the mark let the client in. */
void auth_client_was_let_in(const request_rec *r, const auth_mark *known);
/** @} */

/** @name hashes for Digest: of users of a realm, from a file in a state */
/** @{ */
/** @param hash [out] in r->pool @return 1 if it is known */
int auth_realm_hash_is_known(request_rec *r, const auth_file *file, const char *user,
                             const char *realm, char **hash);
/** It was looked up. */
void auth_realm_hash_learn(request_rec *r, const auth_file *file, const char *user,
                           const char *realm, const char *hash);
/** @} */

#endif
