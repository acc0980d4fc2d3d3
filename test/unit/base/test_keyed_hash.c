/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of tables that clients fill: what it is, and that targets which collided in the hash
 * before it (multiplications without a key) do not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "keyed_hash.h"

static void test_is_siphash_1_3(void **state)
{
    uint64_t before[2] = {keyed_hash_key[0], keyed_hash_key[1]};
    keyed_hash h;

    keyed_hash_key[0] = 0x0706050403020100ull;
    keyed_hash_key[1] = 0x0f0e0d0c0b0a0908ull;
    keyed_hash_begin(&h);
    keyed_hash_bytes(&h, "", 0);
    assert_int_equal(keyed_hash_end(&h), 0xabac0158050fc4dcull);
    memcpy(keyed_hash_key, before, sizeof before);
}

static void test_the_key_is_chosen(void **state)
{
    uint64_t key[2];

    keyed_hash_seed();
    assert_true(keyed_hash_key[0] || keyed_hash_key[1]);
    memcpy(key, keyed_hash_key, sizeof key);
    keyed_hash_seed();
    assert_memory_equal(key, keyed_hash_key, sizeof key);
}

static void test_parts_count(void **state)
{
    keyed_hash a, b;

    keyed_hash_begin(&a);
    keyed_hash_bytes(&a, "ab", 2);
    keyed_hash_bytes(&a, "c", 1);
    keyed_hash_begin(&b);
    keyed_hash_bytes(&b, "a", 1);
    keyed_hash_bytes(&b, "bc", 2);
    assert_int_not_equal(keyed_hash_end(&a), keyed_hash_end(&b));
}

/* ---- targets that were of one hash ---- */

#define BLOCKS 14
#define TARGETS (1 << BLOCKS)

static uint64_t unkeyed(const char *s, size_t len)
{
    uint64_t h = 0x123456789abcdefull, w;

    for (; len >= 8; s += 8, len -= 8) {
        memcpy(&w, s, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    }
    return h;
}

static void collide(char *out, unsigned number)
{
    for (int i = 0; i < BLOCKS; i++, out += 16)
        memcpy(out,
               number >> i & 1 ? "aaaaaaa\xe1"
                                 "bbb\xe2"
                                 "bbb\xe2"
                               : "aaaaaaaabbbbbbbb",
               16);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void test_targets_of_one_hash(void **state)
{
    static uint64_t hash[TARGETS];
    static int chain[2 * TARGETS];
    char target[BLOCKS * 16];
    int longest = 0;

    keyed_hash_seed();
    for (unsigned i = 0; i < TARGETS; i++) {
        collide(target, i);
        assert_int_equal(unkeyed(target, sizeof target), unkeyed("aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb"
                                                                 "aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb"
                                                                 "aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb"
                                                                 "aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb"
                                                                 "aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb"
                                                                 "aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb"
                                                                 "aaaaaaaabbbbbbbbaaaaaaaabbbbbbbb",
                                                                 sizeof target));
        hash[i] = keyed_hash_of(1, target, sizeof target);
        longest =
            ++chain[hash[i] % (2 * TARGETS)] > longest ? chain[hash[i] % (2 * TARGETS)] : longest;
    }
    qsort(hash, TARGETS, sizeof *hash, compare);
    for (int i = 1; i < TARGETS; i++)
        assert_int_not_equal(hash[i - 1], hash[i]);
    print_message("longest chain of %d targets in %d buckets: %d\n", TARGETS, 2 * TARGETS, longest);
    assert_true(longest < 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_siphash_1_3),
        cmocka_unit_test(test_the_key_is_chosen),
        cmocka_unit_test(test_parts_count),
        cmocka_unit_test(test_targets_of_one_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
