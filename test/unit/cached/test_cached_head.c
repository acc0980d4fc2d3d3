/* SPDX-License-Identifier: Apache-2.0 */
/* Stored heads: what is written is read; a head that was cut or changed anywhere is none, or a head within its bounds. */
#include "cached_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "test_pool.h"

static const http_field fields[] = {
    {"ETag", "\"1\"", 4, 3, 0}, {"X-Empty", "", 7, 0, 0}, {"Link", "<a>", 4, 3, 0}};

static const char *written(uint32_t *len)
{
    return cached_head_write(test_pool, "200 Fine", fields, 3, len);
}

static void what_is_written_is_read(void **state)
{
    uint32_t len;
    const char *bytes = written(&len);
    cached_head head;

    (void)state;
    assert_int_equal(cached_head_read(test_pool, bytes, len, &head), 0);
    assert_string_equal(head.line, "200 Fine");
    assert_int_equal(head.head.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(head.head.field[i].name, fields[i].name);
        assert_string_equal(head.head.field[i].value, fields[i].value);
        assert_int_equal(head.head.field[i].value_len, fields[i].value_len);
    }
    bytes = cached_head_write(test_pool, NULL, fields, 0, &len);
    assert_int_equal(cached_head_read(test_pool, bytes, len, &head), 0);
    assert_null(head.line);
    assert_int_equal(head.head.n, 0);
}

static void a_head_that_is_cut_is_none(void **state)
{
    uint32_t len;
    const char *bytes = written(&len);
    cached_head head;

    (void)state;
    for (uint32_t n = 0; n < len; n++) {
        char *cut = malloc(n + 1); /* so that a sanitizer sees each byte too far */

        memcpy(cut, bytes, n);
        assert_int_equal(cached_head_read(test_pool, cut, n, &head), -1);
        free(cut);
    }
}

static void a_head_that_was_changed_stays_in_its_bounds(void **state)
{
    uint32_t len;
    const char *bytes = written(&len);

    (void)state;
    for (uint32_t i = 0; i < len; i++)
        for (int bit = 0; bit < 8; bit++) {
            char *changed = malloc(len);
            cached_head head;

            memcpy(changed, bytes, len);
            changed[i] ^= (char)(1 << bit);
            if (!cached_head_read(test_pool, changed, len, &head))
                for (uint32_t k = 0; k < head.head.n; k++) {
                    const http_field *f = head.head.field + k;

                    assert_true(f->name >= changed && f->value + f->value_len < changed + len);
                    assert_int_equal(strlen(f->name), f->name_len);
                    assert_int_equal(strlen(f->value), f->value_len);
                }
            free(changed);
        }
}

static void tables_become_fields(void **state)
{
    apr_table_t *t = apr_table_make(test_pool, 2);
    http_field *field;

    (void)state;
    apr_table_addn(t, "Link", "<a>");
    apr_table_addn(t, "Link", "<b>");
    assert_int_equal(cached_fields(test_pool, t, &field), 2);
    assert_string_equal(field[1].value, "<b>");
    assert_int_equal(field[1].name_len, 4);
}

/* What another server or a disk gives is an answer only if one could have been stored so. */
static int is_sound(int code, const char *line, const char *name, const char *value, uint64_t len)
{
    http_field field = {name, value, (uint32_t)strlen(name), (uint32_t)strlen(value), 0};
    const cached_head head = {.line = line, .head = {.field = &field, .n = 1}};

    return cached_head_is_sound(&head, code, len);
}

static void heads_are_sound(void **state)
{
    (void)state;
    assert_true(is_sound(200, NULL, "ETag", "\"1\"", 5));
    assert_true(is_sound(599, NULL, "ETag", "\"1\"", 5));
    assert_true(is_sound(204, NULL, "ETag", "\"1\"", 0));
    assert_true(is_sound(200, "200 Fine", "Content-Length", "5", 5));
    assert_false(is_sound(199, NULL, "ETag", "\"1\"", 5));
    assert_false(is_sound(600, NULL, "ETag", "\"1\"", 5));
    assert_false(is_sound(204, NULL, "ETag", "\"1\"", 1));
    assert_false(is_sound(205, NULL, "ETag", "\"1\"", 1));
    assert_false(is_sound(304, NULL, "ETag", "\"1\"", 1));
    assert_false(is_sound(200, "404 Fine", "ETag", "\"1\"", 5));
    assert_false(is_sound(200, "200 Fi\nne", "ETag", "\"1\"", 5));
    assert_false(is_sound(200, NULL, "ET ag", "\"1\"", 5));
    assert_false(is_sound(200, NULL, "ETag", "\"1\r\"", 5));
    assert_false(is_sound(200, NULL, "Connection", "close", 5));
    assert_false(is_sound(200, NULL, "Transfer-Encoding", "chunked", 5));
    assert_false(is_sound(200, NULL, "content-length", "6", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(what_is_written_is_read),
        TEST_WITH_POOL(a_head_that_is_cut_is_none),
        TEST_WITH_POOL(a_head_that_was_changed_stays_in_its_bounds),
        TEST_WITH_POOL(tables_become_fields),
        TEST_WITH_POOL(heads_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
