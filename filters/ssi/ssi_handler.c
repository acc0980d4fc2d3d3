/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves files from the page cache: files whose first output filter is INCLUDES, and files that a
 * page includes as they are. Everything else is declined, errors too: the server's handler for
 * files answers with the right ones.
 */
#include "ssi_depends_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/loop.h"
#include "brigade/files.h"
#include "brigade/response_cache.h"

/* The handler is the one for files: by name, or since none is named and the content type stands for it. */
static int handler_is_for_files(const request_rec *r)
{
    if (!r->handler || !*r->handler ||
        !strcmp(r->handler, "default-handler")) /* "": no type, too */
        return 1;
    return strchr(r->handler, '/') && strncmp(r->handler, "application/x-httpd-", 20);
}

static int handler_is_file(const request_rec *r)
{
    return r->method_number == M_GET && r->finfo.filetype == APR_REG && r->filename &&
           (r->used_path_info == AP_REQ_ACCEPT_PATH_INFO || !r->path_info || !*r->path_info) &&
           handler_is_for_files(r);
}

static int handler_is_unfiltered(const request_rec *r)
{
    const ap_filter_t *f = r->output_filters;

    return f && f->r == r && !strcmp(f->frec->name, "subreq_core") && (!f->next || f->next->r != r);
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
 * exec waits for a program, so a page with exec belongs on a worker. So does a page that includes
 * output of a handler that may wait. But the needs of included pages are not known before they are
 * looked up. So a page with includes that starts on an event loop gathers all its output; where it
 * comes to something that waits, its output is dropped, and a worker runs it again from the
 * beginning. A hint is kept for the page: the next request of it starts on the kind of thread where
 * this one ends. Hints are shared by all threads; one is written and read as a whole, and a wrong
 * one costs time only.
 */
#define HINT_SLOTS 8192
enum { HINT_NONE, HINT_LOOP, HINT_WORKER };

static unsigned hints[HINT_SLOTS]; /* page->hash, with HINT_... in the low two bits */

static unsigned *hint_slot(const ssi_page *page, unsigned *key)
{
    *key = page->hash & ~3u;
    return &hints[(page->hash ^ page->hash >> 13) % HINT_SLOTS];
}

void ssi_thread_hint(const ssi_page *page, int waits)
{
    unsigned key, *slot = hint_slot(page, &key);
    unsigned value = key | (waits ? HINT_WORKER : HINT_LOOP);

    if (__atomic_load_n(slot, __ATOMIC_RELAXED) != value)
        __atomic_store_n(slot, value, __ATOMIC_RELAXED);
}

static int hint_of(const ssi_page *page)
{
    unsigned key, *slot = hint_slot(page, &key);
    unsigned value = __atomic_load_n(slot, __ATOMIC_RELAXED);

    return (value & ~3u) == key ? (int)(value & 3) : HINT_NONE;
}

static int choose_worker(request_rec *r, const ssi_page *page)
{
    if (page->has_module_element || (page->has_exec && (ap_allow_options(r) & OPT_INC_WITH_EXEC)))
        return 1;
    return page->has_include && hint_of(page) == HINT_WORKER;
}

/* Content that is not a file in memory is parsed and sent as it comes, so it cannot run again. */
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

static int ssi_top_about_to_wait(ssi_top *top)
{
    BRG_ASSERT_TAG(top, SSI_TOP_TAG);
    top->waits = 1;
    if (top->may_rerun)
        top->rerun = top->stopped = 1;
    return top->rerun;
}

void ssi_choose_thread(request_rec *r)
{
    ssi_link *link;

    if (!r->main) {
        if (r->output_filters != r->proto_output_filters && brg_thread_is_loop())
            choose_for_page(r);
        return;
    }
    link = ap_get_module_config(r->request_config, &include_module);
    if (link && link->parent && !link->beside && brg_request_may_wait(r))
        ssi_top_about_to_wait(link->top);
}

int ssi_about_to_wait(include_ctx_t *ctx)
{
    return ssi_top_about_to_wait(ctx->intern->top);
}

int ssi_handler_stop(request_rec *r)
{
    const ssi_link *link =
        r->main ? ap_get_module_config(r->request_config, &include_module) : NULL;

    return link && link->top->rerun ? OK : DECLINED;
}

/* ---- the handler ---- */

static int handler_send(request_rec *r, ssi_page *page)
{
    apr_bucket_alloc_t *ba = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, ba);
    apr_status_t rv;

    BRG_ASSERT(!page || page->refs > 0);
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

/* Changes of a page in its request before its first byte is sent: undone if it runs again. */
typedef struct handler_before {
    ssi_top *top; /* NULL: it cannot run again */
    apr_table_t *headers;
} handler_before;

static void handler_note(request_rec *r, const ssi_page *page, handler_before *before)
{
    before->top = NULL;
    if (r->main || r->prev || !page->has_include || !brg_thread_is_loop())
        return;
    before->top = ssi_link_of(r)->top;
    before->top->may_rerun = 1;
    brg_request_let_lookups_fail(r);
    before->headers = apr_table_copy(r->pool, r->headers_out);
}

static int handler_reruns(request_rec *r, const handler_before *before)
{
    if (!before->top || !before->top->rerun || !brg_request_rerun_on_worker(r))
        return 0;
    BRG_ASSERT(brg_thread_is_loop() && !r->main && !r->prev);
    if (before->top->env_before)
        r->subprocess_env = before->top->env_before;
    r->headers_out = before->headers;
    r->output_filters->ctx = NULL;
    ap_set_module_config(r->request_config, &include_module, NULL);
    return 1;
}

/* Validators of an earlier rendering are of use to this request. */
static int handler_wants_validators(const request_rec *r, const ssi_page *page)
{
    return page->renderings && (apr_table_get(r->headers_in, "If-None-Match") ||
                                apr_table_get(r->headers_in, "If-Modified-Since") || page->large);
}

/* Answer by validators of an earlier rendering. @return OK: the page is to be rendered */
static int handler_validate(request_rec *r, ssi_page *page)
{
    const ssi_dir_conf *conf = ssi_conf_of(r);
    const ssi_validators *known;
    ssi_top *top;

    if (r->main || r->prev || (conf->last_modified != SSI_PARTS && conf->etag != SSI_PARTS))
        return OK;
    top = ssi_link_of(r)->top;
    top->kept_page = page;
    known = handler_wants_validators(r, page) ? ssi_rendering_find(r, top, page) : NULL;
    return known ? ssi_validators_meet(r, known) : OK;
}

static int handler_render(request_rec *r, ssi_page *page)
{
    handler_before before = {NULL, NULL};
    int status;

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    BRG_ASSERT(page->tags && r->output_filters->frec == ssi_includes_handle);
    handler_note(r, page, &before);
    status = handler_validate(r, page);
    if (status == HTTP_NOT_MODIFIED) {
        r->status = status;
        ap_remove_output_filter(r->output_filters);
        return handler_send(r, NULL);
    }
    if (status != OK)
        return status;
    ssi_page_hold(page);
    status = handler_send(r, page);
    return handler_reruns(r, &before) ? OK : status;
}

int ssi_handler(request_rec *r)
{
    const ap_filter_t *f = r->output_filters;
    ssi_link *link = ap_get_module_config(r->request_config, &include_module);
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    int parsed = f && f->frec == ssi_includes_handle;
    ssi_page *page;
    int status;

    if ((!parsed && !(link && link->parent)) || !handler_is_file(r) || core->content_md5 == 1)
        return DECLINED;
    if (!parsed && r->finfo.size == 0)
        return DECLINED; /* a file of /proc has a content, though its size is 0 */
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
    if (!parsed && page)
        link->is_as_file = handler_is_unfiltered(r);
    if (!parsed || !page)
        return handler_send(r, page);
    status = handler_render(r, page);
    ssi_page_release(page);
    return status;
}
