/* SPDX-License-Identifier: Apache-2.0 */
/* UPDATE: what comes and goes, and what a wrong attribute costs (RFC 7606). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bgp_message.h"

static bgp_terms terms;
static bgp_update u;
static bgp_fault fault;

static int setup(void **state)
{
    terms = (bgp_terms){.as4 = 1, .families = 3, .peer_as = 64511};
    return 0;
}

static size_t hex(const char *text, unsigned char *to)
{
    size_t n = 0;

    for (; *text; text += *text == ' ' ? 1 : 2)
        if (*text != ' ')
            to[n++] = (unsigned char)strtoul((char[]){text[0], text[1], 0}, NULL, 16);
    return n;
}

static unsigned char
    *message; /* of the last update: in memory of its own, so that reads behind it are seen */

static int parse(const unsigned char *body, size_t n)
{
    free(message);
    assert_non_null(message = malloc(n ? n : 1));
    if (n)
        memcpy(message, body, n);
    return bgp_update_parse((asn_bytes){message, n}, &terms, &u, &fault);
}

static int teardown(void **state)
{
    free(message);
    message = NULL;
    return 0;
}

static size_t put_field(unsigned char *to, const char *text)
{
    size_t n = hex(text, to + 2);

    to[0] = (unsigned char)(n >> 8);
    to[1] = (unsigned char)n;
    return n + 2;
}

/* Withdrawn prefixes, attributes, announced prefixes. @return 1, or 0 if the session ends */
static int update(const char *gone, const char *attributes, const char *come)
{
    unsigned char body[BGP_MESSAGE_MAX];
    size_t n = put_field(body, gone);

    n += put_field(body + n, attributes);
    n += hex(come, body + n);
    return parse(body, n);
}

static const char *listed(const bgp_prefixes *from)
{
    static char out[512];
    bgp_prefixes all = *from;
    brg_asn_prefix p;
    size_t n = 0;

    out[0] = 0;
    while (bgp_prefixes_next(&all, &p)) {
        n += (size_t)snprintf(out + n, sizeof out - n, n ? " " : "");
        n += brg_asn_prefix_text((brg_asn_family)p.family, p.address, p.length, out + n);
    }
    return out;
}

static const char *path(void)
{
    static char out[512];
    static brg_asn_detail detail;

    detail.path_bytes = u.attributes.path_bytes;
    assert_true(detail.path_bytes <= sizeof detail.path);
    memcpy(detail.path, u.attributes.path, detail.path_bytes);
    brg_asn_path_text(&detail, out, sizeof out);
    return out;
}

#define ORIGIN "400101 00 "
#define PATH "40020a 0202 0000fbff 00010001 "
#define HOP "400304 c0000201 "
#define GOOD ORIGIN PATH HOP
#define NET "18 c63364 "
#define NET6 "20 20010db8 "
#define REACH6 "800e1a 000201 10 20010db8000000000000000000000001 00 " NET6

static void test_routes(void **state)
{
    assert_true(update("18 c00002 10 0a01",
                       GOOD "c00808 fbff0001 fbff0002 c0200c 00000001 00000002 00000003 "
                            "c01008 0002fbff00000001",
                       NET "00 20 c6336405"));
    assert_null(u.as_withdrawn);
    assert_null(u.discarded);
    assert_string_equal(listed(&u.gone[BGP_OF_MESSAGE]), "192.0.2.0/24 10.1.0.0/16");
    assert_string_equal(listed(&u.come[BGP_OF_MESSAGE]),
                        "198.51.100.0/24 0.0.0.0/0 198.51.100.5/32");
    assert_string_equal(path(), "64511 65537");
    assert_int_equal(u.attributes.origin, 65537);
    assert_int_equal(bgp_path_length((asn_bytes){u.attributes.path, u.attributes.path_bytes}), 2);
    assert_int_equal(u.attributes.communities_count, 2);
    assert_int_equal(u.communities[1], 0xfbff0002);
    assert_int_equal(u.attributes.large_count, 1);
    assert_int_equal(u.large[2], 3);
    assert_int_equal(u.end_of_rib, 0);
}

static void test_families(void **state)
{
    assert_true(update("", ORIGIN PATH REACH6 "800f0a 000201 30 20010db80001", ""));
    assert_null(u.as_withdrawn);
    assert_string_equal(listed(&u.come[BGP_OF_ATTRIBUTE]), "2001:db8::/32");
    assert_string_equal(listed(&u.gone[BGP_OF_ATTRIBUTE]), "2001:db8:1::/48");
    assert_int_equal(u.end_of_rib, 0);
    /* families that were not agreed on count for nothing, nor do others (multicast) */
    terms.families = BGP_FAMILY(ASN_IPV4);
    assert_true(update("", GOOD REACH6, NET));
    assert_string_equal(listed(&u.come[BGP_OF_ATTRIBUTE]), "");
    assert_string_equal(listed(&u.come[BGP_OF_MESSAGE]), "198.51.100.0/24");
    terms.families = BGP_FAMILY(ASN_IPV6);
    assert_true(update("08 0a", GOOD, NET));
    assert_string_equal(listed(&u.come[BGP_OF_MESSAGE]), "");
    assert_string_equal(listed(&u.gone[BGP_OF_MESSAGE]), "");
    assert_true(update("", ORIGIN PATH "800e0a 000202 04 00000000 00 ff", ""));
    assert_string_equal(listed(&u.come[BGP_OF_ATTRIBUTE]), "");
}

static void test_end_of_rib(void **state)
{
    assert_true(update("", "", ""));
    assert_int_equal(u.end_of_rib, BGP_FAMILY(ASN_IPV4));
    assert_true(update("", "800f03 000201", ""));
    assert_int_equal(u.end_of_rib, BGP_FAMILY(ASN_IPV6));
    assert_true(update("", "800f03 000101", ""));
    assert_int_equal(u.end_of_rib, BGP_FAMILY(ASN_IPV4));
    assert_true(update("08 0a", "800f03 000201", ""));
    assert_int_equal(u.end_of_rib, 0);
    assert_true(update("", "800f03 000202", ""));
    assert_int_equal(u.end_of_rib, 0);
    assert_true(update("", "800f08 000201 20 20010db8", ""));
    assert_int_equal(u.end_of_rib, 0);
    terms.families = BGP_FAMILY(ASN_IPV4);
    assert_true(update("", "800f03 000201", ""));
    assert_int_equal(u.end_of_rib, 0);
}

/* Routes of these are withdrawn; without routes the session ends. */
static void test_as_withdrawn(void **state)
{
    static const char *const all[] = {
        PATH HOP, /* something is missing */
        ORIGIN HOP,
        ORIGIN PATH,
        "400101 03 " PATH HOP, /* values */
        "400102 0000 " PATH HOP,
        ORIGIN "400205 0201 0000fb " HOP,
        ORIGIN "400202 0200 " HOP,
        ORIGIN "400206 0501 0000fbff " HOP,
        ORIGIN "400206 0301 0000fbff " HOP,
        ORIGIN PATH "400303 c00002 ",
        GOOD "800403 000000 ",
        GOOD "c00803 000000 ",
        GOOD "c00800 ",
        GOOD "c0100400000000 ",
        GOOD "c02004 00000000 ",
        "c00101 00 " PATH HOP, /* flags */
        GOOD "400804 00000000 ",
        GOOD "c008 ", /* the end of the field */
        GOOD "c00804 00 ",
        GOOD "d00800 ",
        GOOD "c0 ",
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_true(update("", all[i], NET));
        assert_non_null(u.as_withdrawn);
        assert_string_equal(listed(&u.come[BGP_OF_MESSAGE]), "198.51.100.0/24");
    }
    for (size_t i = 3; i < sizeof all / sizeof *all; i++) {
        assert_false(update("08 0a", all[i], ""));
        assert_int_equal(fault.subcode, BGP_UPDATE_ATTRIBUTES);
    }
    /* of IPv6 no NEXT_HOP is asked for */
    assert_true(update("", ORIGIN PATH REACH6, ""));
    assert_null(u.as_withdrawn);
}

static void test_discarded(void **state)
{
    static const char *const all[] = {
        GOOD "400601 00 ",
        GOOD "c00706 fbff c0000201 ",
        GOOD "c01204 00000000 ",
        GOOD "c01106 0201 00010001 ",
        GOOD ORIGIN,
        GOOD "400101 07 ",
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_true(update("", all[i], NET));
        assert_null(u.as_withdrawn);
        assert_non_null(u.discarded);
        assert_string_equal(path(), "64511 65537");
    }
    /* what only peers of the same AS may say is not even looked at, unknown optional ones neither */
    assert_true(update("", GOOD "400500 800901 00 800a03 000000 c06302 0000 ", NET));
    assert_null(u.as_withdrawn);
    assert_null(u.discarded);
    terms.internal = 1;
    assert_true(update("", GOOD "400500 ", NET));
    assert_non_null(u.as_withdrawn);
}

static void test_session_ends(void **state)
{
    static const struct {
        const char *gone, *attributes, *come;
        int subcode;
    } all[] = {
        {"21 c000020000", "", "", BGP_UPDATE_NETWORK},
        {"18 c000", "", "", BGP_UPDATE_NETWORK},
        {"", GOOD, "18", BGP_UPDATE_NETWORK},
        {"", GOOD, "18 c000", BGP_UPDATE_NETWORK},
        {"", GOOD "406302 0000", NET, BGP_UPDATE_UNKNOWN},
        {"", ORIGIN PATH REACH6 REACH6, "", BGP_UPDATE_ATTRIBUTES},
        {"", "800f03 000201 800f03 000201", "", BGP_UPDATE_ATTRIBUTES},
        {"", "800f02 0002", "", BGP_UPDATE_OPTIONAL},
        {"", "800f05 000201 81 20", "", BGP_UPDATE_OPTIONAL},
        {"", ORIGIN PATH "800e04 00020110", "", BGP_UPDATE_OPTIONAL},
        {"", ORIGIN PATH "800e09 000201 04 00000000 00", "", BGP_UPDATE_OPTIONAL},
        {"", ORIGIN PATH "800e0a 000101 04 00000000 00 18", "", BGP_UPDATE_OPTIONAL},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_false(update(all[i].gone, all[i].attributes, all[i].come));
        assert_int_equal(fault.code, BGP_BAD_UPDATE);
        assert_int_equal(fault.subcode, all[i].subcode);
        assert_non_null(fault.what);
    }
    assert_false(parse((const unsigned char *)"\0\1", 2));
    assert_false(parse((const unsigned char *)"\0\0\0\1", 4));
    assert_int_equal(fault.subcode, BGP_UPDATE_ATTRIBUTES);
}

/* Paths of peers with numbers of 2 bytes (RFC 6793). 5ba0 is AS_TRANS. */
static void test_paths_of_old_peers(void **state)
{
    static const struct {
        const char *path, *more, *text;
    } all[] = {
        {"400206 0202 fbff 0064", "", "64511 100"},
        {"400208 0203 fbff 5ba0 5ba0", "c0110a 0202 00010001 00010002", "64511 65537 65538"},
        {"40020a 0204 fbff 0064 5ba0 5ba0", "c0110a 0202 00010001 00010002",
         "64511 100 65537 65538"},
        {"40020c 0102 0064 0065 0202 5ba0 5ba0", "c0110a 0202 00010001 00010002",
         "{100,101} 65537 65538"},
        /* AS4_PATH is longer: it counts for nothing */
        {"400204 0201 5ba0", "c0110a 0202 00010001 00010002", "23456"},
        /* somebody who has no 4-octet numbers aggregated: likewise */
        {"400206 0202 fbff 5ba0", "c00706 fbff c0000201 c01106 0201 00010001", "64511 23456"},
        {"400206 0202 fbff 5ba0", "c00706 5ba0 c0000201 c01106 0201 00010001", "64511 65537"},
        /* a confederation in AS4_PATH is passed over */
        {"400206 0202 fbff 5ba0", "c0110c 0301 00000009 0201 00010001", "64511 65537"},
    };
    char attributes[300];

    terms.as4 = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(attributes, sizeof attributes, ORIGIN HOP "%s %s", all[i].path, all[i].more);
        assert_true(update("", attributes, NET));
        assert_null(u.as_withdrawn);
        assert_null(u.discarded);
        assert_string_equal(path(), all[i].text);
    }
    assert_true(update("", ORIGIN HOP "400204 0201 fbff c01104 0201 0001", NET));
    assert_non_null(u.discarded);
    assert_string_equal(path(), "64511");
}

static void test_paths_of_the_same_as(void **state)
{
    terms.internal = 1;
    assert_true(update("", ORIGIN HOP "400200", NET));
    assert_null(u.as_withdrawn);
    assert_int_equal(u.attributes.origin, 64511);
    assert_int_equal(bgp_path_length((asn_bytes){u.attributes.path, u.attributes.path_bytes}), 0);
    assert_true(
        update("", ORIGIN HOP "400216 0302 0000fde8 0000fde9 0201 00000064 0101 00000065", NET));
    assert_string_equal(path(), "(65000 65001) 100 {101}");
    assert_int_equal(bgp_path_length((asn_bytes){u.attributes.path, u.attributes.path_bytes}), 2);
    assert_int_equal(u.attributes.origin, 101);
}

/* Numbers of 2 bytes with the largest path that a message holds, merged. */
static void test_largest_path(void **state)
{
    unsigned char body[BGP_MESSAGE_MAX] = {0, 0, 0, 0}, *at = body + 4;
    size_t segments = 7, n;

    terms.as4 = 0;
    at += hex(ORIGIN HOP "5002", at);
    n = segments * (2 + 255 * 2);
    *at++ = (unsigned char)(n >> 8);
    *at++ = (unsigned char)n;
    for (size_t i = 0; i < segments; i++, at += 510) {
        *at++ = 2;
        *at++ = 255;
        memset(at, 1, 510);
    }
    at += hex("c01106 0201 00010001", at);
    n = (size_t)(at - body) - 4;
    body[2] = (unsigned char)(n >> 8);
    body[3] = (unsigned char)n;
    at += hex(NET, at);
    assert_true(parse(body, (size_t)(at - body)));
    assert_null(u.as_withdrawn);
    assert_int_equal(bgp_path_length((asn_bytes){u.attributes.path, u.attributes.path_bytes}),
                     segments * 255);
    assert_int_equal(u.attributes.origin, 65537);
    assert_true(bgp_path_is((asn_bytes){u.path, u.attributes.path_bytes}, 4, 0));
}

/* However a message is cut or changed, what is told lies in it (the sanitizers see to that). */
static void test_every_cut_and_change(void **state)
{
    unsigned char body[BGP_MESSAGE_MAX];
    size_t n = put_field(body, "08 0a");
    int ends = 0;

    n += put_field(body + n, GOOD REACH6 "c00804 fbff0001 c0200c 000000010000000200000003");
    n += hex(NET, body + n);
    assert_true(parse(body, n));
    for (size_t cut = 0; cut < n; cut++)
        ends += !parse(body, cut);
    assert_true(ends >= (int)n - 6);
    for (size_t i = 0; i < n; i++)
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            body[i] ^= (unsigned char)bit;
            parse(body, n);
            body[i] ^= (unsigned char)bit;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_routes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_families, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end_of_rib, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_withdrawn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_discarded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_session_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths_of_old_peers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths_of_the_same_as, setup, teardown),
        cmocka_unit_test_setup_teardown(test_largest_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_cut_and_change, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
