/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_CHECK_H
#define BRIGADE_PROXY_CHECK_H

/**
 * @file proxy_check.h
 * Health checks (hcmethod=, hcinterval=): the first loop of each process looks once a second which are due; the process that
 * writes its time into the worker's shared state first makes the check. A check is a connection of its own.
 */
#include "proxy.h"

/** Make what the checks need: behind proxy_origins_make(). Threads: main. */
void proxy_checks_make(apr_pool_t *pconf, server_rec *s);

/** turn_end hook. Threads: loops. Blocking: no. */
void proxy_checks_run(apr_time_t now);

#endif
