/* SPDX-License-Identifier: Apache-2.0 */
/* Internal redirects: error documents, indexes and fallbacks, and what they know of the request before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "test_site.h"

static void check(const char *path, const char *fields, const char *status, const char *body)
{
    for (int i = 0; i < 3; i++) {
        const char *answer = site_get(path, fields), *at = strstr(answer, "\r\n\r\n");

        if (strncmp(answer + 9, status, 3) != 0 || !at || !strstr(at, body))
            fail_msg("%s: %s with \"%s\" was expected: %s", path, status, body, answer);
    }
}

/* Variables of the first request are called REDIRECT_. */
static void test_documents(void **state)
{
    check("/none?a=b", "", "404", "[404,/none,a=b,GET,set,/error.shtml,/none?a=b]");
    check("/none/far", "", "404", "[404,/none/far,(none),GET,set,/error.shtml,/none/far]");
    check("/gone", "", "410", "[410,/gone,");
    check("/plain/none", "", "404", "no such page");
}

/* That of an error document is not there: the first error is told, and the second one. */
static void test_documents_that_lack(void **state)
{
    check("/lost/x", "", "404", "The page that is meant for this error could not be shown.");
}

static void test_indexes(void **state)
{
    check("/folder/", "", "200",
          "[(none),(none),(none),(none),(none),/folder/index.shtml,/folder/]");
    check("/folder/?q", "", "200",
          "[(none),(none),(none),(none),(none),/folder/index.shtml,/folder/?q]");
    check("/front/any/thing", "", "200",
          "[(none),(none),(none),(none),(none),/error.shtml,/front/any/thing]");
}

/* Filters of the first request are not those of the page that takes its place. */
static void test_filters(void **state)
{
    check("/none.up", "", "404", "[404,/none.up,");
    check("/there.up", "", "200", "THERE");
}

static void test_loops(void **state)
{
    check("/loop/x", "", "500", "Internal Server Error");
}

/* A HEAD stays one, and a POST becomes a GET of the document. */
static void test_methods(void **state)
{
    const char *answer = site_ask("HEAD /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

    assert_memory_equal(answer + 9, "404", 3);
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
    answer = site_ask("POST /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
                      "3\r\n\r\nabc");
    assert_non_null(strstr(answer, "[404,/none,(none),POST,"));
}

static void make_folder(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", test_dir, name);
    assert_return_code(mkdir(path, 0755), 0);
}

static int up(void **state)
{
    static const char page[] =
        "<!--#config echomsg=\"(none)\" -->[<!--#echo var=\"REDIRECT_STATUS\" -->,<!--#echo "
        "var=\"REDIRECT_URL\" -->,<!--#echo var=\"REDIRECT_QUERY_STRING\" -->,<!--#echo "
        "var=\"REDIRECT_REQUEST_METHOD\" -->,<!--#echo var=\"REDIRECT_MINE\" -->,<!--#echo "
        "var=\"DOCUMENT_URI\" -->,<!--#echo var=\"REQUEST_URI\" -->]";

    site_up(
        "AddOutputFilter INCLUDES .shtml\nOptions +Includes\nAddType text/html .shtml\n"
        "AddType text/html .up\nSetEnvIf Request_URI . MINE=set\n"
        "ErrorDocument 404 /error.shtml\nErrorDocument 410 /error.shtml\n"
        "Redirect gone /gone\nDirectoryIndex none.html index.shtml\n"
        "<Location /plain>\nErrorDocument 404 \"no such page\"\n</Location>\n"
        "<Location /lost>\nErrorDocument 404 /lost/document\n</Location>\n"
        "<Location /front>\nFallbackResource /error.shtml\n</Location>\n"
        "<FilesMatch \"\\.up$\">\nSetOutputFilter SUBSTITUTE\nSubstitute s/there/THERE/\n"
        "</FilesMatch>\n"
        "<Directory /tmp/*/loop>\nRewriteEngine On\nRewriteRule ^(.*) /loop/x$1\n</Directory>\n");
    make_folder("folder");
    make_folder("loop");
    site_file("error.shtml", page);
    site_file("folder/index.shtml", page);
    site_file("there.up", "there");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SITE_TEST(test_documents), SITE_TEST(test_documents_that_lack),
        SITE_TEST(test_indexes),   SITE_TEST(test_filters),
        SITE_TEST(test_loops),     SITE_TEST(test_methods)};

    return cmocka_run_group_tests(tests, up, test_server_down);
}
