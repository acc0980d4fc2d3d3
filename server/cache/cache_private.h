/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_PRIVATE_H
#define BRIGADE_CACHE_CACHE_PRIVATE_H

/**
 * @file cache_private.h
 * Shared by resolution.c (look-up and answer), resolution_store.c (which answers are remembered,
 * and when), resolution_fill.c (what is kept of one) and resolution_declare.c.
 *
 * An entry is made in two steps. The first request for a URI only *primes* it: its dependencies are
 * put under watch. The next full run, all of which came after the watches, fills it, if nothing
 * changed in between. So there is no moment between "looked at" and "watched" in which a change
 * could be missed.
 */
#include "http_answer.h"
#include "loop.h"
#include "response_cache.h"
#include "watch.h"
#include "core_settings.h"
#include "request_context.h"
#include "placement.h"
#include "brigade/resolution.h"

typedef struct cache_capture resolution_capture;
typedef struct resolution_lent resolution_lent;

/** A response head, and its forms by protocol. */
typedef struct resolution_head {
    http_answer *answer; /**< NULL: none */
    http_stored_head form[HTTP_CODECS];
} resolution_head;

/** A field that an entry depends on (resolution_select.c). */
typedef struct resolution_selector resolution_selector;

#define RESOLUTION_SELECTORS 4 /**< fields at most that one answer may depend on */
#define RESOLUTION_VARIANTS 8  /**< entries at most for one target */
#define RESOLUTION_KINDS 128   /**< values whose kind is kept; a power of two */

/** A value that was classified before. */
typedef struct resolution_kind {
    uint64_t hash;
    brg_resolution_kind_fn *fn;
    const void *data;
    uint32_t len;
    int kind;
    char value[224];
} resolution_kind;

/** Where the fields of a request are looked for: its head, or else what was made of that. */
typedef struct resolution_asked {
    const http_head *head;
    const request_rec *r;
} resolution_asked;

struct resolution_entry {
    watch_owner owner;               /**< first */
    resolution_entry *next;          /**< in the bucket */
    resolution_entry *newer, *older; /**< by last use */
    uint64_t hash;
    const brg_listener *listener; /**< key: where it came in */
    const void *chain;            /**< key: virtual hosts of the local address */
    uint32_t host_len, uri_len;
    char *key;      /**< host, then URI, as sent */
    shared_ref ref; /**< one for the cache, one for each answer that is being written */
    uint8_t filled; /**< else primed only */
    char *
        basis; /**< primed: store_basis() of the answer whose dependencies are watched; else NULL */
    uint8_t observed; /**< log_transaction hooks want every request */
    uint8_t watched;  /**< else validated by stat */
    uint8_t in_cache;
    uint8_t lent;      /**< a worker makes what is to fill it */
    uint8_t tries;     /**< how often that came to nothing */
    uint8_t not_first; /**< the first answer on a connection is another one */
    uint8_t coded;     /**< a filter made the body: the answer to HEAD is another one */
    uint8_t hopeless;  /**< primed, but its body is too long to be kept */
    uint8_t selectors_n;
    resolution_selector *selectors;    /**< the request fields that it is for */
    uint8_t frame_before, frame_after; /**< parts of body that frame it: a chunk's size, and ends */
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
    apr_time_t checked;     /**< when stat was last compared */
    apr_time_t mtime;       /**< Last-Modified, microseconds */
    char last_modified[32]; /**< its text, "" = the answer has none */
    char etag[64];          /**< what If-None-Match is compared with; "" = none, or too long */
    struct resolution_observed *log; /**< what log hooks are shown, when observed */
};

#define RESOLUTION_SEEN 8192 /**< a power of two */

struct resolution_cache {
    brg_loop *loop;
    watch_set *watch; /**< NULL: stat */
    int is_lent;      /**< to a worker, for one request */
    resolution_entry **bucket;
    uint32_t buckets_n; /**< a power of two */
    uint32_t entries_n;
    size_t bytes;
    int files_n, files_most; /**< entries with an open file */
    resolution_entry *newest, *oldest;
    uint64_t hits, fills;
    uint32_t seen[RESOLUTION_SEEN]; /**< a part of the hash of what was asked for once, by another
                                       part of it */
    gather gather;
    resolution_kind kinds[RESOLUTION_KINDS];
};

/** Find the entry for a head, or NULL. */
resolution_entry *resolution_find(resolution_cache *c, const brg_listener *l, const void *chain,
                                  const char *host, size_t host_len, const char *uri,
                                  size_t uri_len, const resolution_asked *asked, uint64_t *hash);

uint64_t resolution_mix(uint64_t h, const char *s, size_t len);

/** 1 if both are for the same target (entries of equal hash). */
int resolution_same_key(const resolution_entry *a, const resolution_entry *b);

/** 1 if the request has the kinds of values that @a e is for. */
int resolution_selected(resolution_cache *c, const resolution_entry *e,
                        const resolution_asked *asked);

/** Let @a e be for the fields of @a r that its modules named. -1: it cannot be. */
int resolution_selectors_take(resolution_cache *c, resolution_entry *e, request_rec *r);

/** 1 if @a e was made for all that r was found to depend on, and nothing else. */
int resolution_selectors_same(const resolution_entry *e, request_rec *r);
void resolution_selectors_drop(resolution_entry *e);

/** @a e was added: are there too many for its target? */
void resolution_limit_variants(resolution_cache *c, const resolution_entry *e);

/** @name what filters make of an offered body (resolution_capture.c) */
/** @{ */
/** Stand behind the filters of @a r that may change its body and keep what comes, at most @a most
 * bytes. Lives as long as r. */
resolution_capture *resolution_capture_begin(request_rec *r, apr_size_t most);

/** The whole body, as sent: in chunks if r->chunked. From malloc(), the caller's. NULL if it did
 * not come as a whole. @a too_long: it had more bytes than were to be kept. */
char *resolution_capture_take(resolution_capture *capture, request_rec *r, resolution_entry *e,
                              int *too_long);
void resolution_capture_register(void);
/** @} */

resolution_entry *resolution_add(resolution_cache *c, const brg_listener *l, const void *chain,
                                 const char *host, size_t host_len, const char *uri, size_t uri_len,
                                 uint64_t hash);

/** Take an entry out of the cache; answers that still hold it finish first. */
void resolution_forget(resolution_cache *c, resolution_entry *e);

/** Keep within FileCacheEntries, FileCacheSize and this loop's share of the descriptors. */
void resolution_trim(resolution_cache *c, const brg_core_conf *conf);

/** Remember when the entry was used last. */
void resolution_touch(resolution_cache *c, resolution_entry *e);

/** The cache of the calling thread's loop; NULL on other threads, and where nothing is kept. */
resolution_cache *resolution_store_cache(void);

/** 1 if the answer to such a request may be kept. */
int resolution_request_is_plain(const request_rec *r);

/** The entry for a request that is plain, or NULL. */
resolution_entry *resolution_find_for(resolution_cache *c, const request_rec *r, uint64_t *hash);

/** The cache that was lent to the calling worker for its request, or NULL (resolution_lend.c). */
resolution_cache *resolution_lent_cache(void);

/** As if the handler for files had offered the file of @a r, which filters are going to compress: 1
 * if it would be taken. */
int resolution_offer_early(request_rec *r);

/** For a request that was offered early: its entry; else NULL, and one may be primed. */
resolution_entry *resolution_primed_for(resolution_cache *c, request_rec *r);

/** Take into a primed or new entry what @a r, which is over but for its end, was answered with. -1:
 * it cannot be kept, and the entry is to be forgotten. (resolution_fill.c) */
int resolution_fill(resolution_cache *c, resolution_entry *e, request_rec *r);

/** Take the head of the answer to @a r. -1: it has none that could be sent again. */
int resolution_fill_head(request_rec *r, resolution_head *out);

/** Forget a head. */
void resolution_head_drop(resolution_head *head);

/** stat() now and compare. 1: as it was. */
int resolution_stat_same(resolution_entry *e);
int resolution_stat_take(struct resolution_stat *out, int fd, const char *path);

/** Show a remembered answer to the log_transaction hooks. */
void resolution_observe(resolution_entry *e, brg_conn *bc, const http_head *head, int status,
                        size_t head_sent, apr_off_t body_sent);

/** Keep of r what resolution_observe() needs. */
int resolution_observe_keep(resolution_entry *e, request_rec *r);
void resolution_observe_drop(resolution_entry *e);

#endif
