/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies in gzip, for the input filter DEFLATE and the output filter INFLATE: what comes out in pieces is what comes out at
 * once. The first byte chooses the pieces.
 * Covers: filters/compress/inflate.c */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#if BRIGADE_HAS_DEFLATE
#include "inflate_private.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define FUZZ_OUTPUT_MOST (1 << 18)

typedef struct fuzz_result {
    inflate_result last;
    int complete;
    size_t len;
    uint32_t sum;
} fuzz_result;

static void check(int right)
{
    if (!right)
        abort();
}

/* As the filters do: input in pieces, output of a room at a time. */
static fuzz_result run(apr_pool_t *p, const uint8_t *data, size_t size, size_t piece, size_t room)
{
    unsigned char out[512];
    inflate_stream *s = inflate_open(p);
    fuzz_result r = {.last = INFLATE_END};
    int full = 0;

    check(s != NULL);
    while ((size || full) && r.last <= INFLATE_END && r.len < FUZZ_OUTPUT_MOST) {
        const size_t given = size < piece ? size : piece;
        brg_coder_io io = {data, full ? 0 : given, out, room};
        const size_t before = io.in_len;

        r.last = inflate_step(s, &io);
        check(io.in_len <= before && io.out_room <= room);
        check(r.last != INFLATE_MORE || io.in_len < before || io.out_room < room || full ||
              !before);
        full = !io.out_room;
        for (size_t i = 0; i < room - io.out_room; i++)
            r.sum = r.sum * 31 + out[i];
        r.len += room - io.out_room;
        data += before - io.in_len;
        size -= before - io.in_len;
    }
    r.complete = inflate_is_complete(s);
    return r;
}

/* As the value of Content-Encoding: what remains is its beginning; all of it where gzip comes after it. */
static void check_field(apr_pool_t *p, const uint8_t *data, size_t size)
{
    const char *value = apr_pstrmemdup(p, (const char *)data, size),
               *rest = inflate_rest_of(p, value);

    check(!rest ||
          (strlen(rest) + strlen("gzip") <= strlen(value) && !strncmp(rest, value, strlen(rest))));
    rest = inflate_rest_of(p, apr_pstrcat(p, value, "br, x-gzip", NULL));
    check(rest && strlen(rest) == strlen(value) + strlen("br") &&
          !strncmp(rest, value, strlen(value)));
    check(!inflate_rest_of(p, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    apr_pool_t *p;
    fuzz_result whole, pieces;

    if (!size)
        return 0;
    if (!begun)
        check(apr_initialize() == APR_SUCCESS);
    begun = 1;
    check(apr_pool_create(&p, NULL) == APR_SUCCESS);
    check_field(p, data, size);
    whole = run(p, data + 1, size - 1, size, 512);
    pieces = run(p, data + 1, size - 1, data[0] % 16 + 1, data[0] / 16 + 1);
    if (whole.len < FUZZ_OUTPUT_MOST && pieces.len < FUZZ_OUTPUT_MOST) {
        check(whole.complete == pieces.complete &&
              (whole.last == INFLATE_BAD) == (pieces.last == INFLATE_BAD));
        check(whole.last == INFLATE_BAD || (whole.len == pieces.len && whole.sum == pieces.sum));
    }
    apr_pool_destroy(p);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return 0;
}
#endif
