/* SPDX-License-Identifier: Apache-2.0 */
/* Log items: %{asn}C, %{asn-prefix}C, %{as-path}C, %{communities}C. They are cookies where there is no ASTable. */
#include <arpa/inet.h>
#include "apr_strings.h"
#include "mod_log_config.h"
#include "brigade/decimal.h"
#include "brigade/transaction.h"
#include "asn_module.h"

static const char *log_asn(request_rec *r, char *arg)
{
    return asn_client_text(r->useragent_addr, ASN_WHAT_NUMBER, r->pool);
}

static const char *log_prefix(request_rec *r, char *arg)
{
    return asn_client_text(r->useragent_addr, ASN_WHAT_PREFIX, r->pool);
}

static const char *log_path(request_rec *r, char *arg)
{
    return asn_client_text(r->useragent_addr, ASN_WHAT_PATH, r->pool);
}

static const char *log_communities(request_rec *r, char *arg)
{
    return asn_client_text(r->useragent_addr, ASN_WHAT_COMMUNITIES, r->pool);
}

/* The client's address is there as text alone where it is not the connection's. */
static const unsigned char *stored_address(const brg_transaction *a, brg_asn_family *family,
                                           unsigned char room[16])
{
    if (a->client_ip == a->connection->client_ip)
        return asn_client_bytes(a->connection->client_addr, family);
    *family = ASN_IPV4;
    if (a->client_ip && inet_pton(AF_INET, a->client_ip, room) == 1)
        return room;
    *family = ASN_IPV6;
    return a->client_ip && inet_pton(AF_INET6, a->client_ip, room) == 1 ? room : NULL;
}

typedef struct stored_client {
    unsigned char room[16];
    const unsigned char *address;
    brg_asn_family family;
    brg_asn_route route;
} stored_client;

static int stored_route(const brg_transaction *a, stored_client *c)
{
    c->address = stored_address(a, &c->family, c->room);
    return c->address && asn_look_up(c->family, c->address, &c->route, NULL);
}

static apr_size_t stored_asn(const brg_transaction *a, char *out)
{
    stored_client c;

    if (stored_route(a, &c) && c.route.origin)
        return brg_decimal_put(out, c.route.origin);
    *out = '-';
    return 1;
}

static apr_size_t stored_prefix(const brg_transaction *a, char *out)
{
    stored_client c;

    if (stored_route(a, &c))
        return brg_asn_prefix_text(c.family, c.address, c.route.length, out);
    *out = '-';
    return 1;
}

void asn_log_register(apr_pool_t *pconf)
{
    static const struct {
        const char *tag;
        ap_log_handler_fn_t *text;
        brg_transaction_item_fn *stored;
    } items[] = {{"asnC", log_asn, stored_asn},
                 {"asn-prefixC", log_prefix, stored_prefix},
                 {"as-pathC", log_path, NULL},
                 {"communitiesC", log_communities, NULL}};
    APR_OPTIONAL_FN_TYPE(ap_register_log_handler) *add =
        APR_RETRIEVE_OPTIONAL_FN(ap_register_log_handler);
    APR_OPTIONAL_FN_TYPE(brg_register_transaction_item) *add_stored =
        APR_RETRIEVE_OPTIONAL_FN(brg_register_transaction_item);

    for (size_t i = 0; add && i < sizeof items / sizeof *items; i++) {
        add(pconf, apr_pstrdup(pconf, items[i].tag), items[i].text, 0);
        if (add_stored && items[i].stored)
            add_stored(items[i].tag, items[i].stored);
    }
}
