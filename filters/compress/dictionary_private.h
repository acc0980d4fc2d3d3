/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTERS_DICTIONARY_PRIVATE_H
#define BRIGADE_FILTERS_DICTIONARY_PRIVATE_H

/**
 * @file dictionary_private.h
 * Between dictionary.c (requests and fields of RFC 9842) and
 * dictionary_store.c: contents of files that clients may have as dictionaries, and other files
 * coded with them. In memory of the process, bounded; the least recently used goes first.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_file_io.h"

#define DICTIONARY_HASH 32
#define DICTIONARY_MOST (2 * 1024 * 1024) /**< bytes of a file */

/** Some bytes; they stay while somebody refers to them. */
typedef struct dictionary {
    struct dictionary *next;
    const void *rule; /**< of which pattern it is */
    char *path;       /**< of a content; NULL: it is coded */
    apr_time_t mtime;
    unsigned char hash[DICTIONARY_HASH];    /**< of a content, of a coded one that of its source */
    unsigned char by_hash[DICTIONARY_HASH]; /**< of its dictionary */
    char *data;
    apr_size_t len; /**< coded, 0: it is not worth while */
    int refs;
} dictionary;

/** How many bytes there may be, in each process. */
void dictionary_bound(apr_size_t bytes);

/** The content of a file as it is known: of that path, time and size. @return a reference, or NULL. Threads: any. Blocking: no */
dictionary *dictionary_of_file(const void *rule, const char *path, const apr_finfo_t *finfo);

/** A content by its SHA-256. @return as dictionary_of_file() */
dictionary *dictionary_of_hash(const void *rule, const unsigned char *hash);

/** @a content coded with @a by. @return as dictionary_of_file(); one of no bytes: do without */
dictionary *dictionary_coded(const dictionary *content, const dictionary *by);

/** Read and keep the content of a file. Threads: workers. Blocking: yes. @return as dictionary_of_file() */
dictionary *dictionary_read(const void *rule, apr_pool_t *p, const char *path,
                            const apr_finfo_t *finfo);

/** Code @a content with @a by, and keep it. Threads: workers. @return as dictionary_of_file() */
dictionary *dictionary_code(const dictionary *content, const dictionary *by, int level);

/**
 * 1: a folder was not looked through for a minute. @param take  it is now
 * Threads: any. Blocking: no.
 */
int dictionary_scan_is_due(const char *folder, apr_time_t now, int take);

/** Give a reference back. NULL: nothing. */
void dictionary_release(dictionary *d);

/* ---- dictionary.c ---- */

/** Setter of ZstdDictionary, for each of its words. */
const char *dictionary_set(cmd_parms *cmd, void *dir, const char *pattern);
/** From mod_zstd's register_hooks. */
void dictionary_register(void);

#endif
