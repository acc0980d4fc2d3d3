/* SPDX-License-Identifier: Apache-2.0 */
/* The proxies of mod_remoteip as they are configured. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "apr_strings.h"

static void check(const char *args, const char *why)
{
    static const char *const names[] = {"RemoteIPInternalProxy", "RemoteIPTrustedProxy"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *line = apr_pstrcat(test_process->pool, names[i], " ", args, NULL);

        if (test_config_read(line) != !why || (why && !strstr(test_messages, why)))
            fail_msg("%s: \"%s\", not \"%s\"", line, test_messages, why ? why : "");
    }
}

static void test_words(void **state)
{
    check("10.0.0.1", NULL);
    check("10.0.0.0/8 192.0.2.1", NULL);
    check("10.0.0.0/255.0.0.0", NULL);
    check("2001:db8::1 fd00::/8", NULL);
    check("10.0.0.0/33", "is no address, and no network such as 10.0.0.0/8");
    check("10.0.0.300", "is no address, and no network");
    check("a/8", "is no address, and no network");
    check("no_name.invalid", "is no address, no network and no name that is known");
}

/* Words of lines, with comments. */
static void test_lists(void **state)
{
    const char *good = test_config_file("good", "# mine\n10.0.0.1 10.1.0.0/16\n\nfd00::/8 # all\n"),
               *bad = test_config_file("bad", "10.0.0.1\n10.0.0.0/99\n");
    apr_pool_t *p = test_process->pool;

    assert_true(test_config_read(apr_pstrcat(p, "RemoteIPInternalProxyList ", good, NULL)));
    assert_true(test_config_read(apr_pstrcat(p, "RemoteIPTrustedProxyList ", good, NULL)));
    assert_false(test_config_read(apr_pstrcat(p, "RemoteIPTrustedProxyList ", bad, NULL)));
    assert_non_null(strstr(test_messages, "10.0.0.0/99 is no address"));
    assert_false(test_config_read("RemoteIPTrustedProxyList /no/such/file"));
    assert_non_null(strstr(test_messages, "cannot open /no/such/file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_lists)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
