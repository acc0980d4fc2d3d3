/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_LIMITS_H
#define STATUS_LIMITS_H

/**
 * @file status_limits.h
 * Limits of RequestLimit, and the keys that ask most: part of the status page and of "?auto", of the figures, and of the live page.
 */
#include "httpd.h"

/** The samples, for Prometheus and (@a open) OpenMetrics: none without limits. */
void status_limits_write_text(request_rec *r, int open);

/** Further members of an object: ,"limits":[...],"limit_keys":[...]; nothing without limits. */
void status_limits_write_json(request_rec *r);

/** What of them stands in the page and in "?auto". */
extern const struct status_section status_limits;

#endif
