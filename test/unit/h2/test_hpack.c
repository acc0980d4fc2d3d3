/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK: the examples of RFC 7541, appendix C; every cut of them; the encoder against the decoder; and
 * libnghttp2's encoder and decoder as opponents, where that library is installed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hpack_decode.h"
#include "hpack_encode.h"
#include "hpack_known.h"
#include "hpack_table.h"
#include "huffman.h"

#define MOST 128

/* ---- help ---- */

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = 0;

    for (unsigned byte; *hex; hex += 2) {
        while (*hex == ' ')
            hex++;
        if (!*hex)
            break;
        assert_int_equal(sscanf(hex, "%2x", &byte), 1);
        out[n++] = (uint8_t)byte;
    }
    return n;
}

typedef struct decoded {
    http_field_block list;
    http_field field[MOST];
    char text[16384];
} decoded;

static hpack_result decode(hpack_table *t, const uint8_t *block, size_t len, decoded *d)
{
    d->list = (http_field_block){
        .text = d->text, .room = sizeof d->text, .field = d->field, .most = MOST};
    return hpack_decode(t, block, len, &d->list);
}

/* "name: value\n" of each field. */
static void check_list(const http_field_block *list, const char *expected)
{
    char text[16384];
    size_t n = 0;

    for (uint32_t i = 0; i < list->n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s: %.*s\n",
                              (int)list->field[i].name_len, list->field[i].name,
                              (int)list->field[i].value_len, list->field[i].value);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

/* ---- RFC 7541, appendix C ---- */

typedef struct rfc_block {
    const char *hex, *fields;
    uint32_t table_size;
} rfc_block;

#define GET1 ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
#define GET3                                                                                      \
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: " \
    "custom-value\n"
#define DATE1 "date: Mon, 21 Oct 2013 20:13:21 GMT\n"
#define DATE2 "date: Mon, 21 Oct 2013 20:13:22 GMT\n"
#define WHERE "location: https://www.example.com\n"
#define COOKIE "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"

static const rfc_block requests[] = {
    {"828684410f7777772e6578616d706c652e636f6d", GET1, 57},
    {"828684be58086e6f2d6361636865", GET1 "cache-control: no-cache\n", 110},
    {"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565", GET3, 164},
};
static const rfc_block requests_huffman[] = {
    {"828684418cf1e3c2e5f23a6ba0ab90f4ff", GET1, 57},
    {"828684be5886a8eb10649cbf", GET1 "cache-control: no-cache\n", 110},
    {"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", GET3, 164},
};
static const rfc_block responses[] = {
    {"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1"
     "7"
     "68747470733a2f2f7777772e6578616d706c652e636f6d",
     ":status: 302\ncache-control: private\n" DATE1 WHERE, 222},
    {"4803333037c1c0bf", ":status: 307\ncache-control: private\n" DATE1 WHERE, 222},
    {"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4"
     "1"
     "53444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b20766572736"
     "9"
     "6f6e3d31",
     ":status: 200\ncache-control: private\n" DATE2 WHERE "content-encoding: gzip\n" COOKIE, 215},
};
static const rfc_block responses_huffman[] = {
    {"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b9"
     "7"
     "c8e9ae82ae43d3",
     ":status: 302\ncache-control: private\n" DATE1 WHERE, 222},
    {"4883640effc1c0bf", ":status: 307\ncache-control: private\n" DATE1 WHERE, 222},
    {"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfc"
     "d"
     "5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
     ":status: 200\ncache-control: private\n" DATE2 WHERE "content-encoding: gzip\n" COOKIE, 215},
};

static void check_blocks(const rfc_block *block, size_t n, uint32_t limit)
{
    hpack_table t;
    decoded d;
    uint8_t in[512];

    hpack_table_init(&t, limit);
    for (size_t i = 0; i < n; i++) {
        size_t len = from_hex(block[i].hex, in);

        assert_int_equal(decode(&t, in, len, &d), HPACK_OK);
        check_list(&d.list, block[i].fields);
        assert_int_equal(t.size, block[i].table_size);
        assert_false(d.list.cut);
    }
    hpack_table_free(&t);
}

static void rfc_examples(void **state)
{
    check_blocks(requests, 3, 4096);
    check_blocks(requests_huffman, 3, 4096);
    check_blocks(responses, 3, 256);
    check_blocks(responses_huffman, 3, 256);
}

/* Each beginning is either malformed or a shorter list; no byte behind it is read (ASan looks). */
static void every_cut(void **state)
{
    for (size_t i = 0; i < 3; i++) {
        const rfc_block *b = &responses_huffman[i];
        uint8_t in[512];
        size_t len = from_hex(b->hex, in);

        for (size_t cut = 0; cut < len; cut++) {
            uint8_t *exact = malloc(cut ? cut : 1);
            hpack_table t;
            decoded d;

            memcpy(exact, in, cut);
            hpack_table_init(&t, 4096);
            if (decode(&t, exact, cut, &d) == HPACK_OK)
                assert_true(d.list.n <= 6);
            hpack_table_free(&t);
            free(exact);
        }
    }
}

/* ---- what is malformed, and what is too long ---- */

static hpack_result decode_hex(const char *hex)
{
    uint8_t in[512];
    hpack_table t;
    decoded d;
    hpack_result result;

    hpack_table_init(&t, 4096);
    result = decode(&t, in, from_hex(hex, in), &d);
    hpack_table_free(&t);
    return result;
}

static void malformed(void **state)
{
    assert_int_equal(decode_hex("80"), HPACK_MALFORMED); /* index 0 */
    assert_int_equal(decode_hex("be"), HPACK_MALFORMED); /* an entry that is not there */
    assert_int_equal(decode_hex("ffffffffffffffffff01"), HPACK_MALFORMED);
    assert_int_equal(decode_hex("82 3f e1 1f"), HPACK_MALFORMED); /* size update not in front */
    assert_int_equal(decode_hex("00 01 61 01 62 3f e1 1f"), HPACK_MALFORMED);
    assert_int_equal(decode_hex("40 01 61 01 62 3f e1 1f"), HPACK_MALFORMED);
    assert_int_equal(decode_hex("3f e1 1f 82"), HPACK_OK);           /* 4096 */
    assert_int_equal(decode_hex("3f e2 1f 82"), HPACK_MALFORMED);    /* 4097 */
    assert_int_equal(decode_hex("00 01 61 81 00"), HPACK_MALFORMED); /* padding of zeros */
    assert_int_equal(decode_hex("00 01 61 81 ff"), HPACK_MALFORMED); /* padding of 8 bits */
    assert_int_equal(decode_hex("00 01 61 84 ff ff ff ff"), HPACK_MALFORMED); /* EOS */
    assert_int_equal(decode_hex("00 01 61 02 62"), HPACK_MALFORMED); /* string past the end */
}

/* A bomb: one large entry, named again and again. The list is cut, its size told, the table right. */
static void bomb(void **state)
{
    uint8_t in[8192], *p = in;
    char value[3000];
    hpack_table t;
    decoded d;

    memset(value, 'x', sizeof value);
    *p++ = 0x40;
    p = hpack_put_string(p, "a", 1);
    p = hpack_put_integer(p, 0, 7, sizeof value);
    memcpy(p, value, sizeof value);
    p += sizeof value;
    for (int i = 0; i < 2000; i++)
        *p++ = 0xbe;
    hpack_table_init(&t, 4096);
    assert_int_equal(decode(&t, in, (size_t)(p - in), &d), HPACK_OK);
    assert_true(d.list.cut && d.list.n <= 5);
    assert_int_equal(d.list.size, 2001 * (3001 + 32));
    assert_int_equal(t.n, 1);
    hpack_table_free(&t);
}

/* ---- the encoder ---- */

static void encoder_and_decoder(void **state)
{
    uint8_t block[4096], *p = block, *value;
    hpack_table t;
    decoded d;

    p = hpack_put_status(p, 200);
    assert_int_equal(p - block, 1);
    p = hpack_put_status(p, 418);
    p = hpack_put_line(p, "content-type", 12, "text/html", 9, 0);
    p = hpack_put_line(p, "x-own", 5, "", 0, 0);
    p = hpack_put_line(p, "set-cookie", 10, "\x01\xff{}", 4, 1);
    p = hpack_put_plain(p, 33, "Mon", 3, &value);
    memcpy(value, "Tue", 3);
    hpack_table_init(&t, 4096);
    assert_int_equal(decode(&t, block, (size_t)(p - block), &d), HPACK_OK);
    check_list(&d.list, ":status: 200\n:status: 418\ncontent-type: text/html\nx-own: \n"
                        "set-cookie: \x01\xff{}\ndate: Tue\n");
    assert_int_equal(t.n, 0);
    hpack_table_free(&t);
}

/* As often as it is encoded, a line has the same bytes: lines that are kept, that drive each other out, and that are too long. */
/* Names need no end behind them. */
static void static_names(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= HPACK_STATIC_ENTRIES; i++) {
        const hpack_line *line = hpack_static(i);
        char name[64];
        unsigned first = 1;

        snprintf(name, sizeof name, "%sx", line->name);
        while (strcmp(hpack_static(first)->name, line->name) != 0)
            first++;
        assert_int_equal(hpack_static_of_name(name, line->name_len), first);
        assert_int_equal(hpack_static_of_name(name, line->name_len + 1), 0);
    }
}

static void known_lines(void **state)
{
    static const char *const names[] = {"server",     "content-type",  "x", "x-own", "etag",
                                        "set-cookie", "content-length"};
    char value[300];

    for (int round = 0; round < 2000; round++) {
        const char *name = names[round % 7];
        const size_t len = round % 3 == 2 ? (size_t)(round % 299) : (size_t)(round % 11);
        uint8_t plain[1024], known[1024];

        memset(value, round % 5 ? 'a' : '~', sizeof value);
        for (int again = 0; again < 8; again++) {
            value[len / 2] =
                (char)('x' + again % 2); /* two lines of one hash, where they are long */
            const size_t n =
                (size_t)(hpack_put_line(plain, name, strlen(name), value, len, 0) - plain);

            assert_int_equal(hpack_put_known(known, name, strlen(name), value, len) - known, n);
            assert_memory_equal(known, plain, n);
        }
    }
}

static void huffman_all(void **state)
{
    char text[1024], back[1024];
    uint8_t coded[4096];
    uint32_t seed = 1;

    for (int round = 0; round < 2000; round++) {
        size_t len = (seed = seed * 1664525 + 1013904223) >> 22, n;

        for (size_t i = 0; i < len; i++)
            text[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
        n = (size_t)(huffman_encode(coded, text, len) - coded);
        assert_int_equal(n, huffman_size(text, len));
        assert_true(len <= HUFFMAN_ROOM(n));
        if (HUFFMAN_ROOM(n) > sizeof back)
            continue;
        assert_int_equal(huffman_decode(back, coded, n), len);
        assert_memory_equal(back, text, len);
    }
}

/* Text of short codes, which are decoded in pairs: each length at each place, in memory of exactly the bytes that are promised. */
static void huffman_pairs(void **state)
{
    const char *const text =
        "/img/photo-1200.webp?v=3; a=\"X\\Y\" {Mozilla/5.0 (X11)} 00aaeeiioosstt~^|<\x80>zz";
    const size_t whole = strlen(text);

    for (size_t from = 0; from < whole; from++)
        for (size_t len = 0; len <= whole - from; len++) {
            const size_t n = huffman_size(text + from, len);
            uint8_t *coded = test_malloc(n);
            char *back = test_malloc(HUFFMAN_ROOM(n));

            assert_ptr_equal(huffman_encode(coded, text + from, len), coded + n);
            assert_int_equal(huffman_decode(back, coded, n), len);
            assert_memory_equal(back, text + from, len);
            test_free(back);
            test_free(coded);
        }
}

/* Behind texts of all lengths, so that each way of reading the input's end meets them. */
static void huffman_malformed(void **state)
{
    static const struct {
        const char *tail;
        size_t len;
    } tails[] = {{"\xff", 1},                  /* a padding of a byte */
                 {"\xff\xff\xff\xff", 4},      /* EOS */
                 {"\x00", 1},                  /* a padding of zeros */
                 {"\xff\xff\xff\xfc\x1f", 5}}; /* EOS, and something behind it */
    uint8_t coded[32];
    char back[HUFFMAN_ROOM(sizeof coded)];

    for (size_t len = 0; len < 24; len++) {
        memset(coded, 0, len); /* "0" is 00000: a multiple of 5 bytes ends with a byte */
        if (len % 5)
            continue;
        for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
            memcpy(coded + len, tails[i].tail, tails[i].len);
            assert_int_equal(huffman_decode(back, coded, len + tails[i].len), -1);
        }
        coded[len] = 0x07; /* one more "0", and a padding that is right */
        assert_int_equal(huffman_decode(back, coded, len + 1), (ptrdiff_t)(len * 8 / 5 + 1));
    }
}

/* ---- libnghttp2 ---- */

typedef struct nghttp2_nv {
    uint8_t *name, *value;
    size_t namelen, valuelen;
    uint8_t flags;
} nghttp2_nv;

typedef int deflate_new_fn(void **d, size_t max);
typedef void hd_del_fn(void *d);
typedef ptrdiff_t deflate_fn(void *d, uint8_t *buf, size_t len, const nghttp2_nv *nv, size_t n);
typedef int resize_fn(void *d, size_t max);
typedef int inflate_new_fn(void **i);
typedef ptrdiff_t inflate_fn(void *i, nghttp2_nv *nv, int *flags, const uint8_t *in, size_t len,
                             int final);
typedef int inflate_end_fn(void *i);

typedef struct nghttp2 {
    void *lib;
    deflate_new_fn *deflate_new;
    deflate_fn *deflate;
    resize_fn *resize;
    hd_del_fn *deflate_del, *inflate_del;
    inflate_new_fn *inflate_new;
    inflate_fn *inflate;
    inflate_end_fn *inflate_end;
} nghttp2;

static void nghttp2_open(nghttp2 *n)
{
    n->lib = dlopen("libnghttp2.so.14", RTLD_NOW);
    if (!n->lib)
        skip();
    *(void **)&n->deflate_new = dlsym(n->lib, "nghttp2_hd_deflate_new");
    *(void **)&n->deflate = dlsym(n->lib, "nghttp2_hd_deflate_hd");
    *(void **)&n->resize = dlsym(n->lib, "nghttp2_hd_deflate_change_table_size");
    *(void **)&n->deflate_del = dlsym(n->lib, "nghttp2_hd_deflate_del");
    *(void **)&n->inflate_new = dlsym(n->lib, "nghttp2_hd_inflate_new");
    *(void **)&n->inflate = dlsym(n->lib, "nghttp2_hd_inflate_hd2");
    *(void **)&n->inflate_end = dlsym(n->lib, "nghttp2_hd_inflate_end_headers");
    *(void **)&n->inflate_del = dlsym(n->lib, "nghttp2_hd_inflate_del");
    assert_true(n->deflate_new && n->deflate && n->resize && n->inflate_new && n->inflate &&
                n->inflate_end && n->inflate_del && n->deflate_del);
}

/* A field list at random: few names and values, so that tables are used, and some odd bytes. */
static size_t random_fields(uint32_t *seed, nghttp2_nv *nv, char *room)
{
    static const char *const names[] = {":path",  "accept", "cookie", "user-agent", "x-a",
                                        "x-long", "date",   "etag",   ":status",    "vary"};
    size_t n = 1 + (*seed = *seed * 1664525 + 1013904223) % 20;

    for (size_t i = 0; i < n; i++) {
        uint32_t x = *seed = *seed * 1664525 + 1013904223;
        size_t len = x >> 30 ? (x >> 8) % 60 : (x >> 8) % 900;

        nv[i].name = (uint8_t *)(uintptr_t)names[(x >> 20) % 10];
        nv[i].namelen = strlen((char *)nv[i].name);
        nv[i].value = (uint8_t *)room;
        nv[i].valuelen = len;
        nv[i].flags = x % 17 == 0;
        for (size_t k = 0; k < len; k++)
            *room++ = (char)(x % 7 ? 'a' + (x >> 3) % 4 + (k * x >> 9) % 20 : 33 + (k * x) % 90);
    }
    return n;
}

static void check_fields(const http_field_block *list, const nghttp2_nv *nv, size_t n)
{
    assert_int_equal(list->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list->field[i].name_len, nv[i].namelen);
        assert_int_equal(list->field[i].value_len, nv[i].valuelen);
        assert_memory_equal(list->field[i].name, nv[i].name, nv[i].namelen);
        assert_memory_equal(list->field[i].value, nv[i].value, nv[i].valuelen);
    }
}

static void their_encoder(void **state)
{
    static char room[32768];
    static uint8_t block[65536];
    static decoded d;
    nghttp2 lib;
    uint32_t seed = 7;

    nghttp2_open(&lib);
    for (int table = 0; table < 40; table++) {
        hpack_table t;
        void *deflater;

        hpack_table_init(&t, 4096);
        assert_int_equal(lib.deflate_new(&deflater, 4096), 0);
        for (int i = 0; i < 100; i++) {
            nghttp2_nv nv[32];
            size_t n = random_fields(&seed, nv, room);
            ptrdiff_t len;

            if (seed >> 28 == 3)
                lib.resize(deflater, seed % 4096);
            len = lib.deflate(deflater, block, sizeof block, nv, n);
            assert_true(len > 0);
            d.list.room = 0;
            assert_int_equal(decode(&t, block, (size_t)len, &d), HPACK_OK);
            check_fields(&d.list, nv, n);
        }
        lib.deflate_del(deflater);
        hpack_table_free(&t);
    }
    dlclose(lib.lib);
}

static void their_decoder(void **state)
{
    static char room[32768];
    static uint8_t block[65536];
    nghttp2 lib;
    uint32_t seed = 11;
    void *inflater;

    nghttp2_open(&lib);
    assert_int_equal(lib.inflate_new(&inflater), 0);
    for (int i = 0; i < 2000; i++) {
        nghttp2_nv nv[32], out;
        size_t n = random_fields(&seed, nv, room), k = 0;
        uint8_t *end = block;
        const uint8_t *at = block;
        int flags = 0;

        for (size_t j = 0; j < n; j++)
            end = hpack_put_line(end, (char *)nv[j].name, nv[j].namelen, (char *)nv[j].value,
                                 nv[j].valuelen, nv[j].flags);
        while (!(flags & 1)) { /* NGHTTP2_HD_INFLATE_FINAL */
            ptrdiff_t used = lib.inflate(inflater, &out, &flags, at, (size_t)(end - at), 1);

            assert_true(used >= 0);
            at += used;
            if (flags & 2) { /* NGHTTP2_HD_INFLATE_EMIT */
                assert_int_equal(out.valuelen, nv[k].valuelen);
                assert_memory_equal(out.name, nv[k].name, nv[k].namelen);
                assert_memory_equal(out.value, nv[k].value, nv[k].valuelen);
                assert_int_equal(out.flags & 1, nv[k].flags & 1);
                k++;
            }
        }
        assert_int_equal(k, n);
        lib.inflate_end(inflater);
    }
    lib.inflate_del(inflater);
    dlclose(lib.lib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc_examples),        cmocka_unit_test(every_cut),
        cmocka_unit_test(malformed),           cmocka_unit_test(bomb),
        cmocka_unit_test(encoder_and_decoder), cmocka_unit_test(huffman_all),
        cmocka_unit_test(huffman_pairs),       cmocka_unit_test(huffman_malformed),
        cmocka_unit_test(their_encoder),       cmocka_unit_test(their_decoder),
        cmocka_unit_test(static_names),        cmocka_unit_test(known_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
