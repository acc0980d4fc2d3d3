/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from memory are those of the full way: the same requests again and again, of which the first ones are not answered from
 * memory, and names that are new each time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "test_site.h"
#include "response_cache.h"

#define TIMES 8

static uint64_t hits(void)
{
    cache_figures figures;

    cache_figures_of(site_loop->cache, &figures);
    return figures.hits;
}

/* An answer without what may differ: the date, and the boundary of parts. */
static const char *plain(const char *answer)
{
    char *copy = apr_pstrdup(site_pool, answer), *at = strstr(copy, "Date: ");
    const char *mark = strstr(copy, "boundary=");

    if (at)
        memset(at + 6, '.', strcspn(at + 6, "\r"));
    if (mark) {
        const size_t len = strcspn(mark + 9, "\r");
        const char *text = apr_pstrmemdup(site_pool, mark + 9, len);

        for (at = copy; (at = strstr(at, text)) != NULL; at += len)
            memset(at, '.', len);
    }
    return copy;
}

static const char *filled(const char *format, int i)
{
    const char *at = strstr(format, "%d");

    return at ? apr_psprintf(site_pool, "%.*s%d%s", (int)(at - format), format, i, at + 2) : format;
}

/* Ask so often; each answer has @a part (with the number for %d), and they are all alike. */
static void check_alike(const char *request, const char *part)
{
    const char *first = NULL;

    for (int i = 0; i < TIMES; i++) {
        const char *answer = plain(site_ask(filled(request, 1000 + i)));

        if (!strstr(answer, filled(part, 1000 + i)))
            fail_msg("%d: %s: %s", i, request, answer);
        if (!first)
            first = answer;
        else if (!strstr(request, "%d") && strcmp(answer, first) != 0)
            fail_msg("%d: %s: \"%s\", not \"%s\"", i, request, answer, first);
        else if (strlen(answer) != strlen(first))
            fail_msg("%d: %s: \"%s\", beside \"%s\"", i, request, answer, first);
    }
}

/* And memory gave some of them. */
static void check(const char *request, const char *part)
{
    const uint64_t before = hits();

    check_alike(request, part);
    if (hits() == before)
        fail_msg("%s is never answered from memory", request);
}

#define GET(path, fields) \
    "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" fields "\r\n"

static void test_files(void **state)
{
    check(GET("/a.txt", ""), "HTTP/1.1 200 OK\r\n");
    check(GET("/a.txt", ""), "\r\nContent-Length: 26\r\n");
    check(GET("/a.txt", ""), "\r\n\r\nabcdefghijklmnopqrstuvwxyz");
    check("GET /a.txt HTTP/1.0\r\nHost: localhost\r\n\r\n", "\r\n\r\nabcdefghijklmnopqrstuvwxyz");
    check("HEAD /a.txt HTTP/1.0\r\nHost: localhost\r\n\r\n", "Content-Length: 26\r\n");
    check(GET("/empty.txt", ""), "Content-Length: 0\r\n");
    check(GET("/a.html", ""), "Content-Type: text/html; charset=utf-8\r\n");
    check(GET("/a.png", ""), "Content-Type: image/png\r\n");
    check(GET("/folder/", ""), "\r\n\r\nindex");
}

static void test_ranges(void **state)
{
    check(GET("/a.txt", "Range: bytes=1-3\r\n"), "Content-Range: bytes 1-3/26\r\n");
    check(GET("/a.txt", "Range: bytes=1-3\r\n"), "\r\n\r\nbcd");
    check(GET("/a.txt", "Range: bytes=-2\r\n"), "\r\n\r\nyz");
    check(GET("/a.txt", "Range: bytes=0-1,4-5\r\n"), "Content-range: bytes 4-5/26\r\n\r\nef\r\n");
    check(GET("/a.txt", "Range: bytes=0-0,2-2,4-4,6-6,8-8,10-10\r\n"),
          "Content-range: bytes 10-10/26\r\n\r\nk\r\n");
    check_alike(GET("/a.txt", "Range: bytes=26-\r\n"), "Content-Range: bytes */26\r\n");
    check(GET("/a.txt", "Range: lines=1-3\r\n"), "\r\n\r\nabcdefghijklmnopqrstuvwxyz");
}

static void test_conditions(void **state)
{
    check(GET("/a.txt", "If-None-Match: *\r\n"), "HTTP/1.1 304 Not Modified\r\n");
    check(GET("/a.txt", "If-None-Match: \"none\"\r\n"), "HTTP/1.1 200 OK\r\n");
    check(GET("/a.txt", "If-Modified-Since: Sun, 06 Nov 2005 08:49:37 GMT\r\n"), "HTTP/1.1 304 ");
}

/* One answer is for all names. */
static void test_names(void **state)
{
    check(GET("/none%d", ""), "HTTP/1.1 404 Not Found\r\n");
    check(GET("/none%d.txt", ""), "HTTP/1.1 404 Not Found\r\n");
    check(GET("/no/such/folder%d/x", ""), "HTTP/1.1 404 Not Found\r\n");
    check(GET("/refused/x%d", ""), "HTTP/1.1 403 Forbidden\r\n");
    check(GET("/gone/x%d", ""), "HTTP/1.1 410 Gone\r\n");
}

/* Redirects end with the name that was asked for, in the field and on the page. */
static void test_moved(void **state)
{
    check(GET("/old/x%d", ""), "\r\nLocation: http://localhost/new/x%d\r\n");
    check(GET("/old/x%d", ""), "<a href=\"http://localhost/new/x%d\">");
    check(GET("/old/x%d?a&b", ""), "\r\nLocation: http://localhost/new/x%d?a&b\r\n");
    check(GET("/old/x%d?a&b", ""), "<a href=\"http://localhost/new/x%d?a&amp;b\">");
    check(GET("/folder", ""), "\r\nLocation: http://localhost/folder/\r\n");
}

/* What a regular expression asks of names. */
static void test_matched(void **state)
{
    check(GET("/a.txt", "X-Ask: 1\r\n"), "\r\nX-Letter: yes\r\n");
    check(GET("/b.txt", "X-Ask: 1\r\n"), "\r\n\r\nb");
    assert_null(strstr(site_get("/b.txt", ""), "X-Letter"));
}

static void make_folder(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", test_dir, name);
    assert_return_code(mkdir(path, 0755), 0);
}

static int up(void **state)
{
    static const struct timespec then[2] = {{1000000000, 0}, {1000000000, 0}};
    static const char *const files[] = {"a.txt",
                                        "abcdefghijklmnopqrstuvwxyz",
                                        "b.txt",
                                        "b",
                                        "empty.txt",
                                        "",
                                        "a.png",
                                        "png",
                                        "a.html",
                                        "<p>",
                                        "folder/index.html",
                                        "index"};
    char path[128];

    site_up("AddType text/plain .txt\nAddType text/html .html\nAddType image/png "
            ".png\nAddDefaultCharset utf-8\n"
            "DirectoryIndex index.html\nRedirect /old http://localhost/new\nRedirect gone /gone\n"
            "<Directory /tmp/*/refused>\nRequire all denied\n</Directory>\n"
            "<FilesMatch \"^a\\.\">\nHeader set X-Letter yes\n</FilesMatch>\n");
    make_folder("folder");
    make_folder("refused");
    for (size_t i = 0; i < sizeof files / sizeof *files; i += 2) {
        site_file(files[i], files[i + 1]);
        snprintf(path, sizeof path, "%s/%s", test_dir, files[i]);
        assert_return_code(utimensat(AT_FDCWD, path, then, 0), 0); /* not just changed */
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {SITE_TEST(test_files),      SITE_TEST(test_ranges),
                                       SITE_TEST(test_conditions), SITE_TEST(test_names),
                                       SITE_TEST(test_moved),      SITE_TEST(test_matched)};

    return cmocka_run_group_tests(tests, up, test_server_down);
}
