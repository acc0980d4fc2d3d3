/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_DIGEST_MEMORY_H
#define AUTH_DIGEST_MEMORY_H

/**
 * @file auth_digest_memory.h
 * Answers from memory to requests with Digest: the server knows the
 * user's hash in a realm. By it it checks the client's proof for each request, and makes its own.
 */
#include "auth_request.h"
#include "brigade/auth.h"

/** Know the user of a note whose realm is set. @return 0: it cannot be kept */
int auth_digest_learn(request_rec *r, const auth_note *note);

extern const brg_cache_users auth_digest_users;

#endif
