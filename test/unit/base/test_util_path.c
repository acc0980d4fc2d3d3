/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "test_pool.h"

#define REL AP_NORMALIZE_ALLOW_RELATIVE
#define ROOT AP_NORMALIZE_NOT_ABOVE_ROOT
#define DEC AP_NORMALIZE_DECODE_UNRESERVED
#define MERGE AP_NORMALIZE_MERGE_SLASHES

static const struct normalize_case {
    const char *in;
    unsigned flags;
    int ok;
    const char *out;
} normalize_cases[] = {
    {"", 0, 0, ""},
    {"", REL, 0, ""},
    {"*", 0, 1, "*"},
    {"*x", 0, 0, "*x"},
    {"/", ROOT, 1, "/"},
    {"a", 0, 0, "a"},
    {"a", REL, 1, "a"},
    {"/a//b", 0, 1, "/a//b"},
    {"/a//b", MERGE, 1, "/a/b"},
    {"///", MERGE, 1, "/"},
    {"/a/./b/.", 0, 1, "/a/b/"},
    {"/a/b/..", ROOT, 1, "/a/"},
    {"/a/..", ROOT, 1, "/"},
    {"/..", 0, 1, "/"},
    {"/..", ROOT, 0, "/"},
    {"/../a", ROOT, 0, "/a"},
    {"/a/../../b", ROOT, 0, "/b"},
    {"/...", ROOT, 1, "/..."},
    {"/a/.b/..c", ROOT, 1, "/a/.b/..c"},
    {"/%2e%2e/a", ROOT, 1, "/%2e%2e/a"},
    {"/%2e%2e/a", ROOT | DEC, 0, "/a"},
    {"/a/%2e./b", ROOT | DEC, 1, "/b"},
    {"/a/.%2E", ROOT | DEC, 1, "/"},
    {"/a%41%2f%7E", DEC, 1, "/aA%2f~"},
    {"/%2f/..", DEC, 1, "/"},
    {"/a%2", DEC, 0, "/a%2"},
    {"/a%", DEC, 0, "/a%"},
    {"/%zz", DEC, 0, "/%zz"},
    {"/a/..;x=1/b", ROOT, 1, "/a/..;x=1/b"},
    {"a/../b", REL, 1, "b"},
    {"..", REL, 1, ""},
    {"..", REL | ROOT, 0, ""},
    {".//..", REL | DEC, 1, "/"},
    {"a//..//b", REL | MERGE, 1, "b"},
};

static void test_normalize(void **state)
{
    char path[64];
    size_t i;

    for (i = 0; i < sizeof(normalize_cases) / sizeof(normalize_cases[0]); i++) {
        const struct normalize_case *c = &normalize_cases[i];
        int ok = ap_normalize_path(strcpy(path, c->in), c->flags);

        if (!!ok != c->ok || strcmp(path, c->out) != 0)
            fail_msg("'%s' with %u: %d '%s'", c->in, c->flags, ok, path);
    }
}

/* Whatever a path is made of, nothing above the root comes out of it. */
static void test_normalize_never_above_root(void **state)
{
    static const char *const parts[] = {"/", "..", ".", "%2e", "a", "//", "%2E."};
    const size_t n = sizeof(parts) / sizeof(parts[0]);
    char path[64];
    size_t i;

    for (i = 0; i < n * n * n * n * n; i++) {
        size_t code = i, k;

        strcpy(path, "/");
        for (k = 0; k < 5; k++, code /= n)
            strcat(path, parts[code % n]);
        if (!ap_normalize_path(path, ROOT | DEC | MERGE))
            continue;
        assert_int_equal(path[0], '/');
        assert_null(strstr(path, "/../"));
        assert_null(strstr(path, "//"));
        assert_false(strlen(path) >= 3 && strcmp(path + strlen(path) - 3, "/..") == 0);
    }
}

static void test_getparents(void **state)
{
    static const char *const cases[][2] = {
        {"/a/../b", "/b"}, {"/../a", ""},      {"./a", "a"},
        {"../a", ""},      {"a/./b/", "a/b/"}, {"/", "/"},
    };
    char path[64];
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ap_getparents(strcpy(path, cases[i][0]));
        assert_string_equal(path, cases[i][1]);
    }
}

static void test_no2slash(void **state)
{
    static const char *const cases[][2] = {
        {"", ""}, {"//", "/"}, {"a//b///c/", "a/b/c/"}, {"/a/b", "/a/b"}, {"////", "/"},
    };
    char path[64];
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ap_no2slash(strcpy(path, cases[i][0]));
        assert_string_equal(path, cases[i][1]);
    }
}

static void test_dirs(void **state)
{
    char dir[64];

    assert_int_equal(ap_count_dirs(""), 0);
    assert_int_equal(ap_count_dirs("/a/b"), 2);
    assert_ptr_equal(ap_make_dirstr_prefix(dir, "/a/b/c", 0), dir + 1);
    assert_string_equal(dir, "/");
    ap_make_dirstr_prefix(dir, "/a/b/c", 2);
    assert_string_equal(dir, "/a/");
    ap_make_dirstr_prefix(dir, "/a/b/c", 4);
    assert_string_equal(dir, "/a/b/c/");
    assert_string_equal(ap_make_dirstr_parent(test_pool, "/a/b"), "/a/");
    assert_string_equal(ap_make_dirstr_parent(test_pool, "b"), "");
    assert_string_equal(ap_make_full_path(test_pool, "/a", "b"), "/a/b");
    assert_string_equal(ap_make_full_path(test_pool, "/a/", "b"), "/a/b");
    assert_string_equal(ap_make_full_path(test_pool, "", "b"), "/b");
    assert_true(ap_os_is_path_absolute(test_pool, "/a"));
    assert_false(ap_os_is_path_absolute(test_pool, "a"));
}

static void test_directories(void **state)
{
    assert_true(ap_is_directory(test_pool, "/"));
    assert_true(ap_is_rdirectory(test_pool, "/"));
    assert_false(ap_is_directory(test_pool, "/dev/null"));
    assert_false(ap_is_directory(test_pool, "/no/such/directory"));
    assert_true(ap_is_directory(test_pool, "/proc/self/cwd"));
    assert_false(ap_is_rdirectory(test_pool, "/proc/self/cwd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalize),  cmocka_unit_test(test_normalize_never_above_root),
        cmocka_unit_test(test_getparents), cmocka_unit_test(test_no2slash),
        TEST_WITH_POOL(test_dirs),         TEST_WITH_POOL(test_directories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
