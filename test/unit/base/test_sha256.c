/* SPDX-License-Identifier: Apache-2.0 */
/* Against examples of FIPS 180-4's authors, and whatever the pieces are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sha256.h"

static const char *sha256_hex(const char *bytes, size_t n, size_t piece)
{
    static char hex[2 * SHA256_BYTES + 1];
    unsigned char digest[SHA256_BYTES];
    sha256 s;

    sha256_begin(&s);
    for (size_t at = 0; at < n; at += piece)
        sha256_add(&s, bytes + at, n - at < piece ? n - at : piece);
    sha256_end(&s, digest);
    for (int i = 0; i < SHA256_BYTES; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", digest[i]);
    return hex;
}

static void test_examples(void **state)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char *million = malloc(1000000);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 70; piece++)
            assert_string_equal(sha256_hex(cases[i].text, strlen(cases[i].text), piece),
                                cases[i].digest);
    memset(million, 'a', 1000000);
    for (size_t piece = 1; piece < 200000; piece = piece * 3 + 1)
        assert_string_equal(sha256_hex(million, 1000000, piece),
                            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* Each length up to two blocks, so each way of padding: all differ, and none depends on the pieces. */
static void test_lengths(void **state)
{
    char bytes[200] = {0}, before[2 * SHA256_BYTES + 1] = "", whole[2 * SHA256_BYTES + 1];

    (void)state;
    for (size_t n = 0; n < sizeof bytes; n++) {
        strcpy(whole, sha256_hex(bytes, n, sizeof bytes));
        assert_string_not_equal(whole, before);
        assert_string_equal(whole, sha256_hex(bytes, n, 7));
        strcpy(before, whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples),
                                       cmocka_unit_test(test_lengths)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
