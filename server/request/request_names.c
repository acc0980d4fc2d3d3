/* SPDX-License-Identifier: Apache-2.0 */
/* The server's name and port as a request may see them (UseCanonicalName), and URLs made of them.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"

static const core_dir_config *names_conf(const request_rec *r)
{
    BRG_ASSERT(r->per_dir_config != NULL);
    return ap_get_core_module_config(r->per_dir_config);
}

/* The name of the address that the client connected to, looked up once a connection. */
static const char *names_by_dns(request_rec *r)
{
    conn_rec *c = r->connection;

    if (!c->local_host) {
        if (apr_getnameinfo(&c->local_host, c->local_addr, 0) != APR_SUCCESS || !c->local_host)
            c->local_host = apr_pstrdup(c->pool, r->server->server_hostname);
        else
            ap_str_tolower(c->local_host);
    }
    return c->local_host;
}

AP_DECLARE(const char *) ap_get_server_name(request_rec *r)
{
    switch (names_conf(r)->use_canonical_name) {
    case USE_CANONICAL_NAME_DNS:
        return names_by_dns(r);
    case USE_CANONICAL_NAME_ON:
        return r->server->server_hostname;
    default:
        return r->hostname ? r->hostname : r->server->server_hostname;
    }
}

AP_DECLARE(const char *) ap_get_server_name_for_url(request_rec *r)
{
    const char *name = ap_get_server_name(r);

    return strchr(name, ':') ? apr_pstrcat(r->pool, "[", name, "]", NULL) : name;
}

AP_DECLARE(apr_port_t) ap_get_server_port(const request_rec *r)
{
    const core_dir_config *conf = names_conf(r);
    int self = conf->use_canonical_name != USE_CANONICAL_NAME_ON;
    apr_port_t physical = conf->use_canonical_phys_port == USE_CANONICAL_PHYS_PORT_ON
                              ? r->connection->local_addr->port
                              : 0;
    apr_port_t asked = self && r->parsed_uri.port_str ? r->parsed_uri.port : 0;

    if (asked)
        return asked;
    /* UseCanonicalName Off: the port that the client connected to. */
    if (self && physical)
        return physical;
    if (r->server->port)
        return r->server->port;
    return physical ? physical : ap_default_port(r);
}

AP_DECLARE(char *) ap_construct_url(apr_pool_t *p, const char *uri, request_rec *r)
{
    apr_port_t port = ap_get_server_port(r);
    const char *host = ap_get_server_name_for_url(r);

    if (ap_is_default_port(port, r))
        return apr_pstrcat(p, ap_http_scheme(r), "://", host, uri, NULL);
    return apr_psprintf(p, "%s://%s:%u%s", ap_http_scheme(r), host, port, uri);
}
