/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that this server makes, to servers that are not as they should be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_tls_peer.h"

static void renegotiation_is_refused(void **state)
{
    pair p;

    pair_begin(&p, server_ctx(&good, TLS1_2_VERSION), "require", "localhost", NULL);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    exchange(&p);
    assert_int_equal(SSL_renegotiate(p.ssl), 1);
    assert_int_equal(SSL_do_handshake(p.ssl), 1); /* HelloRequest */
    assert_int_equal(client_hears(&p, got, 10), 0);
    server_take(&p);
    assert_true(SSL_read(p.ssl, got, 1) < 0);
    assert_int_equal(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
    pair_end(&p);
}

static void refused(const paper *of, const char *host, const char *name, unsigned number)
{
    static const int versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};

    for (size_t i = 0; i < 2; i++) {
        tls_client_sessions sessions = {.n = 0};
        pair p;

        pair_begin(&p, server_ctx(of, versions[i]), host, name, &sessions);
        assert_int_equal(shake(&p), TLS_CLIENT_FAILED);
        assert_int_equal(tls_client_failure_of(&p.bc).number, number);
        assert_non_null(tls_client_failure_of(&p.bc).reason);
        assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_FAILED);
        assert_int_equal(transport_recv(&p.bc, got, 1), -1);
        assert_int_equal(sessions.n, 0);
        pair_end(&p);
    }
}

static void taken(const paper *of, const char *host, const char *name)
{
    pair p;

    pair_begin(&p, server_ctx(of, TLS1_3_VERSION), host, name, NULL);
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    exchange(&p);
    pair_end(&p);
}

static void certificates_are_judged(void **state)
{
    refused(&foreign, "require", "localhost", 2276);
    refused(&expired, "require", "localhost", 2276);
    refused(&expired, "plain", "localhost", 2004);
    refused(&other, "plain", "localhost", 2411);
    refused(&good, "plain", "127.0.0.1", 2411);
    refused(&other, "cn", "localhost", 2005);
    refused(&revoked, "crl", "localhost", 2276);
    refused(&good, "none", "localhost", 2276); /* no authorities at all */
    taken(&revoked, "require", "localhost");
    taken(&good, "crl", "localhost");
    taken(&foreign, "plain", "localhost");
    taken(&foreign, "noca", "localhost");
    taken(&other, "plain", NULL);
    taken(&expired, "loose", "localhost");
}

static void versions_do_not_meet(void **state)
{
    pair p;

    pair_begin(&p, server_ctx(&good, TLS1_2_VERSION), "new", "localhost", NULL);
    assert_int_equal(shake(&p), TLS_CLIENT_FAILED);
    assert_int_equal(tls_client_failure_of(&p.bc).number, 2003);
    pair_end(&p);
}

static void garbage_instead_of_a_server(void **state)
{
    static const char *const said[] = {"HTTP/1.1 400 Bad Request\r\n\r\n",
                                       "\x16\x03\x03\x00\x02\x02", "\x15\x03\x03\x00\x02\x02\x28",
                                       "\x17\x03\x03\x00\x05hallo"};

    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        pair p;

        pair_begin(&p, NULL, "require", "localhost", NULL);
        assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_WANT_READ);
        assert_true(write(p.fd, said[i], i ? 5 + (size_t)said[i][4] : strlen(said[i])) > 0);
        if (i == 1)
            assert_true(write(p.fd, "\0\0\0\0\0\0\0\0", 8) > 0);
        assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_FAILED);
        assert_int_equal(tls_client_failure_of(&p.bc).number, 2003);
        pair_end(&p);
    }
}

/* Close after each byte of a server's first flight, together with it. */
static void closed_in_the_handshake(void **state)
{
    for (size_t most = 0; most < 1200; most += most < 20 ? 1 : 97) {
        tls_client_result result;
        pair p;

        pair_begin(&p, server_ctx(&good, TLS1_2_VERSION), "require", "localhost", NULL);
        assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_WANT_READ);
        server_take(&p);
        (void)SSL_do_handshake(p.ssl);
        p.most = most;
        (void)server_give(&p);
        close(p.fd);
        p.fd = -1;
        result = tls_client_step(&p.bc);
        assert_int_equal(result, TLS_CLIENT_FAILED); /* and no further event is needed */
        assert_int_equal(tls_client_failure_of(&p.bc).number, 2003);
        pair_end(&p);
    }
}

static void an_end_is_told_from_a_break(void **state)
{
    static const int versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};

    for (size_t i = 0; i < 4; i++) {
        SSL_CTX *ctx = server_ctx(&good, versions[i & 1]);
        pair p;

        pair_begin(&p, ctx, i < 2 ? "require" : "machine", "localhost", NULL);
        assert_int_equal(shake(&p), TLS_CLIENT_DONE);
        server_says(&p, sent, 100);
        assert_int_equal(client_hears(&p, got, 100), 100);
        close(p.fd); /* without a close_notify */
        p.fd = -1;
        assert_int_equal(transport_recv(&p.bc, got, 100), 0);
        assert_false(tls_client_was_closed(&p.bc));
        pair_end(&p);
        pair_begin(&p, server_ctx(&good, versions[i & 1]), i < 2 ? "require" : "machine",
                   "localhost", NULL);
        assert_int_equal(shake(&p), TLS_CLIENT_DONE);
        exchange(&p);
        assert_int_equal(write(p.fd,
                               "\x17\x03\x03\x00\x20"
                               "0123456789abcdef0123456789abcdef",
                               37),
                         37);
        assert_int_equal(transport_recv(&p.bc, got, 100), -1);
        assert_int_not_equal(errno, EAGAIN);
        assert_int_equal(transport_recv(&p.bc, got, 100), -1);
        assert_false(tls_client_was_closed(&p.bc));
        pair_end(&p);
    }
}

static void workers_have_it(void **state)
{
    on_worker = 1;
    certificates_are_judged(state);
    closed_in_the_handshake(state);
    on_worker = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renegotiation_is_refused), cmocka_unit_test(certificates_are_judged),
        cmocka_unit_test(versions_do_not_meet),     cmocka_unit_test(garbage_instead_of_a_server),
        cmocka_unit_test(closed_in_the_handshake),  cmocka_unit_test(an_end_is_told_from_a_break),
        cmocka_unit_test(workers_have_it)};

    return cmocka_run_group_tests(tests, group_setup, group_end);
}
