/* SPDX-License-Identifier: Apache-2.0 */
/* The static and the dynamic table of HPACK. */
#include "hpack_table.h"

#include "brigade/assert.h"

#include <stdlib.h>
#include <string.h>

#define HPACK_SLOTS 128

#define LINE(name, value)                              \
    {                                                  \
        name, value, sizeof name - 1, sizeof value - 1 \
    }

/* RFC 7541, appendix A; [0] is unused. */
static const hpack_line static_table[HPACK_STATIC_ENTRIES + 1] = {
    LINE("", ""),
    LINE(":authority", ""),
    LINE(":method", "GET"),
    LINE(":method", "POST"),
    LINE(":path", "/"),
    LINE(":path", "/index.html"),
    LINE(":scheme", "http"),
    LINE(":scheme", "https"),
    LINE(":status", "200"),
    LINE(":status", "204"),
    LINE(":status", "206"),
    LINE(":status", "304"),
    LINE(":status", "400"),
    LINE(":status", "404"),
    LINE(":status", "500"),
    LINE("accept-charset", ""),
    LINE("accept-encoding", "gzip, deflate"),
    LINE("accept-language", ""),
    LINE("accept-ranges", ""),
    LINE("accept", ""),
    LINE("access-control-allow-origin", ""),
    LINE("age", ""),
    LINE("allow", ""),
    LINE("authorization", ""),
    LINE("cache-control", ""),
    LINE("content-disposition", ""),
    LINE("content-encoding", ""),
    LINE("content-language", ""),
    LINE("content-length", ""),
    LINE("content-location", ""),
    LINE("content-range", ""),
    LINE("content-type", ""),
    LINE("cookie", ""),
    LINE("date", ""),
    LINE("etag", ""),
    LINE("expect", ""),
    LINE("expires", ""),
    LINE("from", ""),
    LINE("host", ""),
    LINE("if-match", ""),
    LINE("if-modified-since", ""),
    LINE("if-none-match", ""),
    LINE("if-range", ""),
    LINE("if-unmodified-since", ""),
    LINE("last-modified", ""),
    LINE("link", ""),
    LINE("location", ""),
    LINE("max-forwards", ""),
    LINE("proxy-authenticate", ""),
    LINE("proxy-authorization", ""),
    LINE("range", ""),
    LINE("referer", ""),
    LINE("refresh", ""),
    LINE("retry-after", ""),
    LINE("server", ""),
    LINE("set-cookie", ""),
    LINE("strict-transport-security", ""),
    LINE("transfer-encoding", ""),
    LINE("user-agent", ""),
    LINE("vary", ""),
    LINE("via", ""),
    LINE("www-authenticate", ""),
};

const hpack_line *hpack_static(unsigned index)
{
    BRG_ASSERT_DEBUG(index && index <= HPACK_STATIC_ENTRIES);
    return &static_table[index];
}

/* Entries by name: the first of a slot, and the next one of the same slot; 0: none. */
static uint8_t static_slot[HPACK_SLOTS], static_next[HPACK_STATIC_ENTRIES + 1];

static unsigned hpack_slot(const char *name, size_t len)
{
    return (unsigned)(len * 5 + (uint8_t)name[0] * 3 + (uint8_t)name[len - 1] * 11) % HPACK_SLOTS;
}

/* Before any thread is there. From the last on, so that the first of a name is found first. */
__attribute__((constructor)) static void hpack_static_make(void)
{
    for (unsigned i = HPACK_STATIC_ENTRIES; i; i--) {
        const unsigned slot = hpack_slot(static_table[i].name, static_table[i].name_len);

        static_next[i] = static_slot[slot];
        static_slot[slot] = (uint8_t)i;
    }
}

unsigned hpack_static_of_name(const char *name, size_t len)
{
    unsigned i = len ? static_slot[hpack_slot(name, len)] : 0;

    while (i && (static_table[i].name_len != len || memcmp(static_table[i].name, name, len) != 0))
        i = static_next[i];
    return i;
}

void hpack_table_init(hpack_table *t, uint32_t limit)
{
    *t = (hpack_table){.limit = limit, .max_size = limit, .entries = limit / HPACK_ENTRY_OVERHEAD};
}

void hpack_table_free(hpack_table *t)
{
    free(t->entry);
    hpack_table_init(t, t->limit);
}

static const hpack_entry *hpack_entry_of(const hpack_table *t, uint64_t index)
{
    BRG_ASSERT_DEBUG(index < t->n);
    return &t->entry[(t->newest + t->entries - (uint32_t)index) % t->entries];
}

/* Drop the oldest until there is room for bytes more. */
static void hpack_table_evict(hpack_table *t, uint64_t bytes)
{
    while (t->n && t->size + bytes > t->max_size) {
        const hpack_entry *oldest = hpack_entry_of(t, t->n - 1);

        t->size -= oldest->name_len + oldest->value_len + HPACK_ENTRY_OVERHEAD;
        t->n--;
    }
}

int hpack_table_resize(hpack_table *t, uint64_t size)
{
    if (size > t->limit)
        return -1;
    t->max_size = (uint32_t)size;
    hpack_table_evict(t, 0);
    return 0;
}

static int hpack_table_alloc(hpack_table *t)
{
    if (t->entry)
        return 0;
    t->entry = malloc(t->entries * sizeof *t->entry + t->limit);
    if (!t->entry)
        return -1;
    t->ring = (char *)(t->entry + t->entries);
    t->newest = t->entries - 1;
    return 0;
}

static uint32_t hpack_ring_put(hpack_table *t, uint32_t at, const char *text, uint32_t len)
{
    uint32_t first = t->limit - at < len ? t->limit - at : len;

    memcpy(t->ring + at, text, first);
    memcpy(t->ring, text + first, len - first);
    return (at + len) % t->limit;
}

static char *hpack_ring_get(const hpack_table *t, uint32_t at, uint32_t len, char *out)
{
    uint32_t first;

    at %= t->limit;
    first = t->limit - at < len ? t->limit - at : len;
    memcpy(out, t->ring + at, first);
    memcpy(out + first, t->ring, len - first);
    return out + len;
}

int hpack_table_add(hpack_table *t, const char *name, uint32_t name_len, const char *value,
                    uint32_t value_len)
{
    uint64_t bytes = (uint64_t)name_len + value_len + HPACK_ENTRY_OVERHEAD;
    uint32_t at = t->end;

    hpack_table_evict(t, bytes);
    if (bytes > t->max_size)
        return 0;
    if (hpack_table_alloc(t))
        return -1;
    BRG_ASSERT(t->n < t->entries && t->size + bytes <= t->max_size);
    t->newest = (t->newest + 1) % t->entries;
    t->entry[t->newest] = (hpack_entry){at, name_len, value_len};
    t->end = hpack_ring_put(t, hpack_ring_put(t, at, name, name_len), value, value_len);
    t->size += (uint32_t)bytes;
    t->n++;
    return 0;
}

int hpack_table_size_of(const hpack_table *t, uint64_t index, uint32_t *name_len,
                        uint32_t *value_len)
{
    if (index == 0 || index > HPACK_STATIC_ENTRIES + (uint64_t)t->n)
        return -1;
    if (index <= HPACK_STATIC_ENTRIES) {
        *name_len = static_table[index].name_len;
        *value_len = static_table[index].value_len;
    } else {
        const hpack_entry *e = hpack_entry_of(t, index - HPACK_STATIC_ENTRIES - 1);

        *name_len = e->name_len;
        *value_len = e->value_len;
    }
    return 0;
}

char *hpack_table_name(const hpack_table *t, uint64_t index, char *out)
{
    const hpack_entry *e;

    if (index <= HPACK_STATIC_ENTRIES) {
        memcpy(out, static_table[index].name, static_table[index].name_len);
        return out + static_table[index].name_len;
    }
    e = hpack_entry_of(t, index - HPACK_STATIC_ENTRIES - 1);
    return hpack_ring_get(t, e->at, e->name_len, out);
}

char *hpack_table_value(const hpack_table *t, uint64_t index, char *out)
{
    const hpack_entry *e;

    if (index <= HPACK_STATIC_ENTRIES) {
        memcpy(out, static_table[index].value, static_table[index].value_len);
        return out + static_table[index].value_len;
    }
    e = hpack_entry_of(t, index - HPACK_STATIC_ENTRIES - 1);
    return hpack_ring_get(t, e->at + e->name_len, e->value_len, out);
}
