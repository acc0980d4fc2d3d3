/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_APR_DECLARED_H
#define BRIGADE_APR_DECLARED_H

/*
 * APR's declarations of the functions of this directory, made visible: everything else in the program
 * is hidden by the build, and these must be found by libapr, libaprutil and modules. Include it
 * before anything that includes APR.
 */
#pragma GCC visibility push(default)
#include "apr_allocator.h"
#include "apr_pools.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "apr_thread_proc.h"

/* Declared by APR only where APR_POOL_DEBUG or DOXYGEN is set, or hidden behind macros otherwise;
 * modules that were compiled with pool debugging call them. */
#undef apr_pcalloc
#undef apr_pool_join
#undef apr_pool_lock
APR_DECLARE(void *) apr_pcalloc(apr_pool_t *p, apr_size_t size);
APR_DECLARE(void) apr_pool_join(apr_pool_t *p, apr_pool_t *sub);
APR_DECLARE(apr_pool_t *) apr_pool_find(const void *mem);
APR_DECLARE(apr_size_t) apr_pool_num_bytes(apr_pool_t *p, int recurse);
APR_DECLARE(void) apr_pool_lock(apr_pool_t *pool, int flag);
APR_DECLARE(void) apr_pool_owner_set(apr_pool_t *pool, apr_uint32_t flags);
#pragma GCC visibility pop

#endif
