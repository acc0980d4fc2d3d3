/* SPDX-License-Identifier: Apache-2.0 */
/* Modules without directives of their own: that they are loaded says which schemes and methods may be used. */
#include "proxy_private.h"

static void schemes_hooks(apr_pool_t *p)
{
    (void)p;
}

#define PROXY_PLAIN_MODULE(name)                          \
    module AP_MODULE_DECLARE_DATA name##_module = {       \
        STANDARD20_MODULE_STUFF_NAMED("mod_" #name ".c"), \
        NULL,                                             \
        NULL,                                             \
        NULL,                                             \
        NULL,                                             \
        NULL,                                             \
        schemes_hooks,                                    \
        0}

#define STANDARD20_MODULE_STUFF_NAMED(file)                                     \
    MODULE_MAGIC_NUMBER_MAJOR, MODULE_MAGIC_NUMBER_MINOR, -1, file, NULL, NULL, \
        MODULE_MAGIC_COOKIE, NULL

PROXY_PLAIN_MODULE(proxy_http);
PROXY_PLAIN_MODULE(proxy_http2);
PROXY_PLAIN_MODULE(proxy_uwsgi);
PROXY_PLAIN_MODULE(lbmethod_byrequests);
PROXY_PLAIN_MODULE(lbmethod_bytraffic);
PROXY_PLAIN_MODULE(lbmethod_bybusyness);
PROXY_PLAIN_MODULE(slotmem_shm);

static int is_loaded(const module *m)
{
    return m->module_index != -1;
}

int proxy_scheme_is_served(proxy_scheme scheme)
{
    switch (scheme) {
    case PROXY_SCHEME_HTTP:
    case PROXY_SCHEME_HTTPS:
        return is_loaded(&proxy_http_module);
    case PROXY_SCHEME_WS:
    case PROXY_SCHEME_WSS:
        return is_loaded(&proxy_http_module) || is_loaded(&proxy_wstunnel_module);
    case PROXY_SCHEME_H2:
    case PROXY_SCHEME_H2C:
        return is_loaded(&proxy_http2_module);
    case PROXY_SCHEME_FCGI:
        return is_loaded(&proxy_fcgi_module);
    case PROXY_SCHEME_SCGI:
        return is_loaded(&proxy_scgi_module);
    case PROXY_SCHEME_UWSGI:
        return is_loaded(&proxy_uwsgi_module);
    case PROXY_SCHEME_CONNECT:
        return is_loaded(&proxy_connect_module);
    case PROXY_SCHEME_BALANCER:
        return is_loaded(&proxy_balancer_module);
    case PROXY_SCHEME_NONE:
        break;
    }
    return 0;
}
