/* SPDX-License-Identifier: Apache-2.0 */
/* A response that the filters of the connection did not take is told of once, and ends the connection. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "http_core.h"
#include "http_log.h"
#include "log_settings.h"
#include "mod_core.h"
#include "test_pool.h"
#include "test_request.h"

static unsigned told;

static void hear(const ap_errorlog_info *info, const char *text)
{
    told += strstr(text, "could not be sent whole") != NULL;
}

static apr_status_t fails(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_brigade_cleanup(bb);
    return APR_EGENERAL;
}

static void send_pieces(int client_left)
{
    request_rec *r = test_request(test_pool);
    ap_filter_rec_t failing = {.name = "fails", .filter_func.out_func = fails};
    ap_filter_t next = {.frec = &failing, .r = r, .c = r->connection},
                f = {.r = r, .c = r->connection, .next = &next};

    r->server->log.level = APLOG_ERR;
    r->connection->aborted = (unsigned)client_left;
    r->connection->keepalive = AP_CONN_KEEPALIVE;
    told = 0;
    log_tell(hear);
    for (int i = 0; i < 3; i++) {
        apr_bucket_brigade *bb = apr_brigade_create(test_pool, r->connection->bucket_alloc);

        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create("x", 1, bb->bucket_alloc));
        assert_int_equal(ap_http_outerror_filter(&f, bb), APR_EGENERAL);
    }
    log_tell(NULL);
    assert_int_equal(r->connection->keepalive, AP_CONN_CLOSE);
}

static void it_is_told_once(void **state)
{
    send_pieces(0);
    assert_int_equal(told, 1);
}

static void of_clients_that_left_nothing_is(void **state)
{
    send_pieces(1);
    assert_int_equal(told, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(it_is_told_once),
                                       TEST_WITH_POOL(of_clients_that_left_nothing_is)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
