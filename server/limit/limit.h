/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LIMIT_LIMIT_H
#define BRIGADE_LIMIT_LIMIT_H

/** @file limit.h  What other rooms ask of RequestLimit. */

/**
 * 1 if some limit can be asked about in the phases of a request alone: that of a section, or by user. Whoever answers requests before
 * their phases would let them pass uncounted. Threads: any, once the configuration is read. Blocking: no.
 */
int limit_is_of_phases(void);

#endif
