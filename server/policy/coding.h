/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POLICY_CODING_H
#define BRIGADE_POLICY_CODING_H

/**
 * @file coding.h
 * Content codings that filters make where Accept-Encoding has them, as bits. Threads: any.
 */
#include "util_filter.h"

#define CODING_GZIP 1
#define CODING_BROTLI 2

/** The coding that a filter makes, or 0. */
int coding_of_filter(const ap_filter_rec_t *frec);

/**
 * Which of the codings @a data (bits) a value of Accept-Encoding has. A brg_cache_variant_fn.
 * @return -1: it has weights, or what else cannot be told here
 */
int coding_accepted(const void *data, const char *value, apr_size_t len);

#endif
