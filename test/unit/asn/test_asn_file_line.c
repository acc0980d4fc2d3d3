/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of files with networks, and the text of what is found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "asn_module.h"

/* "prefix asn asn", or what is wrong, or "" */
static const char *read_as(const char *text)
{
    static char out[200];
    char copy[200];
    const char *wrong;
    asn_line line;
    int n;

    snprintf(copy, sizeof copy, "%s", text);
    if ((wrong = asn_line_parse(copy, &line)))
        return wrong;
    if (!line.origins_count)
        return "";
    n = (int)brg_asn_prefix_text(line.first.family, line.first.address, line.first.length, out);
    for (int i = 0; i < line.origins_count; i++)
        n += snprintf(out + n, sizeof out - (size_t)n, " %u", line.origins[i]);
    return out;
}

static void test_lines(void **state)
{
    assert_string_equal(read_as("192.0.2.0/24 64496\n"), "192.0.2.0/24 64496");
    assert_string_equal(read_as("192.0.2.99/24\tAS64496 name of it\r\n"), "192.0.2.0/24 64496");
    assert_string_equal(read_as("2001:db8::/32,4294967295"), "2001:db8::/32 4294967295");
    assert_string_equal(read_as("1.0.0.0\t24\t13335_4134"), "1.0.0.0/24 13335 4134");
    assert_string_equal(read_as("1.0.0.0\t24\t{1,2}"), "1.0.0.0/24 1 2");
    assert_string_equal(read_as("# comment"), "");
    assert_string_equal(read_as("\n"), "");
    assert_string_equal(read_as("1.0.1.0\t1.0.3.255\t0\tNone\tNot routed"), "");
    assert_string_equal(read_as("1.0.0.0/33 1"), "no length of a prefix");
    assert_string_equal(read_as("1.0.0.0/-1 1"), "no length of a prefix");
    assert_string_equal(read_as("1.0.0/24 1"), "no address");
    assert_string_equal(read_as("1.0.0.0/24 4294967296"), "no AS number");
    assert_string_equal(read_as("1.0.0.0/24"), "no AS number");
    assert_string_equal(read_as("1.0.0.9 1.0.0.8 5"), "the range ends before it begins");
    assert_string_equal(read_as("1.0.0.9 2001:: 5"), "the range ends before it begins");
}

static void test_ranges(void **state)
{
    static const char *const all[] = {"10.0.0.3/32", "10.0.0.4/30", "10.0.0.8/29", "10.0.0.16/32"};
    char text[] = "\"10.0.0.3\",\"10.0.0.16\",\"64496\",\"a, b\"", got[ASN_PREFIX_TEXT];
    brg_asn_prefix p;
    asn_line line;

    assert_null(asn_line_parse(text, &line));
    for (size_t i = 0; i < 4; i++) {
        assert_true(asn_line_next(&line, &p));
        brg_asn_prefix_text(p.family, p.address, p.length, got);
        assert_string_equal(got, all[i]);
    }
    assert_false(asn_line_next(&line, &p));
}

static void test_all_of_it_is_one_prefix(void **state)
{
    char text[] = "0.0.0.0 255.255.255.255 1";
    brg_asn_prefix p;
    asn_line line;

    assert_null(asn_line_parse(text, &line));
    assert_true(asn_line_next(&line, &p));
    assert_int_equal(p.length, 0);
    assert_false(asn_line_next(&line, &p));
}

static void test_texts(void **state)
{
    static const unsigned char path[] = {2, 2, 0, 0, 251, 240, 0, 0, 252, 0,
                                         1, 2, 0, 1, 0,   0,   0, 0, 0,   9};
    brg_asn_detail d = {.path_bytes = sizeof path,
                        .communities_count = 2,
                        .large_count = 1,
                        .communities = {64496u << 16 | 100, 5},
                        .large = {64496, 1, 2}};
    char text[100];

    memcpy(d.path, path, sizeof path);
    assert_int_equal(brg_asn_path_text(&d, text, sizeof text), strlen("64496 64512 {65536,9}"));
    assert_string_equal(text, "64496 64512 {65536,9}");
    brg_asn_path_text(&d, text, 14); /* what does not fit is left out, whole */
    assert_string_equal(text, "64496 64512");
    brg_asn_communities_text(&d, text, sizeof text);
    assert_string_equal(text, "64496:100 0:5 64496:1:2");
    assert_int_equal(brg_asn_path_origin(path, sizeof path), 65536);
    assert_int_equal(brg_asn_path_origin(path, 10), 64512);
    assert_int_equal(brg_asn_path_origin(path, 9), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_all_of_it_is_one_prefix),
                                       cmocka_unit_test(test_texts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
