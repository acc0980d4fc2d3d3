/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of h1_chunked.h. Strict: CR LF and nothing else ends a line, sizes are hexadecimal
 * digits only, no control bytes in extensions. Whatever a proxy in front could read otherwise is
 * refused.
 */
#include "h1_chunked.h"
#include "http_scan.h"
#include "brigade/assert.h"

static int chunked_hex(char c)
{
    BRG_ASSERT_DEBUG(http_is(c, HTTP_C_HEX));
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static void chunked_bad(h1_chunked *m, int too_large)
{
    m->state = H1_CHUNK_BAD;
    m->too_large = (uint8_t)too_large;
}

static void chunked_digit(h1_chunked *m, char c)
{
    BRG_ASSERT(m->state == H1_CHUNK_SIZE || m->state == H1_CHUNK_DIGITS);
    if (m->left >> 59) { /* with the next digit it must stay below 2^63 */
        chunked_bad(m, 1);
        return;
    }
    m->left = m->left << 4 | (uint64_t)chunked_hex(c);
    m->state = H1_CHUNK_DIGITS;
}

static void chunked_after_size(h1_chunked *m, char c)
{
    if (c == '\r')
        m->state = H1_CHUNK_SIZE_LF;
    else if (c == ';')
        m->state = H1_CHUNK_EXT;
    else if (c == ' ' || c == '\t')
        m->state = H1_CHUNK_BLANK;
    else
        chunked_bad(m, 0);
}

static void chunked_step(h1_chunked *m, char c)
{
    BRG_ASSERT_DEBUG(m->state < H1_CHUNK_BAD);
    switch (m->state) {
    case H1_CHUNK_SIZE:
        m->left = 0;
        m->overhead = 0;
        if (!http_is(c, HTTP_C_HEX)) {
            chunked_bad(m, 0);
            return;
        }
        chunked_digit(m, c);
        return;
    case H1_CHUNK_DIGITS:
        if (http_is(c, HTTP_C_HEX)) {
            chunked_digit(m, c);
            return;
        }
        chunked_after_size(m, c);
        return;
    case H1_CHUNK_BLANK:
        chunked_after_size(m, c);
        return;
    case H1_CHUNK_EXT:
        if (c == '\r')
            m->state = H1_CHUNK_SIZE_LF;
        else if (!http_is(c, HTTP_C_VALUE))
            chunked_bad(m, 0);
        return;
    case H1_CHUNK_SIZE_LF:
        if (c != '\n') {
            chunked_bad(m, 0);
            return;
        }
        m->state = m->left ? H1_CHUNK_DATA : H1_CHUNK_TRAILER;
        return;
    case H1_CHUNK_DATA_CR:
        m->state = c == '\r' ? H1_CHUNK_DATA_LF : H1_CHUNK_BAD;
        return;
    case H1_CHUNK_DATA_LF:
        m->state = c == '\n' ? H1_CHUNK_SIZE : H1_CHUNK_BAD;
        return;
    default:
        return;
    }
}

size_t h1_chunked_feed(h1_chunked *m, const char *data, size_t len)
{
    size_t i = 0;

    BRG_ASSERT(m->state <= H1_CHUNK_BAD);
    while (i < len && m->state != H1_CHUNK_DATA && m->state != H1_CHUNK_TRAILER &&
           m->state != H1_CHUNK_BAD) {
        chunked_step(m, data[i++]);
        if (++m->overhead > H1_CHUNK_LINE_MAX && m->state != H1_CHUNK_BAD)
            chunked_bad(m, 1);
    }
    return i;
}

void h1_chunked_took(h1_chunked *m, uint64_t n)
{
    BRG_ASSERT(m->state == H1_CHUNK_DATA && n <= m->left);
    m->left -= n;
    if (m->left == 0)
        m->state = H1_CHUNK_DATA_CR;
}
