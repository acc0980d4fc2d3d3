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
#include "brigade/resolution.h"

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

/* exec waits for a program. An included page may hold one too, which is not known before it is
 * looked up; so once any page was seen to, those that include something are run on a worker. */
void ssi_choose_thread(request_rec *r)
{
    const ap_filter_t *f = r->output_filters;
    ssi_page *page;

    while (f && f->r == r && f->frec != ssi_includes_handle)
        f = f->next;
    if (!f || f->frec != ssi_includes_handle || !handler_is_file(r) ||
        !(ap_allow_options(r) & OPT_INC_WITH_EXEC))
        return;
    page = ssi_page_get(r->filename, &r->finfo, ssi_tags_of(r), r->request_time);
    if (!page)
        return;
    if (page->has_exec || (page->has_include && __atomic_load_n(&ssi_exec_seen, __ATOMIC_RELAXED)))
        brg_request_needs_worker(r);
    ssi_page_release(page);
}

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
    page = ssi_page_get(r->filename, &r->finfo, parsed ? ssi_tags_of(r) : NULL, r->request_time);
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
    return handler_send(r, page);
}
