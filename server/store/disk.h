/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STORE_DISK_H
#define BRIGADE_STORE_DISK_H

/**
 * @file disk.h
 * The tier below store.h: objects in files of fixed length below CacheRoot, which are written round and round.
 *
 * A record has its key, its place, and sums of its head and its body. So bytes that a crash, a full disk or somebody else
 * left are no record. An index in a file that all processes map says where records are; each look-up compares it with the
 * record. If the index is missing or has another layout, it is made anew from the records' heads. Before a record is
 * overwritten its place is given up: a reader asks disk_is_current() after it has read.
 *
 * Purges are kept beside the index, with their times: a record that is older than the purge of its key or of one of its marks
 * is gone, also after a restart. There is no soft purge here: an object that would be stale is fetched anew.
 *
 * File names begin with "brigade-cache", which htcacheclean passes over. They belong to the user of server processes.
 *
 * Threads: disk_open(), disk_write(), disk_purge(), disk_purge_wait() and disk_read() with wait by workers, since they block; all others by
 * any thread. After a fork both processes go on with it.
 */
#include "store.h"

typedef struct disk disk;

typedef struct disk_limits {
    const char *root;      /**< CacheRoot, which exists */
    uint64_t bytes;        /**< of all files, at least 1 MiB for each */
    uint64_t object_bytes; /**< of one record */
    uint32_t files;        /**< 1 to 64: that many writes at a time */
    uint32_t objects;      /**< of the index; 0: bytes / 8 KiB */
} disk_limits;

/**
 * Open the files, or make them. Space is reserved, so that a full disk shows here.
 * @param scanned  [out] 1: there was no index that could be used, so records were looked for
 * @return APR_ENOSPC and the like: there is no tier
 */
apr_status_t disk_open(disk **to, const disk_limits *limits, int *scanned);

/** Use files that other processes have open: nothing is made, nothing of another form is used. */
apr_status_t disk_attach(disk **to, const disk_limits *limits);

/** Write back bytes that the system has not yet written, and close. */
apr_status_t disk_close(disk **d);

/** The secret of keys that these files were written with: for store_secret_use(). */
void disk_secret(const disk *d, uint64_t secret[2]);

/** Where a record lies, by value. It may be overwritten meanwhile. */
typedef struct disk_place {
    uint32_t file;
    /** written since the machine started: the body may be served before its sum is known */
    uint8_t verified;
    uint64_t at;    /**< counts on over all rounds */
    uint64_t bytes; /**< of the whole record */
} disk_place;

/** Is a record of this key there? @return 1, and *place */
int disk_find(const disk *d, const store_key *key, disk_place *place);

/** The head of a record. Pointers lead into the bytes that were read. */
typedef struct disk_head {
    const char *text, *terms, *head;
    uint32_t text_len, head_len, marks_n;
    const char *marks;         /**< marks_n of 8 bytes, not aligned */
    uint64_t mark;             /**< of the key whose variant it is, or 0 */
    uint64_t body, body_bytes; /**< where its body begins in the record, and its length */
    apr_time_t stored;         /**< when its origin was asked */
    uint64_t sum;              /**< of the body */
    uint8_t vary;
} disk_head;

/** Bytes to read of a record for disk_head_read(): if it needs more, it says so. */
#define DISK_HEAD_GUESS 4096

/**
 * The head of a record from its first bytes.
 * @param n  [in,out] bytes that are there; APR_INCOMPLETE: so many are needed
 * @return APR_SUCCESS; APR_INCOMPLETE; APR_EGENERAL: no such record, damaged, or purged: it is forgotten
 */
apr_status_t disk_head_read(disk *d, const store_key *key, const disk_place *place,
                            const char *bytes, size_t *n, disk_head *head);

/**
 * Read bytes of a record.
 * @param wait  0: APR_EAGAIN if the disk would have to be asked; then a worker does it with 1
 * @return APR_SUCCESS: all are there; APR_EAGAIN; APR_EGENERAL: it was overwritten; or an error of the system
 */
apr_status_t disk_read(const disk *d, const disk_place *place, uint64_t off, void *to, size_t n,
                       int wait);

/** The sum of a body, block by block as it is read. */
typedef struct disk_sum {
    uint64_t a, b, word;
    uint32_t have;
} disk_sum;
void disk_sum_begin(disk_sum *sum);
void disk_sum_add(disk_sum *sum, const void *p, size_t n);
uint64_t disk_sum_end(const disk_sum *sum);

/** The whole body was read. @return APR_EGENERAL: it is damaged, and forgotten */
apr_status_t disk_body_check(disk *d, const store_key *key, const disk_place *place,
                             const disk_head *head, const disk_sum *sum);

/** 1 if nothing was written over the record so far. */
int disk_is_current(const disk *d, const disk_place *place);

/**
 * Write an object that is complete.
 * @param stored  when its origin was asked: later purges are of it, too
 * @return the system's error: it is not stored, the tier goes on
 */
apr_status_t disk_write(disk *d, const store_key *key, const store_view *view, apr_time_t stored);

/** Forget a key. Does not block. */
void disk_forget(disk *d, const store_key *key);

/** Objects with this mark, stored before @a when, are gone; a mark of 0: all. Does not block;
 * survives the end of all processes. */
void disk_purge_begin(disk *d, uint64_t mark, apr_time_t when);
/** Purges until now stay so if the machine crashes. Blocks. */
apr_status_t disk_purge_wait(disk *d);
/** Both. */
apr_status_t disk_purge(disk *d, uint64_t mark, apr_time_t when);

typedef struct disk_figures {
    uint64_t bytes; /**< that its files may have */
    uint64_t written, objects_written, damaged, failed;
} disk_figures;
void disk_figures_get(const disk *d, disk_figures *figures);

#endif
