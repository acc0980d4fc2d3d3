/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves files out of the page cache: those whose first output filter is INCLUDES, and those that a
 * page includes as they are. Everything that is not simply a file is left to others, and what goes
 * wrong with it too: the server's own handler for files knows the right errors.
 */
#include "ssi_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/loop.h"
#include "brigade/files.h"
#include "brigade/response_cache.h"

/* No handler is named, so that it is the content type, or it is the one for files. */
static int handler_is_for_files(const request_rec *r)
{
    if (!r->handler || !strcmp(r->handler, "default-handler"))
        return 1;
    return strchr(r->handler, '/') && strncmp(r->handler, "application/x-httpd-", 20);
}

static int handler_is_file(const request_rec *r)
{
    return r->method_number == M_GET && r->finfo.filetype == APR_REG && r->filename &&
           (r->used_path_info == AP_REQ_ACCEPT_PATH_INFO || !r->path_info || !*r->path_info) &&
           handler_is_for_files(r);
}

int ssi_is_plain_sub(const request_rec *sub)
{
    if (!handler_is_file(sub))
        return 0;
    for (const ap_filter_t *f = sub->output_filters; f && f->r == sub; f = f->next)
        if (f->frec != ssi_includes_handle && strcmp(f->frec->name, "subreq_core"))
            return 0;
    return 1;
}

/* ---- which thread ---- */

/*
 * exec waits for a program, so a page that leads to one belongs on a worker, and so does one that
 * includes what a handler makes that may wait. But what the included pages hold is not known before
 * they are looked up. So a page with includes that begins on an event loop keeps all its output
 * back; where it comes to something that waits, it is given up, and made anew by a worker. What
 * became of a page is remembered: the next time it begins where it ends. A slot is written and read
 * as a whole.
 */
#define LEARN_SLOTS 8192
enum { LEARNED_NOTHING, LEARNED_PLAIN, LEARNED_WAITS };

static unsigned learned[LEARN_SLOTS]; /* hash of a path, with one of these in the low bits */

static unsigned *learn_slot(const char *path, unsigned *key)
{
    apr_ssize_t len = APR_HASH_KEY_STRING;
    unsigned hash = apr_hashfunc_default(path, &len);

    *key = hash & ~3u;
    return &learned[(hash ^ hash >> 13) % LEARN_SLOTS];
}

void ssi_learn(const char *path, int waits)
{
    unsigned key, *slot = learn_slot(path, &key);
    unsigned value = key | (waits ? LEARNED_WAITS : LEARNED_PLAIN);

    if (__atomic_load_n(slot, __ATOMIC_RELAXED) != value)
        __atomic_store_n(slot, value, __ATOMIC_RELAXED);
}

static int learned_of(const char *path)
{
    unsigned key, *slot = learn_slot(path, &key);
    unsigned value = __atomic_load_n(slot, __ATOMIC_RELAXED);

    return (value & ~3u) == key ? (int)(value & 3) : LEARNED_NOTHING;
}

static int choose_worker(request_rec *r, const ssi_page *page)
{
    if (page->has_foreign || (page->has_exec && (ap_allow_options(r) & OPT_INC_WITH_EXEC)))
        return 1;
    return page->has_include && learned_of(page->path) == LEARNED_WAITS;
}

/* Content that is not a file in memory is parsed as it comes and goes, so it cannot begin anew. */
static void choose_for_page(request_rec *r)
{
    const ap_filter_t *f = r->output_filters;
    ssi_page *page = NULL;

    while (f && f->r == r && f->frec != ssi_includes_handle)
        f = f->next;
    if (!f || f->frec != ssi_includes_handle ||
        (r->finfo.filetype == APR_NOFILE && handler_is_for_files(r)))
        return;
    if (f == r->output_filters && handler_is_file(r))
        page = ssi_page_get(r, ssi_tags_of(r));
    if (!page || choose_worker(r, page))
        brg_request_needs_worker(r);
    if (page)
        ssi_page_release(page);
}

static int ssi_top_waits(ssi_top *top)
{
    top->waits = 1;
    if (top->may_move)
        top->moves = top->over = 1;
    return top->moves;
}

void ssi_choose_thread(request_rec *r)
{
    ssi_link *link;

    if (!r->main) {
        if (brg_thread_is_loop())
            choose_for_page(r);
        return;
    }
    link = ap_get_module_config(r->request_config, &include_module);
    if (link && link->parent && brg_request_may_wait(r))
        ssi_top_waits(link->top);
}

int ssi_waits(include_ctx_t *ctx)
{
    return ssi_top_waits(ctx->intern->top);
}

/* Before all other handlers: of a page that is given up nothing more is run. */
int ssi_handler_stop(request_rec *r)
{
    const ssi_link *link =
        r->main ? ap_get_module_config(r->request_config, &include_module) : NULL;

    return link && link->top->moves ? OK : DECLINED;
}

/* ---- the handler ---- */

static int handler_send(request_rec *r, ssi_page *page)
{
    apr_bucket_alloc_t *ba = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, ba);
    apr_status_t rv;

    if (page) {
        APR_BRIGADE_INSERT_TAIL(bb, ssi_span_create(page, 0, page->len, ba));
        ssi_page_release(page);
    }
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(ba));
    rv = ap_pass_brigade(r->output_filters, bb);
    apr_brigade_cleanup(bb);
    return rv == APR_SUCCESS || r->status != HTTP_OK || r->connection->aborted ? OK
                                                                               : AP_FILTER_ERROR;
}

static void handler_headers(request_rec *r)
{
    ap_update_mtime(r, r->finfo.mtime);
    ap_set_last_modified(r);
    ap_set_etag(r);
    ap_set_accept_ranges(r);
    ap_set_content_length(r, r->finfo.size);
}

/* What a page changes in its request before its first byte is sent. */
typedef struct handler_before {
    ssi_top *top; /* NULL: it stays on this thread */
    apr_table_t *env, *headers;
} handler_before;

static void handler_note(request_rec *r, const ssi_page *page, handler_before *before)
{
    before->top = NULL;
    if (r->main || r->prev || !page->has_include || !brg_thread_is_loop())
        return;
    before->top = ssi_link_of(r)->top;
    before->top->may_move = 1;
    brg_request_let_lookups_fail(r);
    before->env = apr_table_copy(r->pool, r->subprocess_env);
    before->headers = apr_table_copy(r->pool, r->headers_out);
}

static int handler_moves(request_rec *r, const handler_before *before)
{
    if (!before->top || !before->top->moves || !brg_request_rerun_on_worker(r))
        return 0;
    r->subprocess_env = before->env;
    r->headers_out = before->headers;
    r->output_filters->ctx = NULL;
    ap_set_module_config(r->request_config, &include_module, NULL);
    return 1;
}

static int handler_is_asked(const request_rec *r, const ssi_page *page)
{
    return page->variants && (apr_table_get(r->headers_in, "If-None-Match") ||
                              apr_table_get(r->headers_in, "If-Modified-Since") || page->large);
}

/* What is known of the page from earlier. @return OK: it is to be rendered */
static int handler_known(request_rec *r, ssi_page *page)
{
    const ssi_dir_conf *conf = ssi_conf_of(r);
    const ssi_validators *known;
    ssi_top *top;

    if (r->main || r->prev || (conf->last_modified != SSI_PARTS && conf->etag != SSI_PARTS))
        return OK;
    top = ssi_link_of(r)->top;
    top->document = page;
    known = handler_is_asked(r, page) ? ssi_variant_find(r, top, page) : NULL;
    return known ? ssi_validators_meet(r, known) : OK;
}

static int handler_render(request_rec *r, ssi_page *page)
{
    handler_before before;
    int status;

    handler_note(r, page, &before);
    status = handler_known(r, page);
    if (status == HTTP_NOT_MODIFIED) {
        r->status = status;
        ap_remove_output_filter(r->output_filters);
        return handler_send(r, NULL);
    }
    if (status != OK)
        return status;
    ssi_page_hold(page);
    status = handler_send(r, page);
    return handler_moves(r, &before) ? OK : status;
}

int ssi_handler(request_rec *r)
{
    const ap_filter_t *f = r->output_filters;
    const ssi_link *link = ap_get_module_config(r->request_config, &include_module);
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    int parsed = f && f->frec == ssi_includes_handle;
    ssi_page *page;
    int status;

    if ((!parsed && !(link && link->parent)) || !handler_is_file(r) || core->content_md5 == 1)
        return DECLINED;
    if (!parsed && r->finfo.size == 0)
        return DECLINED; /* it may have a content that is not told by its size, as in /proc */
    page = ssi_page_get(r, parsed ? ssi_tags_of(r) : NULL);
    if (!page)
        return DECLINED;
    ap_allow_standard_methods(r, MERGE_ALLOW, M_GET, M_OPTIONS, M_POST, -1);
    if ((status = ap_discard_request_body(r)) != OK) {
        ssi_page_release(page);
        return status;
    }
    handler_headers(r);
    if ((status = ap_meets_conditions(r)) != OK) {
        r->status = status; /* has the head of the page's response, and no body */
        ssi_page_release(page);
        page = NULL;
    }
    if (!parsed || !page)
        return handler_send(r, page);
    status = handler_render(r, page);
    ssi_page_release(page);
    return status;
}
