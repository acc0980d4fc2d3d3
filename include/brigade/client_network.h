/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLIENT_NETWORK_H
#define BRIGADE_CLIENT_NETWORK_H

/**
 * @file brigade/client_network.h
 * Optional functions of asn_module, for modules: the network that a client is in. They are there whether or not ASTable is
 * used.
 */
#include "apr_network_io.h"
#include "apr_optional.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes that brg_client_network_put() writes at most, the final NUL included. */
#define BRG_CLIENT_NETWORK_ROOM 8192

/**
 * The number of a variable: CLIENT_ASN, CLIENT_PREFIX, CLIENT_AS_PATH or CLIENT_COMMUNITIES, in any case.
 * @return -1: no such variable, or the configuration has no ASTable
 * Threads: that of a directive setter.
 */
APR_DECLARE_OPTIONAL_FN(int, brg_client_network_variable, (const char *name));

/**
 * Its value for a client; "-" if not known.
 * @param out    room for BRG_CLIENT_NETWORK_ROOM bytes; terminated
 * @param ready  [out] 0: no table has been read so far
 * @return its length
 * Threads: any. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(apr_size_t, brg_client_network_put,
                        (int variable, const apr_sockaddr_t *client, char *out, int *ready));

#ifdef __cplusplus
}
#endif
#endif
