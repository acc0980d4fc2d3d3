/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLIENT_MASK_H
#define BRIGADE_CLIENT_MASK_H

/**
 * @file brigade/client_mask.h
 * Addresses of clients as logs show them: cut to a prefix, or as a keyed hash that changes daily.
 *
 * An address of IPv4 in IPv6 counts as one of IPv4. Other text is "-".
 */
#include "apr_time.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bits that are shown. */
typedef struct brg_client_mask {
    unsigned char ipv4, ipv6;
} brg_client_mask;

/** Bytes that brg_client_masked() and brg_client_salted() write at most, the final NUL included. */
#define BRG_CLIENT_MASK_ROOM 48

/** @param v4, v6  decimal numbers up to 32 and 128. @return 1; 0: they are none */
BRG_DECLARE(int) brg_client_mask_parse(const char *v4, const char *v6, brg_client_mask *out);

/**
 * The address with all bits behind the mask zero.
 * @param ip   as text, with or without a zone; NULL: no address
 * @param out  room for BRG_CLIENT_MASK_ROOM bytes; terminated
 * @return its length
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(apr_size_t) brg_client_masked(const brg_client_mask *mask, const char *ip, char *out);

/**
 * 16 hexadecimal digits, the same for one address during one day (UTC) in all processes of the
 * server; without the key nobody can tell the address. As brg_client_masked().
 */
BRG_DECLARE(apr_size_t) brg_client_salted(const char *ip, apr_time_t when, char *out);

/** LogMaskClient: the mask of every log item without its own; NULL: no mask. Threads: any. */
BRG_DECLARE(const brg_client_mask *) brg_client_mask_of_logs(void);

/** @param mask  copied; NULL: none. While the configuration is read. */
BRG_DECLARE(void) brg_client_mask_set(const brg_client_mask *mask);

#define BRG_CLIENT_SALT_BYTES 16

/** @param key  of BRG_CLIENT_SALT_BYTES; lives as long as the process. Before there are loops. */
BRG_DECLARE(void) brg_client_salt_set(const unsigned char *key);

#ifdef __cplusplus
}
#endif
#endif
