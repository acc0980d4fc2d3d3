/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start-tag search against the plainest one, on random texts over small alphabets, where tags
 * overlap themselves and nearly match everywhere: every variant in one span at every alignment, and
 * ssi_scan_feed over every cut in two, in three, in single bytes, and at random with empty spans.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "apr_general.h"
#include "ssi_scan.h"

#define TEXT_MAX 1024
#define HITS_MAX (TEXT_MAX + 1)

static const char *const tags[] = {
    "<!--#",
    "<",
    "a",
    "aa",
    "aaaa",
    "aab",
    "aba",
    "abab",
    "aabaa",
    "abcabcab",
    "<!--<!--#",
    "----",
    "--<--",
    "[%",
    "{{{",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
    "baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "abaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabaaaaaaaaaaaaaaaaa",
};

#define TAGS (sizeof(tags) / sizeof(*tags))

static unsigned random_state = 20240711;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % n;
}

/* Random bytes, and pieces of the tag as often. */
static void random_text(char *text, size_t len, const char *tag)
{
    static const char *const alphabets[] = {"a", "ab", "abc", "<!-#", "-<", "<!--# abc"};
    const char *alphabet = alphabets[random_below(6)];
    unsigned letters = (unsigned)strlen(alphabet), pieces = random_below(3),
             n = (unsigned)strlen(tag);
    size_t at = 0, from, end;

    while (at < len) {
        if (pieces && random_below(4) < pieces) {
            from = random_below(3) ? 0 : random_below(n);
            end = random_below(2) ? n : from + random_below(n - (unsigned)from + 1);
            while (from < end && at < len)
                text[at++] = tag[from++];
        } else {
            text[at++] = alphabet[random_below(letters)];
        }
    }
}

static void test_variants_agree(void **state)
{
    static char text[TEXT_MAX + 64 + 16];
    ssi_scan_variant variants[SSI_SCAN_VARIANTS];
    size_t n = ssi_scan_variants(variants), len, want;
    ssi_pattern *pattern;

    assert_true(n >= 5);
    assert_null(variants[n].name);
    for (size_t t = 0; t < TAGS; t++) {
        pattern = ssi_pattern_make(*state, tags[t], strlen(tags[t]));
        assert_ptr_equal(pattern->find, variants[n - 1].find);
        for (unsigned round = 0; round < 1500; round++) {
            size_t shift = random_below(64);
            len = random_below(3) ? random_below(TEXT_MAX) : random_below(20);
            random_text(text + shift, len, tags[t]);
            /* What lies behind the span must not matter. */
            memcpy(text + shift + len, tags[t], strlen(tags[t]) < 16 ? strlen(tags[t]) : 16);
            want = ssi_find_naive(pattern, text + shift, len);
            for (size_t v = 0; v < n; v++)
                if (variants[v].find(pattern, text + shift, len) != want)
                    fail_msg("%s: tag %s in %.*s: %zu, not %zu", variants[v].name, tags[t],
                             (int)len, text + shift, variants[v].find(pattern, text + shift, len),
                             want);
        }
    }
}

/* The only occurrence, at every offset of spans of many lengths, as long as they fit exactly. */
static void test_every_offset(void **state)
{
    ssi_scan_variant variants[SSI_SCAN_VARIANTS];
    size_t n = ssi_scan_variants(variants);

    for (size_t t = 0; t < TAGS; t++) {
        size_t tag_len = strlen(tags[t]);
        ssi_pattern *pattern = ssi_pattern_make(*state, tags[t], tag_len);
        for (size_t len = tag_len; len < tag_len + 300; len += len < 150 ? 1 : 29) {
            char *text = malloc(len); /* exactly, for the sanitizer */
            for (size_t at = 0; at + tag_len <= len; at++) {
                memset(text, '.', len);
                memcpy(text + at, tags[t], tag_len);
                for (size_t v = 0; v < n; v++)
                    assert_int_equal(variants[v].find(pattern, text, len), at);
            }
            memset(text, '.', len);
            for (size_t v = 0; v < n; v++)
                assert_int_equal(variants[v].find(pattern, text, len), len);
            free(text);
        }
    }
}

/* All hits one after the other, not overlapping. */
static size_t naive_hits(const ssi_pattern *pattern, const char *text, size_t len, size_t *hits)
{
    size_t n = 0, at = 0, found;

    while ((found = ssi_find_naive(pattern, text + at, len - at)) < len - at) {
        hits[n++] = at + found;
        at += found + pattern->len;
    }
    return n;
}

/* Bytes at the end of the text that may begin a tag, after the last hit. */
static size_t naive_held(const ssi_pattern *pattern, const char *text, size_t from, size_t len)
{
    size_t held = len - from < pattern->len ? len - from : pattern->len - 1;

    while (memcmp(text + len - held, pattern->bytes, held))
        held--;
    return held;
}

/* Feeds the text cut after each of the offsets in cuts (ascending, the last one is its length), and
 * compares with the naive search. */
static void check_feed(const ssi_pattern *pattern, const char *text, const size_t *cuts,
                       size_t n_cuts)
{
    static size_t want[HITS_MAX];
    ssi_scan_state scan = {0};
    ssi_scan_hit hit;
    size_t begin = 0, n = 0, at, from = 0, total = cuts[n_cuts - 1];
    size_t n_want = naive_hits(pattern, text, total, want);
    char *span;

    for (size_t i = 0; i < n_cuts; begin = cuts[i++]) {
        at = 0;
        span = malloc(cuts[i] - begin + 1);
        memcpy(span, text + begin, cuts[i] - begin);
        while (ssi_scan_feed(pattern, &scan, span + at, cuts[i] - begin - at, &hit)) {
            assert_true(n < n_want);
            assert_true(hit.before == 0 || (hit.start == 0 && at == 0));
            assert_int_equal(begin + at + hit.start - hit.before, want[n]);
            assert_int_equal(begin + at + hit.end, want[n] + pattern->len);
            assert_int_equal(scan.held, 0);
            at += hit.end;
            from = want[n++] + pattern->len;
        }
        assert_int_equal(scan.held, naive_held(pattern, text, from, cuts[i]));
        free(span);
    }
    assert_int_equal(n, n_want);
}

static void test_every_cut_in_two_and_three(void **state)
{
    char text[60];
    size_t cuts[3];

    for (size_t t = 0; t < TAGS; t++) {
        ssi_pattern *pattern = ssi_pattern_make(*state, tags[t], strlen(tags[t]));
        for (unsigned round = 0; round < 8; round++) {
            size_t len = random_below(sizeof(text));
            random_text(text, len, tags[t]);
            for (size_t a = 0; a <= len; a++) {
                for (size_t b = a; b <= len; b++) {
                    cuts[0] = a, cuts[1] = b, cuts[2] = len;
                    check_feed(pattern, text, cuts, 3);
                }
            }
        }
    }
}

static void test_single_bytes_and_random_cuts(void **state)
{
    static char text[TEXT_MAX];
    static size_t cuts[2 * TEXT_MAX + 1];

    for (size_t t = 0; t < TAGS; t++) {
        ssi_pattern *pattern = ssi_pattern_make(*state, tags[t], strlen(tags[t]));
        for (unsigned round = 0; round < 120; round++) {
            size_t len = random_below(TEXT_MAX), n = 0;
            unsigned largest = round % 4 ? 1 + random_below(200) : 1;
            random_text(text, len, tags[t]);
            for (size_t at = 0; at < len; cuts[n++] = at) {
                if (random_below(8) == 0 && n < TEXT_MAX)
                    cuts[n++] = at; /* an empty span */
                at += 1 + random_below(largest);
                at = at < len ? at : len;
            }
            cuts[n++] = len;
            check_feed(pattern, text, cuts, n);
        }
    }
}

/* A tag that begins in one span, goes through others, and ends in a later one. */
static void test_before_counts_bytes_of_earlier_spans(void **state)
{
    ssi_pattern *pattern = ssi_pattern_make(*state, "<!--#", 5);
    ssi_scan_state scan = {0};
    ssi_scan_hit hit;

    assert_false(ssi_scan_feed(pattern, &scan, "text<!", 6, &hit));
    assert_int_equal(scan.held, 2);
    assert_false(ssi_scan_feed(pattern, &scan, "", 0, &hit));
    assert_int_equal(scan.held, 2);
    assert_false(ssi_scan_feed(pattern, &scan, "-", 1, &hit));
    assert_int_equal(scan.held, 3);
    assert_true(ssi_scan_feed(pattern, &scan, "-#echo", 6, &hit));
    assert_int_equal(hit.before, 3);
    assert_int_equal(hit.start, 0);
    assert_int_equal(hit.end, 2);
    assert_false(ssi_scan_feed(pattern, &scan, "echo", 4, &hit));
    assert_int_equal(scan.held, 0);
    assert_false(ssi_scan_feed(pattern, &scan, "<!-", 3, &hit));
    assert_false(ssi_scan_feed(pattern, &scan, "x", 1, &hit));
    assert_int_equal(scan.held, 0);
    assert_false(ssi_scan_feed(pattern, &scan, "<!-", 3, &hit));
    assert_true(ssi_scan_feed(pattern, &scan, "<<!--#", 6, &hit));
    assert_int_equal(hit.before, 0);
    assert_int_equal(hit.start, 1);
    assert_int_equal(hit.end, 6);
}

/* Bytes that may be any, also NUL and those above 127. */
static void test_binary_tag(void **state)
{
    static const char tag[] = {'\0', '\xff', '\0', '\x80'};
    ssi_scan_variant variants[SSI_SCAN_VARIANTS];
    ssi_pattern *pattern = ssi_pattern_make(*state, tag, sizeof(tag));
    size_t n = ssi_scan_variants(variants);
    char text[400];

    for (size_t at = 0; at + sizeof(tag) <= sizeof(text); at++) {
        for (size_t i = 0; i < sizeof(text); i++)
            text[i] = i & 1 ? '\xff' : '\0';
        memcpy(text + at, tag, sizeof(tag));
        for (size_t v = 0; v < n; v++)
            assert_int_equal(variants[v].find(pattern, text, sizeof(text)), at);
    }
}

static int make_pool(void **state)
{
    apr_pool_t *pool;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    *state = pool;
    return 0;
}

static int destroy_pool(void **state)
{
    apr_pool_destroy(*state);
    apr_terminate();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants_agree),
        cmocka_unit_test(test_every_offset),
        cmocka_unit_test(test_every_cut_in_two_and_three),
        cmocka_unit_test(test_single_bytes_and_random_cuts),
        cmocka_unit_test(test_before_counts_bytes_of_earlier_spans),
        cmocka_unit_test(test_binary_tag),
    };

    return cmocka_run_group_tests(tests, make_pool, destroy_pool);
}
