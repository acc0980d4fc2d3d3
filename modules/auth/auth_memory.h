/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_MEMORY_H
#define AUTH_MEMORY_H

/**
 * @file auth_memory.h
 * The credential memory: it knows right credentials again for a while, without
 * keeping them.
 *
 * A mark stands for a few texts (a user and a password, say) and the identity of the file that was
 * asked. It is a hash under a key that each process makes for itself at random; neither users nor
 * passwords are kept. Marks and key are in memory that is locked, left out of core dumps, and not
 * there in forked processes. Their number is fixed: the first to end gives way. Only right
 * credentials are ever learned. An identity that has changed makes another mark, so marks of a file
 * end with its first change.
 *
 * Each process has a memory of its own, from child_init on; before, and without memory, nothing is known.
 * All functions: threads: any. None blocks a loop; on workers auth_memory_learn() takes a lock for a few stores, and leaves it
 * at that on a loop if another thread has it.
 */
#include "apr.h"
#include "apr_pools.h"
#include "apr_time.h"

/** How long something is known. */
#define AUTH_MEMORY_US apr_time_from_sec(300)

/** Bytes of text at most that a mark may be made of; more has no mark. */
#define AUTH_MARK_MOST 1024

typedef struct auth_mark {
    apr_uint64_t word[2];
} auth_mark;

/** A piece of a mark's input. */
typedef struct auth_piece {
    const void *at;
    apr_size_t len;
} auth_piece;

/**
 * The mark of @a n pieces. Pieces that are split otherwise have another mark.
 * @param kind  tells marks of different meaning apart
 * @return 1; 0: too long, or there is no memory in this process
 */
int auth_mark_make(auth_mark *mark, char kind, const auth_piece *piece, int n);

/** @return until when the mark is known (brg_monotonic_now()); 0: it is not */
apr_time_t auth_memory_knows(const auth_mark *mark);

/** Know the mark until then. */
void auth_memory_learn(const auth_mark *mark, apr_time_t until);

/** @name wrong guesses: counted by client and user, and by client */
/** @{ */
/** 1 if that client has guessed wrong so often that this one is not to be checked. */
int auth_guess_is_refused(const char *client, const char *user);
/** 1 if nobody's guesses are refused now. */
int auth_guess_is_quiet(void);
/** 1 if some client's guesses at that user may be refused now: it has to be asked which client this one is. */
int auth_guess_concerns(const char *user);
/** It was wrong. */
void auth_guess_was_wrong(const char *client, const char *user);
/** @} */

/** Open the memory of this process. child_init hook; once. */
void auth_memory_open(apr_pool_t *p);

#endif
