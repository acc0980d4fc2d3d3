/* SPDX-License-Identifier: Apache-2.0 */
/* Does a host lie in a domain? */
#include "host_match.h"
#include <string.h>
#include <strings.h>

int host_match_domain(const char *domain, const char *host)
{
    size_t domain_len = strlen(domain), host_len = strlen(host);

    if (domain_len > host_len || strcasecmp(domain, host + (host_len - domain_len)) != 0)
        return 0;
    return host_len == domain_len || domain[0] == '.' || host[host_len - domain_len - 1] == '.';
}
