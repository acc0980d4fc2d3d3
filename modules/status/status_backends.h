/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_BACKENDS_H
#define STATUS_BACKENDS_H

/**
 * @file status_backends.h
 * Backends of the built-in proxy in the shapes of the figures: samples for Prometheus and OpenMetrics, and an array of JSON, which
 * /metrics, the status page ("?json") and the live page have.
 */
#include "httpd.h"

/** Families and samples; nothing without backends. */
void status_backends_write_text(request_rec *r, int open);

/** Further members of an object: ,"backends":[...] */
void status_backends_write_json(request_rec *r);

#endif
