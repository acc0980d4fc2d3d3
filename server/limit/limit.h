/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LIMIT_LIMIT_H
#define BRIGADE_LIMIT_LIMIT_H

/** @file limit.h  RequestLimit for other rooms. */

/**
 * 1 if some limit can be asked about in the phases of a request for this path alone: that of a section, or by user. Whoever answers such
 * requests before their phases would let them pass uncounted.
 * @param path  as the client sent it, without a query; NULL: whether limits are such for all paths
 * Threads: any, once the configuration is read. Blocking: no.
 */
int limit_is_of_phases(const char *path);

#endif
