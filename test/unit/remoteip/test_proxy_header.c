/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of the PROXY protocol that say nothing of a client: they are complete, and name no address. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "proxy_header.h"

#define V2 "\r\n\r\n\0\r\nQUIT\n"

static void says_nothing(const char *header, size_t len)
{
    proxy_source source = {.family = 0};
    const char *why = NULL;

    for (size_t n = 0; n < len; n++)
        assert_int_equal(proxy_header_read((const unsigned char *)header, n, &source, &why), 0);
    assert_int_equal(proxy_header_read((const unsigned char *)header, len, &source, &why), len);
    assert_int_equal(source.family, 0);
}

static void a_proxy_that_speaks_for_itself(void **state)
{
    static const char local[] = V2 "\x20\x00\x00\x00";

    says_nothing(local, sizeof local - 1);
}

static void an_address_that_is_not_known(void **state)
{
    static const char unknown[] = "PROXY UNKNOWN\r\n", unspec[] = V2 "\x21\x00\x00\x00";

    says_nothing(unknown, sizeof unknown - 1);
    says_nothing(unspec, sizeof unspec - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_proxy_that_speaks_for_itself),
                                       cmocka_unit_test(an_address_that_is_not_known)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
