/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_MMDB_H
#define BRIGADE_ASN_MMDB_H

/**
 * @file asn_mmdb.h
 * MaxMind's database files of networks (GeoLite2-ASN and those of its kind), by libmaxminddb.
 */
#include "asn_table.h"

/** Takes a route. @return NULL, or why reading ends */
typedef const char *asn_mmdb_route(void *data, const brg_asn_prefix *prefix, uint32_t as);

/** 1 if the file ends as those of MaxMind do. The position in it stays. */
int asn_mmdb_is(int fd);

/**
 * All networks with an "autonomous_system_number", in the order of their addresses.
 * @param error  set to an errno where the system is to blame, and not the file's content
 * @return NULL, or the error
 */
const char *asn_mmdb_read(int fd, asn_mmdb_route *route, void *data, int *error);

#endif
