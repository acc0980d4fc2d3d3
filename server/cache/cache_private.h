/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_PRIVATE_H
#define BRIGADE_CACHE_CACHE_PRIVATE_H

/**
 * @file cache_private.h
 * The cache, its entries and their bodies. response_cache.c sends them,
 * cache_table.c looks them up and displaces them, cache_body.c has bodies, cache_admission.c
 * decides about places, cache_hot.c about targets that are stored at once, cache_tell.c tells why
 * an answer is not stored. Each other subject of the room has a header of its own:
 *
 *   cache_fill_private.h      storing by the full way: arming, offers, filling
 *   cache_source_private.h    sources, which keep an entry current
 *   cache_vary_private.h      fields and clients that it depends on
 *   cache_parts_private.h     requests with a range
 *   cache_observed_private.h  logs
 *
 * An entry is made in two steps. A full run of a request that is asked for often enough *arms*
 * it: all that the answer depends on is put under watch. The next full run, which begins after the
 * watches were set, fills it, if nothing changed in between. So there is no moment between "looked
 * at" and "watched" in which a change could be missed. The first run fills the entry, too, if everything but the file
 * itself was under watch when it began (watch_seen()), and the file's time stamps and place are still as they were.
 * A HEAD for a file does both as a GET does, since the body is read from the file. So do a 304 and a part of a file (206);
 * their heads are stored beside that of 200, and answer requests of their kind. The heads of several parts and of 416 are
 * stored for an entry whose body is there.
 *
 * Threads, unless a declaration says otherwise: the loop that the cache belongs to; for a cache with
 * is_workers, the worker that has it. Blocking: no.
 */
#include <string.h>
#include <stdlib.h>
#include "cache_admission.h"
#include "file_identity.h"
#include "http_answer.h"
#include "loop.h"
#include "memory_file.h"
#include "response_cache.h"
#include "folders.h"
#include "watch.h"
#include "core_settings.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"

/** A response head, and its forms by protocol. */
typedef struct cache_head {
    http_answer *answer;                    /**< NULL: none */
    http_stored_head *form[CONN_PROTOCOLS]; /**< NULL: not serialised yet */
} cache_head;

/** The origin of an entry of CACHE_SOURCE_LIFETIME, an object of the store (cache_lifetime.c). */
typedef struct cache_lifetime cache_lifetime;
typedef struct cache_stored cache_stored;

/** The objects beside files of which an entry of CACHE_SOURCE_COMPOSED was made (cache_composed.c).
 */
typedef struct cache_composed cache_composed;

/** A dependency of an entry, and the entry's value or variant (cache_vary_private.h). */
typedef struct cache_vary_key cache_vary_key;

#define CACHE_VARY_MOST 24   /**< fields, and limits, at most that one answer may depend on */
#define CACHE_VARIANTS 8     /**< entries at most for one target */
#define CACHE_CLASSIFIED 128 /**< values whose variant is kept; a power of two */

/** A value that was classified before. */
typedef struct cache_classified {
    uint64_t hash;
    brg_cache_variant_fn *fn;
    const void *data;
    uint32_t len;
    int variant;
    char value[224];
} cache_classified;

/** Where fields of a request are looked up: in its head, or in its request_rec. */
typedef struct cache_asked {
    const http_head *head; /**< NULL: r is set */
    const brg_conn *bc;    /**< with head: where it came in */
    const request_rec *r;
} cache_asked;

/**
 * The body of stored answers. Reference counted: by entries, also by forgotten ones that are still
 * being sent. Charged to the cache once, while an entry of the cache uses it.
 */
typedef struct cache_body {
    struct cache_body *next; /**< in the bucket of identity, while used */
    uint32_t refs;           /**< entries */
    uint32_t users;          /**< of them in the cache */
    char *data;              /**< in memory, or NULL */
    /** where data is, if the kernel can send it without a copy; else data is from malloc() */
    memory_piece piece;
    int fd;         /**< open file for sendfile, or -1 */
    file_kept kept; /**< with fd: its mapping */
    apr_off_t len;
    size_t bytes;           /**< of memory */
    file_identity identity; /**< of the file that it is all of; all zero: of none, not shared */
} cache_body;

/** Answers for requests with a range: heads that came the full way, each once. From malloc(). */
typedef struct cache_ranges {
    cache_head part;    /**< of 206 with one part */
    cache_head parts;   /**< of 206 with several */
    char *part_type;    /**< log data of each, or NULL */
    cache_head outside; /**< of 416 */
    char *page;         /**< its body, with the framing */
    size_t page_len;
    uint8_t page_before, page_after; /**< bytes of page that frame it as a chunk */
    http_part_limits limits;
} cache_ranges;

/** Entries that count against one limit, by last use. */
typedef struct cache_queue {
    cache_entry *newest, *oldest;
    uint32_t n;
    uint32_t moves; /**< how often an entry became the newest */
    size_t bytes;   /**< of entries, without bodies and watches */
} cache_queue;

/** Answers that are errors have a queue, and so a limit, of their own. */
enum { CACHE_ANSWERS, CACHE_ERRORS, CACHE_QUEUES };

/** Bodies from this length on are kept where the kernel can send them without a copy. */
#define CACHE_PIECE_LEAST 16384

/** One call of sendfile() moves so many of their bytes at a time, and wakes the client. A body that
 * is somewhat longer costs less in one writev(), with a copy; from CACHE_PIECE_LONG on the copy
 * costs more than the wake-ups do (docs/internals/cache.md has the figures). */
#define CACHE_PIECE_SHORT 65536
#define CACHE_PIECE_LONG 131072

/** The share of FileCacheEntries and FileCacheSize that errors may take is one part of so many. */
#define CACHE_ERRORS_PART 16
/** And one part in so many of its bytes, beside them, for known folders (request/folders.h). */
#define CACHE_FOLDERS_PART 8

/**
 * A stored answer.
 *
 * | State       | Moved on by                                   | Legal in it                        |
 * |-------------|-----------------------------------------------|------------------------------------|
 * | new         | cache_add(), cache_vary_take()                | to arm it, or to forget it         |
 * | armed       | a full run of the same request: cache_fill()  | look-up; answers nothing;          |
 * |             | or, if e->compared, by the run that armed it  | e->source is set                   |
 * | armed, fill | a worker has it: cache_to_worker(); back:     | look-up; answers nothing; another  |
 * |             | cache_from_worker()                           | request does not fill it           |
 * | uncacheable | a change, or displacement                     | look-up; answers nothing           |
 * | planned     | a change, or displacement                     | the same; its plan is used         |
 * | filled_304  | a full run that was answered with 200         | answers conditional requests alone |
 * | filled_206  | a full run that was answered with 200         | answers requests for a part alone  |
 * | filled      | a change, or displacement                     | answers; the head for 304 may come |
 * | forgotten   | the last answer that is sent from it          | not in the cache; no watches       |
 *
 * Owner: the cache, and each answer that is being sent from it (ref).
 */
typedef struct cache_looks cache_looks;

#define CACHE_OBSERVED_BY_LOGS 1  /**< log_transaction hooks */
#define CACHE_OBSERVED_BY_STORE 2 /**< it counts hits */
/** the error log: it says of each request why it was refused */
#define CACHE_OBSERVED_BY_MESSAGES 4

struct cache_entry {
    /* The fields that a hit on the whole answer reads come first, up to head: where there are many
     * entries, none of their lines is in the processor's caches. */
    watch_owner owner; /**< first */
    cache_entry *next; /**< in the bucket */
    uint64_t hash;
    const brg_listener *listener; /**< key: where it came in */
    const void *chain;            /**< key: virtual hosts of the local address */
    uint32_t host_len, uri_len;
    uint8_t protocol; /**< key: conn_protocol_number */
    uint8_t vary_n;
    uint8_t filled;     /**< else armed only */
    uint8_t filled_304; /**< validators and the head of 304 are there, the rest may not be */
    uint8_t filled_206; /**< validators, body and the head of 206; that of 200 may not be there */
    uint8_t gated;      /**< so many gates are asked for each request: cache_gates_admit() */
    uint8_t observed;   /**< CACHE_OBSERVED_*: observers of every request */
    uint8_t source;     /**< cache_source_id: the source that keeps it current */
    uint8_t in_cache;
    uint8_t queue;     /**< CACHE_ANSWERS or CACHE_ERRORS */
    uint8_t uses;      /**< how often it was used in the recent past */
    uint8_t coded;     /**< a filter made the body: the answer to HEAD is another one */
    uint8_t any_query; /**< the key ends before the query, which nobody looked at */
    uint8_t way;       /**< file_way: how a body that is kept open is sent */
    uint8_t frame_before, frame_after; /**< parts of body that frame it: a chunk's size, and ends */
    uint8_t fill;                      /**< a worker makes the answer that fills it */
    uint8_t tries;                     /**< how often that came to nothing */
    uint8_t uncacheable;               /**< armed, but its body is too long to be stored */
    uint8_t compared; /**< the answer that armed it may fill it, if its file is still the same */
    uint8_t plans;    /**< it is for a plan; else for an answer */
    uint8_t no_plan;  /**< it stands for targets that have each a plan of their own */
    admission_stamp stamp; /**< when it was used last */
    uint32_t moved;        /**< queue's moves when it became the newest */
    uint16_t status;       /**< by cache_set_status() */
    uint8_t class;         /**< its class: figures_class() */
    uint32_t answered;     /**< requests that it answered since the busiest were told */
    cache_body *body;      /**< NULL: none */
    server_rec *server;
    brg_host_figures *count;    /**< those of its virtual host and protocol: figures_requests() */
    cache_vary_key *vary;       /**< the request fields that it is for */
    struct cache_observed *log; /**< data for log hooks, when observed */
    shared_ref ref;             /**< one for the cache, one for each answer that is being written */
    cache_head head;
    cache_head head_304;
    cache_entry *newer, *older;           /**< in the queue, by last use */
    cache_entry *file_newer, *file_older; /**< among those whose body is an open file */
    uint8_t has_file;                     /**< it is one of these */
    size_t reserved; /**< while armed: bytes of heads and body that will come, charged already */
    /** armed: cache_fingerprint() of the answer whose dependencies are watched; else NULL */
    char *fingerprint;
    cache_lifetime *lifetime; /**< NULL: it is no copy */
    cache_composed *composed; /**< NULL: it was made of files alone */
    /** NULL: it is an answer; else the head of files (cache_alike_private.h) */
    struct cache_alike *alike;
    struct cache_names *absent; /**< it is for names that are not there; NULL: for its target */
    struct cache_plan *plan;    /**< NULL: not yet; else it is never filled (cache_plan.h) */
    cache_ranges *ranges;       /**< NULL: no request with a range was answered the full way */
    size_t bytes;               /**< charged to its queue */
    cache_looks *looks;         /**< watched, but not by all ways in which it may change; or NULL */
    char *path;                 /**< of the file, for validation */
    file_identity identity;     /**< of the file, where it is validated by stat */
    apr_time_t checked;         /**< when identity was last compared */
    apr_time_t mtime;           /**< Last-Modified, microseconds */
    char last_modified[32];     /**< its text, "" = the answer has none */
    char etag[64];              /**< for If-None-Match; "" = none, or too long */
    uint8_t last_modified_len, etag_len; /**< of these */
    char key[];                          /**< host, then URI, as sent, and a NUL */
};

/** The body's length in bytes, with the framing. */
static inline apr_off_t cache_body_len(const cache_entry *e)
{
    return e->body ? e->body->len : 0;
}

static inline void cache_set_status(cache_entry *e, int status)
{
    e->status = (uint16_t)status;
    e->class = (uint8_t)figures_class(status);
}

#define CACHE_CHAIN_MOST 64 /**< entries at most in one bucket */
#define CACHE_SHOWN 64      /**< URLs that are known to show their name */

struct response_cache {
    brg_loop *loop;
    watch_set *watch;   /**< NULL: none, or it is that of a worker */
    uint8_t watches;    /**< watches for entries; of a worker's cache: in its loop's */
    uint8_t is_workers; /**< to a worker, for one request */
    cache_entry **bucket;
    uint32_t buckets_n; /**< a power of two */
    uint32_t entries_n;
    size_t bytes;            /**< of entries and bodies; those of watches: watch_bytes() */
    size_t bytes_most;       /**< where FileCacheSize is not set */
    size_t allocated;        /**< bytes of bodies, since its heap was let grow (cache_body.c) */
    int files_n, files_most; /**< bodies with an open file */
    cache_entry *file_newest, *file_oldest; /**< entries with one, by last use */
    cache_queue queue[CACHE_QUEUES];
    cache_body **bodies; /**< bodies_n of them, by identity */
    uint32_t bodies_n;   /**< a power of two */
    memory_file *memory; /**< of large bodies; NULL: none yet, or the kernel has none */
    cache_admission admission;
    cache_figures figures;
    uint32_t alike_n;  /**< entries that are the head of files */
    uint32_t absent_n; /**< entries for names that are not there */
    uint32_t below_n;  /**< of them, plans for what is below a folder, or a prefix */
    uint32_t prefix_n; /**< of these, a prefix */
    uint32_t deep_n;   /**< of absent_n, answers for what is below folders that are not there */
    uint32_t moved_n;  /**< entries for redirects of all below a prefix; of absent_n, too */
    /** URLs whose answers show the name elsewhere, too: each has an entry of its own. */
    uint64_t shown[CACHE_SHOWN];
    struct cache_route *routes; /**< cache_route.h; NULL: none was learned */
    struct cache_route *route;  /**< with routes: the one that was used last */
    struct route_loan *loan;    /**< of cache_route.c, for the next one that is lent; NULL: none */
    /** In no table, while a request is answered with it: of a route, of names alike or moved; NULL. */
    cache_entry *lent;
    cache_verdict verdict; /**< on the last response that was considered */
    cache_classified classified[CACHE_CLASSIFIED];
    struct cache_named *named; /**< expressions on names of fields (cache_named.c) */
    /** a field for the request that is looked up, or NULL: cache_vary_matches() */
    const char *added_name;
    int added_len;
    char added[BRG_CACHE_ADDED_ROOM]; /**< its value */
};

/** Zeros by libc: the compiler would write out a loop of eight bytes at a time. */
static inline void *cache_clear(void *block, size_t size)
{
    __asm__("" : "+r"(size));
    return memset(block, 0, size);
}

/** Zeros, from malloc(), which takes less than calloc() for blocks of these sizes; or NULL. */
static inline void *cache_new(size_t size)
{
    void *block = malloc(size);

    __asm__("" : "+r"(block)); /* else the compiler makes a calloc() of it */
    return block ? cache_clear(block, size) : NULL;
}

/** Bytes of a block from malloc(). */
static inline size_t cache_block(size_t size)
{
    return (size + 8 + 15) & ~(size_t)15;
}

/** @name targets that are answered from memory often (cache_hot.c); @a now as clock_monotonic(). Threads: any. */
/** @{ */
/** One was answered @a n times. */
void cache_hot_note(const char *host, size_t host_len, const char *uri, size_t uri_len, uint32_t n,
                    apr_time_t now);
/** 1 if it was in the last hour, by a process of this server or of the program before it. */
int cache_hot_is(const char *host, size_t host_len, const char *uri, size_t uri_len,
                 apr_time_t now);
void cache_hot_register(void);
/** @} */

/** @name bodies (cache_body.c) */
/** @{ */
/** A body that is not shared. Takes over @a data, from malloc(). NULL: no memory, data is kept. */
cache_body *cache_body_create(char *data, size_t len);
/** The stored body of that file, with a reference, or NULL. */
cache_body *cache_body_of_file(response_cache *c, const file_identity *id);
/** As cache_body_of_file(), or else read from @a fd, which stays the caller's. NULL: it could not be read as a whole. May block. */
cache_body *cache_body_read(response_cache *c, int fd, const file_identity *id);
/** The same for a longer file: @a fd is taken over, and kept open. */
cache_body *cache_body_open(response_cache *c, int fd, const file_identity *id);
/** A body of this length, whose bytes the caller writes before anybody else sees it. NULL: no memory. */
cache_body *cache_body_create_empty(response_cache *c, size_t len);
/** A body of @a data, from malloc(), taken over. NULL: no memory, data is kept. */
cache_body *cache_body_take(response_cache *c, char *data, size_t len);
/** Give a reference back. NULL: nothing. */
void cache_body_put(cache_body *b);
/** An entry of the cache begins to use it: charge it. */
void cache_body_use(response_cache *c, cache_body *b);
/** And ends. */
void cache_body_unuse(response_cache *c, cache_body *b);
/** @} */

/** Count the bytes of @a e anew, after something was added to it. */
void cache_account(response_cache *c, cache_entry *e);

/** Everything that counts against FileCacheSize. */
size_t cache_bytes(const response_cache *c);

/** FileCacheSize. */
size_t cache_bytes_most(const response_cache *c, const brg_core_conf *conf);

/**
 * Make room for an answer that was asked for @a count times and needs @a bytes.
 * @return 0: stored entries are requested more often, or it is too large
 */
int cache_make_room(response_cache *c, const brg_core_conf *conf, int queue, unsigned count,
                    size_t bytes);

/** Length of a target without its query; with it, if that is irregular. Threads: any. */
size_t cache_path_len(const char *uri, size_t uri_len);

/** The part of an entry's key that the connection tells. The protocol is part of it, since outcomes
 * may depend on it: each protocol has entries of its own, whose bodies are shared. */
typedef struct cache_place {
    const brg_listener *listener;
    const void *chain; /**< virtual hosts of the local address */
    unsigned protocol; /**< conn_protocol_number */
} cache_place;

static inline cache_place cache_place_of(const brg_conn *bc)
{
    return (cache_place){.listener = bc->listener, .chain = bc->chain, .protocol = bc->protocol};
}

/** Of an entry's key. Threads: any. */
uint64_t cache_hash(const cache_place *at, const char *host, size_t host_len, const char *uri,
                    size_t uri_len);

/** Find the entry for a head, or NULL: that of its target, else one for whatever query. */
cache_entry *cache_find(response_cache *c, const cache_place *at, const char *host, size_t host_len,
                        const char *uri, size_t uri_len, const cache_asked *asked, uint64_t *hash);

/** 1 if both are for the same target (entries of equal hash). */
int cache_same_key(const cache_entry *a, const cache_entry *b);

/** 1 if all gates let the request pass, which a body of @a len bytes answers (cache_gate.c). */
int cache_gates_admit(cache_entry *e, brg_conn *bc, const http_head *head, apr_off_t len);
/** The same of a plan, for a connection or a stream: should the request take the full way after all, limits do not count it there. */
int cache_gates_admit_plan(cache_entry *e, brg_conn *bc, const http_head *head);

cache_entry *cache_add(response_cache *c, const cache_place *at, const char *host, size_t host_len,
                       const char *uri, size_t uri_len, uint64_t hash, int queue);

/** Take an entry out of the cache; answers that still hold it finish first. */
void cache_forget(response_cache *c, cache_entry *e);

/** Keep within FileCacheEntries, FileCacheSize and this loop's share of the descriptors. */
void cache_trim(response_cache *c, const brg_core_conf *conf);

/** The entry has got its body: an open file becomes the newest of those that cache_trim() closes.
 */
void cache_note_file(response_cache *c, cache_entry *e);

/** The entry is used. */
void cache_touch(response_cache *c, cache_entry *e);

/** The cache of the calling thread's loop; NULL on other threads, and where nothing is kept. */
response_cache *cache_store_cache(void);

/** @name cache_plan.c: entries with a plan, of the loop's own cache alone */
/** @{ */
/** 1 if the dependencies of @a r fit a plan's entry. */
int cache_plan_is_open(request_rec *r);
/** Take the plan that is offered. -1: no memory */
int cache_plan_fill(response_cache *c, cache_entry *e, request_rec *r);
size_t cache_plan_bytes(const cache_entry *e);
void cache_plan_drop(cache_entry *e);
/** @} */

/** Forget a head. */
void cache_head_drop(cache_head *head);

/** stat() now and compare. 1: as it was. May block. */
int cache_stat_same(cache_entry *e);

#endif
