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
 *   State       Begins with                  Owner of r->pool     Legal in it  
 *   ---------   --------------------------   ------------------   -------------------------------------------
 *   created     request_create()             its caller           no configuration of sections; the log
 *   in phases   request_phases()             the same             sub-requests; no output. On a loop it may
 *                                                                 stop and continue on a worker
 *   handled     request_finish(),            the same             reading the body, output, redirects. On a
 *               request_finish_on_loop()                          loop it may be left for a worker, which
 *                                                                 calls the handler again (request_mark_rerun)
 *                                                                 or answers with an error
 *                                                                 (request_rerun_fails)
 *   suspended   the handler's SUSPENDED      the module           the module's actions; the worker waits
 *   answered    EOS on r->output_filters     the EOR bucket       only writing and logging
 *   over        the EOR bucket's end         nobody               r must not be touched
 */
#include "httpd.h"
#include "http_core.h"
#include "util_filter.h"
#include "brigade/response_cache.h"

/** The part of @a r that may wait by brg_wait(). */
typedef enum request_wait_place {
    REQUEST_WAITS_IN_HANDLER,
    REQUEST_WAITS_IN_ACCESS, /**< hooks of access control, which run now: they are called once more, by a worker */
    REQUEST_WAITS_NOWHERE /**< such hooks run now, for a request that somebody else waits for */
} request_wait_place;

/** Findings of the directory walk about the file of a request, for brg_file_open(). */
typedef struct request_files {
    apr_file_t *opened; /**< the walk's descriptor of r->filename, in r->pool, or NULL */
    apr_ino_t inode;    /**< of it */
    apr_dev_t device;
    /** one character per component of r->filename, LINKS_...; the rest of the components, or all if
     * NULL: LINKS_FOLLOW */
    const char *links;
    /** r->filename as the walk left it, of which r->finfo tells; NULL: no walk came to its end */
    const char *walked;
    const char *rest; /**< r->path_info as the walk left it */
    /** a file that is no folder, in r->pool: nothing is below it; NULL: none was met */
    const char *file;
    int stage; /**< with REQUEST_AUTH_PENDING: where the phases continue */
    /** the request's hold on the folder table (request/folder_private.h) */
    struct folder_hold *folders;
    /** a worker that has the request reads the names of this folder */
    struct folder_names *wanted;
    int known; /**< r->finfo as the walk left it is from folder_file.c */
    /** it keeps merges of its own, for its sub-requests and redirects (walk_merge()) */
    int merges;
    int may_hold; /**< folders is released when the request ends */
} request_files;

/**
 * Marks of the core about a request, for the code that runs it. Read and written by the functions below; the request's thread.
 * It is the core's part of r->request_config, or its beginning.
 */
typedef struct request_marks {
    core_request_config conf; /**< the part that modules see */
    int may_block;            /**< request_mark_blocking() */
    int waits_as_part;        /**< request_mark_part_waits() */
    int parts_wait;           /**< so many parts do, with itself */
    int reads;                /**< request_mark_reads() */
    int bodyless;             /**< request_mark_bodyless() */
    int refused;              /**< request_mark_refused() */
    int may_rerun;            /**< a worker may call the handler again: request_allow_rerun() */
    int may_defer;            /**< phases may continue on a worker: request_allow_defer() */
    int lookups_may_fail;     /**< request_allow_lookups_to_fail() */
    request_wait_place waits_in;
    int may_follow;       /**< of the client's own request: request_allow_follow() */
    int follows;          /**< another request leads here, and a worker can go on with it */
    int left;             /**< a worker is to go on: REQUEST_FOLLOW_... */
    request_rec *left_to; /**< of the client's own request: the request to go on with */
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
 * Another thread than that of the main request is to run the sub-request @a r. Its work from now on says nothing about the
 * requests that led to it: whoever runs it has said that these depend on something unknown.
 */
void request_set_apart(request_rec *r);

/** The request that led to @a r, by a sub-request or an internal redirect; NULL: none, or another thread has it. */
request_rec *request_led_to(const request_rec *r);

/**
 * The outcome of @a r depends on more than its URI, its virtual host and files: an expression was
 * evaluated. Also holds for the requests that led to r.
 * @param who  the module of that reason
 * @param why  for logs; both live for ever
 */
void request_mark_volatile(request_rec *r, const char *who, const char *why);

/** The first such reason; NULL: r is not marked. *who: its module. */
const char *request_volatile_why(const request_rec *r, const char **who);

/** The response to @a r, if it is the first of its connection, tells other protocols in Upgrade (@a on), or it does not. */
void request_set_announces(request_rec *r, int on);

/** 1 if it does. */
int request_announces(const request_rec *r);

/**
 * The protocol's fields about the connection come behind the fields that the response to @a r had until then.
 * @param before  how many there were in headers_out
 * @param value   Connection, if modules set it, or NULL. Lives as long as r.
 */
void request_set_connection(request_rec *r, int before, const char *value);

/** That value, or NULL. @param before  [out] the number */
const char *request_connection(const request_rec *r, int *before);

/** The body of @a r cannot be read, which @a status tells the client, whatever the handler makes of it. */
void request_body_failed(request_rec *r, int status);

/** The last status given to request_body_failed(); OK: none. */
int request_body_status(const request_rec *r);

/** 1 if a module said brg_cache_each_time() of @a r, or put a configuration of its own in the place of the core's. */
int request_runs_each_time(const request_rec *r);

/** 1 if brg_cache_part_is_guarded() was said of a part of @a r. */
int request_has_guarded_part(const request_rec *r);

/** @a r is made for the log of an answer from memory: brg_request_is_stored(). */
void request_mark_stored(request_rec *r);

/** The handler of @a r, or of one of its sub-requests, may wait: it is to run on a worker. */
void request_mark_blocking(request_rec *r);
/** The same of a sub-request whose handler would wait on a loop, were it no sub-request: ap_internal_fast_redirect() takes it back. */
void request_mark_part_waits(request_rec *sub);
/** The sub-request ends: what it led to goes on without it. */
void request_end_part(request_rec *sub);

/** 1 if @a r was so marked. */
static inline int request_may_block(const request_rec *r)
{
    const request_marks *m = request_marks_of(r);

    return !m || m->may_block || m->parts_wait;
}

/** The handler of @a r reads the body as it comes, without waiting for it: brg_wait_reads_body(). */
void request_mark_reads(request_rec *r);

/** 1 if @a r was so marked. */
static inline int request_reads(const request_rec *r)
{
    const request_marks *m = request_marks_of(r);

    return m && m->reads;
}

/** A phase of @a r before its handler ended it, with a redirect or an error: the answer depends on
 * the paths and fields that phases named. */
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

/** Messages in the error log about a request that was answered. */
typedef struct request_message {
    int level, module_index;
    apr_status_t status;
    const char *text; /**< nothing escaped */
} request_message;

#define REQUEST_MESSAGES_MOST 4

/** Messages about @a r and its subrequests and redirects (request_message): NULL until there is
 * one. One more than REQUEST_MESSAGES_MOST: there was more. @return NULL if r->request_config is
 * not the core's */
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
 * Redirects of @a r from now on, error documents included, may begin on the loop: where they would
 * wait, a worker goes on (request/request_parts.h, REQUEST_FOLLOW_PENDING).
 */
static inline void request_allow_follow(request_rec *r)
{
    request_marks *m = request_marks_of(r);

    if (m)
        m->may_follow = 1;
}

/** It is to be called again. @return 0: r had no permission, or is not the client's own request */
int request_mark_rerun(request_rec *r);

/** After request_mark_rerun(): the worker is not to call the handler again, but to answer with the error @a status. */
void request_rerun_fails(request_rec *r, int status);

/** 1 from request_mark_rerun() to request_takes_rerun(): further work of the handler is of no use. */
int request_is_left(const request_rec *r);

/**
 * 1 if @a r was so marked; all marks are gone then.
 * @param status [out] with 1: OK, or the status given to request_rerun_fails()
 */
int request_takes_rerun(request_rec *r, int *status);

/** The phases of @a r run now, and may be interrupted where they would wait (@a on), or not any more. */
static inline void request_allow_defer(request_rec *r, int on)
{
    request_marks *m = request_marks_of(r);

    if (m)
        m->may_defer = on;
}

/** 1 if a worker may continue or repeat the present step of @a r: see request_allow_defer() and
 * request_allow_rerun(). 0 for sub-requests, and for internal redirects except those that
 * request_allow_follow() let begin on the loop. */
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
#define LINKS_OWNER 'o'  /**< a member whose owner owns its target */
#define LINKS_NONE 'n'   /**< none */

/** Lives as long as @a r. NULL if r->request_config is not the core's. */
static inline request_files *request_files_of(const request_rec *r)
{
    request_marks *m = request_marks_of(r);

    return m ? &m->files : NULL;
}

/** The core's declaration of dependencies: BRG_CACHE_VOLATILE if r was marked. */
int request_depends(request_rec *r);

/** 1 if debugging messages of any module are wanted of @a r: then no answer is stored, since their
 * reader wants them for every request. */
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
 * Parts of @a r's page beside files: objects of the store, kept for the cache (cache_composed.c).
 * NULL until there is one.
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
 * The paths that a request, with its sub-requests and redirects, looked at: the one list from which
 * the response cache draws up its watches. brg_cache_depends_on() adds to it; the walks do for
 * every name that they look at, found or not.
 */
typedef struct request_dependencies {
    const char *first;           /**< absolute path, or NULL: none yet */
    apr_array_header_t *more;    /**< const char *, or NULL */
    apr_array_header_t *folders; /**< const char *, or NULL: all of whose names count */
    /** the path for which a file was chosen among those of its folder; NULL: none was */
    const char *chosen_for;
    /** brg_cache_leads_to(); NULL: the path is that of the target */
    const char *led_from, *led_to;
    const char *unplanned;        /**< request_set_unplanned() */
    const char *unplanned_filter; /**< request_set_unplanned_filter() */
    uint64_t since;               /**< watch_seen() when the request came; 0: nothing was watched */
    uint32_t named;               /**< how often a path was named, repeated ones included */
    uint8_t too_many;             /**< there were more than are kept: nothing is to be stored */
    uint8_t query;                /**< an expression looked at the query */
    uint8_t name;                 /**< an expression looked at the path */
    uint8_t link_policy; /**< whether links were allowed was looked at, component by component */
} request_dependencies;

/** The list of @a r and the requests that led to it. NULL if r->request_config is not the core's.
 */
const request_dependencies *request_dependencies_of(const request_rec *r);

/** A backend answers @a r, and requests like it are not sent on without their phases (cache_plan.h). @param why  the first reason is
 * kept; it lives as long as @a r */
void request_set_unplanned(const request_rec *r, const char *why);

/** The same, because the filter @a name is on the answer's way. */
void request_set_unplanned_filter(const request_rec *r, const char *name);

/** The sub-request @a sub is made. */
void request_names_begin(const request_rec *sub);

/** How often a path was named by brg_cache_depends_on() since @a sub was made. 0: that is not known. */
uint32_t request_names_of(const request_rec *sub);

/** The request begins: the state of its loop's look at the file system. */
void request_dependencies_since(const request_rec *r, uint64_t seen);

/** The Options of a directory on the way did not allow all symbolic links. */
void request_link_policy_counts(const request_rec *r);

/** @a r, or a sub-request or redirect of it, looked at the query of the target. */
void request_query_counts(const request_rec *r);

/** Its path was. */
void request_name_counts(const request_rec *r);

/** Memory of a filter for bytes of the body of a response. A writer that puts them there, and
 * passes them on as its buckets, spares the filter a copy. */
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

/** A body that a handler or filter offers to be stored. */
typedef struct request_offer {
    int codings;             /**< content codings that filters on the chain make if asked for */
    int coded;               /**< and the request asks for one of them */
    const char *etag;        /**< before any filter changed it, or NULL */
    const char *path;        /**< the file that is the whole body, or NULL */
    const char *body;        /**< the bytes that are the whole body, or NULL */
    apr_size_t len;          /**< of body, also where that is neither in body nor in flat */
    const char *part_type;   /**< media type of its parts, if several were sent */
    const char *const *from; /**< with body: the files that it was made from, or NULL */
    struct cache_flat *flat; /**< instead of body: a copy that the cache may take over, or NULL */
    struct cache_capture *capture; /**< collects the filters' output for the body, or NULL */
    const char *absent; /**< the target of an entry for names that are not there, or NULL */
    int absent_asked;   /**< absent is known */
    /** its object in the store of backends' answers, or NULL */
    const struct cache_stored *stored;
    /** the request that its error document made of it, whose file path is; or NULL */
    request_rec *document;
    /** not a body, but how such a request is sent on; or NULL */
    const struct cache_plan_offer *plan;
} request_offer;

/** A new offer of @a r, in place of an earlier one; all zero. NULL if r->request_config is not the
 * core's. Lives as long as r. */
request_offer *request_offer_begin(request_rec *r);

/** The offer of @a r that stands, or NULL. */
request_offer *request_offer_of(const request_rec *r);

/** No offer of @a r or of the requests that led to it stands any more. */
void request_offer_drop(request_rec *r);

/** Where the value of a Content-Length that ap_set_content_length() gave the response stands: r->clength as text; NULL: none. */
const char **request_length_text(const request_rec *r);

/** Memory for @a n filter instances that live as long as @a r. Not initialised. */
ap_filter_t *request_conf_filters(request_rec *r, unsigned n);

/**
 * Destroy the rest of the request's look-ahead brigade, when the request ends. Most requests
 * never use it, so it does not have a pool cleanup of its own. (bucket_eor.c calls it)
 */
void request_conf_end(request_rec *r);

#endif
