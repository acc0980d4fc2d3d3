/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_PRIVATE_H
#define BRIGADE_CACHE_CACHE_PRIVATE_H

/**
 * @file cache_private.h
 * Shared by the files of this room: response_cache.c (answers), cache_table.c (look-up, memory,
 * displacement), cache_body.c (bodies), cache_admission.c (what is worth a place), cache_store.c
 * (which answers are stored, and when), cache_arm.c (what they depend on is watched), cache_source.c (what keeps them current), cache_fill.c (what is taken of one), cache_offer.c (what
 * handlers and filters offer), cache_composed.c (pages with parts out of the store), cache_tell.c (why not), cache_hot.c (targets that are stored at once), cache_capture.c (what filters make of it), cache_vary.c (fields that
 * answers depend on), cache_client.c (clients that they depend on), cache_worker_fill.c (answers made by workers), cache_parts.c (requests with a range), cache_observe.c and cache_stored_log.c (logs).
 *
 * An entry is made in two steps. A full run of a request that is asked for often enough *arms*
 * it: all that the answer depends on is put under watch. The next full run, which begins after the
 * watches were set, fills it, if nothing changed in between. So there is no moment between "looked
 * at" and "watched" in which a change could be missed. Where everything but the file itself was under watch
 * when the first run began (watch_seen()), and the file's time stamps and place are still those that it was answered with, the
 * first run fills the entry, too. A HEAD for a file does both as a GET does, since
 * the body is read from the file. A 304 and a part of a file (206) do, too; their heads are stored
 * beside that of 200, and answer requests of their kind. So are the heads of several parts and of 416, for an
 * entry whose body is there.
 *
 * Threads, unless a declaration says otherwise: the loop that the cache belongs to; for a cache with
 * is_workers, the worker that has it. Blocking: no.
 */
#include "cache_admission.h"
#include "file_identity.h"
#include "http_answer.h"
#include "loop.h"
#include "memory_file.h"
#include "response_cache.h"
#include "watch.h"
#include "core_settings.h"
#include "request_context.h"
#include "placement.h"
#include "brigade/assert.h"
#include "brigade/auth.h"
#include "brigade/response_cache.h"

#include "cache_source_private.h"

typedef struct cache_capture cache_capture;
typedef struct cache_worker_fill cache_worker_fill;

/** A response head, and its forms by protocol. */
typedef struct cache_head {
    http_answer *answer; /**< NULL: none */
    http_stored_head form[CONN_PROTOCOLS];
} cache_head;

/** What an entry of CACHE_SOURCE_LIFETIME is a copy of (cache_lifetime.c). */
typedef struct cache_lifetime cache_lifetime;
typedef struct cache_stored cache_stored;

/** What an entry of CACHE_SOURCE_COMPOSED was made of beside files (cache_composed.c). */
typedef struct cache_composed cache_composed;

/** What an entry depends on, and the value or variant it is for (cache_vary_private.h). */
typedef struct cache_vary_key cache_vary_key;

#define CACHE_VARY_MOST 12   /**< fields, and limits, at most that one answer may depend on */
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

/** Where the fields of a request are looked for: its head, or else what was made of that. */
typedef struct cache_asked {
    const http_head *head; /**< NULL: r is set */
    const brg_conn *bc;    /**< with head: where it came in */
    const request_rec *r;
} cache_asked;

/**
 * The body of stored answers. Reference counted: by entries, also those that have left the cache and
 * are being sent still. Charged to the cache once, while an entry of the cache uses it.
 */
typedef struct cache_body {
    struct cache_body *next; /**< in the bucket of identity, while used */
    uint32_t refs;           /**< entries */
    uint32_t users;          /**< of them in the cache */
    char *data;              /**< in memory, or NULL */
    memory_piece
        piece; /**< where data is, if the kernel can send it without a copy; else data is from malloc() */
    int fd;         /**< open file for sendfile, or -1 */
    file_kept kept; /**< with fd: its mapping */
    apr_off_t len;
    size_t bytes;           /**< of memory */
    file_identity identity; /**< of the file that it is all of; all zero: of none, not shared */
} cache_body;

/** What answers requests with a range: heads that came the full way, each once. From malloc(). */
typedef struct cache_ranges {
    cache_head part;    /**< of 206 with one part */
    cache_head parts;   /**< of 206 with several */
    char *part_type;    /**< what each of them tells, or NULL */
    cache_head outside; /**< of 416 */
    char *page;         /**< its body, with what frames it */
    size_t page_len;
    uint8_t page_before, page_after; /**< bytes of page that frame it as a chunk */
    http_part_limits limits;
} cache_ranges;

/** What is held against one limit: entries by last use. */
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

/** One call of sendfile() moves so many of their bytes at a time, and wakes the client. What is somewhat longer costs less in one
 * writev(), with a copy; from CACHE_PIECE_LONG on the copy costs more than the wake-ups do (docs/internals/cache.md has the figures). */
#define CACHE_PIECE_SHORT 65536
#define CACHE_PIECE_LONG 131072

/** The share of FileCacheEntries and FileCacheSize that errors may take is one part of so many. */
#define CACHE_ERRORS_PART 16

/**
 * A stored answer.
 *
 * | State       | What moves it on                              | What is legal                      |
 * |-------------|-----------------------------------------------|------------------------------------|
 * | new         | cache_add(), cache_vary_take()                | to arm it, or to forget it         |
 * | armed       | a full run of the same request: cache_fill()  | look-up; answers nothing;          |
 * |             | or, if e->compared, by the run that armed it  | e->source is set                   |
 * | armed, fill | a worker has it: cache_to_worker(); back:     | look-up; answers nothing; another  |
 * |             | cache_from_worker()                           | request does not fill it           |
 * | uncacheable | a change, or displacement                     | look-up; answers nothing           |
 * | planned     | displacement                                  | the same; its plan is used         |
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

struct cache_entry {
    /* What a hit on the whole answer reads comes first, up to head: where there are many entries, none of their
     * lines is in the processor's caches. */
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
    uint8_t observed;   /**< CACHE_OBSERVED_*: who wants every request */
    uint8_t source;     /**< cache_source_id: what keeps it current */
    uint8_t in_cache;
    uint8_t queue;     /**< CACHE_ANSWERS or CACHE_ERRORS */
    uint8_t uses;      /**< how often it was used in the recent past */
    uint8_t coded;     /**< a filter made the body: the answer to HEAD is another one */
    uint8_t any_query; /**< the key ends before the query, which nobody looked at */
    uint8_t way;       /**< file_way: how a body that is kept open is sent */
    uint8_t frame_before, frame_after; /**< parts of body that frame it: a chunk's size, and ends */
    uint8_t fill;                      /**< a worker makes what is to fill it */
    uint8_t tries;                     /**< how often that came to nothing */
    uint8_t uncacheable;               /**< armed, but its body is too long to be stored */
    uint8_t compared; /**< the answer that armed it may fill it, if its file is still the same */
    admission_stamp stamp; /**< when it was used last */
    uint32_t moved;        /**< queue's moves when it became the newest */
    uint16_t status;       /**< by cache_set_status() */
    uint8_t class;         /**< its class: figures_class() */
    uint32_t answered;     /**< requests that it answered since the busiest were told */
    cache_body *body;      /**< NULL: none */
    server_rec *server;
    brg_host_figures *count;    /**< those of its virtual host and protocol: figures_requests() */
    cache_vary_key *vary;       /**< the request fields that it is for */
    struct cache_observed *log; /**< what log hooks are shown, when observed */
    shared_ref ref;             /**< one for the cache, one for each answer that is being written */
    cache_head head;
    cache_head head_304;
    cache_entry *newer, *older;           /**< in the queue, by last use */
    cache_entry *file_newer, *file_older; /**< among those whose body is an open file */
    uint8_t has_file;                     /**< it is one of these */
    size_t reserved;   /**< while armed: bytes of heads and body that will come, charged already */
    char *fingerprint; /**< armed: cache_fingerprint() of the answer whose dependencies are watched;
                                   else NULL */
    cache_lifetime *lifetime; /**< NULL: it is no copy */
    cache_composed *composed; /**< NULL: it was made of files alone */
    struct cache_plan *plan;  /**< NULL: it is for an answer; else never filled (cache_plan.h) */
    cache_ranges *ranges;     /**< NULL: no request with a range was answered the full way */
    size_t bytes;             /**< charged to its queue */
    cache_looks *looks;       /**< watched, but not by all ways in which it may change; or NULL */
    char *path;               /**< of the file, for validation */
    file_identity identity;   /**< of the file, where it is validated by stat */
    apr_time_t checked;       /**< when identity was last compared */
    apr_time_t mtime;         /**< Last-Modified, microseconds */
    char last_modified[32];   /**< its text, "" = the answer has none */
    char etag[64];            /**< what If-None-Match is compared with; "" = none, or too long */
    uint8_t last_modified_len, etag_len; /**< of these */
    char key[];                          /**< host, then URI, as sent, and a NUL */
};

/** The body's length in bytes, with what frames it. */
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

struct response_cache {
    brg_loop *loop;
    watch_set *watch; /**< NULL: none, or it is that of a worker */
    uint8_t
        watches; /**< what entries depend on can be under watch; of a worker's: in its loop's cache */
    uint8_t is_workers; /**< to a worker, for one request */
    cache_entry **bucket;
    uint32_t buckets_n; /**< a power of two */
    uint32_t entries_n;
    size_t bytes;            /**< of entries and bodies; those of watches: watch_bytes() */
    size_t bytes_most;       /**< where FileCacheSize is not set */
    int files_n, files_most; /**< bodies with an open file */
    cache_entry *file_newest, *file_oldest; /**< entries with one, by last use */
    cache_queue queue[CACHE_QUEUES];
    cache_body **bodies;       /**< bodies_n of them, by identity */
    uint32_t bodies_n;         /**< a power of two */
    struct cache_known *known; /**< files of scripts (cache_known.c); NULL: none yet */
    memory_file *memory;       /**< of large bodies; NULL: none yet, or the kernel has none */
    cache_admission admission;
    cache_figures figures;
    cache_entry *planned;  /**< cache_planned() */
    cache_verdict verdict; /**< on the last response that was considered */
    cache_classified classified[CACHE_CLASSIFIED];
    const char *
        added_name; /**< a field for the request that is looked up, or NULL: cache_vary_matches() */
    int added_len;
    char added[BRG_CACHE_ADDED_ROOM]; /**< its value */
};

/** What a block from malloc() takes. */
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
/** As cache_body_of_file(), or else made from @a fd, which is taken over: content up to @a most
 * bytes is read, a longer file is kept open. NULL: it could not be read as a whole. May block. */
cache_body *cache_body_read(response_cache *c, int fd, const file_identity *id, apr_off_t most);
/** A body of @a data, from malloc(), taken over. NULL: no memory, data is kept. */
cache_body *cache_body_take(response_cache *c, char *data, size_t len);
/** Give a reference back. NULL: nothing. */
void cache_body_put(cache_body *b);
/** An entry of the cache begins to use it: charge it. */
void cache_body_use(response_cache *c, cache_body *b);
/** And ends. */
void cache_body_unuse(response_cache *c, cache_body *b);
/** @} */

/** Count anew what @a e takes, after something was added to it. */
void cache_account(response_cache *c, cache_entry *e);

/** @return bytes that @a e's key fields take (cache_vary.c) */
size_t cache_vary_bytes(const cache_entry *e);

/** @return bytes of what is kept for logs (cache_observe.c) */
size_t cache_observed_bytes(const cache_entry *e);

/** Everything that counts against FileCacheSize. */
size_t cache_bytes(const response_cache *c);

/** FileCacheSize. */
size_t cache_bytes_most(const response_cache *c, const brg_core_conf *conf);

/**
 * Make room for an answer that was asked for @a count times and needs @a bytes.
 * @return 0: what is stored is asked for more often, or it is too large
 */
int cache_make_room(response_cache *c, const brg_core_conf *conf, int queue, unsigned count,
                    size_t bytes);

/** Length of a target without its query; with it, if that is irregular. Threads: any. */
size_t cache_path_len(const char *uri, size_t uri_len);

/** The part of an entry's key that the connection tells. What a request depends on may be its protocol: each has entries of its
 * own, whose bodies are shared. */
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

/** 1 if the request has the variants of values that @a e is for. */
int cache_vary_matches(response_cache *c, const cache_entry *e, const cache_asked *asked);

/** 1 if all gates let the request pass, which a body of @a len bytes answers (cache_gate.c). */
int cache_gates_admit(cache_entry *e, brg_conn *bc, const http_head *head, apr_off_t len);

/** Let @a e be for the fields of @a r that its modules named. -1: it cannot be. */
int cache_vary_take(response_cache *c, cache_entry *e, request_rec *r);

/** 1 if @a e was made for all that r was found to depend on, and nothing else. */
int cache_vary_same(const cache_entry *e, request_rec *r);

/** 1 if @a r, the first one, was found to depend on the client's address (cache_client.c); -1: in a way that cannot be told
 * of the next request. */
int cache_varies_by_client(const request_rec *r);
/** The field of the answer to @a r that has another value for each request, or NULL. */
const char *cache_vary_added(request_rec *r);

/** The user who sent a request that @a e answers, in @a out (BRG_CACHE_USER_ROOM bytes), and how it was told; NULL: it is
 * for all. */
const char *cache_vary_user(const cache_entry *e, const http_head *h, char *out, const char **type);
void cache_vary_drop(cache_entry *e);

/** @a e was added: are there too many for its target? */
void cache_limit_variants(response_cache *c, cache_entry *e);

/** @name what filters make of an offered body (cache_capture.c) */
/** @{ */
/** Stand behind the filters of @a r that may change its body and keep what comes, at most @a most
 * bytes. Lives as long as r. */
cache_capture *cache_capture_begin(request_rec *r, apr_size_t most);

#define CACHE_FRAME_BEFORE 18 /**< the longest "SIZE\r\n" */
#define CACHE_FRAME_AFTER 7   /**< "\r\n0\r\n\r\n" */

/** Make one chunk, and the end of all, of @a len bytes that lie behind CACHE_FRAME_BEFORE bytes of room and
 * before CACHE_FRAME_AFTER. @return bytes in front of them now; it begins at @a data */
size_t cache_frame(char *data, size_t len);

/** The whole body, as sent: in chunks if r->chunked. From malloc(), the caller's. NULL if it did
 * not come as a whole. @a too_long: it had more bytes than were to be kept. */
char *cache_capture_take(cache_capture *capture, request_rec *r, cache_entry *e, size_t *len,
                         int *too_long);
void cache_capture_register(void);
/** @} */

cache_entry *cache_add(response_cache *c, const cache_place *at, const char *host, size_t host_len,
                       const char *uri, size_t uri_len, uint64_t hash, int queue);

/** Take an entry out of the cache; answers that still hold it finish first. */
void cache_forget(response_cache *c, cache_entry *e);

/** Keep within FileCacheEntries, FileCacheSize and this loop's share of the descriptors. */
void cache_trim(response_cache *c, const brg_core_conf *conf);

/** The entry has got its body: if that is an open file, it is among those that cache_trim() lets go, the newest of them. */
void cache_note_file(response_cache *c, cache_entry *e);

/** The entry is used. */
void cache_touch(response_cache *c, cache_entry *e);

/** The cache of the calling thread's loop; NULL on other threads, and where nothing is kept. */
response_cache *cache_store_cache(void);

/** @name cache_lifetime.c: copies of what lies in the store */
/** @{ */
/** @a e is for the answer that @a r offers. -1: no memory */
int cache_lifetime_arm(cache_entry *e, request_rec *r);
/** 1 if @a e, of whatever kind, is for what @a r offers. */
int cache_lifetime_is_of(const cache_entry *e, const request_rec *r);
/** A head of @a e was taken: fields that tell the time are written anew from now on. -1: they cannot be */
int cache_lifetime_take_head(cache_entry *e, cache_head *head);
/** The body, from malloc(). NULL: it is not there as a whole, or no memory */
char *cache_lifetime_body(const cache_stored *stored);
/** By which it is counted how often it is asked for. @param hash  of its target */
uint64_t cache_lifetime_hash(uint64_t hash, const cache_stored *stored);
const char *cache_lifetime_fingerprint(apr_pool_t *p, const cache_stored *stored);
int cache_lifetime_is_current(response_cache *c, cache_entry *e);
/** It answered a request. */
void cache_lifetime_used(const cache_entry *e);
void cache_lifetime_drop(cache_entry *e);
size_t cache_lifetime_bytes(const cache_entry *e);
/** @} */

/** @name cache_composed.c: pages with parts that lie in the store */
/** @{ */
/** @a e is for what @a r was made of: e->composed, if there is anything beside files. -1: there are too many parts, or no memory */
int cache_composed_arm(cache_entry *e, const request_rec *r);
/** Which parts those are; "": none */
const char *cache_composed_fingerprint(const request_rec *r);
/** 1: each part is fresh, and in its place. What is under watch is not looked at. */
int cache_composed_is_current(const response_cache *c, cache_entry *e);
void cache_composed_drop(cache_entry *e);
size_t cache_composed_bytes(const cache_entry *e);
/** @} */

/** @name cache_plan.c: entries with a plan, of the loop's own cache alone */
/** @{ */
/** 1 if what @a r depends on is not more than a plan's entry can be kept by. */
int cache_plan_is_open(request_rec *r);
/** Take the plan that is offered. -1: no memory */
int cache_plan_fill(response_cache *c, cache_entry *e, request_rec *r);
size_t cache_plan_bytes(const cache_entry *e);
void cache_plan_drop(cache_entry *e);
/** @} */

/** @name cache_known.c: what is known of files whose handlers ask a backend */
/** @{ */
void cache_known_end(response_cache *c);
void cache_known_register(void);
/** @} */

/** @name cache_layers.c: what the watches of an entry do not see */
/** @{ */
/** Note what is seen of @a paths, and of access files of these names (or NULL), that lie in layers. @return 0; -1: too many */
int cache_layers_arm(cache_entry *e, request_rec *r, const apr_array_header_t *paths,
                     const char *const *names);
/** 1: that is still what is seen. One system call for each path. */
int cache_layers_same(const cache_entry *e);
void cache_layers_drop(cache_entry *e);
size_t cache_layers_bytes(const cache_entry *e);
/** @} */

/**
 * Put all that the answer to @a r depends on under watch. Sets e->source and e->compared.
 * @return 0; -1: it is not to be stored, *reason says why (cache_arm.c)
 */
int cache_arm(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason);

/** All that decides what cache_arm() puts under watch, as one string in r->pool. The answer that fills an entry must have the
 * one of the answer that armed it: between the two, a missing directory may have come, or a page have got another part. */
const char *cache_fingerprint(request_rec *r);

/** 1 if the answer is a file, and nothing that took part looked at the query. */
int cache_leaves_query(const request_rec *r);

/** Each request notes what was under watch when it began. Once, before the configuration is read. */
void cache_arm_register(void);

/** Store the answer to @a r, which is over but for its end, if that is right. *reason: why nothing
 * was stored, if that is so; module NULL before. (cache_store.c) */
void cache_store(response_cache *c, request_rec *r, policy_reason *reason);

/** The core's reasons that figures tell apart. */
typedef enum cache_refusal {
    CACHE_REFUSED_NOT,    /**< none of them */
    CACHE_REFUSED_SELDOM, /**< asked for too seldom: passes by itself */
    CACHE_REFUSED_RECENT, /**< too young: passes by itself */
    CACHE_REFUSED_REQUEST /**< such requests are never stored */
} cache_refusal;

/** Set *reason to one of these. @return -1 */
int cache_refuse_by(policy_reason *reason, cache_refusal why);

/** Why answers of this kind are not stored, whatever modules say of them; CACHE_REFUSED_NOT if they are. */
cache_refusal cache_kind_is_not(const response_cache *c, const request_rec *r);

/** Set *reason to another of the core's own. @return -1 */
int cache_refuse(policy_reason *reason, const char *why);

/** 1 if the answer to such a request may be kept. */
int cache_request_is_plain(const request_rec *r);

/** The same, or the request is a HEAD: it may arm an entry. */
int cache_request_may_arm(const request_rec *r);

/** The entry for a request that is plain, or NULL. */
cache_entry *cache_find_for(response_cache *c, const request_rec *r, uint64_t *hash);

/** On a worker that fills nothing: @a r has an answer that could be stored; the loop counts it. */
void cache_seen_on_worker(request_rec *r);

/** The cache that the calling worker fills for its request, or NULL (cache_worker_fill.c). */
response_cache *cache_of_worker(void);

/** Bytes of the target of @a r that its entry has in the key, should it be answered with a file. */
size_t cache_target_len(const request_rec *r);

/** A page that was offered as a brigade, copied since an entry waits for it. */
typedef struct cache_flat {
    char *data; /**< from malloc(); freed with the request, or NULL: the cache took it over */
} cache_flat;

/** As if the handler for files had offered the file of @a r, which filters are going to compress: 1
 * if it would be taken. */
int cache_offer_early(request_rec *r);

/** For a request that was offered early: its entry; else NULL, and one may be armed. */
cache_entry *cache_armed_for(response_cache *c, request_rec *r);

/** Take into an armed or new entry what @a r, which is over but for its end, was answered with. -1:
 * it cannot be kept, and the entry is to be forgotten. (cache_fill.c) */
int cache_fill(response_cache *c, cache_entry *e, request_rec *r);

/** Take what answers conditional requests from @a r, which was answered with 304. -1: nothing was
 * taken. */
int cache_fill_304(response_cache *c, cache_entry *e, request_rec *r);

/** Add the head of a 206, and the body where it is not there. -1: as before. */
int cache_fill_206(response_cache *c, cache_entry *e, request_rec *r);

/** Add the answer to a range that is out of reach, where the body is there. -1: as before. */
int cache_fill_416(response_cache *c, cache_entry *e, request_rec *r);

/** Take the head of the answer to @a r. -1: it has none that could be sent again. */
int cache_fill_head(request_rec *r, cache_head *out);

/** Forget a head. */
void cache_head_drop(cache_head *head);

/** stat() now and compare. 1: as it was. May block. */
int cache_stat_same(cache_entry *e);

/** @name requests with a range (cache_parts.c) */
/** @{ */
#define CACHE_PARTS_MOST 16 /**< parts at most that are sent from memory */

/** What of an entry answers a request with a range. */
typedef struct cache_choice {
    cache_head *head;
    const char *page; /**< the body is this one instead of the entry's; NULL: the entry's */
    apr_off_t len; /**< bytes of the body that are sent, with the heads of parts and with frames */
    uint8_t before, after; /**< bytes of it that frame page as a chunk */
    int n;                 /**< parts of the entry's body; 0: all of page */
    http_part part[CACHE_PARTS_MOST];
} cache_choice;

typedef enum cache_range_verdict {
    CACHE_RANGE_ASK,   /**< for the full way */
    CACHE_RANGE_WHOLE, /**< Range counts for nothing */
    CACHE_RANGE_CHOSEN /**< the choice is set */
} cache_range_verdict;

/** A request that names Range or If-Range, and whose other conditions do not settle it. */
cache_range_verdict cache_choose(const cache_entry *e, const http_head *h, const http_codec *codec,
                                 apr_time_t now, cache_choice *out);

/** Send @a len bytes of a body in memory from @a off, behind what is gathered. */
void cache_put_bytes(response_cache *c, cache_entry *e, brg_conn *bc, apr_off_t off, size_t len);

/** Send the parts of @a choice, whose head is gathered. */
void cache_put_parts(response_cache *c, cache_entry *e, brg_conn *bc, const cache_choice *choice);

/** So many bytes of a body from @a off. */
static inline cache_piece cache_piece_of(const cache_body *b, apr_off_t off, size_t len)
{
    return b->data ? (cache_piece){.data = b->data + off, .len = len}
                   : (cache_piece){.fd = b->fd, .off = off, .len = len};
}

/** The body of @a reply, and its owner: the parts of @a choice, each behind its head. -1: no memory. */
int cache_reply_parts(cache_entry *e, const cache_choice *choice, cache_reply *reply);

/** e->ranges, made if it is not there; NULL: no memory. */
cache_ranges *cache_ranges_make(cache_entry *e);
void cache_ranges_drop(cache_entry *e);

/** 1 if @a r was answered with several parts. */
int cache_is_multipart(const request_rec *r);
/** @} */

/** What was sent of an entry. */
typedef struct cache_observed_answer {
    const http_answer *answer;
    const http_part *part; /**< of 206 with one part, or NULL */
    int partial;           /**< 206: Content-Length tells what was sent */
    size_t head_sent;      /**< bytes, with what frames the body */
    apr_off_t body_sent;
} cache_observed_answer;

/** Show a stored answer to the log_transaction hooks. */
void cache_observe(cache_entry *e, brg_conn *bc, const http_head *head,
                   const cache_observed_answer *sent);

/** Keep of r what cache_observe() needs. */
int cache_observe_keep(cache_entry *e, request_rec *r);
void cache_observe_drop(cache_entry *e);

#endif
