/* SPDX-License-Identifier: Apache-2.0 */
/* Text maps: lines, versions of a file, many keys, several readers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_general.h>
#include <apr_strings.h>
#include "rewrite_private.h"

static apr_pool_t *pool;
static char file[64];
static struct rewrite_text_map *map;

/* Another inode for each version, as editors make it. */
static void write_map(const char *text, size_t len)
{
    char part[80];
    FILE *f;

    snprintf(part, sizeof part, "%s.new", file);
    f = fopen(part, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
    assert_int_equal(rename(part, file), 0);
}

static int set_up(void **state)
{
    int fd;

    apr_pool_create(&pool, NULL);
    strcpy(file, "/tmp/rewrite-map-XXXXXX");
    fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    map = rewrite_text_make(pool, file);
    return 0;
}

static int tear_down(void **state)
{
    unlink(file);
    apr_pool_destroy(pool);
    return 0;
}

static const char *value_of(const char *key)
{
    const char *value;
    int fresh;

    assert_int_equal(rewrite_text_find(map, pool, key, &value, &fresh), APR_SUCCESS);
    return value ? value : "(none)";
}

static void lines_have_a_key_and_a_value(void **state)
{
    static const char text[] = "# comment x\nkey value\nkey second\n  indented no\nalone\nalone2 \n"
                               "two words here\nwin dows\r\nlast one";

    write_map(text, sizeof text - 1);
    assert_string_equal(value_of("key"), "value");
    assert_string_equal(value_of("two"), "words");
    assert_string_equal(value_of("win"), "dows");
    assert_string_equal(value_of("last"), "one");
    assert_string_equal(value_of("#"), "(none)");
    assert_string_equal(value_of("indented"), "(none)");
    assert_string_equal(value_of("alone"), "(none)");
    assert_string_equal(value_of("alone2"), "(none)");
    assert_string_equal(value_of(""), "(none)");
}

static void a_new_version_is_read(void **state)
{
    const char *value;
    int fresh;

    write_map("a 1\n", 4);
    assert_string_equal(value_of("a"), "1");
    assert_int_equal(rewrite_text_find(map, pool, "a", &value, &fresh), APR_SUCCESS);
    assert_false(fresh);
    write_map("a 2\n", 4);
    assert_int_equal(rewrite_text_find(map, pool, "a", &value, &fresh), APR_SUCCESS);
    assert_true(fresh);
    assert_string_equal(value, "2");
    unlink(file);
    assert_int_equal(rewrite_text_find(map, pool, "a", &value, &fresh), ENOENT);
}

static void many_keys_are_found(void **state)
{
    enum { KEYS = 100000 };
    char *text = malloc(KEYS * 24), *at = text, key[16];

    for (int i = 0; i < KEYS; i++)
        at += sprintf(at, "key%d value%d\n", i, i);
    write_map(text, (size_t)(at - text));
    free(text);
    for (int i = 0; i < KEYS; i += 997) {
        sprintf(key, "key%d", i);
        assert_string_equal(value_of(key), apr_psprintf(pool, "value%d", i));
    }
    assert_string_equal(value_of("key100000"), "(none)");
}

static void *read_all_the_time(void *wrong)
{
    apr_pool_t *p;

    apr_pool_create(&p, NULL);
    for (int i = 0; i < 20000; i++) {
        const char *value = NULL;
        int fresh;

        if (rewrite_text_find(map, p, "a", &value, &fresh) != APR_SUCCESS || !value ||
            (strcmp(value, "1") && strcmp(value, "2")))
            *(int *)wrong = 1;
        apr_pool_clear(p);
    }
    apr_pool_destroy(p);
    return NULL;
}

static void readers_and_new_versions_go_together(void **state)
{
    pthread_t reader[2];
    int wrong[2] = {0, 0};

    write_map("a 1\n", 4);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&reader[i], NULL, read_all_the_time, &wrong[i]), 0);
    for (int i = 0; i < 300; i++)
        write_map(i % 2 ? "a 1\n" : "a 2\n", 4);
    for (int i = 0; i < 2; i++) {
        pthread_join(reader[i], NULL);
        assert_false(wrong[i]);
    }
}

int main(void)
{
#define WITH_FILE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FILE(lines_have_a_key_and_a_value),
        WITH_FILE(a_new_version_is_read),
        WITH_FILE(many_keys_are_found),
        WITH_FILE(readers_and_new_versions_go_together),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
