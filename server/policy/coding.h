/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POLICY_CODING_H
#define BRIGADE_POLICY_CODING_H

/**
 * @file coding.h
 * Content codings that filters make where Accept-Encoding has them. Threads: any.
 */
#include "util_filter.h"
#include "brigade/content_coding.h"

/** The coding that a filter makes, by its name. */
enum brg_coding coding_of_filter(const ap_filter_rec_t *frec);

/**
 * Add the coding that @a f makes of the response, if it is asked for, to a set of codings that was 0 at first.
 * @return 0: it is no filter that compresses. Threads: the request's.
 */
int coding_add(int *codings, const ap_filter_t *f);

/**
 * The coding of a response by a value of Accept-Encoding, @a data being a set of codings (coding_add()). A
 * brg_cache_variant_fn.
 * @return 0: it is not compressed; -1: it cannot be told here
 */
int coding_accepted(const void *data, const char *value, apr_size_t len);

/** To be called when all modules have registered: finds mod_filter's part. Main thread. */
void coding_survey(void);

#endif
