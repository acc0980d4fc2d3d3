/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field in which each proxy puts, at the end, the address that it was asked by
 * (X-Forwarded-For). It is read from its end on: an address is believed if the proxy that added it
 * is trusted. The text in front of the first untrusted one stays in the field.
 */
#include "remoteip_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <string.h>

APLOG_USE_MODULE(remoteip);

/* The proxy that an address belongs to. 0: it is no proxy's */
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

/* The rest of the field; each step takes time for one address, not for the whole list. */
typedef struct forwarded_list {
    char *at;   /* NULL: nothing */
    size_t len; /* a NUL is behind it */
} forwarded_list;

/* Cut the last address off. @return it without blanks */
static char *forwarded_last(forwarded_list *list)
{
    char *last = memrchr(list->at, ',', list->len), *end = list->at + list->len;

    BRG_ASSERT(!*end);
    if (last) {
        list->len = (size_t)(last - list->at);
        *last++ = '\0';
    } else {
        last = list->at;
        list->at = NULL;
    }
    last += strspn(last, " ");
    while (end > last && end[-1] == ' ')
        *--end = '\0';
    return last;
}

/* An address as numbers; no name is looked up. One of IPv4 stays one where it is written as one of IPv6. */
static apr_sockaddr_t *forwarded_address(apr_pool_t *p, const char *text)
{
    const unsigned char *mapped;
    unsigned char bytes[16];

    if (inet_pton(AF_INET, text, bytes) == 1)
        return conn_sockaddr(p, AF_INET, bytes, 0);
    if (inet_pton(AF_INET6, text, bytes) != 1)
        return NULL;
    mapped = remoteip_mapped(bytes);
    return conn_sockaddr(p, mapped ? AF_INET : AF_INET6, mapped ? mapped : bytes, 0);
}

/* Networks that no proxy outside can have been asked by (RFC 6890); of IPv6 all but global unicast. */
static int forwarded_is_private(const apr_sockaddr_t *address)
{
    const unsigned char *a = address->ipaddr_ptr;

    BRG_ASSERT(address->family == APR_INET || address->family == APR_INET6);
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
static apr_sockaddr_t *forwarded_next(const request_rec *r, const remoteip_conf *conf,
                                      forwarded_list *list, int internal)
{
    forwarded_list before = *list;
    char *text = forwarded_last(list);
    apr_sockaddr_t *address = *text ? forwarded_address(r->pool, text) : NULL;

    if (address && (internal || !forwarded_is_private(address)))
        return address;
    if (*text)
        forwarded_refused(r, conf, text,
                          address ? "appears to be a private address: ignored" : "is no address");
    if (list->at)
        list->at[list->len] = ','; /* as it was */
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

/* The proxies on the way as one text. NULL: no proxies */
static const char *forwarded_via(apr_pool_t *p, const apr_array_header_t *proxies)
{
    size_t bytes = 1;
    char *text, *to;

    for (int i = 0; i < proxies->nelts; i++)
        bytes += strlen(APR_ARRAY_IDX(proxies, i, const char *)) + 2;
    text = to = apr_palloc(p, bytes);
    for (int i = 0; i < proxies->nelts; i++)
        to = stpcpy(stpcpy(to, i ? ", " : ""), APR_ARRAY_IDX(proxies, i, const char *));
    BRG_ASSERT((size_t)(to - text) < bytes);
    return proxies->nelts ? text : NULL;
}

void remoteip_forwarded(request_rec *r, const remoteip_conf *conf)
{
    const char *sent = apr_table_get(r->headers_in, conf->field), *via, *ip = r->useragent_ip;
    forwarded_list list = {sent ? apr_pstrdup(r->pool, sent) : NULL, sent ? strlen(sent) : 0};
    apr_array_header_t *proxies = apr_array_make(r->pool, 4, sizeof(char *));
    apr_sockaddr_t *address = r->useragent_addr, *next;
    int internal, found = 0;

    BRG_ASSERT(conf->field != NULL);
    while (list.at && forwarded_trusts(conf, address, &internal) &&
           (next = forwarded_next(r, conf, &list, internal))) {
        if (!internal)
            APR_ARRAY_PUSH(proxies, const char *) = ip;
        address = next;
        found = 1;
        apr_sockaddr_ip_get((char **)(uintptr_t)&ip, address);
    }
    if (!found)
        return;
    via = forwarded_via(r->pool, proxies);
    BRG_ASSERT(address && ip);
    r->useragent_addr = address;
    r->useragent_ip = (char *)(uintptr_t)ip;
    forwarded_take(r, conf, list.at, via);
    ap_log_rerror(APLOG_MARK, APLOG_TRACE1, 0, r, "Using %s as client's IP by %s", ip,
                  via ? via : "internal proxies");
}
