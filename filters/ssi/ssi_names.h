/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTERS_SSI_NAMES_H
#define BRIGADE_FILTERS_SSI_NAMES_H

/**
 * @file ssi_names.h
 * A set of strings that lives as long as a page is rendered. Most pages have a handful of parts and variables: so many are
 * compared one by one, which needs no memory of its own. All zero is the empty set.
 *
 * Threads: one at a time. Blocking: no.
 */
#include "apr_hash.h"
#include "apr_pools.h"

#define SSI_NAMES_FEW 12 /**< members that are not in a hash table */

typedef struct ssi_names {
    int few_n;
    const char *few[SSI_NAMES_FEW];
    apr_hash_t *all; /**< NULL: all of them are in few */
} ssi_names;

/** 1 if @a name is a member. */
int ssi_names_has(const ssi_names *names, const char *name);

/** Make @a name a member; once more is harmless. It is referred to: it outlives the set. @param p  of the table */
void ssi_names_add(ssi_names *names, apr_pool_t *p, const char *name);

#endif
