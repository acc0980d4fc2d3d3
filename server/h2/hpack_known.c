/* SPDX-License-Identifier: Apache-2.0 */
/* A line is kept when its thread encodes it for the second time within a short while, in the set of
 * its hash, in place of the oldest one: so lines of one response alone (tags, dates of files) drive
 * no frequent one out. Cookies are never kept. */
#include "hpack_known.h"
#include "hpack_encode.h"
#include "program_thread.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_SETS 16 /* a power of two */
#define KNOWN_WAYS 4
#define KNOWN_ONCE 64 /* a power of two */
#define KNOWN_TEXT 88 /* bytes of name and value */

typedef struct known_line {
    uint8_t name_len, value_len, len;
    char text[KNOWN_TEXT]; /* the name, then the value */
    uint8_t block[STREAM_LINE_ROOM(KNOWN_TEXT, 0)];
} known_line;

typedef struct known_set {
    uint32_t hash[KNOWN_WAYS]; /* of the lines; 0: none */
    uint32_t next;             /* goes next */
    known_line line[KNOWN_WAYS];
} known_set;

/* Of a thread, from its first line on: most threads have none. */
typedef struct known_lines {
    known_set set[KNOWN_SETS];
    uint32_t
        once[KNOWN_ONCE]
            [2]; /* hashes of lines that came, and are not kept yet: the last two of each kind */
} known_lines;

static PROGRAM_THREAD_LOCAL known_lines *known;
static pthread_key_t known_key;
static pthread_once_t known_key_once = PTHREAD_ONCE_INIT;

static void known_begin(void)
{
    pthread_key_create(&known_key, free);
}

/* @return NULL: no memory */
static known_lines *known_of_thread(void)
{
    if (!known && (known = calloc(1, sizeof *known)) != NULL) {
        pthread_once(&known_key_once, known_begin);
        pthread_setspecific(known_key, known);
    }
    return known;
}

/* The end of a text, in a number. */
static uint64_t known_end(const char *text, size_t len)
{
    uint32_t first, last;
    uint64_t end;

    if (len >= sizeof end) {
        memcpy(&end, text + len - sizeof end, sizeof end);
        return end;
    }
    if (len >= sizeof first) {
        memcpy(&first, text, sizeof first);
        memcpy(&last, text + len - sizeof last, sizeof last);
        return (uint64_t)first << 32 | last;
    }
    return len ? (uint64_t)(uint8_t)text[0] << 16 | (uint64_t)(uint8_t)text[len / 2] << 8 |
                     (uint8_t)text[len - 1]
               : 0;
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

static const known_line *known_find(const known_set *set, uint32_t hash, const char *name,
                                    size_t name_len, const char *value, size_t value_len)
{
    for (int i = 0; i < KNOWN_WAYS; i++)
        if (set->hash[i] == hash && known_is(&set->line[i], name, name_len, value, value_len))
            return &set->line[i];
    return NULL;
}

/* @return 1: it is not the first time */
static int known_came(known_lines *lines, uint32_t hash)
{
    uint32_t *once = lines->once[hash >> 8 & (KNOWN_ONCE - 1)];

    if (once[0] == hash || once[1] == hash)
        return 1;
    once[1] = once[0];
    once[0] = hash;
    return 0;
}

static void known_keep(known_set *set, uint32_t hash, const char *name, size_t name_len,
                       const char *value, size_t value_len, const uint8_t *block, size_t len)
{
    const uint32_t way = set->next++ % KNOWN_WAYS;
    known_line *k = &set->line[way];

    BRG_ASSERT(name_len + value_len <= KNOWN_TEXT && len <= sizeof k->block);
    set->hash[way] = hash;
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
    known_lines *lines = name_len + value_len <= KNOWN_TEXT ? known_of_thread() : NULL;
    const known_line *k;
    known_set *set;
    uint32_t hash;
    uint8_t *end;

    if (!lines)
        return hpack_put_line(out, name, name_len, value, value_len, 0);
    hash = known_hash(name, name_len, value, value_len);
    set = &lines->set[hash >> 16 & (KNOWN_SETS - 1)];
    k = known_find(set, hash, name, name_len, value, value_len);
    if (k) {
        memcpy(out, k->block, k->len);
        return out + k->len;
    }
    end = hpack_put_line(out, name, name_len, value, value_len, 0);
    if (name_len == 10 && !memcmp(name, "set-cookie", 10))
        return end;
    if (known_came(lines, hash))
        known_keep(set, hash, name, name_len, value, value_len, out, (size_t)(end - out));
    return end;
}
