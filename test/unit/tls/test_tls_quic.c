/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes of QUIC by OpenSSL without functions for it (tls_quic_compat.c): give, send and secrets, without a socket or a packet. The client
 * is OpenSSL's over TCP; the test puts messages into records and takes them out, with keys of its own from the secrets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include "test_certificate.h"
#include "test_loop.h"
#include "test_server.h"
#include "h1_conn.h"
#include "response_cache.h"
#include "thread_self.h"
#include "tls_quic_private.h"
#include "vhosts.h"

static brg_listener listener;
static brg_listener *listeners[] = {&listener, NULL};
static brg_listener **of_loops[] = {listeners};
static loop_services services = {.driver = &h1_driver, TEST_LOOP_SERVICES};
static loops_config config = {TEST_LOOP_CONFIG(&services, of_loops), .n_workers = 1,
                              .queue_most = 4, .max_connections = 10};
static const loop_layer *layer;
static brg_loop *loop;
static apr_pool_t *pool;

void __wrap_loop_layer_set(const loop_layer *l);
void __real_loop_layer_set(const loop_layer *l);

void __wrap_loop_layer_set(const loop_layer *l)
{
    layer = l ? l : layer;
    __real_loop_layer_set(l);
}

/* ---- records of TLS 1.3: RFC 8446, 5 and 7.3 ---- */

typedef struct half {
    uint8_t key[16], iv[12];
    uint64_t n;
    int there;
} half;

static void expand(const uint8_t *secret, const char *label, uint8_t *out, uint8_t len)
{
    uint8_t info[40] = {0, len, (uint8_t)(6 + strlen(label))}, block[EVP_MAX_MD_SIZE];
    size_t at = 3;
    unsigned n;

    memcpy(info + at, "tls13 ", 6);
    memcpy(info + at + 6, label, strlen(label));
    at += 6 + strlen(label);
    info[at++] = 0;
    info[at++] = 1;
    assert_non_null(HMAC(EVP_sha256(), secret, 32, info, at, block, &n));
    memcpy(out, block, len);
}

static void half_begin(half *h, const uint8_t *secret)
{
    expand(secret, "key", h->key, sizeof h->key);
    expand(secret, "iv", h->iv, sizeof h->iv);
    h->n = 0;
    h->there = 1;
}

/* In place. @param head  of the record @return 1: it is genuine */
static int half_crypt(half *h, const uint8_t head[5], uint8_t *data, int len, uint8_t *tag,
                      int seal)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    uint8_t nonce[12];
    int n, good;

    memcpy(nonce, h->iv, sizeof nonce);
    for (int i = 0; i < 8; i++)
        nonce[11 - i] ^= (uint8_t)(h->n >> (8 * i));
    h->n++;
    good = EVP_CipherInit_ex(c, EVP_aes_128_gcm(), NULL, h->key, nonce, seal) == 1 &&
           EVP_CipherUpdate(c, NULL, &n, head, 5) == 1 &&
           EVP_CipherUpdate(c, data, &n, data, len) == 1 &&
           (seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, tag) == 1) &&
           EVP_CipherFinal_ex(c, data + len, &n) == 1 &&
           (!seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1);
    EVP_CIPHER_CTX_free(c);
    return good;
}

/* ---- a handshake ---- */

static struct {
    tls_quic *q;
    brg_conn *bc;
    SSL_CTX *ctx;
    SSL *ssl;
    half ours, theirs; /* of the server's and the client's messages */
    unsigned secrets, done, dropped;
    int alert;
    uint8_t params[64], told[64];
    size_t params_len, told_len, ticket_bytes, piece;
    int name_is_known; /* the server said so */
} hand;

static const uint8_t server_params[] = {4, 2, 0x40, 100, 0x11, 12, 0, 0, 0,
                                        1, 0, 0,    0,   1,    0,  0, 0, 1};
static const uint8_t client_params[] = {1, 2, 0x40, 50, 15, 0};

static int user_send(void *of, tls_quic_level level, const uint8_t *data, size_t len)
{
    uint8_t record[5 + 17000] = {22, 3, 3};
    size_t n = len;

    assert_true(of == &hand && len + 17 < sizeof record - 5);
    memcpy(record + 5, data, len);
    if (level == TLS_QUIC_APPLICATION) {
        hand.ticket_bytes += len;
        return 0;
    }
    if (level == TLS_QUIC_HANDSHAKE) {
        record[5 + n++] = 22;
        record[0] = 23;
        record[3] = (uint8_t)((n + 16) >> 8);
        record[4] = (uint8_t)(n + 16);
        assert_true(hand.ours.there);
        assert_true(half_crypt(&hand.ours, record, record + 5, (int)n, record + 5 + n, 1));
        n += 16;
    } else {
        assert_int_equal(level, TLS_QUIC_INITIAL);
        record[3] = (uint8_t)(n >> 8);
        record[4] = (uint8_t)n;
    }
    assert_int_equal(BIO_write(SSL_get_rbio(hand.ssl), record, (int)n + 5), (int)n + 5);
    return 0;
}

static int user_secret(void *of, tls_quic_level level, int is_write, uint16_t suite,
                       const uint8_t *secret, size_t len)
{
    assert_int_equal(suite, 0x1301);
    assert_int_equal(len, 32);
    assert_true(hand.params_len > 0); /* the client's parameters came before */
    hand.secrets |= 1u << (2 * level + !is_write);
    if (level == TLS_QUIC_HANDSHAKE)
        half_begin(is_write ? &hand.ours : &hand.theirs, secret);
    return 0;
}

static void user_answer(const uint8_t *came, size_t len, uint8_t *ours, size_t ours_len)
{
    assert_int_equal(len, sizeof client_params);
    assert_int_equal(ours_len, sizeof server_params);
    ours[ours_len - 1] = 77;
}

static int user_params(void *of, const uint8_t *params, size_t len)
{
    assert_true(len <= sizeof hand.params);
    memcpy(hand.params, params, len);
    hand.params_len = len;
    return 0;
}

static void user_alert(void *of, unsigned alert)
{
    hand.alert = (int)alert;
}

static void user_done(void *of)
{
    hand.done++;
}

static void user_drop(void *of)
{
    hand.dropped++;
}

static const tls_quic_user user = {.send = user_send,
                                   .secret = user_secret,
                                   .answer_params = user_answer,
                                   .peer_params = user_params,
                                   .alert = user_alert,
                                   .done = user_done,
                                   .drop = user_drop};

/* ---- the client ---- */

static int client_add(SSL *ssl, unsigned type, unsigned context, const unsigned char **out,
                      size_t *len, X509 *x, size_t chain, int *alert, void *unused)
{
    *out = client_params;
    *len = sizeof client_params;
    return 1;
}

static int client_came(SSL *ssl, unsigned type, unsigned context, const unsigned char *in,
                       size_t len, X509 *x, size_t chain, int *alert, void *unused)
{
    assert_true(len <= sizeof hand.told);
    memcpy(hand.told, in, len);
    hand.told_len = len;
    return 1;
}

static void client_hears(SSL *ssl, int is_answer, int type, const unsigned char *data, int len,
                         void *unused)
{
    hand.name_is_known |= is_answer && type == TLSEXT_TYPE_server_name;
}

static void client_begin(int with_params, const char *alpn)
{
    hand.ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(hand.ctx, TLS1_3_VERSION);
    SSL_CTX_clear_options(hand.ctx, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    SSL_CTX_set_ciphersuites(hand.ctx, "TLS_AES_128_GCM_SHA256");
    if (with_params)
        assert_int_equal(SSL_CTX_add_custom_ext(hand.ctx, TLS_QUIC_PARAMS,
                                                SSL_EXT_TLS1_3_ONLY | SSL_EXT_CLIENT_HELLO |
                                                    SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS,
                                                client_add, NULL, NULL, client_came, NULL),
                         1);
    hand.ssl = SSL_new(hand.ctx);
    SSL_set_bio(hand.ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_tlsext_host_name(hand.ssl, "localhost");
    SSL_set_tlsext_debug_callback(hand.ssl, client_hears);
    if (alpn)
        assert_int_equal(
            SSL_set_alpn_protos(hand.ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn)), 0);
    SSL_set_connect_state(hand.ssl);
}

/* A message of the client's, in pieces of hand.piece bytes; 0: whole. @return of tls_quic_give() */
static int give(tls_quic_level level, const uint8_t *data, size_t len)
{
    int rc = 0;

    for (size_t n; len && !rc; data += n, len -= n) {
        n = hand.piece && hand.piece < len ? hand.piece : len;
        rc = tls_quic_give(hand.q, level, data, n);
    }
    return rc;
}

/* Records that the client wrote. */
static int client_records(void)
{
    BIO *out = SSL_get_wbio(hand.ssl);
    uint8_t record[20000];
    int rc = 0;

    while (!rc && BIO_pending(out) >= 5) {
        int len;

        assert_int_equal(BIO_read(out, record, 5), 5);
        len = record[3] << 8 | record[4];
        assert_int_equal(BIO_read(out, record + 5, len), len);
        if (record[0] == 22) {
            rc = give(TLS_QUIC_INITIAL, record + 5, (size_t)len);
        } else if (record[0] == 23) {
            assert_true(hand.theirs.there && len > 17);
            assert_true(
                half_crypt(&hand.theirs, record, record + 5, len - 16, record + 5 + len - 16, 0));
            assert_int_equal(record[5 + len - 17], 22);
            rc = give(TLS_QUIC_HANDSHAKE, record + 5, (size_t)len - 17);
        }
    }
    return rc;
}

static void hand_begin(int with_params, const char *alpn)
{
    static struct sockaddr_in local = {.sin_family = AF_INET};
    const struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(4444)};

    memset(&hand, 0, sizeof hand);
    hand.alert = -1;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    hand.bc = loop_conn_begin(loop, &listener, listener.fd, (const struct sockaddr *)&peer,
                              (const struct sockaddr *)&local);
    assert_non_null(hand.bc);
    hand.q = tls_quic_begin(hand.bc, &user, &hand, server_params, sizeof server_params);
    assert_non_null(hand.q);
    client_begin(with_params, alpn);
}

static int hand_shake(void)
{
    int rc = 0;

    for (int i = 0; i < 4 && !rc; i++) {
        (void)SSL_do_handshake(hand.ssl);
        rc = client_records();
    }
    return rc;
}

static void hand_end(void)
{
    assert_int_equal(tls_quic_end(hand.q), 0);
    loop_close(loop, hand.bc);
    SSL_free(hand.ssl);
    SSL_CTX_free(hand.ctx);
}

/* ---- tests ---- */

static void shakes(size_t piece)
{
    const unsigned char *name;
    unsigned len;

    hand_begin(1, "\2h3\5other");
    hand.piece = piece;
    assert_int_equal(hand_shake(), 0);
    assert_int_equal(hand.done, 1);
    assert_int_equal(hand.alert, -1);
    assert_int_equal(hand.q->is_over, 1);
    assert_int_equal(hand.q->busy, 0);
    assert_int_equal(SSL_is_init_finished(hand.ssl), 1);
    assert_int_equal(hand.secrets, 0xf0); /* of Handshake and 1-RTT, both ways */
    assert_memory_equal(hand.params, client_params, sizeof client_params);
    assert_int_equal(hand.told_len, sizeof server_params);
    assert_memory_equal(hand.told, server_params, sizeof server_params - 1);
    assert_int_equal(hand.told[sizeof server_params - 1], 77); /* as it was answered */
    SSL_get0_alpn_selected(hand.ssl, &name, &len);
    assert_int_equal(len, 2);
    assert_memory_equal(name, "h3", 2);
    assert_true(hand.ticket_bytes > 100);
    hand_end();
}

static void test_handshake(void **state)
{
    shakes(0);
    shakes(1);
    shakes(100);
}

/* A name that no server has is not acknowledged; the first server answers. */
static void test_names(void **state)
{
    static const char *const names[] = {"localhost", "elsewhere.test", NULL};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hand_begin(1, "\2h3");
        SSL_set_tlsext_host_name(hand.ssl, names[i]);
        assert_int_equal(hand_shake(), 0);
        assert_int_equal(hand.done, 1);
        assert_int_equal(hand.name_is_known, i == 0);
        hand_end();
    }
}

/* Alerts: 120 no_application_protocol, 109 missing_extension. */
static void test_refused(void **state)
{
    hand_begin(1, "\2h2");
    assert_int_equal(hand_shake(), -1);
    assert_int_equal(hand.alert, 120);
    hand_end();
    hand_begin(1, NULL);
    assert_int_equal(hand_shake(), -1);
    assert_int_equal(hand.alert, 120);
    hand_end();
    hand_begin(0, "\2h3");
    assert_int_equal(hand_shake(), -1);
    assert_int_equal(hand.alert, 109);
    hand_end();
}

/* 10 unexpected_message: what comes at another level, and after the end. */
static void test_misplaced(void **state)
{
    static const uint8_t message[] = {1, 0, 0, 1, 0};

    hand_begin(1, "\2h3");
    assert_int_equal(tls_quic_give(hand.q, TLS_QUIC_HANDSHAKE, message, sizeof message), -1);
    assert_int_equal(hand.alert, 10);
    assert_int_equal(tls_quic_give(hand.q, TLS_QUIC_INITIAL, message, sizeof message), -1);
    hand_end();
    hand_begin(1, "\2h3");
    assert_int_equal(hand_shake(), 0);
    assert_int_equal(tls_quic_give(hand.q, TLS_QUIC_APPLICATION, message, sizeof message), -1);
    assert_int_equal(hand.alert, 10);
    hand_end();
}

/* Bytes that are no ClientHello, of any length: an alert, and nothing worse. */
static void test_nonsense(void **state)
{
    uint8_t bytes[3000];

    srandom(7);
    for (int round = 0; round < 300; round++) {
        const size_t n = 1 + (size_t)random() % sizeof bytes;

        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)random();
        if (round % 2) {
            bytes[0] = 1;
            bytes[1] = 0;
        }
        hand_begin(1, "\2h3");
        if (tls_quic_give(hand.q, TLS_QUIC_INITIAL, bytes, n))
            assert_true(hand.alert >= 0);
        assert_int_equal(hand.done, 0);
        hand_end();
    }
}

/* ---- the server ---- */

static int group_setup(void **state)
{
    const char *file = certificate();
    char directives[256];

    snprintf(directives, sizeof directives,
             "Protocols h3 http/1.1\nSSLEngine on\nSSLCertificateFile %s\n", file);
    test_server_up(directives);
    assert_int_equal(conf_generation_open(test_process, CONF_DEPTH_TRIAL), APR_SUCCESS);
    unlink(file);
    assert_non_null(layer);
    services.accepted = layer->accepted;
    connection_child_init(0);
    listener.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(
        apr_sockaddr_info_get(&listener.addr, "127.0.0.1", APR_INET, 1, 0, test_process->pconf),
        APR_SUCCESS);
    listener.pretended = listener.addr;
    config.server = ap_server_conf;
    apr_pool_create(&pool, NULL);
    assert_int_equal(loop_create(&loop, pool, &config, 0), APR_SUCCESS);
    loop_begin(loop);
    return 0;
}

static int group_teardown(void **state)
{
    worker_pool_stop(loop->workers);
    while (!worker_pool_ended(loop->workers))
        usleep(1000);
    thread_self_end();
    loop_free(loop);
    layer->end(loop);
    apr_pool_destroy(pool);
    close(listener.fd);
    return test_server_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_handshake),
                                       cmocka_unit_test(test_names), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_misplaced),
                                       cmocka_unit_test(test_nonsense)};

    /* The other back takes no such client: it knows the extension itself. */
    return TLS_QUIC_CALLBACKS ? 0 : cmocka_run_group_tests(tests, group_setup, group_teardown);
}
