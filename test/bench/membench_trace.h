/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMBENCH_TRACE_H
#define BRIGADE_MEMBENCH_TRACE_H

/*
 * What the pools of one connection did, in the order in which it happened. As text, a line for
 * each:
 *
 *     # brigade-memory-trace 1     the first line; other lines that begin with # are comments
 *     c                            the connection begins, and its pool, number 0
 *     r                            a request begins; if the next line creates a pool, it is the
 * request's e                            the request has ended p N M                        pool N
 * (1 to 63) is created below pool M a N BYTES                    a block from pool N z N BYTES the
 * same, cleared k N                          a cleanup is registered with pool N x N pool N is
 * cleared, the pools below it end d N                          pool N is destroyed, with the pools
 * below it; the number is free again
 *
 * " x3" at the end of an a, z or k line: three times. The connection ends with the file.
 */
#include <stddef.h>
#include <stdint.h>

#define TRACE_POOLS 64

/* An 'a' of less than a word. */
#define TRACE_SMALL 'b'

typedef struct trace_op {
    uint32_t n; /* bytes, or the pool above */
    uint8_t op; /* the letter; 'q': a pool that begins a request; TRACE_SMALL */
    uint8_t pool;
} trace_op;

typedef struct trace {
    char name[64]; /* of the file, without directory and suffix */
    trace_op *ops;
    size_t ops_n, room;
    size_t requests, allocations, bytes;
} trace;

/**
 * Read a trace.
 * @return 0, or -1 after a message on stderr that names the file and the line
 */
int trace_read(trace *t, const char *path);

void trace_free(trace *t);

#endif
