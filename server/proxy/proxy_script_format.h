/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_SCRIPT_FORMAT_H
#define BRIGADE_PROXY_SCRIPT_FORMAT_H

/**
 * @file proxy_script_format.h
 * The bytes in which a backend of scripts gets variables: a table of each codec, for plans and their requests, which are written without
 * the codec (proxy_plan_script.c, proxy_ahead_script.c). Threads: any. Blocking: no.
 */
#include "apr.h"

/** A variable of a request that was sent. */
typedef struct script_pair {
    const char *name, *value; /**< without NULs */
    apr_size_t name_len, value_len;
} script_pair;

/** How a protocol frames variables: for requests of a plan, which are made without a table. */
typedef struct script_format {
    apr_size_t before, behind; /**< bytes in front of the variables, and behind them */
    const char *first;         /**< framed variables that begin a request without a body */
    apr_size_t first_len;
    /** 1: a variable of that name is the protocol's own; NULL: none is. */
    int (*is_own)(const char *name, apr_size_t len);
    /** @param p  room for name, value and SCRIPT_PAIR_MORE bytes @return what follows */
    unsigned char *(*put)(unsigned char *p, const char *name, apr_size_t name_len,
                          const char *value, apr_size_t value_len);
    /** Frame @a n bytes of variables, at @a to + before, as a request without a body. @param keep  the connection is to stay
     * @param at  [out] where it begins, counted from @a to @return its length */
    apr_size_t (*frame)(unsigned char *to, apr_size_t n, int keep, apr_size_t *at);
    /** Read what put() wrote. @return what follows */
    const char *(*get)(const char *p, script_pair *pair);
} script_format;

#define SCRIPT_PAIR_MORE 8 /**< bytes of a framed variable beside its name and value, at most */

#endif
