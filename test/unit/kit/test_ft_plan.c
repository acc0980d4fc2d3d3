/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of brigade-filter-test: whatever the pieces, all of the input is sent once and in its
 * order, and EOS comes last. */
#ifndef BRIGADE_FILTER_CHECK /* brigade-filter-test has it in every build */
#define BRIGADE_FILTER_CHECK
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_pool.h"
#include "ft_plan.c"

static char plan_data[200000];

static ft_input plan_input(apr_size_t len)
{
    return (ft_input){.data = plan_data, .len = len};
}

static ft_options plan_options(void)
{
    return (ft_options){.seed = 3, .runs = 40};
}

/* The steps of one run; what they send is counted from the start. */
static void plan_check(const ft_plan *plan, const ft_input *in, const ft_options *o)
{
    apr_size_t at = 0;
    int eos = 0, n = plan->steps->nelts;

    for (int i = 0; i < n; i++) {
        const ft_step *step = &APR_ARRAY_IDX(plan->steps, i, ft_step);

        if (step->kind == FT_DATA) {
            assert_int_equal(step->at, at);
            assert_true(step->len > 0);
            assert_false(eos);
            at += step->len;
        }
        assert_false(step->kind == FT_FLUSH && o->no_flush);
        assert_false(step->kind == FT_META && o->no_metadata);
        eos += step->kind == FT_EOS;
    }
    assert_int_equal(eos, 1);
    assert_int_equal(APR_ARRAY_IDX(plan->steps, n - 1, ft_step).kind, FT_PASS);
    assert_int_equal(APR_ARRAY_IDX(plan->steps, n - 2, ft_step).kind, FT_EOS);
    assert_int_equal(at, plan->other_input ? 0 : in->len);
}

static void plan_check_all(const ft_input *in, const ft_options *o)
{
    for (const ft_group *g = ft_groups; g->name; g++) {
        for (int number = 0; number < g->runs(o, in); number++) {
            apr_pool_t *p;
            ft_plan plan;

            apr_pool_create(&p, test_pool);
            ft_plan_make(&plan, p, g, o, in, number);
            plan_check(&plan, in, o);
            apr_pool_destroy(p);
        }
    }
}

static void test_all_of_the_input_is_sent(void **state)
{
    static const apr_size_t lengths[] = {
        0, 1, 2, 17, FT_CUT_ALL, FT_CUT_ALL + 1, 70000, sizeof plan_data};
    ft_options o = plan_options();

    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        ft_input in = plan_input(lengths[i]);

        o.no_flush = i % 2;
        o.no_metadata = i % 4 / 2;
        plan_check_all(&in, &o);
    }
}

static void test_short_inputs_are_cut_at_every_byte(void **state)
{
    ft_options o = plan_options();
    ft_input in = plan_input(100);
    char seen[101] = "";

    assert_int_equal(ft_cut_runs(&o, &in), 202);
    for (int number = 0; number < 202; number++)
        seen[ft_cut_place(&o, &in, number / 2)]++;
    for (int i = 0; i <= 100; i++)
        assert_int_equal(seen[i], 2);
}

static void test_long_inputs_are_cut_beside_sizes_of_buffers(void **state)
{
    ft_options o = plan_options();
    ft_input in = plan_input(sizeof plan_data);
    int first = 0, last = 0, page = 0;

    for (int place = 0; place < FT_CUT_SPREAD; place++) {
        apr_size_t at = ft_cut_place(&o, &in, place);

        assert_true(at <= in.len);
        first |= at == 1;
        last |= at == in.len - 1;
        page |= at == 4095 ? 1 : at == 4096 ? 2 : at == 4097 ? 4 : 0;
    }
    assert_true(first && last && page == 7);
    o.all = 1;
    assert_int_equal(ft_cut_runs(&o, &in), 2 * (sizeof plan_data + 1));
}

static void test_a_run_is_the_same_for_the_same_seed(void **state)
{
    ft_options o = plan_options();
    ft_input in = plan_input(5000);
    const ft_group *g = &ft_groups[5];
    ft_plan one, again, other;

    ft_plan_make(&one, test_pool, g, &o, &in, 7);
    ft_plan_make(&other, test_pool, g, &o, &in, 8);
    ft_plan_make(&again, test_pool, g, &o, &in, 7);
    assert_string_equal(ft_plan_text(&one, test_pool), ft_plan_text(&again, test_pool));
    assert_string_not_equal(ft_plan_text(&one, test_pool), ft_plan_text(&other, test_pool));
    o.seed++;
    ft_plan_make(&other, test_pool, g, &o, &in, 7);
    assert_string_not_equal(ft_plan_text(&one, test_pool), ft_plan_text(&other, test_pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_all_of_the_input_is_sent),
        TEST_WITH_POOL(test_short_inputs_are_cut_at_every_byte),
        TEST_WITH_POOL(test_long_inputs_are_cut_beside_sizes_of_buffers),
        TEST_WITH_POOL(test_a_run_is_the_same_for_the_same_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
