/* SPDX-License-Identifier: Apache-2.0 */
/* The store of managed domains: its files, its key, attempts that become certificates, and archives of what they replace. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apr_strings.h"
#include "md_store.h"
#include "test_pool.h"

static char folder[] = "/tmp/brigade-test-XXXXXX";
static md_store store;

static const char *path_of(const char *name)
{
    return apr_pstrcat(test_pool, store.folder, "/", name, NULL);
}

static int is_there(const char *name)
{
    return !access(path_of(name), F_OK);
}

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static int begin(void **state)
{
    test_pool_setup(state);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    return md_store_open(test_pool, apr_pstrcat(test_pool, folder, "/md", NULL), &store);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int end(void **state)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return test_pool_teardown(state);
}

/* Its key is made once, and kept. */
static void test_open(void **state)
{
    const md_store before = store;
    struct stat st;

    assert_int_equal(md_store_open(test_pool, store.folder, &store), 0);
    assert_int_equal(store.pass_len, 48);
    assert_int_equal(before.pass_len, 48);
    assert_memory_equal(store.pass, before.pass, 48);
    assert_int_equal(stat(path_of("md_store.json"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(path_of("domains"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(md_file_write(test_pool, path_of("md_store.json"), "{}"), 0);
    assert_int_equal(md_store_open(test_pool, store.folder, &store), -1);
    assert_string_equal(md_file_read(test_pool, path_of("md_store.json")), "{}");
}

/* A file is there whole or not at all, and nothing stays open. */
static void test_files(void **state)
{
    const char *file = path_of("live/x");
    const int before = descriptors();

    assert_null(md_file_read(test_pool, file));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(md_file_write(test_pool, file, "one\n"), 0);
    assert_int_equal(md_file_write(test_pool, file, "two\n"), 0);
    assert_string_equal(md_file_read(test_pool, file), "two\n");
    assert_int_equal(md_file_write(test_pool, path_of("none/x"), "x"), -1);
    assert_int_equal(md_file_write(test_pool, path_of("live"), "x"), -1);
    assert_null(md_file_read(test_pool, path_of("live")));
    assert_int_equal(descriptors(), before);
}

/* A name has the new certificate; what it had before lies in the archive, each under a number of its own. */
static void test_install(void **state)
{
    md_settings set = {.keys = apr_array_make(test_pool, 1, sizeof(md_key_spec))};
    const md_domain domain = {.name = "a.example", .set = &set};
    const char *attempt;

    APR_ARRAY_PUSH(set.keys, md_key_spec) = (md_key_spec){.bits = 2048};
    for (int i = 1; i < 4; i++) {
        assert_non_null(attempt = md_store_attempt(test_pool, &store, "a.example", i));
        md_file_write(test_pool, apr_pstrcat(test_pool, attempt, "/mark", NULL),
                      apr_itoa(test_pool, i));
        assert_int_equal(md_store_install(test_pool, &store, &domain, attempt), 0);
        assert_string_equal(md_file_read(test_pool, path_of("domains/a.example/mark")),
                            apr_itoa(test_pool, i));
        assert_int_not_equal(access(attempt, F_OK), 0);
    }
    assert_string_equal(md_file_read(test_pool, path_of("archive/a.example.1/mark")), "1");
    assert_string_equal(md_file_read(test_pool, path_of("archive/a.example.2/mark")), "2");
    assert_false(is_there("archive/a.example.3"));
    assert_false(is_there("archive/a.example.0"));
}

/* An attempt begins empty; those of one name are cleaned, and no other's. */
static void test_attempts(void **state)
{
    const char *attempt = md_store_attempt(test_pool, &store, "a.example", 7);

    md_file_write(test_pool, apr_pstrcat(test_pool, attempt, "/x", NULL), "x");
    assert_string_equal(md_store_attempt(test_pool, &store, "a.example", 7), attempt);
    assert_false(is_there("jobs/a.example.7/x"));
    assert_non_null(md_store_attempt(test_pool, &store, "b.example", 1));
    md_store_clean(test_pool, &store, "a.example");
    assert_false(is_there("jobs/a.example.7"));
    assert_true(is_there("jobs/b.example.1"));
}

#define STORE_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {STORE_TEST(test_open), STORE_TEST(test_files),
                                       STORE_TEST(test_install), STORE_TEST(test_attempts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
