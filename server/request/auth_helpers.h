/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_AUTH_HELPERS_H
#define BRIGADE_REQUEST_AUTH_HELPERS_H

/**
 * @file auth_helpers.h
 * The core's access to knowledge of authorization modules. */

/** optional_fn_retrieve hook: find the modules' accessors for AuthType, AuthName, Require and
 * Satisfy. */
void auth_helpers_retrieve(void);

#endif
