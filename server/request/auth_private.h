/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_AUTH_PRIVATE_H
#define BRIGADE_REQUEST_AUTH_PRIVATE_H

/**
 * 1 if access control may be skipped for a subrequest or internal redirect that has the same
 * configuration as the request before it: true where every hook and provider said so when it
 * registered. Settled by ap_setup_auth_internal. Threads: any, after the configuration was read.
 * (auth_provider.c)
 */
int auth_internal_is_per_conf(void);

#endif
