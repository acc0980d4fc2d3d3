/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_FLIGHT_H
#define AUTH_FLIGHT_H

/**
 * @file auth_flight.h
 * A browser asks for many things at once: the same password is checked by one worker, and the others wait for what comes of
 * it.
 *
 * Threads: workers; on a loop nothing waits, each checks by itself.
 */
#include "auth_memory.h"

/** What is being checked; of auth_flight.c. */
typedef struct auth_flight auth_flight;

/**
 * Begin a check of what @a mark stands for, or wait for that of another thread.
 * @param right [out] where this returns NULL: what came of it; -1: check without
 * @return for auth_flight_end(), which the caller has to call; NULL: it was checked, or *right is -1
 */
auth_flight *auth_flight_begin(const auth_mark *mark, int *right);

/** Tell those who wait. */
void auth_flight_end(auth_flight *flight, int right);

#endif
