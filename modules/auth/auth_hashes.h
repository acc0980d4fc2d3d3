/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_HASHES_H
#define AUTH_HASHES_H

/**
 * @file auth_hashes.h
 * Hashes of passwords that were looked up, for a while: a table of fixed size in memory that is locked and left out of core
 * dumps. Each process has its own.
 *
 * Threads: any. Blocking: auth_hashes_put() takes a lock for as long as a copy takes; the others do not block.
 */
#include "auth_memory.h"

#define AUTH_HASH_MOST 128 /**< bytes of a hash, with its NUL; longer ones are not kept */

/** Get the memory. Once, when a process begins; further calls do nothing. */
void auth_hashes_open(void);

/** @return 1; 0: it is too long, or there is no memory */
int auth_hashes_put(const auth_mark *key, const char *hash, apr_time_t until);

/** @param hash [out] room for AUTH_HASH_MOST bytes @return until when it is kept; 0: not kept */
apr_time_t auth_hashes_get(const auth_mark *key, char *hash);

#endif
