/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_FILTERS_H
#define STATUS_FILTERS_H

/**
 * @file status_filters.h
 * Figures of filters, of the server process that answers, if FilterStatistics is on: part of the page
 * and of "?auto", and as "?filters=json" and "?filters=prometheus". A POST to "?filters=reset" sets them
 * to 0. Filters that were not called since are left out.
 */
#include "httpd.h"

/** Answer "?filters=what". @return as handlers do */
int status_filters_handle(request_rec *r, const char *what);

/** Add the figures to the page and to "?auto". */
void status_filters_register(apr_pool_t *p);

#endif
