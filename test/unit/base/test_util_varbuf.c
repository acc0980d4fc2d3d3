/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "http_config.h"
#include "util_varbuf.h"
#include "test_pool.h"

static void test_append(void **state)
{
    struct ap_varbuf vb;
    apr_size_t len;

    ap_varbuf_init(test_pool, &vb, 0);
    assert_string_equal(vb.buf, "");
    ap_varbuf_strmemcat(&vb, "xyz", 0);
    assert_int_equal(vb.avail, 0);
    ap_varbuf_strmemcat(&vb, "abcdef", 3);
    assert_string_equal(vb.buf, "abc");
    ap_varbuf_strcat(&vb, "def");
    assert_string_equal(vb.buf, "abcdef");
    assert_int_equal(vb.strlen, 6);
    vb.buf[2] = '\0';
    vb.strlen = AP_VARBUF_UNKNOWN;
    ap_varbuf_strcat(&vb, "!");
    assert_string_equal(vb.buf, "ab!");
    assert_string_equal(ap_varbuf_pdup(test_pool, &vb, "<<", 2, ">", 1, &len), "<<ab!>");
    assert_int_equal(len, 6);
    assert_string_equal(ap_varbuf_pdup(test_pool, &vb, NULL, 0, NULL, 0, NULL), "ab!");
}

/* Through pool memory into allocator nodes and on: what was written stays. */
static void test_growth(void **state)
{
    struct ap_varbuf vb;
    int i;

    ap_varbuf_init(test_pool, &vb, 10);
    for (i = 0; i < 100000; i++) {
        char c = (char)('a' + i % 26);

        ap_varbuf_strmemcat(&vb, &c, 1);
    }
    assert_int_equal(vb.strlen, 100000);
    assert_true(vb.avail >= 100000);
    for (i = 0; i < 100000; i++)
        assert_int_equal(vb.buf[i], 'a' + i % 26);
    ap_varbuf_free(&vb);
    assert_null(vb.buf);
    ap_varbuf_init(test_pool, &vb, 50000);
    ap_varbuf_strcat(&vb, "again");
    assert_string_equal(vb.buf, "again");
}

/* A node goes back with the pool even if nobody frees the buffer. */
static void test_pool_clear(void **state)
{
    struct ap_varbuf vb;
    int i;

    for (i = 0; i < 10; i++) {
        ap_varbuf_init(test_pool, &vb, 100000);
        apr_pool_clear(test_pool);
    }
}

static void test_regsub(void **state)
{
    ap_regmatch_t groups[3] = {{1, 4}, {2, 3}, {-1, -1}};
    struct ap_varbuf vb;

    ap_varbuf_init(test_pool, &vb, 0);
    ap_varbuf_strcat(&vb, "pre:");
    assert_int_equal(ap_varbuf_regsub(&vb, "$0-$1-$2-\\$1", "xabcx", 3, groups, 0), APR_SUCCESS);
    assert_string_equal(vb.buf, "pre:abc-b--$1");
    assert_int_equal(ap_varbuf_regsub(&vb, "$0$0", "xabcx", 3, groups, 6), APR_ENOMEM);
    assert_string_equal(vb.buf, "pre:abc-b--$1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_append),
        TEST_WITH_POOL(test_growth),
        TEST_WITH_POOL(test_pool_clear),
        TEST_WITH_POOL(test_regsub),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
