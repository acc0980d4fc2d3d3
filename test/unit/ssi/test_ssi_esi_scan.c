/* SPDX-License-Identifier: Apache-2.0 */
/* Edge Side Includes: which pieces a document has; what is wrong is text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "ssi_esi.h"

static apr_pool_t *pool;

static int setup(void **state)
{
    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    apr_pool_destroy(pool);
    apr_terminate();
    return 0;
}

/* Text as it is, {src|alt|+} for an include, ?(tag) for what means nothing. */
static const char *describe(const char *text, size_t len)
{
    const char *copy = apr_pmemdup(pool, text, len + 1), *out = "";
    ssi_esi_scan scan = {.at = copy, .end = copy + len};
    ssi_esi_piece piece;

    while (ssi_esi_next(&scan, &piece)) {
        const char *is = apr_pstrmemdup(pool, piece.at, piece.len);

        assert_true(piece.len > 0 && piece.at >= copy && piece.at + piece.len <= copy + len);
        if (piece.kind == SSI_ESI_INCLUDE)
            is = apr_psprintf(pool, "{%.*s|%.*s%s}", (int)piece.src.len, piece.src.at,
                              (int)piece.alt.len, piece.alt.at ? piece.alt.at : "",
                              piece.goes_on ? "|+" : "");
        else if (piece.kind == SSI_ESI_UNKNOWN)
            is = apr_psprintf(pool, "?(%s)", is);
        out = apr_pstrcat(pool, out, is, NULL);
    }
    return out;
}

static void test_pieces(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"text", "text"},
        {"<esi:include src=\"/a\"/>", "{/a|}"},
        {"x<esi:include src='/a' alt = \"/b\" onerror=\"continue\" />y", "x{/a|/b|+}y"},
        {"<esi:include src=\"/a\"></esi:include>y", "{/a|}y"},
        {"<esi:include src=\"/a\">y</esi:include>", "{/a|}y</esi:include>"},
        {"<esi:include src=\"/a\" onerror=\"stop\"/>", "{/a|}"},
        {"<esi:include other=\"x\" src=\"/a\"/>", "{/a|}"},
        {"<esi:include/>", "?(<esi:include/>)"},
        {"<esi:include src=\"\"/>", "?(<esi:include src=\"\"/>)"},
        {"<esi:include src=\"/a", "?(<esi:)include src=\"/a"},
        {"<esi:include src=/a/>", "?(<esi:)include src=/a/>"},
        {"<esi:include src=\"/a\"alt=\"/b\"/>", "?(<esi:)include src=\"/a\"alt=\"/b\"/>"},
        {"<esi:>", "?(<esi:)>"},
        {"a<esi:comment text=\"x\"/>b", "ab"},
        {"a<esi:comment text=\"x/>b\"/>c", "ac"},
        {"a<esi:remove>b</esi:remove>c", "ac"},
        {"a<esi:remove/>c", "ac"},
        {"a<esi:remove>b<esi:remove>c", "a?(<esi:remove>)b?(<esi:remove>)c"},
        {"a<esi:vars>b</esi:vars>", "a?(<esi:vars>)b</esi:vars>"},
        {"a<!--esi b-->c", "a bc"},
        {"a<!--esib-->c", "a<!--esib-->c"},
        {"a<!--esi b", "a<!--esi b"},
        {"a<!--esi b<!--esi c-->d-->e", "a b<!--esi cd-->e"},
        {"a<!--esi <esi:remove>b--></esi:remove>c", "a c"},
        {"<!--esi <esi:include src=\"/a\"/>--><!--esi <esi:include src=\"/b\"/>-->",
         " {/a|} {/b|}"},
        {"<!-- <esi:include src=\"/a\"/> -->", "<!-- {/a|} -->"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(describe(cases[i][0], strlen(cases[i][0])), cases[i][1]);
}

/* All that is read lies within the document, wherever it ends. */
static void test_cut_at_every_byte(void **state)
{
    static const char text[] = "a<!--esi <esi:include src=\"/a\" alt='/b' onerror=\"continue\"/>-->"
                               "<esi:remove>b</esi:remove><esi:comment text=\"c\"/><esi:try>d";

    (void)state;
    for (size_t len = 0; len < sizeof text; len++)
        describe(text, len);
    assert_string_equal(describe(text, sizeof text - 1), "a {/a|/b|+}?(<esi:try>)d");
}

static void test_long_tags_are_text(void **state)
{
    char *text = apr_palloc(pool, SSI_ESI_TAG_MOST + 64);
    const size_t room = SSI_ESI_TAG_MOST - strlen("<esi:include src=\"\"/>");

    (void)state;
    for (size_t more = 0; more < 2; more++) {
        char *at = stpcpy(text, "<esi:include src=\"");

        memset(at, 'a', room + more);
        strcpy(at + room + more, "\"/>");
        assert_int_equal(describe(text, strlen(text))[0], more ? '?' : '{');
    }
}

static const char *value_of(const char *text)
{
    const ssi_esi_value value = {text, strlen(text)};

    return ssi_esi_text(pool, &value);
}

static void test_values(void **state)
{
    (void)state;
    assert_string_equal(value_of("/a?b=1&amp;c=&lt;&quot;&apos;&gt;&amp;lt;&x;"),
                        "/a?b=1&c=<\"'>&lt;&x;");
    assert_null(value_of(""));
    assert_null(value_of("/a\nb"));
    assert_null(value_of("/a\x7f"));
}

static void test_surrogate_control(void **state)
{
    (void)state;
    assert_true(ssi_esi_is_announced("content=\"ESI/1.0\""));
    assert_true(ssi_esi_is_announced("max-age=1, Content=\"X ESI/1.0 Y\""));
    assert_false(ssi_esi_is_announced(NULL));
    assert_false(ssi_esi_is_announced(""));
    assert_false(ssi_esi_is_announced("content=\"ESI/1.01\""));
    assert_false(ssi_esi_is_announced("content=\"ESI/1.0"));
    assert_false(ssi_esi_is_announced("xcontent=\"ESI/1.0\""));
    assert_false(ssi_esi_is_announced("content"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_long_tags_are_text),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_surrogate_control),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
