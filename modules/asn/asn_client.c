/* SPDX-License-Identifier: Apache-2.0 */
/* What the table says of a client's address. */
#include <stdatomic.h>
#include <string.h>
#include "apr_strings.h"
#include "http_log.h"
#include "brigade/decimal.h"
#include "asn_module.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

const char *const asn_variables[ASN_WHATS] = {"CLIENT_ASN", "CLIENT_PREFIX", "CLIENT_AS_PATH",
                                              "CLIENT_COMMUNITIES"};

/* The bytes of an address; one of IPv4 in IPv6 is one of IPv4. @return NULL for what has none */
static const unsigned char *bytes_of(const apr_sockaddr_t *address, brg_asn_family *family)
{
    static const unsigned char mapped[12] = {[10] = 0xff, 0xff};
    const unsigned char *at = address->ipaddr_ptr;

    *family = address->family == AF_INET ? ASN_IPV4 : ASN_IPV6;
    if (!at || (address->family != AF_INET && address->family != AF_INET6))
        return NULL;
    if (*family == ASN_IPV6 && !memcmp(at, mapped, sizeof mapped)) {
        *family = ASN_IPV4;
        return at + sizeof mapped;
    }
    return at;
}

int asn_client_route(const apr_sockaddr_t *address, brg_asn_route *route, brg_asn_detail *detail)
{
    brg_asn_family family;
    const unsigned char *at = bytes_of(address, &family);

    return at && asn_served && asn_served->table &&
           brg_asn_lookup(asn_served->table, family, at, route, detail);
}

static const char *prefix_of(const apr_sockaddr_t *address, const brg_asn_route *route,
                             apr_pool_t *p)
{
    brg_asn_family family;
    const unsigned char *at = bytes_of(address, &family);
    char text[ASN_PREFIX_TEXT];

    return apr_pstrmemdup(p, text, brg_asn_prefix_text(family, at, route->length, text));
}

static const char *detail_of(const brg_asn_detail *detail, asn_what what, apr_pool_t *p)
{
    char text[ASN_TEXT_MAX];
    size_t n = what == ASN_WHAT_PATH ? brg_asn_path_text(detail, text, sizeof text)
                                     : brg_asn_communities_text(detail, text, sizeof text);

    return n ? apr_pstrmemdup(p, text, n) : "-";
}

const char *asn_client_text(const apr_sockaddr_t *address, asn_what what, apr_pool_t *p)
{
    int more = what == ASN_WHAT_PATH || what == ASN_WHAT_COMMUNITIES;
    brg_asn_detail detail;
    brg_asn_route route;

    if (!asn_client_route(address, &route, more ? &detail : NULL))
        return "-";
    if (more)
        return detail_of(&detail, what, p);
    if (what == ASN_WHAT_PREFIX)
        return prefix_of(address, &route, p);
    return route.origin ? apr_psprintf(p, "%u", route.origin) : "-";
}

int asn_client_ready(const request_rec *r)
{
    static _Atomic int said;

    if (asn_served && asn_served->table && brg_asn_ready(asn_served->table))
        return 1;
    if (!atomic_exchange(&said, 1))
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, 0, r,
            "the AS of clients is asked for, but no ASTable has been read: no client is in any");
    return 0;
}
