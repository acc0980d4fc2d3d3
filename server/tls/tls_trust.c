/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of clients: authorities, revocation, verification. */
#include "tls_context_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

APLOG_USE_MODULE(ssl);

/* The supervisor's data, read as root. */
struct tls_trust {
    X509_STORE *store;
    STACK_OF(X509_NAME) * names; /* that clients choose their certificates by */
    /* signers of OCSP responses; NULL: those that the authorities let sign */
    STACK_OF(X509) * signers;
    tls_server_conf *sc;
    unsigned char digest[TLS_TRUST_DIGEST];
};

static apr_status_t trust_forget(void *data)
{
    tls_trust *trust = data;

    if (trust->sc->trust == trust)
        trust->sc->trust = NULL;
    X509_STORE_free(trust->store);
    sk_X509_NAME_pop_free(trust->names, X509_NAME_free);
    sk_X509_pop_free(trust->signers, X509_free);
    return APR_SUCCESS;
}

/* ---- authorities ---- */

/* The names of SSLCADNRequest*, or of all authorities. */
static int trust_names(tls_trust *trust, const tls_server_conf *sc)
{
    int told = sc->names_file || sc->names_path;
    const char *file = told ? sc->names_file : sc->ca_file;
    const char *path = told ? sc->names_path : sc->ca_path;

    BRG_ASSERT(trust->sc == sc && !trust->names);
    trust->names = file ? SSL_load_client_CA_file(file) : sk_X509_NAME_new_null();
    if (trust->names && (!path || SSL_add_dir_cert_subjects_to_stack(trust->names, path)))
        return 0;
    return tls_context_failed(sc,
                              APLOGNO(01896) "Unable to determine list of acceptable CA "
                                             "certificates for client authentication",
                              file ? file : path);
}

static int trust_authorities(tls_trust *trust, const tls_server_conf *sc)
{
    if ((sc->ca_file || sc->ca_path) &&
        !X509_STORE_load_locations(trust->store, sc->ca_file, sc->ca_path))
        return tls_context_failed(
            sc, APLOGNO(01895) "Unable to configure verify locations for client authentication",
            sc->ca_file ? sc->ca_file : sc->ca_path);
    if (!sc->ca_file && !sc->ca_path && sc->verify == TLS_VERIFY_REQUIRE)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, sc->server,
                     APLOGNO(01897) "Init: Oops, you want to request client authentication, but no "
                                    "CAs are known for verification!?  [Hint: SSLCACertificate*]");
    return trust_names(trust, sc);
}

/* ---- revocation ---- */

int tls_trust_revocations(X509_STORE *store, const char *file, const char *path, int whole_chain)
{
    if (!X509_STORE_load_locations(store, file, path))
        return -1;
    X509_STORE_set_flags(store,
                         X509_V_FLAG_CRL_CHECK | (whole_chain ? X509_V_FLAG_CRL_CHECK_ALL : 0));
    return 0;
}

static int trust_revocations(tls_trust *trust, const tls_server_conf *sc)
{
    if (sc->crl_check <= TLS_CRL_NONE) {
        if (sc->crl_file || sc->crl_path)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, sc->server,
                         APLOGNO(01902) "Host %s: X.509 CRL storage locations configured, but CRL "
                                        "checking (SSLCARevocationCheck) is not enabled",
                         sc->server->server_hostname ? sc->server->server_hostname : "*");
        return 0;
    }
    if (!sc->crl_file && !sc->crl_path)
        return tls_context_failed(sc,
                                  APLOGNO(01899) "CRL checking has been enabled, but neither "
                                                 "SSLCARevocationFile nor SSLCARevocationPath is "
                                                 "configured",
                                  NULL);
    if (tls_trust_revocations(trust->store, sc->crl_file, sc->crl_path,
                              sc->crl_check == TLS_CRL_CHAIN))
        return tls_context_failed(sc,
                                  APLOGNO(01901) "unable to configure X.509 CRL storage for "
                                                 "certificate revocation",
                                  sc->crl_file ? sc->crl_file : sc->crl_path);
    return 0;
}

static int trust_signers(tls_trust *trust, const tls_server_conf *sc)
{
    X509_STORE *all;

    BRG_ASSERT(trust->sc == sc && !trust->signers);
    if (!sc->ocsp.signers_file)
        return 0;
    if ((all = X509_STORE_new()) != NULL && X509_STORE_load_file(all, sc->ocsp.signers_file) == 1)
        trust->signers = X509_STORE_get1_all_certs(all);
    X509_STORE_free(all);
    if (trust->signers)
        return 0;
    return tls_context_failed(
        sc,
        "no certificates can be read for SSLOCSPResponderCertificateFile:", sc->ocsp.signers_file);
}

STACK_OF(X509) * tls_trust_signers(const tls_server_conf *sc)
{
    return sc->trust ? sc->trust->signers : NULL;
}

int tls_trust_read(tls_server_conf *sc, apr_pool_t *p)
{
    tls_trust *trust;

    sc->trust = NULL;
    if (!sc->ca_file && !sc->ca_path && !sc->names_file && !sc->names_path && !sc->crl_file &&
        !sc->crl_path && sc->crl_check <= TLS_CRL_NONE && sc->verify != TLS_VERIFY_REQUIRE &&
        !sc->ocsp.signers_file)
        return 0;
    ERR_clear_error();
    trust = apr_pcalloc(p, sizeof *trust);
    trust->sc = sc;
    tls_trust_digest(sc, trust->digest,
                     p); /* before they are read: at worst sessions end too soon */
    trust->store = X509_STORE_new();
    apr_pool_cleanup_register(p, trust, trust_forget, apr_pool_cleanup_null);
    if (!trust->store || trust_authorities(trust, sc) || trust_revocations(trust, sc) ||
        trust_signers(trust, sc))
        return -1;
    sc->trust = trust;
    return 0;
}

const unsigned char *tls_trust_known_by(const tls_server_conf *sc)
{
    return sc->trust ? sc->trust->digest : NULL;
}

/* ---- verification ---- */

/* optional_no_ca: a certificate that nobody vouches for is as good as one. Its result stays in the
 * session: GENEROUS. */
static int trust_unknown_issuer(int error)
{
    switch (error) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return 1;
    default:
        return 0;
    }
}

int tls_trust_forgive(X509_STORE_CTX *store, int generous, int crl_may_lack)
{
    int error = X509_STORE_CTX_get_error(store);

    if (generous && trust_unknown_issuer(error))
        return 1;
    if (!crl_may_lack || error != X509_V_ERR_UNABLE_TO_GET_CRL)
        return 0;
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
}

int tls_context_verified(int ok, X509_STORE_CTX *store)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const tls_conn *t = SSL_get_app_data(ssl);
    const tls_server_conf *sc = tls_conf_of(t->server);
    int error, generous = t->established ? t->generous : sc->verify == TLS_VERIFY_OPTIONAL_NO_CA;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (!ok && tls_trust_forgive(store, generous, sc->crl_may_lack))
        return 1; /* this comes once more for each certificate of the chain, with ok */
    if (ok && tls_ocsp_verify(t, store, trust_unknown_issuer(X509_STORE_CTX_get_error(store))))
        return 1;
    error = X509_STORE_CTX_get_error(store);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, t->server,
                 APLOGNO(02276) "Certificate Verification: Error (%d): %s", error,
                 X509_verify_cert_error_string(error));
    return 0;
}

int tls_trust_vouch(SSL *ssl, X509 *x, STACK_OF(X509) * chain, int depth)
{
    const tls_conn *t = SSL_get_app_data(ssl);
    X509_STORE_CTX *store = X509_STORE_CTX_new_ex(t->loop->lib, NULL);
    X509_STORE *trust = NULL;
    int ok = 0;

    BRG_ASSERT(t->tag == TLS_CONN_TAG && t->ssl == ssl && !t->shared);
    SSL_get0_verify_cert_store(ssl, &trust);
    if (!trust)
        trust = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl));
    if (store && X509_STORE_CTX_init(store, trust, x, chain) &&
        X509_STORE_CTX_set_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx(), ssl) &&
        X509_STORE_CTX_set_default(store, "ssl_client") &&
        X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(store), SSL_get0_param(ssl))) {
        X509_VERIFY_PARAM_set_depth(X509_STORE_CTX_get0_param(store), depth);
        X509_STORE_CTX_set_verify_cb(store, tls_context_verified);
        ok = X509_verify_cert(store) == 1 && X509_STORE_CTX_get_error(store) == X509_V_OK;
    }
    X509_STORE_CTX_free(store);
    ERR_clear_error();
    return ok;
}

int tls_verify_mode(int verify)
{
    switch (verify) {
    case TLS_VERIFY_REQUIRE:
        return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    case TLS_VERIFY_OPTIONAL:
    case TLS_VERIFY_OPTIONAL_NO_CA:
        return SSL_VERIFY_PEER;
    default:
        return SSL_VERIFY_NONE;
    }
}

int tls_trust_verify(SSL_CTX *ctx, const tls_server_conf *sc)
{
    STACK_OF(X509_NAME) * names;

    SSL_CTX_set_verify(ctx, tls_verify_mode(sc->verify), tls_context_verified);
    SSL_CTX_set_verify_depth(ctx, sc->depth == TLS_UNSET ? 1 : sc->depth);
    if (!sc->trust)
        return 0;
    BRG_ASSERT(sc->trust->store != NULL && sc->trust->names != NULL);
    if (!(names = SSL_dup_CA_list(sc->trust->names)))
        return tls_context_failed(sc, "no memory for names of authorities", NULL);
    SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set1_cert_store(ctx, sc->trust->store);
    return 0;
}
