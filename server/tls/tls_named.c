/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates by name (tls_named.h) in handshakes. A loop keeps those used last in OpenSSL's form:
 * reading one takes longer than the rest of a handshake without the signature. */
#include "tls_named.h"
#include "tls_certificate.h"
#include "tls_context_private.h"
#include "loop.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define NAMED_KEPT 256 /* by a loop */

struct tls_named_pair {
    tls_named of;
    X509 *cert;
    STACK_OF(X509) * chain;
    EVP_PKEY *key;
};

static const tls_namer *namer;

void tls_namer_set(const tls_namer *to)
{
    namer = to;
}

/* ---- pairs of a loop ---- */

static void pair_drop(struct tls_named_pair *pair)
{
    X509_free(pair->cert);
    sk_X509_pop_free(pair->chain, X509_free);
    EVP_PKEY_free(pair->key);
    *pair = (struct tls_named_pair){.cert = NULL};
}

void tls_named_end(tls_loop *l)
{
    for (int i = 0; l->named && i < NAMED_KEPT; i++)
        pair_drop(&l->named[i]);
    free(l->named);
    l->named = NULL;
}

/* The next piece. @return 0: past the last */
static int piece_next(const unsigned char **at, size_t *left, tls_der *piece)
{
    uint32_t n;

    if (*left < sizeof n)
        return 0;
    memcpy(&n, *at, sizeof n);
    *at += sizeof n;
    *left -= sizeof n;
    if (!n || n > *left)
        return 0;
    *piece = (tls_der){(unsigned char *)(uintptr_t)*at, (int)n};
    *at += n;
    *left -= n;
    return 1;
}

static int pair_chain(struct tls_named_pair *pair, const unsigned char *at, size_t left,
                      OSSL_LIB_CTX *lib)
{
    tls_der piece;

    BRG_ASSERT(!pair->cert && !pair->chain);
    if (!(pair->chain = sk_X509_new_null()))
        return -1;
    while (piece_next(&at, &left, &piece)) {
        X509 *x = tls_certificate_parse(&piece, lib);

        if (x && !pair->cert)
            pair->cert = x;
        else if (!x || !sk_X509_push(pair->chain, x)) {
            X509_free(x);
            return -1;
        }
    }
    return pair->cert && !left ? 0 : -1;
}

static int pair_read(struct tls_named_pair *pair, const tls_named *named, OSSL_LIB_CTX *lib)
{
    unsigned char *data = OPENSSL_malloc(namer->most);
    const unsigned char *at = data;
    size_t left = data ? namer->read(named, data, namer->most) : 0;
    tls_der piece;
    int failed = 1;

    if (piece_next(&at, &left, &piece)) {
        const unsigned char *key = piece.data;

        pair->of = *named;
        pair->key = d2i_AutoPrivateKey_ex(NULL, &key, piece.len, lib, NULL);
        failed = !pair->key || pair_chain(pair, at, left, lib);
    }
    OPENSSL_clear_free(data, namer->most);
    if (failed)
        pair_drop(pair);
    return failed ? -1 : 0;
}

static struct tls_named_pair *named_pair(tls_loop *l, const tls_named *named)
{
    struct tls_named_pair *pair;

    if (!l->named && !(l->named = calloc(NAMED_KEPT, sizeof *l->named)))
        return NULL;
    pair = &l->named[named->slot % NAMED_KEPT];
    if (pair->cert && pair->of.slot == named->slot && pair->of.version == named->version)
        return pair;
    pair_drop(pair);
    return pair_read(pair, named, l->lib) ? NULL : pair;
}

/* ---- a handshake ---- */

/* The server's own certificate is for the name. */
static int name_is_covered(const tls_conn *t, const char *name, size_t len)
{
    X509 *own = SSL_CTX_get0_certificate(SSL_get_SSL_CTX(t->ssl));

    return own && X509_check_host(own, name, len, 0, NULL) == 1;
}

/* An authority that looks at the proof of a name (tls-alpn-01) must not wait for its own
 * consequence. */
static int proves(const tls_conn *t)
{
    static const unsigned char name[] = "\012acme-tls/1";
    const unsigned char *data;
    size_t len;

    return SSL_client_hello_get0_ext(t->ssl, TLSEXT_TYPE_application_layer_protocol_negotiation,
                                     &data, &len) &&
           len > 2 && memmem(data + 2, len - 2, name, sizeof name - 1);
}

/* Over QUIC nobody waits: clients come to it from TCP, where they did. */
static tls_named_state named_wait(tls_conn *t)
{
    const apr_time_t now = t->bc->loop->monotonic;

    if (!t->naming) {
        if (t->quic || *namer->wait <= 0 || t->loop->naming >= TLS_NAMING)
            return TLS_NAMED_NO;
        t->naming = 1;
        t->loop->naming++;
        t->named_until = now + *namer->wait;
    }
    return now < t->named_until ? TLS_NAMED_WAIT : TLS_NAMED_NO;
}

static int named_use(tls_conn *t, const tls_named *found)
{
    const struct tls_named_pair *pair = named_pair(t->loop, found);

    if (!pair)
        return TLS_NAMED_NO;
    SSL_certs_clear(t->ssl);
    if (SSL_use_cert_and_key(t->ssl, pair->cert, pair->key, pair->chain, 1) != 1)
        return -1;
    t->own_cert = 1;
    return TLS_NAMED_YES;
}

int tls_named_choose(tls_conn *t, const char *name, size_t len)
{
    tls_named_client client;
    tls_named found;
    int state;

    if (!namer || !t->named || name_is_covered(t, name, len) || proves(t))
        return TLS_NAMED_NO;
    BRG_ASSERT(loop_self() == t->bc->loop && !t->established);
    client.len = conn_client_address(t->bc, &client.address);
    state = namer->find(t->server, name, t->naming ? NULL : &client, &found);
    if (state == TLS_NAMED_WAIT)
        state = named_wait(t);
    if (state != TLS_NAMED_WAIT)
        tls_named_forget(t);
    return state == TLS_NAMED_YES ? named_use(t, &found) : state;
}

void tls_named_forget(tls_conn *t)
{
    if (!t->naming)
        return;
    BRG_ASSERT(t->loop->naming > 0);
    t->naming = 0;
    t->loop->naming--;
}
