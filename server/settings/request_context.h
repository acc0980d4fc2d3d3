/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SETTINGS_REQUEST_CONTEXT_H
#define BRIGADE_SETTINGS_REQUEST_CONTEXT_H

/**
 * @file request_context.h
 * The core's part in r->request_config.
 *
 * The life of a request. One thread at a time has it: the loop, or a worker between worker_pool_submit()
 * and loop_return().
 *
 *   State       Begins with                  Owner of r->pool     What is legal
 *   ---------   --------------------------   ------------------   -------------------------------------------
 *   created     request_create()             who called it        no configuration of sections; the log
 *   in phases   request_phases()             the same             sub-requests; no output. On a loop it may
 *                                                                 stop and continue on a worker
 *   handled     request_finish(),            the same             reading the body, output, redirects. On a
 *               request_finish_on_loop()                          loop it may be left for a worker, which
 *                                                                 calls the handler again (request_mark_rerun)
 *                                                                 or answers with an error
 *                                                                 (request_rerun_fails)
 *   suspended   the handler's SUSPENDED      the module           what the module does; the worker waits
 *   answered    EOS on r->output_filters     the EOR bucket       nothing but what writes and logs it
 *   over        the EOR bucket's end         nobody               r must not be touched
 */
#include "httpd.h"
#include "http_core.h"
#include "util_filter.h"
#include "brigade/response_cache.h"

/** What of @a r may wait by brg_wait(). */
typedef enum request_wait_place {
    REQUEST_WAITS_IN_HANDLER,
    REQUEST_WAITS_IN_ACCESS, /**< hooks of access control, which run now: they are called once more, by a worker */
    REQUEST_WAITS_NOWHERE /**< such hooks run now, for a request that somebody else waits for */
} request_wait_place;

/** What the directory walk found out about the file of a request, for brg_file_open(). */
typedef struct request_files {
    apr_file_t *opened; /**< the walk's descriptor of r->filename, in r->pool, or NULL */
    apr_ino_t inode;    /**< of it */
    apr_dev_t device;
    const char *links; /**< one character per component of r->filename, LINKS_...; the rest of the
                             components, or all if NULL: LINKS_FOLLOW */
    const char *walked; /**< r->filename as the walk left it, of which r->finfo tells; NULL: no walk came to its end */
    int stage;          /**< with REQUEST_AUTH_PENDING: where the phases continue */
    struct folder_hold *folders;  /**< what the request holds of what is known of folders (request/folder_private.h) */
    struct folder_names *wanted;  /**< a worker that has the request reads the names of this folder */
    int known;                    /**< r->finfo as the walk left it is what folder_file.c knows */
    int merges;                   /**< it keeps merges of its own, for those that it leads to (walk_merge()) */
    int may_hold;                 /**< folders is released when the request ends */
} request_files;

/**
 * What the core marks of a request for those who run it. Read and written by the functions below; the request's thread.
 * It is the core's part of r->request_config, or its beginning.
 */
typedef struct request_marks {
    core_request_config conf; /**< what modules see */
    int may_block;            /**< request_mark_blocking() */
    int reads;                /**< request_mark_reads() */
    int bodyless;             /**< request_mark_bodyless() */
    int refused;              /**< request_mark_refused() */
    int may_rerun;            /**< a worker may call the handler again: request_allow_rerun() */
    int may_defer;            /**< phases may continue on a worker: request_allow_defer() */
    int lookups_may_fail;     /**< request_allow_lookups_to_fail() */
    request_wait_place waits_in;
    int may_follow;          /**< of what the network asked for: request_allow_follow() */
    int follows;             /**< another request leads here, and a worker can go on with it */
    int left;                /**< a worker is to go on: REQUEST_FOLLOW_... */
    request_rec *left_to;    /**< of what the network asked for: with what */
    request_files files;
} request_marks;

/** Bytes from the marks to the notes of modules: only in the core's own these stand there. */
extern const apr_size_t request_marks_to_notes;

/** The marks of @a r; NULL if a module put a configuration of its own in the place of the core's. */
static inline request_marks *request_marks_of(const request_rec *r)
{
    request_marks *m =
        r->request_config ? (request_marks *)ap_get_core_module_config(r->request_config) : NULL;

    return m && (char *)m->conf.notes == (char *)m + request_marks_to_notes ? m : NULL;
}

/** create_request hook: core_request_config with room for all registered notes. @return OK */
int request_conf_create(request_rec *r);

/**
 * Another thread than that of the main request is to run the sub-request @a r. What it does from now on says nothing about the
 * requests that led to it: whoever runs it has said that these depend on something unknown.
 */
void request_set_apart(request_rec *r);

/** The request that led to @a r, by a sub-request or an internal redirect; NULL: none, or another thread has it. */
request_rec *request_led_to(const request_rec *r);

/**
 * The outcome of @a r depends on more than its URI, its virtual host and files: an expression was
 * evaluated. Also holds for the requests that led to r.
 * @param who  the module whose reason that is
 * @param why  for logs; both live for ever
 */
void request_mark_volatile(request_rec *r, const char *who, const char *why);

/** The first such reason; NULL: r is not marked. *who is set with it. */
const char *request_volatile_why(const request_rec *r, const char **who);

/** The response to @a r, if it is the first of its connection, tells other protocols in Upgrade (@a on), or it does not. */
void request_set_announces(request_rec *r, int on);

/** 1 if it does. */
int request_announces(const request_rec *r);

/**
 * What the protocol says about the connection comes behind the fields that the response to @a r had until then.
 * @param before  how many there were in headers_out
 * @param value   Connection, if modules set it, or NULL. Lives as long as r.
 */
void request_set_connection(request_rec *r, int before, const char *value);

/** That value, or NULL. @param before  [out] the number */
const char *request_connection(const request_rec *r, int *before);

/** The body of @a r cannot be read, which @a status tells the client, whatever the handler makes of it. */
void request_body_failed(request_rec *r, int status);

/** What request_body_failed() was told last; OK: nothing. */
int request_body_status(const request_rec *r);

/** 1 if a module said brg_cache_each_time() of @a r, or put a configuration of its own in the place of the core's. */
int request_runs_each_time(const request_rec *r);

/** 1 if brg_cache_part_is_guarded() was said of a part of @a r. */
int request_has_guarded_part(const request_rec *r);

/** @a r is made for the log of an answer from memory: brg_request_is_stored(). */
void request_mark_stored(request_rec *r);

/** The handler of @a r, or of one of its sub-requests, may wait: it is to run on a worker. */
void request_mark_blocking(request_rec *r);

/** 1 if @a r was so marked. */
static inline int request_may_block(const request_rec *r)
{
    const request_marks *m = request_marks_of(r);

    return !m || m->may_block;
}

/** The handler of @a r reads the body as it comes, without waiting for it: brg_wait_reads_body(). */
void request_mark_reads(request_rec *r);

/** 1 if @a r was so marked. */
static inline int request_reads(const request_rec *r)
{
    const request_marks *m = request_marks_of(r);

    return m && m->reads;
}

/** A phase of @a r before its handler ended it, with a redirect or an error: what the answer depends on is what phases named. */
static inline void request_mark_refused(request_rec *r)
{
    request_marks *m = request_marks_of(r);

    if (m)
        m->refused = 1;
}

/** 1 if @a r was so marked. */
static inline int request_is_refused(const request_rec *r)
{
    const request_marks *m = request_marks_of(r);

    return m && m->refused;
}

/** What was said in the error log of a request that was answered. */
typedef struct request_message {
    int level, module_index;
    apr_status_t status;
    const char *text; /**< nothing escaped */
} request_message;

#define REQUEST_MESSAGES_MOST 4

/** What was said of @a r and of those that belong to it (request_message): NULL until there is something. One more than
 * REQUEST_MESSAGES_MOST: there was more. @return NULL if r->request_config is not the core's */
apr_array_header_t **request_messages(const request_rec *r);

/** The head of @a r, as it was sent, announces no body. */
void request_mark_bodyless(request_rec *r);

/** 1 if @a r was so marked: nothing of it comes from the network any more. 0: it may have one, as its fields say. */
static inline int request_is_bodyless(const request_rec *r)
{
    const request_marks *m = request_marks_of(r);

    return m && m->bodyless;
}

/** The handler of @a r is called now, and may be called again by a worker. */
static inline void request_allow_rerun(request_rec *r)
{
    request_marks *m = request_marks_of(r);

    if (m)
        m->may_rerun = 1;
}

/**
 * What @a r is redirected to from now on, an error document included, may begin on the loop: where it would wait, a worker goes on with
 * it (request/request_parts.h, REQUEST_FOLLOW_PENDING).
 */
static inline void request_allow_follow(request_rec *r)
{
    request_marks *m = request_marks_of(r);

    if (m)
        m->may_follow = 1;
}

/** It is to be called again. @return 0: r was not let, or is not what the network asked for */
int request_mark_rerun(request_rec *r);

/** After request_mark_rerun(): the worker is not to call the handler again, but to answer with the error @a status. */
void request_rerun_fails(request_rec *r, int status);

/** 1 from request_mark_rerun() to request_takes_rerun(): what the handler still does is of no use. */
int request_is_left(const request_rec *r);

/**
 * 1 if @a r was so marked; all marks are gone then.
 * @param status [out] with 1: OK, or what request_rerun_fails() was told
 */
int request_takes_rerun(request_rec *r, int *status);

/** The phases of @a r run now, and may be interrupted where they would wait (@a on), or not any more. */
static inline void request_allow_defer(request_rec *r, int on)
{
    request_marks *m = request_marks_of(r);

    if (m)
        m->may_defer = on;
}

/** 1 if a worker may continue or repeat what @a r does now: see request_allow_defer() and
 * request_allow_rerun(). 0 for sub-requests, and for internal redirects but those that request_allow_follow() let begin on the loop. */
static inline int request_may_leave_thread(const request_rec *r)
{
    const request_marks *m = r->main ? NULL : request_marks_of(r);

    return m && (!r->prev || m->follows) && (m->may_defer || m->may_rerun);
}

/** Look-ups of sub-requests of @a r fail where they would wait (@a on), or not any more:
 * brg_request_let_lookups_fail(). */
void request_allow_lookups_to_fail(request_rec *r, int on);

/** 1 if @a r is a sub-request whose look-up may fail, since a worker can still run the request from the
 * network again. */
int request_lookup_may_fail(const request_rec *r);

static inline void request_set_wait_place(request_rec *r, request_wait_place place)
{
    request_marks *m = request_marks_of(r);

    if (m)
        m->waits_in = place;
}
request_wait_place request_wait_place_of(const request_rec *r);

#define LINKS_FOLLOW 'f' /**< a symbolic link may stand there */
#define LINKS_OWNER 'o'  /**< one whose owner owns what it leads to */
#define LINKS_NONE 'n'   /**< none */

/** Lives as long as @a r. NULL if r->request_config is not the core's. */
static inline request_files *request_files_of(const request_rec *r)
{
    request_marks *m = request_marks_of(r);

    return m ? &m->files : NULL;
}

/** The core's answer to "what did it depend on?": BRG_CACHE_VOLATILE if r was marked. */
int request_depends(request_rec *r);

/** 1 if debugging messages of any module are wanted of @a r: then no answer is stored, since who
 * reads them wants them for every request. */
int request_is_debugged(const request_rec *r);

/** In the list of fields, instead of a name: the request line, whose target is the key of the
 * response cache. Only GET is stored. */
#define REQUEST_VARY_LINE BRG_CACHE_VARY_LINE

/**
 * The request fields that the answer to @a r is selected by, kept for the cache (cache_vary.c): NULL until there is one.
 * @return NULL if r->request_config is not the core's
 */
apr_array_header_t **request_vary_fields(const request_rec *r);

/**
 * The fields of @a r that modules gave other values, kept for the cache (cache_changed.c): NULL until there is one.
 * @return NULL if r->request_config is not the core's
 */
apr_array_header_t **request_changed_fields(const request_rec *r);

/**
 * What @a r was made of beside files: parts out of the store of what others answered, kept for the cache (cache_composed.c). NULL
 * until there is one.
 * @return NULL if r->request_config is not the core's
 */
apr_array_header_t **request_stored_parts(const request_rec *r);

/** A response field whose value is the time of the request and so much more. */
typedef struct request_dated {
    const char *name; /**< NULL: none */
    apr_interval_time_t after;
} request_dated;

/** @return NULL if r->request_config is not the core's */
request_dated *request_dated_field(const request_rec *r);

#define REQUEST_DEPENDENCIES_MOST 256

/**
 * What a request, with its sub-requests and redirects, looked at in the file system: the one list
 * from which the response cache draws up its watches. brg_cache_depends_on() adds to it; the walks
 * do for every name that they look at, found or not.
 */
typedef struct request_dependencies {
    const char *first;           /**< absolute path, or NULL: none yet */
    apr_array_header_t *more;    /**< const char *, or NULL */
    apr_array_header_t *folders; /**< const char *, or NULL: all of whose names count */
    const char *
        chosen_for; /**< the path for which a file was chosen among those of its folder; NULL: none was */
    const char *led_from,
        *led_to;         /**< brg_cache_leads_to(); NULL: the path is that of the target */
    uint64_t since;      /**< watch_seen() when the request came; 0: nothing was watched */
    uint32_t named;      /**< how often a path was named, also one that is in the list already */
    uint8_t too_many;    /**< there were more than are kept: nothing is to be stored */
    uint8_t query;       /**< an expression looked at the query */
    uint8_t link_policy; /**< whether links were allowed was looked at, component by component */
} request_dependencies;

/** The list of @a r and those that led to it. NULL if r->request_config is not the core's. */
const request_dependencies *request_dependencies_of(const request_rec *r);

/** The sub-request @a sub is made. */
void request_names_begin(const request_rec *sub);

/** How often a path was named by brg_cache_depends_on() since @a sub was made. 0: that is not known. */
uint32_t request_names_of(const request_rec *sub);

/** The request begins: what its loop has seen of the file system so far. */
void request_dependencies_since(const request_rec *r, uint64_t seen);

/** The Options of a directory on the way did not allow all symbolic links. */
void request_link_policy_counts(const request_rec *r);

/** The query of the target was looked at for @a r, or for one that belongs to it. */
void request_query_counts(const request_rec *r);

/** Memory of a filter for bytes of the body of a response. Who writes them there, and passes them on as its buckets, spares
 * the filter a copy. */
typedef struct request_sink {
    const ap_filter_t *filter; /**< of the request */
    /** Where the next bytes may be written. @return how many; 0: none now */
    apr_size_t (*room)(void *baton, char **at);
    /** So many were written there, at least 1: as a bucket, which has to come to the filter next. */
    apr_bucket *(*take)(void *baton, apr_size_t n, apr_bucket_alloc_t *alloc);
    void *baton;
} request_sink;

/** @param sink  lives as long as r. Threads: the request's */
void request_sink_offer(request_rec *r, const request_sink *sink);

/** The sink of @a r, if nothing comes before its filter; or NULL. */
const request_sink *request_sink_of(const request_rec *r);

struct cache_capture;
struct cache_flat;
struct cache_stored;

/** What a handler or filter offers to be stored as the body of a response. */
typedef struct request_offer {
    int codings;             /**< content codings that filters on the chain make if asked for */
    int coded;               /**< and the request asks for one of them */
    const char *etag;        /**< before any filter changed it, or NULL */
    const char *path;        /**< the file that is the whole body, or NULL */
    const char *body;        /**< the bytes that are the whole body, or NULL */
    apr_size_t len;          /**< of body, also where that is neither in body nor in flat */
    const char *part_type;   /**< what its parts tell as their media type, if several were sent */
    const char *const *from; /**< with body: the files that it was made from, or NULL */
    struct cache_flat *flat; /**< instead of body: a copy that the cache may take over, or NULL */
    struct cache_capture *capture; /**< collects what filters make of the body, or NULL */
    const struct cache_stored
        *stored; /**< it is out of the store of what others answered, or NULL */
    const struct cache_plan_offer
        *plan; /**< not a body, but how such a request is sent on; or NULL */
} request_offer;

/** A new offer of @a r, in place of an earlier one; all zero. NULL if r->request_config is not the
 * core's. Lives as long as r. */
request_offer *request_offer_begin(request_rec *r);

/** The offer of @a r that stands, or NULL. */
request_offer *request_offer_of(const request_rec *r);

/** No offer of @a r or of the requests that led to it stands any more. */
void request_offer_drop(request_rec *r);

/** Memory for a filter instance that lives as long as @a r. Not initialised. */
ap_filter_t *request_conf_filter(request_rec *r);

/**
 * Destroy what is left in the request's look-ahead brigade, when the request ends. Most requests
 * never use it, so it does not have a pool cleanup of its own. (bucket_eor.c calls it)
 */
void request_conf_end(request_rec *r);

#endif
