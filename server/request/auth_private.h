/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_AUTH_PRIVATE_H
#define BRIGADE_REQUEST_AUTH_PRIVATE_H

/** @file auth_private.h  Whether access control of a request counts for its sub-requests and
 *   redirects. */

/**
 * 1 if access control may be skipped for a sub-request or internal redirect that has the same
 * configuration as the request before it: every hook and provider declared so when it registered. Decided
 * once, by ap_setup_auth_internal(). Threads: any, after the configuration was read. (auth_provider.c)
 */
int auth_internal_is_per_conf(void);

#endif
