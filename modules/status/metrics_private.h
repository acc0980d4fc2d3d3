/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRICS_PRIVATE_H
#define METRICS_PRIVATE_H

/**
 * @file metrics_private.h
 * Parts of mod_metrics: the handler (mod_metrics.c), and the shapes of the figures: text for Prometheus
 * and OpenMetrics (metrics_text.c), JSON (metrics_json.c), a page (metrics_live.c).
 */
#include "httpd.h"
#include "brigade/figures.h"

/** "_total" of a counter's name, which OpenMetrics has in samples alone. */
#define METRICS_TOTAL "_total"

#define METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/** Prometheus text format 0.0.4; @a open: OpenMetrics 1.0. */
void metrics_write_text(request_rec *r, const brg_figures *f, int open);

/** The two lines in front of a family's samples. */
void metrics_family(request_rec *r, const char *family, const char *type, const char *help,
                    int open);

/** The same figures as JSON. */
void metrics_write_json(request_rec *r, const brg_figures *f);

#define METRICS_LIVE "/live" /**< behind a path of the handler: the page that draws the last hour */

/** 1 if @a r asks for that page. */
int metrics_is_live(const request_rec *r);

/** Answer it. @return as handlers do (metrics_live.c) */
int metrics_live_handle(request_rec *r);

/** "h1" or "h2" and whether it is below TLS, of a brg_figure_protocol. */
const char *metrics_protocol(int protocol);
const char *metrics_tls(int protocol);

/** Name of virtual host @a n (BRG_FIGURE_HOSTS), in printing ASCII, without quotes and backslashes. */
const char *metrics_host(apr_pool_t *p, int n);

/** A value as text: whole, or divided. */
const char *metrics_value(apr_pool_t *p, uint64_t value, uint64_t divisor);

#endif
