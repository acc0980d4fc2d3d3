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
#include "cached_head.h"
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
    const char *site;      /**< tells the server from others in keys; NULL: there are no others */
    uint8_t names_are_own; /**< no other server of its scheme has one of its names */
} cached_server;

typedef struct cached_section {
    apr_array_header_t *enable;  /**< of const char *, providers; NULL: none */
    apr_array_header_t *purgers; /**< of apr_ipsubnet_t *, CachePurge; NULL: not named */
    /** CacheKeyModify, CacheEnable public, CacheDisable public: of const char *; NULL: not named */
    apr_array_header_t *ls_params, *ls_on, *ls_off;
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

/** CacheReadSize, CacheReadTime and those of socache: without effect. cmd->info: the amount of ... */
const char *cached_pieces_cmd(cmd_parms *cmd, void *dir, const char *arg);
#define CACHED_PIECES(text) ((void *)(uintptr_t)(text))

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

/** 1 if CacheEnable is for that path of the server, by paths alone; 0: it is not, or a closer look is needed. @param p  for a moment */
int cached_path_is_enabled(const cached_server *s, const char *path, apr_pool_t *p);

/** Which of CacheEnable and CacheDisable may be for a path. A brg_cache_name_fn. */
apr_int64_t cached_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                        const char *filename, const char *path_info, int is_file);

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

/** Followers on this loop look in its next turn. */
void cached_followers_soon(cached_place *place);

/** Wake the followers of this flight: on loops of this process at once; others look by themselves.
 */
void cached_wake(cached_place *place, uint32_t flight);

/** Use memory that is this server's already, for a program outside of it. @return 0, or -1: it has
 * another form */
int cached_place_attach(void *memory, size_t bytes);
void cached_place_detach(void);
int cached_count_attach(void *memory, size_t bytes);

#define CACHED_ROWS 1024 /**< readers of the store, at most */

/** Names of the memory that is kept over upgrades: they change with what lies in it. */
#define CACHED_STORE "cached-store-4"
#define CACHED_COUNTS "cached-counts-3"

/** A place for a thread that is neither a loop nor a worker; it ends with the process. NULL: no row is free */
cached_place *cached_place_new(void);

/* ---- names of fields that Vary has, joined by "," (cached_key.c) ---- */

/** 1: @a name is one of them. @param names  NULL: none */
int cached_names_have(const char *names, const char *name, size_t len);
/** As a list that ends with NULL. NULL: @a names is */
const char *const *cached_names_of(apr_pool_t *p, const char *names);

/* ---- noise (cached_noise.c) ---- */

/** 1: a name matches one of the patterns (* and ?). @param patterns  of const char *; NULL: none */
int cached_name_is(const apr_array_header_t *patterns, const char *p, apr_size_t len);
/** The same of a cookie, as PHP reads its name. */
int cached_cookie_name_is(const apr_array_header_t *patterns, const char *p, apr_size_t len);
/** Parameters of a query by name. */
const char *cached_query_sorted(apr_pool_t *p, const char *query);
/** Path and query of a key. @param query  NULL: no query */
const char *cached_query_text(apr_pool_t *p, const cached_server *s, const char *path,
                              const char *query);
/** Parameters of CacheIgnoreQuery, and the host of an absolute target, leave r, so that no backend gets them. @param first  the client's request */
void cached_noise_leave(request_rec *r, const request_rec *first, const cached_server *s);
/** The key's text by the No-Vary-Search of the path (cached_search.c). Where CacheNoVarySearch is
 * on. */
void cached_search_find(struct cached_request *q);
/** The answer's own No-Vary-Search. @return NULL, or why the answer is not stored */
const char *cached_search_decide(struct cached_request *q, const fresh_head *head);
/** 1: a cookie of the field has a name that matches. */
int cached_cookie_is(const apr_array_header_t *patterns, const char *cookies, apr_size_t len);
/** 1: the request has a cookie of CacheBypassCookies. */
int cached_is_bypassed(request_rec *r);

/* ---- a request (cached_request.c) ---- */

typedef enum cached_phase {
    CACHED_FETCHES,   /**< nothing usable is there: the handler answers */
    CACHED_VALIDATES, /**< the handler is asked with the stored validators */
    CACHED_SAVES,     /**< its answer is written into the store */
    CACHED_PASSES,    /**< its answer is only passed on */
    CACHED_SWALLOWS   /**< another answer was sent in place of it */
} cached_phase;

/** How it ended, for figures and Cache-Status. */
typedef enum cached_outcome {
    CACHED_PASSED, /**< the handler's answer, which is not stored */
    CACHED_STORED, /**< the same, and it is */
    CACHED_FROM_STORE,
    CACHED_STALE,       /**< the stored object, though it is stale */
    CACHED_REVALIDATED, /**< the stored object: it still holds */
    CACHED_COLLAPSED,   /**< the fetch of another request */
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

/** Some bytes of a representation: from a 206, or from a 200 that was cut. */
typedef struct cached_part {
    /** put aside, since it does not answer the request; its reader NULL: nothing is */
    store_view view;
    cached_head head; /**< of that */
    store_key key;
    fresh_range range;
    uint64_t total;
    /** bytes of it stored in front of the coming ones, and behind them */
    uint64_t before, behind;
    uint8_t joins;      /**< the coming bytes are of it, and touch it */
    uint8_t serves;     /**< the request's view is a part that has the requested bytes: @a wanted */
    uint8_t asked_rest; /**< the handler is asked for the missing bytes */
    fresh_range wanted;
} cached_part;

/** The parts of a page (cached_composed_private.h). */
typedef struct cached_composed cached_composed;

typedef struct cached_request {
    /* ---- the request: cached_request_begin(), and cached_request_go_on() behind internal redirects ---- */
    request_rec *r;     /**< that is answered: the last one, behind internal redirects */
    request_rec *first; /**< that the client made: its URL is the key */
    fresh_policy policy;
    fresh_request request;
    const char *vary;           /**< of rules of folders, which led from first to r; NULL */
    struct cached_query *query; /**< the body of a QUERY that is, or was read; NULL */
    struct cached_ls *ls;       /**< of LiteSpeedCache; NULL: it is not for that */
    uint64_t least, most;       /**< bytes of a body that is stored */
    uint8_t tier;               /**< cached_tier */
    uint8_t quick;              /**< it is answered before its phases */
    uint8_t phase;              /**< cached_phase */
    uint8_t outcome;            /**< cached_outcome */

    struct {
        const char *text;
        const char
            *site; /**< part of the text: another server has this host, too; NULL: none has */
        uint32_t text_len, target_len; /**< target_len: of the part that a URL names */
        uint32_t site_len;             /**< of the part that names the server */
        const char
            *unsearched;    /**< the text without No-Vary-Search; NULL: that was not asked for */
        const char *search; /**< No-Vary-Search; NULL: none */
        store_key hash;
        store_key target;  /**< of the target alone: hash, unless something was added to it */
        store_key variant; /**< with has_variant: what is looked up in the end */
        const char *variant_text; /**< that the variant's key is made of */
        uint32_t variant_text_len;
        int has_variant;
        const char *names; /**< fields that led to the variant, joined by ","; NULL: no variant */
    } key;

    /** What is stored: cached_find(), until cached_drop(). */
    struct {
        store_view view; /**< view.reader NULL: nothing */
        /** of the view, and, first, of what led to it by Vary */
        store_place places[CACHE_STORED_PLACES];
        fresh_terms terms;
        cached_head stored;
        cached_part part; /**< some bytes of it, if these are all that is stored */
        uint8_t places_n;
        uint8_t known;      /**< it was looked for */
        uint8_t use;        /**< fresh_use */
        uint8_t soft;       /**< it was purged softly: stale */
        uint8_t ahead;      /**< it is fresh, and fetched ahead of its end */
        uint8_t alone;      /**< the request does not wait for others */
        uint8_t asked_tier; /**< the tier was asked for it */
        uint8_t offered;    /**< the loop's own cache may answer such requests by itself */
    } found;

    /** The handler is asked: cached_ask(), until cached_ask_restore(). */
    struct {
        const char *own[6];  /**< conditions of the request, by cached_conditions[] */
        uint8_t put_away;    /**< these were, for the handler */
        uint8_t forward;     /**< fresh_fwd: why it is asked, if it is */
        uint32_t epoch;      /**< of the store, before that */
        apr_time_t at;       /**< when */
        const char *refused; /**< why its answer is not stored, known before it was asked; NULL */
    } ask;

    /** Its answer is stored: cached_save.c. */
    struct {
        cached_place *place;  /**< whose reader has the lead, or writes */
        uint8_t decided;      /**< the first piece of the answer passed */
        uint8_t renewed;      /**< its answer was stored, or made what is stored fresh */
        store_writer *writer; /**< NULL: it is not, or no more */
        request_sink sink;    /**< with writer: cached_direct_offer() */
        uint64_t written;     /**< bytes of the body */
        uint64_t length;      /**< that is announced of it */
        const char *tags;     /**< of it, each ends with NUL; only for CACHED_SOCACHE */
        uint32_t tags_len;
        uint32_t composed_of;      /**< with writer: how many parts had been */
        cached_composed *composed; /**< NULL: no part was looked for */
    } save;

    /** Others wait for its fetch: from cached_lead() to cached_land(). */
    struct {
        uint32_t flight; /**< that this request leads; 0: none */
        store_key key;
        uint8_t stays;            /**< cached_stay() */
        _Atomic uint32_t *counts; /**< its backend's requests ahead of time count it; NULL */
    } lead;

    /** It waits for another one's: cached_follow.c, cached_growing.c. */
    struct {
        uint32_t flight; /**< 0: none */
        store_key key;
        apr_time_t since;
        uint8_t rounds; /**< how often it waited in vain */
        uint8_t grows;  /**< the view is of an object that grows */
        uint64_t sent;  /**< bytes of that */
        cached_place *at;
        struct cached_request *next, **prev; /**< of those that wait there */
        brg_waiting *waiting;
    } follow;

    /** The client has the stale answer, and what the handler answers is stored alone: cached_follow.c. */
    struct {
        uint8_t answered;
        int status; /**< for logs, as the next three */
        const char *status_line;
        apr_table_t *fields;
        ap_conn_keepalive_e keepalive;
    } stale;
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
 * An internal redirect led to r: it answers in place of the request that asked the store. Is its answer not one for that key, q->ask.refused
 * says so. @return NULL: the store was not asked, or answered
 */
cached_request *cached_request_go_on(request_rec *r);

/** The host and port that the client named. */
const char *cached_request_authority(request_rec *r);

/**
 * The path as the client sent it, which scripts and backends may see. Behind phases that of the
 * request is another one: "/a%3Fb" would be "/a" with a query there, "%20" a blank, "//a" and
 * "/x/../a" would be "/a", and a script's answer to one would be kept for all.
 */
const char *cached_request_path(const request_rec *r);

/** In front of the server's name in a key; no target has a blank. */
#define CACHED_KEY_SITE " OF "

/** Find out which servers share names, at the end of a configuration. */
void cached_sites(apr_pool_t *p, server_rec *main);

/**
 * What a key of @a s has besides: an address or a port leads to a server whatever the Host field says, so that one could have its answers
 * kept for the visitors of another one. NULL: nothing. @param authority  host, with its port or not
 */
const char *cached_site_of(const server_rec *s, const char *authority);

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
/** Set the request's conditions for the handler: validation, or the rest of a part. */
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
 * In the handler: read the body, which makes the key; or q->ask.refused. On a loop nothing is waited for here, on a worker it is.
 * @param go_on  calls it once more, with q as its baton
 * @return OK: read; the result of brg_wait(); or a status
 */
int cached_query_read(cached_request *q, brg_wait_go_on_fn *go_on);

/* ---- sending (cached_serve.c) ---- */

/** Fields and status of the object, as the response of r. @param age  with Age */
void cached_head_apply(cached_request *q, int age);
/** The head of r is sent as it was stored, with Date and Server of its origin: RFC 9111, 4. */
void cached_head_is_stored(request_rec *r);
/** Send the stored answer to the filters from @a to on. @return OK, or a status */
int cached_serve(cached_request *q, ap_filter_t *to, const char *reason, int revalidated);
/** With q->save.writer: the producer of the body may write it into the store itself. @param f  the
 * filter that saves */
void cached_direct_offer(cached_request *q, const ap_filter_t *f);
/** The bytes of @a b were so written by the request that saves with @a q. */
int cached_direct_is_of(const cached_request *q, const apr_bucket *b);
/** Bytes of a body as a bucket. */
apr_bucket *cached_bucket(const store_view *view, uint64_t begin, uint64_t length,
                          apr_bucket_alloc_t *alloc);
/** For the loop's own cache (cached_seek.c) */
extern const cache_seeker cached_seeker;
/** Let the loop's own cache have what is about to be sent: cached_copies.c */
void cached_offer(cached_request *q);
/** The filter behind those that made the stored body. */
ap_filter_t *cached_filters_behind(request_rec *r);

/* ---- reports (cached_tell.c) ---- */

/**
 * Variables and fields about the cache's work, and its counts.
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
/** The counter of hits of the calling loop; NULL: no place left */
_Atomic uint64_t *cached_count_hits(const cached_place *place);
struct brg_status_cache;
int brg_status_cache_get(struct brg_status_cache *out);

/* ---- before it is stale (cached_refresh.c) ---- */

/** Setter of CacheRefreshAhead. */
const char *cached_refresh_cmd(cmd_parms *cmd, void *dir, const char *span, const char *most);
/** The time from which on the object is fetched anew. */
apr_time_t cached_refresh_of(const cached_section *section, const fresh_terms *terms);
/** 1 if it is time. */
int cached_refresh_is_due(const cached_request *q);
/** Counts it. @return 0: its backend has as many of these requests as it may. Ends with cached_refresh_end(), also if it never began */
int cached_refresh_begin(cached_request *q);
void cached_refresh_end(cached_request *q);

/* ---- one fetch for many (cached_follow.c) ---- */

/** Before the handler: take the lead, or wait. @return DECLINED: fetch; or the status of a handler */
int cached_lead(cached_request *q);
/** Followers on this loop. */
void cached_followers_look(cached_request *first);
/** The handler is called once more when the flight that q follows has news; with @a room when its
 * client has taken some output. */
int cached_follow_wait(cached_request *q, int room);

/* ---- an object that another request is fetching still (cached_growing.c) ---- */

/** Send its head and the present part of its body. @param view  let go, or the view of q from now
 * on. @return 0: it is not for q; 1: *status */
int cached_growing_begin(cached_request *q, store_view *view, int *status);
/** Send the bytes that came since. @return as a handler */
int cached_growing_send(cached_request *q);

#endif
