/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a ClientHello is all there: an SSL is made then, and not before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tls_conn_private.h"

static unsigned char wire[40000];

/* A ClientHello of @a body bytes in records of at most @a most. @return the length of all */
static size_t hello(size_t body, size_t most)
{
    unsigned char message[20000] = {1, (unsigned char)(body >> 16), (unsigned char)(body >> 8),
                                    (unsigned char)body};
    size_t len = 0, n;

    for (size_t done = 0; done < body + 4; done += n) {
        n = body + 4 - done < most ? body + 4 - done : most;
        memcpy(wire + len, ((unsigned char[]){22, 3, 1, (unsigned char)(n >> 8), (unsigned char)n}),
               5);
        memcpy(wire + len + 5, message + done, n);
        len += 5 + n;
    }
    return len;
}

static void is_whole_from(size_t len)
{
    for (size_t n = 0; n < len; n++)
        assert_false(tls_hello_is_whole(wire, n));
    assert_true(tls_hello_is_whole(wire, len));
    assert_true(tls_hello_is_whole(wire, len + 7));
}

static void a_hello_in_one_record(void **state)
{
    is_whole_from(hello(200, 16384));
    is_whole_from(hello(0, 16384));
}

static void a_hello_in_many_records(void **state)
{
    is_whole_from(hello(200, 1));
    is_whole_from(hello(200, 3));
    is_whole_from(hello(1500, 700));
}

static void a_hello_that_is_too_long_is_not_waited_for(void **state)
{
    hello(0, 16384);
    memcpy(wire, "\x16\x03\x01\x40\x00\x01\xff\xff\xff", 9);
    assert_false(tls_hello_is_whole(wire, 16384));
    assert_true(tls_hello_is_whole(wire, TLS_RECORD + 1024));
}

static void what_is_none_is_told_by_its_first_bytes(void **state)
{
    static const char *const begins[] = {"GET / ", "\x15\x03\x01\x00\x02\x02",
                                         "\x16\x03\x01\x00\x20\x02", "\x16\x03\x01\xff\xff\x01",
                                         "\x16\x03\x01\x00\x00\x01"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        memset(wire, 0, 16);
        memcpy(wire, begins[i], 6);
        for (size_t n = 0; n < 5; n++)
            assert_false(tls_hello_is_whole(wire, n));
        assert_true(tls_hello_is_whole(wire, 6));
    }
}

static void the_form_of_ssl_2(void **state)
{
    memset(wire, 0, 100);
    memcpy(wire, "\x80\x2e\x01\x03\x01", 5);
    is_whole_from(2 + 0x2e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_in_one_record),
        cmocka_unit_test(a_hello_in_many_records),
        cmocka_unit_test(a_hello_that_is_too_long_is_not_waited_for),
        cmocka_unit_test(what_is_none_is_told_by_its_first_bytes),
        cmocka_unit_test(the_form_of_ssl_2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
