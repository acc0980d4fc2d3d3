/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REMOTEIP_PROXY_HEADER_H
#define BRIGADE_REMOTEIP_PROXY_HEADER_H

/**
 * @file proxy_header.h
 * The header of the PROXY protocol, versions 1 and 2 (HAProxy's proxy-protocol.txt, sections 2.1 and 2.2): how a proxy
 * tells a server, before all else, where a connection comes from.
 */
#include <stddef.h>
#include <stdint.h>

/** the most of a header that is looked at: 16 bytes and two addresses of AF_UNIX */
#define PROXY_HEADER_KEEP 232
/** longest header that is accepted, TLVs included; version 1: 107 */
#define PROXY_HEADER_MOST 4096

/** Where the connection comes from. */
typedef struct proxy_source {
    uint8_t family; /**< AF_INET, AF_INET6; 0: the header does not say (UNKNOWN, LOCAL, AF_UNIX) */
    uint16_t port;  /**< in host order */
    uint8_t address[16];
} proxy_source;

/**
 * Read a header.
 *
 * @param data  the bytes so far; of a long header the first PROXY_HEADER_KEEP bytes suffice
 * @param out   [out] set where the header is complete
 * @param why   [out] set for a bad header: the error, for the log
 * @return      the length of the whole header, which may be more than @a len (TLVs, which say nothing of the source);
 *              0: more is needed, and all of @a data belongs to the header; -1: it is bad
 * Threads: any. Blocking: no.
 */
int proxy_header_read(const unsigned char *data, size_t len, proxy_source *out, const char **why);

#endif
