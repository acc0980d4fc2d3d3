/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LIMIT_LIMIT_H
#define BRIGADE_LIMIT_LIMIT_H

/** @file limit.h  RequestLimit for other rooms. */

/**
 * 1 if some limit can be asked about in the phases of a request alone: that of a section, or by user. Whoever answers requests before
 * their phases would let them pass uncounted. Threads: any, once the configuration is read. Blocking: no.
 */
int limit_is_of_phases(void);

#endif
