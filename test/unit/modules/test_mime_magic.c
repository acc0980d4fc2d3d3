/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "magic_private.h"
#include "apr_general.h"
#include "apr_strings.h"

#define FILL "................................................................................"

static apr_pool_t *pool;

static int set_up(void **state)
{
    (void)state;
    return apr_initialize() || apr_pool_create(&pool, NULL);
}

/* The text of a file by these lines; NULL: no rule holds. */
static const char *told(const char *lines, const char *bytes, apr_size_t size)
{
    apr_array_header_t *rules = apr_array_make(pool, 4, sizeof(magic_rule));
    apr_array_header_t *faults = apr_array_make(pool, 4, sizeof(const char *));
    magic_result *result = apr_palloc(pool, sizeof *result);
    char *rest = apr_pstrdup(pool, lines), *line;

    while ((line = strsep(&rest, "\n")))
        assert_true(magic_parse(pool, line, apr_array_push(rules), faults));
    assert_int_equal(faults->nelts, 0);
    magic_begin(result);
    return magic_match(rules, (const unsigned char *)bytes, size, result) ? result->text : NULL;
}

#define TOLD(lines, bytes) told(lines, bytes FILL, sizeof(bytes FILL))

static void test_numbers(void **state)
{
    (void)state;
    assert_string_equal(TOLD("0 belong 0x01020304 a/b", "\1\2\3\4"), "a/b");
    assert_string_equal(TOLD("0 lelong 0x04030201 a/b", "\1\2\3\4"), "a/b");
    assert_null(
        TOLD("0 belong 0x81020304 a/b", "\x81\2\3\4")); /* a number with a sign, as with Apache */
    assert_string_equal(TOLD("0 beshort&0xfff0 0x0120 a/%x", "\1\x2f"), "a/120");
    assert_string_equal(TOLD("0 byte <0 a/%d", "\x81"), "a/-127");
    assert_string_equal(TOLD("0 ubyte >0x80 a/%d", "\x81"), "a/129");
    assert_string_equal(TOLD("1 byte &6 a/b", "\0\7"), "a/b");
    assert_null(TOLD("1 byte ^6 a/b", "\0\7"));
    assert_string_equal(TOLD("0 byte !1 a/b", "\0"), "a/b");
    assert_string_equal(TOLD("0 bedate x %s", "\0\0\0\0"), "Thu Jan 01 00:00:00 1970");
}

static void test_strings(void **state)
{
    (void)state;
    assert_string_equal(TOLD("0 string \\x41\\102\\t a/%s", "AB\tx"), "a/AB\t");
    assert_string_equal(TOLD("0 string >A a/%s", "Bcd\nef"), "a/Bcd");
    assert_string_equal(TOLD("0 string a\\ b a/b", "a b"), "a/b");
    assert_null(TOLD("0 string a\\0b a/b", "a\1b"));
    assert_string_equal(told("0 string a a/b", "a" FILL, MAGIC_VALUE), "a/b");
    assert_null(told("0 string a a/b", "a" FILL, MAGIC_VALUE - 1));
    assert_null(told("-1 string a a/b", "a" FILL, MAGIC_VALUE));
}

static void test_rules_below(void **state)
{
    static const char lines[] =
        "0 string a\n>1 string b x/y\n>>2 string c \\b;z\n>>2 string d enc\n"
        ">1 string c x/z\n0 string ab no";

    (void)state;
    assert_string_equal(TOLD(lines, "abc"), "x/y;z");
    assert_string_equal(TOLD(lines, "abd"), "x/y enc");
    assert_string_equal(TOLD(lines, "acc"), "x/z");
    assert_string_equal(TOLD(lines, "ax"), ""); /* it held, without a text */
    assert_null(TOLD(lines, "x"));
    assert_string_equal(TOLD("0 byte !9\n>(0.b+1) string c a/b", "\1xc"), "a/b");
    assert_string_equal(TOLD("0 byte !9\n>(0.b+1) string c a/b", "\xff"), "");
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(TOLD("0 byte x a/%d%d", "1"), "a/%d%d");
    assert_string_equal(TOLD("0 byte x a/%s", "1"), "a/%s");
    assert_string_equal(TOLD("0 string 1 a/%d", "1"), "a/%d");
    assert_string_equal(TOLD("0 byte x a/%n", "1"), "a/%n");
    assert_string_equal(TOLD("0 byte x a/%*d", "1"), "a/%*d");
    assert_string_equal(TOLD("0 byte x a/%%", "1"), "a/%");
    assert_string_equal(TOLD("0 byte x a/%lx", "1"), "a/31");
    assert_int_equal(strlen(TOLD("0 byte x " FILL, "1")), MAGIC_TEXT - 1);
    assert_int_equal(strlen(TOLD("0 byte x %9999d", "1")), MAGIC_RESULT - 1);
    assert_int_equal(strlen(TOLD("0 byte x %9999d\n>0 byte x a/b", "1")), MAGIC_RESULT - 1);
}

static void test_what_a_text_says(void **state)
{
    static const struct {
        const char *text, *type, *encoding;
    } cases[] = {
        {"a/b", "a/b", NULL},
        {" A/B\tGzip x", "a/b", "gzip"},
        {"a/b/c d/e", "a/b/c", "d/e"},
        {"a", NULL, NULL},
        {"/b", NULL, NULL},
        {"a /b", NULL, NULL},
        {"", NULL, NULL},
        {"a/", "a/", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        magic_said said;

        assert_int_equal(magic_say(pool, cases[i].text, &said), cases[i].type != NULL);
        if (!cases[i].type)
            continue;
        assert_string_equal(said.type, cases[i].type);
        if (cases[i].encoding)
            assert_string_equal(said.encoding, cases[i].encoding);
        else
            assert_null(said.encoding);
    }
}

/* Codes of nine bits, of which the third is the one that it makes itself: "a", "b", "ab", then "aba". */
static void test_unpack(void **state)
{
    static const unsigned char in[] = {0x1f, 0x9d, 0x90, 0x61, 0xc4, 0x04, 0x1c, 0x08};
    static const unsigned char wrong[] = {0x1f, 0x9d, 0x90, 0xff, 0xff};
    unsigned char out[MAGIC_BYTES];

    (void)state;
    assert_string_equal(magic_encoding(in, sizeof in), "x-compress");
    assert_int_equal(magic_unpack(pool, in, sizeof in, out), 7);
    assert_memory_equal(out, "abababa", 7);
    for (size_t i = 3; i < sizeof in; i++)
        assert_true(magic_unpack(pool, in, i, out) <= 7);
    assert_int_equal(magic_unpack(pool, wrong, sizeof wrong, out), 0);
    assert_null(magic_encoding((const unsigned char *)"\037\213", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),          cmocka_unit_test(test_strings),
        cmocka_unit_test(test_rules_below),      cmocka_unit_test(test_texts),
        cmocka_unit_test(test_what_a_text_says), cmocka_unit_test(test_unpack),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
