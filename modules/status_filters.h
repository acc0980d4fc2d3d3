/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_FILTERS_H
#define STATUS_FILTERS_H

/**
 * @file status_filters.h
 * What filters did, in the server process that answers, where FilterStatistics is on: part of the
 * page and of "?auto", and as "?filters=json" and "?filters=prometheus". A POST to
 * "?filters=reset" begins to count anew. Filters that were not called since are left out.
 */
#include "httpd.h"

/** Answer "?filters=..." @param what  what stands there. @return as handlers do */
int status_filters_handle(request_rec *r, const char *what);

/** Take part in the other shapes. */
void status_filters_register(apr_pool_t *p);

#endif
