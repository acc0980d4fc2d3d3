/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POLICY_QUERY_H
#define BRIGADE_POLICY_QUERY_H

/**
 * @file query.h
 * Which modules never look at the query of a request that is answered with a plain file, unless an
 * expression does so for them. Where all modules that hook requests are such, one stored response
 * answers a file's target with whatever query.
 *
 * Threads: any. Blocking: no.
 */
#include <stddef.h>

/** 1 if the module of that name (module->name) is such a one. */
int query_is_left_by(const char *module);

/** 1 if a query consists of the characters that RFC 3986, 3.4 has for queries: a target with others may
 * be refused. */
int query_is_regular(const char *query, size_t len);

#endif
