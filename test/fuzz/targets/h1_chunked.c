/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunked framing. The first byte is the size of the pieces in which the rest arrives; what is data
 * and how it ends must not depend on it.
 * Covers: server/message/h1_chunked.c
 */
#include "h1_chunked.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct outcome {
    uint64_t sum, bytes; /* of the data */
    size_t taken;
    int state;
} outcome;

static void check(int right)
{
    if (!right)
        abort();
}

/* One piece; returns how much of it was used. */
static size_t feed(h1_chunked *m, outcome *out, const char *data, size_t len)
{
    size_t i = 0;

    while (i < len && m->state != H1_CHUNK_TRAILER && m->state != H1_CHUNK_BAD) {
        if (m->state == H1_CHUNK_DATA) {
            const size_t n = m->left < len - i ? (size_t)m->left : len - i;

            check(n > 0);
            for (size_t k = 0; k < n; k++)
                out->sum = out->sum * 31 + (uint8_t)data[i + k];
            out->bytes += n;
            h1_chunked_took(m, n);
            i += n;
        } else {
            const size_t n = h1_chunked_feed(m, data + i, len - i);

            check(n > 0 && n <= len - i);
            i += n;
        }
    }
    return i;
}

static outcome run(const char *data, size_t size, size_t piece)
{
    h1_chunked m = {0};
    outcome out = {0};

    while (out.taken < size && m.state != H1_CHUNK_TRAILER && m.state != H1_CHUNK_BAD) {
        const size_t n = piece < size - out.taken ? piece : size - out.taken;

        out.taken += feed(&m, &out, data + out.taken, n);
    }
    out.state = m.state;
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    outcome whole, pieces;

    if (size < 1)
        return 0;
    whole = run((const char *)data + 1, size - 1, size);
    pieces = run((const char *)data + 1, size - 1, 1 + data[0] % 16);
    check(whole.state == pieces.state && whole.taken == pieces.taken);
    check(whole.sum == pieces.sum && whole.bytes == pieces.bytes);
    return 0;
}
