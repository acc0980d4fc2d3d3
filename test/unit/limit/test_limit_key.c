/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of limits: which part of an address counts, that keys of other subjects are others, and how people read them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "limit_private.h"

static void *memory;

static int setup(void **state)
{
    memory = calloc(1, limit_table_bytes(LIMIT_KEYS_LEAST, 1));
    assert_non_null(memory);
    return limit_table_open(&limit_shared, memory, LIMIT_KEYS_LEAST, 1);
}

static int teardown(void **state)
{
    limit_shared = (limit_table){0};
    free(memory);
    return 0;
}

static const uint8_t four[] = {192, 0, 2, 255};
static const uint8_t six[16] = {0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4};

static limit_subject of(const limit *l, const uint8_t *address, size_t len)
{
    limit_subject subject = {.who = "", .what = ""};

    (void)limit_subject_who(l, &subject, address, len);
    if (subject.who == NULL)
        subject.who = "";
    return subject;
}

static limit_subject about(const char *who, const char *what)
{
    return (limit_subject){
        .who = who, .what = what, .who_len = strlen(who), .what_len = strlen(what)};
}

static uint64_t key(uint64_t id, const char *who, const char *what)
{
    const limit l = {.id = id};
    const limit_subject subject = about(who, what);

    return limit_key_of(&l, 0, &subject);
}

static void a_client_is_its_whole_address(void **state)
{
    const limit l = {.who = LIMIT_CLIENT};
    const limit_subject a = of(&l, four, sizeof four), b = of(&l, six, sizeof six);

    assert_int_equal(a.who_len, 4);
    assert_memory_equal(a.who, four, 4);
    assert_int_equal(b.who_len, 16);
    assert_memory_equal(b.who, six, 16);
}

static void anyone_has_no_address(void **state)
{
    const limit l = {.who = LIMIT_ANYONE};
    limit_subject subject = {.what = ""};

    assert_int_equal(limit_subject_who(&l, &subject, four, sizeof four), 1);
    assert_int_equal(subject.who_len, 0);
    assert_int_equal(limit_subject_who(&l, &subject, NULL, 0), 1);
}

static void without_an_address_there_is_no_client(void **state)
{
    const limit client = {.who = LIMIT_CLIENT}, prefix = {.who = LIMIT_PREFIX, .bits = {24, 56}};
    limit_subject subject = {.what = ""};

    assert_int_equal(limit_subject_who(&client, &subject, NULL, 0), 0);
    assert_int_equal(limit_subject_who(&prefix, &subject, NULL, 0), 0);
}

static void a_prefix_drops_the_other_bits(void **state)
{
    static const struct {
        uint8_t bits, last[4];
    } cases[] = {{32, {192, 0, 2, 255}}, {31, {192, 0, 2, 254}}, {25, {192, 0, 2, 128}},
                 {24, {192, 0, 2, 0}},   {23, {192, 0, 2, 0}},   {22, {192, 0, 0, 0}},
                 {8, {192, 0, 0, 0}},    {1, {128, 0, 0, 0}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const limit l = {.who = LIMIT_PREFIX, .bits = {cases[i].bits, 1}};
        const limit_subject s = of(&l, four, sizeof four);

        assert_int_equal(s.who_len, 4);
        assert_memory_equal(s.room, cases[i].last, 4);
    }
}

static void a_prefix_of_ipv6_has_bits_of_its_own(void **state)
{
    const limit l = {.who = LIMIT_PREFIX, .bits = {1, 36}};
    const limit_subject s = of(&l, six, sizeof six);
    const uint8_t want[16] = {0x20, 0x01, 0x0d, 0xb8, 0xf0};

    assert_int_equal(s.who_len, 16);
    assert_memory_equal(s.room, want, 16);
}

static void a_network_without_a_table_is_not_known(void **state)
{
    const limit l = {.who = LIMIT_NETWORK};
    limit_subject subject = {.what = ""};

    assert_int_equal(limit_subject_who(&l, &subject, four, sizeof four), 0);
}

static void keys_of_one_subject_are_the_same(void **state)
{
    assert_true(key(7, "abcd", "") == key(7, "abcd", ""));
    assert_true(key(7, "abcd", "token") == key(7, "abcd", "token"));
    assert_true(key(7, "", "") == key(7, "", ""));
}

static void each_limit_has_keys_of_its_own(void **state)
{
    assert_true(key(7, "abcd", "") != key(8, "abcd", ""));
    assert_true(key(7, "abcd", "token") != key(8, "abcd", "token"));
    assert_true(key(7, "", "") != key(8, "", ""));
}

static void the_parts_of_a_key_do_not_mix(void **state)
{
    assert_true(key(7, "abcd", "efgh") != key(7, "abcde", "fgh"));
    assert_true(key(7, "abcdefg", "") != key(7, "abcdefh", ""));
    assert_true(key(7, "abcdefghijkl", "") != key(7, "abcdefghijkm", ""));
    assert_true(key(7, "abcdefghijkl", "") != key(7, "bbcdefghijkl", ""));
    assert_true(key(7, "abcd", "x") != key(7, "abcd", "y"));
}

/* Whatever its length: of one part that is hashed without a call, of two, in pieces. */
static void each_byte_of_a_field_counts(void **state)
{
    char text[600];

    for (size_t len = 1; len < sizeof text; len += len < 40 ? 1 : 37) {
        memset(text, 'a', len);
        text[len] = '\0';
        for (size_t at = 0; at < len; at += 1 + len / 16) {
            const uint64_t before = key(7, "", text), beside = key(7, "client", text);

            text[at] = 'b';
            assert_true(key(7, "", text) != before);
            assert_true(key(7, "client", text) != beside);
            text[at] = 'a';
        }
    }
}

static void the_fixed_part_counts(void **state)
{
    const limit l = {.id = 7};
    const limit_subject one = about("abcd", ""), two = about("abcd", "token");

    assert_true(limit_key_of(&l, 1, &one) != limit_key_of(&l, 2, &one));
    assert_true(limit_key_of(&l, 1, &two) != limit_key_of(&l, 2, &two));
}

static void costs_are_in_proportion_and_bounded(void **state)
{
    const limit l = {.each = 1 << 20};

    assert_int_equal(limit_cost(&l, 0), 0);
    assert_int_equal(limit_cost(&l, 1000), 1000);
    assert_int_equal(limit_cost(&l, 1 << 30), 1 << 30);
    assert_true(limit_cost(&(limit){.each = UINT64_C(1) << 50}, INT64_MAX) ==
                UINT64_C(1000000000000000000));
}

static const char *text(const limit *l, const limit_subject *subject)
{
    static char out[80];

    const size_t len = limit_text(l, subject, out, sizeof out);

    assert_int_equal(len, strlen(out));
    return out;
}

static void clients_read_as_addresses(void **state)
{
    static const uint8_t digits[] = {0, 9, 10, 199};
    const limit l = {.who = LIMIT_CLIENT};
    limit_subject s = of(&l, four, sizeof four);

    assert_string_equal(text(&l, &s), "192.0.2.255");
    s = of(&l, digits, sizeof digits);
    assert_string_equal(text(&l, &s), "0.9.10.199");
    s = of(&l, six, sizeof six);
    assert_string_equal(text(&l, &s), "2001:db8:ffff:ffff:102:304::");
}

static void prefixes_read_with_their_bits(void **state)
{
    const limit l = {.who = LIMIT_PREFIX, .bits = {24, 48}};
    limit_subject s = of(&l, four, sizeof four);

    s.who = s.room;
    assert_string_equal(text(&l, &s), "192.0.2.0/24");
    s = of(&l, six, sizeof six);
    s.who = s.room;
    assert_string_equal(text(&l, &s), "2001:db8:ffff::/48");
}

static void fields_stand_behind_clients(void **state)
{
    const limit client = {.who = LIMIT_CLIENT}, any = {.who = LIMIT_ANYONE};
    limit_subject s = of(&client, four, sizeof four);

    s.what = "token";
    s.what_len = 5;
    assert_string_equal(text(&client, &s), "192.0.2.255 token");
    assert_string_equal(text(&any, &s), "token");
    s.what_len = 0;
    assert_string_equal(text(&any, &s), "all");
}

static void text_has_no_control_characters_or_quotes(void **state)
{
    const limit l = {.who = LIMIT_ANYONE};
    const limit_subject s = about("", "a\"b\\c\nd\x7f"
                                      "e f");

    assert_string_equal(text(&l, &s), "a?b?c?d?e f");
}

static void text_is_cut_at_its_room(void **state)
{
    const limit l = {.who = LIMIT_ANYONE};
    const limit_subject s = about("", "0123456789");
    char out[8] = "-------";

    assert_int_equal(limit_text(&l, &s, out, 6), 5);
    assert_string_equal(out, "01234");
    assert_int_equal(out[6], '-');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_its_whole_address),
        cmocka_unit_test(anyone_has_no_address),
        cmocka_unit_test(without_an_address_there_is_no_client),
        cmocka_unit_test(a_prefix_drops_the_other_bits),
        cmocka_unit_test(a_prefix_of_ipv6_has_bits_of_its_own),
        cmocka_unit_test(a_network_without_a_table_is_not_known),
        cmocka_unit_test(keys_of_one_subject_are_the_same),
        cmocka_unit_test(each_limit_has_keys_of_its_own),
        cmocka_unit_test(the_parts_of_a_key_do_not_mix),
        cmocka_unit_test(each_byte_of_a_field_counts),
        cmocka_unit_test(the_fixed_part_counts),
        cmocka_unit_test(costs_are_in_proportion_and_bounded),
        cmocka_unit_test(clients_read_as_addresses),
        cmocka_unit_test(prefixes_read_with_their_bits),
        cmocka_unit_test(fields_stand_behind_clients),
        cmocka_unit_test(text_has_no_control_characters_or_quotes),
        cmocka_unit_test(text_is_cut_at_its_room),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
