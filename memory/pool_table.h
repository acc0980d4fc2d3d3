/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POOL_TABLE_H
#define BRIGADE_POOL_TABLE_H

/*
 * Tables as apr_tables.c has them. pool_inline.h brings this into every file of server/, where a look-up compares no
 * string of a table that is empty, and knows the checksum of a name that is written in the source.
 */
#include "apr_tables.h"
#include <stdint.h>

/* The array of entries first: apr_table_elts() gives that. */
struct apr_table_t {
    apr_array_header_t a; /* without entries until the first one comes: nalloc 0, elts NULL */
    uint32_t letters;     /* the bits of all names that were put in: pool_table_letter() */
    int room;             /* entries that the first allocation is for */
};

#define POOL_TABLE_CASE 0xdfdfdfdfu /* letters of both cases have one checksum */

/** The first four bytes of a name, its end counted as bytes of 0, without case. */
static inline __attribute__((always_inline)) uint32_t pool_table_checksum(const char *key)
{
    const unsigned char *k = (const unsigned char *)key;
    uint32_t sum = (uint32_t)k[0] << 24;

    if (k[0] && k[1]) {
        sum |= (uint32_t)k[1] << 16;
        if (k[2]) {
            sum |= (uint32_t)k[2] << 8;
            sum |= k[3];
        }
    }
    return sum & POOL_TABLE_CASE;
}

/** The bit of apr_table_t.letters for a checksum. All four letters count: names of requests begin with few others. */
static inline __attribute__((always_inline)) uint32_t pool_table_letter(uint32_t checksum)
{
    return (uint32_t)1 << (checksum * 0x9e3779b1u >> 27);
}

/** The value of the first entry of that name, or NULL. @param checksum  pool_table_checksum(key) */
__attribute__((visibility("hidden"))) const char *
pool_table_find(const apr_table_t *t, const char *key, uint32_t checksum);

/** apr_table_get() */
static inline __attribute__((always_inline)) const char *pool_table_get(const apr_table_t *t,
                                                                        const char *key)
{
    if (t->a.nelts == 0)
        return NULL;
    if (__builtin_constant_p(__builtin_strlen(key))) {
        const uint32_t checksum = pool_table_checksum(key);

        return t->letters & pool_table_letter(checksum) ? pool_table_find(t, key, checksum) : NULL;
    }
    return apr_table_get(t, key);
}

#endif
