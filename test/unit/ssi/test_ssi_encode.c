/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings and their chains; entities. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_pool.h"
#include "ssi_private.h"

static void test_encode(void **state)
{
    static const char in[] = "a b&c<>'+%20/=?\"";
    static const struct {
        const char *chain, *out;
    } cases[] = {
        {"none", in},
        {"", in},
        {NULL, in},
        {"URL", "a%20b&c%3c%3e'+%2520/=%3f%22"},
        {"urlencoded", "a+b%26c%3c%3e%27%2b%2520%2f%3d%3f%22"},
        {"entity", "a b&amp;c&lt;&gt;'+%20/=?&quot;"},
        {"base64", "YSBiJmM8PicrJTIwLz0/Ig=="},
        {"entity, none\turl", "a%20b&amp;c&lt;&gt;'+%2520/=%3f&quot;"},
    };
    const char *bad = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ssi_encode(test_pool, cases[i].chain, in, &bad), cases[i].out);
    assert_null(bad);
    assert_null(ssi_encode(test_pool, "url,bad;x", in, &bad));
    assert_string_equal(bad, "bad;x");
}

static void test_decode(void **state)
{
    static const struct {
        const char *chain, *in, *out;
    } cases[] = {
        {"url", "%41+b%2zz", "A+b%2zz"},       {"urlencoded", "%41+b", "A b"},
        {"base64", "YSUyMGI=", "a%20b"},       {"base64,url", "YSUyMGI=", "a b"},
        {"entity", "&lt;&amp;amp;", "<&amp;"}, {"none", "%41", "%41"},
    };
    const char *bad = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ssi_decode(test_pool, cases[i].chain, cases[i].in, &bad), cases[i].out);
    assert_null(ssi_decode(test_pool, "rot13", "x", &bad));
    assert_string_equal(bad, "rot13");
}

static void test_entities(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"&lt;&gt;&amp;&quot;", "<>&\""},
        {"&eacute;&Uuml;&yuml;", "\351\334\377"},
        {"&#65;&#9;&#10;&#233;", "A\t\n\351"},
        {"a&#7;b&#160;c&#256;d&#x41;e&#99999999999;f&#65x;g", "abcdefg"},
        {"&nope;&nbsp;&longername;", "&nope;&nbsp;&longername;"},
        {"&lt", "&lt"},
        {"&", "&"},
        {"&;", "&;"},
        {"&&lt;", "&<"},
        {"?a&b;#top", "?a&b;#top"}, /* it ended the process */
        {"&;#65;", "&;#65;"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ssi_decode_entities(test_pool, cases[i].in), cases[i].out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_entities),
    };

    return cmocka_run_group_tests(tests, test_pool_setup, test_pool_teardown);
}
