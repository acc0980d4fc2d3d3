/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler for files: serves the file that the request was mapped to, if no other handler took the
 * request.
 *
 * A file is opened once, by the directory walk (brigade/files.h). Files up to FileReadSize are read
 * at once, so that head and body are sent in one write; larger ones are passed on as a file bucket, which
 * the core sends by sendfile, a memory mapping, or reads. Filters that look at the body never get a
 * mapping: if the file were truncated meanwhile, the process would end with SIGBUS.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "util_md5.h"
#include "mod_core.h"
#include "brigade/assert.h"
#include "brigade/files.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "file_private.h"
#include "file_kept.h"
#include "apr_buckets.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <errno.h>
#include <stdlib.h>

#define FILE_DIGEST_ON 1                 /* core_dir_config.content_md5: ContentDigest On */
#define FILE_FILTER_BUFFER 32000         /* bytes for filters at once, of files that are not kept */
#define FILE_UNSIZED_PIECE 65536         /* bytes at once of files without a size */
#define FILE_UNSIZED_WHOLE (1024 * 1024) /* and how much is kept to know its length */
#define FILE_RERUN DONE                  /* within this file: a worker calls the handler again */

APLOG_USE_MODULE(core); /* its messages are those of the core's own handler in Apache, and LogLevel
                           names them so */

/* ---- opening ---- */

static int file_not_found(request_rec *r, const char *number)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "%sFile does not exist: %s%s", number, r->filename,
                  r->path_info ? r->path_info : "");
    return HTTP_NOT_FOUND;
}

static int file_get(apr_file_t **out, request_rec *r)
{
    apr_status_t rv;

    rv = brg_file_open(out, r);
    if (APR_STATUS_IS_EAGAIN(rv) && brg_request_rerun_on_worker(r))
        return FILE_RERUN;
    if (APR_STATUS_IS_EMFILE(rv) || APR_STATUS_IS_ENFILE(rv) || APR_STATUS_IS_ENOMEM(rv)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "no descriptor or memory left to open %s",
                      r->filename);
        return HTTP_SERVICE_UNAVAILABLE;
    }
    if (APR_STATUS_IS_ENOENT(rv)) /* removed since the walk looked at it */
        return file_not_found(r, APLOGNO(00128));
    if (rv == ELOOP) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00037) "Symbolic link not allowed or link target not accessible: %s",
                      r->filename);
        return HTTP_FORBIDDEN;
    }
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(00132) "file permissions deny server access: %s", r->filename);
        return HTTP_FORBIDDEN;
    }
    return OK;
}

/* ---- sending ---- */

/* Bytes of the file in one heap bucket of *len bytes, fewer if it ends before.
 * @return APR_EAGAIN: they are not in memory, and a worker is to read them */
static apr_status_t file_read_bucket(request_rec *r, apr_file_t *file, apr_off_t offset,
                                     apr_size_t *len, apr_bucket **e)
{
    apr_bucket_alloc_t *ba = r->connection->bucket_alloc;
    /* A stream of HTTP/2 sends it after the request, and takes memory of malloc() over. */
    char *data = r->connection->master ? malloc(*len) : apr_bucket_alloc(*len, ba);
    void (*const end)(void *) = r->connection->master ? free : apr_bucket_free;
    apr_status_t rv = data ? brg_file_pread(r, file, data, len, offset) : APR_ENOMEM;

    if (rv != APR_SUCCESS) {
        end(data);
        return rv;
    }
    *e = apr_bucket_heap_create(data, *len, end, ba);
    return APR_SUCCESS;
}

static apr_off_t file_read_most(request_rec *r)
{
    const file_dir_conf *conf = ap_get_module_config(r->per_dir_config, &file_module);

    return conf->read_bytes == FILE_READ_UNSET ? FILE_READ_DEFAULT : conf->read_bytes;
}

/* A small file: all of it. 0: it is not as long as was announced, or cannot be read. */
static int file_insert_whole(request_rec *r, apr_bucket_brigade *bb, apr_file_t *file,
                             apr_status_t *rv)
{
    apr_size_t len = (apr_size_t)r->finfo.size;
    apr_bucket *e;

    *rv = file_read_bucket(r, file, 0, &len, &e);
    if (*rv != APR_SUCCESS)
        return 0;
    if (len != (apr_size_t)r->finfo.size) {
        apr_bucket_destroy(e);
        return 0;
    }
    APR_BRIGADE_INSERT_TAIL(bb, e);
    return 1;
}

/* A larger one: the rest is mostly in memory if its beginning is, or is read ahead. */
static apr_status_t file_probe(request_rec *r, apr_file_t *file)
{
    apr_size_t len = 1;
    char byte;

    return brg_thread_is_loop() ? brg_file_pread(r, file, &byte, &len, 0) : APR_SUCCESS;
}

static void file_insert_buckets(request_rec *r, apr_bucket_brigade *bb, apr_file_t *file)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    int plain = brg_output_is_plain(r);
    apr_bucket *e;

    if (!plain && file_kept_insert(r, bb, file))
        return;
    apr_brigade_insert_file(bb, file, 0, r->finfo.size, r->pool);
    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = APR_BUCKET_NEXT(e)) {
        if (!APR_BUCKET_IS_FILE(e))
            continue;
        if (core->enable_mmap == ENABLE_MMAP_OFF || !plain)
            apr_bucket_file_enable_mmap(e, 0);
        if (!plain)
            apr_bucket_file_set_buf_size(e, FILE_FILTER_BUFFER);
    }
}

/* @return OK or FILE_RERUN */
static int file_insert(request_rec *r, apr_bucket_brigade *bb, apr_file_t *file)
{
    apr_status_t rv;

    if (r->finfo.size == 0)
        return OK;
    if (!r->header_only && r->finfo.size <= file_read_most(r)) {
        if (r->prev && file_kept_insert(r, bb, file))
            return OK;
        if (file_insert_whole(r, bb, file, &rv))
            return OK;
    } else {
        rv = file_probe(r, file);
    }
    if (APR_STATUS_IS_EAGAIN(rv) && brg_request_rerun_on_worker(r))
        return FILE_RERUN;
    file_insert_buckets(r, bb, file);
    return OK;
}

/* A brigade that is emptied before its pool ends, and so needs no cleanup there. */
static apr_bucket_brigade *file_brigade(apr_pool_t *p, apr_bucket_alloc_t *ba)
{
    apr_bucket_brigade *bb = apr_palloc(p, sizeof(*bb));

    bb->p = p;
    bb->bucket_alloc = ba;
    APR_RING_INIT(&bb->list, apr_bucket, link);
    return bb;
}

/* ContentDigest: reads the whole file for each request, as its manual warns. Not where a filter may make another content
 * of it. */
static int file_has_digest(const request_rec *r)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);

    return core->content_md5 == FILE_DIGEST_ON &&
           r->output_filters->frec->ftype != AP_FTYPE_RESOURCE;
}

/* A target of repeated internal redirects, an error document above all, is sent without a look at
 * the file. @return 1: its content is in bb */
static int file_is_at_hand(request_rec *r, apr_bucket_brigade *bb)
{
    if (!r->prev)
        return 0;
    brg_file_remember(r);
    return brg_file_is_known(r) && !brg_etag_waits(r, NULL) && !file_has_digest(r) &&
           r->finfo.size <= file_read_most(r) && file_kept_insert(r, bb, NULL);
}

/* @param file  NULL: its content is in bb */
static int file_send(request_rec *r, apr_file_t *file, apr_bucket_brigade *bb, int with_body)
{
    apr_bucket_alloc_t *ba = r->connection->bucket_alloc;
    apr_status_t rv;

    /* For HEAD only filters need the body: their output decides on the head. */
    if (!with_body || (r->header_only && brg_output_is_plain(r)))
        apr_brigade_cleanup(bb);
    else if (file && file_insert(r, bb, file) == FILE_RERUN)
        return OK;
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(ba));
    brg_cache_offer_file(r, r->filename);
    rv = ap_pass_brigade(r->output_filters, bb);
    apr_brigade_cleanup(bb);
    if (rv == APR_SUCCESS || r->status != HTTP_OK || r->connection->aborted)
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, rv, r,
                  APLOGNO(00133) "default_handler: ap_pass_brigade returned %i", rv);
    return AP_FILTER_ERROR;
}

/* ---- files that have no size until they are read, such as those of /proc ---- */

static int file_unsized_failed(request_rec *r, apr_status_t rv)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "cannot read %s, which has no size", r->filename);
    return APR_STATUS_IS_EACCES(rv) || rv == EPERM ? HTTP_FORBIDDEN : HTTP_INTERNAL_SERVER_ERROR;
}

/* The next piece at the end of bb. @return APR_EOF: there is no more */
static apr_status_t file_unsized_read(request_rec *r, apr_bucket_brigade *bb, apr_file_t *file,
                                      apr_off_t *offset)
{
    apr_size_t len = FILE_UNSIZED_PIECE;
    apr_bucket *e;
    apr_status_t rv = file_read_bucket(r, file, *offset, &len, &e);

    if (rv != APR_SUCCESS)
        return rv;
    APR_BRIGADE_INSERT_TAIL(bb, e);
    *offset += (apr_off_t)len;
    return len < FILE_UNSIZED_PIECE ? APR_EOF : APR_SUCCESS;
}

/* A short one is sent with its length, a longer one in chunks as it is read. It has no validators: its
 * times do not tell of changes. Nothing of it is stored. */
static int file_unsized_send(request_rec *r, apr_bucket_brigade *bb, apr_file_t *file)
{
    apr_bucket_alloc_t *ba = r->connection->bucket_alloc;
    apr_off_t offset = 0, passed = 0;
    apr_status_t rv;

    while ((rv = file_unsized_read(r, bb, file, &offset)) == APR_SUCCESS) {
        if (offset - passed < FILE_UNSIZED_WHOLE)
            continue;
        passed = offset;
        if (ap_pass_brigade(r->output_filters, bb) != APR_SUCCESS)
            return AP_FILTER_ERROR;
        apr_brigade_cleanup(bb);
    }
    if (rv != APR_EOF && !passed)
        return file_unsized_failed(r, rv);
    if (rv != APR_EOF) {
        file_unsized_failed(r, rv);
        r->connection->aborted = 1; /* the sent bytes are not the whole file */
        return DONE;
    }
    if (!passed)
        ap_set_content_length(r, offset);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(ba));
    rv = ap_pass_brigade(r->output_filters, bb);
    return rv == APR_SUCCESS || r->connection->aborted ? OK : AP_FILTER_ERROR;
}

/* @return DECLINED: it is just empty */
static int file_unsized(request_rec *r, apr_file_t *file)
{
    apr_bucket_brigade *bb;
    apr_size_t len = 1;
    apr_status_t rv;
    char byte;
    int status;

    BRG_ASSERT(r->finfo.size == 0);
    rv = brg_file_pread(r, file, &byte, &len, 0);
    if (rv == APR_SUCCESS && len == 0)
        return DECLINED;
    if (brg_request_rerun_on_worker(r))
        return OK;
    if (rv != APR_SUCCESS)
        return file_unsized_failed(r, rv);
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    status = file_unsized_send(r, bb, file);
    apr_brigade_cleanup(bb);
    return status;
}

/* ---- the handler ---- */

/* OK, or why the request cannot be served from a file. */
static int file_check(request_rec *r)
{
    if (r->finfo.filetype == APR_NOFILE)
        return file_not_found(r, APLOGNO(00128));
    if (r->finfo.filetype == APR_DIR) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, APLOGNO(00129) "Attempt to serve directory: %s",
                      r->filename);
        return HTTP_NOT_FOUND;
    }
    if (r->finfo.filetype != APR_REG) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "not a regular file: %s", r->filename);
        return HTTP_FORBIDDEN;
    }
    if (r->used_path_info != AP_REQ_ACCEPT_PATH_INFO && r->path_info && *r->path_info)
        return file_not_found(r, APLOGNO(00130));
    return OK;
}

static int file_other_method(request_rec *r)
{
    if (r->method_number == M_OPTIONS)
        return ap_send_http_options(r);
    if (r->method_number == M_INVALID) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(00135) "Invalid method in request %s",
                      ap_escape_logitem(r->pool, r->the_request));
        return HTTP_NOT_IMPLEMENTED;
    }
    return HTTP_METHOD_NOT_ALLOWED;
}

/* The file has to be read for a field of the response. @return 1: a worker does it */
static int file_digest_waits(request_rec *r, int tag_waits)
{
    return (tag_waits || file_has_digest(r)) && brg_request_rerun_on_worker(r);
}

static void file_set_digest(request_rec *r, apr_file_t *file)
{
    if (file_has_digest(r))
        apr_table_setn(r->headers_out, "Content-MD5", ap_md5digest(r->pool, file));
}

static int file_handler(request_rec *r)
{
    apr_bucket_brigade *bb = file_brigade(r->pool, r->connection->bucket_alloc);
    apr_file_t *file = NULL;
    int status, tag_waits;

    ap_allow_standard_methods(r, MERGE_ALLOW, M_GET, M_OPTIONS, M_POST, -1);
    if ((status = ap_discard_request_body(r)) != OK)
        return status;
    if (r->method_number != M_GET && r->method_number != M_POST)
        return file_other_method(r);
    if ((status = file_check(r)) != OK ||
        (!file_is_at_hand(r, bb) && (status = file_get(&file, r)) != OK))
        return status == FILE_RERUN ? OK : status;
    if (file && r->finfo.size == 0 && (status = file_unsized(r, file)) != DECLINED)
        return status;
    tag_waits = brg_etag_waits(r, file);
    if (file_digest_waits(r, tag_waits))
        return OK;
    ap_update_mtime(r, r->finfo.mtime);
    ap_set_last_modified(r);
    if (!tag_waits ||
        !brg_thread_is_loop()) /* an included file, whose tag nobody sees, stops no loop */
        ap_set_etag_fd(r, file);
    ap_set_accept_ranges(r);
    ap_set_content_length(r, r->finfo.size);
    file_set_digest(r, file);
    if ((status = ap_meets_conditions(r)) != OK)
        r->status = status; /* 304 and 412 have the head of the file's response, and no body */
    return file_send(r, file, bb, status == OK);
}

static void file_insert_filter(request_rec *r)
{
    const file_dir_conf *conf = ap_get_module_config(r->per_dir_config, &file_module);

    file_coded_choose(r, conf->codings, &file_module);
}

static int file_depends(request_rec *r)
{
    return file_coded_depends(r, &file_module);
}

/* What is looked for beside a file, and what is read of it, is its own. */
static apr_int64_t file_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                             const char *filename, const char *path_info, int is_file)
{
    const file_dir_conf *conf = ap_get_module_config(dir, &file_module);
    const core_dir_config *core = ap_get_core_module_config(dir);

    return conf->codings > 0 || core->content_md5 == FILE_DIGEST_ON ? BRG_CACHE_NAME_COUNTS : 0;
}

static void file_register_hooks(apr_pool_t *p)
{
    ap_hook_pre_config(file_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_insert_filter(file_insert_filter, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_handler(file_handler, NULL, NULL, APR_HOOK_REALLY_LAST);
    brg_cache_declare(&file_module, file_depends);
    brg_cache_name_declare(&file_module, file_name);
}

module AP_MODULE_DECLARE_DATA file_module = {
    STANDARD20_MODULE_STUFF,
    file_create_dir_conf,
    file_merge_dir_conf,
    NULL,
    NULL,
    file_commands,
    file_register_hooks,
    0,
};
