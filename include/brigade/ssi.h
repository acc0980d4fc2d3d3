/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SSI_H
#define BRIGADE_SSI_H

/** @file brigade/ssi.h  mod_include's additions to Apache's mod_include.h. */
#include "apr_optional.h"
#include "apr_pools.h"

/**
 * Look for mistakes in pages, as `brigade --check-ssi FILE...` does: one line for each on standard output.
 * @return how many there are, unreadable files included
 */
APR_DECLARE_OPTIONAL_FN(int, brg_check_ssi, (apr_pool_t * p, int n, const char *const *files));

#endif
