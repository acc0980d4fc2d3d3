/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LITESPEED_H
#define BRIGADE_LITESPEED_H

/**
 * @file brigade/litespeed.h
 * An optional function of cache_module, for modules whose rules set variables of a request.
 */
#include "httpd.h"
#include "apr_optional.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A rule set a variable of @a r. Where LiteSpeedCache is on, Cache-Control and Cache-Vary are words for the cache, which adds
 * them up. Call it after the variable was set.
 * @param value  NULL: nothing was set, only the result is asked for
 * @return 1: it is a word for the cache; 0: a variable as any
 * Threads: the request's. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(int, brg_litespeed_variable,
                        (request_rec * r, const char *name, const char *value));

#ifdef __cplusplus
}
#endif
#endif
