/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_HPACK_TABLE_H
#define BRIGADE_H2_HPACK_TABLE_H

/**
 * @file hpack_table.h
 * The indexing tables of HPACK (RFC 7541, 2.3): the static one, and the dynamic one of a decoder.
 *
 * A dynamic table owns one block, taken when the first field is added and as large as the limit asks
 * for: a connection whose peer indexes nothing pays nothing. Field lines lie in it one behind the
 * other, round the end. Threads: the owner of the connection.
 */
#include <stddef.h>
#include <stdint.h>

#define HPACK_STATIC_ENTRIES 61
#define HPACK_ENTRY_OVERHEAD 32 /**< size of an entry beside its strings: RFC 7541, 4.1 */
#define HPACK_DEFAULT_TABLE_SIZE 4096

/** A field line in one of the tables. */
typedef struct hpack_line {
    const char *name, *value; /**< not NUL-terminated */
    uint32_t name_len, value_len;
} hpack_line;

typedef struct hpack_entry {
    uint32_t at; /* of the name in the ring; the value follows */
    uint32_t name_len, value_len;
} hpack_entry;

typedef struct hpack_table {
    uint32_t limit;     /**< the peer's bound: our SETTINGS_HEADER_TABLE_SIZE */
    uint32_t max_size;  /**< chosen by the peer, at most limit */
    uint32_t size;      /**< of the entries, as RFC 7541 counts */
    uint32_t n;         /**< entries */
    uint32_t newest;    /**< index of the newest in entry[] */
    uint32_t entries;   /**< room of entry[] */
    uint32_t end;       /**< where the next one goes in the ring */
    hpack_entry *entry; /**< a ring; NULL: nothing was added yet */
    char *ring;         /**< limit bytes, in the same block */
} hpack_table;

/** An empty table. @param limit  bytes, as RFC 7541 counts them */
void hpack_table_init(hpack_table *t, uint32_t limit);

/** Give the block back. */
void hpack_table_free(hpack_table *t);

/** The peer chose a size (RFC 7541, 6.3). @return 0; -1: it is over the limit */
int hpack_table_resize(hpack_table *t, uint64_t size);

/**
 * Add a field line; older ones are dropped to make room, and a line that is larger than the table
 * empties it. Neither string may lie in the table.
 * @return 0; -1: out of memory
 */
int hpack_table_add(hpack_table *t, const char *name, uint32_t name_len, const char *value,
                    uint32_t value_len);

/** Bytes of the strings of an entry of either table. @return 0; -1: there is no such entry */
int hpack_table_size_of(const hpack_table *t, uint64_t index, uint32_t *name_len,
                        uint32_t *value_len);

/** Copy the name of an entry that exists. @return behind the last byte */
char *hpack_table_name(const hpack_table *t, uint64_t index, char *out);

/** Copy the value of an entry that exists. @return behind the last byte */
char *hpack_table_value(const hpack_table *t, uint64_t index, char *out);

/** Entry of the static table. @param index  1 to HPACK_STATIC_ENTRIES */
const hpack_line *hpack_static(unsigned index);

/** The first static entry of a name in lower case; 0: none. */
unsigned hpack_static_of_name(const char *name, size_t len);

#endif
