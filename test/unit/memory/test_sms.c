/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications, dispatch and counters. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "sms_private.h"
#include "apr_general.h"
#include <stdlib.h>
#include <string.h>

static apr_pool_t *pool;

static brg_sms *made(const char *spec)
{
    brg_sms *s;
    const char *message = brg_sms_create(&s, spec, NULL, pool);

    if (message != NULL)
        fail_msg("%s: %s", spec, message);
    return s;
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int result;
        size_t bytes;
    } table[] = {
        {"0", 0, 0},
        {"4096", 0, 4096},
        {"64k", 0, 65536},
        {"64K", 0, 65536},
        {"16M", 0, 16777216},
        {"1g", 0, 1073741824},
        {"18446744073709551615", 0, SIZE_MAX},
        {"18446744073709551616", -1, 0},
        {"17179869184G", -1, 0},
        {"", -1, 0},
        {"k", -1, 0},
        {"-1", -1, 0},
        {"1kb", -1, 0},
        {"1 k", -1, 0},
        {"0x10", -1, 0},
    };
    size_t i, bytes;

    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        bytes = 0;
        if (brg_sms_parse_size(table[i].text, &bytes) != table[i].result || bytes != table[i].bytes)
            fail_msg("\"%s\"", table[i].text);
    }
}

static void specifications_as_described(void **state)
{
    static const struct {
        const char *spec, *described;
        int per_block, any_thread, private_n;
    } table[] = {
        {"arena", "arena(chunk=256K,keep=2M)", 0, 1, 0},
        {"  arena( chunk=64k )  ", "arena(chunk=64K,keep=2M)", 0, 1, 0},
        {"arena(keep=0 chunk=2M)", "arena(chunk=2M,keep=0)", 0, 1, 0},
        {"limit(16M) arena(chunk=64k,keep=1M)", "limit(16M) arena(chunk=64K,keep=1M)", 0, 0, 1},
        {"limit(1000,shared) system", "limit(1000,shared) system", 1, 1, 0},
        {"trivial", "trivial(chunk=8K,keep=2M)", 0, 0, 1},
        {"tracking trivial(shared)", "tracking trivial(chunk=8K,keep=2M,shared)", 1, 1, 0},
        {"tracking trivial arena", "tracking trivial(chunk=8K,keep=2M) arena(chunk=256K,keep=2M)",
         1, 0, 2},
        {"trivial tracking(quiet) system", "trivial(chunk=8K,keep=2M) tracking(quiet) system", 0, 0,
         1},
        {"blocks(size=100)", "blocks(size=112,chunk=4K)", 0, 0, 1},
        {"guard", "guard(redzone=32,quarantine=1M)", 1, 1, 0},
        {"fault(nth=7) os(huge)", "fault(nth=7) os(huge)", 1, 1, 0},
        {"fault(random=0.25,seed=3)", "fault(random=0.25,seed=3)", 1, 1, 0},
        {"os", "os", 0, 1, 0},
    };
    const brg_sms_plan *plan;
    size_t i;

    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        brg_sms *s = made(table[i].spec), *again;

        assert_string_equal(brg_sms_describe(s, pool), table[i].described);
        assert_int_equal(brg_sms_per_block(s), table[i].per_block);
        assert_int_equal(brg_sms_thread_rule(s) == BRG_SMS_ANY_THREAD, table[i].any_thread);
        assert_null(brg_sms_plan_make(&plan, table[i].spec, pool));
        assert_int_equal(brg_sms_plan_private(plan), table[i].private_n);
        again = made(table[i].described); /* the description is a specification */
        assert_string_equal(brg_sms_describe(again, pool), table[i].described);
        brg_sms_destroy(&again, NULL);
        brg_sms_destroy(&s, NULL);
        assert_null(s);
    }
}

static void bad_specifications_say_what_is_wrong(void **state)
{
    static const struct {
        const char *spec, *says;
    } table[] = {
        {"", "empty"},
        {"  ", "empty"},
        {"arenas",
         "unknown memory system \"arenas\"; there are arena(chunk=SIZE, keep=SIZE), trivial("},
        {"limit", "needs a size"},
        {"limit(16M", "\")\" is missing"},
        {"limit(16M,", "\")\" is missing; there are arena(chunk=SIZE"},
        {"limit(16M,) arena", "expected a parameter; there are arena(chunk=SIZE"},
        {"arena(chunk=64k,chunk=32k)", "\"chunk\" is there twice"},
        {"arena(chunk=64k, keep=1M , chunk=64k)", "\"chunk\" is there twice"},
        {"tracking(quiet,quiet) arena", "\"quiet\" is there twice"},
        {"trivial(shared,shared)", "\"shared\" is there twice"},
        {"limit(99999999999999999999)", "limit: 99999999999999999999 is too large"},
        {"limit(9999999999G)", "limit: 9999999999G is too large"},
        {"limit(0)", "limit: 0 is less than 1; it takes SIZE"},
        {"fault(nth=0)", "fault: nth=0 is less than 1; it takes nth=N"},
        {"system(1) ", "system: it does not know \"1\"; it takes no parameters"},
        {"limit(16M))", "expected the name"},
        {"limit(16X)", "\"16X\" is no size"},
        {"limit(1M, 2M)", "does not know \"2M\""},
        {"limit(size=1M)",
         "limit: it does not know \"size=1M\"; it takes SIZE, status=503|413, shared"},
        {"arena(chunk=)", "has no value"},
        {"arena(chunk=1)", "chunk=1 is not between 16K and 1G"},
        {"arena(shared)", "any thread may use it as it is"},
        {"trivial(chunk=5000)", "no power of two"},
        {"system arena", "must be the last word"},
        {"os(huge) arena", "must be the last word"},
        {"system(1)", "no parameters"},
        {"fault", "needs nth="},
        {"fault(random=2)", "not between 0 and 1"},
        {"arena;system", "\";\" is not expected"},
        {"os os", "must be the last word"},
        {"limit(1) limit(1) limit(1) limit(1) limit(1) limit(1) limit(1) limit(1) os", "too many"},
        {"blocks(size=1M,chunk=4k)", "no room for a block"},
    };
    size_t i;

    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *message = brg_sms_check(table[i].spec, pool);

        if (message == NULL || strstr(message, table[i].says) == NULL)
            fail_msg("\"%s\": %s", table[i].spec, message != NULL ? message : "accepted");
        message = brg_sms_check(table[i].spec, NULL); /* without a pool, too */
        if (message == NULL || strstr(message, table[i].says) == NULL)
            fail_msg("\"%s\" without a pool: %s", table[i].spec,
                     message != NULL ? message : "accepted");
    }
}

static void a_plan_is_built_in_parts(void **state)
{
    const brg_sms_plan *plan;
    brg_sms *shared, *own;

    assert_null(brg_sms_plan_make(&plan, "limit(1M) arena(chunk=64k)", pool));
    assert_int_equal(brg_sms_plan_length(plan), 2);
    assert_null(brg_sms_plan_build(&shared, plan, 1, 2, NULL, pool));
    assert_null(brg_sms_plan_build(&own, plan, 0, 1, shared, NULL));
    assert_ptr_equal(own->parent, shared);
    assert_string_equal(brg_sms_describe(own, pool), "limit(1M) arena(chunk=64K,keep=2M)");
    brg_sms_destroy(&own, shared);
    assert_null(brg_sms_plan_build(&own, plan, 0, 0, shared, NULL));
    assert_ptr_equal(own, shared);
    brg_sms_destroy(&shared, NULL);
}

static void fourth_destroy(brg_sms *s)
{
}

static const char *fourth_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                                 int params_n, apr_pool_t *p)
{
    static const brg_sms_ops lacking = {
        .kind = "fourth", .allocate = brg_sms_allocate, .destroy = fourth_destroy};

    *out = brg_sms_make(sizeof(brg_sms), &lacking, parent);
    return *out != NULL ? NULL : "out of memory";
}

static void a_registered_kind_must_keep_the_rules(void **state)
{
    brg_sms_kind_register("fourth", fourth_create, "nothing");
    assert_non_null(strstr(brg_sms_check("fourth", pool), "neither free nor reset"));
    assert_non_null(strstr(brg_sms_check("nonsense", pool), "fourth(nothing)"));
    sms_kinds_forget();
    assert_non_null(strstr(brg_sms_check("fourth", pool), "unknown memory system"));
    assert_null(brg_sms_check("arena", pool));
}

static void odd_sizes(void **state)
{
    static const char *const specs[] = {"system", "arena",          "trivial", "blocks",
                                        "guard",  "tracking arena", "os"};
    size_t i;

    for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        brg_sms *s = made(specs[i]);
        char *a = brg_sms_allocate(s, 0), *b = brg_sms_allocate(s, 0);

        assert_non_null(a);
        assert_non_null(b);
        assert_ptr_not_equal(a, b);
        assert_int_equal((uintptr_t)a % 16, 0);
        assert_null(brg_sms_allocate(s, SIZE_MAX));
        assert_null(brg_sms_allocate(s, SIZE_MAX - 15));
        assert_null(brg_sms_allocate(s, PTRDIFF_MAX));
        assert_null(brg_sms_resize(s, a, 0, SIZE_MAX - 4096));
        brg_sms_free(s, a, 0);
        brg_sms_free(s, b, 0);
        brg_sms_free(s, NULL, 10);
        assert_null(brg_sms_verify(s));
        brg_sms_destroy(&s, NULL);
    }
}

static void figures_are_exact(void **state)
{
    brg_sms *s = made("limit(10000) system");
    brg_sms_figures f;
    void *a = brg_sms_allocate(s, 1000), *b = brg_sms_allocate(s, 3000);

    assert_null(brg_sms_allocate(s, 6001));
    brg_sms_free(s, a, 1000);
    brg_sms_statistics(s, &f);
    assert_int_equal(f.allocations, 2);
    assert_int_equal(f.bytes, 4000);
    assert_int_equal(f.frees, 1);
    assert_int_equal(f.failures, 1);
    assert_int_equal(f.live_bytes, 3000);
    assert_int_equal(f.high_water_bytes, 4000);
    brg_sms_statistics_reset(s);
    brg_sms_statistics(s, &f);
    assert_int_equal(f.allocations, 0);
    assert_int_equal(f.bytes, 0);
    assert_int_equal(f.failures, 0);
    assert_int_equal(f.live_bytes, 3000);
    assert_int_equal(f.high_water_bytes, 3000);
    b = brg_sms_resize(s, b, 3000, 5000);
    brg_sms_statistics(s, &f);
    assert_int_equal(f.allocations, 1);
    assert_int_equal(f.live_bytes, 5000);
    assert_int_equal(f.high_water_bytes, 5000);
    brg_sms_free(s, b, 5000);
    brg_sms_destroy(&s, NULL);
}

static void *count_some(void *data)
{
    brg_sms *s = data;
    int i;

    for (i = 0; i < 1000; i++)
        brg_sms_free(s, brg_sms_allocate(s, 100), 100);
    return NULL;
}

static void figures_of_threads_add_up(void **state)
{
    brg_sms *s = made("arena");
    brg_sms_figures f;
    pthread_t threads[4];
    int i;

    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_some, s), 0);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    brg_sms_statistics(s, &f);
    assert_int_equal(f.allocations, 4000);
    assert_int_equal(f.bytes, 400000);
    assert_int_equal(f.frees, 4000);
    assert_int_equal(f.live_bytes, 0);
    brg_sms_destroy(&s, NULL);
}

static int setup(void **state)
{
    apr_initialize();
    return apr_pool_create(&pool, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(specifications_as_described),
        cmocka_unit_test(bad_specifications_say_what_is_wrong),
        cmocka_unit_test(a_plan_is_built_in_parts),
        cmocka_unit_test(a_registered_kind_must_keep_the_rules),
        cmocka_unit_test(odd_sizes),
        cmocka_unit_test(figures_are_exact),
        cmocka_unit_test(figures_of_threads_add_up),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
