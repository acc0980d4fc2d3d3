/* SPDX-License-Identifier: Apache-2.0 */
/* Pages with includes, as clients get them: each once by the full way and some more times from memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "test_site.h"

typedef struct page_case {
    const char *page, *body;
} page_case;

static char large[1501];

static void check(const page_case *c, const char *query, const char *fields)
{
    char path[64];

    site_file("page.shtml", c->page);
    snprintf(path, sizeof path, "/page.shtml%s", query);
    for (int i = 0; i < 3; i++) {
        const char *body = site_body(path, fields);

        if (strcmp(body, c->body) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", c->page, body, c->body);
    }
}

#define CHECK(cases)                                             \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) \
    check(&(cases)[i], "?q=1&r", "X-Mine: mine\r\nUser-Agent: me\r\n")

static void test_variables(void **state)
{
    static const page_case cases[] = {
        {"<!--#echo var=\"DOCUMENT_NAME\" -->", "page.shtml"},
        {"<!--#echo var=\"DOCUMENT_URI\" -->", "/page.shtml"},
        {"<!--#echo var=\"QUERY_STRING\" -->", "q=1&amp;r"},
        {"<!--#echo encoding=\"none\" var=\"QUERY_STRING_UNESCAPED\" -->", "q=1\\&r"},
        {"<!--#echo var=\"HTTP_X_MINE\" -->", "mine"},
        {"<!--#echo var=\"NONE\" -->", "(none)"},
        {"<!--#set var=\"a\" value=\"1\" --><!--#set var=\"b\" value=\"${a}2$a\" -->"
         "<!--#echo var=\"b\" -->",
         "121"},
        {"<!--#set var=\"a\" value=\"x$HTTP_USER_AGENT-\\$b\" --><!--#echo var=\"a\" -->",
         "xme-$b"},
        {"<!--#set var=\"a\" value=\"<>\" --><!--#echo var=\"a\" --><!--#echo encoding=\"none\" "
         "var=\"a\" -->",
         "&lt;&gt;<>"},
        {"<!--#if expr=\"$QUERY_STRING = /q=(.)&(r)/\" --><!--#echo var=\"1\" -->,<!--#echo "
         "var=\"2\" --><!--#endif -->",
         "1,r"},
    };

    CHECK(cases);
}

static void test_conditions(void **state)
{
    static const page_case cases[] = {
        {"<!--#if expr=\"$HTTP_X_MINE = mine\" -->a<!--#else -->b<!--#endif -->c", "ac"},
        {"<!--#if expr=\"$HTTP_X_MINE = other\" -->a<!--#else -->b<!--#endif -->c", "bc"},
        {"<!--#if expr=\"'a' = 'b'\" -->a<!--#elif expr=\"'a' = 'a'\" -->b<!--#else -->c"
         "<!--#endif -->",
         "b"},
        {"<!--#if expr=\"'a' = 'b'\" -->a<!--#if expr=\"'a' = 'a'\" -->b<!--#else -->c<!--#endif "
         "-->d<!--#endif -->e",
         "e"},
        {"<!--#if expr=\"'a' = 'a'\" -->a<!--#if expr=\"'a' = 'b'\" -->b<!--#elif expr=\"'a' = "
         "'a'\" -->c<!--#endif -->d<!--#else -->e<!--#endif -->f",
         "acdf"},
        {"<!--#if expr=\"'a' = 'b'\" --><!--#set var=\"x\" value=\"1\" --><!--#include "
         "virtual=\"/part.html\" --><!--#endif --><!--#echo var=\"x\" -->",
         "(none)"},
    };

    CHECK(cases);
}

static void test_includes(void **state)
{
    static const page_case cases[] = {
        {"a<!--#include virtual=\"/part.html\" -->b", "apartb"},
        {"a<!--#include file=\"part.html\" -->b", "apartb"},
        {"a<!--#include virtual=\"part.html\" --><!--#include virtual=\"/inner.shtml\" -->",
         "apart[page.shtml,/page.shtml]"},
        {"a<!--#include virtual=\"/none.html\" -->b", "a<error>b"},
        {"a<!--#include file=\"/part.html\" -->b", "a<error>b"},
        {"a<!--#include file=\"../part.html\" -->b", "a<error>b"},
        {"a<!--#include virtual=\"/none.html\" onerror=\"/part.html\" -->b", "apartb"},
    };

    CHECK(cases);
}

static void test_files(void **state)
{
    static const page_case cases[] = {
        {"<!--#fsize file=\"part.html\" -->", "  4 "},
        {"<!--#config sizefmt=\"bytes\" --><!--#fsize virtual=\"/large.html\" -->", "1,500"},
        {"<!--#config sizefmt=\"abbrev\" --><!--#fsize virtual=\"/large.html\" -->", "1.5K"},
        {"<!--#fsize file=\"none\" -->", "<error>"},
        {"<!--#config errmsg=\"oops\" --><!--#fsize file=\"none\" -->", "oops"},
    };

    CHECK(cases);
}

/* What is no element is text, and what is wrong is told in its place. */
static void test_wrong(void **state)
{
    static const page_case cases[] = {
        {"a <!-- b --> <!-#echo <!--", "a <!-- b --> <!-#echo <!--"},
        {"a<!--#echo", "a<error>"},
        {"<!--#nope -->", "<error>"},
        {"<!--#echo -->", "<error>"},
        {"<!--#echo nope=\"a\" -->", "<error>"},
        {"<!--#config nope=\"a\" -->", "<error>"},
        {"<!--#exec cmd=\"echo a\" -->", "<error>"},
    };

    CHECK(cases);
}

/* Of a folder where commands may run. */
static void test_commands(void **state)
{
    static const char page[] = "a<!--#exec cmd=\"echo b $QUERY_STRING\" -->c";

    site_file("commands/page.shtml", page);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(site_body("/commands/page.shtml?q", ""), "ab q\nc");
        assert_string_equal(site_body("/commands/page.shtml?r", ""), "ab r\nc");
    }
}

/* Text, variables and parts that are longer than a block of output. */
static void test_long(void **state)
{
    static char page[40000], body[170000];
    size_t n = 0, m = 0;

    for (int i = 0; i < 100; i++) {
        n += (size_t)sprintf(page + n, "%d<!--#include virtual=\"/large.html\" -->", i);
        m += (size_t)sprintf(body + m, "%d%s", i, large);
        n += (size_t)sprintf(page + n, "<!--#echo var=\"HTTP_X_LONG\" -->%*d", 100, i);
        m += (size_t)sprintf(body + m, "%s%*d", "0123456789", 100, i);
    }
    check(&(page_case){page, body}, "", "X-Long: 0123456789\r\n");
}

/* Parts by ESI are those of the same site. */
static void test_esi(void **state)
{
    static const page_case cases[] = {
        {"a<esi:include src=\"/part.html\"/>b", "apartb"},
        {"a<esi:include src=\"http://localhost/part.html\"/>b", "apartb"},
        {"a<esi:include src=\"//localhost/part.html?x#y\"/>b", "apartb"},
        {"a<esi:include src=\"//other/part.html\" onerror=\"continue\"/>b", "ab"},
        {"a<esi:include src=\"http://other/part.html\" onerror=\"continue\"/>b", "ab"},
        {"a<esi:include src=\"///part.html\" onerror=\"continue\"/>b", "ab"},
        {"a<esi:include src=\"/none\" onerror=\"continue\"/>b", "ab"},
        {"a<esi:include src=\"/none\" alt=\"/part.html\"/>b", "apartb"},
        {"a<esi:remove>b</esi:remove>c<esi:comment text=\"d\"/><!--esi e-->", "ac e"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        site_file("esi/page.html", cases[i].page);
        for (int k = 0; k < 3; k++) {
            const char *body = site_body("/esi/page.html", "");

            if (strcmp(body, cases[i].body) != 0)
                fail_msg("%s: \"%s\", not \"%s\"", cases[i].page, body, cases[i].body);
        }
    }
}

static int up(void **state)
{
    char path[64];

    site_up(
        "Options +IncludesNOEXEC\nAddOutputFilter INCLUDES .shtml\nAddType text/html .shtml "
        ".html\nSSIErrorMsg <error>\nSSIUndefinedEcho (none)\n<Directory />\nSSILegacyExprParser "
        "on\n</Directory>\n<Location /commands>\nOptions +Includes\n</Location>\n"
        "<Location /esi>\nSSIEsi Always\nSetOutputFilter INCLUDES\n</Location>\n");
    snprintf(path, sizeof path, "%s/commands", test_dir);
    assert_return_code(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/esi", test_dir);
    assert_return_code(mkdir(path, 0755), 0);
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    site_file("part.html", "part");
    site_file("large.html", large);
    site_file("inner.shtml", "[<!--#echo var=\"DOCUMENT_NAME\" -->,<!--#echo "
                             "var=\"DOCUMENT_URI\" -->]");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {SITE_TEST(test_variables), SITE_TEST(test_conditions),
                                       SITE_TEST(test_includes),  SITE_TEST(test_files),
                                       SITE_TEST(test_wrong),     SITE_TEST(test_commands),
                                       SITE_TEST(test_long),      SITE_TEST(test_esi)};

    return cmocka_run_group_tests(tests, up, test_server_down);
}
