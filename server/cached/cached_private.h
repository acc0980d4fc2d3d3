/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_PRIVATE_H
#define BRIGADE_CACHED_CACHED_PRIVATE_H

/**
 * @file cached_private.h
 * The configuration, the store in this process, and a request on its way. Other subjects have headers of their own:
 * cached_save_private.h, cached_part_private.h, cached_composed_private.h, cached_below_private.h (disk, machines),
 * cached_named_private.h (purges, reports).
 *
 *   quick handler   cached_request_begin(): may this request be answered from the store, by which key, which policy
 *                   cached_find(): an object, and how it may be used; a hit is sent at once (cached_serve())
 *   handler         cached_lead(): this request fetches, or waits for the request that does (cached_follow.c)
 *   filter          cached_save.c: the handler's answer goes to the client and into the store
 */
#include "fresh_range.h"
#include "fresh_tell.h"
#include "request_context.h"
#include "store.h"
#include "cache_stored.h"
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "util_filter.h"
#include "apr_uri.h"
#include "brigade/wait.h"

extern module AP_MODULE_DECLARE_DATA cache_module;
extern module AP_MODULE_DECLARE_DATA cache_disk_module;
extern module AP_MODULE_DECLARE_DATA cache_socache_module;

/* ---- configuration ---- */

/** The target of CacheEnable or CacheDisable. */
typedef struct cached_scope {
    const char *provider; /**< NULL: of CacheDisable */
    apr_uri_t url;
    apr_size_t path_len;
} cached_scope;

/** A switch of the configuration: not named, off, on. */
enum { CACHED_UNSET, CACHED_OFF, CACHED_ON };

typedef struct cached_server {
    apr_array_header_t *enable, *disable;                /**< of cached_scope */
    apr_array_header_t *ignore_fields, *ignore_sessions; /**< of const char *; NULL: not named */
    apr_array_header_t *ignore_params,   /**< patterns of CacheIgnoreQuery; NULL: not named */
        *bypass_cookies;                 /**< of CacheBypassCookies; NULL: not named */
    const ap_expr_info_t *key;           /**< CacheKey; NULL: none */
    const char *base;                    /**< CacheKeyBaseURL */
    apr_array_header_t *private_cookies; /**< patterns of LiteSpeedSessions; NULL: not named */
    uint8_t search;                      /**< CACHED_*; CacheNoVarySearch */
    uint8_t litespeed;                   /**< CACHED_* */
    uint8_t quick, ignore_control, ignore_query, lock, sort_query; /**< CACHED_* */
    uint64_t memory;                                               /**< CacheMemory; 0: not named */
    uint64_t fetching;                /**< CacheMaxFetching, bytes; 0: not named, as the next */
    uint32_t variants, tags, objects; /**< CacheMaxVariants, CacheMaxTags, CacheMaxObjects */
} cached_server;

typedef struct cached_section {
    apr_array_header_t *enable;  /**< of const char *, providers; NULL: none */
    apr_array_header_t *purgers; /**< of apr_ipsubnet_t *, CachePurge; NULL: not named */
    apr_array_header_t *ls_params, *ls_on,
        *ls_off; /**< CacheKeyModify, CacheEnable public, CacheDisable public: of const char *; NULL: not named */
    double factor;              /**< < 0: not named */
    int64_t most, least, usual; /**< seconds; -1: not named */
    int64_t ahead;         /**< CacheRefreshAhead: seconds, or percent; 0: off; -1: not named */
    uint16_t ahead_most;   /**< requests at a time to a backend */
    uint8_t ahead_is_part; /**< percent */
    uint8_t methods;       /**< CacheMethods: CACHED_M_*; 0: not named */
    uint8_t ls_lookup;     /**< CACHED_*; CacheLookup */
    uint8_t disable, no_last_mod, expired, is_private, no_store, cookies, tell, detail, standard,
        stale; /**< CACHED_*; standard: CacheStatusHeader */
} cached_section;

/** Of mod_cache_disk. */
typedef struct cached_disk_section {
    int64_t least, most; /**< bytes; -1: not named */
} cached_disk_section;

typedef struct cached_disk_server {
    const char *root;
    uint64_t bytes; /**< CacheMaxSize; 0: not named */
    int levels, length;
} cached_disk_server;

/** Of mod_cache_socache. */
typedef struct cached_so_section {
    int64_t bytes, most, least; /**< of a record; seconds. -1: not named */
} cached_so_section;

void *cached_server_create(apr_pool_t *p, server_rec *s);
void *cached_server_merge(apr_pool_t *p, void *base, void *add);
void *cached_section_create(apr_pool_t *p, char *path);
void *cached_section_merge(apr_pool_t *p, void *base, void *add);
extern const command_rec cached_commands[];

/** Was CacheEnable in a section? Asked once a reading; begins anew with cached_sections_forget(). */
int cached_sections_enable(void);
void cached_sections_forget(void);

static inline const cached_server *cached_server_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &cache_module);
}
static inline const cached_section *cached_section_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &cache_module);
}

/** "100", "8K", "1M", "2G". @return 0, or -1: no such number */
int cached_bytes(const char *arg, uint64_t *bytes);

/** Bytes that a body may have, by CacheMinFileSize and CacheMaxFileSize. */
void cached_sizes(const request_rec *r, uint64_t *least, uint64_t *most);

/** Where a request's response may be stored. */
typedef enum cached_tier { CACHED_NOWHERE, CACHED_MEMORY, CACHED_DISK, CACHED_SOCACHE } cached_tier;

/** The provider that CacheEnable names for this request, unless CacheDisable does. @param sections  those of r count, too */
cached_tier cached_is_enabled(request_rec *r, int sections);

/** 1 if some CacheEnable outside of sections names this provider. */
int cached_names(const server_rec *main, const char *provider);

/** Bytes that a record for the tier of CacheSocache may have, and seconds that it may lie there, at most and beyond its lifetime. */
void cached_so_limits(const request_rec *r, uint64_t *bytes, uint32_t *most, uint32_t *least);

/** The rules for this request. Lives as long as the configuration. */
void cached_policy(const cached_server *s, const cached_section *c, fresh_policy *policy);

/** 1 if CacheEnable is for that path of the server, by paths alone; 0: it is not, or a closer look is needed. */
int cached_path_is_enabled(const cached_server *s, const char *path);

/* ---- the store in this process (cached_place.c) ---- */

struct cached_request;
/** The place of a loop, or of the workers of a process, in the store. */
typedef struct cached_place cached_place;

/** Map the store; the supervisor, before there are server processes. @return OK or an error that stops the start */
int cached_map(apr_pool_t *pconf, server_rec *main);
store *cached_store(void);

/** That of the calling thread; NULL: there is no store, or no row in it is free. */
cached_place *cached_place_here(void);
store_reader *cached_reader(const cached_place *place);

/** Around all that writes with a place's reader: workers share theirs. */
void cached_lock(cached_place *place);
void cached_unlock(cached_place *place);

/** A request of this loop waits for another one's fetch, or does so no more. */
void cached_follower_add(cached_place *place, struct cached_request *q);
void cached_follower_remove(cached_place *place, struct cached_request *q);

/** Those that wait on this loop look in its next turn. */
void cached_followers_soon(cached_place *place);

/** Wake those that wait for this flight: on loops of this process at once; others look by themselves. */
void cached_wake(cached_place *place, uint32_t flight);

/** Use memory that is this server's already, for a program that is none of it. @return 0, or -1: it has another form */
int cached_place_attach(void *memory, size_t bytes);
void cached_place_detach(void);
int cached_count_attach(void *memory, size_t bytes);

#define CACHED_ROWS 1024 /**< readers of the store, at most */

/** Names of the memory that is kept over upgrades: they change with what lies in it. */
#define CACHED_STORE "cached-store-3"
#define CACHED_COUNTS "cached-counts-3"

/** A place for a thread that is neither a loop nor a worker; it ends with the process. NULL: no row is free */
cached_place *cached_place_new(void);

/* ---- stored heads (cached_head.c) ---- */

/** The head of a stored response: line and fields. */
typedef struct cached_head {
    const char *line; /**< "200 OK", ends with NUL; NULL: the usual one of its status */
    fresh_head head;  /**< names and values end with NUL */
} cached_head;

/** Bytes of a head; in pool. */
const char *cached_head_write(apr_pool_t *p, const char *line, const http_field *field, uint32_t n,
                              uint32_t *len);
/** @return 0, or -1: no such head. Pointers lead into @a bytes */
int cached_head_read(apr_pool_t *p, const char *bytes, uint32_t len, cached_head *head);

/**
 * 1 if it may be sent with a body of @a len bytes by one who does not believe whoever wrote it: no byte that ends a field or the head, no
 * field of a connection, no other length.
 */
int cached_head_is_sound(const cached_head *head, int code, uint64_t len);

/** Fields of a table, after those of @a field. @return how many there are */
uint32_t cached_fields(apr_pool_t *p, const apr_table_t *table, http_field **field);

/* ---- what does not count (cached_noise.c) ---- */

/** 1: a name matches one of the patterns (* and ?). @param patterns  of const char *; NULL: none */
int cached_name_is(const apr_array_header_t *patterns, const char *p, apr_size_t len);
/** Parameters of a query by name. */
const char *cached_query_sorted(apr_pool_t *p, const char *query);
/** Path and query of a key. @param query  NULL: there is none */
const char *cached_query_text(apr_pool_t *p, const cached_server *s, const char *path,
                              const char *query);
/** Parameters of CacheIgnoreQuery leave r, so that no backend gets them. @param first  the client's request */
void cached_noise_leave(request_rec *r, const request_rec *first, const cached_server *s);
/** The key's text by what No-Vary-Search said of the path (cached_search.c). Where CacheNoVarySearch is on. */
void cached_search_find(struct cached_request *q);
/** What the answer says of it. @return NULL, or why the answer is not stored */
const char *cached_search_decide(struct cached_request *q, const fresh_head *head);
/** 1: a cookie of the field has a name that matches. */
int cached_cookie_is(const apr_array_header_t *patterns, const char *cookies, apr_size_t len);
/** 1: the request has a cookie of CacheBypassCookies. */
int cached_is_bypassed(const request_rec *r);

/* ---- a request (cached_request.c) ---- */

typedef enum cached_phase {
    CACHED_FETCHES,   /**< nothing usable is there: the handler answers */
    CACHED_VALIDATES, /**< the handler is asked with the validators of what is there */
    CACHED_SAVES,     /**< its answer is written into the store */
    CACHED_PASSES,    /**< its answer is only passed on */
    CACHED_SWALLOWS   /**< another answer was sent in place of it */
} cached_phase;

/** How it ended, for figures and Cache-Status. */
typedef enum cached_outcome {
    CACHED_PASSED, /**< the handler's answer, which is not stored */
    CACHED_STORED, /**< the same, and it is */
    CACHED_FROM_STORE,
    CACHED_STALE,       /**< what is stored, though it is stale */
    CACHED_REVALIDATED, /**< what is stored: it still holds */
    CACHED_COLLAPSED,   /**< what is fetched for another one */
    CACHED_INVALIDATED, /**< it changed its target */
    CACHED_OUTCOMES,
    /* Counted beside them, by threads of the tier that machines share. */
    CACHED_TIER_LOOKUPS = CACHED_OUTCOMES,
    CACHED_TIER_HITS,
    CACHED_TIER_STORED,
    CACHED_TIER_FAILED,
    CACHED_TIER_WAITED, /**< microseconds */
    CACHED_COUNTED
} cached_outcome;

/** Some bytes of a representation: what a 206 had, or a 200 that was cut. */
typedef struct cached_part {
    store_view
        view; /**< put aside, since it does not answer the request; its reader NULL: nothing is */
    cached_head head; /**< of that */
    store_key key;
    fresh_range range;
    uint64_t total;
    uint64_t before,
        behind;         /**< bytes of it that are stored in front of what comes, and behind that */
    uint8_t joins;      /**< what comes is of it, and touches it */
    uint8_t serves;     /**< the request's view is a part, that has what is asked for: @a wanted */
    uint8_t asked_rest; /**< the handler is asked for what is missing */
    fresh_range wanted;
} cached_part;

/** What a page was made of (cached_composed_private.h). */
typedef struct cached_composed cached_composed;

typedef struct cached_request {
    request_rec *r;            /**< that is answered: the last one, behind internal redirects */
    request_rec *first;        /**< that the client made: its URL is the key */
    cached_composed *composed; /**< NULL: no part was looked for */
    uint32_t composed_of;      /**< with writer: how many had been */
    fresh_policy policy;
    fresh_request request;
    const char *unsearched,
        *search;          /**< the text without No-Vary-Search, and that; NULL: not asked, none */
    struct cached_ls *ls; /**< of LiteSpeedCache; NULL: it is not for that */
    const char *text;     /**< of the key */
    uint32_t text_len, target_len; /**< target_len: of what a URL names, without what is added */
    store_key key, variant;        /**< variant: what is looked up in the end */
    store_key target; /**< of the target alone: the key, unless something was added to it */
    int has_variant;
    store_view view;  /**< what was found; view.reader NULL: nothing */
    cached_part part; /**< some bytes of it, if these are all that is stored */
    store_place
        places[CACHE_STORED_PLACES]; /**< of the view, and, first, of what led to it by Vary */
    uint8_t places_n;
    uint8_t quick;   /**< it is answered before its phases */
    uint8_t offered; /**< the loop's own cache may answer such requests by itself */
    const char
        *names; /**< what led to the variant: names of fields, joined by ","; NULL: no variant */
    const char *variant_text; /**< that the variant's key is made of */
    uint32_t variant_text_len;
    const char *tags; /**< of what is stored, each ends with NUL; only for CACHED_SOCACHE */
    uint32_t tags_len;
    uint8_t asked_tier; /**< the tier was asked for what is looked for */
    fresh_terms terms;
    cached_head stored;
    uint8_t use;                /**< fresh_use */
    uint8_t phase;              /**< cached_phase */
    uint8_t known;              /**< the object was looked for */
    uint8_t tier;               /**< cached_tier */
    uint8_t ahead;              /**< it is fresh, and fetched ahead of its end */
    uint8_t renewed;            /**< its answer was stored, or made what is stored fresh */
    uint8_t soft;               /**< it was purged softly: stale */
    uint8_t asked_own;          /**< conditions of the request were put away */
    uint8_t decided;            /**< the first piece of the answer passed */
    uint8_t rounds;             /**< how often it waited for another one's fetch in vain */
    uint8_t alone;              /**< it does not wait for others */
    uint8_t outcome;            /**< cached_outcome */
    uint8_t forward;            /**< fresh_fwd: why the handler is asked, if it is */
    const char *own[6];         /**< conditions of the request, by cached_conditions[] */
    struct cached_query *query; /**< the body of a QUERY that is, or was read; NULL */
    const char *vary;           /**< of rules of folders, which led from first to r; NULL */
    const char *refused; /**< why its answer is not stored, known before it was asked for; NULL */
    /* who fetches */
    cached_place *place; /**< whose reader has the lead, or writes */
    uint32_t flight;     /**< this request leads; 0 */
    store_key flight_key;
    store_writer *writer;
    uint64_t written, least, most;
    request_sink sink; /**< with writer: cached_direct_offer() */
    uint64_t length;   /**< that is announced of what is written */
    uint32_t epoch;
    apr_time_t asked;
    /* waiting for another one */
    uint32_t follows;
    store_key follows_key;
    uint8_t stays;                  /**< cached_stay() */
    _Atomic uint32_t *ahead_counts; /**< its backend's requests ahead of time count it; NULL */
    uint8_t
        answered; /**< the client has the stale answer; what the handler answers is stored alone */
    int status;   /**< of that answer, for logs */
    const char *status_line;
    apr_table_t *fields;
    ap_conn_keepalive_e keepalive;
    uint8_t grows; /**< the view is of an object that grows */
    uint64_t sent;
    apr_time_t follows_since;
    cached_place *waits_at;
    struct cached_request *next, **prev;
    brg_waiting *waiting;
} cached_request;

/** 1: a part of a page, whose output goes to the page. */
int cached_is_part(const request_rec *r);

/** NULL: it has nothing to do with the cache. */
cached_request *cached_of(const request_rec *r);

/** @return NULL: this request is not for the cache */
cached_request *cached_request_begin(request_rec *r);

/* ---- internal redirects (cached_redirect.c) ---- */

/** The request from the network, or the part of a page, before all of them. */
request_rec *cached_first(request_rec *r);
/** 1: rules of its folder (mod_rewrite) lead it to another URL, which answers. */
int cached_is_led_on(const request_rec *r);
/** 1: nothing but such rules led from the first request to r. */
int cached_is_led(const request_rec *r);
/** 1: the variable no-cache is set, by r or on the way to it. */
int cached_env_forbids(const request_rec *r);

/** r is answered for q, and the requests that led to it are q's, too. */
void cached_request_answers(cached_request *q, request_rec *r);

/**
 * An internal redirect led to r: it answers in place of the request that asked the store. Is its answer not one for that key, q->refused
 * says so. @return NULL: the store was not asked, or answered
 */
cached_request *cached_request_go_on(request_rec *r);

/** The host and port that the client named. */
const char *cached_request_authority(request_rec *r);

/** Make its key. @param digest  of the body and its fields, of a QUERY; else NULL. @return 0: it is too long */
int cached_request_key(cached_request *q, const unsigned char *digest);

/** Look its key up. Sets use, view, terms, stored. */
void cached_find(cached_request *q);

/** 1: the stored answer answers the request. */
static inline int cached_serves(fresh_use use)
{
    return use == FRESH_SERVE || use == FRESH_SERVE_STALE || use == FRESH_SERVE_REFRESH;
}

/** Has a view of an object: read its head and terms. 0: they cannot be read */
int cached_open(cached_request *q, const store_view *view);
void cached_drop(cached_request *q);

/** Ask with the validators of the stored answer. */
void cached_ask_own(cached_request *q);
/** Ask for what the handler has to be asked: validation, or the rest of a part. */
void cached_ask(cached_request *q);
/** The request has its own conditions again. */
void cached_ask_restore(cached_request *q);

/** It fetches for others, too, and goes on if its client leaves. @param on  0: no more */
void cached_stay(cached_request *q, int on);

/** The lead ends without an object. @param pass  the response cannot be stored: for a while no request waits for another */
void cached_land(cached_request *q, int pass);

/** The end of q: all that it holds is let go. */
void cached_request_end(cached_request *q);

/* ---- QUERY (cached_query.c): RFC 10008 */

/** Methods whose answers are stored: a set for CacheMethods. */
#define CACHED_M_GET 1 /**< HEAD, too, which is answered with them */
#define CACHED_M_QUERY 2

extern ap_filter_rec_t *cached_query_filter;
/** The body that was read, for the handler. */
apr_status_t cached_query_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                apr_read_type_e block, apr_off_t most);
/**
 * In the handler: read the body, which makes the key; or q->refused. On a loop nothing is waited for here, on a worker it is.
 * @param go_on  calls it once more, with q as its baton
 * @return OK: read; what brg_wait() returned; or a status
 */
int cached_query_read(cached_request *q, brg_wait_go_on_fn *go_on);

/* ---- sending (cached_serve.c) ---- */

/** Fields and status of what is stored, as the response of r. @param age  with Age */
void cached_head_apply(cached_request *q, int age);
/** The head of r is sent as it was stored, with Date and Server of its origin: RFC 9111, 4. */
void cached_head_is_stored(request_rec *r);
/** Send the stored answer to the filters from @a to on. @return OK, or a status */
int cached_serve(cached_request *q, ap_filter_t *to, const char *reason, int revalidated);
/** With q->writer: who brings the body may write it into the store itself. @param f  the filter that saves */
void cached_direct_offer(cached_request *q, const ap_filter_t *f);
/** The bytes of @a b were so written by the request that saves with @a q. */
int cached_direct_is_of(const cached_request *q, const apr_bucket *b);
/** Bytes of a body as a bucket. */
apr_bucket *cached_bucket(const store_view *view, uint64_t begin, uint64_t length,
                          apr_bucket_alloc_t *alloc);
/** For the loop's own cache: cache_seek_fn (cached_seek.c) */
int cached_seek(const cache_sought *sought, cache_found *found);
/** Let the loop's own cache have what is about to be sent: cached_front.c */
void cached_offer(cached_request *q);
/** The filter behind those that made what is stored. */
ap_filter_t *cached_filters_behind(request_rec *r);

/* ---- what is told (cached_tell.c) ---- */

/**
 * Variables and fields that say what the cache did, and what is counted of it.
 * @param code  of the handler's answer, where another one is sent in its place; 0
 */
void cached_tell(cached_request *q, cached_outcome outcome, const char *reason, int code);
const char *cached_why(const cached_request *q, fresh_why why, int code);

/* ---- figures (cached_count.c) ---- */

/** The supervisor. @param bytes  CacheMemory. @return OK or an error that stops the start */
int cached_count_map(const server_rec *main, uint64_t bytes);
/** A request of the cache's ended. */
void cached_count(const cached_request *q);
/** Of the tier that machines share. @param place  the caller's */
void cached_count_tier(const cached_place *place, cached_outcome what, uint64_t n);
/** What counts hits of the calling loop; NULL: there is no place for it */
_Atomic uint64_t *cached_count_hits(const cached_place *place);
struct brg_status_cache;
int brg_status_cache_get(struct brg_status_cache *out);

/* ---- before it is stale (cached_refresh.c) ---- */

/** Setter of CacheRefreshAhead. */
const char *cached_refresh_cmd(cmd_parms *cmd, void *dir, const char *span, const char *most);
/** From when on what is stored is fetched anew. */
apr_time_t cached_refresh_of(const cached_section *section, const fresh_terms *terms);
/** 1 if it is time. */
int cached_refresh_is_due(const cached_request *q);
/** Counts it. @return 0: its backend has as many of these requests as it may. Ends with cached_refresh_end(), also if it never began */
int cached_refresh_begin(cached_request *q);
void cached_refresh_end(cached_request *q);

/* ---- one fetch for many (cached_follow.c) ---- */

/** Before the handler: take the lead, or wait. @return DECLINED: fetch; or the status of a handler */
int cached_lead(cached_request *q);
/** Those that wait on this loop. */
void cached_followers_look(cached_request *first);
/** The handler is called once more when there is news of what q follows; with @a room when its client has taken some output. */
int cached_follow_wait(cached_request *q, int room);

/* ---- an object that another request is fetching still (cached_growing.c) ---- */

/** Send its head and what is there of its body. @param view  let go, or the view of q from now on. @return 0: it is not for q; 1: *status */
int cached_growing_begin(cached_request *q, store_view *view, int *status);
/** Send what has come since. @return as a handler */
int cached_growing_send(cached_request *q);

#endif
