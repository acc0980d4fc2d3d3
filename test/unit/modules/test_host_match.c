/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "host_match.h"

static void test_domains(void **state)
{
    static const struct {
        const char *domain, *host;
        int matches;
    } cases[] = {
        {"example.org", "example.org", 1},
        {"example.org", "foo.example.org", 1},
        {"example.org", "fooexample.org", 0},
        {".example.org", "foo.example.org", 1},
        {".example.org", "example.org", 0},
        {"EXAMPLE.org", "foo.example.ORG", 1},
        {"foo.example.org", "example.org", 0},
        {".net", "a.b.net", 1},
        {"net", "a.b.net", 1},
        {"et", "a.b.net", 0},
        {"example.org", "example.org.evil.test", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (host_match_domain(cases[i].domain, cases[i].host) != cases[i].matches) {
            fail_msg("%s in %s", cases[i].host, cases[i].domain);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_domains)};

    return cmocka_run_group_tests_name("host_match", tests, NULL, NULL);
}
