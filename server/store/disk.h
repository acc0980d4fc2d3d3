/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STORE_DISK_H
#define BRIGADE_STORE_DISK_H

/**
 * @file disk.h
 * The tier below store.h: objects in files of fixed length below CacheRoot, which are written round and round.
 *
 * A record is an object with its key, head and body, its length and checksums of head and body. A write that was cut
 * short, by a crash or a full disk, has a wrong checksum and is no record. Each file begins with a block that names its
 * layout; the index of all files is in memory and is read again from the records' heads when a program starts.
 *
 * A file is a lap of records: what is overwritten is forgotten before the first byte is written. A reader that was
 * overtaken learns it by disk_read_check(), which it calls after it has read and before it uses what it read.
 *
 * Threads: disk_write() and disk_open() by workers, they block; disk_find() and disk_read() by any thread, they do not.
 */
#include "store.h"

typedef struct disk disk;

typedef struct disk_limits {
    const char *root; /**< CacheRoot */
    uint64_t bytes;   /**< of all files */
    uint32_t files;   /**< at least 1 */
    uint64_t object_bytes;
    uint32_t objects; /**< of the index; 0: bytes / 4 KiB */
} disk_limits;

/**
 * Open the files, or make them, and read the index. Blocks.
 * @param scanned  [out] 1: the files were not closed cleanly, or an index is missing: their records were read
 */
apr_status_t disk_open(disk **d, const disk_limits *limits, int *scanned);

/** Close, with the index and a mark that it is whole. Blocks. */
apr_status_t disk_close(disk **d);

/** Where a record lies. By value; it may be overtaken. */
typedef struct disk_place {
    int fd;
    uint32_t file;
    uint64_t off; /**< of the record */
    uint32_t lap;
    uint32_t head_bytes; /**< of the record's head with text, terms and head */
    uint64_t body_bytes;
} disk_place;

/** Is a record of this key there, and not purged since? Does not block. */
int disk_find(disk *d, const store_key *key, disk_place *place);

/** Its head, when head_bytes from place->off are in @a bytes. Pointers lead into @a bytes. */
typedef struct disk_head {
    const char *text, *terms, *head;
    uint32_t text_len, head_len, marks_n;
    const unsigned char *marks; /**< marks_n of 8 bytes, not aligned */
    uint64_t mark;
    uint8_t vary;
} disk_head;

/** @return APR_SUCCESS; APR_EGENERAL: no such record, or damaged: it is forgotten */
apr_status_t disk_head_check(disk *d, const store_key *key, const disk_place *place,
                             const char *bytes, disk_head *head);

/**
 * Read bytes of a record.
 * @param wait  0: APR_EAGAIN if the disk would have to be asked, then a worker does it with 1
 * @return APR_SUCCESS, all are there; APR_EAGAIN; APR_EGENERAL: it was overtaken, or the disk failed
 */
apr_status_t disk_read(disk *d, const disk_place *place, uint64_t off, void *to, size_t n,
                       int wait);

/** The sum of a body, block by block as it is read. */
typedef struct disk_sum {
    uint64_t word[4];
} disk_sum;
void disk_sum_begin(disk_sum *sum);
void disk_sum_add(disk_sum *sum, const void *p, size_t n);

/** The whole body was read and has this sum. @return APR_EGENERAL: it is damaged, and forgotten */
apr_status_t disk_body_check(disk *d, const store_key *key, const disk_place *place,
                             const disk_sum *sum);

/** 1 if nothing was written over the record so far. */
int disk_is_current(const disk *d, const disk_place *place);

/** Write an object that is complete. Blocks. @return APR_ENOSPC and the like: it is not stored, the tier goes on */
apr_status_t disk_write(disk *d, const store_view *view, const store_key *key, uint64_t mark,
                        const uint64_t *marks, uint32_t marks_n);

/** Forget a key. Does not block. */
void disk_forget(disk *d, const store_key *key);

typedef struct disk_figures {
    uint64_t objects, bytes, written, overwritten, damaged, failed;
} disk_figures;
void disk_figures_get(const disk *d, disk_figures *figures);

#endif
