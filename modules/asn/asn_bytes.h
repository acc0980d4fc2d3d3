/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_BYTES_H
#define BRIGADE_ASN_BYTES_H

/**
 * @file asn_bytes.h
 * Bytes that somebody else wrote, taken from the front: nothing behind them is read. Numbers are in the byte order of
 * the network. For dumps (asn_mrt.c) and messages of BGP (bgp_*.c).
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "asn_table.h"

/** The rest of the bytes. Refers to memory of the caller. */
typedef struct asn_bytes {
    const unsigned char *at;
    size_t n;
} asn_bytes;

/** The next @a n bytes, or NULL if there are fewer: nothing is taken then. */
static inline const unsigned char *asn_take_bytes(asn_bytes *b, size_t n)
{
    const unsigned char *at = b->at;

    if (n > b->n)
        return NULL;
    b->at += n;
    b->n -= n;
    return at;
}

/** A number of @a n bytes, at most 4. @return 0 if they are not there: *to is 0 then */
static inline int asn_take_number(asn_bytes *b, size_t n, uint32_t *to)
{
    const unsigned char *at = asn_take_bytes(b, n);

    *to = 0;
    for (size_t i = 0; at && i < n; i++)
        *to = *to << 8 | at[i];
    return at != NULL;
}

/** A part of @a n bytes. @return 0 if they are not there: the part is empty then */
static inline int asn_take_part(asn_bytes *b, size_t n, asn_bytes *part)
{
    const unsigned char *at = asn_take_bytes(b, n);

    *part = (asn_bytes){at, at ? n : 0};
    return at != NULL;
}

/** Numbers of 4 bytes, @a most at most. @return how many */
static inline size_t asn_take_numbers(asn_bytes b, uint32_t *to, size_t most)
{
    size_t n = 0;

    while (n < most && asn_take_number(&b, 4, &to[n]))
        n++;
    return n;
}

/** A prefix of p->family as RFC 4271 writes it: length in bits, as many bytes as it needs.
 * @return NULL, or the error: nothing is taken then */
static inline const char *asn_take_prefix(asn_bytes *b, brg_asn_prefix *p)
{
    asn_bytes r = *b;
    const unsigned char *at;
    uint32_t length;

    if (!asn_take_number(&r, 1, &length) || length > (p->family == ASN_IPV4 ? 32 : 128))
        return "no length of a prefix";
    if (!(at = asn_take_bytes(&r, (length + 7) / 8)))
        return "it ends in the middle of a prefix";
    p->length = (unsigned char)length;
    memset(p->address, 0, sizeof p->address);
    memcpy(p->address, at, (length + 7) / 8);
    *b = r;
    return NULL;
}

#endif
