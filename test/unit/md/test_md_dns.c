/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of DNS: what the zone has and has not, what clients take, damaged ones at every byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "md_dns.h"

enum { A = 1, NS = 2, SOA = 6, TXT = 16, ANY = 255 };
enum { FINE, FORMAT, REFUSED = 5 };

static int texts(const char *name, char to[MD_DNS_TEXTS][MD_DNS_TEXT])
{
    const int n = !strcmp(name, "www.example.org") ? 2
                  : !strcmp(name, "many.test")     ? MD_DNS_TEXTS
                                                   : 0;

    for (int i = 0; i < n; i++) {
        memset(to[i], 'a' + i, 43);
        to[i][43] = '\0';
    }
    return n;
}

static const md_dns_zone zone = {
    .name = "acme.example.net", .ns = "ns1.example.net", .serial = 7, .texts = texts};

typedef struct message {
    uint8_t data[600];
    size_t len;
} message;

static void put(message *m, const void *data, size_t len)
{
    memcpy(m->data + m->len, data, len);
    m->len += len;
}

/* @param takes  bytes, by EDNS; 0: without it */
static message asked(const char *name, int type, unsigned takes)
{
    message m = {{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, takes > 0}, 12};

    while (*name) {
        const uint8_t n = (uint8_t)strcspn(name, ".");

        put(&m, &n, 1);
        put(&m, name, n);
        name += n + (name[n] == '.');
    }
    put(&m, (uint8_t[]){0, 0, (uint8_t)type, 0, 1}, 5);
    if (takes)
        put(&m, (uint8_t[]){0, 0, 41, (uint8_t)(takes >> 8), (uint8_t)takes, 0, 0, 0, 0, 0, 0}, 11);
    return m;
}

static uint8_t to[MD_DNS_MOST];

static size_t answer(const message *m, int is_udp)
{
    memset(to, 0, sizeof to);
    return md_dns_answer(&zone, m->data, m->len, to, is_udp ? MD_DNS_EDNS : sizeof to, is_udp, 0);
}

static void expect(const char *name, int type, int code, int answers, int authorities)
{
    const message m = asked(name, type, 0);

    assert_true(answer(&m, 1) >= m.len);
    assert_int_equal(to[2] & 0x80, 0x80);
    assert_int_equal(to[3], code);
    assert_int_equal(to[7], answers);
    assert_int_equal(to[9], authorities);
    assert_int_equal(to[2] >> 2 & 1, code == FINE); /* AA */
    assert_memory_equal(to + 12, m.data + 12, m.len - 12);
}

static void test_the_zone(void **state)
{
    expect("www.example.org.acme.example.net", TXT, FINE, 2, 0);
    expect("WWW.Example.ORG.aCMe.example.net", TXT, FINE, 2, 0);
    expect("www.example.org.acme.example.net", A, FINE, 0, 1);
    expect("www.example.org.acme.example.net", ANY, FINE, 0, 1);
    expect("example.org.acme.example.net", TXT, FINE, 0, 1); /* not NXDOMAIN: www is below it */
    expect("acme.example.net", SOA, FINE, 1, 0);
    expect("acme.example.net", NS, FINE, 1, 0);
    expect("acme.example.net", TXT, FINE, 0, 1);
    expect("example.net", SOA, REFUSED, 0, 0);
    expect("xacme.example.net", TXT, REFUSED, 0, 0);
    expect("www.example.org", TXT, REFUSED, 0, 0);
    expect("", NS, REFUSED, 0, 0);
    expect("a b.acme.example.net", TXT, REFUSED, 0, 0);
}

static void test_a_text(void **state)
{
    const message m = asked("www.example.org.acme.example.net", TXT, 0);
    const uint8_t head[] = {0xc0, 12, 0, TXT, 0, 1, 0, 0, 0, 0, 0, 44, 43, 'a', 'a'};

    assert_int_equal(answer(&m, 1), m.len + 2 * (12 + 44));
    assert_memory_equal(to + m.len, head, sizeof head);
    assert_int_equal(to[m.len + 56 + 13], 'b');
}

static void test_room(void **state)
{
    message m = asked("many.test.acme.example.net", TXT, 0);

    assert_int_equal(answer(&m, 1), m.len);
    assert_int_equal(to[2] & 2, 2); /* TC */
    assert_int_equal(to[7], 0);
    assert_true(answer(&m, 0) > 1300);
    assert_int_equal(to[7], MD_DNS_TEXTS);
    m = asked("many.test.acme.example.net", TXT,
              4096); /* more than this server sends in a datagram */
    assert_int_equal(answer(&m, 1), m.len);
    assert_int_equal(to[11], 1);
    m = asked("www.example.org.acme.example.net", TXT, 100); /* 512 at least */
    assert_int_equal(answer(&m, 1), m.len + 2 * 56);
}

static void test_others(void **state)
{
    message m = asked("acme.example.net", SOA, 0);

    m.data[2] |= 0x80;
    assert_int_equal(answer(&m, 1), 0); /* an answer */
    m = asked("acme.example.net", SOA, 0);
    m.data[2] = 4 << 3; /* NOTIFY */
    assert_int_equal(answer(&m, 1), 12);
    assert_int_equal(to[3], 4);
    m = asked("acme.example.net", SOA, 0);
    m.data[5] = 2;
    assert_int_equal(answer(&m, 1), 12);
    assert_int_equal(to[3], FORMAT);
    m = asked("acme.example.net", SOA, 0);
    m.data[12] = 0xc0; /* a pointer */
    assert_int_equal(answer(&m, 1), 12);
    assert_int_equal(to[3], FORMAT);
    m = asked("acme.example.net", SOA, 512);
    m.data[m.len - 5] = 1; /* version 1 of EDNS: BADVERS */
    assert_int_equal(answer(&m, 1), m.len);
    assert_int_equal(to[3], 0);
    assert_int_equal(to[m.len - 6], 1);
    m = asked("acme.example.net", SOA, 0);
    m.data[m.len - 1] = 3; /* class CH */
    answer(&m, 1);
    assert_int_equal(to[3], REFUSED);
}

static void test_cut(void **state)
{
    const message whole = asked("www.example.org.acme.example.net", TXT, 1232);

    for (size_t len = 0; len < whole.len; len++) {
        message m = whole;

        m.len = len;
        if (len < 12)
            assert_int_equal(answer(&m, 1), 0);
        else if (answer(&m, 1))
            assert_int_equal(to[3], FORMAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_zone), cmocka_unit_test(test_a_text), cmocka_unit_test(test_room),
        cmocka_unit_test(test_others),   cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
