/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_DECIMAL_H
#define BRIGADE_DECIMAL_H

/**
 * @file brigade/decimal.h
 * Numbers as decimal digits, without printf: heads of responses and log lines have several each.
 */
#include "apr.h"
#include <string.h>

#define BRG_DECIMAL_ROOM 20 /**< bytes of the longest number */

/** How many decimal digits @a n has. Threads: any. Blocking: no. */
static inline apr_size_t brg_decimal_length(apr_uint64_t n)
{
    for (apr_size_t more = 0;; n /= 10000, more += 4)
        if (n < 10000)
            return more + (n < 100 ? 1 + (n >= 10) : 3 + (n >= 1000));
}

/**
 * The decimal digits of @a n, two for each division.
 * @param out  room for BRG_DECIMAL_ROOM bytes; not terminated
 * @return how many digits there are
 * Threads: any. Blocking: no.
 */
static inline apr_size_t brg_decimal_put(char *out, apr_uint64_t n)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    const apr_size_t len = brg_decimal_length(n);
    char *d = out + len;

    for (; n >= 100; n /= 100)
        memcpy(d -= 2, pairs + 2 * (n % 100), 2);
    if (n >= 10)
        memcpy(out, pairs + 2 * n, 2);
    else
        *out = (char)('0' + n);
    return len;
}

#endif
