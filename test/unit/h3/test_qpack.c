/* SPDX-License-Identifier: Apache-2.0 */
/* QPACK without a dynamic table: the example of RFC 9204, appendix B.1; the encoder against the decoder; and what is malformed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "qpack.h"

#define MOST 64

typedef struct decoded {
    http_field_block list;
    http_field field[MOST];
    char text[8192];
} decoded;

static int decode(const void *block, size_t len, size_t room, decoded *d)
{
    d->list = (http_field_block){.text = d->text, .room = room, .field = d->field, .most = MOST};
    return qpack_decode(block, len, &d->list);
}

static void check(const decoded *d, uint32_t i, const char *name, const char *value)
{
    const http_field *f = &d->field[i];

    assert_true(i < d->list.n);
    assert_int_equal(f->name_len, strlen(name));
    assert_int_equal(f->value_len, strlen(value));
    assert_memory_equal(f->name, name, f->name_len);
    assert_memory_equal(f->value, value, f->value_len);
}

static void the_example_of_the_rfc(void **state)
{
    static const char block[] = "\x00\x00\x51\x0b/index.html";
    decoded d;

    (void)state;
    assert_int_equal(decode(block, sizeof block - 1, sizeof d.text, &d), 0);
    assert_int_equal(d.list.n, 1);
    check(&d, 0, ":path", "/index.html");
    assert_int_equal(d.list.size, 5 + 11 + 32);
}

static void what_is_encoded_is_decoded(void **state)
{
    static const char *const lines[][2] = {{"content-type", "text/css"},
                                           {"content-type", "text/x-other"},
                                           {"server", "Brigade"},
                                           {"x-of-ours", "value"},
                                           {"set-cookie", "a=b; Secure"},
                                           {"vary", "Accept-Encoding"},
                                           {"vary", "accept-encoding"},
                                           {"x", ""},
                                           {"date", ""},
                                           {"x-frame-options", "deny"},
                                           {"\x7f\x7f", "\xff\xfe\x80"}};
    const uint32_t n = sizeof lines / sizeof *lines;
    uint8_t block[2048] = {0, 0}, *end = block + QPACK_PREFIX;
    decoded d;

    (void)state;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *was = end;

        end =
            qpack_put_line(end, lines[i][0], strlen(lines[i][0]), lines[i][1], strlen(lines[i][1]));
        assert_true((size_t)(end - was) <= strlen(lines[i][0]) + strlen(lines[i][1]) + 16);
    }
    assert_int_equal(decode(block, (size_t)(end - block), sizeof d.text, &d), 0);
    assert_int_equal(d.list.n, n);
    for (uint32_t i = 0; i < n; i++)
        check(&d, i, lines[i][0], lines[i][1]);
}

static void every_status(void **state)
{
    (void)state;
    for (int status = 100; status < 1000; status++) {
        uint8_t block[32] = {0, 0};
        const uint8_t *end = qpack_put_status(block + QPACK_PREFIX, status);
        char text[16];
        decoded d;

        snprintf(text, sizeof text, "%d", status);
        assert_int_equal(decode(block, (size_t)(end - block), sizeof d.text, &d), 0);
        check(&d, 0, ":status", text);
    }
}

/* Those that are in the table take a byte or two. */
static void lines_of_the_table_are_short(void **state)
{
    (void)state;
    for (unsigned i = 0; i < QPACK_STATIC_ENTRIES; i++) {
        const qpack_line *l = qpack_static(i);
        uint8_t block[128] = {0, 0};
        const uint8_t *end = block + QPACK_PREFIX;
        decoded d;

        assert_true(qpack_static_of_name(l->name, l->name_len) >= 0);
        end = qpack_put_line(block + QPACK_PREFIX, l->name, l->name_len, l->value, l->value_len);
        assert_int_equal(decode(block, (size_t)(end - block), sizeof d.text, &d), 0);
        check(&d, 0, l->name, l->value);
    }
    assert_int_equal(qpack_static_of_name("x-none", 6), -1);
    assert_int_equal(qpack_static_of_name("", 0), -1);
}

static void a_value_can_be_written_over(void **state)
{
    uint8_t block[64] = {0, 0}, *end = qpack_put_plain(block + QPACK_PREFIX, "date", 4, "aaaa", 4);
    decoded d;

    (void)state;
    memcpy(end - 4, "bbbb", 4);
    assert_int_equal(decode(block, (size_t)(end - block), sizeof d.text, &d), 0);
    check(&d, 0, "date", "bbbb");
}

static void what_is_malformed_is_refused(void **state)
{
    static const struct {
        const char *block;
        size_t len;
    } bad[] = {{"", 0},
               {"\x00", 1},                              /* no base */
               {"\x01\x00", 2},                          /* an insert is required */
               {"\x00\x80", 2},                          /* a base before it */
               {"\x00\x00\x80", 3},                      /* indexed, of the dynamic table */
               {"\x00\x00\xff\x24", 4},                  /* index 99 */
               {"\x00\x00\x10", 3},                      /* indexed, behind the base */
               {"\x00\x00\x00\x01x", 5},                 /* a name behind the base */
               {"\x00\x00\x41\x01x", 5},                 /* a name of the dynamic table */
               {"\x00\x00\x51\x05x", 5},                 /* shorter than it says */
               {"\x00\x00\x23xy", 5},                    /* a name that ends too early */
               {"\x00\x00\x51", 3},                      /* without a value */
               {"\x00\x00\x51\x81\x00", 5},              /* a Huffman code with bad padding */
               {"\x00\x00\xff\xff\xff\xff\xff\xff", 8}}; /* an index without an end */
    decoded d;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(decode(bad[i].block, bad[i].len, sizeof d.text, &d), -1);
}

/* Every cut of a block is malformed, or what came before. */
static void cuts(void **state)
{
    uint8_t block[256] = {0, 0}, *end = block + QPACK_PREFIX;
    decoded d;

    (void)state;
    end = qpack_put_line(end, ":path", 5, "/index.html", 11);
    end = qpack_put_line(end, "x-name", 6, "and a value", 11);
    for (size_t n = 0; n < (size_t)(end - block); n++)
        (void)decode(block, n, sizeof d.text, &d);
    assert_int_equal(decode(block, (size_t)(end - block), 20, &d), 0);
    assert_int_equal(d.list.cut, 1);
    assert_int_equal(d.list.n, 1);
    assert_true(d.list.size >= 5 + 11 + 32 + 6 + 11 + 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_of_the_rfc),
                                       cmocka_unit_test(what_is_encoded_is_decoded),
                                       cmocka_unit_test(every_status),
                                       cmocka_unit_test(lines_of_the_table_are_short),
                                       cmocka_unit_test(a_value_can_be_written_over),
                                       cmocka_unit_test(what_is_malformed_is_refused),
                                       cmocka_unit_test(cuts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
