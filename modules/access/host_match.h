/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_MATCH_H
#define HOST_MATCH_H

/**
 * 1 if @a host is @a domain or lies in it, compared by whole labels and without regard to case; a
 * domain with a leading dot matches hosts below it only. Shared by mod_authz_host and
 * mod_access_compat.
 */
int host_match_domain(const char *domain, const char *host);

#endif
