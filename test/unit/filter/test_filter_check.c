/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker between filters finds, and what it leaves alone. Builds without it have nothing to test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "httpd.h"
#include "http_protocol.h"
#include "filter_check.h"
#include "apr_hooks.h"

#ifdef BRIGADE_FILTER_CHECK

typedef struct world {
    apr_pool_t *pool;
    conn_rec c;
    request_rec r;
    apr_bucket_brigade *bb;
} world;

static char found[400];
static filter_check_weight weight;
static int founds;
static jmp_buf back; /* from what could not go on */
static apr_bucket_brigade *kept;

static void note(conn_rec *c, filter_check_weight w, const char *message)
{
    if (!founds++) {
        snprintf(found, sizeof found, "%s", message);
        weight = w;
    }
    if (w == FILTER_CHECK_FATAL)
        longjmp(back, 1);
}

static apr_status_t passing_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t leaving_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return APR_SUCCESS;
}

static apr_status_t refusing_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return APR_EAGAIN;
}

/* What a filter does that waits for more. */
static apr_status_t keeping_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    APR_BRIGADE_CONCAT(kept, bb);
    return APR_SUCCESS;
}

static apr_status_t making_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    (void)apr_bucket_immortal_create("lost", 4, f->c->bucket_alloc);
    return ap_pass_brigade(f->next, bb);
}

static int setup(void **state)
{
    apr_pool_t *pool;
    world *w;

    apr_pool_create(&pool, NULL);
    apr_hook_global_pool = pool;
    w = apr_pcalloc(pool, sizeof *w);
    w->pool = w->c.pool = w->r.pool = pool;
    w->c.bucket_alloc = apr_bucket_alloc_create(pool);
    w->r.connection = &w->c;
    ap_register_output_filter("keep", keeping_filter, NULL, AP_FTYPE_NETWORK);
    ap_register_output_filter("leave", leaving_filter, NULL, AP_FTYPE_NETWORK);
    ap_register_output_filter("refuse", refusing_filter, NULL, AP_FTYPE_NETWORK);
    ap_register_output_filter("pass", passing_filter, NULL, AP_FTYPE_RESOURCE);
    ap_register_output_filter("make", making_filter, NULL, AP_FTYPE_RESOURCE);
    w->bb = apr_brigade_create(pool, w->c.bucket_alloc);
    kept = apr_brigade_create(pool, w->c.bucket_alloc);
    filter_check_to(note);
    founds = 0;
    found[0] = '\0';
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;

    apr_hook_global_pool = NULL;
    apr_pool_destroy(w->pool);
    return 0;
}

static void chain(world *w, const char *last, const char *first)
{
    ap_add_output_filter(last, NULL, NULL, &w->c);
    w->r.output_filters = w->r.proto_output_filters = w->c.output_filters;
    ap_add_output_filter(first, NULL, &w->r, &w->c);
}

static apr_bucket *add(world *w, const char *text)
{
    apr_bucket *e = apr_bucket_immortal_create(text, strlen(text), w->c.bucket_alloc);

    APR_BRIGADE_INSERT_TAIL(w->bb, e);
    return e;
}

static apr_status_t pass(world *w)
{
    return setjmp(back) ? APR_EGENERAL : ap_pass_brigade(w->r.output_filters, w->bb);
}

/* Nothing more is to be done with brigades that are broken. */
static void forget(world *w)
{
    APR_RING_INIT(&w->bb->list, apr_bucket, link);
    APR_RING_INIT(&kept->list, apr_bucket, link);
}

static void expect(filter_check_weight w, const char *text)
{
    assert_true(founds > 0);
    if (!strstr(found, text))
        fail_msg("\"%s\" does not have \"%s\"", found, text);
    assert_int_equal(weight, w);
}

static void nothing_wrong(void **state)
{
    world *w = *state;

    chain(w, "keep", "pass");
    for (int i = 0; i < 300; i++) {
        add(w, "a");
        add(w, "b");
        assert_int_equal(pass(w), APR_SUCCESS);
        apr_brigade_cleanup(kept);
    }
    assert_int_equal(filter_check_request_end(w->c.bucket_alloc, &w->r), 0);
    assert_int_equal(founds, 0);
}

static void passed_twice(void **state)
{
    world *w = *state;
    apr_bucket *e;

    chain(w, "keep", "pass");
    e = add(w, "a");
    pass(w);
    assert_int_equal(founds, 0);
    APR_BUCKET_REMOVE(e);
    APR_BRIGADE_INSERT_TAIL(w->bb, e);
    pass(w);
    expect(FILTER_CHECK_FATAL, "to filter pass a second time");
}

static void what_was_refused_may_be_passed_again(void **state)
{
    world *w = *state;

    chain(w, "refuse", "pass");
    add(w, "a");
    assert_int_equal(pass(w), APR_EAGAIN);
    assert_int_equal(pass(w), APR_EAGAIN);
    assert_int_equal(founds, 0);
}

static void in_two_brigades(void **state)
{
    world *w = *state;

    chain(w, "keep", "pass");
    add(w, "a");
    APR_BRIGADE_INSERT_TAIL(kept, add(w, "b"));
    pass(w);
    expect(FILTER_CHECK_FATAL, "stands in two brigades");
    forget(w);
}

static void a_ring_without_an_end(void **state)
{
    world *w = *state;
    apr_bucket *a, *b;

    chain(w, "keep", "pass");
    a = add(w, "a");
    b = add(w, "b");
    APR_RING_NEXT(b, link) = a;
    pass(w);
    expect(FILTER_CHECK_FATAL, "has no end");
    forget(w);
}

static void destroyed_and_passed(void **state)
{
    world *w = *state;

    chain(w, "keep", "pass");
    apr_bucket_destroy(add(w, "a"));
    pass(w);
    expect(FILTER_CHECK_FATAL, "destroyed already");
    forget(w);
}

static void destroyed_twice(void **state)
{
    world *w = *state;
    void *block = apr_bucket_alloc(100, w->c.bucket_alloc);

    apr_bucket_free(block);
    assert_int_equal(founds, 0);
    if (!setjmp(back))
        apr_bucket_free(block);
    expect(FILTER_CHECK_FATAL, "was freed before");
}

static void another_allocator(void **state)
{
    world *w = *state;
    apr_bucket_alloc_t *other = apr_bucket_alloc_create(w->pool);

    chain(w, "keep", "pass");
    APR_BRIGADE_INSERT_TAIL(w->bb, apr_bucket_immortal_create("a", 1, other));
    pass(w);
    expect(FILTER_CHECK_FINDING, "of another connection's allocator");
    apr_brigade_cleanup(kept);
}

static void left_in_the_brigade(void **state)
{
    world *w = *state;

    chain(w, "leave", "pass");
    add(w, "a");
    pass(w);
    expect(FILTER_CHECK_REMARK, "filter leave returned success and left 1 buckets");
}

static void what_outlives_its_request(void **state)
{
    world *w = *state;

    chain(w, "keep", "make");
    add(w, "a");
    pass(w);
    assert_int_equal(filter_check_request_end(w->c.bucket_alloc, &w->c), 0);
    assert_int_equal(filter_check_request_end(w->c.bucket_alloc, &w->r), 1);
    expect(FILTER_CHECK_FINDING, "filter make leaked: 1 blocks");
    assert_int_equal(filter_check_request_end(w->c.bucket_alloc, &w->r), 0); /* it is told once */
}

#define CHECK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECK_TEST(nothing_wrong),
        CHECK_TEST(passed_twice),
        CHECK_TEST(what_was_refused_may_be_passed_again),
        CHECK_TEST(in_two_brigades),
        CHECK_TEST(a_ring_without_an_end),
        CHECK_TEST(destroyed_and_passed),
        CHECK_TEST(destroyed_twice),
        CHECK_TEST(another_allocator),
        CHECK_TEST(left_in_the_brigade),
        CHECK_TEST(what_outlives_its_request),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
