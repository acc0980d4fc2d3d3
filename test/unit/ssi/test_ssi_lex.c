/* SPDX-License-Identifier: Apache-2.0 */
/* Directives: names, attributes, quotes, mistakes; the same result however the text is cut. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "ssi_private.h"

static apr_pool_t *pool;
static ssi_tags *tags, *pass;

static int setup(void **state)
{
    apr_initialize();
    apr_pool_create(&pool, NULL);
    tags = ssi_tags_make(pool, NULL, NULL);
    pass = ssi_tags_make(pool, NULL, NULL);
    pass->pass_unknown = 1;
    return 0;
}

static int teardown(void **state)
{
    apr_pool_destroy(pool);
    apr_terminate();
    return 0;
}

/* name|attr=value|attr|... then !n for each mistake, then #offset behind the end tag; "..." if it
 * does not end. */
static const char *describe(const ssi_tags *t, const char *text, apr_size_t cut)
{
    apr_size_t len = strlen(text);
    ssi_lexer lexer = {0};
    ssi_directive d = {0};
    const char *out;
    int done = cut < len && ssi_lex(&lexer, t, text, cut, pool);

    if (!done && !ssi_lex(&lexer, t, text, len, pool))
        return ssi_lex_is_text(&lexer, t) ? "text..." : "...";
    ssi_lex_take(&lexer, text, pool, &d);
    out = apr_pstrcat(pool, lexer.unknown ? "unknown:" : "", d.name, NULL);
    for (unsigned i = 0; i < d.args_n; i++)
        out = apr_pstrcat(pool, out, "|", d.args[i].name, d.args[i].value ? "=" : "",
                          d.args[i].value, NULL);
    for (const unsigned char *m = d.mistakes; m && *m; m++)
        out = apr_psprintf(pool, "%s!%d", out, *m);
    return apr_psprintf(pool, "%s#%" APR_SIZE_T_FMT, out, lexer.pos);
}

static const struct {
    const char *text, *expected;
} cases[] = {
    {"echo var=\"X\"-->", "echo|var=X#15"},
    {"ECHO VAR=\"X\" -->tail", "echo|var=X#16"},
    {"printenv-->", "printenv#11"},
    {"else\n-->", "else#8"},
    {"foo--bar -->", "foo--bar#12"},
    {"-->", "!1#3"},
    {" echo var=\"X\" -->", "|echo|var=X!1#17"},
    {"echo var = 'a b' x-->", "..."},
    {"echo var = 'a b' x -->", "echo|var=a b|x#22"},
    {"echo var=x-->", "..."},
    {"echo var=x-->y -->", "echo|var=x-->y#18"},
    {"echo var=`a`b=\"c\"-->", "echo|var=a|b=c#20"},
    {"echo \"x\" -->", "echo|=x!2#12"},
    {"echo =\"x\" -->", "echo|=x!3#13"},
    {"echo \"a-->\" 'b' -->", "echo|=a-->|=b!2!2#19"},
    {"set v=\"a\\\"b\\'c\\\\d\"-->", "set|v=a\"b\\'c\\\\d#21"},
    {"set v=\"a\\\\\"-->", "..."},
    {"set v=\"-->\"-->", "set|v=-->#14"},
    {"set v=\"a", "..."},
    {"set v=\"\\", "..."},
    {"set v -- > -->", "set|v|--|>#14"},
    {"", "..."},
};

static void test_lex(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t cut = 0; cut <= strlen(cases[i].text); cut++)
            assert_string_equal(describe(tags, cases[i].text, cut), cases[i].expected);
}

static const struct {
    const char *text, *expected;
} unknown[] = {
    {"storyblok# {\"x\": \"y\"}-->", "unknown:storyblok##24"},
    {" x-->", "unknown:#5"},
    {"-->", "unknown:#3"},
    {"echo var=\"-->\"-->", "echo|var=-->#17"},
    {"nope", "text..."},
    {"nope \"-", "text..."},
    {"echo \"-", "..."},
};

static void test_unknown_directives_pass(void **state)
{
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        for (size_t cut = 0; cut <= strlen(unknown[i].text); cut++)
            assert_string_equal(describe(pass, unknown[i].text, cut), unknown[i].expected);
}

/* "%>%>%>>" at the end of an attribute's place: the first two bytes begin no end tag after all. */
static void test_custom_end_tag(void **state)
{
    const ssi_tags *t = ssi_tags_make(pool, "<%", "%>%>>");

    for (size_t cut = 0; cut <= 19; cut++) {
        assert_string_equal(describe(t, "echo var=\"X\" %>%>>", cut), "echo|var=X#18");
        assert_string_equal(describe(t, "echo var=\"X\" %>x %>%>>", cut), "echo|var=X|%>x#22");
    }
}

/* Where the page ends first, what came of the end tag is no part of the name. */
static void test_a_cut_off_directive_has_a_name(void **state)
{
    static const char *const cut_off[] = {"Echo", "echo-", "echo--", "echo ", "echo var=\"X\" --"};

    for (size_t i = 0; i < sizeof cut_off / sizeof *cut_off; i++) {
        char *page = apr_pstrcat(pool, cut_off[i], "more", NULL);
        ssi_lexer lexer = {0};
        ssi_directive d = {0};

        assert_int_equal(ssi_lex(&lexer, tags, page, strlen(cut_off[i]), pool), 0);
        ssi_lex_take_unfinished(&lexer, page, pool, &d);
        assert_string_equal(d.name, "echo");
        assert_true(d.unfinished && !d.element);
    }
}

static void test_values_are_decoded(void **state)
{
    const char *text = "echo var=\"a&lt;b&amp;amp;&#65;&nope;\" -->";
    ssi_lexer lexer = {0};
    ssi_directive d = {0};

    assert_int_equal(ssi_lex(&lexer, tags, text, strlen(text), pool), 1);
    ssi_lex_take(&lexer, text, pool, &d);
    assert_string_equal(d.args[0].value, "a&lt;b&amp;amp;&#65;&nope;");
    assert_string_equal(d.args[0].decoded, "a<b&amp;A&nope;");
    assert_ptr_equal(d.element, ssi_element_find("echo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lex),
        cmocka_unit_test(test_unknown_directives_pass),
        cmocka_unit_test(test_custom_end_tag),
        cmocka_unit_test(test_a_cut_off_directive_has_a_name),
        cmocka_unit_test(test_values_are_decoded),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
