/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sub-requests: find out how another URI or file would be served, or serve it as a part of this response.
 *
 * A sub-request lives in a subpool of its main request, shares its connection and the rest of its filter
 * chains, and goes through the same phases. The handler is called only if it is run.
 */
#include "walk_private.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/memory.h"
#include "brigade/response_cache.h"
#include "brigade/subrequest.h"
#include "configuration.h"
#include "connection.h"
#include "request_context.h"
#include "util_script.h"
#include "apr_strings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

AP_DECLARE_DATA ap_filter_rec_t *ap_subreq_core_filter_handle;

AP_CORE_DECLARE_NONSTD(apr_status_t)
ap_sub_req_output_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    if (!APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb)))
        apr_bucket_delete(APR_BRIGADE_LAST(bb));
    return APR_BRIGADE_EMPTY(bb) ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
}

/* ---- making one ---- */

static void subreq_take_filters(request_rec *sub, const request_rec *r, ap_filter_t *next_filter)
{
    sub->proto_input_filters = r->proto_input_filters;
    sub->proto_output_filters = r->proto_output_filters;
    if (next_filter) {
        sub->input_filters = r->input_filters;
        sub->output_filters = next_filter;
        ap_add_output_filter_handle(ap_subreq_core_filter_handle, NULL, sub, sub->connection);
    } else {
        /* It is not run, or moved into r as a whole: it has no content filters. */
        sub->input_filters = r->proto_input_filters;
        sub->output_filters = r->proto_output_filters;
    }
}

static request_rec *subreq_make_in(apr_pool_t *pool, const request_rec *r, ap_filter_t *next_filter)
{
    request_rec *sub;

    apr_pool_tag(pool, "subrequest");
    sub = apr_pcalloc(pool, sizeof *sub);
    sub->pool = pool;
    sub->hostname = r->hostname;
    sub->request_time = r->request_time;
    sub->connection = r->connection;
    sub->server = r->server;
    sub->log = r->log;
    sub->log_id = r->log_id;
    sub->request_config = ap_create_request_config(pool);
    sub->per_dir_config = r->server->lookup_defaults;
    sub->htaccess = r->htaccess;
    sub->allowed_methods = ap_make_method_list(pool, 2);
    ap_copy_method_list(sub->allowed_methods, r->allowed_methods);
    sub->useragent_addr = r->useragent_addr;
    sub->useragent_ip = r->useragent_ip;
    sub->useragent_host = r->useragent_host;
    sub->double_reverse = r->double_reverse;
    sub->kept_body = r->kept_body;
    subreq_take_filters(sub, r, next_filter);
    ap_set_sub_req_protocol(sub, r); /* sets sub->main, which create_request hooks look at */
    BRG_ASSERT(sub->main == r);
    ap_run_create_request(sub);
    BRG_ASSERT(sub->pool != r->pool);
    sub->used_path_info = AP_REQ_DEFAULT_PATH_INFO;
    request_names_begin(sub);
    return sub;
}

static request_rec *subreq_make(const request_rec *r, ap_filter_t *next_filter)
{
    apr_pool_t *pool;

    apr_pool_create(&pool, r->pool);
    return subreq_make_in(pool, r, next_filter);
}

/* A look-up always returns a request; if it failed, its status tells. */
static request_rec *subreq_too_deep(request_rec *sub)
{
    sub->status = HTTP_INTERNAL_SERVER_ERROR;
    return sub;
}

static request_rec *subreq_run_phases(request_rec *sub)
{
    int status = ap_process_request_internal(sub);

    BRG_ASSERT(sub->main != NULL);
    if (status != OK)
        sub->status = status;
    return sub;
}

static request_rec *subreq_process(request_rec *sub, const request_rec *r)
{
    return ap_is_recursion_limit_exceeded(r) ? subreq_too_deep(sub) : subreq_run_phases(sub);
}

/* ---- by URI ---- */

static request_rec *subreq_look_up(request_rec *sub, const char *method, const char *new_uri,
                                   const request_rec *r, const ap_filter_t *next_filter)
{
    sub->method = method;
    sub->method_number = ap_method_number_of(method);
    if (new_uri[0] == '/') {
        ap_parse_uri(sub, new_uri);
    } else {
        const char *dir = ap_escape_uri(sub->pool, ap_make_dirstr_parent(sub->pool, r->uri));

        ap_parse_uri(sub, ap_make_full_path(sub->pool, dir, new_uri));
    }
    if (!next_filter)
        return subreq_process(sub, r);
    /* A quick handler answers only requests that are run. */
    if (ap_is_recursion_limit_exceeded(r))
        return subreq_too_deep(sub);
    if (ap_run_quick_handler(sub, 1) == OK)
        return sub;
    return subreq_run_phases(sub);
}

AP_DECLARE(request_rec *)
ap_sub_req_method_uri(const char *method, const char *new_uri, const request_rec *r,
                      ap_filter_t *next_filter)
{
    return subreq_look_up(subreq_make(r, next_filter), method, new_uri, r, next_filter);
}

AP_DECLARE(request_rec *)
ap_sub_req_lookup_uri(const char *new_uri, const request_rec *r, ap_filter_t *next_filter)
{
    return ap_sub_req_method_uri("GET", new_uri, r, next_filter);
}

/* ---- by name in the file system ---- */

/* The URI of a neighbour; r->uri without the text of path_info. */
static char *subreq_neighbour_uri(request_rec *sub, const request_rec *r, const char *name,
                                  int with_path_info)
{
    apr_pool_t *p = sub->pool;
    char *dir = apr_pstrdup(p, r->uri), *uri;
    int has_info = r->path_info && *r->path_info;

    if (has_info)
        dir[ap_find_path_info(dir, r->path_info)] = '\0';
    uri = ap_make_full_path(p, ap_make_dirstr_parent(p, dir), name);
    if (has_info && with_path_info) {
        uri = ap_make_full_path(p, uri, r->path_info + 1);
        sub->path_info = apr_pstrdup(p, r->path_info);
    }
    return uri;
}

/* sub->finfo from an entry of a directory listing; completed by stat() where it has too little. */
static int subreq_entry_info(request_rec *sub, const apr_finfo_t *entry)
{
    int opts = ap_allow_options(sub);

    BRG_ASSERT(sub->filename != NULL);
    brg_cache_depends_on(sub, sub->filename);
    if ((entry->valid & APR_FINFO_MIN) == APR_FINFO_MIN) {
        sub->finfo = *entry;
    } else {
        int link = opts & OPT_SYM_LINKS ? 0 : APR_FINFO_LINK;
        apr_status_t rv = apr_stat(&sub->finfo, sub->filename, APR_FINFO_MIN | link, sub->pool);

        if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
            sub->finfo.filetype = APR_NOFILE;
    }
    return sub->finfo.filetype == APR_LNK
               ? walk_resolve_symlink(sub->filename, &sub->finfo, opts, sub->pool)
               : OK;
}

AP_DECLARE(request_rec *)
ap_sub_req_lookup_dirent(const apr_finfo_t *dirent, const request_rec *r, int subtype,
                         ap_filter_t *next_filter)
{
    request_rec *sub = subreq_make(r, next_filter);
    apr_pool_t *p = sub->pool;
    int merge = subtype == AP_SUBREQ_MERGE_ARGS;
    int res;

    sub->uri = subreq_neighbour_uri(sub, r, dirent->name, merge);
    sub->filename = ap_make_full_path(p, ap_make_dirstr_parent(p, r->filename), dirent->name);
    if (r->canonical_filename == r->filename)
        sub->canonical_filename = sub->filename;
    if ((res = subreq_entry_info(sub, dirent)) != OK) {
        sub->status = res;
        return sub;
    }
    if (sub->finfo.filetype == APR_DIR) {
        sub->filename = apr_pstrcat(p, sub->filename, "/", NULL);
        if (!sub->path_info || !*sub->path_info)
            sub->uri = apr_pstrcat(p, sub->uri, "/", NULL);
    }
    sub->uri = ap_escape_uri(p, sub->uri);
    ap_parse_uri(sub, merge && r->args && *r->args ? apr_pstrcat(p, sub->uri, "?", r->args, NULL)
                                                   : sub->uri);
    return subreq_process(sub, r);
}

AP_DECLARE(request_rec *)
ap_sub_req_lookup_file(const char *new_file, const request_rec *r, ap_filter_t *next_filter)
{
    request_rec *sub = subreq_make(r, next_filter);
    /* Before a request is translated, names are relative to nothing. */
    char *dir = r->filename ? ap_make_dirstr_parent(sub->pool, r->filename) : (char *)"/";
    apr_size_t len = strlen(dir);

    if (apr_filepath_merge(&sub->filename, dir, new_file, APR_FILEPATH_TRUENAME, sub->pool) !=
        APR_SUCCESS) {
        sub->status = HTTP_FORBIDDEN;
        return sub;
    }
    if (r->canonical_filename == r->filename)
        sub->canonical_filename = sub->filename;
    if (!strncmp(sub->filename, dir, len) && sub->filename[len] &&
        !strchr(sub->filename + len, '/')) {
        /* A neighbour's URI is known; that of any other file is not. */
        sub->uri = ap_make_full_path(sub->pool, ap_make_dirstr_parent(sub->pool, r->uri),
                                     sub->filename + len);
    } else {
        ap_parse_uri(sub, new_file);
        sub->uri = apr_pstrdup(sub->pool, "");
    }
    return subreq_process(sub, r);
}

/* ---- running it ---- */

AP_DECLARE(int) ap_run_sub_req(request_rec *r)
{
    int status = DECLINED;

    if (!r->filename || r->finfo.filetype == APR_NOFILE)
        status = ap_run_quick_handler(r, 0);
    if (status != OK) {
        status = ap_invoke_handler(r);
        if (status == DONE)
            status = OK;
    }
    ap_finalize_sub_req_protocol(r);
    return status;
}

AP_DECLARE(void) ap_destroy_sub_req(request_rec *r)
{
    request_end_part(r);
    apr_pool_destroy(r->pool);
}

/* ---- on another thread ---- */

BRG_DECLARE(request_rec *)
brg_sub_req_apart(const char *new_uri, const request_rec *r, ap_filter_t *next_filter)
{
    apr_pool_t *pool;

    brg_pool_create_apart(&pool, r->pool, BRG_SCOPE_REQUEST);
    return subreq_look_up(subreq_make_in(pool, r, next_filter), "GET", new_uri, r, next_filter);
}

static apr_status_t subreq_no_body(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                   apr_read_type_e block, apr_off_t readbytes)
{
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
    return APR_SUCCESS;
}

static ap_filter_rec_t *subreq_no_body_handle;

void subreq_register_filters(void)
{
    ap_subreq_core_filter_handle = ap_register_output_filter(
        "SUBREQ_CORE", ap_sub_req_output_filter, NULL, AP_FTYPE_CONTENT_SET);
    subreq_no_body_handle =
        ap_register_input_filter("SUBREQ_NO_BODY", subreq_no_body, NULL, AP_FTYPE_PROTOCOL);
}

/*
 * The stand-in for the main request there. Handlers take memory from r->main->pool (mod_cgi) and
 * look at its tables, which belong to the thread of the main request.
 */
static request_rec *subreq_stand_in(const request_rec *r, conn_rec *c, apr_pool_t *p)
{
    request_rec *copy = apr_pmemdup(p, r, sizeof *copy);

    copy->pool = p;
    copy->connection = c;
    copy->headers_in = apr_table_copy(p, r->headers_in);
    copy->headers_out = apr_table_copy(p, r->headers_out);
    copy->err_headers_out = apr_table_copy(p, r->err_headers_out);
    copy->subprocess_env = apr_table_copy(p, r->subprocess_env);
    copy->notes = apr_table_copy(p, r->notes);
    copy->request_config = conf_vector_copy(p, r->request_config);
    if (r->main)
        copy->main = subreq_stand_in(r->main, c, p);
    return copy;
}

BRG_DECLARE(void) brg_sub_req_leave(request_rec *sub, const ap_filter_t *next, ap_filter_t *to)
{
    conn_rec *c = connection_copy(sub->connection, sub->pool);
    ap_filter_t *f = sub->output_filters;

    BRG_ASSERT(sub->main && sub->pool != sub->main->pool && sub->status == HTTP_OK);
    for (; f->next != next; f = f->next) {
        BRG_ASSERT(f->r == sub && f->next);
        f->c = c;
    }
    f->c = c;
    f->next = to;
    sub->connection = c;
    sub->input_filters = sub->proto_input_filters = NULL;
    ap_add_input_filter_handle(subreq_no_body_handle, NULL, sub, c);
    BRG_ASSERT(sub->input_filters && sub->input_filters == sub->proto_input_filters);
    sub->proto_output_filters = sub->output_filters;
    sub->main = subreq_stand_in(sub->main, c, sub->pool);
    request_set_apart(sub);
}
