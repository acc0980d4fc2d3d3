/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REMOTEIP_REMOTEIP_PRIVATE_H
#define BRIGADE_REMOTEIP_REMOTEIP_PRIVATE_H

/**
 * @file remoteip_private.h
 * The built-in remoteip module: whom a proxy in front of the server asks for. mod_remoteip.c has directives and hooks,
 * remoteip_forwarded.c the request field that proxies fill in, proxy_header.c and proxy_transport.c the PROXY protocol.
 */
#include "httpd.h"
#include "http_config.h"
#include "conn.h"
#include <string.h>

extern module remoteip_module;

/** A proxy, or a network of them. */
typedef struct remoteip_proxy {
    apr_ipsubnet_t *net;
    int internal; /**< a proxy that may name private addresses, and is not named itself */
} remoteip_proxy;

typedef struct remoteip_conf {
    const char *field;           /**< RemoteIPHeader; NULL: none */
    const char *proxies_field;   /**< RemoteIPProxiesHeader; NULL: none */
    apr_array_header_t *proxies; /**< of remoteip_proxy; NULL: all are trusted */
    int own;                     /**< RemoteIPProxyProtocol of this host; -1: not set */
    int expects;                 /**< the value for its addresses; -1: not set */
} remoteip_conf;

static inline const remoteip_conf *remoteip_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &remoteip_module);
}

/** The bytes of the IPv4 address that 16 bytes of IPv6 stand for (::ffff:192.0.2.1); NULL: for none. */
static inline const unsigned char *remoteip_mapped(const unsigned char *bytes)
{
    static const unsigned char prefix[12] = {[10] = 0xff, 0xff};

    return memcmp(bytes, prefix, sizeof prefix) ? NULL : bytes + sizeof prefix;
}

/** Take the client's address from the request field, as far as proxies are trusted. Threads: the request's. */
void remoteip_forwarded(request_rec *r, const remoteip_conf *conf);

/** 1 if the PROXY header is expected on new connections. Main thread; until the next restart. */
void proxy_expect(int on, const apr_array_header_t *exceptions);

#endif
