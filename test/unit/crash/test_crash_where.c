/* SPDX-License-Identifier: Apache-2.0 */
/* Which hook or filter a place in the program is put down to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "httpd.h"
#include "http_config.h"
#include "http_request.h"
#include "util_filter.h"
#include "crash.h"
#include "hook_names.h"
#include "apr_hooks.h"

static crash_site place;
static apr_pool_t *pool;

static __attribute__((noinline)) int look(int deep)
{
    crash_where_here(&place);
    return deep;
}

static int translate(request_rec *r)
{
    return look(1) + DECLINED - 1;
}

static apr_status_t passing_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return look(2) - 2 + APR_SUCCESS;
}

static apr_status_t reading_filter(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode, apr_read_type_e block,
                                   apr_off_t n)
{
    return look(3) - 3 + APR_SUCCESS;
}

static int setup(void **state)
{
    apr_pool_create(&pool, NULL);
    apr_hook_global_pool = pool;
    apr_hook_debug_current = "mod_unit.c";
    ap_hook_translate_name(translate, NULL, NULL, APR_HOOK_MIDDLE);
    ap_register_output_filter("pass", passing_filter, NULL, AP_FTYPE_RESOURCE);
    ap_register_input_filter("read", reading_filter, NULL, AP_FTYPE_RESOURCE);
    apr_hook_debug_current = NULL;
    memset(&place, 0, sizeof place);
    return 0;
}

static int teardown(void **state)
{
    apr_hook_deregister_all();
    apr_hook_global_pool = NULL;
    apr_pool_destroy(pool);
    return 0;
}

static void outside_of_all(void **state)
{
    look(0);
    assert_null(place.hook);
    assert_null(place.filter);
    assert_null(place.module);
}

static void in_a_hook(void **state)
{
    request_rec r = {.pool = pool};

    ap_run_translate_name(&r);
    assert_string_equal(place.hook, "translate_name");
    assert_string_equal(place.module, "mod_unit.c");
    assert_int_equal(place.loaded, 0); /* a part of the program */
}

static void in_a_filter(void **state)
{
    conn_rec c = {.pool = pool};
    apr_bucket_brigade *bb;

    c.bucket_alloc = apr_bucket_alloc_create(pool);
    bb = apr_brigade_create(pool, c.bucket_alloc);
    ap_get_output_filter_handle("pass")->filter_func.out_func(NULL, bb);
    assert_string_equal(place.filter, "pass");
    assert_string_equal(place.module, "mod_unit.c");
    assert_int_equal(place.is_input, 0);
    assert_null(place.hook);
    ap_get_input_filter_handle("read")->filter_func.in_func(NULL, bb, AP_MODE_READBYTES, APR_BLOCK_READ, 1);
    assert_string_equal(place.filter, "read");
    assert_int_equal(place.is_input, 1);
}

static int visit(void *baton, int hook, const char *name, const void *run)
{
    const char *owner = NULL;

    if (strcmp(name, baton) != 0)
        return 0;
    assert_ptr_equal(run, ap_run_translate_name);
    assert_ptr_equal(hook_names_function(hook, 0, &owner), translate);
    assert_string_equal(owner, "mod_unit.c");
    assert_null(hook_names_function(hook, 1, &owner));
    return 7;
}

static void hooks_have_names(void **state)
{
    char name[] = "translate_name", other[] = "translate";

    assert_int_equal(hook_names_each(visit, name), 7);
    assert_int_equal(hook_names_each(visit, other), 0);
    apr_hook_deregister_all();
    assert_int_equal(hook_names_each(visit, name), 0);
}

#define WHERE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WHERE_TEST(outside_of_all),
        WHERE_TEST(in_a_hook),
        WHERE_TEST(in_a_filter),
        WHERE_TEST(hooks_have_names),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
