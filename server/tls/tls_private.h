/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_PRIVATE_H
#define BRIGADE_TLS_TLS_PRIVATE_H

/**
 * @file tls_private.h
 * TLS of the server's own, on OpenSSL: what the files of this room share.
 *
 * mod_ssl.c          the module: directives, configurations, hooks
 * tls_directives.c   setters of directives
 * tls_credentials.c  certificates and keys: read by the supervisor, kept as bytes
 * tls_pass.c         pass phrases of encrypted keys
 * tls_certificate.c  what a certificate says
 * tls_context.c      SSL_CTXs out of them, for one loop each
 * tls_store.c        certificates on their way from the supervisor to the loops
 * tls_exchange.c     the supervisor takes new certificates when their files change
 * tls_staged.c       certificates that mod_md got: the restart that activates them
 * tls_staple.c       OCSP responses that modules keep
 * tls_show.c         certificates in reports and warnings
 * tls_clients.c      what of them is about certificates of clients
 * tls_setup.c        checks after the configuration was read; what a loop has
 * tls_compat.c       which virtual hosts one handshake reaches
 * tls_bio.c          between OpenSSL and the socket
 * tls_transport.c    struct conn_transport over TLS
 * tls_keys.c         keys of records after the handshake
 * tls_kdf.c          key derivation of TLS 1.3
 * tls_aead.c         ciphers, from OpenSSL's provider
 * tls_record.c       a record is encrypted, or decrypted
 * tls_share.c        connections share an SSL
 * tls_return.c       records are OpenSSL's again
 * tls_input.c        records are read
 * tls_selftest.c     whether these two work with this OpenSSL
 * tls_handshake.c    the driver of connections until the handshake is done
 * tls_hello.c        virtual host by SNI, protocol by ALPN
 * tls_tickets.c      keys of session tickets
 * tls_sessions.c     the cache of sessions
 * tls_request.c      hooks of requests
 * tls_access.c       those that allow or refuse
 * tls_ask.c          a request asks more of its client than the handshake did
 * tls_buffer.c       the body that comes before the client's answer to that
 * tls_vars.c         SSL_* variables; tls_vars_certificate.c: those of a certificate
 * tls_options.c      setters of directives of directories
 * tls_proxy*.c       connections to other servers: see tls_proxy_private.h
 *
 * A loop has an OSSL_LIB_CTX and SSL_CTXs of its own, so that loops share no lock of OpenSSL. An SSL
 * is used by the thread that owns its connection.
 */
#include "conn.h"
#include "loop.h"
#include "http_config.h"
#include "ap_expr.h"
#include "apr_tables.h"
#include <openssl/ssl.h>

extern module AP_MODULE_DECLARE_DATA ssl_module;

#define TLS_UNSET (-1)
#define TLS_RECORD 16384            /**< most plaintext of a record */
#define TLS_BATCH (64 * 1024)       /**< plaintext that is encrypted before it is written */
#define TLS_SMALL 1369              /**< plaintext of a record that fits one packet */
#define TLS_SMALL_BYTES (64 * 1024) /**< so much is sent in small records first */
#define TLS_HANDSHAKES 8            /**< steps of handshakes in one turn of a loop */
#define TLS_READS 16                /**< reads from the socket in one call */
#define TLS_ASKS 100                /**< KeyUpdates and renegotiations in a second */
#define TLS_SHARED 16               /**< SSLs that a loop has for connections to share */
#define TLS_INPUT (33 * 1024)       /**< ciphertext in one read: two records */
#define TLS_IV 12
#define TLS_FIXED_IV 4       /**< with AES in TLS 1.2 */
#define TLS_SECRET_MOST 48   /**< bytes of a traffic secret */
#define TLS_CACHE_LEAST 8192 /**< bytes of SSLSessionCache */
#define TLS_CACHE_MOST (1 << 30)
#define TLS_NAME_MAX 255 /**< bytes of a server name */

/** Bits of SSLProtocol. */
enum { TLS_V1_0 = 1, TLS_V1_1 = 2, TLS_V1_2 = 4, TLS_V1_3 = 8, TLS_V_ALL = 15 };

/** SSLVerifyClient. */
enum { TLS_VERIFY_NONE, TLS_VERIFY_OPTIONAL, TLS_VERIFY_REQUIRE, TLS_VERIFY_OPTIONAL_NO_CA };

/** SSLCARevocationCheck. */
enum { TLS_CRL_NONE, TLS_CRL_LEAF, TLS_CRL_CHAIN };

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

/** A certificate with its chain and key, as DER. */
typedef struct tls_pair {
    const char *cert_file, *key_file;
    apr_array_header_t *chain; /**< tls_der; the certificate first */
    struct tls_der *key;
    struct tls_der *dh, *ticket; /**< of a server's first one, or NULL: DH parameters in its
                                    certificate's file; the key of SSLSessionTicketKeyFile */
} tls_pair;

typedef struct tls_der {
    unsigned char *data;
    int len;
} tls_der;

typedef struct tls_command {
    const char *name, *value;
} tls_command;

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

/** What a request asks of its client beyond the handshake. */
typedef struct tls_wish {
    int mode, depth; /**< for SSL_set_verify() and SSL_set_verify_depth() */
    const char *ciphers;
    unsigned generous : 1, certificate : 1, cipher : 1; /**< the latter two: is asked for */
} tls_wish;

/** Settings of the whole server. */
typedef struct tls_global {
    const char *pass_program; /**< SSLPassPhraseDialog exec: or |; NULL: builtin */
    int pass_pipe;            /**< it was |: a program with arguments, which reads what is wanted */
    apr_size_t cache_bytes;   /**< SSLSessionCache shmcb; 0 = none */
} tls_global;
extern tls_global tls_settings;

/** Ciphers of records that are made without SSL_write(). */
enum { TLS_AES_128_GCM, TLS_AES_256_GCM, TLS_CHACHA20, TLS_AEADS };

/** A cipher of OpenSSL's, see tls_record_private.h. */
typedef struct tls_aead tls_aead;

/** Key derivation, see tls_kdf.c. */
typedef struct tls_kdf tls_kdf;

/** What a loop has. */
typedef struct tls_loop {
    OSSL_LIB_CTX *lib;
    SSL_CTX **ctx; /**< by tls_server_conf.index */
    struct tls_staple *staples;
    uint64_t *versions;        /**< of what is in them, by tls_store_version() */
    apr_time_t turn;           /**< the turn that steps were counted in */
    int steps;                 /**< handshake steps in it */
    tls_aead *aead[TLS_AEADS]; /**< NULL: OpenSSL has none */
    EVP_KDF *prf;
    tls_kdf *kdf;
    SSL *shared[TLS_SHARED]; /**< see tls_share() */
    int shared_next;
    struct tls_view *views; /**< see tls_view_set() */
} tls_loop;

typedef struct tls_records tls_records;

/** A connection's TLS: brg_conn.below. */
#define TLS_CONN_TAG 0x544c5343u

typedef struct tls_conn {
    uint32_t tag; /**< TLS_CONN_TAG */
    brg_conn *bc;
    SSL *ssl; /**< with t->shared: of several connections, to be looked at alone */
    tls_loop *loop;
    server_rec *server;  /**< that the handshake was for */
    unsigned char *held; /**< ciphertext that the socket did not take; malloc() */
    size_t held_off, held_len;
    size_t credit;      /**< plaintext that was encrypted and not yet reported as sent */
    size_t burst;       /**< bytes sent since the connection was last idle */
    apr_time_t sent_at; /**< when; of the loop's clock */
    int reads_left;     /**< of this call */
    int asks;           /**< KeyUpdates and attempts to renegotiate ... */
    apr_time_t asks_at; /**< ... since then; of clock_monotonic() */
    /* From the handshake on: records are our own (tls_record_private.h). NULL: OpenSSL's. */
    tls_records *records;
    /* What was read from the socket and not used: plaintext, then ciphertext. malloc(), or NULL */
    unsigned char *kept;
    uint32_t kept_off, kept_plain, kept_len;
    int mode;              /**< SSL_VERIFY_*: what its handshakes asked for */
    unsigned generous : 1; /**< a certificate of an unknown authority counts (optional_no_ca) */
    unsigned drained : 1, last : 1, more : 1, established : 1, shut : 1, failed : 1, sni : 1,
        eof : 1, shared : 1;
} tls_conn;

/** What a thread needs within a call of this room; nothing stays in it. */
typedef struct tls_scratch {
    size_t len;                                        /**< of data: records to be written */
    unsigned char data[TLS_BATCH + TLS_RECORD + 8192]; /**< a batch, and what its records add */
    char staged[TLS_RECORD];                           /**< a record's plaintext, in one piece */
    const tls_conn *input_of;                          /**< whose input it is, within a call */
    size_t input_off, input_len;
    unsigned char input[TLS_INPUT]; /**< ciphertext as it was read */
} tls_scratch;

extern const struct conn_transport tls_transport;
extern const struct conn_driver tls_handshake_driver;

static inline tls_server_conf *tls_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &ssl_module);
}

/** The TLS of a connection or of the connection that a stream is of; NULL: there is none. */
tls_conn *tls_of(conn_rec *c);

/** 1 if c is a clear connection on which a client was told to speak TLS. */
int tls_is_misdirected(conn_rec *c);

/* ---- tls_bio.c; threads: the owner of the connection ---- */

/** A BIO for @a t, or NULL. */
BIO *tls_bio_new(tls_conn *t);

/** Write what waits. @return 0: nothing waits; -1 with errno, EAGAIN: the socket takes no more */
int tls_flush(tls_conn *t);

/**
 * Reading begins: what was kept is put into the thread's buffer, and reads may be made.
 * @return the buffer, or NULL: no memory, the connection failed
 */
tls_scratch *tls_input_begin(tls_conn *t);

/** Read once more behind what is in the buffer. As recv(); t->drained: the socket is empty. */
ssize_t tls_input_more(tls_conn *t, tls_scratch *in);

/** Forget what was kept. */
void tls_kept_drop(tls_conn *t);

/** Reading ends: what was not used is kept. */
void tls_input_end(tls_conn *t);

/** Before the first tls_bio_new(). Threads: main. */
void tls_bio_begin(void);

/** The calling thread's; NULL: no memory. */
tls_scratch *tls_scratch_of_thread(void);

/* ---- tls_transport.c ---- */

/** What OpenSSL said after a call that failed, as errno; 0: the peer closed. Logged, unless that is
 * usual. @param what  for the log */
int tls_error(tls_conn *t, int rc, const char *what);

/** Give up the TLS of bc, whose socket stays open. */
void tls_release(brg_conn *bc);

/** The client asked for something that costs more than it is worth. @return -1: too often; failed */
int tls_asks(tls_conn *t);

/** For SSL_CTX_set_info_callback(): bound what a client can ask for without sending data. */
void tls_asked(const SSL *ssl, int where, int value);

/* ---- tls_keys.c: threads: the owner of the connection ---- */

/** Threads: main. */
void tls_keys_begin(tls_loop *l);
void tls_keys_end(tls_loop *l);

/** The callback of an SSL_CTX that counts what tls_keys_take() needs. */
void tls_keys_count(int sent, int version, int type, const void *data, size_t len, SSL *ssl,
                    void *unused);

/** See that it works with this OpenSSL. @return 1; 0: it does not, and that was logged. Threads: main. */
int tls_selftest(const server_rec *log);

/** During a handshake: @a records learn its secrets. NULL: no longer. Threads: the caller's alone. */
void tls_kdf_listen(tls_records *records);

/** Room for keys: before the handshake. Without it the records stay OpenSSL's. */
void tls_keys_expect(tls_conn *t);

/** The handshake is done: from now on records are our own. @return 0; -1: they stay OpenSSL's */
int tls_keys_take(tls_conn *t);

/**
 * From now on they are OpenSSL's again: before a handshake in the middle of a connection. What was
 * read stays with the connection. No output may wait (tls_flush).
 * @return 0; -1: it cannot be, after a KeyUpdate or very many records, and they stay our own
 * Threads: a worker, since it takes some microseconds for each record of before.
 */
int tls_keys_return(tls_conn *t);

/** Let t->ssl be one that connections have in common, if they can. After tls_keys_take(). */
void tls_share(tls_conn *t);

/** Connections that come have others. */
void tls_share_forget(tls_loop *l);

/** The configuration was read. Threads: main. */
void tls_share_begin(void);

/** Wipe and free. */
void tls_keys_drop(tls_conn *t);

/* ---- tls_credentials.c; threads: main ---- */

/** How loud tls_credentials_read() and tls_context_make() complain: APLOG_EMERG, but for attempts. */
extern int tls_complaints;

/** Find out in which files the certificates and keys of a server are (sc->pairs, in @a pconf), and
 * read them.
 * @param complete  the configuration is: modules are asked, too
 * @return their content (tls_pair) in @a p; NULL: logged. Blocking: reads files, runs programs. */
apr_array_header_t *tls_credentials_first(tls_server_conf *sc, int complete, apr_pool_t *pconf,
                                          apr_pool_t *p, apr_pool_t *ptemp);

/** Read them once more. As tls_credentials_first(). */
apr_array_header_t *tls_credentials_read(tls_server_conf *sc, apr_pool_t *p, apr_pool_t *ptemp);

/** The certificates of a server without their keys, for reports: those whose files can be read.
 * @return tls_pair in @a p. Blocking: reads files. */
apr_array_header_t *tls_credentials_shown(tls_server_conf *sc, apr_pool_t *p);

/** 1 if that can be tried without asking anyone for a pass phrase, and without being told of files by
 * other modules. Blocking: reads files. */
int tls_credentials_are_at_hand(const tls_server_conf *sc, apr_pool_t *ptemp);

/* ---- tls_pass.c; threads: main, of the supervisor ---- */

/** Read a key, encrypted or not. @param n  of the server's keys. @return NULL: why is in OpenSSL's
 * queue, or logged. Blocking: reads files, runs programs, asks at the terminal at a start. */
EVP_PKEY *tls_pass_read_key(const tls_server_conf *sc, const char *file, int n, apr_pool_t *p);

/** The server serves: nobody is asked at the terminal any more. */
void tls_pass_serve(void);

/** In a new server process: forget pass phrases. */
void tls_pass_child(void);

/* ---- tls_certificate.c; threads: any ---- */

/** What a certificate says. */
typedef struct tls_facts {
    const char *file, *subject, *issuer, *key_type;
    apr_array_header_t *names; /**< const char *: those of the extension, or the subject */
    int more;                  /**< names beyond those */
    apr_time_t from, until;
} tls_facts;

/** @return 0, or -1: @a pair has none that can be read */
int tls_facts_of(apr_pool_t *p, const tls_pair *pair, tls_facts *facts);

/** The names in one text. */
const char *tls_facts_names(apr_pool_t *p, const tls_facts *facts);

/** Whole days that are left; -1: it is expired. */
int tls_facts_days(const tls_facts *facts, apr_time_t now);

/** 1 if a certificate is for @a host, which may be NULL. */
int tls_certificate_is_for(const tls_pair *pair, const char *host);

/** NULL: it cannot be read. @param lib  NULL: OpenSSL's default */
X509 *tls_certificate_parse(const tls_der *der, OSSL_LIB_CTX *lib);

/* ---- tls_context.c ---- */

/**
 * An SSL_CTX for connections that sc's server answers.
 * @param pairs  tls_pair: its certificates
 * @param lib    NULL: OpenSSL's default
 * @param like   the one that it takes the place of: tickets of that are taken; NULL
 * @return NULL: logged
 */
SSL_CTX *tls_context_make(const tls_server_conf *sc, const apr_array_header_t *pairs,
                          OSSL_LIB_CTX *lib, const SSL_CTX *like);

/** Let @a ctx speak the protocols @a wanted (TLS_V*) alone. */
void tls_context_protocols(SSL_CTX *ctx, int wanted);

/** Give a connection what SSL_set_SSL_CTX() leaves as it was. */
void tls_context_apply(SSL *ssl, SSL_CTX *ctx, const tls_server_conf *sc);

/** Read authorities and revocation lists of clients' certificates, as root: sc->trust, which is gone
 * with @a p (tls_clients.c). @return 0, -1: logged. Threads: main. Blocking: reads files */
int tls_clients_read(tls_server_conf *sc, apr_pool_t *p);

/** How clients' certificates are verified. @return 0, -1: logged */
int tls_clients_verify(SSL_CTX *ctx, const tls_server_conf *sc);

/** Log that something of a context cannot be. @return -1 */
int tls_context_failed(const tls_server_conf *sc, const char *what, const char *value);

/** SSL_VERIFY_* of a TLS_VERIFY_*. */
int tls_verify_mode(int verify);

/** For SSL_set_verify(). */
int tls_context_verified(int ok, X509_STORE_CTX *store);

/** Log what is in OpenSSL's error queue, and empty it. */
void tls_log_errors(const server_rec *s, int level);

/* ---- tls_tickets.c, tls_sessions.c: memory that all processes share ---- */

/** Make what is not there yet. @return 0, or -1 with errno. Threads: main, of the supervisor */
int tls_tickets_begin(void);
int tls_sessions_begin(apr_size_t bytes);

#define TLS_TICKET_KEY 48 /**< bytes of SSLSessionTicketKeyFile: name, HMAC key, AES key */

/** Let tickets of this context be made with @a key; NULL: with those of all. One that replaces @a like
 * takes tickets of its key, too. @return 0, or -1: no memory */
int tls_tickets_use(SSL_CTX *ctx, const struct tls_der *key, const SSL_CTX *like);

/** For SSL_CTX_set_tlsext_ticket_key_evp_cb(). */
int tls_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
               EVP_MAC_CTX *mac, int seal);

/** Let a context use the cache, if the configuration has one. */
void tls_sessions_use(SSL_CTX *ctx);

/* ---- tls_store.c: certificates and keys, from the supervisor to all loops ---- */

/** What was put for a server. */
typedef struct tls_stored {
    apr_array_header_t *pairs; /**< tls_pair */
    apr_time_t since;          /**< when it was put */
    uint64_t version;
} tls_stored;

/** A store for @a n servers, as long as @a p. @return 0, or -1 with errno. Threads: main, of the
 * supervisor */
int tls_store_begin(apr_pool_t *p, int n);

/** Let all processes that were forked since tls_store_begin() have @a pairs for a server.
 * @return 0, or -1 with errno: what was put before stays. Threads: main, of the supervisor */
int tls_store_put(int index, const apr_array_header_t *pairs);

/** 1 if that is what was put last. Threads: main, of the supervisor */
int tls_store_has(int index, const apr_array_header_t *pairs);

/** A number that changes with tls_store_put(). Threads: any. Blocking: no. */
uint64_t tls_store_version(int index);

/** Take what was put; keys are wiped with @a p. @return 0; -1: it is just being replaced, or there is
 * no memory. Threads: any. Blocking: no, it is memory. */
int tls_store_get(int index, apr_pool_t *p, tls_stored *stored);

/* ---- tls_exchange.c: threads: main, of the supervisor ---- */

/** Watch the files of these servers, and put what is in them when they change. Until @a p ends. */
void tls_exchange_begin(apr_pool_t *p, tls_server_conf **servers, int n);

/** A number that changes with the files of a server. */
uint64_t tls_exchange_stamp(const tls_server_conf *sc);

/** In a new server process: files are no business of its. */
void tls_exchange_child(apr_pool_t *p, server_rec *s);

/* ---- tls_staged.c: threads: main, of the supervisor ---- */

/** Look for what mod_md has staged, if the configuration has managed domains. */
void tls_staged_begin(apr_pool_t *p);
void tls_staged_end(void);

/** When to call tls_staged_look(), of clock_monotonic(); 0: never. */
apr_time_t tls_staged_due(void);

/** Ask for a graceful restart if there is a new certificate. Does nothing before its time. */
void tls_staged_look(apr_pool_t *pool);

/* ---- tls_setup.c ---- */

/** See that all servers with TLS would work: before a reload takes place, and for -t. */
int tls_check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server);
int tls_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server);

/** The servers with TLS, by index; NULL: there are no more. */
const tls_server_conf *tls_setup_server(int index);

/** The SSL_CTX of a server, with the certificates of now; or NULL. Threads: the loop. */
SSL_CTX *tls_context_of(tls_loop *loop, const server_rec *s);

/** The handshake is done: the response cache shall answer with what it reaches alone. 0 on success. */
int tls_view_set(const tls_conn *t);

/* ---- tls_staple.c ---- */

/** 1 if a certificate of this configuration names an OCSP responder. Blocking: reads files. */
int tls_staple_is_wanted(const ap_directive_t *node, apr_pool_t *p);

/** Tell modules of the certificates of a server (sc->stapled). Threads: main, of the supervisor. */
void tls_staple_begin(tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p,
                      apr_pool_t *ptemp);

/** For SSL_CTX_set_tlsext_status_cb(). */
int tls_staple_status(SSL *ssl, void *unused);

void tls_staple_end(tls_loop *loop);

/* ---- tls_show.c ---- */

/** A server's name and port, for messages. */
const char *tls_server_label(const tls_server_conf *sc, apr_pool_t *p);

/** Log those of @a pairs that expire soon. */
void tls_show_warn(const tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p);

/** For ap_hook_test_config(): DUMP_CERTS; what expires soon is told by any test. */
void tls_show_test(apr_pool_t *p, server_rec *main_server);

/** Tell the status page of certificates. Threads: main, while modules register hooks. */
void tls_show_register(void);

/* ---- tls_compat.c ---- */

/** Number the servers. @return 1 if their numbers or strictness differ. Threads: main */
int tls_compat_begin(server_rec *main_server, apr_pool_t *ptemp);

/** Set sc->sid. Threads: main */
void tls_compat_session_id(tls_server_conf *sc, apr_pool_t *p);

/** The SSLVHostSNIPolicy in force. */
const char *tls_compat_policy(void);

/** The directive by which two servers with other numbers differ. */
const char *tls_compat_difference(const server_rec *a, const server_rec *b, apr_pool_t *p);

/* ---- tls_hello.c ---- */

int tls_hello(SSL *ssl, int *alert, void *unused);
int tls_server_name(SSL *ssl, int *alert, void *unused);
int tls_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
             unsigned in_len, void *unused);

/* ---- tls_request.c, tls_vars.c ---- */

void tls_request_hooks(void);

/** A directive was met: requests need this module's hooks. @return NULL or a message */
const char *tls_request_wake(cmd_parms *cmd);

/** Register them, once in a generation. Threads: main, while the configuration is read. */
void tls_request_needed(void);

/** A configuration begins. */
void tls_request_sleep(void);

/* ---- tls_access.c, tls_ask.c, tls_buffer.c; threads: the request's ---- */

void tls_access_hooks(void);

/** A directory, or a virtual host, asks more of clients than a handshake did. Threads: any */
void tls_access_of_directories(void);

/** A configuration begins. Threads: main */
void tls_access_forget(void);

/** 1 if the client of @a r has to be asked for something: *wish. */
int tls_wish_of(const request_rec *r, const tls_dir_conf *dc, tls_wish *wish);

/** Ask. @return OK, or the status to refuse with. Blocking, for up to Timeout: not on an event loop */
int tls_ask_client(request_rec *r, const tls_dir_conf *dc, const tls_wish *wish);

/** Read the body, to be handed out again. @return OK or a status. Blocking */
int tls_buffer_body(request_rec *r, const tls_dir_conf *dc);

void tls_buffer_filter(void);

void tls_vars_hooks(void);
void tls_vars_log_items(apr_pool_t *p);

/** Put the variables of +StdEnvVars into @a env. */
void tls_vars_export(request_rec *r, apr_table_t *env, unsigned options);

/** What @a bio holds as text in @a p, and its end; NULL: nothing, or too much. */
char *tls_vars_of_bio(apr_pool_t *p, BIO *bio);

/** Names of the parts of a distinguished name, by number: "C", "ST", ...; NULL past the last. */
const char *tls_vars_dn_name(size_t i);

/** A certificate as PEM text in @a p; NULL: no memory. */
char *tls_vars_pem(apr_pool_t *p, X509 *x);

/** A variable of a certificate by what follows SSL_SERVER_ or SSL_CLIENT_; NULL: there is none. */
const char *tls_vars_certificate(apr_pool_t *p, X509 *x, const char *what, int legacy);

/* ---- tls_options.c: setters ---- */

const char *tls_of_directory(cmd_parms *cmd);
const char *tls_set_verify(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_depth(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_crl_check(cmd_parms *cmd, void *dir, const char *args);
const char *tls_set_crl_file(cmd_parms *cmd, void *dir, const char *file);
const char *tls_set_crl_path(cmd_parms *cmd, void *dir, const char *path);
const char *tls_set_names_file(cmd_parms *cmd, void *dir, const char *file);
const char *tls_set_names_path(cmd_parms *cmd, void *dir, const char *path);
const char *tls_set_session_cache(cmd_parms *cmd, void *dir, const char *arg);
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
 */
const char *tls_not_offered(cmd_parms *cmd, const char *value);

extern const command_rec tls_commands[];

/* Words of directives. @return NULL or a message */
const char *tls_check_file(cmd_parms *cmd, const char **file);
const char *tls_check_folder(cmd_parms *cmd, const char **path);
const char *tls_protocols(cmd_parms *cmd, const char *args, int *protocols);
const char *tls_ciphers(cmd_parms *cmd, const char *first, const char *second, const char **list,
                        const char **suites);
const char *tls_verify_word(cmd_parms *cmd, const char *arg, int *verify);

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
const char *tls_px_crl(cmd_parms *cmd, void *dir, const char *mode, const char *option);

/** Register hooks, filters and optional functions for outgoing connections. */
void tls_proxy_hooks(void);

#endif
