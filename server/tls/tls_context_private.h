/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_CONTEXT_PRIVATE_H
#define BRIGADE_TLS_TLS_CONTEXT_PRIVATE_H

/**
 * @file tls_context_private.h
 * SSL_CTXs: their making, and their callbacks in handshakes.
 *
 * tls_context.c   SSL_CTXs, for one loop each
 * tls_trust.c     their part for certificates of clients
 * tls_setup.c     checks after the configuration was read; objects of a loop
 * tls_compat.c    which virtual hosts one handshake reaches
 * tls_hello.c     virtual host by SNI, protocol by ALPN
 * tls_tickets.c   keys of session tickets
 * tls_sessions.c  the cache of sessions
 * tls_resume.c    which sessions are taken up
 * tls_trust_digest.c  digest of the files that sessions with client certificates depend on
 * tls_staple.c    OCSP responses that modules keep
 * tls_ocsp.c      OCSP responses about clients' certificates
 *
 * A loop has an OSSL_LIB_CTX and SSL_CTXs of its own, so that loops share no lock of OpenSSL.
 */
#include "tls_conf.h"
#include "tls_conn_private.h"

struct tls_der;

/* ---- tls_context.c ---- */

/**
 * An SSL_CTX for connections that sc's server answers.
 * @param pairs  tls_pair: its certificates
 * @param lib    NULL: OpenSSL's default
 * @param like   the context that it replaces: its tickets are taken; NULL
 * @return NULL: logged
 */
SSL_CTX *tls_context_make(const tls_server_conf *sc, const apr_array_header_t *pairs,
                          OSSL_LIB_CTX *lib, const SSL_CTX *like);

/** Let @a ctx speak the protocols @a wanted (TLS_V*) alone. */
void tls_context_protocols(SSL_CTX *ctx, int wanted);

/** Give a connection the settings that SSL_set_SSL_CTX() leaves alone. */
void tls_context_apply(SSL *ssl, SSL_CTX *ctx, const tls_server_conf *sc);

/** Read authorities and revocation lists of clients' certificates, as root: sc->trust, which is gone
 * with @a p (tls_trust.c). @return 0, -1: logged. Threads: main. Blocking: reads files */
int tls_trust_read(tls_server_conf *sc, apr_pool_t *p);

/** How clients' certificates are verified. @return 0, -1: logged */
int tls_trust_verify(SSL_CTX *ctx, const tls_server_conf *sc);

#define TLS_TRUST_DIGEST 32 /**< bytes */

/** A digest of the files that sc's clients' certificates are judged by. Threads: main. Blocking: reads files */
void tls_trust_digest(const tls_server_conf *sc, unsigned char digest[TLS_TRUST_DIGEST],
                      apr_pool_t *ptemp);

/** The same of the names that tls_trust_read() read; NULL: none. */
const unsigned char *tls_trust_known_by(const tls_server_conf *sc);

/**
 * 1 if a client's certificate would be accepted now: by authorities, revocation lists and time.
 * @param chain  the certificates with it; NULL: nothing
 * Threads: the owner of the connection; a worker, where SSLOCSPEnable is on.
 */
int tls_trust_vouch(SSL *ssl, X509 *x, STACK_OF(X509) * chain, int depth);

/** Certificates of SSLOCSPResponderCertificateFile; NULL: none. They stay sc's. */
STACK_OF(X509) * tls_trust_signers(const tls_server_conf *sc);

/** Log that something of a context cannot be. @return -1 */
int tls_context_failed(const tls_server_conf *sc, const char *what, const char *value);

/** 1 if the error of a certificate does not matter: nobody vouches for it and none is wanted to
 * (optional_no_ca), or a CRL is missing that may. The latter is forgotten, the former stays the
 * result. */
int tls_trust_forgive(X509_STORE_CTX *store, int generous, int crl_may_lack);

/** Let revocation lists of these files be looked at. @return 0; -1: they cannot be read */
int tls_trust_revocations(X509_STORE *store, const char *file, const char *path, int whole_chain);

/** SSL_VERIFY_* of a TLS_VERIFY_*. */
int tls_verify_mode(int verify);

/** For SSL_set_verify(). */
int tls_context_verified(int ok, X509_STORE_CTX *store);

/* ---- tls_tickets.c, tls_sessions.c: memory that all processes share ---- */

/** Make missing memory. @return 0, or -1 with errno. Threads: main, of the supervisor */
int tls_tickets_begin(void);
int tls_sessions_begin(apr_size_t bytes);

/** Let tickets of this context be made with @a key; NULL: with those of all. A context that
 * replaces @a like takes tickets of its key, too. @return 0, or -1: no memory */
int tls_tickets_use(SSL_CTX *ctx, const struct tls_der *key, const SSL_CTX *like);

/** For SSL_CTX_set_tlsext_ticket_key_evp_cb(). */
int tls_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
               EVP_MAC_CTX *mac, int seal);

/** Let a context use the cache, if the configuration has one. */
void tls_sessions_use(SSL_CTX *ctx);

/* ---- tls_resume.c ---- */

/** Have tickets of this context looked at. */
void tls_resume_use(SSL_CTX *ctx);

/** 1 if the session may be taken up; it ends with t->session_ends. Threads: the owner of the connection. */
int tls_resume_allows(SSL *ssl, const SSL_SESSION *session);

/* ---- tls_setup.c ---- */

/** Give loops the contexts for connections of this server's own. @return 0; -1: logged. Threads:
 * main */
int tls_setup_clients(const server_rec *s);

/** 1 if records are made without OpenSSL. */
int tls_records_are_ours(void);

/** The SSL_CTX of a server, with the certificates of now; or NULL. Threads: the loop. */
SSL_CTX *tls_context_of(tls_loop *loop, const server_rec *s);

/** The handshake is done: the response cache shall use only hosts that it reaches. 0 on success. */
int tls_view_set(const tls_conn *t);

/* ---- tls_staple.c ---- */

/** Tell modules of the certificates of a server (sc->stapled). Threads: main, of the supervisor. */
void tls_staple_begin(tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p,
                      apr_pool_t *ptemp);

/** Get the response for certificate @a x of @a t, where there is one, and let the handshake have it, on
 * whatever thread it goes on. Threads: the loop's */
void tls_staple_fetch(tls_conn *t, const X509 *x);

/** For SSL_CTX_set_tlsext_status_cb(). */
int tls_staple_status(SSL *ssl, void *unused);

void tls_staple_end(tls_loop *loop);

/* ---- tls_ocsp.c ---- */

/** 1 if certificates of sc's clients are asked about. */
int tls_ocsp_is_wanted(const tls_server_conf *sc);

/**
 * Within SSL_set_verify()'s callback, for a certificate that is good otherwise.
 * @param unknown  nobody vouches for it (optional_no_ca)
 * @return 1: it is not revoked, or is not asked about; 0: it is, or nobody could tell, as the error of @a store says
 * Threads: a worker. Blocking, for up to SSLOCSPResponderTimeout
 */
int tls_ocsp_verify(const tls_conn *t, X509_STORE_CTX *store, int unknown);

/* ---- tls_compat.c ---- */

/** Number the servers. @return 1 if their numbers or strictness differ. Threads: main */
int tls_compat_begin(server_rec *main_server, apr_pool_t *ptemp);

/** Set sc->sid, from tls_trust_read()'s data, too. Threads: main */
void tls_compat_session_id(tls_server_conf *sc, apr_pool_t *p);

/* ---- tls_quic.c ---- */

/** Let a context take part in handshakes of QUIC, where that is wanted. @return 0, or -1 */
int tls_quic_context(SSL_CTX *ctx);

/** Settings of an SSL of QUIC, over those of its context. */
void tls_quic_settings(const struct tls_quic *q);

/** A ticket of @a session is made, which remembers the bound of early data. @return 1; 0: no memory
 */
int tls_quic_ticket(const struct tls_quic *q, SSL_SESSION *session);

/* ---- tls_hello.c ---- */

int tls_hello(SSL *ssl, int *alert, void *unused);
int tls_server_name(SSL *ssl, int *alert, void *unused);
/** Modules other than the built-in ones speak protocols over TLS: they are asked, on the loop, which needs a conn_rec. */
int tls_others_propose(void);

int tls_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
             unsigned in_len, void *unused);

#endif
