/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BGP_OPTIONS_H
#define BRIGADE_BGP_OPTIONS_H

/**
 * @file bgp_options.h
 * The words of "ASTable bgp PEER NAME=VALUE ...". */
#include "apr_pools.h"
#include "bgp_session.h"

/**
 * @param words  behind "bgp": the peer, then options
 * @param conf   filled; all of it from @a p
 * @return NULL, or the error
 */
const char *bgp_options_read(bgp_conf *conf, char *const words[], int n, apr_pool_t *p);

#endif
