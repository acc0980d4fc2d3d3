/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_CHECK_H
#define BRIGADE_PROXY_CHECK_H

/**
 * @file proxy_check.h
 * Health checks (hcmethod=, hcinterval=): the first loop of each process looks once a second which are due; the process that
 * writes its time into the worker's shared state first makes the check. A check is a connection of its own.
 */
#include "proxy.h"

/** Make the data of the checks: behind proxy_origins_make(). Threads: main. */
void proxy_checks_make(apr_pool_t *pconf, server_rec *s);

struct http_head;

/**
 * The verdict of hcexpr= on an answer.
 * @param body  @a len bytes behind the head: hc('body')
 * @return 1: it is well
 * Threads: loops. Blocking: no.
 */
int proxy_check_passes(const proxy_worker *worker, const struct http_head *head, const char *body,
                       apr_size_t len);

/** turn_end hook. Threads: loops. Blocking: no. */
void proxy_checks_run(apr_time_t now);

#endif
