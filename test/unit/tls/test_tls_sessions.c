/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions are resumed by any context that shares the cache or the ticket keys, from many threads at
 * once; and words of SSLProtocol and SSLProxy*. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <pthread.h>
#include <apr_general.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include "tls_context_private.h"
#include "tls_proxy.h"

#define CACHE_BYTES 8192 /* the least of SSLSessionCache */

static EVP_PKEY *key;
static X509 *cert;

static void make_certificate(void)
{
    key = EVP_EC_gen("P-256");
    cert = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -100);
    X509_gmtime_adj(X509_getm_notAfter(cert), 10000);
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
}

static SSL_CTX *make_server(int tickets)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    assert_true(SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1);
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4);
    SSL_CTX_set_timeout(ctx, 300);
    tls_sessions_use(ctx);
    if (tickets)
        SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, tls_ticket);
    else
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    return ctx;
}

/* A handshake by memory. @return 1 if it resumed *session, which is that of the connection now */
static int connect_once(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION **session)
{
    SSL *client = SSL_new(client_ctx), *server = SSL_new(server_ctx);
    BIO *one = NULL, *two = NULL;
    tls_conn conn = {.tag = TLS_CONN_TAG};
    int resumed, a = 0, b = 0;

    BIO_new_bio_pair(&one, 0, &two, 0);
    SSL_set_bio(client, one, one);
    SSL_set_bio(server, two, two);
    SSL_set_app_data(server, &conn);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    if (*session)
        SSL_set_session(client, *session);
    for (int i = 0; i < 20 && !(a == 1 && b == 1); i++) {
        a = SSL_do_handshake(client);
        b = SSL_do_handshake(server);
    }
    resumed = a == 1 && b == 1 ? SSL_session_reused(server) : -1;
    SSL_SESSION_free(*session);
    *session = SSL_get1_session(client);
    SSL_set_shutdown(server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(client);
    SSL_free(server);
    return resumed;
}

static SSL_CTX *make_client(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    return ctx;
}

static void resume_with(int tickets)
{
    SSL_CTX *client = make_client(), *first = make_server(tickets), *second = make_server(tickets);
    SSL_SESSION *session = NULL;

    assert_int_equal(connect_once(client, first, &session), 0);
    assert_int_equal(connect_once(client, first, &session), 1);
    assert_int_equal(connect_once(client, second, &session), 1);
    SSL_SESSION_free(session);
    SSL_CTX_free(first);
    SSL_CTX_free(second);
    SSL_CTX_free(client);
}

static void contexts_share_tickets(void **state)
{
    resume_with(1);
}

static void contexts_share_the_cache(void **state)
{
    resume_with(0);
}

/* Sessions that their tickets hold take no places: no client asks for one by its id. */
static void sessions_in_tickets_are_not_kept(void **state)
{
    SSL_CTX *client = make_client(), *modern = SSL_CTX_new(TLS_client_method());
    SSL_CTX *kept = make_server(0), *tickets = make_server(1);
    SSL_SESSION *session = NULL, *none = NULL;

    assert_int_equal(connect_once(client, kept, &session), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(connect_once(modern, tickets, &none), 0);
        SSL_SESSION_free(none);
        none = NULL;
    }
    assert_int_equal(connect_once(client, kept, &session), 1);
    SSL_SESSION_free(session);
    SSL_CTX_free(tickets);
    SSL_CTX_free(kept);
    SSL_CTX_free(modern);
    SSL_CTX_free(client);
}

static void a_session_of_another_context_id_is_not_resumed(void **state)
{
    SSL_CTX *client = make_client(), *first = make_server(1), *second = make_server(1);
    SSL_SESSION *session = NULL;

    SSL_CTX_set_session_id_context(second, (const unsigned char *)"other", 5);
    assert_int_equal(connect_once(client, first, &session), 0);
    assert_int_equal(connect_once(client, second, &session), 0);
    SSL_SESSION_free(session);
    SSL_CTX_free(first);
    SSL_CTX_free(second);
    SSL_CTX_free(client);
}

/* The cache is small: places are fought for. Nobody waits, and nothing is mixed up. */
static void *many_connections(void *unused)
{
    SSL_CTX *client = make_client(), *server = make_server(0);
    SSL_SESSION *session = NULL;
    intptr_t wrong = 0;

    for (int i = 0; i < 60; i++) {
        wrong += connect_once(client, server, &session) < 0;
        if (i % 3 == 0) {
            SSL_SESSION_free(session);
            session = NULL;
        }
    }
    SSL_SESSION_free(session);
    SSL_CTX_free(server);
    SSL_CTX_free(client);
    return (void *)wrong;
}

static void threads_share_the_cache(void **state)
{
    pthread_t threads[4];
    void *wrong;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_connections, NULL), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

static void proxy_settings_merge(void **state)
{
    tls_proxy_conf base, add, *both;
    apr_pool_t *p;

    apr_pool_create(&p, NULL);
    for (int i = 0; i < TLS_PX_NUMBERS; i++)
        base.number[i] = add.number[i] = TLS_UNSET;
    memset(base.text, 0, sizeof base.text);
    memset(add.text, 0, sizeof add.text);
    base.number[TLS_PX_ENGINE] = 1;
    base.number[TLS_PX_VERIFY] = TLS_VERIFY_REQUIRE;
    base.text[TLS_PX_CA_FILE] = "base";
    add.number[TLS_PX_VERIFY] = TLS_VERIFY_NONE;
    add.text[TLS_PX_CIPHERS] = "add";
    both = tls_proxy_merge(p, &base, &add);
    assert_int_equal(both->number[TLS_PX_ENGINE], 1);
    assert_int_equal(both->number[TLS_PX_VERIFY], TLS_VERIFY_NONE);
    assert_int_equal(both->number[TLS_PX_DEPTH], TLS_UNSET);
    assert_string_equal(both->text[TLS_PX_CA_FILE], "base");
    assert_string_equal(both->text[TLS_PX_CIPHERS], "add");
    assert_ptr_equal(tls_proxy_merge(p, &base, NULL), &base);
    assert_ptr_equal(tls_proxy_merge(p, NULL, &add), &add);
    apr_pool_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_share_tickets),
        cmocka_unit_test(sessions_in_tickets_are_not_kept),
        cmocka_unit_test(contexts_share_the_cache),
        cmocka_unit_test(a_session_of_another_context_id_is_not_resumed),
        cmocka_unit_test(threads_share_the_cache),
        cmocka_unit_test(proxy_settings_merge),
    };
    int failed;

    apr_initialize();
    tls_settings.cache_bytes = CACHE_BYTES;
    if (tls_tickets_begin() || tls_sessions_begin(CACHE_BYTES))
        return 1;
    make_certificate();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    X509_free(cert);
    EVP_PKEY_free(key);
    return failed;
}
