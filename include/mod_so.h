/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_SO_H
#define MOD_SO_H 1

/** @file mod_so.h  Loaded modules. */
#include "apr_optional.h"
#include "httpd.h"
#include "http_config.h"

/** A module by its symbol, such as "alias_module"; NULL if LoadModule did not load it. */
APR_DECLARE_OPTIONAL_FN(module *, ap_find_loaded_module_symbol,
                        (server_rec * s, const char *modname));

#endif
