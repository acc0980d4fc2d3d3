/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of processors, and which loop gets which. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "mpm_affinity.h"

static apr_pool_t *pool;
static cpu_set_t usable; /* 0 to 7, and 12 */

static const char *read_list(const char *arg, affinity_list *list)
{
    list->n = 0;
    return affinity_read(pool, arg, &usable, list);
}

static void lists_are_read(void **state)
{
    static const struct {
        const char *arg;
        int n, cpu[5];
    } rows[] = {{"0", 1, {0}},      {"0-3", 4, {0, 1, 2, 3}},
                {"3,1", 2, {3, 1}}, {"12,0-1", 3, {12, 0, 1}},
                {"2,2", 2, {2, 2}}, {"4-4", 1, {4}}};
    affinity_list list;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_null(read_list(rows[i].arg, &list));
        assert_int_equal(list.n, rows[i].n);
        assert_memory_equal(list.cpu, rows[i].cpu, sizeof(int) * (size_t)list.n);
    }
}

static void others_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",    "a",    "-1",   "1-",    "3-1", "1,", ",1",
        "1 2", "1;2",  "0x1",  "1-2-3", "1.5", "+1", "99999999999999999999",
        "8",   "7-12", "1024", "0-1023"};
    affinity_list list;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(read_list(wrong[i], &list));
    assert_string_equal(read_list("7-12", &list), "this server may not use processor 8");
}

static void lists_have_a_bound(void **state)
{
    char arg[8 * AFFINITY_MOST] = "0";
    affinity_list list;

    for (int i = 0; i < AFFINITY_MOST / 8; i++)
        strcat(arg, ",0-7");
    assert_non_null(read_list(arg, &list));
    assert_int_equal(list.n, AFFINITY_MOST);
}

static void loops_get_them_in_turn(void **state)
{
    affinity_list list = {0};

    assert_int_equal(affinity_of(&list, 0), -1);
    affinity_all(&usable, &list);
    assert_int_equal(list.n, 9);
    assert_int_equal(affinity_of(&list, 0), 0);
    assert_int_equal(affinity_of(&list, 8), 12);
    assert_int_equal(affinity_of(&list, 9), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read), cmocka_unit_test(others_are_refused),
        cmocka_unit_test(lists_have_a_bound), cmocka_unit_test(loops_get_them_in_turn)};

    apr_initialize();
    apr_pool_create(&pool, NULL);
    for (int i = 0; i < 8; i++)
        CPU_SET((size_t)i, &usable);
    CPU_SET(12, &usable);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
