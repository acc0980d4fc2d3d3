/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_LOOP_H
#define BRIGADE_TEST_LOOP_H

/**
 * @file test_loop.h
 * A loop that a test runs turn by turn: what all of them say of it.
 */
#include "connection.h"
#include "loops.h"
#include "response_cache.h"

/** Members of a loop_services: the response cache is there. */
#define TEST_LOOP_SERVICES                                                 \
    .begin = cache_create, .end = cache_destroy, .refresh = cache_refresh, \
    .thread_trim = connection_thread_fini

/** Members of a loops_config: one loop, outside the scoreboard. */
#define TEST_LOOP_CONFIG(of_services, of_listeners)                                   \
    .services = (of_services), .slot = -1, .n_loops = 1, .listeners = (of_listeners), \
    .max_files = 16, .cache_bytes = 64 << 20

#endif
