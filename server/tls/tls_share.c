/* SPDX-License-Identifier: Apache-2.0 */
/* A connection whose records are our own needs its SSL for variables alone: an object of 13 KiB, more than
 * all else that an idle connection has. Connections whose SSLs would tell the same share one of them.
 * Nothing is read or written through it.
 *
 * Those with a client's certificate have one each; and all, where a directory may ask for a handshake in
 * the middle of a connection. */
#include "tls_quic_private.h"
#include "tls_record_private.h"
#include "http_config.h"
#include "brigade/assert.h"
#include <openssl/ssl.h>
#include <string.h>
#include <strings.h>

/* ---- may it be asked for? ---- */

static int share_off;

static int tree_transparent(const char *section)
{
    static const char *const names[] = {"<VirtualHost", "<IfModule",    "<IfDefine", "<IfVersion",
                                        "<IfFile",      "<IfDirective", "<IfSection"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(section, names[i]))
            return 1;
    return 0;
}

static int tree_line_asks(const ap_directive_t *d, int in_directory)
{
    static const char *const asks[] = {"SSLVerifyClient", "SSLVerifyDepth", "SSLCipherSuite"};

    if (!strcasecmp(d->directive, "AllowOverride") ||
        !strcasecmp(d->directive, "AllowOverrideList"))
        return strcasecmp(d->args, "None") != 0; /* an .htaccess file may */
    if (!strcasecmp(d->directive, "SSLVerifyClient") && strcasecmp(d->args, "none") != 0 &&
        strcasecmp(d->args, "off") != 0)
        return 1; /* so may a virtual host that another one's handshake reaches */
    for (size_t i = 0; in_directory && i < sizeof asks / sizeof *asks; i++)
        if (!strcasecmp(d->directive, asks[i]))
            return 1;
    return 0;
}

static int tree_asks(const ap_directive_t *d, int in_directory)
{
    for (; d; d = d->next)
        if (tree_line_asks(d, in_directory) ||
            tree_asks(d->first_child, in_directory || !tree_transparent(d->directive)))
            return 1;
    return 0;
}

void tls_share_begin(void)
{
    share_off = tree_asks(ap_conftree, 0);
}

/* ---- which SSLs are alike ---- */

static int text_is(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int protocol_is(const SSL *a, const SSL *b)
{
    const unsigned char *one, *two;
    unsigned one_len, two_len;

    SSL_get0_alpn_selected(a, &one, &one_len);
    SSL_get0_alpn_selected(b, &two, &two_len);
    return one_len == two_len && (!one_len || !memcmp(one, two, one_len));
}

static int share_alike(SSL *a, SSL *b)
{
    return SSL_get_SSL_CTX(a) == SSL_get_SSL_CTX(b) && SSL_version(a) == SSL_version(b) &&
           SSL_get_current_cipher(a) == SSL_get_current_cipher(b) &&
           SSL_get_certificate(a) == SSL_get_certificate(b) &&
           SSL_session_reused(a) == SSL_session_reused(b) &&
           SSL_get_secure_renegotiation_support(a) == SSL_get_secure_renegotiation_support(b) &&
           SSL_get_verify_mode(a) == SSL_get_verify_mode(b) &&
           SSL_get_verify_result(a) == SSL_get_verify_result(b) && protocol_is(a, b) &&
           text_is(SSL_get_servername(a, TLSEXT_NAMETYPE_host_name),
                   SSL_get_servername(b, TLSEXT_NAMETYPE_host_name));
}

/* Each connection's own values. */
static int share_note(tls_conn *t)
{
    const SSL_SESSION *session = SSL_get0_session(t->ssl);
    unsigned len = 0;
    const unsigned char *id = session ? SSL_SESSION_get_id(session, &len) : NULL;

    if (len > sizeof t->records->session)
        return -1;
    if (len)
        memcpy(t->records->session, id, len);
    t->records->session_len = (uint8_t)len;
    return 0;
}

static SSL *share_find(tls_loop *l, SSL *ssl)
{
    for (int i = 0; i < TLS_SHARED; i++)
        if (l->shared[i] && share_alike(l->shared[i], ssl))
            return l->shared[i];
    return NULL;
}

void tls_share(tls_conn *t)
{
    tls_loop *l = t->loop;
    SSL *other;

    BRG_ASSERT(t->records && !t->shared);
    BRG_ASSERT(l->shared_next >= 0 && l->shared_next < TLS_SHARED);
    if (share_off || SSL_get0_peer_certificate(t->ssl) || share_note(t))
        return;
    t->shared = 1;
    /* Else OpenSSL takes a session that did not end well out of its cache. */
    SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    other = share_find(l, t->ssl);
    if (other) {
        SSL_up_ref(other);
        SSL_free(t->ssl);
        t->ssl = other;
        return;
    }
    SSL_set_app_data(t->ssl, NULL); /* connections come and go */
    if (!t->quic || !TLS_QUIC_CALLBACKS)
        BIO_set_data(SSL_get_rbio(t->ssl), NULL);
    SSL_up_ref(t->ssl);
    SSL_free(l->shared[l->shared_next]);
    l->shared[l->shared_next] = t->ssl;
    l->shared_next = (l->shared_next + 1) % TLS_SHARED;
}

void tls_share_forget(tls_loop *l)
{
    for (int i = 0; i < TLS_SHARED; i++) {
        SSL_free(l->shared[i]);
        l->shared[i] = NULL;
    }
}
