/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_RESPONSE_CACHE_H
#define BRIGADE_RESPONSE_CACHE_H

/**
 * @file brigade/response_cache.h Declarations of modules: the dependencies of their part of a
 * request.
 *
 * The server stores answers, per event loop, and sends them to the next client that asks for the
 * same target without running the hooks, if every module that hooked a request phase says that this
 * is right. A module that says nothing is taken to depend on everything: its hooks run on every
 * request, on a worker thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "util_filter.h"
#include "ap_expr.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Outcome depends on the virtual host, raw URI, method (GET or HEAD), configuration files and the
 * served file alone: all of which the core watches. */
#define BRG_CACHE_STATIC 0
/** As STATIC, but the module's log_transaction hook must see every request (a request_rec is made
 * for it). */
#define BRG_CACHE_OBSERVED 1
/** Depends on more (client address, a request header, the time, a random value): run the hooks each
 * time. */
#define BRG_CACHE_VOLATILE 2

/**
 * Asked once for a finished request, while it is still whole: the dependencies of its outcome, as
 * far as this module is concerned. The greatest answer of all modules counts.
 *
 * @param r  the request, its configuration merged and response headers set
 * @return   one of BRG_CACHE_*
 * Threads:  the loop that serves the request. Blocking: must not.
 */
typedef int brg_cache_fn(request_rec *r);

/**
 * Which of a few kinds a request field's value is, as far as an outcome depends on it.
 *
 * @param data   as given to brg_cache_vary()
 * @param value  @a len bytes, not terminated; NULL: the request has no such field
 * @return       0 or more; -1: it cannot be said, such requests are processed in full
 * Threads: any. Blocking: must not.
 */
typedef int brg_cache_variant_fn(const void *data, const char *value, apr_size_t len);

/**
 * The outcome of @a r depends on a request field as well, but on nothing else: each kind of value
 * has an answer of its own. For a module's brg_cache_fn, which then need not say VOLATILE, and
 * for hooks before it. Of a field that was changed (brg_cache_field_changed()), each value that
 * clients send is a kind of its own.
 *
 * @param name  of the field; must live as long as @a r
 * @param kind  NULL: every value is a kind of its own, for fields with few values
 * @param data  for @a kind; it, and its targets, must live as long as the configuration
 */
BRG_DECLARE(void)
brg_cache_vary(request_rec *r, const char *name, brg_cache_variant_fn *kind, const void *data);

/** Instead of a field's name, for brg_cache_vary() without a kind: the outcome depends on the method, or on the version
 * of HTTP in the request line. */
#define BRG_CACHE_VARY_LINE ":line"

/** The outcome of @a r depends on the query of its target, which most modules leave alone. Threads: the request's.
 * Blocking: no. */
BRG_DECLARE(void) brg_cache_depends_on_query(request_rec *r);

/** The outcome of @a r depends on its path, down to the last name, or on more of the file than its
 * length and the time of its last change, which Last-Modified and ETag show. Threads: the
 * request's. Blocking: no. */
BRG_DECLARE(void) brg_cache_depends_on_name(request_rec *r);

/** Of a brg_cache_name_fn: each name may be decided in another way. */
#define BRG_CACHE_NAME_COUNTS (-1)

/**
 * How a module's hooks decide by the last name of a path. The answer to one request for what is not there, or the head of one for a
 * file, serves others of the same folder and the same extension for which all modules say the same. The extension, from the
 * first dot on, is told apart already. A redirect may show the name, as it is and at the end of Location.
 * Where rules lead what is not there to one script, the path may go on behind the name, in another way for each request. Where a backend
 * is asked for all below a prefix (ProxyPass), or a hook redirects it, the name is all behind the prefix; a query may follow in Location.
 *
 * @param s         the server
 * @param dir       the configuration in force in the folder
 * @param path      of the target, decoded
 * @param filename  where it leads; NULL: a translate_name hook answers, or one before
 * @param path_info what goes on behind filename's name in path; without filename the end of path that is the name. "": nothing, the last one
 * @param is_file   1: a regular file is there, which is not empty; 0: nothing
 * @return          0 or more: another value for each way to decide; BRG_CACHE_NAME_COUNTS
 * Threads: any. Blocking: must not.
 */
typedef apr_int64_t brg_cache_name_fn(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                                      const char *filename, const char *path_info, int is_file);

/** Set that function. Without one a module that hooks requests is taken to decide each name in another way. After brg_cache_declare(). */
BRG_DECLARE(void) brg_cache_name_declare(module *m, brg_cache_name_fn *fn);

/**
 * Which of a few kinds the address of a client is, as far as an outcome depends on it.
 *
 * @param data    as given to brg_cache_vary_client()
 * @param client  family and address are set, the port is not
 * @return        0 or more; -1: it cannot be said, such requests are processed in full
 * Threads: any. Blocking: must not.
 */
typedef apr_int64_t brg_cache_client_fn(const void *data, apr_sockaddr_t *client);

/**
 * The outcome of @a r depends on the client's address (r->useragent_addr), as far as @a kind tells
 * clients apart, but on nothing else: each kind has an answer of its own. The result of @a kind may
 * change with the time, as a table of networks does: each later request is asked about anew. So
 * decide by this function's result, and do not look twice.
 *
 * @param data  for @a kind; it, and its targets, must live as long as the configuration
 * @return      the result of @a kind for r->useragent_addr; the same for the whole of a request
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(apr_int64_t)
brg_cache_vary_client(request_rec *r, brg_cache_client_fn *kind, const void *data);

/**
 * A variable of expressions names its own dependencies, by brg_cache_vary(),
 * brg_cache_vary_client() and brg_cache_depends_on(), each time it is evaluated for a request. Of
 * others it is taken that each request has its own value.
 *
 * @param p   the pool of the configuration; from the module's register_hooks function
 * @param fn  as the module's expr_lookup hook gives it
 */
BRG_DECLARE(void) brg_cache_declare_variable(apr_pool_t *p, ap_expr_var_func_t *fn);

/**
 * The outcome of @a r depends on the value of @a expr, which is evaluated for it before or after this: all that the value depends
 * on is named, by brg_cache_vary() and its siblings.
 *
 * @param groups  1: the groups of its regular expressions count as well
 * @return        1; 0: it depends on more
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int)
brg_cache_depends_on_expression(request_rec *r, const ap_expr_info_t *expr, int groups);

/** 1 if the value of @a expr depends on the status, the type or the fields of the response, or on the environment, to which handlers add.
 * Threads: any. Blocking: no. */
BRG_DECLARE(int) brg_expression_reads_response(const ap_expr_info_t *expr);

/** 1 if the module that sets the variable @a name of the environment names its dependencies, as
 * mod_setenvif does; 0 if it may have another value for each request or connection, as UNIQUE_ID.
 * Threads: any, once the configuration is read. */
BRG_DECLARE(int) brg_cache_variable_is_told(const char *name);

/**
 * The group, and version "0", in which a provider for Require is registered as well, under the same
 * name and pointer, if its answers depend on the path, the method, the configuration and its
 * brg_cache_vary() and brg_cache_vary_client() alone. Responses that another provider had a say in
 * are not stored.
 */
#define BRG_CACHE_AUTHZ_GROUP "brg-cache-authz"

/**
 * The names that brg_cache_vary() was called with so far, for @a r and the sub-requests
 * that were asked about with brg_cache_ask(): at most @a most of them.
 * @return how many there are
 */
BRG_DECLARE(int) brg_cache_vary_fields(const request_rec *r, const char **names, int most);

/**
 * A post_read_request hook of @a m gives a request field another value than the client did: an
 * answer that varies by that field is not stored, since look-ups use the client's value. For
 * directive setters and post_config.
 *
 * @param pconf  the pool of the configuration; @a name lives as long
 */
BRG_DECLARE(void) brg_cache_changes_field(const module *m, apr_pool_t *pconf, const char *name);

/** How a request field is changed. */
typedef enum brg_field_change {
    /** to a value, whatever the client sent; it follows from the answer's dependencies anyway */
    BRG_FIELD_SET,
    BRG_FIELD_REMOVED, /**< the field is gone */
    BRG_FIELD_EDITED,  /**< to a value made of the client's, if the field is there */
    BRG_FIELD_ADDED,   /**< to a value made of the client's, or else as with BRG_FIELD_SET */
    BRG_FIELD_UNKNOWN  /**< to a value that may differ for each request */
} brg_field_change;

/**
 * A hook is about to change a field of @a r. The answer may be stored all the same: later requests
 * are told apart by their clients' fields. Later readers of the field name it by brg_cache_vary(),
 * as ever; the core's own reading of it (conditions, ranges, the connection), and its value in
 * logs, is seen to.
 *
 * @param name  lives as long as r->pool; r->headers_in still has the client's value
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void)
brg_cache_field_changed(request_rec *r, const char *name, brg_field_change how);

/**
 * A hook of the module gives handlers another request than the client sent, or decides anew for
 * each request whether they are called: request fields that it sets, answers of its own store.
 * Answers to @a r may be stored, if the module says so, but later requests for its target are not
 * sent on to a backend by the decisions for @a r: all hooks run for each. In a hook of a request
 * phase. Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void) brg_cache_each_time(request_rec *r);

/**
 * An access rule about the client, its credentials or by an expression decided about @a r, in its
 * favour or not, and is not the rule of the page that @a r is a part of. The stored answers of
 * mod_cache do not have that page, which others would get without that rule. To be said besides the
 * rule's own dependencies. In a hook of access control. Does nothing where @a r is no sub-request.
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void) brg_cache_part_is_guarded(request_rec *r);

/**
 * A field of the response is a date, @a after microseconds after r->request_time, and with each
 * answer it goes on with the time; else it would have made the outcome VOLATILE. For a module's
 * brg_cache_fn.
 *
 * @param name  of the one field of which this is true; a constant
 */
BRG_DECLARE(void)
brg_cache_dated_field(request_rec *r, const char *name, apr_interval_time_t after);

/**
 * Declare that no hook, handler or filter of the module waits for anything but local files, so that
 * it may run on an event loop, and name the function that tells a request's dependencies.
 *
 * A loop has many requests: between the phases of one and its handler, those of others run on the
 * same thread. So a module keeps a request's data in that request's pool and configuration vector,
 * not in variables of the thread.
 *
 * @param m   the module
 * @param fn  asked per request, see above; NULL stands for "always BRG_CACHE_STATIC"
 * Call from the module's register_hooks function.
 */
BRG_DECLARE(void) brg_cache_declare(module *m, brg_cache_fn *fn);

/**
 * The module never looks at the query of a request that is answered with a plain file (r->args, or
 * the part behind the '?' in r->unparsed_uri and r->the_request), or does so in redirects and
 * refusals alone. Expressions of the configuration need not be counted, the server sees their
 * variables. Where this is true of all modules that hook requests, one stored response answers a
 * file's target with whatever query; else each query has its own.
 *
 * Call from the module's register_hooks function, after brg_cache_declare().
 */
BRG_DECLARE(void) brg_cache_leaves_query(module *m);

/**
 * An output filter leaves each body as it is: it may look at data, and change the head before the
 * first data passes, but passes on the same bytes. Responses that it filters may then be stored;
 * its module is asked about its changes to the head as ever.
 *
 * @param frec  as ap_register_output_filter() returned it
 * Call from the module's register_hooks function; the module has to declare itself, too (brg_cache_declare()).
 */
BRG_DECLARE(void) brg_filter_leaves_body(ap_filter_rec_t *frec);

/**
 * As brg_cache_declare for "may run on an event loop", but responses that this module took
 * part in are never remembered. For a handler such as a directory listing.
 */
BRG_DECLARE(void) brg_nonblocking_declare(module *m);

/**
 * A handler says: the body of this response is all of the file at @a path, unchanged, as r->finfo
 * describes it. Only then can the response be remembered. Call it before the brigade is passed; it
 * looks at r's output filters and takes no offer where one of them may change the body. Threads:
 * the request's. Blocking: no.
 */
BRG_DECLARE(void) brg_cache_offer_file(request_rec *r, const char *path);

/**
 * A filter that has the whole body in hand says: these bytes were made from these files alone, and
 * from the URI and the configuration. Call it before they are passed to @a next; no filter from @a
 * next on may change them, else the offer is not taken. The dependencies of the request's modules
 * are asked for as for files.
 *
 * @param body   of @a len bytes; copied when it is remembered, so it must live as long as the
 * request's pool
 * @param paths  NULL-terminated, absolute: every file that was read or looked for, present or
 * missing; in r->pool. NULL: only the paths of the request's URI
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void)
brg_cache_offer_body(request_rec *r, ap_filter_t *next, const char *body, apr_size_t len,
                     const char *const *paths);

/**
 * As brg_cache_offer_body(), with the body as a brigade: it is copied only if this response is to be stored now, so a
 * filter may offer each page that it makes.
 *
 * @param bb   the whole body, of @a len bytes; buckets of unknown length are read. It stays as it is otherwise, and is
 * not needed once this returns. The same error as for a body that cannot be read: the offer is not taken
 * Threads: the request's. Blocking: only for buckets that wait when they are read.
 */
BRG_DECLARE(void)
brg_cache_offer_brigade(request_rec *r, ap_filter_t *next, apr_bucket_brigade *bb, apr_size_t len,
                        const char *const *paths);

/**
 * The outcome of @a r depends on the file at @a path, or on its absence. The directory walk says so
 * for r->filename of every request and sub-request, and the cache adds the access files and
 * symbolic links on the way; so a module calls this only for files that it looks at by itself.
 *
 * @param path  absolute; lives as long as r->pool. NULL: on more than is worth naming, as a listing does on
 *              its whole folder: no further path is kept, and the response is not stored
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void) brg_cache_depends_on(request_rec *r, const char *path);

/**
 * The outcome of @a r depends on which names there are in @a folder, out of which a file may be chosen for r->uri: names
 * that come and go count, whether they have to do with the choice or not. The files that are looked at are named by
 * brg_cache_depends_on(), as sub-requests do. From a hook that has not changed r->uri yet.
 *
 * @param folder  absolute; copied
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void) brg_cache_depends_on_names(request_rec *r, const char *folder);

/**
 * A translate_name hook gives @a r another path: by the configuration, the path before, and its
 * brg_cache_vary() and brg_cache_depends_on() alone. The answer may then be stored as that of the
 * other path; else it is not, since its target led to another file. Call it before r->uri is
 * changed.
 *
 * @param uri  the other path; lives as long as r->pool
 */
BRG_DECLARE(void) brg_cache_leads_to(request_rec *r, const char *uri);

/**
 * The paths that @a r, its sub-requests and the requests that led to it depend on so far, in the
 * order in which they were named first.
 *
 * @param from   index of the first that is wanted
 * @param paths  at most @a most of them are put here
 * @return how many there are, from the beginning; -1: more than are kept, or all names of a folder
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int)
brg_cache_dependencies(const request_rec *r, int from, const char **paths, int most);

/**
 * The verdict of all modules on a sub-request that was looked up: the greatest of BRG_CACHE_*. For
 * modules that make part of an answer from others. Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_cache_ask(request_rec *r);

/**
 * 1 if @a sub, a sub-request that was run on an event loop, was answered with an object of the
 * store. A page that is offered (brg_cache_offer_brigade()) may have such parts: it is remembered
 * while all of them are stored and fresh. Its other dependencies are asked for as of others:
 * brg_cache_ask(). Ask before @a sub is destroyed. Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_cache_is_part(const request_rec *sub);

/**
 * The handler or a filter of this request may wait for something: let it run on a worker thread.
 * For hooks up to insert_filter; later calls have no effect. Marks the requests that led to r as
 * well.
 */
BRG_DECLARE(void) brg_request_needs_worker(request_rec *r);

/**
 * 1 if the handler of r or a filter of its own was not declared not to wait. For modules that run
 * sub-requests, in or after their insert_filter hooks. Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_request_may_wait(request_rec *r);

/**
 * A handler that runs on an event loop found out that it has to wait: it is called once more, on a
 * worker, when it has returned OK. It must not have passed anything on, and must have undone its
 * changes to r. For requests that came from the network: no sub-requests or internal redirects.
 *
 * @return 1; 0 if this cannot be, and the handler has to go on where it is
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_request_rerun_on_worker(request_rec *r);

/**
 * The configuration makes a request phase wait (a name to be looked up, say): phases run on worker
 * threads. For directive setters and for hooks up to post_config (order APR_HOOK_LAST or before);
 * holds until the next restart. Called by the setter of a directive in an .htaccess file it holds
 * for the requests that follow.
 */
BRG_DECLARE(void) brg_phases_need_worker(void);

/**
 * Asked before the phases of a request: may a hook of the module wait in one of them?
 *
 * @param r  head, server and r->uri are known; nothing else is
 * @return   1: they run on a worker thread; 0
 * Threads: the loop that serves the request. Blocking: must not.
 */
typedef int brg_phases_wait_fn(const request_rec *r);

/**
 * After brg_cache_declare() or brg_nonblocking_declare(): the promise does not hold for requests of which @a fn returns 1.
 * Call from the module's register_hooks function.
 */
BRG_DECLARE(void) brg_phases_wait_declare(module *m, brg_phases_wait_fn *fn);

/**
 * 1 if the module that registered the filter declared that it does not wait. For a filter that runs
 * others in its stead (a smart one, with providers): the server takes its word for it, so it asks
 * this of each, and else for a worker.
 */
BRG_DECLARE(int) brg_filter_is_declared(const ap_filter_rec_t *frec);

/**
 * 1 if nothing that may read or change the body stands on r's output filters: the core's own sender
 * is next.
 */
BRG_DECLARE(int) brg_output_is_plain(request_rec *r);

#ifdef __cplusplus
}
#endif
#endif
