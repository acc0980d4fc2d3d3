/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CERTS_TLS_CONF_H
#define BRIGADE_CERTS_TLS_CONF_H

/**
 * @file tls_conf.h
 * TLS of the server's own, on OpenSSL: its settings, for the three rooms of it.
 *
 * certs    certificates and keys: read, watched, handed to the loops, and shown
 * tls      SSL_CTXs, handshakes, records; in both roles
 * mod_ssl  the module: directives, variables, access
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "apr_tables.h"

extern module AP_MODULE_DECLARE_DATA ssl_module;

#define TLS_UNSET (-1)

/** Bits of SSLProtocol. */
enum { TLS_V1_0 = 1, TLS_V1_1 = 2, TLS_V1_2 = 4, TLS_V1_3 = 8, TLS_V_ALL = 15 };

/** SSLVerifyClient. */
enum { TLS_VERIFY_NONE, TLS_VERIFY_OPTIONAL, TLS_VERIFY_REQUIRE, TLS_VERIFY_OPTIONAL_NO_CA };

/** SSLCARevocationCheck. */
enum { TLS_CRL_NONE, TLS_CRL_LEAF, TLS_CRL_CHAIN };

/** SSLOCSPEnable. */
enum { TLS_OCSP_OFF, TLS_OCSP_LEAF, TLS_OCSP_CHAIN };

/** SSLVHostSNIPolicy. */
enum { TLS_SNI_STRICT, TLS_SNI_SECURE, TLS_SNI_AUTHONLY, TLS_SNI_INSECURE };

/** SSLOptions. */
enum {
    TLS_OPT_STD_ENV = 1,
    TLS_OPT_EXPORT_CERTS = 2,
    TLS_OPT_FAKE_BASIC = 4,
    TLS_OPT_STRICT_REQUIRE = 8,
    TLS_OPT_LEGACY_DN = 16,
    TLS_OPT_RENEGOTIATE = 32 /**< OptRenegotiate */
};

typedef struct tls_command {
    const char *name, *value;
} tls_command;

/** SSLOCSP*: clients' certificates are asked about. */
typedef struct tls_ocsp_conf {
    int check;    /**< TLS_OCSP_* */
    int may_lack; /**< certificates that nobody can be asked about are taken (no_ocsp_for_cert_ok) */
    int override;          /**< the responder is asked about certificates that name one, too */
    int nonce, unverified; /**< SSLOCSPUseRequestNonce, SSLOCSPNoVerify */
    int timeout;           /**< seconds for all of an answer */
    int skew, age;         /**< seconds: of clocks, of responses */
    const char *responder, *proxy;
    const char *signers_file; /**< SSLOCSPResponderCertificateFile */
} tls_ocsp_conf;

/** The settings of a server; NULL, TLS_UNSET or 0 where it has none. */
typedef struct tls_server_conf {
    server_rec *server;
    int enabled, protocols, honor_order, tickets, strict_sni, sni_policy;
    int verify, depth, session_seconds;
    apr_array_header_t *cert_files, *key_files; /**< const char * */
    int stapling;                               /**< SSLUseStapling */
    const char *ticket_file;                    /**< SSLSessionTicketKeyFile */
    int crl_check;                              /**< TLS_CRL_* */
    int crl_may_lack; /**< certificates without a CRL are taken (no_crl_for_cert_ok) */
    const char *chain_file, *ciphers, *ciphers13, *ca_file, *ca_path;
    const char *crl_file, *crl_path;
    tls_ocsp_conf ocsp;
    const char *names_file, *names_path; /**< SSLCADNRequest*: names that clients are told */
    apr_array_header_t *commands;        /**< tls_command: SSLOpenSSLConfCmd */

    /* After the configuration was read: */
    apr_array_header_t *pairs; /**< tls_pair, files alone: tls_store_get() has their contents */
    int stapled;               /**< a module has OCSP responses */
    int staple_follows;        /**< that module finds new certificates by itself */
    uint64_t stamp;            /**< tls_exchange_stamp() of them, before they were read */
    struct tls_trust *trust;   /**< authorities of clients; NULL: none */
    int index;                 /**< of its SSL_CTX in each loop; -1: it has none */
    int compat;                /**< servers with the same number may be reached by one handshake */
    int reach;                 /**< the same, and they ask the same of clients */
    unsigned char sid[32];     /**< session id context: resumption stays among its equals */
} tls_server_conf;

typedef struct tls_trust tls_trust;

/** The settings of a directory. */
typedef struct tls_dir_conf {
    int require_ssl;
    unsigned options, options_add, options_del; /**< TLS_OPT_*; TLS_OPT_SET: absolute */
    int options_set;
    const char *user_name;
    struct tls_proxy_conf *proxy;     /**< SSLProxy*; NULL: nothing */
    int verify, depth;                /**< TLS_UNSET: the server's */
    apr_int64_t buffer;               /**< SSLRenegBufferSize; TLS_UNSET */
    const char *ciphers;              /**< of TLS 1.2; NULL: the server's */
    apr_array_header_t *requirements; /**< tls_requirement: SSLRequire; NULL: none */
} tls_dir_conf;

typedef struct tls_requirement {
    const char *text;
    ap_expr_info_t *expr;
} tls_requirement;

/** Settings of the whole server. */
typedef struct tls_global {
    const char *pass_program; /**< SSLPassPhraseDialog exec: or |; NULL: builtin */
    int pass_pipe;          /**< it was |: a program with arguments, which reads the wanted name */
    apr_size_t cache_bytes; /**< SSLSessionCache shmcb; 0 = none */
} tls_global;
extern tls_global tls_settings; /**< set to zero when a configuration begins */

static inline tls_server_conf *tls_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &ssl_module);
}

/** A server's name and port, for messages (tls_show.c). */
const char *tls_server_label(const tls_server_conf *sc, apr_pool_t *p);

/* ---- tls_conf.c ---- */

/** Log OpenSSL's error queue, and empty it. */
void tls_log_errors(const server_rec *s, int level);

#define TLS_PLACE_BYTES 512

/** Which virtual host @a s is, for messages: its name, and the line that it begins in. @return @a buf */
const char *tls_place(char buf[TLS_PLACE_BYTES], const server_rec *s);

/** Servers with TLS, by their index. Threads: main, while the configuration is read */
void tls_servers_set(tls_server_conf **servers, int n);

/** The one with this index; NULL: there are no more. Threads: any */
const tls_server_conf *tls_server_at(int index);

#endif
