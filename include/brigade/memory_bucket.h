/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_BUCKET_H
#define BRIGADE_MEMORY_BUCKET_H

#include "apr_buckets.h"
#include "brigade/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As apr_bucket_alloc_create(), in the scope for buckets. Ends with the pool. NULL when memory is
 * out. */
BRG_DECLARE(apr_bucket_alloc_t *) brg_bucket_alloc_create(apr_pool_t *pool);

#ifdef __cplusplus
}
#endif

#endif
