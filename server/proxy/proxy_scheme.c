/* SPDX-License-Identifier: Apache-2.0 */
/* The schemes of backends. */
#include "proxy.h"
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    proxy_scheme scheme;
    apr_port_t port;
    int tls;
} proxy_schemes[] = {
    {"http", PROXY_SCHEME_HTTP, 80, 0},     {"https", PROXY_SCHEME_HTTPS, 443, 1},
    {"h2", PROXY_SCHEME_H2, 443, 1},        {"h2c", PROXY_SCHEME_H2C, 80, 0},
    {"ws", PROXY_SCHEME_WS, 80, 0},         {"wss", PROXY_SCHEME_WSS, 443, 1},
    {"fcgi", PROXY_SCHEME_FCGI, 8000, 0},   {"scgi", PROXY_SCHEME_SCGI, 4000, 0},
    {"uwsgi", PROXY_SCHEME_UWSGI, 3031, 0}, {"balancer", PROXY_SCHEME_BALANCER, 0, 0},
};

#define PROXY_SCHEMES_N (sizeof proxy_schemes / sizeof *proxy_schemes)

proxy_scheme proxy_scheme_of(const char *name, apr_size_t len)
{
    for (size_t i = 0; i < PROXY_SCHEMES_N; i++)
        if (!strncasecmp(proxy_schemes[i].name, name, len) && !proxy_schemes[i].name[len])
            return proxy_schemes[i].scheme;
    return PROXY_SCHEME_NONE;
}

apr_port_t proxy_scheme_port(proxy_scheme scheme)
{
    for (size_t i = 0; i < PROXY_SCHEMES_N; i++)
        if (proxy_schemes[i].scheme == scheme)
            return proxy_schemes[i].port;
    return 0;
}

int proxy_scheme_is_tls(proxy_scheme scheme)
{
    for (size_t i = 0; i < PROXY_SCHEMES_N; i++)
        if (proxy_schemes[i].scheme == scheme)
            return proxy_schemes[i].tls;
    return 0;
}
