/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_QUIC_QUIC_RANGES_H
#define BRIGADE_QUIC_QUIC_RANGES_H

/**
 * @file quic_ranges.h
 * A set of numbers as ranges in order, and bytes that come out of order.
 *
 * Threads: the owner. Blocking: no.
 */
#include <stddef.h>
#include <stdint.h>

/** The numbers from @a from on that are less than @a to. */
typedef struct quic_range {
    uint64_t from, to;
} quic_range;

typedef struct quic_ranges {
    quic_range *r; /**< n of them, in ascending order, that do not touch; malloc() */
    uint32_t n, cap;
} quic_ranges;

/** Add. @return 0; -1: no memory */
int quic_ranges_add(quic_ranges *s, uint64_t from, uint64_t to);
/** Take out. @return 0; -1: no memory */
int quic_ranges_remove(quic_ranges *s, uint64_t from, uint64_t to);
/** Index of the first range whose end is above @a v; n: no such range. */
uint32_t quic_ranges_find(const quic_ranges *s, uint64_t v);
/** 1: all numbers of the range are in it. */
int quic_ranges_has(const quic_ranges *s, uint64_t from, uint64_t to);
/** Take out the first @a n ranges. */
void quic_ranges_drop(quic_ranges *s, uint32_t n);
/** Empty it, and free its memory. */
void quic_ranges_end(quic_ranges *s);

/** Bytes of a stream, of which early ones are kept. */
typedef struct quic_reorder {
    uint64_t next; /**< bytes that were delivered */
    uint64_t base; /**< offset of data[0], with data */
    uint8_t *data; /**< NULL: nothing is kept; malloc() */
    size_t cap;
    quic_ranges have; /**< kept bytes */
} quic_reorder;

/** Takes bytes in order. @return 0; -1: it ends */
typedef int quic_deliver_fn(void *of, const uint8_t *data, size_t len);

/**
 * Bytes came. Bytes in order are delivered at once, from where they are.
 * @param most  ranges that are kept; more are refused
 * @return 0; 1: it was not taken, as if it had not come; -1: deliver() said so
 */
int quic_reorder_put(quic_reorder *o, uint64_t off, const uint8_t *data, size_t len, unsigned most,
                     quic_deliver_fn *deliver, void *of);
void quic_reorder_end(quic_reorder *o);

#endif
