/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that this server makes: handshakes, records in both directions, sessions, certificates of this server. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_tls_peer.h"

static void all_ciphers(void **state)
{
    with("require", TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", 1, MANY);
    with("require", TLS1_3_VERSION, "TLS_AES_256_GCM_SHA384", 1, MANY);
    with("require", TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256", 1, MANY);
    with("require", TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256", 1, MANY);
    with("require", TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384", 1, MANY);
    with("require", TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305", 1, MANY);
    with("require", TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256", 0, MANY);
    with("machine", TLS1_3_VERSION, NULL, 0, MANY);
}

static void one_byte_at_a_time(void **state)
{
    with("require", TLS1_3_VERSION, NULL, 1, 1);
    with("require", TLS1_2_VERSION, NULL, 1, 1);
    with("machine", TLS1_3_VERSION, NULL, 0, 1);
}

static void a_folder_of_authorities(void **state)
{
    with("folder", TLS1_3_VERSION, NULL, 1, MANY);
}

static void close_notify_is_sent(void **state)
{
    pair p;

    pair_begin(&p, server_ctx(&good, TLS1_3_VERSION), "require", "localhost", NULL);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    assert_int_equal(transport_shut(&p.bc), 0);
    server_take(&p);
    assert_int_equal(SSL_read(p.ssl, got, 1), 0);
    assert_int_equal(SSL_get_shutdown(p.ssl) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
    server_says(&p, "still", 5); /* the other direction goes on */
    assert_int_equal(client_hears(&p, got, 5), 5);
    assert_memory_equal(got, "still", 5);
    pair_end(&p);
}

/* The socket takes nothing of the first message. */
static void a_full_socket_is_waited_for(void **state)
{
    static char junk[65536];
    size_t full = 0;
    ssize_t n;
    pair p;

    pair_begin(&p, server_ctx(&good, TLS1_3_VERSION), "require", "localhost", NULL);
    while ((n = write(p.bc.fd, junk, sizeof junk)) > 0)
        full += (size_t)n;
    assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_WANT_WRITE);
    assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_WANT_WRITE);
    while (full > 0) {
        n = read(p.fd, junk, full < sizeof junk ? full : sizeof junk);
        assert_true(n > 0);
        full -= (size_t)n;
    }
    assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_WANT_READ);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    exchange(&p);
    pair_end(&p);
}

/* ---- sessions ---- */

static int resumed(int version, tls_client_sessions *sessions, SSL_CTX *ctx)
{
    pair p;
    int is;

    SSL_CTX_up_ref(ctx);
    pair_begin(&p, ctx, "require", "localhost", sessions);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    is = SSL_session_reused(p.ssl);
    assert_int_equal(tls(&p)->records != NULL, 1);
    exchange(&p); /* tickets come before data */
    pair_end(&p);
    return is;
}

static void sessions_are_taken_up(void **state)
{
    static const int versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};

    for (size_t i = 0; i < 2; i++) {
        SSL_CTX *ctx = server_ctx(&good, versions[i]);
        tls_client_sessions sessions = {.n = 0};

        assert_false(resumed(versions[i], &sessions, ctx));
        assert_int_equal(sessions.n, versions[i] == TLS1_3_VERSION ? 2 : 1);
        for (int k = 0; k < 6; k++)
            assert_true(resumed(versions[i], &sessions, ctx));
        assert_in_range(sessions.n, 1, TLS_CLIENT_SESSIONS);
        assert_null(tls_client_session_get(&sessions, apr_time_sec(apr_time_now()) + 1000000));
        assert_int_equal(sessions.n, 0);
        assert_false(resumed(versions[i], &sessions, ctx));
        tls_client_sessions_clear(&sessions);
        SSL_CTX_free(ctx);
    }
}

/* ---- what servers may say in between ---- */

static void keys_change(void **state)
{
    pair p;

    pair_begin(&p, server_ctx(&good, TLS1_3_VERSION), "require", "localhost", NULL);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(SSL_key_update(p.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        exchange(&p);
    }
    pair_end(&p);
}

static void tickets_come_late(void **state)
{
    tls_client_sessions sessions = {.n = 0};
    pair p;

    pair_begin(&p, server_ctx(&good, TLS1_3_VERSION), "require", "localhost", &sessions);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    exchange(&p);
    assert_int_equal(SSL_new_session_ticket(p.ssl), 1);
    exchange(&p);
    assert_int_equal(sessions.n, 2); /* those of before */
    pair_end(&p);
    tls_client_sessions_clear(&sessions);
}

/* ---- certificates of this server ---- */

static void shown_where_asked_for(void **state)
{
    static const int versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};

    for (size_t i = 0; i < 2; i++) {
        SSL_CTX *ctx = server_ctx(&good, versions[i]);
        X509 *x;
        pair p;

        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        pair_begin(&p, ctx, "machine", "localhost", NULL);
        assert_int_equal(shake(&p), TLS_CLIENT_DONE);
        exchange(&p);
        assert_non_null(x = SSL_get1_peer_certificate(p.ssl));
        assert_int_equal(X509_cmp(x, visitor.x), 0);
        X509_free(x);
        pair_end(&p);
    }
}

static void shown_where_asked_for_late(void **state)
{
    pair p;

    pair_begin(&p, server_ctx(&good, TLS1_3_VERSION), "machine", "localhost", NULL);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    exchange(&p);
    SSL_set_verify(p.ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    assert_int_equal(SSL_verify_client_post_handshake(p.ssl), 1);
    assert_int_equal(SSL_do_handshake(p.ssl), 1);
    assert_int_equal(client_hears(&p, got, 1), 0);
    server_take(&p);
    assert_true(SSL_read(p.ssl, got, 1) <= 0);
    assert_non_null(SSL_get0_peer_certificate(p.ssl));
    exchange(&p);
    pair_end(&p);
}

static void workers_have_it(void **state)
{
    on_worker = 1;
    with("require", TLS1_3_VERSION, NULL, 0, MANY);
    with("require", TLS1_2_VERSION, NULL, 0, 1000);
    with("folder", TLS1_3_VERSION, NULL, 0, MANY);
    shown_where_asked_for(state);
    on_worker = 0;
}

static void a_context_is_of_settings(void **state)
{
    for (server_rec *s = ap_server_conf; s; s = s->next)
        if (!strcmp(s->server_hostname, "off")) {
            assert_null(tls_client_context_make(test_process->pconf, s, NULL));
            assert_null(tls_client_context_of(s, NULL));
        }
    assert_ptr_equal(context("require"), context("again"));
    assert_ptr_not_equal(context("require"), context("plain"));
    for (int i = 0; i < TLS_PX_TEXTS; i++) {
        tls_proxy_conf conf = context("plain")->conf;

        assert_non_null(tls_proxy_context_find(&conf));
        conf.text[i] = "another";
        assert_null(tls_proxy_context_find(&conf));
    }
}

static server_rec *server_named(const char *host)
{
    server_rec *s = ap_server_conf;

    while (strcmp(s->server_hostname, host) != 0)
        s = s->next;
    return s;
}

/* A section has what it says itself, and the rest from its server. */
static void a_section_has_one(void **state)
{
    apr_pool_t *p = test_process->pconf;
    ap_conf_vector_t *section = ap_create_per_dir_config(p);
    tls_dir_conf *dc = ssl_module.create_dir_config(p, NULL);
    server_rec *s = server_named("require"), *off = server_named("off");
    const tls_client_context *made;

    ap_set_module_config(section, &ssl_module, dc);
    dc->proxy = tls_proxy_merge(p, NULL, tls_proxy_conf_of(server_named("loose")->lookup_defaults));
    assert_non_null(made = tls_client_context_make(p, s, section));
    assert_ptr_not_equal(made, context("require"));
    assert_ptr_not_equal(made, context("loose"));
    assert_int_equal(made->verify, TLS_VERIFY_REQUIRE);
    assert_int_equal(made->conf.number[TLS_PX_CHECK_EXPIRE], 0);
    assert_ptr_equal(tls_client_context_of(s, section), made);
    section = ap_create_per_dir_config(p);
    assert_null(tls_client_context_make(p, off, section));
    assert_ptr_equal(tls_client_context_make(p, s, section), context("require"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_context_is_of_settings),
                                       cmocka_unit_test(a_section_has_one),
                                       cmocka_unit_test(all_ciphers),
                                       cmocka_unit_test(a_full_socket_is_waited_for),
                                       cmocka_unit_test(one_byte_at_a_time),
                                       cmocka_unit_test(a_folder_of_authorities),
                                       cmocka_unit_test(close_notify_is_sent),
                                       cmocka_unit_test(sessions_are_taken_up),
                                       cmocka_unit_test(keys_change),
                                       cmocka_unit_test(tickets_come_late),
                                       cmocka_unit_test(shown_where_asked_for),
                                       cmocka_unit_test(shown_where_asked_for_late),
                                       cmocka_unit_test(workers_have_it)};

    return cmocka_run_group_tests(tests, group_setup, group_end);
}
