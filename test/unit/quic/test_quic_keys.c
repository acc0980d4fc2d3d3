/* SPDX-License-Identifier: Apache-2.0 */
/* Protection of packets against the vectors of RFC 9001, appendix A, and RFC 9369, appendix A. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "quic_keys.h"

static size_t keys_hex(const char *hex, uint8_t *out)
{
    size_t n = 0;

    for (; *hex; hex += 2) {
        const char two[3] = {hex[0], hex[1], 0};

        out[n++] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

static quic_cid keys_cid(void)
{
    quic_cid cid = {.len = 0};

    cid.len = (uint8_t)keys_hex("8394c8f03e515708", cid.id);
    return cid;
}

static void keys_have(const quic_key *k, const char *iv, const char *sample, const char *mask)
{
    uint8_t want[64], s[16], m[16];

    keys_hex(iv, want);
    assert_memory_equal(k->iv, want, QUIC_IV);
    keys_hex(sample, s);
    keys_hex(mask, want);
    assert_int_equal(quic_key_masks((quic_key *)k, s, 1, m), 0);
    assert_memory_equal(m, want, QUIC_MASK);
}

/* A.1, A.2, A.3 */
static void test_initial(void **state)
{
    const quic_cid cid = keys_cid();
    quic_key client, server;

    (void)state;
    assert_int_equal(quic_key_initial(&client, &server, QUIC_V1, &cid, 1), 0);
    keys_have(&client, "fa044b2f42a3fd3b46fb255c", "d1b1c98dd7689fb8ec11d242b123dc9b",
              "437b9aec36");
    keys_have(&server, "0ac1493ca1905853b0bba03e", "2cd0991cd25b0aac406a5816b6394100",
              "2ec0d8356a");
    quic_key_end(&client);
    quic_key_end(&server);
}

/* A.3: the server's first packet, sealed and opened. */
static void test_server_initial(void **state)
{
    const quic_cid cid = keys_cid();
    quic_key client, server, read, write;
    uint8_t packet[256], want[256], mask[16];
    const size_t head = keys_hex("c1000000010008f067a5502a4262b50040750001", packet);
    const size_t len = keys_hex(
        "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a04"
        "5a"
        "1200130100002e00330024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9"
        "da1a002b00020304",
        packet + head);
    const size_t whole = keys_hex(
        "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554"
        "78"
        "0bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b56"
        "2bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
        want);
    uint64_t pn;

    (void)state;
    assert_int_equal(quic_key_initial(&client, &server, QUIC_V1, &cid, 1), 0);
    assert_int_equal(quic_key_seal(&server, 1, packet, head, len), 0);
    assert_int_equal(whole, head + len + QUIC_TAG);
    assert_int_equal(quic_key_masks(&server, packet + head - 2 + 4, 1, mask), 0);
    packet[0] ^= mask[0] & 15;
    packet[head - 2] ^= mask[1];
    packet[head - 1] ^= mask[2];
    assert_memory_equal(packet, want, whole);
    /* The client's side of the same. */
    assert_int_equal(quic_key_initial(&read, &write, QUIC_V1, &cid, 0), 0);
    assert_int_equal(quic_key_unmask(&read, packet, head - 2, whole, &pn), 2);
    assert_int_equal(pn, 1);
    packet[head + 5] ^= 1;
    {
        uint8_t copy[256];

        memcpy(copy, packet, sizeof copy);
        assert_int_equal(quic_key_open(&read, pn, copy, head, whole - head), -1);
    }
    packet[head + 5] ^= 1;
    assert_int_equal(quic_key_open(&read, pn, packet, head, whole - head), len);
    assert_int_equal(packet[head], 2);
    quic_key_end(&client);
    quic_key_end(&server);
    quic_key_end(&read);
    quic_key_end(&write);
}

/* A.4, and RFC 9369 A.4 */
static void test_retry(void **state)
{
    const quic_cid cid = keys_cid();
    uint8_t packet[64], tag[QUIC_TAG];
    size_t n = keys_hex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba",
                        packet);

    (void)state;
    assert_int_equal(quic_retry_tag(QUIC_V1, &cid, packet, n - QUIC_TAG, tag), 0);
    assert_memory_equal(tag, packet + n - QUIC_TAG, QUIC_TAG);
    n = keys_hex("cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6",
                 packet);
    assert_int_equal(quic_retry_tag(QUIC_V2, &cid, packet, n - QUIC_TAG, tag), 0);
    assert_memory_equal(tag, packet + n - QUIC_TAG, QUIC_TAG);
}

/* A.5: ChaCha20-Poly1305, and a key update. */
static void test_chacha(void **state)
{
    uint8_t secret[32], packet[64], want[64], mask[16];
    quic_key k, next;

    (void)state;
    keys_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b", secret);
    assert_int_equal(quic_key_make(&k, QUIC_V1, QUIC_CHACHA20, 1, secret, sizeof secret), 0);
    keys_have(&k, "e0459b3474bdd0e44a41c144", "5e5cd55c41f69080575d7999c25a5bfb", "aefefe7d03");
    keys_hex("4200bff401", packet);
    assert_int_equal(quic_key_seal(&k, 654360564, packet, 4, 1), 0);
    assert_int_equal(quic_key_masks(&k, packet + 1 + 4, 1, mask), 0);
    packet[0] ^= mask[0] & 0x1f;
    for (int i = 0; i < 3; i++)
        packet[1 + i] ^= mask[1 + i];
    keys_hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb", want);
    assert_memory_equal(packet, want, 21);
    keys_hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9", want);
    assert_int_equal(quic_key_next(&next, &k), 0);
    assert_memory_equal(next.secret, want, 32);
    quic_key_end_shared(&next);
    quic_key_end(&k);
}

/* RFC 9369, A.1 */
static void test_version_2(void **state)
{
    const quic_cid cid = keys_cid();
    quic_key client, server;
    uint8_t want[QUIC_IV];

    (void)state;
    assert_int_equal(quic_key_initial(&client, &server, QUIC_V2, &cid, 1), 0);
    keys_hex("91f73e2351d8fa91660e909f", want);
    assert_memory_equal(client.iv, want, sizeof want);
    keys_hex("dd13c276499c0249d3310652", want);
    assert_memory_equal(server.iv, want, sizeof want);
    assert_int_equal(quic_long_first(QUIC_INITIAL, QUIC_V2) >> 4 & 3, 1);
    assert_int_equal(quic_long_first(QUIC_RETRY, QUIC_V2) >> 4 & 3, 0);
    quic_key_end(&client);
    quic_key_end(&server);
}

/* A suite that there is not, and a secret that is too long. */
static void test_refused(void **state)
{
    static const uint8_t secret[64];
    quic_key k;

    (void)state;
    assert_int_equal(quic_key_make(&k, QUIC_V1, 0x1304, 1, secret, 32), -1);
    assert_int_equal(quic_key_make(&k, QUIC_V1, QUIC_AES_128_GCM, 1, secret, 64), -1);
}

/* RFC 4231, 4.2. */
static void test_hmac(void **state)
{
    uint8_t key[20], want[32], got[32];

    (void)state;
    memset(key, 0x0b, sizeof key);
    keys_hex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", want);
    assert_int_equal(quic_hmac(key, sizeof key, "Hi There", 8, got), 0);
    assert_memory_equal(got, want, sizeof want);
}

/* Masks of many heads at once are those of each; no block is held back for the next call. */
static void test_masks(void **state)
{
    static const uint16_t suites[] = {QUIC_AES_128_GCM, QUIC_AES_256_GCM, QUIC_CHACHA20};
    uint8_t secret[QUIC_SECRET_MOST] = {7}, samples[5 * QUIC_SAMPLE], all[sizeof samples], one[16];

    (void)state;
    for (size_t i = 0; i < sizeof samples; i++)
        samples[i] = (uint8_t)(i * 37);
    for (size_t s = 0; s < 3; s++) {
        quic_key k;

        assert_int_equal(quic_key_make(&k, QUIC_V1, suites[s], 1, secret, s == 1 ? 48 : 32), 0);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(quic_key_masks(&k, samples, 5, all), 0);
            for (size_t i = 0; i < 5; i++) {
                assert_int_equal(quic_key_masks(&k, samples + i * QUIC_SAMPLE, 1, one), 0);
                assert_memory_equal(one, all + i * QUIC_SAMPLE, QUIC_MASK);
            }
        }
        quic_key_sleep(&k);
        assert_int_equal(quic_key_wake(&k), 0);
        assert_int_equal(quic_key_masks(&k, samples, 1, one), 0);
        assert_memory_equal(one, all, QUIC_MASK);
        quic_key_end(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initial),   cmocka_unit_test(test_server_initial),
        cmocka_unit_test(test_retry),     cmocka_unit_test(test_chacha),
        cmocka_unit_test(test_version_2), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hmac),      cmocka_unit_test(test_masks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
