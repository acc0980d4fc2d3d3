/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __MOD_SSL_H__
#define __MOD_SSL_H__

/** @file mod_ssl.h  Optional functions of the TLS module. http_ssl.h has newer ones for any TLS module. */
#include "httpd.h"
#include "http_config.h"
#include "apr_optional.h"
#include "apr_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How functions and data of mod_ssl are declared. */
#define SSL_DECLARE(type) AP_DECLARE(type)
#define SSL_DECLARE_NONSTD(type) AP_DECLARE(type)
#define SSL_DECLARE_DATA AP_DECLARE_DATA

/** Value of a variable such as SSL_PROTOCOL. */
APR_DECLARE_OPTIONAL_FN(char *, ssl_var_lookup,
                        (apr_pool_t *, server_rec *, conn_rec *, request_rec *, char *));
/** Values of a certificate extension, by its number; @a peer: the client's certificate. */
APR_DECLARE_OPTIONAL_FN(apr_array_header_t *, ssl_ext_list,
                        (apr_pool_t * p, conn_rec *c, int peer, const char *extension));
APR_DECLARE_OPTIONAL_FN(int, ssl_is_https, (conn_rec *));
/* For a proxy's connections. Nonzero if it is done. */
APR_DECLARE_OPTIONAL_FN(int, ssl_proxy_enable, (conn_rec *));
APR_DECLARE_OPTIONAL_FN(int, ssl_engine_disable, (conn_rec *));
APR_DECLARE_OPTIONAL_FN(int, ssl_engine_set, (conn_rec *, ap_conf_vector_t *, int proxy, int enable));

#define SSL_CERT_HOOKS
/* Add file names of certificates and keys, as arrays of const char *. Run all. */
APR_DECLARE_EXTERNAL_HOOK(ssl, SSL, int, add_cert_files,
                          (server_rec * s, apr_pool_t *p, apr_array_header_t *cert_files,
                           apr_array_header_t *key_files))
APR_DECLARE_EXTERNAL_HOOK(ssl, SSL, int, add_fallback_cert_files,
                          (server_rec * s, apr_pool_t *p, apr_array_header_t *cert_files,
                           apr_array_header_t *key_files))

#ifdef __cplusplus
}
#endif
#endif
