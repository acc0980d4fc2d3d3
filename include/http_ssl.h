/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_SSL_H
#define APACHE_HTTP_SSL_H

/**
 * @file http_ssl.h Questions of the core and other modules to the module that does TLS. Each
 * question is a hook that such a module answers and a function that asks all of them; without one
 * the answer is "no".
 */
#include "httpd.h"
#include "apr_portable.h"
#include "apr_mmap.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ap_conf_vector_t;

/** Is it TLS? OK for yes in the hook, nonzero in the function. */
AP_DECLARE_HOOK(int, ssl_conn_is_ssl, (conn_rec * c))
AP_DECLARE(int) ap_ssl_conn_is_ssl(conn_rec *c);

/** Set an outgoing connection up. OK, or DECLINED; the function is OK if TLS is neither wanted nor there. */
AP_DECLARE_HOOK(int, ssl_bind_outgoing,
                (conn_rec * c, struct ap_conf_vector_t *dir_conf, int enable_ssl))
AP_DECLARE(int)
ap_ssl_bind_outgoing(conn_rec *c, struct ap_conf_vector_t *dir_conf, int require_ssl);
AP_DECLARE(int) ap_ssl_has_outgoing_handlers(void);

/** Value of a variable, NULL: not known. Connection and request may be NULL. */
AP_DECLARE_HOOK(const char *, ssl_var_lookup,
                (apr_pool_t * p, server_rec *s, conn_rec *c, request_rec *r, const char *name))
AP_DECLARE(const char *)
ap_ssl_var_lookup(apr_pool_t *p, server_rec *s, conn_rec *c, request_rec *r, const char *name);

/* Add file names of certificates and keys for a server; fallbacks if it has none. */
AP_DECLARE_HOOK(int, ssl_add_cert_files,
                (server_rec * s, apr_pool_t *p, apr_array_header_t *cert_files,
                 apr_array_header_t *key_files))
AP_DECLARE(apr_status_t)
ap_ssl_add_cert_files(server_rec *s, apr_pool_t *p, apr_array_header_t *cert_files,
                      apr_array_header_t *key_files);
AP_DECLARE_HOOK(int, ssl_add_fallback_cert_files,
                (server_rec * s, apr_pool_t *p, apr_array_header_t *cert_files,
                 apr_array_header_t *key_files))
AP_DECLARE(apr_status_t)
ap_ssl_add_fallback_cert_files(server_rec *s, apr_pool_t *p, apr_array_header_t *cert_files,
                               apr_array_header_t *key_files);

/** Certificate and key for a tls-alpn-01 challenge. Nonzero if there are some. */
AP_DECLARE_HOOK(int, ssl_answer_challenge,
                (conn_rec * c, const char *server_name, const char **pcert_pem,
                 const char **pkey_pem))
AP_DECLARE(int)
ap_ssl_answer_challenge(conn_rec *c, const char *server_name, const char **pcert_pem,
                        const char **pkey_pem);

/** Register the old optional functions of mod_ssl.h on top of these. */
AP_DECLARE(void) ap_setup_ssl_optional_fns(apr_pool_t *pool);

/** Announce a certificate to modules that staple OCSP responses. @a id is its name from now on.
 * APR_ENOENT: nobody. */
AP_DECLARE_HOOK(int, ssl_ocsp_prime_hook,
                (server_rec * s, apr_pool_t *p, const char *id, apr_size_t id_len, const char *pem))
AP_DECLARE(apr_status_t)
ap_ssl_ocsp_prime(server_rec *s, apr_pool_t *p, const char *id, apr_size_t id_len, const char *pem);

/** Takes a response; length 0: no response. */
typedef void ap_ssl_ocsp_copy_resp(const unsigned char *der, apr_size_t der_len, void *userdata);
AP_DECLARE_HOOK(int, ssl_ocsp_get_resp_hook,
                (server_rec * s, conn_rec *c, const char *id, apr_size_t id_len,
                 ap_ssl_ocsp_copy_resp *cb, void *userdata))
AP_DECLARE(apr_status_t)
ap_ssl_ocsp_get_resp(server_rec *s, conn_rec *c, const char *id, apr_size_t id_len,
                     ap_ssl_ocsp_copy_resp *cb, void *userdata);

#ifdef __cplusplus
}
#endif
#endif
