/* SPDX-License-Identifier: Apache-2.0 */
/* A line is kept when its thread encodes it for the second time within a short while, in the one place that its hash allows: so
 * lines of one response alone (tags, dates of files) drive none out that come again. Cookies are never kept. */
#include "hpack_known.h"
#include "hpack_encode.h"
#include "program_thread.h"
#include "brigade/assert.h"
#include <string.h>

#define KNOWN_LINES 64 /* a power of two */
#define KNOWN_TEXT 88  /* bytes of name and value */

typedef struct known_line {
    uint32_t hash, once; /* of what is kept; of what came once, and is not kept yet */
    uint8_t name_len, value_len, len;
    char text[KNOWN_TEXT]; /* the name, then the value */
    uint8_t block[HPACK_LINE_ROOM(KNOWN_TEXT, 0)];
} known_line;

static PROGRAM_THREAD_LOCAL known_line known_lines[KNOWN_LINES];

/* The end of a text, in a number. */
static uint64_t known_end(const char *text, size_t len)
{
    uint64_t end = 0;

    if (len >= sizeof end) {
        memcpy(&end, text + len - sizeof end, sizeof end);
        return end;
    }
    for (size_t i = 0; i < len; i++)
        end = end << 8 | (uint8_t)text[i];
    return end;
}

/* Never 0. */
static uint32_t known_hash(const char *name, size_t name_len, const char *value, size_t value_len)
{
    const uint64_t h = known_end(name, name_len) * 0x9e3779b97f4a7c15u +
                       (known_end(value, value_len) ^ (name_len << 8) ^ value_len);

    return (uint32_t)((h * 0xbf58476d1ce4e5b9u) >> 32) | 1;
}

static int known_is(const known_line *k, const char *name, size_t name_len, const char *value,
                    size_t value_len)
{
    return k->name_len == name_len && k->value_len == value_len &&
           !memcmp(k->text, name, name_len) && !memcmp(k->text + name_len, value, value_len);
}

static void known_keep(known_line *k, uint32_t hash, const char *name, size_t name_len,
                       const char *value, size_t value_len, const uint8_t *block, size_t len)
{
    BRG_ASSERT(name_len + value_len <= KNOWN_TEXT && len <= sizeof k->block);
    k->hash = hash;
    k->name_len = (uint8_t)name_len;
    k->value_len = (uint8_t)value_len;
    k->len = (uint8_t)len;
    memcpy(k->text, name, name_len);
    memcpy(k->text + name_len, value, value_len);
    memcpy(k->block, block, len);
}

uint8_t *hpack_put_known(uint8_t *out, const char *name, size_t name_len, const char *value,
                         size_t value_len)
{
    const int fits = name_len + value_len <= KNOWN_TEXT;
    const uint32_t hash = fits ? known_hash(name, name_len, value, value_len) : 0;
    known_line *k = &known_lines[hash >> 16 & (KNOWN_LINES - 1)];
    uint8_t *end;

    if (fits && k->hash == hash && known_is(k, name, name_len, value, value_len)) {
        memcpy(out, k->block, k->len);
        return out + k->len;
    }
    end = hpack_put_line(out, name, name_len, value, value_len, 0);
    if (!fits || (name_len == 10 && !memcmp(name, "set-cookie", 10)))
        return end;
    if (k->once == hash)
        known_keep(k, hash, name, name_len, value, value_len, out, (size_t)(end - out));
    k->once = hash;
    return end;
}
