/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_CONF_PRIVATE_H
#define BRIGADE_TLS_TLS_CONF_PRIVATE_H

/**
 * @file tls_conf_private.h
 * TLS of the server's own, on OpenSSL: what the configuration says, and what all files of the room use.
 *
 * mod_ssl.c           the module: directives, configurations, hooks
 * tls_directives*.c   setters of directives
 * tls_options.c       those of directories
 *
 * The rest of the room, by header:
 *
 * tls_certificate_private.h  certificates and keys
 * tls_context_private.h      SSL_CTXs, and what they call
 * tls_conn_private.h         connections
 * tls_record_private.h       their records
 * tls_request_private.h      requests
 * tls_proxy_private.h        connections to other servers
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

/** What a server has said of TLS; NULL, TLS_UNSET or 0 where it has not. */
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
    apr_array_header_t *pairs; /**< tls_pair, files alone: tls_store_get() has what is in them */
    int stapled;               /**< a module has OCSP responses */
    uint64_t stamp;            /**< tls_exchange_stamp() of them, before they were read */
    struct tls_trust *trust;   /**< who vouches for clients; NULL: nobody */
    int index;                 /**< of its SSL_CTX in each loop; -1: it has none */
    int compat;                /**< servers with the same number may be reached by one handshake */
    int reach;                 /**< the same, and they ask the same of clients */
    unsigned char sid[32];     /**< session id context: resumption stays among its equals */
} tls_server_conf;

typedef struct tls_trust tls_trust;

/** What a directory has said. */
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
    int pass_pipe;            /**< it was |: a program with arguments, which reads what is wanted */
    apr_size_t cache_bytes;   /**< SSLSessionCache shmcb; 0 = none */
} tls_global;
extern tls_global tls_settings;

static inline tls_server_conf *tls_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &ssl_module);
}

/** A server's name and port, for messages (tls_show.c). */
const char *tls_server_label(const tls_server_conf *sc, apr_pool_t *p);

/** Log what is in OpenSSL's error queue, and empty it (tls_context.c). */
void tls_log_errors(const server_rec *s, int level);

/* ---- tls_options.c: setters ---- */

const char *tls_of_directory(cmd_parms *cmd);
const char *tls_set_verify(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_depth(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_crl_check(cmd_parms *cmd, void *dir, const char *args);
const char *tls_set_ocsp(cmd_parms *cmd, void *dir, const char *args);
const char *tls_set_ocsp_number(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_ocsp_proxy(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_session_cache(cmd_parms *cmd, void *dir, const char *arg);
/** The (BYTES) behind shmcb:FILE, if there are any. */
const char *tls_cache_size(cmd_parms *cmd, const char *arg, apr_size_t *bytes);
const char *tls_set_pass_phrase(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_seed(cmd_parms *cmd, void *dir, const char *when, const char *source,
                         const char *bytes);
const char *tls_set_require_ssl(cmd_parms *cmd, void *dir);
const char *tls_set_user_name(cmd_parms *cmd, void *dir, const char *name);
const char *tls_set_options(cmd_parms *cmd, void *dir, const char *args);
const char *tls_set_requirement(cmd_parms *cmd, void *dir, const char *text);
const char *tls_set_buffer(cmd_parms *cmd, void *dir, const char *arg);

/* ---- tls_directives.c ---- */

/**
 * What a setter returns for what this module does not offer: the configuration is read again with the
 * module that LoadModule names, or it is refused.
 * @param value  behind the directive's name; NULL: the name is enough
 * @param why    for the message that refuses it
 */
const char *tls_not_offered(cmd_parms *cmd, const char *value, const char *why);

extern const command_rec tls_commands[];

/** The setting of cmd's server that cmd->info is the offset of. */
void *tls_setting_of(const cmd_parms *cmd);

/* Words of directives. @return NULL or a message */
const char *tls_check_file(cmd_parms *cmd, const char **file);
const char *tls_check_folder(cmd_parms *cmd, const char **path);
const char *tls_protocols(cmd_parms *cmd, const char *args, int *protocols);
const char *tls_ciphers(cmd_parms *cmd, const char *first, const char *second, const char **list,
                        const char **suites);
const char *tls_verify_word(cmd_parms *cmd, const char *arg, int *verify);
const char *tls_crl_words(cmd_parms *cmd, const char *args, int *check, int *may_lack);
const char *tls_number(cmd_parms *cmd, const char *arg, int *n);

/* ---- tls_proxy_directives.c, tls_proxy.c ---- */

struct tls_proxy_conf *tls_proxy_merge(apr_pool_t *p, const struct tls_proxy_conf *base,
                                       const struct tls_proxy_conf *add);
const char *tls_px_flag(cmd_parms *cmd, void *dir, int on);
const char *tls_px_file(cmd_parms *cmd, void *dir, const char *file);
const char *tls_px_folder(cmd_parms *cmd, void *dir, const char *path);
const char *tls_px_protocols(cmd_parms *cmd, void *dir, const char *args);
const char *tls_px_ciphers(cmd_parms *cmd, void *dir, const char *first, const char *second);
const char *tls_px_verify(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_px_depth(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_px_crl(cmd_parms *cmd, void *dir, const char *args);

/** Register hooks, filters and optional functions for outgoing connections. */
void tls_proxy_hooks(void);

#endif
