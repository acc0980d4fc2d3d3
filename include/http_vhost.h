/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_VHOST_H
#define APACHE_HTTP_VHOST_H

/** @file http_vhost.h  Which virtual host a connection or request belongs to. */
#include "httpd.h"
#include "http_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Before the configuration is read; after it, to build the tables. */
AP_DECLARE(void) ap_init_vhost_config(apr_pool_t *p);
AP_DECLARE(void) ap_fini_vhost_config(apr_pool_t *p, server_rec *main_server);
/** The addresses of a VirtualHost section, to s->addrs. NULL or a message. */
AP_DECLARE(const char *) ap_parse_vhost_addrs(apr_pool_t *p, const char *hostname, server_rec *s);
/** NameVirtualHost: accepted with a warning. */
AP_DECLARE_NONSTD(const char *) ap_set_name_virtual_host(cmd_parms *cmd, void *dummy, const char *arg);

/** Nonzero: found, go no further. */
typedef int (*ap_vhost_iterate_conn_cb)(void *baton, conn_rec *conn, server_rec *s);
/** Call for each host that shares the connection's address; the last result. */
AP_DECLARE(int)
ap_vhost_iterate_given_conn(conn_rec *conn, ap_vhost_iterate_conn_cb func_cb, void *baton);

/** Set conn->base_server by local address. */
AP_DECLARE(void) ap_update_vhost_given_ip(conn_rec *conn);
/** Set r->hostname and r->server by name; r->status is set if the name is bad. */
AP_DECLARE(void) ap_update_vhost_from_headers(request_rec *r);
/** The same; @a require_match: HTTP_MISDIRECTED_REQUEST unless a name matched. Else HTTP_OK. */
AP_DECLARE(int) ap_update_vhost_from_headers_ex(request_rec *r, int require_match);
/** Would that name and port have led to the same host? */
AP_DECLARE(int) ap_matches_request_vhost(request_rec *r, const char *host, apr_port_t port);

#ifdef __cplusplus
}
#endif
#endif
