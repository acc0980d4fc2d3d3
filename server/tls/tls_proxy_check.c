/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the certificate of a proxied server is the right one: SSLProxyVerify, SSLProxyCheckPeer*. */
#include "tls_proxy_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/x509v3.h>

APLOG_USE_MODULE(ssl);

static int check_expire(const SSL *ssl, const X509 *x)
{
    const conn_rec *c;

    if (X509_cmp_current_time(X509_get0_notBefore(x)) < 0 &&
        X509_cmp_current_time(X509_get0_notAfter(x)) > 0)
        return 1;
    if ((c = tls_proxy_blamed(ssl, 2004, "Peer certificate is expired")) != NULL)
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, c,
                      APLOGNO(02004) "SSL Proxy: Peer certificate is expired");
    return 0;
}

/* A wildcard stands for one label, and alone in it. An address may be in the certificate as an
 * address, or, as with mod_ssl, as a name. */
static int check_name(const SSL *ssl, X509 *x, const char *host)
{
    const conn_rec *c;

    if (X509_check_host(x, host, 0,
                        X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT,
                        NULL) == 1 ||
        X509_check_ip_asc(x, host, 0) == 1)
        return 1;
    if ((c = tls_proxy_blamed(ssl, 2411, "Peer certificate does not match for hostname")) != NULL)
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
                      APLOGNO(02411) "SSL Proxy: Peer certificate does not match for hostname %s",
                      host);
    return 0;
}

static int check_cn(const SSL *ssl, X509 *x, const char *host)
{
    const conn_rec *c;
    const X509_NAME *subject = X509_get_subject_name(x);
    char cn[256] = "";

    (void)X509_NAME_get_text_by_NID((X509_NAME *)(uintptr_t)subject, NID_commonName, cn, sizeof cn);
    if (!ap_cstr_casecmp(cn, host))
        return 1;
    if ((c = tls_proxy_blamed(ssl, 2005, "Peer certificate CN mismatch")) != NULL)
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
                      APLOGNO(02005) "SSL Proxy: Peer certificate CN mismatch: Certificate CN: %s "
                                     "Requested hostname: %s",
                      cn, host);
    return 0;
}

/* SSLProxyCheckPeerCN off alone switches the check of names off, too; SSLProxyCheckPeerCN on counts where
 * SSLProxyCheckPeerName is off. */
static int check_host(const tls_proxy_conf *conf, const SSL *ssl, X509 *x, const char *host)
{
    int name = conf->number[TLS_PX_CHECK_NAME], cn = conf->number[TLS_PX_CHECK_CN];

    if (!host)
        return 1;
    if (name == 1 || (name == TLS_UNSET && cn != 0))
        return check_name(ssl, x, host);
    return name != 0 || cn != 1 || check_cn(ssl, x, host);
}

int tls_proxy_check(const tls_proxy_conf *conf, SSL *ssl, const char *host)
{
    int verify = tls_proxy_number(conf, TLS_PX_VERIFY, TLS_VERIFY_NONE);
    X509 *x = SSL_get1_peer_certificate(ssl);
    int ok = 1;

    BRG_ASSERT(SSL_is_init_finished(ssl));
    if (!x)
        return verify != TLS_VERIFY_REQUIRE; /* a suite without certificates */
    if (verify == TLS_VERIFY_REQUIRE && SSL_get_verify_result(ssl) != X509_V_OK)
        ok = 0;
    if (ok && tls_proxy_number(conf, TLS_PX_CHECK_EXPIRE, 1))
        ok = check_expire(ssl, x);
    ok = ok && check_host(conf, ssl, x, host);
    X509_free(x);
    return ok;
}
