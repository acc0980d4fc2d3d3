/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of BGP: heads, OPEN and the short ones, as a peer may send them and as this side writes them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "bgp_message.h"

#define PEER 64511

static const bgp_self self = {.as = 64496, .id = 0x0a000001, .hold = 90, .families = 3};

/* Bytes as hexadecimal digits; blanks between them. @return how many */
static size_t hex(const char *text, unsigned char *to)
{
    size_t n = 0;

    for (; *text; text += *text == ' ' ? 1 : 2)
        if (*text != ' ')
            to[n++] = (unsigned char)strtoul((char[]){text[0], text[1], 0}, NULL, 16);
    return n;
}

static int head(size_t there, unsigned length, unsigned kind, bgp_fault *fault)
{
    unsigned char m[BGP_HEADER];
    bgp_type type;

    memset(m, 0xff, sizeof m);
    m[16] = (unsigned char)(length >> 8);
    m[17] = (unsigned char)length;
    m[18] = (unsigned char)kind;
    return bgp_head_parse(m, there, &type, fault);
}

static void test_heads(void **state)
{
    static const struct {
        unsigned length, type, subcode;
    } wrong[] = {
        {18, 4, BGP_HEADER_LENGTH}, {4097, 2, BGP_HEADER_LENGTH}, {20, 4, BGP_HEADER_LENGTH},
        {22, 2, BGP_HEADER_LENGTH}, {28, 1, BGP_HEADER_LENGTH},   {20, 3, BGP_HEADER_LENGTH},
        {24, 5, BGP_HEADER_LENGTH}, {30, 0, BGP_HEADER_TYPE},     {30, 6, BGP_HEADER_TYPE}};
    bgp_fault fault;
    bgp_type type;

    assert_int_equal(head(BGP_HEADER, 19, BGP_KEEPALIVE, &fault), 19);
    assert_int_equal(head(BGP_HEADER, 4096, BGP_UPDATE, &fault), 4096);
    for (size_t n = 0; n < BGP_HEADER; n++)
        assert_int_equal(head(n, 19, BGP_KEEPALIVE, &fault), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(head(BGP_HEADER, wrong[i].length, wrong[i].type, &fault), -1);
        assert_int_equal(fault.code, BGP_BAD_HEADER);
        assert_int_equal(fault.subcode, wrong[i].subcode);
    }
    for (int i = 0; i < 16; i++) {
        unsigned char m[BGP_HEADER];

        memset(m, 0xff, sizeof m);
        m[i] = 0xfe;
        assert_int_equal(bgp_head_parse(m, sizeof m, &type, &fault), -1);
        assert_int_equal(fault.subcode, BGP_HEADER_MARKER);
    }
    assert_int_equal(bgp_head_parse((const unsigned char *)"GET / HTTP/1.1", 3, &type, &fault), -1);
    assert_int_equal(fault.subcode, BGP_HEADER_MARKER);
}

/* @return the subcode of what is wrong, -1 if nothing is */
static int opened(const char *text, bgp_open *open, bgp_fault *fault)
{
    unsigned char room[BGP_MESSAGE_MAX], *copy;
    size_t n = hex(text, room);
    int ok;

    assert_non_null(copy = malloc(n ? n : 1));
    memcpy(copy, room, n);
    ok = bgp_open_parse((asn_bytes){copy, n}, &self, PEER, open, fault);
    free(copy);
    if (!ok) {
        assert_int_equal(fault->code, BGP_BAD_OPEN);
        assert_non_null(fault->what);
    }
    return ok ? -1 : fault->subcode;
}

#define BASIC "04 fbff 00b4 c0000201 "

static void test_open(void **state)
{
    bgp_fault fault;
    bgp_open o;

    assert_int_equal(opened(BASIC "00", &o, &fault), -1);
    assert_int_equal(o.as, PEER);
    assert_int_equal(o.id, 0xc0000201);
    assert_int_equal(o.hold, 180);
    assert_int_equal(o.families, BGP_FAMILY(ASN_IPV4));
    assert_false(o.as4 || o.refresh || o.restart);
    /* capabilities in parameters of their own, and unknown ones between them */
    assert_int_equal(
        opened("04 5ba0 00b4 c0000201 24 0206 0104 00020001 0202 0200 0206 4104 0000fbff "
               "0208 4006 8078 0002 01 80 0204 4702 abcd",
               &o, &fault),
        -1);
    assert_true(o.as4 && o.refresh && o.restart);
    assert_int_equal(o.as, PEER);
    assert_int_equal(o.families, BGP_FAMILY(ASN_IPV6));
    assert_int_equal(o.restart_seconds, 0x78);
    assert_int_equal(o.kept, BGP_FAMILY(ASN_IPV6));
    /* a family that this side does not have */
    assert_int_equal(opened(BASIC "08 0206 0104 00010080", &o, &fault), -1);
    assert_int_equal(o.families, 0);
    /* RFC 9072 */
    assert_int_equal(opened(BASIC "ff ff 0009 02 0006 4104 0000fbff", &o, &fault), -1);
    assert_true(o.as4);
}

static void test_open_wrong(void **state)
{
    static const struct {
        const char *text;
        int subcode;
    } all[] = {
        {"03 fbff 00b4 c0000201 00", BGP_OPEN_VERSION},
        {"04 fbfe 00b4 c0000201 00", BGP_OPEN_AS},
        {"04 0000 00b4 c0000201 00", BGP_OPEN_AS},
        {BASIC "08 0206 4104 00000000", BGP_OPEN_AS},
        {"04 fbff 0001 c0000201 00", BGP_OPEN_HOLD},
        {"04 fbff 0002 c0000201 00", BGP_OPEN_HOLD},
        {"04 fbff 00b4 00000000 00", BGP_OPEN_ID},
        {BASIC "03 0101 00", BGP_OPEN_PARAMETER},
        {BASIC "01", BGP_OPEN_OTHER},
        {BASIC "00 00", BGP_OPEN_OTHER},
        {BASIC "00 0206 4104 0000fbff", BGP_OPEN_OTHER},
        {BASIC "02 0201", BGP_OPEN_OTHER},
        {BASIC "04 0202 4104", BGP_OPEN_OTHER},
        {BASIC "05 0203 4101 00", BGP_OPEN_OTHER},
        {BASIC "05 0203 0101 00", BGP_OPEN_OTHER},
        {BASIC "05 0203 4001 00", BGP_OPEN_OTHER},
        {BASIC "03 0201 41", BGP_OPEN_OTHER},
        {BASIC "ff ff 00", BGP_OPEN_OTHER},
        {"04 fbff 00b4 c00002", BGP_OPEN_OTHER},
    };
    bgp_fault fault;
    bgp_open o;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(opened(all[i].text, &o, &fault), all[i].subcode);
    opened("03 fbff 00b4 c0000201 00", &o, &fault);
    assert_memory_equal(fault.data.at, "\0\4", 2);
}

/* A peer of the same AS with the identifier of this side is this side. */
static void test_open_of_itself(void **state)
{
    unsigned char m[BGP_MESSAGE_MAX];
    size_t n = bgp_write_open(m, &self);
    bgp_self other = self;
    asn_bytes body = {m + BGP_HEADER, n - BGP_HEADER};
    bgp_fault fault;
    bgp_open o;

    assert_int_equal(bgp_open_parse(body, &self, self.as, &o, &fault), 0);
    assert_int_equal(fault.subcode, BGP_OPEN_ID);
    other.id++;
    assert_int_equal(bgp_open_parse(body, &other, self.as, &o, &fault), 1);
}

static void test_open_written(void **state)
{
    bgp_self large = {.as = 4200000001, .id = 7, .hold = 9, .families = BGP_FAMILY(ASN_IPV6)};
    unsigned char m[BGP_MESSAGE_MAX];
    size_t n = bgp_write_open(m, &large);
    bgp_fault fault;
    bgp_type type;
    bgp_open o;

    assert_int_equal(bgp_head_parse(m, n, &type, &fault), n);
    assert_int_equal(type, BGP_OPEN);
    assert_int_equal(m[20] << 8 | m[21], BGP_TRANSITION);
    assert_int_equal(
        bgp_open_parse((asn_bytes){m + BGP_HEADER, n - BGP_HEADER}, &self, large.as, &o, &fault),
        1);
    assert_int_equal(o.id, 7);
    assert_int_equal(o.hold, 9);
    assert_int_equal(o.families, BGP_FAMILY(ASN_IPV6));
    assert_true(o.as4 && o.refresh && o.restart && !o.kept);
}

static void test_short_ones(void **state)
{
    bgp_fault fault = {BGP_CEASE, 2, "", {(const unsigned char *)"\3bye", 4}}, other;
    unsigned char m[BGP_MESSAGE_MAX];
    bgp_notice notice;
    bgp_type type;
    size_t n;

    assert_int_equal(bgp_head_parse(m, bgp_write_keepalive(m), &type, &other), BGP_HEADER);
    assert_int_equal(type, BGP_KEEPALIVE);
    n = bgp_write_notification(m, &fault);
    assert_int_equal(bgp_head_parse(m, n, &type, &other), n);
    assert_int_equal(type, BGP_NOTIFICATION);
    bgp_notice_parse((asn_bytes){m + BGP_HEADER, n - BGP_HEADER}, &notice);
    assert_int_equal(notice.text.n, 3);
    assert_memory_equal(notice.text.at, "bye", 3);
    assert_string_equal(bgp_notice_name(notice.code, notice.subcode), "administrative shutdown");
    /* a text that is longer than the message */
    bgp_notice_parse((asn_bytes){m + BGP_HEADER, n - BGP_HEADER - 1}, &notice);
    assert_int_equal(notice.text.n, 0);
    assert_string_equal(bgp_notice_name(3, 200), "UPDATE message error");
    assert_string_equal(bgp_notice_name(7, 0), "");
    assert_string_equal(bgp_notice_name(0, 0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),        cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_wrong),   cmocka_unit_test(test_open_of_itself),
        cmocka_unit_test(test_open_written), cmocka_unit_test(test_short_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
