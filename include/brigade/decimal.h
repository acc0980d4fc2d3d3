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
    char digits[BRG_DECIMAL_ROOM], *d = digits + sizeof digits;
    apr_size_t len;

    for (; n >= 100; n /= 100) {
        d -= 2;
        memcpy(d, pairs + 2 * (n % 100), 2);
    }
    if (n >= 10) {
        d -= 2;
        memcpy(d, pairs + 2 * n, 2);
    } else {
        *--d = (char)('0' + n);
    }
    len = (apr_size_t)(digits + sizeof digits - d);
    for (apr_size_t i = 0; i < len; i++)
        out[i] = d[i];
    return len;
}

#endif
