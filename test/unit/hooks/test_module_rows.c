/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of modules: each name once, and the built-in modules of the program are rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "httpd.h"
#include "http_config.h"
#include "apr_lib.h"
#include "module_rows.h"

static void test_names_are_there_once(void **state)
{
    for (int i = 0; i < module_rows_n; i++) {
        const module_row *row = &module_rows[i];

        assert_ptr_equal(module_row_named(row->name), row);
        assert_ptr_equal(module_row_of_symbol(row->symbol), row);
    }
    assert_null(module_row_named(NULL));
    assert_null(module_row_named("mod_no_such.c"));
    assert_null(module_row_of_symbol("alias"));
}

/* The name that a module gives itself is that of its row, also in its structure. */
static void test_built_in_modules_are_rows(void **state)
{
    int n = 0;

    for (const ap_module_symbol_t *s = ap_prelinked_module_symbols; s->name; s++, n++) {
        const module_row *row = module_row_of_symbol(s->name);

        assert_non_null(row);
        assert_true(row->is_builtin);
        assert_string_equal(row->name, apr_filepath_name_get(s->modp->name));
    }
    for (int i = 0; i < module_rows_n; i++)
        n -= module_rows[i].is_builtin;
    assert_int_equal(n, 0);
}

static void test_needs_are_rows(void **state)
{
    for (int i = 0; i < module_rows_n; i++)
        if (module_rows[i].needs)
            assert_non_null(module_row_of_symbol(module_rows[i].needs));
    assert_string_equal(module_row_named("mod_http2.c")->needs, "ssl_module");
}

static void test_apaches(void **state)
{
    assert_true(module_rows_apaches("rewrite_module"));
    assert_true(module_rows_apaches("status_module"));
    assert_false(module_rows_apaches("metrics_module"));
    assert_false(module_rows_apaches("wsgi_module"));
    assert_false(module_rows_apaches("core_module"));
    assert_false(module_rows_apaches("mpm_event_module"));
    assert_false(module_rows_apaches("mpm_worker_module"));
    assert_true(module_rows_other_mpm("mpm_worker_module"));
    assert_false(module_rows_other_mpm("mpm_prefork_module"));
    assert_true(module_rows_idle("socache_shmcb_module"));
    assert_false(module_rows_idle("socache_dbm_module"));
    assert_false(module_rows_idle("none_module"));
}

static void test_words(void **state)
{
    assert_true(module_list_has("one two", "TWO", 3));
    assert_false(module_list_has("one two", "tw", 2));
    assert_false(module_list_has("one two", "one two", 7));
    assert_false(module_list_has(NULL, "one", 3));
    assert_false(module_list_has("", "one", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_there_once),
        cmocka_unit_test(test_built_in_modules_are_rows),
        cmocka_unit_test(test_needs_are_rows),
        cmocka_unit_test(test_apaches),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
