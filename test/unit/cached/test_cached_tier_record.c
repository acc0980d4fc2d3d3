/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the tier: what is written is read; what was cut, made longer or changed anywhere is none. */
#include "cached_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char terms[STORE_TERMS] = "terms";

static tier_record usual(void)
{
    return (tier_record){.life = 1,
                         .node = 2,
                         .asked = 3,
                         .terms = terms,
                         .text = "http://a/b",
                         .text_len = 10,
                         .variant = "de",
                         .variant_len = 2,
                         .tags = "red\0blue",
                         .tags_len = 9,
                         .head = "head",
                         .head_len = 4,
                         .body_len = 5};
}

/* As bytes of malloc(), so that a sanitizer sees each byte too far. */
static char *written(const tier_record *r, size_t *n)
{
    char *bytes = malloc(*n = tier_record_size(r));

    memcpy(bytes + tier_record_begin(bytes, r), "body!", (size_t)r->body_len);
    tier_record_seal(bytes, *n);
    return bytes;
}

static void what_is_written_is_read(void **state)
{
    const tier_record r = usual();
    tier_record back;
    size_t n;
    char *bytes = written(&r, &n);

    (void)state;
    assert_int_equal(tier_record_read(bytes, n, &back), 0);
    assert_int_equal(back.life, 1);
    assert_int_equal(back.node, 2);
    assert_int_equal(back.asked, 3);
    assert_memory_equal(back.terms, terms, sizeof terms);
    assert_memory_equal(back.text, r.text, r.text_len);
    assert_memory_equal(back.variant, "de", 2);
    assert_memory_equal(back.tags, r.tags, r.tags_len);
    assert_memory_equal(back.head, "head", 4);
    assert_int_equal(back.body_len, 5);
    assert_memory_equal(back.body, "body!", 5);
    free(bytes);
}

static void a_record_without_what_may_lack(void **state)
{
    tier_record r = usual(), back;
    size_t n;
    char *bytes;

    (void)state;
    r.variant_len = r.tags_len = r.head_len = 0;
    r.body_len = 0;
    bytes = written(&r, &n);
    assert_int_equal(tier_record_read(bytes, n, &back), 0);
    assert_int_equal(back.body_len, 0);
    free(bytes);
}

static void what_was_cut_or_made_longer_is_none(void **state)
{
    const tier_record r = usual();
    tier_record back;
    size_t n;
    char *bytes = written(&r, &n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        char *cut = malloc(i + 1);

        memcpy(cut, bytes, i);
        assert_int_equal(tier_record_read(cut, i, &back), -1);
        free(cut);
    }
    bytes = realloc(bytes, n + 1);
    bytes[n] = 0;
    assert_int_equal(tier_record_read(bytes, n + 1, &back), -1);
    free(bytes);
}

static void what_was_changed_is_none(void **state)
{
    const tier_record r = usual();
    tier_record back;
    size_t n;
    char *bytes = written(&r, &n);

    (void)state;
    for (size_t i = 0; i < 8 * n; i++) {
        bytes[i / 8] ^= (char)(1 << i % 8);
        assert_int_equal(tier_record_read(bytes, n, &back), -1);
        bytes[i / 8] ^= (char)(1 << i % 8);
    }
    assert_int_equal(tier_record_read(bytes, n, &back), 0);
    free(bytes);
}

/* Its sum is right, but its tags have no site in front. */
static void what_another_version_wrote_is_none(void **state)
{
    const uint64_t magic = 0x3165726f63655242ull;
    const tier_record r = usual();
    tier_record back;
    size_t n;
    char *bytes = written(&r, &n);

    (void)state;
    memcpy(bytes, &magic, sizeof magic);
    tier_record_seal(bytes, n);
    assert_int_equal(tier_record_read(bytes, n, &back), -1);
    free(bytes);
}

static void a_tag_that_does_not_end_is_none(void **state)
{
    tier_record r = usual(), back;
    size_t n;
    char *bytes;

    (void)state;
    r.tags_len = 8;
    bytes = written(&r, &n);
    assert_int_equal(tier_record_read(bytes, n, &back), -1);
    free(bytes);
}

static void names_tell_variants_apart(void **state)
{
    unsigned char a[TIER_ID], b[TIER_ID];

    (void)state;
    tier_record_id(a, "http://a/b", 10, NULL, 0);
    tier_record_id(b, "http://a/b", 10, "de", 2);
    assert_memory_not_equal(a, b, TIER_ID);
    tier_record_id(b, "http://a/b", 10, NULL, 0);
    assert_memory_equal(a, b, TIER_ID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_record_without_what_may_lack),
        cmocka_unit_test(what_was_cut_or_made_longer_is_none),
        cmocka_unit_test(what_was_changed_is_none),
        cmocka_unit_test(what_another_version_wrote_is_none),
        cmocka_unit_test(a_tag_that_does_not_end_is_none),
        cmocka_unit_test(names_tell_variants_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
