/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_REQUEST_PARTS_H
#define BRIGADE_REQUEST_REQUEST_PARTS_H

/**
 * @file request_parts.h
 * A request from its head (request_create.c) through the phases (request.c) to its end
 * (request_finish.c), as the driver of a protocol calls them.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_head.h"
#include "brigade/files.h"

/**
 * A request_rec for a parsed head of any version of HTTP (request_create.c): pool below c->pool with
 * tag "request", the_request, method, protocol, parsed URI, headers_in, virtual host by Host, HTTP_IN
 * and the protocol filters, create_request hook. The head's bytes are copied once into r->pool. Does
 * not run post_read_request.
 *
 * @param head  complete; with head->status set, of a refused request
 * @return the request; r->status is HTTP_OK, or the status to die with (then c->keepalive is
 * AP_CONN_CLOSE)
 */
request_rec *request_create(conn_rec *c, const http_head *head);

/**
 * Fill r from a head's request line: method, target, protocol. r->the_request is set already.
 * @return OK or the status to refuse with
 */
int request_take_line(request_rec *r, const http_head *head);

/**
 * post_read_request, quick_handler and the phases up to fixups and insert_filter (request.c).
 * @return OK: the handler is next. DONE: answered already. Else the status to die with.
 */
int request_phases(request_rec *r);

/** request_phases(): the next phase may take long: authentication is needed, or the file is not
 * in memory. A worker continues by request_phases_resume(). */
#define REQUEST_AUTH_PENDING BRG_WOULD_WAIT

/** The rest of the phases after REQUEST_AUTH_PENDING; as request_phases. */
int request_phases_resume(request_rec *r);

/** The same phases of an internal redirect's target, on a loop. @param quick  quick handlers, too
 */
int request_phases_redirected(request_rec *r, int quick);

/**
 * @param status  result of request_phases Ends with an EOR bucket passed to the connection's
 * filters; r must not be touched after the call. Or the handler waits (request_waits()), and the
 * loop goes on with it.
 * @param status  what request_phases returned
 */
void request_finish(request_rec *r, int status);

/**
 * A handler left the request that c serves to a thread of its module: wait until the module has
 * ended it by ap_process_request_after_handler(). The module may have done so already, so nothing
 * of the request may be touched. Blocks. Threads: a worker, the owner of the connection.
 */
void request_await_module(conn_rec *c);

/**
 * Answer with an error at once, without an error document of the site (which might wait), and end
 * the request and its connection. In place of request_finish(). Threads: the owner of the connection.
 * @param retry_s  seconds for Retry-After; 0: no such field
 */
void request_end_with_error(request_rec *r, int status, int retry_s);

/** request_finish_on_loop(): the request was redirected, to a target that would wait. A worker goes
 * on with it by request_follow(). */
#define REQUEST_FOLLOW_PENDING (-1006)

/** In place of request_finish(), after REQUEST_FOLLOW_PENDING. Threads: a worker. */
void request_follow(request_rec *r);

/** The fate of a request on an event loop. */
typedef enum request_end {
    /** a worker has to go on: by request_finish(r, *status), or, where *status is SUSPENDED, by
     * request_await_module(), and r must not be touched after the call; or by request_follow() */
    REQUEST_LEFT,
    REQUEST_ENDED, /**< r must not be touched */
    REQUEST_WAITS  /**< its handler waits on the loop (request_wait.h) */
} request_end;

/** As request_finish(), on an event loop. */
request_end request_finish_on_loop(request_rec *r, int *status);

/**
 * Have @a fn called for each request that was answered, while its pool still lives. One at most.
 * Threads: called by the thread that finished the request.
 */
void request_on_answered(void (*fn)(request_rec *r));

/** Register the phases of the core: walks, virtual hosts, handlers; called from the core module's
 * register_hooks. */
void request_register_hooks(apr_pool_t *p);

/** Called before the handlers of a request are (handler.c), with its filters in place and r->handler set.
 * @param configured  the handler that the configuration names; NULL: none, r->handler follows from the type
 * @return OK: it answered in their place; DECLINED: they are called */
typedef int handler_instead_fn(request_rec *r, const char *configured);

/** For `--explain`: whom to ask; NULL: nobody. Before threads start. */
void request_handle_instead(handler_instead_fn *fn);

/** Sections by the last name of a path that leads to no file (walk_sections.c): 0: none is for it, or BRG_CACHE_NAME_COUNTS. A
 * brg_cache_name_fn. */
apr_int64_t walk_sections_of_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                                  const char *filename, const char *path_info, int is_file);

#endif
