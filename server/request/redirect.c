/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal redirects: another URI is answered in place of the requested one.
 *
 * ap_internal_redirect() makes a new request that replaces the old one; r->prev and r->next link
 * the two. Both live in the old one's pool. ap_internal_fast_redirect() works the other way round:
 * a sub-request's result is moved into the request itself, which continues as if it had asked for
 * that.
 *
 * In both cases filters of one request_rec belong to the other from then on.
 *
 * On a loop the new request begins there, as the one from the network did; where it would wait it is left, and a worker goes on with
 * it when the handler that redirected has returned.
 */
#include "redirect_private.h"
#include "conn.h"
#include "handler_private.h"
#include "placement.h"
#include "request_parts.h"
#include "request_context.h"
#include "request_wait.h"
#include "brigade/response_cache.h"
#include "brigade/wait.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

void redirect_filters(ap_filter_t *f, request_rec *from, request_rec *to)
{
    for (; f; f = f->next)
        if (f->r == from)
            f->r = to;
}

/* Variables of a request are called REDIRECT_* in its successor. */
static apr_table_t *redirect_env(apr_pool_t *p, const apr_table_t *env)
{
    const apr_array_header_t *vars = apr_table_elts(env);
    apr_table_t *renamed = apr_table_make(p, vars->nelts + 8);

    for (int i = 0; i < vars->nelts; i++) {
        const apr_table_entry_t *var = &APR_ARRAY_IDX(vars, i, apr_table_entry_t);

        if (var->key)
            apr_table_setn(renamed, apr_pstrcat(p, "REDIRECT_", var->key, NULL), var->val);
    }
    return renamed;
}

static void redirect_take_protocol(request_rec *to, const request_rec *r)
{
    BRG_ASSERT(to->pool == r->pool);
    to->the_request = r->the_request;
    to->allowed = r->allowed;
    to->status = r->status;
    to->assbackwards = r->assbackwards;
    to->header_only = r->header_only;
    to->protocol = r->protocol;
    to->proto_num = r->proto_num;
    to->hostname = r->hostname;
    to->request_time = r->request_time;
    to->main = r->main;
    to->headers_in = r->headers_in;
    to->trailers_in = r->trailers_in;
    to->trailers_out = r->trailers_out;
    to->err_headers_out = r->err_headers_out;
    to->expecting_100 = r->expecting_100;
    to->read_body = r->read_body;
    to->read_length = r->read_length;
    to->read_chunked = r->read_chunked;
    to->remaining = r->remaining;
    to->kept_body = r->kept_body;
    to->vlist_validator = r->vlist_validator;
    to->no_cache = r->no_cache;
    to->no_local_copy = r->no_local_copy;
    to->useragent_addr = r->useragent_addr;
    to->useragent_ip = r->useragent_ip;
    to->useragent_host = r->useragent_host;
    to->double_reverse = r->double_reverse;
    to->log = r->log;
    to->log_id = r->log_id;
    to->invoke_mtx = r->invoke_mtx;
    to->htaccess = r->htaccess;
}

static void redirect_make_tables(request_rec *to, const request_rec *r)
{
    const char *location, *vary;

    to->headers_out = apr_table_make(r->pool, 12);
    if (ap_is_HTTP_REDIRECT(to->status) &&
        (location = apr_table_get(r->headers_out, "Location")) != NULL)
        apr_table_setn(to->headers_out, "Location", location);
    /* mod_rewrite's note: request fields decided where r was led to */
    if (apr_table_get(r->notes, "redirect-keeps-vary") &&
        (vary = apr_table_get(r->headers_out, "Vary")) != NULL)
        apr_table_setn(to->headers_out, "Vary", vary);
    to->subprocess_env = redirect_env(r->pool, r->subprocess_env);
    apr_table_setn(to->subprocess_env, "REDIRECT_STATUS", apr_itoa(r->pool, r->status));
    to->notes = apr_table_make(r->pool, 5);
}

/* The new request starts without filters for content. In a subrequest the chain goes on into that
 * of the request above, which stays, as does the filter that divides the two. */
static void redirect_take_filters(request_rec *to, request_rec *r)
{
    BRG_ASSERT(to->prev == r && r->next == to);
    to->proto_output_filters = r->proto_output_filters;
    to->proto_input_filters = r->proto_input_filters;
    to->input_filters = to->proto_input_filters;
    if (to->main) {
        ap_filter_t *next;

        for (ap_filter_t *f = r->output_filters; f && f != r->proto_output_filters; f = next) {
            next = f->next;
            if (f->r == r && f->frec != ap_subreq_core_filter_handle)
                ap_remove_output_filter(f);
        }
        to->output_filters = r->output_filters;
    } else {
        to->output_filters = to->proto_output_filters;
    }
    redirect_filters(to->input_filters, r, to);
    redirect_filters(to->output_filters, r, to);
}

/* @return the request that takes over; NULL if it failed, and r (or it) was answered with an error
 */
static request_rec *redirect_begin(const char *new_uri, request_rec *r)
{
    request_rec *to;
    int status;

    if (ap_is_recursion_limit_exceeded(r)) {
        ap_die(HTTP_INTERNAL_SERVER_ERROR, r);
        return NULL;
    }
    to = apr_pcalloc(r->pool, sizeof *to);
    to->connection = r->connection;
    to->server = r->server;
    to->pool = r->pool;
    to->method = r->method;
    to->method_number = r->method_number;
    to->allowed_methods = ap_make_method_list(to->pool, 2);
    ap_parse_uri(to, new_uri);
    to->parsed_uri.port_str = r->parsed_uri.port_str;
    to->parsed_uri.port = r->parsed_uri.port;
    to->request_config = ap_create_request_config(r->pool);
    to->per_dir_config = r->server->lookup_defaults;
    to->prev = r;
    r->next = to;
    redirect_take_protocol(to, r);
    redirect_make_tables(to, r);
    ap_run_create_request(to);
    redirect_take_filters(to, r);
    to->used_path_info = AP_REQ_DEFAULT_PATH_INFO;

    status = ap_post_read_request(to);
    if (status != OK) {
        ap_die(status, to);
        return NULL;
    }
    return to;
}

/* The new request may wait, and could not change threads later. So a worker calls the handler of r again,
 * which redirects again. @return 1: nothing more is to be done here */
static int redirect_reruns(request_rec *r)
{
    return brg_request_rerun_on_worker(r);
}

/* Its handler returned @a status. While it waits, or another one that it redirected to does, nothing is ended here: the
 * waiting one is when it went on (request_go_on()). */
static void redirect_end(const conn_rec *c, request_rec *to, int status)
{
    if (!request_waits(c))
        ap_die(status, to);
}

/* All of it, here. */
static void redirect_run(request_rec *to, int quick)
{
    const conn_rec *c = to->connection;
    int status = quick ? ap_run_quick_handler(to, 0) : DECLINED;

    if (status == DECLINED && (status = ap_process_request_internal(to)) == OK)
        status = ap_invoke_handler(to);
    redirect_end(c, to, status);
}

/* ---- on a loop ---- */

/* How far a worker has to go on: request_marks.left. */
enum {
    REDIRECT_NOT_LEFT,
    REDIRECT_LEFT_WHOLE,
    REDIRECT_LEFT_HANDLED,
    REDIRECT_LEFT_PHASES,
    REDIRECT_LEFT_READY
};

/* The request from the network, if the redirect's target may begin on this loop. */
static request_rec *redirect_loops_first(request_rec *r)
{
    const request_marks *m;

    if (!conn_on_loop() || r->main)
        return NULL;
    while (r->prev)
        r = r->prev;
    m = request_marks_of(r);
    return m && m->may_follow && !m->left_to ? r : NULL;
}

static void redirect_leave(request_rec *first, request_rec *to, int how)
{
    request_marks *m = request_marks_of(first);

    BRG_ASSERT(!m->left_to && how != REDIRECT_NOT_LEFT);
    m->left_to = to;
    request_marks_of(to)->left = how;
}

int redirect_is_left(const request_rec *first)
{
    const request_marks *m = request_marks_of(first);

    return m && m->left_to != NULL;
}

/* Its handler, which may find that it would wait. @return 1: a worker is to call it once more */
static int redirect_handle(request_rec *to, int *status)
{
    request_allow_rerun(to);
    *status = handler_run(to);
    if (*status == SUSPENDED) {
        request_marks_of(to)->may_rerun = 0;
        return 0;
    }
    return request_takes_rerun(to, status) && *status == OK;
}

static void redirect_run_on_loop(request_rec *first, request_rec *to, int quick)
{
    request_marks *m = request_marks_of(to);
    int status;

    if (!m) { /* a module took the core's place in its configuration */
        redirect_run(to, quick);
        return;
    }
    m->follows = 1;
    if (!phases_may_run_inline() || phases_may_wait(to)) {
        redirect_leave(first, to, quick ? REDIRECT_LEFT_WHOLE : REDIRECT_LEFT_HANDLED);
        return;
    }
    status = request_phases_redirected(to, quick);
    if (status == REQUEST_AUTH_PENDING) {
        redirect_leave(first, to, REDIRECT_LEFT_PHASES);
        return;
    }
    if (status == OK && (!request_may_run_inline(to) || redirect_handle(to, &status))) {
        redirect_leave(first, to, REDIRECT_LEFT_READY);
        return;
    }
    if (redirect_is_left(first)) /* it redirected on, to a request that waits for a worker */
        return;
    redirect_end(to->connection, to, status);
}

void redirect_follow(request_rec *first)
{
    request_marks *m = request_marks_of(first);
    request_rec *to = m->left_to;
    int how, status = OK;

    BRG_ASSERT(to && !conn_on_loop());
    how = request_marks_of(to)->left;
    m->left_to = NULL;
    request_marks_of(to)->left = REDIRECT_NOT_LEFT;
    if (how == REDIRECT_LEFT_WHOLE || how == REDIRECT_LEFT_HANDLED) {
        redirect_run(to, how == REDIRECT_LEFT_WHOLE);
        return;
    }
    if (how == REDIRECT_LEFT_PHASES)
        status = request_phases_resume(to);
    redirect_end(to->connection, to, status == OK ? handler_run(to) : status);
}

/* ---- for modules ---- */

static void redirect_to(const char *new_uri, request_rec *r, int quick)
{
    request_rec *first = redirect_loops_first(r);
    request_rec *to = !first && redirect_reruns(r) ? NULL : redirect_begin(new_uri, r);

    if (!to)
        return;
    if (!quick && r->handler)
        ap_set_content_type_ex(to, r->content_type, AP_REQUEST_IS_TRUSTED_CT(r));
    if (first)
        redirect_run_on_loop(first, to, quick);
    else
        redirect_run(to, quick);
}

AP_DECLARE(void) ap_internal_redirect(const char *new_uri, request_rec *r)
{
    redirect_to(new_uri, r, 1);
}

AP_DECLARE(void) ap_internal_redirect_handler(const char *new_uri, request_rec *r)
{
    redirect_to(new_uri, r, 0);
}

/* ---- fast redirect ---- */

static void redirect_move_resource(request_rec *r, request_rec *rr)
{
    r->proxyreq = rr->proxyreq;
    r->no_cache = r->no_cache && rr->no_cache;
    r->no_local_copy = r->no_local_copy && rr->no_local_copy;
    r->mtime = rr->mtime;
    r->uri = rr->uri;
    r->filename = rr->filename;
    r->canonical_filename = rr->canonical_filename;
    r->path_info = rr->path_info;
    r->args = rr->args;
    r->finfo = rr->finfo;
    r->handler = rr->handler;
    ap_set_content_type_ex(r, rr->content_type, AP_REQUEST_IS_TRUSTED_CT(rr));
    r->content_encoding = rr->content_encoding;
    r->content_languages = rr->content_languages;
    r->per_dir_config = rr->per_dir_config;
    r->htaccess = rr->htaccess;
    r->notes = apr_table_overlay(r->pool, rr->notes, r->notes);
    r->headers_out = apr_table_overlay(r->pool, rr->headers_out, r->headers_out);
    r->err_headers_out = apr_table_overlay(r->pool, rr->err_headers_out, r->err_headers_out);
    r->trailers_out = apr_table_overlay(r->pool, rr->trailers_out, r->trailers_out);
    r->subprocess_env = apr_table_overlay(r->pool, rr->subprocess_env, r->subprocess_env);
}

/* The earlier r had a configuration of its own, which counts for the outcome as well; its handler
 * does not. */
static void redirect_note_dependence(request_rec *r)
{
    policy_reason reason = {.module = "core.c", .why = "LogLevel asks for debug messages"};
    const char *handler = r->handler;

    r->handler = NULL;
    if (request_is_debugged(r) || policy_ask_modules(r, &reason) == BRG_CACHE_VOLATILE)
        request_mark_volatile(r, reason.module, reason.why);
    r->handler = handler;
}

/* Waits of the part become waits of the request itself: on its loop, where that is possible. */
static void redirect_take_waits(const request_rec *rr, request_rec *r)
{
    const request_marks *of = request_marks_of(rr);
    request_marks *to = request_marks_of(r);

    if (!of || !to || of->may_block || to->may_block || of->parts_wait != 1 ||
        to->parts_wait != 1 || !brg_wait_possible(r))
        return;
    to->parts_wait = 0;
    request_mark_reads(r);
}

AP_DECLARE(void) ap_internal_fast_redirect(request_rec *rr, request_rec *r)
{
    request_files *files = request_files_of(r);

    BRG_ASSERT(rr != r);
    redirect_take_waits(rr, r);
    redirect_note_dependence(r);
    apr_pool_join(r->pool, rr->pool);
    redirect_move_resource(r, rr);

    if (files && request_files_of(rr)) {
        files->opened = NULL; /* of the folder, if any */
        files->links = request_files_of(rr)->links;
        files->walked = request_files_of(rr)->walked;
        files->rest = request_files_of(rr)->rest;
    }
    r->output_filters = rr->output_filters;
    r->input_filters = rr->input_filters;
    redirect_filters(r->input_filters, rr, r);
    redirect_filters(r->output_filters, rr, r);
    if (r->main) {
        ap_add_output_filter_handle(ap_subreq_core_filter_handle, NULL, r, r->connection);
        return;
    }
    /* r is no subrequest: the filter that kept the ends of subrequests out of the chain would now
     * drop its own. */
    for (ap_filter_t *f = r->output_filters; f && f != r->proto_output_filters; f = f->next)
        if (f->frec == ap_subreq_core_filter_handle)
            ap_remove_output_filter(f);
}
