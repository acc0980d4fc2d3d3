/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes in which a large key signs: which of them are a worker's, and their queue, since few of a loop are with workers at a
 * time. tls_handshake.c runs them. */
#include "tls_context_private.h"
#include "loop.h"
#include "brigade/assert.h"

/* 1 if the client sent it, with something in it. */
static int has_extension(SSL *ssl, unsigned type)
{
    const unsigned char *data;
    size_t len;

    return SSL_client_hello_get0_ext(ssl, type, &data, &len) && len;
}

#define SIGN_DISTRUST apr_time_from_sec(10)

/* A session is likely to be taken up. Not so likely where another one was not, a moment ago: clients could have the
 * loop sign with tickets that are none. */
static int signs_nothing(tls_conn *t)
{
    t->offers =
        (!t->loop->refused_at || t->bc->loop->monotonic >= t->loop->refused_at + SIGN_DISTRUST) &&
        (has_extension(t->ssl, TLSEXT_TYPE_psk) ||
         has_extension(t->ssl, TLSEXT_TYPE_session_ticket));
    return t->offers;
}

/* Schemes of ECDSA, of Ed25519 and of Ed448 (RFC 8446, section 4.2.3). */
static int scheme_is_short(unsigned scheme)
{
    return scheme == 0x0403 || scheme == 0x0503 || scheme == 0x0603 || scheme == 0x0807 ||
           scheme == 0x0808;
}

/* The client takes the signature of a key that is not RSA: where the server has one, it gets that. */
static int takes_short_keys(SSL *ssl)
{
    const unsigned char *data;
    size_t len;

    if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_signature_algorithms, &data, &len))
        return 0;
    for (size_t i = 2; i + 1 < len; i += 2)
        if (scheme_is_short((unsigned)data[i] << 8 | data[i + 1]))
            return 1;
    return 0;
}

int tls_handshake_signs_long(SSL *ssl)
{
    tls_conn *t = SSL_get_app_data(ssl);
    const tls_server_conf *sc = tls_conf_of(t->server);
    const X509 *slow = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    if (!slow || t->bc->loop->prefork || signs_nothing(t) ||
        (sc->pairs->nelts > 1 && takes_short_keys(ssl)))
        return 0;
    /* The protocols that modules choose are asked for on the loop. */
    if (tls_others_propose() &&
        has_extension(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation))
        return 0;
    if (sc->stapled && has_extension(ssl, TLSEXT_TYPE_status_request))
        tls_staple_fetch(t, slow);
    return 1;
}

static void sign_take(tls_conn *t)
{
    t->signing = 1;
    t->loop->signing++;
}

static void sign_unqueue(tls_conn *t)
{
    tls_conn **at = &t->loop->sign_first;

    BRG_ASSERT(t->queues);
    while (*at != t)
        at = &(*at)->sign_next;
    *at = t->sign_next;
    if (t->loop->sign_tail == &t->sign_next)
        t->loop->sign_tail = at;
    t->queues = 0;
}

/* The next one goes when it is its turn: it may be on a list of this one. */
void tls_sign_is_over(tls_conn *t)
{
    tls_conn *next;

    if (!t->signing)
        return;
    next = t->loop->sign_first;
    t->signing = 0;
    t->loop->signing--;
    if (!next || !loop_self())
        return;
    sign_unqueue(next);
    sign_take(next);
    loop_again(next->bc->loop, next->bc);
}

void tls_handshake_forget(tls_conn *t)
{
    if (t->queues)
        sign_unqueue(t);
    tls_sign_is_over(t);
    tls_named_forget(t);
}

int tls_sign_begins(tls_conn *t)
{
    tls_loop *l = t->loop;

    BRG_ASSERT(t->signs && !t->queues && !t->signing);
    if (l->signing < TLS_SIGNERS) {
        sign_take(t);
        return 1;
    }
    t->queues = 1;
    t->sign_next = NULL;
    if (!l->sign_first)
        l->sign_tail = &l->sign_first;
    *l->sign_tail = t;
    l->sign_tail = &t->sign_next;
    return 0;
}
