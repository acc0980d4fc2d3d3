/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a client's certificate was revoked, asked of its authority's OCSP responder (SSLOCSP*; RFC 6960).
 * It is asked in the middle of a handshake, by the worker that the loop leaves such a one to
 * (tls_handshake.c): a responder that is silent holds nobody else up. */
#include "tls_context_private.h"
#include "http_log.h"
#include "apr_network_io.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include "apr_uri.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/http.h>
#include <openssl/ocsp.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

/* As mod_ssl has them; seconds. */
#define OCSP_TIMEOUT 10
#define OCSP_SKEW 300

/* ---- the question ---- */

static char *ocsp_url_of(const X509 *x)
{
    STACK_OF(OPENSSL_STRING) *urls = X509_get1_ocsp((X509 *)(uintptr_t)x);
    char *url = urls ? OPENSSL_strdup(sk_OPENSSL_STRING_value(urls, 0)) : NULL;

    X509_email_free(urls);
    return url;
}

/* To be freed with OPENSSL_free(); NULL: no responder. */
static char *ocsp_responder(const tls_ocsp_conf *conf, const X509 *x)
{
    char *url = conf->responder && conf->override == 1 ? NULL : ocsp_url_of(x);

    return url || !conf->responder ? url : OPENSSL_strdup(conf->responder);
}

static OCSP_REQUEST *ocsp_question(const tls_ocsp_conf *conf, const OCSP_CERTID *id)
{
    OCSP_REQUEST *question = OCSP_REQUEST_new();
    OCSP_CERTID *copy = OCSP_CERTID_dup(id);

    if (question && copy && OCSP_request_add0_id(question, copy)) {
        if (conf->nonce == 0 || OCSP_request_add1_nonce(question, NULL, -1))
            return question;
    } else {
        OCSP_CERTID_free(copy);
    }
    OCSP_REQUEST_free(question);
    return NULL;
}

/* ---- the way to the responder ---- */

static int ocsp_seconds(const tls_ocsp_conf *conf)
{
    return conf->timeout == TLS_UNSET ? OCSP_TIMEOUT : conf->timeout ? conf->timeout : 1;
}

/* OpenSSL's way to connect tries again until the time is over, whatever went wrong. */
static apr_socket_t *ocsp_connect(const tls_conn *t, const apr_uri_t *to, int seconds,
                                  apr_pool_t *p)
{
    apr_sockaddr_t *addr = NULL;
    apr_socket_t *s = NULL;
    apr_status_t rv =
        apr_sockaddr_info_get(&addr, to->hostname, APR_UNSPEC, to->port ? to->port : 80, 0, p);

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, t->server,
                     APLOGNO(01972) "could not resolve address of OCSP responder %s", to->hostname);
        return NULL;
    }
    for (; addr; addr = addr->next) {
        rv = apr_socket_create(&s, addr->family, SOCK_STREAM, APR_PROTO_TCP, p);
        if (rv == APR_SUCCESS &&
            apr_socket_timeout_set(s, apr_time_from_sec(seconds)) == APR_SUCCESS &&
            (rv = apr_socket_connect(s, addr)) == APR_SUCCESS)
            return s;
    }
    ap_log_error(APLOG_MARK, APLOG_ERR, rv, t->server,
                 APLOGNO(01974) "could not connect to OCSP responder '%s'", to->hostname);
    return NULL;
}

/* @param proxied  a proxy takes the request, and is told whose it is */
static OCSP_RESPONSE *ocsp_post(BIO *way, const apr_uri_t *to, int proxied, int seconds,
                                const OCSP_REQUEST *question, apr_pool_t *p)
{
    OSSL_HTTP_REQ_CTX *http = OSSL_HTTP_REQ_CTX_new(way, way, 0);
    const char *host =
        apr_uri_unparse(
            p, to, APR_URI_UNP_OMITPATHINFO | APR_URI_UNP_OMITQUERY | APR_URI_UNP_OMITUSERINFO) +
        7;
    const char *path = apr_uri_unparse(p, to, APR_URI_UNP_OMITSITEPART);
    OCSP_RESPONSE *response;
    BIO *answer = NULL;

    if (http &&
        OSSL_HTTP_REQ_CTX_set_request_line(http, 1, proxied ? host : NULL, NULL,
                                           *path ? path : "/") &&
        OSSL_HTTP_REQ_CTX_add1_header(http, "Host", host) &&
        OSSL_HTTP_REQ_CTX_set_expected(http, NULL, 1, seconds, 0) &&
        OSSL_HTTP_REQ_CTX_set1_req(http, "application/ocsp-request", ASN1_ITEM_rptr(OCSP_REQUEST),
                                   (const ASN1_VALUE *)question))
        answer = OSSL_HTTP_REQ_CTX_exchange(http);
    response = answer ? d2i_OCSP_RESPONSE_bio(answer, NULL) : NULL;
    OSSL_HTTP_REQ_CTX_free(http);
    return response;
}

static OCSP_RESPONSE *ocsp_exchange(const tls_conn *t, const char *url,
                                    const OCSP_REQUEST *question, apr_pool_t *p)
{
    const tls_ocsp_conf *conf = &tls_conf_of(t->server)->ocsp;
    OCSP_RESPONSE *response = NULL;
    apr_uri_t to, proxy;
    apr_socket_t *s;
    apr_os_sock_t fd;
    BIO *way;

    BRG_ASSERT(!conn_on_loop() && !ap_cstr_casecmpn(url, "http://", 7)); /* ocsp_status() */
    if (apr_uri_parse(p, url, &to) != APR_SUCCESS || !to.hostname ||
        (conf->proxy && apr_uri_parse(p, conf->proxy, &proxy) != APR_SUCCESS)) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                     APLOGNO(01919) "failed to parse OCSP responder URI '%s'", url);
        return NULL;
    }
    if (!(s = ocsp_connect(t, conf->proxy ? &proxy : &to, ocsp_seconds(conf), p)) ||
        apr_os_sock_get(&fd, s) != APR_SUCCESS || !(way = BIO_new_socket(fd, BIO_NOCLOSE)))
        return NULL;
    response = ocsp_post(way, &to, conf->proxy != NULL, ocsp_seconds(conf), question, p);
    if (!response) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                     APLOGNO(01980) "bad response from OCSP server: none from %s within %d seconds",
                     url, ocsp_seconds(conf));
        tls_log_errors(t->server, APLOG_ERR);
    }
    BIO_free(way);
    return response;
}

/* ---- the answer ---- */

static int ocsp_trouble(const tls_conn *t, const char *what)
{
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server, "%s", what);
    tls_log_errors(t->server, APLOG_ERR);
    return V_OCSP_CERTSTATUS_UNKNOWN;
}

static int ocsp_is_signed(const tls_conn *t, OCSP_BASICRESP *basic, X509_STORE_CTX *store)
{
    const tls_server_conf *sc = tls_conf_of(t->server);
    STACK_OF(X509) *signers = tls_trust_signers(sc);

    return sc->ocsp.unverified == 1 ||
           OCSP_basic_verify(basic, signers, X509_STORE_CTX_get0_store(store),
                             signers ? OCSP_TRUSTOTHER : 0) == 1;
}

static int ocsp_status_of(const tls_conn *t, OCSP_BASICRESP *basic, OCSP_CERTID *id)
{
    const tls_ocsp_conf *conf = &tls_conf_of(t->server)->ocsp;
    ASN1_GENERALIZEDTIME *from, *until;
    int status, reason;

    if (OCSP_resp_find_status(basic, id, &status, &reason, NULL, &from, &until) != 1)
        return ocsp_trouble(t, APLOGNO(02272) "failed to retrieve OCSP response status");
    if (OCSP_check_validity(from, until, conf->skew == TLS_UNSET ? OCSP_SKEW : conf->skew,
                            conf->age) != 1)
        return ocsp_trouble(t, APLOGNO(02273) "OCSP response outside validity period");
    ap_log_error(APLOG_MARK, status == V_OCSP_CERTSTATUS_GOOD ? APLOG_INFO : APLOG_ERR, 0,
                 t->server, APLOGNO(03239) "OCSP validation completed, certificate status: %s",
                 OCSP_cert_status_str(status));
    return status;
}

static int ocsp_judge(const tls_conn *t, OCSP_RESPONSE *response, OCSP_REQUEST *question,
                      OCSP_CERTID *id, X509_STORE_CTX *store)
{
    const tls_ocsp_conf *conf = &tls_conf_of(t->server)->ocsp;
    OCSP_BASICRESP *basic;
    int status;

    if (OCSP_response_status(response) != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                     APLOGNO(01922) "OCSP response not successful: %s",
                     OCSP_response_status_str(OCSP_response_status(response)));
        return V_OCSP_CERTSTATUS_UNKNOWN;
    }
    if (!(basic = OCSP_response_get1_basic(response)))
        return ocsp_trouble(t, APLOGNO(01923) "could not retrieve OCSP basic response");
    if (conf->nonce != 0 && OCSP_check_nonce(question, basic) != 1)
        status = ocsp_trouble(t, APLOGNO(01924) "Bad OCSP responder answer (bad nonce)");
    else if (!ocsp_is_signed(t, basic, store))
        status = ocsp_trouble(t, APLOGNO(01925) "failed to verify the OCSP response");
    else
        status = ocsp_status_of(t, basic, id);
    OCSP_BASICRESP_free(basic);
    return status;
}

/* ---- together ---- */

static int ocsp_ask(const tls_conn *t, const char *url, OCSP_CERTID *id, X509_STORE_CTX *store)
{
    OCSP_REQUEST *question = ocsp_question(&tls_conf_of(t->server)->ocsp, id);
    OCSP_RESPONSE *response = NULL;
    int status = V_OCSP_CERTSTATUS_UNKNOWN;
    apr_pool_t *p;

    apr_pool_create(&p, NULL);
    if (question && (response = ocsp_exchange(t, url, question, p)) != NULL)
        status = ocsp_judge(t, response, question, id, store);
    apr_pool_destroy(p);
    OCSP_REQUEST_free(question);
    OCSP_RESPONSE_free(response);
    return status;
}

static int ocsp_status(const tls_conn *t, X509 *x, X509_STORE_CTX *store)
{
    const tls_ocsp_conf *conf = &tls_conf_of(t->server)->ocsp;
    char *url = ocsp_responder(conf, x);
    OCSP_CERTID *id =
        url ? OCSP_cert_to_id(NULL, x, X509_STORE_CTX_get0_current_issuer(store)) : NULL;
    int status = V_OCSP_CERTSTATUS_UNKNOWN;

    ERR_set_mark();
    if (!url && conf->may_lack)
        status = V_OCSP_CERTSTATUS_GOOD;
    else if (!url)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, t->server,
                     APLOGNO(01918) "no OCSP responder specified in certificate and no default "
                                    "configured");
    else if (ap_cstr_casecmpn(url, "http://", 7) != 0)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                     APLOGNO(01920) "cannot handle OCSP responder URI '%s'", url);
    else if (!id)
        (void)ocsp_trouble(t, APLOGNO(01921) "could not retrieve certificate id");
    else
        status = ocsp_ask(t, url, id, store);
    ERR_pop_to_mark();
    OCSP_CERTID_free(id);
    OPENSSL_free(url);
    return status;
}

int tls_ocsp_is_wanted(const tls_server_conf *sc)
{
    return sc->ocsp.check > TLS_OCSP_OFF;
}

int tls_ocsp_verify(const tls_conn *t, X509_STORE_CTX *store, int unknown)
{
    const tls_ocsp_conf *conf = &tls_conf_of(t->server)->ocsp;
    X509 *x = X509_STORE_CTX_get_current_cert(store);
    int status = V_OCSP_CERTSTATUS_UNKNOWN;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (conf->check <= TLS_OCSP_OFF || !x ||
        (conf->check == TLS_OCSP_LEAF && X509_STORE_CTX_get_error_depth(store) > 0) ||
        X509_get_extension_flags(x) & EXFLAG_SS) /* its own authority: nobody can be asked */
        return 1;
    BRG_ASSERT(!conn_on_loop());
    if (unknown)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                     APLOGNO(02038) "cannot perform OCSP validation for cert if issuer has not "
                                    "been verified (optional_no_ca configured)");
    else
        status = ocsp_status(t, x, store);
    if (status == V_OCSP_CERTSTATUS_GOOD)
        return 1;
    X509_STORE_CTX_set_error(store, status == V_OCSP_CERTSTATUS_REVOKED
                                        ? X509_V_ERR_CERT_REVOKED
                                        : X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}
