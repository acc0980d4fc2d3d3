/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of clients as logs show them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "brigade/client_mask.h"

#include <string.h>

static void holds(const char *v4, const char *v6, const char *ip, const char *want)
{
    char out[BRG_CLIENT_MASK_ROOM];
    brg_client_mask mask;
    apr_size_t n;

    assert_true(brg_client_mask_parse(v4, v6, &mask));
    n = brg_client_masked(&mask, ip, out);
    assert_string_equal(out, want);
    assert_int_equal(n, strlen(want));
}

static void bits(void **state)
{
    holds("24", "48", "192.0.2.255", "192.0.2.0");
    holds("31", "48", "192.0.2.255", "192.0.2.254");
    holds("0", "0", "192.0.2.255", "0.0.0.0");
    holds("32", "128", "255.255.255.255", "255.255.255.255");
    holds("13", "48", "10.255.1.1", "10.248.0.0");
    holds("24", "48", "2001:db8:1:ffff::1", "2001:db8:1::");
    holds("24", "45", "2001:db8:ffff::1", "2001:db8:fff8::");
    holds("24", "0", "2001:db8:ffff::1", "::");
    holds("24", "128", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    holds("24", "64", "fe80::1%eth0", "fe80::");
    holds("24", "128", "::ffff:192.0.2.9", "192.0.2.0");
}

static void what_is_no_address(void **state)
{
    holds("24", "48", NULL, "-");
    holds("24", "48", "", "-");
    holds("24", "48", "host.example", "-");
    holds("24", "48", "/run/a/socket/with/a/path/that/is/longer/than/any/address/is", "-");
}

static void masks(void **state)
{
    brg_client_mask mask;

    assert_false(brg_client_mask_parse("33", "48", &mask));
    assert_false(brg_client_mask_parse("24", "129", &mask));
    assert_false(brg_client_mask_parse("", "48", &mask));
    assert_false(brg_client_mask_parse("-1", "48", &mask));
    assert_false(brg_client_mask_parse("24", "48 ", &mask));
    assert_false(brg_client_mask_parse("4294967297", "48", &mask));
}

static void salted(const char *ip, int day, char *out)
{
    apr_size_t n = brg_client_salted(ip, apr_time_from_sec(86400) * day, out);

    assert_int_equal(n, strlen(out));
}

static void hashes(void **state)
{
    static unsigned char key[BRG_CLIENT_SALT_BYTES] = "0123456789abcdef";
    char a[BRG_CLIENT_MASK_ROOM], b[BRG_CLIENT_MASK_ROOM];

    salted("192.0.2.1", 3, a);
    assert_string_equal(a, "-"); /* no key: better nothing than what anybody can compute */
    brg_client_salt_set(key);
    salted("192.0.2.1", 3, a);
    salted("::ffff:192.0.2.1", 3, b);
    assert_int_equal(strlen(a), 16);
    assert_string_equal(a, b);
    salted("192.0.2.1", 4, b);
    assert_string_not_equal(a, b);
    salted("192.0.2.2", 3, b);
    assert_string_not_equal(a, b);
    key[0]++;
    salted("192.0.2.1", 3, b);
    assert_string_not_equal(a, b);
    salted("nobody", 3, b);
    assert_string_equal(b, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits), cmocka_unit_test(what_is_no_address),
                                       cmocka_unit_test(masks), cmocka_unit_test(hashes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
