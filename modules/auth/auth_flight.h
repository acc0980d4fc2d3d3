/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_FLIGHT_H
#define AUTH_FLIGHT_H

/**
 * @file auth_flight.h
 * A browser asks for many things at once: one worker checks the password, and
 * the others wait for the result.
 *
 * Threads: workers; on a loop nothing waits, each checks by itself.
 */
#include "auth_memory.h"

/** A check under way; of auth_flight.c. */
typedef struct auth_flight auth_flight;

/**
 * Begin a check for @a mark, or wait for that of another thread.
 * @param right [out] where this returns NULL: the result; -1: check without
 * @return for auth_flight_end(), which the caller has to call; NULL: it was checked, or *right is -1
 */
auth_flight *auth_flight_begin(const auth_mark *mark, int *right);

/** Tell the waiting threads. */
void auth_flight_end(auth_flight *flight, int right);

#endif
