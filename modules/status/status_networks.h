/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_NETWORKS_H
#define STATUS_NETWORKS_H

/**
 * @file status_networks.h
 * Sources of ASTable: part of the status page and of "?auto", and of the figures.
 */
#include "httpd.h"

/** The samples, for Prometheus and (@a open) OpenMetrics: none without sources. */
void status_networks_write_text(request_rec *r, int open);

/** As a member "networks" of an object that has others; nothing without sources. */
void status_networks_write_json(request_rec *r);

/** What of them stands in the page and in "?auto". */
extern const struct status_section status_networks;

#endif
