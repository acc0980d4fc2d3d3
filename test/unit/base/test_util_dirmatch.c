/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "httpd.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include "test_pool.h"

static char root[256];

static int tree_make(void **state)
{
    static const char *const names[] = {"a/", "a/1.conf", "a/2.conf", "a/.hidden.conf", "a/x.txt",
                                        "b/", "b/3.conf", "b/sub/",   "b/sub/4.conf"};
    apr_pool_t *pool;
    apr_file_t *file;
    const char *tmp;
    size_t i;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    if (apr_temp_dir_get(&tmp, pool) != APR_SUCCESS)
        return -1;
    apr_snprintf(root, sizeof(root), "%s/brigade-dirmatch-XXXXXX", tmp);
    if (!mkdtemp(root))
        return -1;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = apr_pstrcat(pool, root, "/", names[i], NULL);

        if (path[strlen(path) - 1] == '/')
            apr_dir_make(path, APR_OS_DEFAULT, pool);
        else if (apr_file_open(&file, path, APR_CREATE | APR_WRITE, APR_OS_DEFAULT, pool) == 0)
            apr_file_close(file);
    }
    if (symlink("..", apr_pstrcat(pool, root, "/b/up", NULL)) != 0)
        return -1;
    apr_pool_destroy(pool);
    return 0;
}

static int tree_remove(void **state)
{
    static const char *const names[] = {"b/up",    "b/sub/4.conf",   "b/sub",    "b/3.conf", "b",
                                        "a/x.txt", "a/.hidden.conf", "a/2.conf", "a/1.conf", "a",
                                        ""};
    char path[512];
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        apr_snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        remove(path);
    }
    return 0;
}

/* Names found, below the root, joined by spaces. */
static const char *collect(ap_dir_match_t *w, const char *name)
{
    const char **all = w->ctx;

    if (strstr(name, "refused"))
        return "refused";
    *all = apr_pstrcat(w->p, *all, **all ? " " : "", name + strlen(root) + 1, NULL);
    return NULL;
}

static const char *find(const char *pattern, int flags, const char **err)
{
    const char *all = "";
    ap_dir_match_t w = {test_pool, test_pool, "Test: ", collect, &all, flags, 0};

    *err = ap_dir_fnmatch(&w, NULL, apr_pstrcat(test_pool, root, "/", pattern, NULL));
    return all;
}

static void test_find(void **state)
{
    static const struct {
        const char *pattern;
        int flags;
        const char *found, *err;
    } cases[] = {
        {"a/1.conf", 0, "a/1.conf", NULL},
        {"a/*.conf", 0, "a/1.conf a/2.conf", NULL},
        {"*/?.conf", 0, "a/1.conf a/2.conf b/3.conf", NULL},
        {"a", 0, "a", NULL},
        {"a/", 0, "a", NULL},
        {"b", AP_DIR_FLAG_RECURSIVE, "b/3.conf b/sub/4.conf b/up", NULL},
        {"[ab]", AP_DIR_FLAG_RECURSIVE,
         "a/.hidden.conf a/1.conf a/2.conf a/x.txt b/3.conf "
         "b/sub/4.conf b/up",
         NULL},
        {"none", 0, "", "Could not access"},
        {"none", AP_DIR_FLAG_OPTIONAL, "", NULL},
        {"none*", 0, "", "No matches for the wildcard 'none*'"},
        {"none*", AP_DIR_FLAG_OPTIONAL, "", NULL},
        {"none/*", 0, "", "Could not open directory"},
        {"none/*", AP_DIR_FLAG_OPTIONAL, "", NULL},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *err, *found = find(cases[i].pattern, cases[i].flags, &err);

        assert_string_equal(found, cases[i].found);
        if (!cases[i].err)
            assert_null(err);
        else
            assert_true(err && strncmp(err, "Test: ", 6) == 0 && strstr(err, cases[i].err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_find),
    };

    return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
