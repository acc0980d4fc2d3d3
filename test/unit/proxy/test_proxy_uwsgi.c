/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of uWSGI servers: a head as of HTTP, of any version. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_exchange.h"

static void a_head_of_any_version(void **state)
{
    static const char *const versions[] = {"HTTP/1.0", "HTTP/1.1", "HTTP/2.0"};

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        apr_pool_t *pool;
        proxy_exchange *x;
        const char *answer, *text;

        exchange_server();
        apr_pool_create(&pool, test_process->pool);
        x = exchange_make(pool, &proxy_uwsgi_codec, PROXY_SCHEME_UWSGI, "uwsgi", 0);
        answer = apr_pstrcat(pool, versions[i], " 404 Not here\r\nX-A: b\r\n\r\nabc", NULL);
        text = exchange_run(x, (const uint8_t *)answer, strlen(answer), strlen(answer));
        assert_string_equal(text, "404 404 Not here\nX-A: b\ncut\n616263");
        exchange_free(x);
        apr_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_head_of_any_version)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
