/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranges against a model, bytes that come in any order, and the numbers of the wire. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "quic_ranges.h"
#include "quic_wire.h"

#define MODEL 256

static void ranges_are(const quic_ranges *s, const uint8_t *model)
{
    for (uint32_t i = 0; i < s->n; i++) {
        assert_true(s->r[i].from < s->r[i].to);
        if (i)
            assert_true(s->r[i - 1].to < s->r[i].from);
    }
    for (unsigned v = 0; v < MODEL; v++)
        assert_int_equal(quic_ranges_has(s, v, v + 1), model[v]);
}

static void test_ranges(void **state)
{
    uint8_t model[MODEL] = {0};
    quic_ranges s = {0};

    (void)state;
    srandom(7);
    for (int step = 0; step < 20000; step++) {
        const unsigned from = (unsigned)random() % MODEL,
                       to = from + (unsigned)random() % (MODEL - from < 9 ? MODEL - from : 9);
        const int is_add = random() & 1;

        assert_int_equal((is_add ? quic_ranges_add : quic_ranges_remove)(&s, from, to), 0);
        memset(model + from, is_add, to - from);
        ranges_are(&s, model);
    }
    quic_ranges_end(&s);
}

typedef struct taken {
    uint8_t bytes[4096];
    size_t n;
} taken;

static int take(void *of, const uint8_t *data, size_t len)
{
    taken *t = of;

    assert_true(t->n + len <= sizeof t->bytes);
    memcpy(t->bytes + t->n, data, len);
    t->n += len;
    return 0;
}

/* Pieces in any order, that overlap, until all is there. */
static void test_reorder(void **state)
{
    uint8_t bytes[4096];

    (void)state;
    srandom(11);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random();
    for (int round = 0; round < 200; round++) {
        quic_reorder o = {0};
        taken t = {.n = 0};

        while (t.n < sizeof bytes) {
            const size_t off = (size_t)random() % sizeof bytes;
            size_t len = 1 + (size_t)random() % 400;

            if (len > sizeof bytes - off)
                len = sizeof bytes - off;
            assert_in_range(quic_reorder_put(&o, off, bytes + off, len, 64, take, &t), 0, 1);
            assert_memory_equal(t.bytes, bytes, t.n);
            assert_int_equal(o.next, t.n);
        }
        assert_null(o.data);
        quic_reorder_end(&o);
    }
}

/* More gaps than are kept: what comes is refused, not forgotten. */
static void test_reorder_bound(void **state)
{
    quic_reorder o = {0};
    taken t = {.n = 0};
    const uint8_t one = 1;

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(quic_reorder_put(&o, 2 * i + 1, &one, 1, 8, take, &t), 0);
    assert_int_equal(quic_reorder_put(&o, 100, &one, 1, 8, take, &t), 1);
    assert_int_equal(o.have.n, 8);
    quic_reorder_end(&o);
}

/* RFC 9000, A.1 */
static void test_varint(void **state)
{
    static const struct {
        uint8_t bytes[8];
        size_t n;
        uint64_t value;
    } of[] = {{{0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c}, 8, 151288809941952652},
              {{0x9d, 0x7f, 0x3e, 0x7d}, 4, 494878333},
              {{0x7b, 0xbd}, 2, 15293},
              {{0x25}, 1, 37}};
    uint8_t out[8];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        quic_reader r = quic_reader_of(of[i].bytes, of[i].n),
                    cut = quic_reader_of(of[i].bytes, of[i].n - 1);

        assert_true(quic_get_varint(&r) == of[i].value && !r.bad && !quic_left(&r));
        quic_get_varint(&cut);
        assert_true(cut.bad);
        assert_int_equal(quic_put_varint(out, of[i].value) - out, of[i].n);
        assert_memory_equal(out, of[i].bytes, of[i].n);
    }
}

/* RFC 9000, A.3 */
static void test_packet_number(void **state)
{
    (void)state;
    assert_true(quic_pn_of(0x9b32, 2, 0xa82f30ea) == 0xa82f9b32);
    assert_true(quic_pn_of(0, 1, UINT64_MAX) == 0);
    assert_true(quic_pn_of(0, 1, 255) == 256);
    assert_true(quic_pn_of(255, 1, 256) == 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges), cmocka_unit_test(test_reorder),
        cmocka_unit_test(test_reorder_bound), cmocka_unit_test(test_varint),
        cmocka_unit_test(test_packet_number)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
