/* SPDX-License-Identifier: Apache-2.0 */
/* The table's answers about a client's address. */
#include <stdatomic.h>
#include <string.h>
#include "apr_strings.h"
#include "http_log.h"
#include "brigade/decimal.h"
#include "asn_collector.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

const char *const asn_variables[ASN_WHATS] = {"CLIENT_ASN", "CLIENT_PREFIX", "CLIENT_AS_PATH",
                                              "CLIENT_COMMUNITIES"};

const unsigned char *asn_client_bytes(const apr_sockaddr_t *address, brg_asn_family *family)
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

const brg_asn_table *asn_table(void)
{
    const asn_collector *c = asn_served ? asn_served->collector : NULL;

    return c ? c->tables[atomic_load_explicit(&c->figures->serving, memory_order_acquire) & 1]
             : NULL;
}

int asn_look_up(brg_asn_family family, const unsigned char *address, brg_asn_route *route,
                brg_asn_detail *detail)
{
    const brg_asn_table *table = asn_table();
    int found;

    if (!table)
        return 0;
    found = brg_asn_lookup(table, family, address, route, detail);
    asn_count(asn_served->collector->counts, found ? route->origin : 0);
    return found;
}

int asn_client_route(const apr_sockaddr_t *address, brg_asn_route *route, brg_asn_detail *detail)
{
    brg_asn_family family;
    const unsigned char *at = asn_client_bytes(address, &family);

    return at && asn_look_up(family, at, route, detail);
}

static size_t put_detail(const brg_asn_detail *detail, asn_what what, char *out)
{
    return what == ASN_WHAT_PATH ? brg_asn_path_text(detail, out, ASN_TEXT_MAX)
                                 : brg_asn_communities_text(detail, out, ASN_TEXT_MAX);
}

static size_t put_prefix(const apr_sockaddr_t *address, unsigned length, char *out)
{
    brg_asn_family family;
    const unsigned char *at = asn_client_bytes(address, &family);

    return brg_asn_prefix_text(family, at, length, out);
}

static size_t put_route(const apr_sockaddr_t *address, asn_what what, char *out)
{
    const int more = what == ASN_WHAT_PATH || what == ASN_WHAT_COMMUNITIES;
    brg_asn_detail detail;
    brg_asn_route route;

    if (!asn_client_route(address, &route, more ? &detail : NULL))
        return 0;
    if (more)
        return put_detail(&detail, what, out);
    if (what == ASN_WHAT_PREFIX)
        return put_prefix(address, route.length, out);
    return route.origin ? brg_decimal_put(out, route.origin) : 0;
}

size_t asn_client_put(const apr_sockaddr_t *address, asn_what what, char *out)
{
    size_t n = put_route(address, what, out);

    if (!n)
        out[n++] = '-';
    out[n] = '\0';
    return n;
}

const char *asn_client_text(const apr_sockaddr_t *address, asn_what what, apr_pool_t *p)
{
    char text[ASN_TEXT_MAX + 1];

    return apr_pstrmemdup(p, text, asn_client_put(address, what, text));
}

int asn_is_ready(void)
{
    const brg_asn_table *table = asn_table();

    return table && brg_asn_ready(table);
}

int asn_client_ready(const request_rec *r)
{
    static _Atomic int said;

    if (asn_is_ready())
        return 1;
    if (!atomic_exchange(&said, 1))
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, 0, r,
            "the AS of clients is asked for, but no ASTable has been read: no client is in any");
    return 0;
}
