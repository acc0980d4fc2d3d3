/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field in which each proxy puts, at the end, the address that it was asked by (X-Forwarded-For). It is read from its
 * end on: each address is believed if the one that named it belongs to a trusted proxy. What is left in front of the
 * first that does not stays in the field.
 */
#include "remoteip_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <string.h>

APLOG_USE_MODULE(remoteip);

/* The proxy that an address belongs to. 0: it is none */
static int forwarded_trusts(const remoteip_conf *conf, apr_sockaddr_t *address, int *internal)
{
    *internal = 0;
    if (!conf->proxies)
        return 1;
    for (int i = 0; i < conf->proxies->nelts; i++) {
        const remoteip_proxy *proxy = &APR_ARRAY_IDX(conf->proxies, i, remoteip_proxy);

        if (apr_ipsubnet_test(proxy->net, address)) {
            *internal = proxy->internal;
            return 1;
        }
    }
    return 0;
}

/* Cut the last address off the list. @return it without blanks; *list: NULL if it was the only one */
static char *forwarded_last(char **list)
{
    char *last = strrchr(*list, ','), *end;

    if (last) {
        *last++ = '\0';
    } else {
        last = *list;
        *list = NULL;
    }
    last += strspn(last, " ");
    for (end = last + strlen(last); end > last && end[-1] == ' ';)
        *--end = '\0';
    return last;
}

/* An address as numbers; no name is looked up. */
static apr_sockaddr_t *forwarded_address(apr_pool_t *p, const char *text)
{
    unsigned char bytes[16];
    apr_sockaddr_t *address = NULL;

    if (inet_pton(AF_INET, text, bytes) != 1 && inet_pton(AF_INET6, text, bytes) != 1)
        return NULL;
    return apr_sockaddr_info_get(&address, text, APR_UNSPEC, 0, APR_IPV4_ADDR_OK, p) == APR_SUCCESS
               ? address
               : NULL;
}

/* Networks that no proxy outside can have been asked by (RFC 6890); of IPv6 all but global unicast. */
static int forwarded_is_private(const apr_sockaddr_t *address)
{
    const unsigned char *a = address->ipaddr_ptr;

    if (address->family != APR_INET)
        return (a[0] & 0xe0) != 0x20;
    return a[0] == 10 || a[0] == 127 || (a[0] == 169 && a[1] == 254) ||
           (a[0] == 192 && a[1] == 168) || (a[0] == 172 && (a[1] & 0xf0) == 16);
}

static void forwarded_refused(const request_rec *r, const remoteip_conf *conf, const char *text,
                              const char *why)
{
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "RemoteIP: header %s: %s %s", conf->field, text,
                  why);
}

/* The next address of the list, if it is to be believed. NULL: it is put back, and the rest with it. */
static apr_sockaddr_t *forwarded_next(const request_rec *r, const remoteip_conf *conf, char **list,
                                      int internal)
{
    char *before = *list, *text = forwarded_last(list);
    apr_sockaddr_t *address = *text ? forwarded_address(r->pool, text) : NULL;

    if (address && (internal || !forwarded_is_private(address)))
        return address;
    if (*text)
        forwarded_refused(r, conf, text,
                          address ? "appears to be a private address: ignored" : "is no address");
    if (*list)
        before[strlen(before)] = ','; /* as it was */
    else
        *list = before;
    return NULL;
}

static void forwarded_take(request_rec *r, const remoteip_conf *conf, const char *rest,
                           const char *via)
{
    if (rest)
        apr_table_setn(r->headers_in, conf->field, rest);
    else
        apr_table_unset(r->headers_in, conf->field);
    if (!via)
        return;
    apr_table_setn(r->notes, "remoteip-proxy-ip-list", via);
    if (conf->proxies_field)
        apr_table_setn(r->headers_in, conf->proxies_field, via);
}

void remoteip_forwarded(request_rec *r, const remoteip_conf *conf)
{
    const char *sent = apr_table_get(r->headers_in, conf->field), *via = NULL,
               *ip = r->useragent_ip;
    char *list = sent ? apr_pstrdup(r->pool, sent) : NULL;
    apr_sockaddr_t *address = r->useragent_addr, *next;
    int internal, found = 0;

    BRG_ASSERT(conf->field != NULL);
    while (list && forwarded_trusts(conf, address, &internal) &&
           (next = forwarded_next(r, conf, &list, internal))) {
        if (!internal)
            via = via ? apr_pstrcat(r->pool, via, ", ", ip, NULL) : ip;
        address = next;
        found = 1;
        apr_sockaddr_ip_get((char **)(uintptr_t)&ip, address);
    }
    if (!found)
        return;
    r->useragent_addr = address;
    r->useragent_ip = (char *)(uintptr_t)ip;
    forwarded_take(r, conf, list, via);
    ap_log_rerror(APLOG_MARK, APLOG_TRACE1, 0, r, "Using %s as client's IP by %s", ip,
                  via ? via : "internal proxies");
}
