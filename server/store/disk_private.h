/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STORE_DISK_PRIVATE_H
#define BRIGADE_STORE_DISK_PRIVATE_H

/**
 * @file disk_private.h
 * The layout of the files: brigade-cache.index (disk_shared and entries) and brigade-cache.purges, which all processes
 * map, brigade-cache.key with the secret of the keys, and brigade-cache.N with records on boundaries of DISK_UNIT.
 */
#include "disk.h"
#include "store_private.h"
#include <pthread.h>

/* Other forms, or marks of another text, have other numbers: files of before are not read, and written anew. */
#define DISK_MAGIC 0x3365686361636462ull
#define DISK_RECORD 0x3264726f63657262ull
#define DISK_UNIT 512u
#define DISK_FILES 64
#define DISK_BUCKET 4 /* index entries that a key may have */
#define DISK_PURGES 65536u
#define DISK_PROBES 8

/* In the index: a tag of the key, file 6 bits and place, length and start of the machine. */
typedef struct disk_entry {
    _Atomic uint64_t tag, where, bytes;
} disk_entry;

typedef struct disk_mark {
    _Atomic uint64_t mark;
    _Atomic int64_t when;
} disk_mark;

typedef struct disk_shared {
    uint64_t magic, layout, secret[2];
    char boot[40];
    _Atomic uint32_t boots;
    /** of each file: where the next record begins, over all rounds */
    _Atomic uint64_t reserved[DISK_FILES];
    _Atomic uint64_t written, objects_written, damaged, failed;
} disk_shared;

typedef struct disk_purges {
    uint64_t magic;
    _Atomic int64_t all; /* older ones are gone, and those whose mark was forgotten */
    disk_mark mark[DISK_PURGES];
} disk_purges;

typedef struct disk_record {
    uint64_t magic, at, bytes;
    store_key key;
    uint64_t mark, body_bytes, body_sum, head_sum;
    int64_t stored;
    uint32_t head_bytes; /* marks, text, terms, head */
    uint32_t head_len;
    uint16_t text_len, marks_n;
    uint32_t vary;
    uint64_t sum; /* of the fields above */
} disk_record;

struct disk {
    disk_limits limits;
    disk_shared *shared;
    size_t map_bytes;
    disk_entry *entry;
    disk_purges *purges;
    uint32_t buckets;
    uint64_t room;                       /* bytes of one file */
    int fd[DISK_FILES], index, attached; /* attached: the files are others', nothing is made */
    pthread_mutex_t lock[DISK_FILES];    /* of this process; between processes a lock on the file */
};

uint64_t disk_sum_of(const void *p, size_t n);
int disk_record_is(const disk *d, const disk_record *r, uint64_t at);
void disk_index_put(disk *d, const store_key *key, uint32_t file, uint64_t at, uint64_t bytes,
                    int verified);
void disk_scan(disk *d);
int disk_is_purged(const disk *d, uint64_t mark, int64_t stored);

static inline uint64_t disk_offset(const disk *d, uint64_t at)
{
    return at % d->room;
}

#endif
