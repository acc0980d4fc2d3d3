/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language of Apache 2.2: trees and errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_pool.h"
#include "apr_strings.h"
#include "ssi_legacy.h"

static const char *tree(const legacy_node *node)
{
    static const char *const names[] = {"end", "str", "re", "()", ")", "!",  "-A", "&&",
                                        "||",  "=",   "!=", "<",  ">", "<=", ">="};

    if (!node)
        return "_";
    if (node->kind == LEGACY_STRING)
        return apr_pstrcat(test_pool, "'", node->text, "'", NULL);
    if (node->kind == LEGACY_REGEX)
        return apr_pstrcat(test_pool, "/", node->text, "/", NULL);
    if (!node->left)
        return apr_pstrcat(test_pool, names[node->kind], "(", tree(node->right), ")", NULL);
    return apr_pstrcat(test_pool, "(", tree(node->left), " ", names[node->kind], " ",
                       tree(node->right), ")", NULL);
}

static const char *parse(const char *text)
{
    const char *error;
    const legacy_node *node = legacy_parse(test_pool, text, &error);

    return error == LEGACY_E_OPEN    ? "E("
           : error == LEGACY_E_CLOSE ? "E)"
           : error                   ? "E"
                                     : tree(node);
}

static const struct {
    const char *text, *expected;
} cases[] = {
    {"", "_"},
    {"a", "'a'"},
    {"a   b", "'a b'"},
    {"'a   b'c", "'a   b c'"},
    {"a && b || c", "('a' && ('b' || 'c'))"},
    {"a || b && c", "('a' || ('b' && 'c'))"},
    {"(a && b) || c", "(()(('a' && 'b')) || 'c')"},
    {"a = b && c", "(('a' = 'b') && 'c')"},
    {"a && b = b", "('a' && ('b' = 'b'))"},
    {"a == b", "('a' = 'b')"},
    {"a=b", "('a' = 'b')"},
    {"a!=b", "('a' != 'b')"},
    {"a<=b", "('a' <= 'b')"},
    {"a = /x y/", "('a' = /x y/)"},
    {"a = /x\\/\\d/", "('a' = /x/d/)"},
    {"a = /x", "('a' = //)"},
    {"a = 'x", "('a' = '')"},
    {"a&b|c", "'a&b|c'"},
    {"a\\=b", "'a=b'"},
    {"a'b c", "'a'b c'"},
    {"!a && b", "(!('a') && 'b')"},
    {"!!", "!(!(_))"},
    {"!(a = b)", "!(()(('a' = 'b')))"},
    {"()", "()(_)"},
    {"-A /x y", "-A('/x y')"},
    {"-A", "-A(_)"},
    {"-A (a)", "-A(()('a'))"},
    {"a &&", "('a' && _)"},
    {"a =", "('a' = _)"},
    {"a = !b", "('a' = !('b'))"},
    {"! a = b", "E"},
    {"a ! b", "E"},
    {"a = b = c", "E"},
    {"(a) = b", "E"},
    {"(a) (b)", "E"},
    {"a (", "E"},
    {"a -A /x", "E"},
    {"-A /x = a", "E"},
    {"/x/", "E"},
    {"a < /x/", "E"},
    {"a = /x/ y", "E"},
    {"&& a", "E"},
    {"! && a", "E"},
    {"(a", "E("},
    {"!(", "E("},
    {"a && (", "E("},
    {"a)", "E)"},
    {"(a))", "E)"},
};

static void test_parse(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(parse(cases[i].text), cases[i].expected);
}

static void test_deep_is_an_error(void **state)
{
    char text[20001];

    memset(text, '(', 20000);
    text[20000] = '\0';
    assert_string_equal(parse(text), "E");
    memset(text, '!', 20000);
    assert_string_equal(parse(text), "E");
    for (int i = 0; i < 20000; i += 4)
        memcpy(text + i, "a&& ", 4);
    assert_string_equal(parse(text), "E");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_deep_is_an_error),
    };

    return cmocka_run_group_tests(tests, test_pool_setup, test_pool_teardown);
}
