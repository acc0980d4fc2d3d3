/* SPDX-License-Identifier: Apache-2.0 */
/* RequestReadTimeout: what reaches the event loops. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "test_pool.h"
#include "test_directive.h"
#include "apr_hooks.h"
#include "brigade/read_timeout.h"

extern module AP_MODULE_DECLARE_DATA reqtimeout_module;

/* Optional functions are remembered for the life of the program. */
static int register_once(void **state)
{
    apr_initialize();
    apr_pool_create(&apr_hook_global_pool, NULL);
    reqtimeout_module.register_hooks(apr_hook_global_pool);
    return 0;
}

static server_rec *reqtimeout_server(const char *first, const char *second)
{
    server_rec *s = apr_pcalloc(test_pool, sizeof(*s));
    void *conf = reqtimeout_module.create_server_config(test_pool, s);

    s->module_config = test_config_vector(test_pool, &reqtimeout_module, conf);
    if (first) {
        assert_null(test_directive(test_pool, &reqtimeout_module, s, NULL, NULL, first));
    }
    if (second) {
        assert_null(test_directive(test_pool, &reqtimeout_module, s, NULL, NULL, second));
    }
    return s;
}

static brg_read_timeouts reqtimeout_of(const server_rec *s)
{
    APR_OPTIONAL_FN_TYPE(brg_read_timeouts_of) * fn;
    brg_read_timeouts out;

    fn = APR_RETRIEVE_OPTIONAL_FN(brg_read_timeouts_of);
    assert_non_null(fn);
    memset(&out, 0xff, sizeof(out));
    fn(s, &out);
    return out;
}

static void check_stage(const brg_read_timeout *stage, int first, int max, int min_rate)
{
    assert_int_equal(apr_time_sec(stage->first_us), first);
    assert_int_equal(apr_time_sec(stage->max_us), max);
    assert_int_equal(stage->min_rate, min_rate);
}

static void defaults_hold_without_directive(void **state)
{
    brg_read_timeouts t = reqtimeout_of(reqtimeout_server(NULL, NULL));

    check_stage(&t.handshake, 0, 0, 0);
    check_stage(&t.header, 20, 40, 500);
    check_stage(&t.body, 20, 0, 500);
}

static void stages_are_set_one_by_one(void **state)
{
    brg_read_timeouts t = reqtimeout_of(reqtimeout_server(
        "RequestReadTimeout HEADER=10-30,minrate=7 handshake=5", "RequestReadTimeout handshake=6"));

    check_stage(&t.handshake, 6, 0, 0);
    check_stage(&t.header, 10, 30, 7);
    check_stage(&t.body, 20, 0, 500);
}

static void a_later_directive_replaces_the_stage(void **state)
{
    brg_read_timeouts t = reqtimeout_of(reqtimeout_server(
        "RequestReadTimeout header=10-30,MinRate=7", "RequestReadTimeout header=0"));

    check_stage(&t.header, 0, 0, 0);
}

static void virtual_hosts_inherit_by_stage(void **state)
{
    server_rec *base = reqtimeout_server("RequestReadTimeout header=10-30,MinRate=7 body=9", NULL);
    server_rec *vhost = reqtimeout_server("RequestReadTimeout header=3", NULL);
    brg_read_timeouts t;

    vhost->module_config = test_config_vector(
        test_pool, &reqtimeout_module,
        reqtimeout_module.merge_server_config(
            test_pool, ap_get_module_config(base->module_config, &reqtimeout_module),
            ap_get_module_config(vhost->module_config, &reqtimeout_module)));
    t = reqtimeout_of(vhost);
    check_stage(&t.header, 3, 0, 0);
    check_stage(&t.body, 9, 0, 0);
}

static void mistakes_are_refused(void **state)
{
    static const char *const lines[] = {
        "header",
        "header=",
        "header=x",
        "header=5s",
        "header=-1",
        "header=10-20",
        "header=20-10,MinRate=5",
        "header=5,MinRate=0",
        "header=5,MinRate=",
        "what=5",
        "header=5 body",
    };
    size_t i;

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        server_rec *s = reqtimeout_server(NULL, NULL);

        assert_non_null(
            test_directive(test_pool, &reqtimeout_module, s, NULL, NULL,
                           apr_pstrcat(test_pool, "RequestReadTimeout ", lines[i], NULL)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(defaults_hold_without_directive),
        TEST_WITH_POOL(stages_are_set_one_by_one),
        TEST_WITH_POOL(a_later_directive_replaces_the_stage),
        TEST_WITH_POOL(virtual_hosts_inherit_by_stage),
        TEST_WITH_POOL(mistakes_are_refused),
    };

    return cmocka_run_group_tests(tests, register_once, NULL);
}
