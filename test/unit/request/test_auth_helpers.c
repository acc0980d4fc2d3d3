/* SPDX-License-Identifier: Apache-2.0 */
/* Names and passwords of Basic fields. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_pool.h"
#include "test_request.h"
#include "http_protocol.h"

static const char *user, *password;

static apr_status_t components(const char *name, const char *value, int proxyreq)
{
    request_rec *r = test_request(test_pool);

    r->proxyreq = proxyreq;
    if (value)
        apr_table_setn(r->headers_in, name, value);
    user = password = NULL;
    return ap_get_basic_auth_components(r, &user, &password);
}

static void test_components(void **state)
{
    assert_int_equal(components("Authorization", "Basic dTpwOnE=", 0), APR_SUCCESS);
    assert_string_equal(user, "u");
    assert_string_equal(password, "p:q");
    assert_int_equal(components("Authorization", "bAsIc \t dTo=", 0), APR_SUCCESS);
    assert_string_equal(user, "u");
    assert_string_equal(password, "");
    assert_int_equal(components("Authorization", "Basic\tdTpw", 0), APR_SUCCESS);
    assert_string_equal(password, "p");
    assert_int_equal(components("Authorization", "Basic", 0), APR_SUCCESS);
    assert_string_equal(user, "");
}

static void test_others(void **state)
{
    assert_int_equal(components("Authorization", NULL, 0), APR_EINVAL);
    assert_int_equal(components("Authorization", "Digest dTpw", 0), APR_EINVAL);
    assert_int_equal(components("Authorization", "Basicx dTpw", 0), APR_EINVAL);
    assert_int_equal(components("Authorization", "Bas", 0), APR_EINVAL);
    assert_null(user);
    assert_null(password);
}

/* A forward proxy has a field of its own. */
static void test_proxies(void **state)
{
    assert_int_equal(components("Proxy-Authorization", "Basic dTpw", PROXYREQ_PROXY), APR_SUCCESS);
    assert_string_equal(user, "u");
    assert_int_equal(components("Authorization", "Basic dTpw", PROXYREQ_PROXY), APR_EINVAL);
    assert_int_equal(components("Proxy-Authorization", "Basic dTpw", PROXYREQ_REVERSE), APR_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_components), TEST_WITH_POOL(test_others),
                                       TEST_WITH_POOL(test_proxies)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
