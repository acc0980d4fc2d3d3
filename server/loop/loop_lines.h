/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_LOOP_LINES_H
#define BRIGADE_LOOP_LOOP_LINES_H

/**
 * @file loop_lines.h
 * Memory that one loop writes with each request lies in cache lines of its own: else loops that have nothing to
 * do with each other take turns in owning a line.
 */
#include "scores.h"
#include "apr_pools.h"
#include <string.h>

/** @return @a size zero bytes that share no line with anything else; NULL: no memory. They live as long as @a p. */
static inline void *loop_lines_calloc(apr_pool_t *p, apr_size_t size)
{
    const apr_size_t line = LOOP_SCORE_LINE, room = (size + line - 1) / line * line;
    char *at = apr_palloc(p, room + line);

    if (!at)
        return NULL;
    at += (line - (uintptr_t)at % line) % line;
    return memset(at, 0, room);
}

#endif
