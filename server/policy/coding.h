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

/**
 * Apache's module file stands behind the filter @a frec, which compresses: what it goes by in a request, as brg_coding_step_of() tells of
 * ours, but for the types.
 * @return 0: it is another one. Threads: the request's.
 */
int coding_of_file(const request_rec *r, const ap_filter_rec_t *frec, brg_coding_step *step);

/** 1: @a f compresses the response, by the type that it has so far, if its client takes the coding. Threads: the request's. */
int coding_is_likely(const ap_filter_t *f);

/** What such a filter does to a response; BRG_CODING_UNKNOWN where a name in Accept-Encoding might mean its coding. Threads: any. */
brg_coding_fate coding_file_fate(const brg_coding_step *step, const brg_coding_asked *asked);

/** To be called when all modules have registered: finds mod_filter's part. Main thread. */
void coding_survey(void);

#endif
