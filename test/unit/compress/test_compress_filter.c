/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed answers and their fields, and what takes the coding off again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_site.h"

#define LONG 300000
#define GZIP "Accept-Encoding: gzip\r\n"

static char long_text[LONG + 1];

static const char *head(const char *path, const char *fields)
{
    const char *answer = site_get(path, fields), *end = strstr(answer, "\r\n\r\n");

    assert_non_null(end);
    return apr_pstrmemdup(site_pool, answer, (apr_size_t)(end + 2 - answer));
}

static void check_has(const char *path, const char *fields, const char *field, int has)
{
    const char *got = head(path, fields);

    if (!!ap_strcasestr(got, field) != has)
        fail_msg("%s with %s should%s have %s: %s", path, fields, has ? "" : " not", field, got);
}

#define CODED "\r\nContent-Encoding: gzip\r\n"

static void test_fields(void **state)
{
    check_has("/long.txt", GZIP, CODED, 1);
    check_has("/long.txt", GZIP, "\r\nVary: Accept-Encoding\r\n", 1);
    check_has("/long.txt", GZIP, "-gzip\"\r\n", 1);
    check_has("/long.txt", GZIP, "\r\nContent-Length: 300000\r\n", 0);
    check_has("/long.txt", "", CODED, 0);
    check_has("/long.txt", "", "\r\nVary: Accept-Encoding\r\n", 1);
    check_has("/long.txt", "Accept-Encoding: gzip;q=0\r\n", CODED, 0);
    check_has("/long.txt", "Accept-Encoding: br, x-gzip\r\n", CODED, 1);
    check_has("/long.html", GZIP, CODED, 0);
    check_has("/none.txt", GZIP, "404 Not Found", 1);
    check_has("/long.txt", GZIP "Range: bytes=0-9\r\n", "\r\nContent-Range: bytes 0-9/300000\r\n",
              0);
}

/* What was compressed is kept under another name. */
static void keep_coded(const char *from, const char *name)
{
    const char *body = site_body(from, GZIP);
    const size_t len = site_seen_n - (size_t)(body - site_seen);
    char path[256];
    FILE *f;

    assert_memory_equal(body, "\x1f\x8b", 2);
    assert_in_range(len, 20, LONG / 20);
    snprintf(path, sizeof path, "%s/%s", test_dir, name);
    assert_non_null(f = fopen(path, "w"));
    assert_int_equal(fwrite(body, 1, len, f), len);
    fclose(f);
}

/* It is what it was, once the coding is taken off, which then nobody tells. */
static void test_there_and_back(void **state)
{
    keep_coded("/long.txt", "long.packed");
    keep_coded("/long.txt", "long.br.packed");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(site_body("/long.packed", GZIP), long_text);
        check_has("/long.packed", GZIP, "Content-Encoding", 0);
        check_has("/long.packed", GZIP, "\r\nContent-Length: 300000\r\n", 0);
        check_has("/long.br.packed", GZIP, "\r\nContent-Encoding: br\r\n", 1);
        assert_string_equal(site_body("/long.br.packed", GZIP), long_text);
        assert_string_equal(site_body("/plain.packed", GZIP), "not compressed");
    }
}

static int up(void **state)
{
    for (int i = 0; i < LONG; i++)
        long_text[i] = (char)('a' + i * 7 % 26 % (1 + i % 5));
    site_up("AddType text/plain .txt\nAddType text/html .html\n"
            "AddOutputFilter DEFLATE .txt\nAddOutputFilter INFLATE .packed\n"
            "AddEncoding gzip .packed\nAddEncoding br .br\n"
            "<Files plain.packed>\nRemoveEncoding .packed\n</Files>\n");
    site_file("long.txt", long_text);
    site_file("long.html", long_text);
    site_file("plain.packed", "not compressed");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {SITE_TEST(test_fields), SITE_TEST(test_there_and_back)};

    return cmocka_run_group_tests(tests, up, test_server_down);
}
