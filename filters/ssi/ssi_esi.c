/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SSIEsi: documents with Edge Side Includes are put together. A document is gathered, up to
 * ESI_DOCUMENT_MOST bytes, and so is the result: only then is it known whether it is to be an
 * error, and the store (CacheEnable) learns of all its parts before it is stored. Parts are
 * sub-requests of this site, and nothing else.
 */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "ssi_esi.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "apr_uri.h"
#include "util_varbuf.h"
#include "brigade/response_cache.h"

#define ESI_DOCUMENT_MOST (1024 * 1024)
#define ESI_OUTPUT_MOST (16 * 1024 * 1024)

static ap_filter_rec_t *esi_handle, *esi_capture_handle;

typedef struct esi_page {
    ap_filter_t *f;
    const ssi_dir_conf *conf;
    struct ap_varbuf document;
    apr_size_t len;
    apr_bucket_brigade *out;
    apr_off_t out_len;
    int too_long;
    ap_filter_t capture; /* parts send to it */
} esi_page;

/* ---- documents ---- */

static int esi_type_is_text(const request_rec *r)
{
    return r->content_type && (!strncasecmp(r->content_type, "text/", 5) ||
                               ap_strstr_c(r->content_type, "xml") != NULL);
}

static const char *esi_field(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

/* The head of the response is there. */
static int esi_is_document(request_rec *r, const ssi_dir_conf *conf)
{
    const char *coding =
        r->content_encoding ? r->content_encoding : esi_field(r, "Content-Encoding");

    if (r->status != HTTP_OK)
        return 0;
    if (!ssi_esi_is_announced(esi_field(r, "Surrogate-Control")) &&
        (conf->esi != SSI_ESI_ALWAYS || !esi_type_is_text(r)))
        return 0;
    if (!coding || !strcasecmp(coding, "identity"))
        return 1;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "SSIEsi: %s is sent as it is: it has the coding %s",
                  r->uri, coding);
    return 0;
}

/* The document's fields are not true of the result. */
static void esi_head(request_rec *r)
{
    static const char *const names[] = {
        "Surrogate-Control", "Content-Length", "ETag",           "Last-Modified", "Accept-Ranges",
        "Content-MD5",       "Digest",         "Content-Digest", "Repr-Digest"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        apr_table_unset(r->headers_out, names[i]);
        apr_table_unset(r->err_headers_out, names[i]);
    }
    r->no_local_copy = 1;
}

/* ---- parts ---- */

static apr_status_t esi_capture(ap_filter_t *f, apr_bucket_brigade *bb)
{
    esi_page *page = f->ctx;
    apr_status_t rv = APR_SUCCESS;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); rv == APR_SUCCESS && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(e))
            continue;
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS)
            break;
        page->out_len += (apr_off_t)len;
        page->too_long |= page->out_len > ESI_OUTPUT_MOST;
        rv = page->too_long ? APR_ENOSPC : apr_brigade_write(page->out, NULL, NULL, data, len);
    }
    apr_brigade_cleanup(bb);
    return rv;
}

/* 1 if an absolute target is of the site that was asked for. */
static int esi_is_of_site(const request_rec *r, const apr_uri_t *url)
{
    const char *host = apr_table_get(r->headers_in, "Host");

    return url->hostinfo && host && !strcasecmp(url->hostinfo, host) && !url->user &&
           (!url->scheme || !strcasecmp(url->scheme, "http") || !strcasecmp(url->scheme, "https"));
}

/* The path and query of a part. NULL: not of this site */
static const char *esi_target(request_rec *r, const ssi_esi_value *value)
{
    char *text = ssi_esi_text(r->pool, value);
    apr_uri_t url;

    if (text)
        text[strcspn(text, "#")] = '\0';
    if (!text || !*text || strchr(text, ' ') || apr_uri_parse(r->pool, text, &url) != APR_SUCCESS)
        return NULL;
    if ((url.scheme || url.hostinfo || !strncmp(text, "//", 2)) && !esi_is_of_site(r, &url))
        return NULL;
    if (!url.path || !*url.path)
        return url.hostinfo ? "/" : NULL;
    return url.query ? apr_pstrcat(r->pool, url.path, "?", url.query, NULL) : url.path;
}

static int esi_depth(const request_rec *r)
{
    int n = 0;

    for (; r->main; r = r->main)
        n++;
    return n;
}

/* Parts of the page and of all its parts. */
static int esi_count(request_rec *r)
{
    static const char key[] = "ssi_esi_count";
    void *count = NULL;

    while (r->main)
        r = r->main;
    apr_pool_userdata_get(&count, key, r->pool);
    if (!count) {
        count = apr_pcalloc(r->pool, sizeof(int));
        apr_pool_userdata_setn(count, key, NULL, r->pool);
    }
    return ++*(int *)count;
}

static const char *esi_limited(const esi_page *page)
{
    request_rec *r = page->f->r;

    if (page->conf->depth_most && esi_depth(r) >= page->conf->depth_most)
        return "parts are nested more than SSIMaxDepth levels deep";
    return page->conf->includes_most && esi_count(r) > page->conf->includes_most
               ? "the page has more than SSIMaxIncludes parts"
               : NULL;
}

/* Conditions and ranges are of the page, which has none. */
static void esi_whole(request_rec *r)
{
    static const char *const names[] = {"If-None-Match", "If-Modified-Since",
                                        "If-Match",      "If-Unmodified-Since",
                                        "Range",         "If-Range"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        apr_table_unset(r->headers_in, names[i]);
}

/* Handlers wait with the timeout of their server. */
static void esi_timeout(const esi_page *page, request_rec *sub)
{
    if (!page->conf->include_us || page->conf->include_us >= sub->server->timeout)
        return;
    sub->server = ssi_timeout_server(sub);
    sub->server->timeout = page->conf->include_us;
}

/* @return HTTP_OK, or a status */
static int esi_run(esi_page *page, const char *target)
{
    request_rec *sub = ap_sub_req_method_uri("GET", target, page->f->r, &page->capture);
    int status = sub->status;

    if (status == HTTP_OK) {
        esi_whole(sub);
        esi_timeout(page, sub);
        (void)ssi_is_stored(sub); /* it is held, and counts for the storing of the page */
        status = ap_run_sub_req(sub);
        status = status == OK || status == DONE ? sub->status : status;
    }
    ap_destroy_sub_req(sub);
    return ap_is_HTTP_SUCCESS(status) && page->too_long ? HTTP_INSUFFICIENT_STORAGE : status;
}

static void esi_undo(esi_page *page, const apr_bucket *last, apr_off_t len)
{
    while (APR_BRIGADE_LAST(page->out) != last)
        apr_bucket_delete(APR_BRIGADE_LAST(page->out));
    page->out_len = len;
}

/* @return 1: it is in the output */
static int esi_part(esi_page *page, const ssi_esi_value *value)
{
    request_rec *r = page->f->r;
    const char *target = esi_target(r, value), *limited;
    const apr_off_t len = page->out_len;
    apr_bucket *last;
    int status;

    if (!target || (limited = esi_limited(page)) != NULL) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "SSIEsi: \"%.*s\" is not included in %s: %s",
                      (int)value->len, value->at, r->uri,
                      target ? limited : "it is no target of this site");
        return 0;
    }
    /* A bucket of its own: nothing of the part is written into the one before. */
    APR_BRIGADE_INSERT_TAIL(page->out, apr_bucket_immortal_create("", 0, page->f->c->bucket_alloc));
    last = APR_BRIGADE_LAST(page->out);
    status = esi_run(page, target);
    if (ap_is_HTTP_SUCCESS(status))
        return 1;
    esi_undo(page, last, len);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "SSIEsi: \"%s\" could not be included in %s: %d",
                  target, r->uri, status);
    return 0;
}

/* ---- the document ---- */

static void esi_text(esi_page *page, const ssi_esi_piece *piece)
{
    request_rec *r = page->f->r;

    if (piece->kind == SSI_ESI_UNKNOWN)
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      "SSIEsi: \"%.*s\" is left in %s: there are include, remove and comment",
                      (int)(piece->len > 100 ? 100 : piece->len), piece->at, r->uri);
    APR_BRIGADE_INSERT_TAIL(page->out, apr_bucket_pool_create(piece->at, piece->len, r->pool,
                                                              page->f->c->bucket_alloc));
    page->out_len += (apr_off_t)piece->len;
}

/* @return OK, or the status of the response */
static int esi_make(esi_page *page)
{
    ssi_esi_scan scan = {.at = page->document.buf, .end = page->document.buf + page->len};
    ssi_esi_piece piece;

    while (page->len && ssi_esi_next(&scan, &piece))
        if (piece.kind != SSI_ESI_INCLUDE)
            esi_text(page, &piece);
        else if (!esi_part(page, &piece.src) && !(piece.alt.at && esi_part(page, &piece.alt)) &&
                 !piece.goes_on)
            return HTTP_BAD_GATEWAY;
    return OK;
}

static apr_status_t esi_end(esi_page *page)
{
    apr_bucket_alloc_t *alloc = page->f->c->bucket_alloc;
    request_rec *r = page->f->r;
    ap_filter_t *next = page->f->next;
    const int status = esi_make(page);

    ap_remove_output_filter(page->f);
    if (status != OK) {
        apr_brigade_cleanup(page->out);
        APR_BRIGADE_INSERT_TAIL(page->out, ap_bucket_error_create(status, NULL, r->pool, alloc));
    } else {
        ap_set_content_length(r, page->out_len);
    }
    APR_BRIGADE_INSERT_TAIL(page->out, apr_bucket_eos_create(alloc));
    return ap_pass_brigade(next, page->out);
}

/* The document cannot be put together after all: its bytes go on as they are. */
static apr_status_t esi_pass_all(esi_page *page, apr_bucket_brigade *bb)
{
    ap_filter_t *next = page->f->next;

    ap_remove_output_filter(page->f);
    if (page->len)
        APR_BRIGADE_INSERT_HEAD(bb,
                                apr_bucket_pool_create(page->document.buf, page->len,
                                                       page->f->r->pool, page->f->c->bucket_alloc));
    return ap_pass_brigade(next, bb);
}

static apr_status_t esi_gather(esi_page *page, apr_bucket *e)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);

    if (rv != APR_SUCCESS)
        return rv;
    ap_varbuf_grow(&page->document, page->len + len + 1);
    memcpy(page->document.buf + page->len, data, len);
    brg_buffer_copied(len);
    page->len += len;
    page->document.strlen = page->len;
    page->document.buf[page->len] = '\0';
    apr_bucket_delete(e);
    return APR_SUCCESS;
}

static esi_page *esi_begin(ap_filter_t *f, const ssi_dir_conf *conf)
{
    esi_page *page = apr_pcalloc(f->r->pool, sizeof *page);

    page->f = f;
    page->conf = conf;
    page->out = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    ap_varbuf_init(f->r->pool, &page->document, 0);
    page->capture = (ap_filter_t){
        .frec = esi_capture_handle, .ctx = page, .next = f->next, .r = f->r, .c = f->c};
    esi_head(f->r);
    return page;
}

static apr_status_t esi_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    esi_page *page = f->ctx;
    apr_status_t rv = APR_SUCCESS;

    if (APR_BRIGADE_EMPTY(bb))
        return APR_SUCCESS;
    if (!page) {
        const ssi_dir_conf *conf = ssi_conf_resolved(f->r);

        if (!esi_is_document(f->r, conf)) {
            ap_remove_output_filter(f);
            return ap_pass_brigade(f->next, bb);
        }
        if (f->r->header_only) { /* as of the answer to GET, whose length is not known */
            esi_head(f->r);
            ap_remove_output_filter(f);
            return ap_pass_brigade(f->next, bb);
        }
        f->ctx = page = esi_begin(f, conf);
    }
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);

        if (APR_BUCKET_IS_EOS(e)) {
            rv = esi_end(page);
            break;
        }
        if (AP_BUCKET_IS_ERROR(e))
            return esi_pass_all(page, bb);
        if (APR_BUCKET_IS_METADATA(e)) {
            apr_bucket_delete(e);
            continue;
        }
        rv = esi_gather(page, e);
        if (rv == APR_SUCCESS && page->len > ESI_DOCUMENT_MOST) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r,
                          "SSIEsi: %s is sent as it is: it has more than %d bytes", f->r->uri,
                          ESI_DOCUMENT_MOST);
            return esi_pass_all(page, bb);
        }
    }
    apr_brigade_cleanup(bb);
    return rv;
}

/* Its parts may be waited for: it runs on a worker. A part of a document would not be one. */
static void esi_insert(request_rec *r)
{
    const ssi_dir_conf *conf = ssi_conf_of(r);

    if (conf->esi <= SSI_ESI_OFF || r->method_number != M_GET)
        return;
    if (!(ap_allow_options(r) & OPT_INCLUDES)) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      "SSIEsi: Options +Includes is not set, nothing is included: %s", r->uri);
        return;
    }
    apr_table_unset(r->headers_in, "Range");
    apr_table_unset(r->headers_in, "If-Range");
    apr_table_mergen(r->headers_in, "Surrogate-Capability", "brigade=\"ESI/1.0\"");
    ap_add_output_filter_handle(esi_handle, NULL, r, r->connection);
    brg_request_needs_worker(r);
}

void ssi_esi_register(apr_pool_t *p)
{
    (void)p;
    esi_handle = ap_register_output_filter("SSI_ESI", esi_filter, NULL, AP_FTYPE_RESOURCE);
    esi_capture_handle =
        ap_register_output_filter("SSI_ESI_CAPTURE", esi_capture, NULL, AP_FTYPE_CONTENT_SET);
    ap_hook_insert_filter(esi_insert, NULL, NULL, APR_HOOK_MIDDLE);
}
