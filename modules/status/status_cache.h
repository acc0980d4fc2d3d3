/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_CACHE_H
#define STATUS_CACHE_H

/**
 * @file status_cache.h
 * The built-in cache_module in the shapes of the figures: samples for Prometheus and OpenMetrics, and an object of JSON, which
 * /metrics, the status page ("?json") and the live page have.
 */
#include "httpd.h"

/** Families and samples; nothing where nothing is stored. */
void status_cache_write_text(request_rec *r, int open);

/** A further member of an object: ,"shared_cache":{...}, or null where nothing is stored. */
void status_cache_write_json(request_rec *r);

#endif
