/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of the response cache's table: what it reads, and that what it promises of collisions holds for
 * keys that are as much alike as keys can be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "universal_hash.h"

#define BYTES 700 /* beyond what is read by the hash itself */

static uint64_t hash_of(const char *s, size_t len, size_t border)
{
    return universal_hash(7, s, border, s + border, len - border);
}

/* In a block of its exact size, so that a read beyond it shows under ASan. */
static uint64_t hash_of_block(const char *s, size_t len, size_t border)
{
    char *a = malloc(border ? border : 1), *b = malloc(len - border ? len - border : 1);
    uint64_t hash;

    memcpy(a, s, border);
    memcpy(b, s + border, len - border);
    hash = universal_hash(7, a, border, b, len - border);
    free(a);
    free(b);
    return hash;
}

static void test_every_byte_counts(void **state)
{
    char s[BYTES];

    memset(s, 'a', sizeof s);
    for (size_t len = 1; len <= sizeof s; len += len < 80 ? 1 : 31)
        for (size_t border = 0; border <= len; border += 1 + len / 40) {
            uint64_t hash = hash_of_block(s, len, border);

            assert_int_equal(hash, hash_of(s, len, border));
            for (size_t i = 0; i < len; i++) {
                s[i] ^= 1;
                assert_int_not_equal(hash_of(s, len, border), hash);
                s[i] ^= 1;
            }
        }
}

static void test_lengths_and_number_count(void **state)
{
    static const char s[BYTES];

    for (size_t len = 1; len < sizeof s; len++) {
        assert_int_not_equal(hash_of(s, len, 0),
                             hash_of(s, len - 1, 0)); /* of nothing but NUL bytes */
        assert_int_not_equal(hash_of(s, len, 0), hash_of(s, len, 1));
        assert_int_not_equal(universal_hash(1, s, len, s, 0), universal_hash(2, s, len, s, 0));
    }
}

/* Keys that differ in one byte or in two: buckets get about as many as by chance. */
static void test_buckets(void **state)
{
    enum { KEYS = 1 << 16 };
    unsigned char *chain = calloc(KEYS, 1);
    unsigned used = 0, longest = 0;
    char key[64];

    memset(key, '/', sizeof key);
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t hash;

        key[9] = (char)i;
        key[60] = (char)(i >> 8);
        hash = universal_hash(1, "localhost", 9, key, sizeof key) % KEYS;
        used += !chain[hash];
        chain[hash]++;
        longest = chain[hash] > longest ? chain[hash] : longest;
    }
    free(chain);
    print_message("longest chain %u, %u of %u buckets used\n", longest, used, (unsigned)KEYS);
    assert_true(longest < 32); /* 10 was the longest of 300 secrets */
}

static void test_the_secret_stays(void **state)
{
    universal_hash_secret before = universal_hash_key;

    assert_true(before.word[0] && before.word[1] && before.a && before.b);
    universal_hash_seed();
    assert_memory_equal(&before, &universal_hash_key, sizeof before);
}

static int seed(void **state)
{
    universal_hash_seed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_lengths_and_number_count),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_the_secret_stays),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
