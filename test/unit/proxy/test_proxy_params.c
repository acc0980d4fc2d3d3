/* SPDX-License-Identifier: Apache-2.0 */
/* What parameters take and refuse: as Apache 2.4 does, which test/compat compares. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "proxy_private.h"
#include "test_config.h"

static void workers_take_these(void **state)
{
    static const struct {
        const char *param, *message; /* NULL: it is taken */
    } cases[] = {
        {"loadfactor=1.5", NULL},
        {"loadfactor=0", "LoadFactor must be a number between 1..100"},
        {"retry=0", NULL},
        {"retry=-1", "Retry must be a positive value"},
        {"ttl=0", "TTL must be at least one second"},
        {"acquire=1s", NULL},
        {"acquire=x", "Acquire timeout has wrong format"},
        {"timeout=5ms", NULL},
        {"timeout=0", "Timeout must be at least one second"},
        {"ping=0", "Ping/Pong timeout must be at least one millisecond"},
        {"flushwait=1001", "flushwait must be <= 1000, or 0 for system default of 10 millseconds."},
        {"addressttl=-1", NULL},
        {"addressttl=-1x",
         "AddressTTL must be -1 or a number of seconds not exceeding (2147483647)"},
        {"status=+E-D", NULL},
        {"status=+", "Unknown status parameter option"},
        {"lbset=100", "lbset must be between 0 and 99"},
        {"hcmethod=CPING", "Health check method CPING not (yet) implemented"},
        {"hcinterval=99ms", "Interval must be a positive value greater than 100ms"},
        {"MIN=4", NULL},
        {"eject=0", "Eject must be a number of failures"},
        {"slowstart=30", NULL},
        {"lbmethod=byrequests", "unknown Worker hcheck parameter"},
    };
    char text[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "ProxyPass / http://a/ %s\n", cases[i].param);
        assert_int_equal(test_config_read(text), !cases[i].message);
        if (cases[i].message)
            assert_non_null(strstr(test_messages, cases[i].message));
    }
}

static void balancers_take_these(void **state)
{
    static const char *const taken[] = {"stickysession=a|b",
                                        "stickysessionsep=off",
                                        "nofailover=on",
                                        "growth=5",
                                        "failonstatus=500,503",
                                        "lbmethod=random2",
                                        "lbmethod=hash hashkey=client",
                                        "nonce=None",
                                        "retrybudget=20",
                                        NULL};
    static const char *const refused[] = {
        "stickysessionsep=ab", "nofailover=x", "growth=0", "failonstatus=50", "lbmethod=foo",
        "maxattempts=-1",      "timeout=0",    "min=2",    "retrybudget=0",   NULL};
    char text[256];

    for (int i = 0; taken[i]; i++) {
        snprintf(text, sizeof text, "ProxyPass / balancer://a %s\n", taken[i]);
        assert_true(test_config_read(text));
    }
    for (int i = 0; refused[i]; i++) {
        snprintf(text, sizeof text, "ProxyPass / balancer://a %s\n", refused[i]);
        assert_false(test_config_read(text));
    }
}

static void values_arrive(void **state)
{
    const proxy_worker *w;

    assert_true(test_config_read(
        "ProxyTimeout 7\nProxyPass /a unix:/run/s|fcgi://h/p max=9 ttl=3 enablereuse=on "
        "connectiontimeout=1500ms flushpackets=auto route=r status=+H upgrade=any\n"
        "ProxyPass /b HTTP://B:8080/X\n"));
    w = APR_ARRAY_IDX(proxy_conf_of(ap_server_conf)->workers, 0, proxy_worker *);
    assert_string_equal(w->name, "fcgi://h/p");
    assert_string_equal(w->socket, "/run/s");
    assert_int_equal(w->scheme, PROXY_SCHEME_FCGI);
    assert_int_equal(w->params.max, 9);
    assert_int_equal(w->params.ttl, apr_time_from_sec(3));
    assert_false(w->params.no_reuse);
    assert_int_equal(proxy_connect_timeout(w, ap_server_conf), 1500000);
    assert_int_equal(proxy_timeout(w, ap_server_conf), apr_time_from_sec(7));
    assert_int_equal(w->params.flush, PROXY_FLUSH_AUTO);
    assert_string_equal(w->params.upgrade, "*");
    assert_int_equal(w->params.status, PROXY_STATUS_HOT_STANDBY | PROXY_STATUS_IGNORE_ERRORS);
    w = APR_ARRAY_IDX(proxy_conf_of(ap_server_conf)->workers, 1, proxy_worker *);
    assert_string_equal(w->name, "http://b:8080/X");
    assert_string_equal(w->host, "b");
    assert_int_equal(w->port, 8080);
    assert_false(w->params.no_reuse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_take_these),
        cmocka_unit_test(balancers_take_these),
        cmocka_unit_test(values_arrive),
    };

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
