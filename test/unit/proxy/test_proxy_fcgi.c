/* SPDX-License-Identifier: Apache-2.0 */
/* What a FastCGI backend is sent: the first record, whatever lay in the memory that it is made in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_exchange.h"

#define ROOM 200000

static void the_first_record(void **state)
{
    static const char begin[16] = {1, 1, 0, 1, 0, 8, 0, 0, 0, 1};
    apr_pool_t *pool;
    proxy_exchange *x;
    char *sent;
    apr_size_t n;

    exchange_server();
    apr_pool_create(&pool, test_process->pool);
    memset(apr_palloc(pool, ROOM), 0xff, ROOM);
    apr_pool_clear(pool);
    x = exchange_make(pool, &proxy_fcgi_codec, PROXY_SCHEME_FCGI, "fcgi", 0);
    assert_int_equal(apr_brigade_pflatten(x->out, &sent, &n, pool), APR_SUCCESS);
    assert_true(n > sizeof begin);
    assert_memory_equal(sent, begin, sizeof begin);
    exchange_free(x);
    apr_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_record)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
