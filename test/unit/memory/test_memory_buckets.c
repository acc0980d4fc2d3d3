/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted of buffers, by the functions of APR-util that are the program's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "brigade/memory.h"
#include "apr_buckets.h"
#include "apr_general.h"
#include <string.h>

static apr_pool_t *pool;
static apr_bucket_alloc_t *list;
static apr_bucket_brigade *bb;

static void counted(uint64_t created, uint64_t shared, uint64_t copied, uint64_t copied_bytes)
{
    brg_buffer_figures now;

    brg_buffer_figures_get(&now);
    assert_int_equal(now.created, created);
    assert_int_equal(now.shared, shared);
    assert_int_equal(now.copied, copied);
    assert_int_equal(now.copied_bytes, copied_bytes);
    brg_memory_figures_reset();
}

static int begin(void **state)
{
    apr_pool_create(&pool, NULL);
    list = apr_bucket_alloc_create(pool);
    bb = apr_brigade_create(pool, list);
    brg_memory_figures_reset();
    return 0;
}

static int finish(void **state)
{
    apr_pool_destroy(pool);
    return 0;
}

static void says(apr_bucket *e, const char *text)
{
    const char *data;
    apr_size_t n;

    assert_int_equal(apr_bucket_read(e, &data, &n, APR_BLOCK_READ), APR_SUCCESS);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(data, text, n);
}

static void buffers_of_their_own(void **state)
{
    char *own = apr_bucket_alloc(100, list);
    apr_bucket *e;

    e = apr_bucket_heap_create("copied", 6, NULL, list);
    says(e, "copied");
    counted(1, 0, 1, 6);
    apr_bucket_destroy(e);
    memcpy(own, "taken", 5);
    e = apr_bucket_heap_create(own, 5, apr_bucket_free, list);
    says(e, "taken");
    counted(1, 0, 0, 0);
    apr_bucket_destroy(e);
}

/* A split shares the one block, which goes with its last bucket. */
static void copies_are_one_allocation(void **state)
{
    apr_bucket *e = apr_bucket_heap_create("in one block", 12, NULL, list), *rest;
    const apr_bucket_heap *h = e->data;

    assert_ptr_equal(h->base, (const char *)h + sizeof *h);
    APR_BRIGADE_INSERT_TAIL(bb, e);
    assert_int_equal(apr_bucket_split(e, 6), APR_SUCCESS);
    rest = APR_BUCKET_NEXT(e);
    assert_ptr_equal(rest->data, h);
    apr_bucket_delete(e);
    says(rest, " block");
    apr_bucket_delete(rest);
    e = apr_bucket_heap_create(NULL, 0, NULL, list);
    says(e, "");
    apr_bucket_destroy(e);
}

static void references(void **state)
{
    apr_bucket *e = apr_bucket_heap_create("abcdef", 6, NULL, list), *copy;

    APR_BRIGADE_INSERT_TAIL(bb, e);
    counted(1, 0, 1, 6);
    assert_int_equal(apr_bucket_split(e, 2), APR_SUCCESS);
    assert_int_equal(apr_bucket_copy(e, &copy), APR_SUCCESS);
    counted(0, 2, 0, 0);
    says(e, "ab");
    says(APR_BUCKET_NEXT(e), "cdef");
    assert_int_equal(apr_bucket_split(e, 3), APR_EINVAL);
    apr_brigade_cleanup(bb);
    says(copy, "ab"); /* holds the buffer alone now */
    apr_bucket_destroy(copy);
    counted(0, 0, 0, 0);
}

static void text_without_an_owner(void **state)
{
    apr_bucket *e = apr_bucket_immortal_create("abc", 3, list);

    APR_BRIGADE_INSERT_TAIL(bb, e);
    assert_int_equal(apr_bucket_setaside(e, pool), APR_SUCCESS);
    counted(0, 0, 0, 0);
    assert_int_equal(apr_bucket_split(e, 1), APR_SUCCESS);
    counted(0, 1, 0, 0);
    says(APR_BUCKET_NEXT(e), "bc");
    apr_brigade_cleanup(bb);
}

static void transient_data_is_copied_when_it_waits(void **state)
{
    char passing[] = "passing";
    apr_bucket *e = apr_bucket_transient_create(passing, 7, list);

    counted(0, 0, 0, 0);
    assert_int_equal(apr_bucket_setaside(e, pool), APR_SUCCESS);
    counted(1, 0, 1, 7);
    memset(passing, 'x', 7);
    says(e, "passing");
    apr_bucket_destroy(e);
}

static void metadata_is_no_buffer(void **state)
{
    apr_bucket *e = apr_bucket_eos_create(list), *copy;

    assert_int_equal(apr_bucket_copy(e, &copy), APR_SUCCESS);
    apr_bucket_destroy(e);
    apr_bucket_destroy(copy);
    counted(0, 0, 0, 0);
}

static void counted_by_hand(void **state)
{
    brg_buffer_created();
    brg_buffer_shared();
    brg_buffer_copied(1000);
    brg_buffer_copied(24);
    counted(1, 1, 2, 1024);
}

static int started(void **state)
{
    return apr_initialize();
}

#define WITH_POOL(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_POOL(copies_are_one_allocation),
        WITH_POOL(buffers_of_their_own),
        WITH_POOL(references),
        WITH_POOL(text_without_an_owner),
        WITH_POOL(transient_data_is_copied_when_it_waits),
        WITH_POOL(metadata_is_no_buffer),
        WITH_POOL(counted_by_hand),
    };

    return cmocka_run_group_tests(tests, started, NULL);
}
