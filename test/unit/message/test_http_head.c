/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that come in several lines: the size of their joined value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "http_head.h"

static http_field fields[HTTP_HEAD_MAX_FIELDS];
static http_head head;

static void add(const char *name, uint32_t value_len)
{
    static const char value[256];
    http_field *f = &fields[head.n_fields++];

    *f = (http_field){
        .name = name, .value = value, .name_len = (uint32_t)strlen(name), .value_len = value_len};
    head.head_len += f->name_len + value_len + 4;
}

static int setup(void **state)
{
    memset(&head, 0, sizeof(head));
    head.field = fields;
    return 0;
}

static void test_one_line_is_not_judged(void **state)
{
    add("x", 200);
    assert_null(http_head_oversized(&head, 100));
}

static void test_joined_size(void **state)
{
    add("x", 49);
    add("y", 100);
    add("X", 49);
    assert_null(http_head_oversized(&head, 100)); /* 49 + ", " + 49 */
    add("x", 0);                                  /* and another ", " */
    assert_ptr_equal(http_head_oversized(&head, 100), &fields[0]);
    assert_null(http_head_oversized(&head, 102));
}

static void test_names_that_begin_alike(void **state)
{
    add("ab", 60);
    add("abc", 60);
    add("a", 60);
    assert_null(http_head_oversized(&head, 100));
}

/* As many as there can be, all of them different. */
static void test_many(void **state)
{
    char *names = malloc(16 * HTTP_HEAD_MAX_FIELDS);

    for (int i = 0; i < HTTP_HEAD_MAX_FIELDS; i++) {
        snprintf(names + 16 * i, 16, "f%d", i);
        add(names + 16 * i, 10);
    }
    assert_null(http_head_oversized(&head, 15));
    fields[HTTP_HEAD_MAX_FIELDS - 1].name = "F4";
    fields[HTTP_HEAD_MAX_FIELDS - 1].name_len = 2;
    assert_ptr_equal(http_head_oversized(&head, 15), &fields[4]);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_line_is_not_judged, setup),
        cmocka_unit_test_setup(test_joined_size, setup),
        cmocka_unit_test_setup(test_names_that_begin_alike, setup),
        cmocka_unit_test_setup(test_many, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
