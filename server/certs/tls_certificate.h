/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CERTS_TLS_CERTIFICATE_H
#define BRIGADE_CERTS_TLS_CERTIFICATE_H

/**
 * @file tls_certificate.h
 * Certificates and keys: read by the supervisor, watched, handed to the loops, and shown.
 *
 * tls_credentials.c  certificates and keys: read by the supervisor, kept as bytes
 * tls_pass.c         pass phrases of encrypted keys
 * tls_certificate.c  contents of a certificate
 * tls_vars_certificate.c  the same as variables (SSL_SERVER_*, SSL_CLIENT_*)
 * tls_store.c        certificates on their way from the supervisor to the loops
 * tls_exchange.c     the supervisor takes new certificates when their files change
 * tls_staged.c       certificates that mod_md got: the restart that activates them
 * tls_show.c         certificates in reports and warnings
 */
#include "tls_conf.h"
#include <openssl/ssl.h>

#define TLS_TICKET_KEY 48 /**< bytes of SSLSessionTicketKeyFile: name, HMAC key, AES key */

/** A certificate with its chain and key, as DER. */
typedef struct tls_pair {
    const char *cert_file, *key_file;
    apr_array_header_t *chain; /**< tls_der *; the certificate first */
    struct tls_der *key;
    /** of a server's first one, or NULL: DH parameters in its certificate's file; the key of
     * SSLSessionTicketKeyFile */
    struct tls_der *dh, *ticket;
} tls_pair;

typedef struct tls_der {
    unsigned char *data;
    int len;
} tls_der;

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

/** The certificates of a server without their keys, for reports: readable files, and the
 * certificates that mod_md will give it.
 * @return tls_pair with their chains, in @a p. Blocking: reads files. */
apr_array_header_t *tls_credentials_shown(const tls_server_conf *sc, apr_pool_t *p);

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

/** 1 in a trial of a start (trial.h) that would have had to ask somebody: a missing pass phrase is
 * no mistake. */
int tls_pass_is_unasked(void);

/* ---- tls_certificate.c; threads: any ---- */

/** Contents of a certificate. */
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

/* ---- tls_vars_certificate.c; threads: any ---- */

/** The contents of @a bio as text in @a p, and its end; NULL: nothing, or too much. */
char *tls_vars_of_bio(apr_pool_t *p, BIO *bio);

/** Names of the parts of a distinguished name, by number: "C", "ST", ...; NULL past the last. */
const char *tls_vars_dn_name(size_t i);

/** A certificate as PEM text in @a p; NULL: no memory. */
char *tls_vars_pem(apr_pool_t *p, X509 *x);

/** A variable of a certificate by the rest of its name behind SSL_SERVER_ or SSL_CLIENT_; NULL:
 * unknown. */
const char *tls_vars_certificate(apr_pool_t *p, X509 *x, const char *what, int legacy);

/* ---- tls_store.c: certificates and keys, from the supervisor to all loops ---- */

/** The certificates and keys put for a server. */
typedef struct tls_stored {
    apr_array_header_t *pairs; /**< tls_pair */
    apr_time_t since;          /**< when it was put */
    uint64_t version;
} tls_stored;

/** A store for @a n servers, as long as @a p. @return 0, or -1 with errno. Threads: main, of the
 * supervisor */
int tls_store_begin(apr_pool_t *p, int n);

/** This process serves from now on: records stay readable. Before its loops run. */
void tls_store_open(void);

/** Let all processes that were forked since tls_store_begin() have @a pairs for a server.
 * @return 0, or -1 with errno: those put before stay. Threads: main, of the supervisor */
int tls_store_put(int index, const apr_array_header_t *pairs);

/** 1 if these were put last. Threads: main, of the supervisor */
int tls_store_has(int index, const apr_array_header_t *pairs);

/** A number that changes with tls_store_put(). Threads: any. Blocking: no. */
uint64_t tls_store_version(int index);

/** Take those put last; keys are wiped with @a p. @return 0; -1: it is just being replaced, or there is
 * no memory. Threads: any. Blocking: no, it is memory. */
int tls_store_get(int index, apr_pool_t *p, tls_stored *stored);

/* ---- tls_exchange.c: threads: main, of the supervisor ---- */

/** 1 if a server works with these certificates (tls_pair); else it is logged, as loudly as tls_complaints says. */
typedef int tls_exchange_trial(const tls_server_conf *sc, const apr_array_header_t *pairs);

/** Watch the files of these servers, and put their contents when they change. Until @a p ends. */
void tls_exchange_begin(apr_pool_t *p, tls_server_conf **servers, int n, tls_exchange_trial *works);

/** A number that changes with the files of a server. */
uint64_t tls_exchange_stamp(const tls_server_conf *sc);

/** In a new server process: files are no business of its. */
void tls_exchange_child(apr_pool_t *p, server_rec *s);

/* ---- tls_staged.c: threads: main, of the supervisor ---- */

/** Look for certificates that mod_md has staged, if the configuration has managed domains. */
void tls_staged_begin(apr_pool_t *p);
void tls_staged_end(void);

/** Files with certificates that mod_md has for the domains that it manages: const char *. Blocking: reads folders. */
apr_array_header_t *tls_staged_certificates(apr_pool_t *p);

/** When to call tls_staged_look(), of clock_monotonic(); 0: never. */
apr_time_t tls_staged_due(void);

/** Ask for a graceful restart if there is a new certificate. Does nothing before its time. */
void tls_staged_look(apr_pool_t *pool);

/* ---- tls_show.c ---- */

/** Log those of @a pairs that expire soon. */
void tls_show_warn(const tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p);

/** For ap_hook_test_config(): DUMP_CERTS; any test names certificates that expire soon. */
void tls_show_test(apr_pool_t *p, server_rec *main_server);

/** Tell the status page of certificates. Threads: main, while modules register hooks. */
void tls_show_register(void);

#endif
