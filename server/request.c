/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a request, from its URI to the handler.
 *
 *   request_phases   post_read_request, quick_handler, ap_process_request_internal, insert_filter
 *   request_finish   the handler or the error document, end of request
 *
 * They are apart because a request may change threads in between: phases that cannot block run on
 * the event loop, and then it is known whether the handler may run there as well.
 */
#include "auth_private.h"
#include "conn.h"
#include "handler_private.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "memory_private.h"
#include "redirect_private.h"
#include "request_conf.h"
#include "mod_core.h"
#include "core_private.h"
#include "request_private.h"
#include "resolution.h"
#include "walk_private.h"

#include <pthread.h>

APLOG_USE_MODULE(core);

/* A phase that has to be decided was not: the configuration lacks a module. */
static int request_undecided(request_rec *r, int status, const char *phase)
{
    if (status == DECLINED) {
        ap_log_rerror(APLOG_MARK, APLOG_CRIT, 0, r,
                      APLOGNO(00025) "configuration error:  couldn't %s: %s", phase, r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return status;
}

static int request_sections(request_rec *r)
{
    int status = ap_location_walk(r);

    return status == OK ? ap_if_walk(r) : status;
}

static void request_take_loglevel(request_rec *r)
{
    const core_dir_config *d = ap_get_core_module_config(r->per_dir_config);
    const struct ap_logconf *log = core_log_config(r->pool, r->server, d);

    if (log) {
        r->log = log;
    }
}

/* Dot segments, runs of slashes, unreserved characters that were encoded. */
static int request_normalize(request_rec *r, unsigned flags)
{
    const core_server_config *sconf = ap_get_core_module_config(r->server->module_config);

    flags |= AP_NORMALIZE_NOT_ABOVE_ROOT;
    if (r->main && r->filename) {
        flags |= AP_NORMALIZE_ALLOW_RELATIVE;
    }
    if (sconf->merge_slashes != AP_CORE_CONFIG_OFF) {
        flags |= AP_NORMALIZE_MERGE_SLASHES;
    }
    if (ap_normalize_path(r->parsed_uri.path, flags)) {
        return OK;
    }
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(10244) "invalid URI path (%s)",
                  r->unparsed_uri);
    return HTTP_BAD_REQUEST;
}

/* Percent encoding, with what AllowEncodedSlashes says of %2f. */
static int request_decode(request_rec *r)
{
    const core_dir_config *d = ap_get_core_module_config(r->per_dir_config);
    char *path = r->parsed_uri.path;
    unsigned flags = AP_UNESCAPE_URL_KEEP_UNRESERVED;
    int status;

    if (!strchr(path, '%')) {
        return OK;
    }
    if (!d->allow_encoded_slashes) {
        flags |= AP_UNESCAPE_URL_FORBID_SLASHES;
    } else if (!d->decode_encoded_slashes) {
        flags |= AP_UNESCAPE_URL_KEEP_SLASHES;
    }
    status = ap_unescape_url_ex(path, flags);
    if (status != OK) {
        if (status == HTTP_NOT_FOUND && !d->allow_encoded_slashes) {
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                          APLOGNO(00026) "found %%2f (encoded '/') in URI path (%s), returning 404",
                          r->unparsed_uri);
        }
        return status;
    }
    /* Decoded slashes may have made new segments. */
    return d->allow_encoded_slashes && d->decode_encoded_slashes ? request_normalize(r, 0) : OK;
}

/* Hooks that want the URI before it is decoded. @return DONE: it is not to be decoded */
static int request_pre_translate(request_rec *r)
{
    ap_conf_vector_t *conf = r->per_dir_config;
    int status;

    if (!ap_hook_get_pre_translate_name()) {
        return OK;
    }
    if ((status = request_sections(r)) != OK) {
        return status;
    }
    status = ap_run_pre_translate_name(r);
    r->per_dir_config = conf; /* the sections may differ once it is decoded */
    return ap_is_HTTP_ERROR(status) || status == DONE ? status : OK;
}

/* From r->parsed_uri to r->filename. */
static int request_translate(request_rec *r)
{
    /* A lookup of a file has a name already, and a URI at best. */
    int by_file = r->main && r->filename;
    int status = OK;

    if (r->parsed_uri.path &&
        (status = request_normalize(r, AP_NORMALIZE_DECODE_UNRESERVED)) != OK) {
        return status;
    }
    if (!by_file) {
        status = request_pre_translate(r);
        if (status != OK && status != DONE) {
            return status;
        }
    }
    if (status != DONE && r->parsed_uri.path && (status = request_decode(r)) != OK) {
        return status;
    }
    if (by_file) {
        return OK;
    }
    if ((status = request_sections(r)) != OK) {
        return status;
    }
    request_take_loglevel(r);
    return request_undecided(r, ap_run_translate_name(r), "translate");
}

/* From r->filename to the configuration in force. */
static int request_locate(request_rec *r)
{
    int status;

    r->per_dir_config = r->server->lookup_defaults;
    if ((status = ap_run_map_to_storage(r)) != OK) {
        return status; /* DECLINED cannot be: the core takes what no one else did */
    }
    /* Once more: what is said of the URI goes before what is said of the file. */
    if ((status = request_sections(r)) != OK) {
        return status;
    }
    request_take_loglevel(r);
    if ((status = ap_run_post_perdir_config(r)) != OK) {
        return status;
    }
    return r->main ? OK : ap_run_header_parser(r);
}

/* ---- access ---- */

/* The request whose permission this one inherits, NULL if it has to ask for its own. */
static const request_rec *request_permitted_by(const request_rec *r)
{
    const request_rec *from = r->prev ? r->prev : r->main;

    if (!from || from->per_dir_config != r->per_dir_config) {
        return NULL;
    }
    return auth_internal_is_per_conf() || (from->uri && r->uri && !strcmp(from->uri, r->uri))
               ? from
               : NULL;
}

/* Who it is, and whether he may. */
static int request_authenticate(request_rec *r)
{
    int status = request_undecided(r, ap_run_check_user_id(r), "check user");

    if (status != OK) {
        return status;
    }
    if (!r->user) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00027) "No authentication done but request not allowed without "
                                     "authentication for %s. Authentication not configured?",
                      r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return request_undecided(r, ap_run_auth_checker(r), "check authorization");
}

/* The two kinds of control are who you are and where you come from; Satisfy says how many must
 * hold. */
static int request_access(request_rec *r, int may_stop)
{
    const request_rec *from = request_permitted_by(r);
    int any, status;

    if (from) {
        r->user = from->user;
        r->ap_auth_type = from->ap_auth_type;
        return OK;
    }
    any = ap_satisfies(r) == SATISFY_ANY;
    status = request_undecided(r, ap_run_access_checker(r), "check access");
    if (any ? status == OK : status != OK) {
        return status;
    }
    status = ap_run_access_checker_ex(r);
    if (status == DECLINED || (!any && status == OK && ap_run_force_authn(r) == OK)) {
        return may_stop && conn_on_loop() ? REQUEST_AUTH_PENDING : request_authenticate(r);
    }
    return status;
}

/* What comes after access. */
static int request_settle(request_rec *r)
{
    int status = request_undecided(r, ap_run_type_checker(r), "find types");

    return status == OK ? ap_run_fixups(r) : status;
}

static int request_internal(request_rec *r, int may_stop)
{
    int status;

    if ((status = request_translate(r)) != OK || (status = request_locate(r)) != OK ||
        (status = request_access(r, may_stop)) != OK) {
        return status;
    }
    return request_settle(r);
}

AP_DECLARE(int) ap_process_request_internal(request_rec *r)
{
    return request_internal(r, 0);
}

/* ---- the whole of it ---- */

/* All but post_read_request, which is a part of ap_read_request(). */
static int request_phases_read(request_rec *r)
{
    int status = ap_run_quick_handler(r, 0);

    if (status != DECLINED) {
        return status == OK ? DONE : status;
    }
    status = request_internal(r, 1);
    return status == OK ? handler_prepare(r) : status;
}

int request_phases(request_rec *r)
{
    int status;

    if (r->status != HTTP_OK) { /* refused while it was read */
        status = r->status;
        r->status = HTTP_OK;
        return status;
    }
    if ((status = ap_post_read_request(r)) != OK) {
        return status;
    }
    return request_phases_read(r);
}

int request_phases_resume(request_rec *r)
{
    int status = request_authenticate(r);

    if (status == OK) {
        status = request_settle(r);
    }
    return status == OK ? handler_prepare(r) : status;
}

/* Timed callbacks of modules wait for this lock before they touch a request whose handler still
 * runs. Nothing on an event loop can register one. */
static void request_lock(request_rec *r)
{
#if APR_HAS_THREADS
    if (!r->invoke_mtx && !conn_on_loop()) {
        apr_thread_mutex_create(&r->invoke_mtx, APR_THREAD_MUTEX_DEFAULT, r->pool);
    }
    if (r->invoke_mtx) {
        apr_thread_mutex_lock(r->invoke_mtx);
    }
#endif
}

static void request_unlock(request_rec *r)
{
#if APR_HAS_THREADS
    if (r->invoke_mtx) {
        apr_thread_mutex_unlock(r->invoke_mtx);
    }
#endif
}

/* ---- requests that a module goes on with on another thread (SUSPENDED) ---- */

static pthread_mutex_t suspended_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t suspended_ended = PTHREAD_COND_INITIALIZER;

/* The worker waits: nobody else may touch the connection until the module is done with it. */
static void request_await_module(conn_rec *c)
{
    pthread_mutex_lock(&suspended_lock);
    while (c->cs->state == CONN_STATE_SUSPENDED) {
        pthread_cond_wait(&suspended_ended, &suspended_lock);
    }
    pthread_mutex_unlock(&suspended_lock);
}

/* No lock for a request that never was suspended: nobody else knows of it. A module's thread has
 * waited for the request's own lock (request_lock), and so sees that it is. */
static void request_set_state(conn_rec *c, conn_state_e state)
{
    int was_suspended;

    if (!connection_of(c) ||
        (c->cs->state != CONN_STATE_SUSPENDED && state != CONN_STATE_SUSPENDED)) {
        c->cs->state = state;
        return;
    }
    pthread_mutex_lock(&suspended_lock);
    was_suspended = c->cs->state == CONN_STATE_SUSPENDED;
    c->cs->state = state;
    if (was_suspended) {
        pthread_cond_broadcast(&suspended_ended);
    }
    pthread_mutex_unlock(&suspended_lock);
}

static int request_handle(request_rec *r)
{
    conn_rec *c = r->connection;
    int status;

    request_lock(r);
    status = handler_run(r);
    if (status == SUSPENDED) {
        if (c->cs) {
            request_set_state(c, CONN_STATE_SUSPENDED);
        }
        request_unlock(r);
        /* A module goes on with it and ends it by ap_process_request_after_handler(). */
        if (c->cs && connection_of(c) && !conn_on_loop()) {
            request_await_module(c);
        }
        return status;
    }
    request_unlock(r);
    return memory_request_status(r, status);
}

static int request_check_memory(request_rec *r, int status)
{
    if (__builtin_expect(brg_pool_exhausted(r->connection->pool), 0)) {
        memory_refusal_of_connection(r->connection);
    }
    return memory_request_status(r, status);
}

static void request_answer(request_rec *r, int status)
{
    request_die(status, r, HTTP_OK);
    if (__builtin_expect(brg_pool_exhausted(r->pool), 0) &&
        (status = memory_refusal_unanswered(r)) != OK) {
        request_die(status, r, HTTP_OK);
    }
    resolution_consider(r);
    ap_process_request_after_handler(r);
}

/* An error document of this server is a request of its own, and what it runs may wait. */
static int request_error_may_wait(request_rec *r, int status)
{
    const char *custom;

    if (!ap_is_HTTP_ERROR(status)) {
        return 0;
    }
    custom = ap_response_code_string(r, ap_index_of_response(status));
    return custom && *custom == '/';
}

int request_finish_on_loop(request_rec *r, int *status)
{
    *status = request_check_memory(r, *status);
    if (*status == OK) {
        request_let_move(r);
        *status = request_handle(r);
        if (*status == SUSPENDED) {
            return 1;
        }
        if (request_moves(r)) {
            *status = OK;
            return 0;
        }
    }
    if (request_error_may_wait(r, *status)) {
        return 0;
    }
    request_answer(r, *status);
    return 1;
}

void request_finish(request_rec *r, int status)
{
    status = request_check_memory(r, status);
    if (status == OK) {
        status = request_handle(r);
    }
    if (status != SUSPENDED) {
        request_answer(r, status);
    }
}

AP_DECLARE(void) ap_process_request_after_handler(request_rec *r)
{
    conn_rec *c = r->connection;
    apr_bucket_brigade bb = {.p = c->pool, .bucket_alloc = c->bucket_alloc};

    APR_RING_INIT(&bb.list, apr_bucket, link);
    APR_BRIGADE_INSERT_TAIL(&bb, ap_bucket_eor_create(c->bucket_alloc, r));
    ap_pass_brigade(c->output_filters, &bb);
    /* If no filter took the bucket, the request ends here. In either case r is not ours any more.
     */
    apr_brigade_cleanup(&bb);

    if (!connection_of(c)) {
        /* Our own connections know what they have read. */
        c->data_in_input_filters =
            ap_check_pipeline(c, &bb, DEFAULT_LIMIT_BLANK_LINES) == APR_SUCCESS;
        apr_brigade_cleanup(&bb);
    }
    if (c->cs) {
        request_set_state(c, c->aborted ? CONN_STATE_LINGER : CONN_STATE_WRITE_COMPLETION);
    }
}

void ap_process_async_request(request_rec *r)
{
    request_finish(r, request_phases_read(r));
}

AP_DECLARE(void) ap_process_request(request_rec *r)
{
    conn_rec *c = r->connection;
    apr_bucket_brigade bb = {.p = c->pool, .bucket_alloc = c->bucket_alloc};

    ap_process_async_request(r);
    if (c->aborted || c->data_in_input_filters) {
        return; /* more responses follow: they take this one along */
    }
    APR_RING_INIT(&bb.list, apr_bucket, link);
    APR_BRIGADE_INSERT_TAIL(&bb, apr_bucket_flush_create(c->bucket_alloc));
    ap_pass_brigade(c->output_filters, &bb);
    apr_brigade_cleanup(&bb);
}
