/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_request: keeps a request body while it is read (KeptBodySize), for sub-requests that want to
 * read it again.
 *
 * Two input filters share the work. KEEP_BODY stands on the request that has the body and copies
 * passing data into r->kept_body. KEPT_BODY stands on every request that finds a kept body, reads
 * it from the start and leaves it as it is.
 */
#include "mod_request.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(request);

#define REQUEST_KEEP_UNSET 0

typedef struct keep_state {
    apr_bucket_brigade *kept;
    apr_off_t left;
} keep_state;

typedef struct kept_state {
    apr_off_t offset; /* how far this request has read */
} kept_state;

static ap_filter_rec_t *request_keep_handle, *request_kept_handle;

/* ---- configuration ---- */

static void *request_create_conf(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(request_dir_conf));
}

static void *request_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    request_dir_conf *base = base_conf, *add = add_conf;

    return add->keep_body_set ? add : base;
}

static const char *request_set_kept_size(cmd_parms *cmd, void *mconfig, const char *arg)
{
    request_dir_conf *conf = mconfig;
    char *end;

    if (apr_strtoff(&conf->keep_body, arg, &end, 10) != APR_SUCCESS || end == arg || *end ||
        conf->keep_body < 0)
        return "KeptBodySize must be a valid size in bytes, or zero.";
    conf->keep_body_set = 1;
    return NULL;
}

static apr_off_t request_limit(const request_rec *r)
{
    const request_dir_conf *conf = ap_get_module_config(r->per_dir_config, &request_module);

    BRG_ASSERT(r->per_dir_config);
    return conf->keep_body_set ? conf->keep_body : REQUEST_KEEP_UNSET;
}

/* ---- keeping ---- */

static apr_status_t request_too_long(request_rec *r, const char *length, apr_off_t limit)
{
    if (length) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01412) "Requested content-length of %s is larger than the configured "
                                     "limit of %" APR_OFF_T_FMT,
                      length, limit);
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "The request body is larger than the configured limit of %" APR_OFF_T_FMT,
                      limit);
    }
    return APR_ENOSPC;
}

/* Data may be consumed behind the filter, so it keeps a copy. */
static apr_status_t request_keep_bucket(ap_filter_t *f, keep_state *keep, apr_bucket *e)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);

    if (rv != APR_SUCCESS)
        return rv;
    if ((apr_off_t)len > keep->left)
        return request_too_long(f->r, NULL, request_limit(f->r));
    keep->left -= (apr_off_t)len;
    return apr_brigade_write(keep->kept, NULL, NULL, data, len);
}

static apr_status_t request_keep_start(ap_filter_t *f)
{
    request_rec *r = f->r;
    const char *length = apr_table_get(r->headers_in, "Content-Length");
    keep_state *keep;
    apr_off_t n;

    BRG_ASSERT(!f->ctx);
    keep = apr_pcalloc(r->pool, sizeof *keep);
    keep->left = request_limit(r);
    keep->kept = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    f->ctx = keep;
    if (length && ap_parse_strict_length(&n, length) && n > keep->left)
        return request_too_long(r, length, keep->left);
    return APR_SUCCESS;
}

static apr_status_t request_keep_filter(ap_filter_t *f, apr_bucket_brigade *bb,
                                        ap_input_mode_t mode, apr_read_type_e block,
                                        apr_off_t readbytes)
{
    apr_status_t rv = f->ctx ? APR_SUCCESS : request_keep_start(f);
    keep_state *keep = f->ctx;

    if (rv == APR_SUCCESS)
        rv = ap_get_brigade(f->next, bb, mode, block, readbytes);
    if (rv != APR_SUCCESS || mode == AP_MODE_SPECULATIVE)
        return rv;
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); rv == APR_SUCCESS && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            f->r->kept_body = keep->kept;
            ap_remove_input_filter(f);
            break;
        }
        if (!APR_BUCKET_IS_METADATA(e))
            rv = request_keep_bucket(f, keep, e);
    }
    return rv;
}

/* ---- reading a kept body ---- */

/* Copy at most readbytes bytes of kept from offset on into bb. @return how many */
static apr_off_t request_copy_kept(apr_bucket_brigade *bb, const apr_bucket_brigade *kept,
                                   apr_off_t offset, apr_off_t readbytes)
{
    apr_off_t copied = 0;

    for (apr_bucket *e = APR_BRIGADE_FIRST(kept);
         copied < readbytes && e != APR_BRIGADE_SENTINEL(kept); e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(e) ||
            apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            continue;
        if (offset >= (apr_off_t)len) {
            offset -= (apr_off_t)len;
            continue;
        }
        data += offset;
        len -= (apr_size_t)offset;
        offset = 0;
        if ((apr_off_t)len > readbytes - copied)
            len = (apr_size_t)(readbytes - copied);
        apr_brigade_write(bb, NULL, NULL, data, len);
        copied += (apr_off_t)len;
    }
    return copied;
}

static apr_status_t request_kept_filter(ap_filter_t *f, apr_bucket_brigade *bb,
                                        ap_input_mode_t mode, apr_read_type_e block,
                                        apr_off_t readbytes)
{
    kept_state *state = f->ctx;
    apr_off_t n;

    if (!f->r->kept_body ||
        (mode != AP_MODE_READBYTES && mode != AP_MODE_SPECULATIVE && mode != AP_MODE_EXHAUSTIVE))
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    if (!state)
        f->ctx = state = apr_pcalloc(f->r->pool, sizeof *state);
    if (mode == AP_MODE_EXHAUSTIVE)
        readbytes = APR_INT64_MAX;
    n = request_copy_kept(bb, f->r->kept_body, state->offset, readbytes);
    if (n == 0)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->r->connection->bucket_alloc));
    if (mode != AP_MODE_SPECULATIVE)
        state->offset += n;
    return APR_SUCCESS;
}

/* ---- on the chain ---- */

static void ap_request_insert_filter(request_rec *r)
{
    if (r->kept_body) {
        ap_add_input_filter_handle(request_kept_handle, NULL, r, r->connection);
    } else if (!r->main && request_limit(r) > 0) {
        if (ap_request_has_body(r))
            ap_add_input_filter_handle(request_keep_handle, NULL, r, r->connection);
        else if (apr_table_get(r->headers_in, "Content-Length"))
            r->kept_body = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    }
}

/* For handlers that send the body elsewhere as it comes. */
static void ap_request_remove_filter(request_rec *r)
{
    ap_filter_t *f = r->input_filters;

    while (f && f->frec != request_kept_handle)
        f = f->next;
    if (f)
        ap_remove_input_filter(f);
}

static const command_rec request_commands[] = {
    AP_INIT_TAKE1("KeptBodySize", request_set_kept_size, NULL, ACCESS_CONF,
                  "Maximum size of request bodies kept aside for use by filters"),
    {0},
};

static void request_register_hooks(apr_pool_t *p)
{
    request_keep_handle =
        ap_register_input_filter(KEEP_BODY_FILTER, request_keep_filter, NULL, AP_FTYPE_RESOURCE);
    request_kept_handle =
        ap_register_input_filter(KEPT_BODY_FILTER, request_kept_filter, NULL, AP_FTYPE_RESOURCE);
    ap_hook_insert_filter(ap_request_insert_filter, NULL, NULL, APR_HOOK_LAST);
    APR_REGISTER_OPTIONAL_FN(ap_request_insert_filter);
    APR_REGISTER_OPTIONAL_FN(ap_request_remove_filter);
    /* Requests with a body are never answered from memory. */
    brg_cache_declare(&request_module, NULL);
}

module AP_MODULE_DECLARE_DATA request_module = {
    STANDARD20_MODULE_STUFF,
    request_create_conf,
    request_merge_conf,
    NULL,
    NULL,
    request_commands,
    request_register_hooks,
    0,
};
