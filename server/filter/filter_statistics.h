/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTER_FILTER_STATISTICS_H
#define BRIGADE_FILTER_FILTER_STATISTICS_H

/**
 * @file filter_statistics.h
 * FilterStatistics: what each filter did. The figures are read with brigade/status.h.
 */
#include "httpd.h"

/**
 * Begin to count in this process: every registered filter gets a function around its own. Where it
 * is not called, filters are called directly. Call it after child_init and before there are
 * threads.
 */
void filter_statistics_start(server_rec *s);

#endif
