/* SPDX-License-Identifier: Apache-2.0 */
/* The end-of-request bucket: a request is logged once, whichever of bucket and pool goes first. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "httpd.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_hooks.h"
#include "apr_strings.h"

static apr_pool_t *pool;
static conn_rec *conn;
static request_rec *request;
static int logged, alive;

/* Subpools of the request must still be there. */
static int count_log(request_rec *r)
{
    logged++;
    alive = apr_table_get(r->notes, "in subpool") != NULL;
    return OK;
}

static int setup(void **state)
{
    apr_pool_t *rpool, *sub;

    apr_pool_create(&pool, NULL);
    apr_hook_global_pool = pool;
    apr_hook_deregister_all();
    ap_hook_log_transaction(count_log, NULL, NULL, APR_HOOK_MIDDLE);
    conn = apr_pcalloc(pool, sizeof *conn);
    conn->pool = pool;
    conn->bucket_alloc = apr_bucket_alloc_create(pool);
    apr_pool_create(&rpool, pool);
    apr_pool_create(&sub, rpool);
    request = apr_pcalloc(rpool, sizeof *request);
    request->pool = rpool;
    request->connection = conn;
    request->notes = apr_table_make(sub, 1);
    apr_table_set(request->notes, "in subpool", "yes");
    logged = alive = 0;
    return 0;
}

static int teardown(void **state)
{
    apr_hook_deregister_all();
    apr_hook_global_pool = NULL;
    apr_pool_destroy(pool);
    return 0;
}

static apr_bucket_brigade *brigade_with_end(void)
{
    apr_bucket_brigade *bb = apr_brigade_create(pool, conn->bucket_alloc);
    apr_bucket *eor = ap_bucket_eor_create(conn->bucket_alloc, request);

    assert_true(AP_BUCKET_IS_EOR(eor));
    assert_true(APR_BUCKET_IS_METADATA(eor));
    assert_int_equal(eor->length, 0);
    APR_BRIGADE_INSERT_TAIL(bb, eor);
    return bb;
}

static void bucket_first(void **state)
{
    apr_bucket_brigade *bb = brigade_with_end();

    assert_int_equal(logged, 0);
    apr_brigade_cleanup(bb);
    assert_int_equal(logged, 1);
    assert_int_equal(alive, 1);
}

static void pool_first(void **state)
{
    apr_bucket_brigade *bb = brigade_with_end();

    apr_pool_destroy(request->pool);
    assert_int_equal(logged, 1);
    assert_int_equal(alive, 1);
    apr_brigade_cleanup(bb);
    assert_int_equal(logged, 1);
}

static void set_aside_it_stays_the_same(void **state)
{
    apr_bucket_brigade *bb = brigade_with_end();

    assert_int_equal(apr_bucket_setaside(APR_BRIGADE_FIRST(bb), pool), APR_SUCCESS);
    assert_int_equal(logged, 0);
    apr_brigade_cleanup(bb);
    assert_int_equal(logged, 1);
}

static void without_a_request_nothing_happens(void **state)
{
    apr_bucket_delete(ap_bucket_eor_create(conn->bucket_alloc, NULL));
    assert_int_equal(logged, 0);
}

static void errors_are_carried(void **state)
{
    apr_pool_t *brief;
    apr_bucket *e, *copy;
    ap_bucket_error *error;

    apr_pool_create(&brief, pool);
    e = ap_bucket_error_create(HTTP_GONE, "why", brief, conn->bucket_alloc);
    assert_true(AP_BUCKET_IS_ERROR(e));
    assert_int_equal(apr_bucket_setaside(e, pool), APR_SUCCESS);
    apr_pool_destroy(brief);
    assert_int_equal(apr_bucket_copy(e, &copy), APR_SUCCESS);
    apr_bucket_destroy(e);
    error = copy->data;
    assert_int_equal(error->status, HTTP_GONE);
    assert_string_equal(error->data, "why");
    apr_bucket_destroy(copy);
}

#define END_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        END_TEST(bucket_first),
        END_TEST(pool_first),
        END_TEST(set_aside_it_stays_the_same),
        END_TEST(without_a_request_nothing_happens),
        END_TEST(errors_are_carried),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
