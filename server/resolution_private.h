/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_RESOLUTION_STRUCT_H
#define BRIGADE_RESOLUTION_STRUCT_H

/**
 * @file resolution_private.h
 * Shared by resolution.c (look-up and answer), resolution_store.c (what is remembered, and when)
 * and resolution_declare.c.
 *
 * An entry is made in two steps. The first request for a URI only *primes* it: its dependencies are
 * put under watch. The next full run, all of which came after the watches, fills it, if nothing
 * changed in between. So there is no moment between "looked at" and "watched" in which a change
 * could be missed.
 */
#include "loop_private.h"
#include "resolution.h"
#include "watch.h"
#include "core_private.h"

/** One formatted response head; the Date value lies at date_off, Connection lines go in at
 * conn_off. */
typedef struct resolution_head {
    char *text;
    uint32_t len, date_off, conn_off;
} resolution_head;

struct resolution_entry {
    watch_owner owner;               /**< first */
    resolution_entry *next;          /**< in the bucket */
    resolution_entry *newer, *older; /**< by last use */
    uint64_t hash;
    const brg_listener *listener; /**< key: where it came in */
    const void *chain;            /**< key: virtual hosts of the local address */
    uint32_t host_len, uri_len;
    char *key;      /**< host, then URI, as sent */
    uint32_t refs;  /**< 1 for the cache, 1 for each answer being written */
    uint8_t filled; /**< else primed only */
    char *
        basis; /**< primed: store_basis() of the answer whose dependencies are watched; else NULL */
    uint8_t observed; /**< log_transaction hooks want every request */
    uint8_t watched;  /**< else validated by stat */
    uint8_t in_cache;
    uint8_t uncoded; /**< true of requests without Accept-Encoding only */
    int status;
    server_rec *server;
    resolution_head head, head_304;
    char *body; /**< in memory, or NULL */
    int fd;     /**< open file for sendfile, or -1 */
    apr_off_t body_len;
    size_t bytes; /**< charged to the cache's budget */
    char *path;   /**< of the file, for validation and logs */
    struct resolution_stat {
        uint64_t dev, ino, size;
        apr_time_t mtime_ns, ctime_ns;
    } stat;
    apr_time_t checked;              /**< when stat was last compared */
    apr_time_t mtime;                /**< Last-Modified, microseconds */
    char last_modified[32];          /**< its text, "" = the answer has none */
    char etag[64];                   /**< "" = none, or too long to be compared here */
    struct resolution_observed *log; /**< what log hooks are shown, when observed */
};

#define RESOLUTION_SEEN 8192 /**< a power of two */

struct resolution_cache {
    brg_loop *loop;
    watch_set *watch; /**< NULL: stat */
    resolution_entry **bucket;
    uint32_t buckets_n; /**< a power of two */
    uint32_t entries_n;
    size_t bytes;
    int files_n, files_most; /**< entries with an open file */
    resolution_entry *newest, *oldest;
    request_rec *offered_r;   /**< the request whose handler offered a file, while it runs */
    int offered_uncoded;      /**< a filter on the way would compress it if that were asked for */
    const char *offered_path; /**< the file that is r's whole body, or NULL */
    const char *offered_body; /**< the bytes that are r's whole body, or NULL */
    apr_size_t offered_len;
    const char *const
        *offered_from; /**< with offered_body: the files that it was made from, or NULL */
    char date[32];     /**< Date value of date_second */
    apr_time_t date_second;
    uint64_t hits, misses, fills;
    uint32_t seen[RESOLUTION_SEEN]; /**< a part of the hash of what was asked for once, by another
                                       part of it */
    h1_gather gather;
};

/** Find the entry for a head, or NULL. */
resolution_entry *resolution_find(resolution_cache *c, const brg_listener *l, const void *chain,
                                  const char *host, size_t host_len, const char *uri,
                                  size_t uri_len, uint64_t *hash);

resolution_entry *resolution_add(resolution_cache *c, const brg_listener *l, const void *chain,
                                 const char *host, size_t host_len, const char *uri, size_t uri_len,
                                 uint64_t hash);

/** Take an entry out of the cache; answers that still hold it finish first. */
void resolution_forget(resolution_cache *c, resolution_entry *e);

/** Keep within FileCacheEntries, FileCacheSize and this loop's share of the descriptors. */
void resolution_trim(resolution_cache *c, const brg_core_conf *conf);

/** Remember when the entry was used last. */
void resolution_touch(resolution_cache *c, resolution_entry *e);

/** The greatest answer of all modules: BRG_RESOLUTION_*. */
int resolution_ask_modules(request_rec *r);

/** stat() now and compare. 1: as it was. */
int resolution_stat_same(resolution_entry *e);
int resolution_stat_take(struct resolution_stat *out, int fd, const char *path);

/** Show a remembered answer to the log_transaction hooks. */
void resolution_observe(resolution_entry *e, brg_conn *bc, const h1_head *head, int status,
                        size_t head_sent, apr_off_t body_sent);

/** Keep of r what resolution_observe() needs. */
int resolution_observe_keep(resolution_entry *e, request_rec *r);
void resolution_observe_drop(resolution_entry *e);

#endif
