/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_KEPT_SECRET_H
#define BRIGADE_BASE_KEPT_SECRET_H

/**
 * @file kept_secret.h
 * Answers that somebody typed at a start, such as pass phrases: kept as long as
 * the supervisor's process lives, also when another program takes its place, and known to trials of
 * configurations. In no core file, and in no server process.
 *
 * Threads: main. Blocking: no.
 */

#define KEPT_SECRET_BYTES 256 /**< with the NUL */
#define KEPT_SECRET_MOST 16   /**< a further one takes the place of the oldest */

/** Keep @a secret, unless it is too long or known. */
void kept_secret_add(const char *secret);

/** The @a i-th, from 0; NULL: past the last. */
const char *kept_secret_get(int i);

/** In a process that is to know none. */
void kept_secret_forget(void);

/** For another program: a descriptor, which stays open over exec, from which kept_secret_take() reads all of them once.
 * Takes no memory from the heap. @return -1: there are none */
int kept_secret_give(void);

/** Add the secrets that @a fd holds. @a fd is closed. */
void kept_secret_take(int fd);

#endif
