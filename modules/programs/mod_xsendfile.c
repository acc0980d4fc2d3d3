/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_xsendfile: a program names a file by the field X-Sendfile of its response, and the file is sent in place of the body. It
 * lies below the folder of the program, or below an XSendFilePath of the virtual host.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

#define XSEND_FIELD "X-SENDFILE"
#define XSEND_UNSET (-1)

extern module xsendfile_module;

typedef struct xsend_conf {
    int on, ignore_etag, ignore_last_modified; /* XSEND_UNSET */
    apr_array_header_t *paths;                 /* const char *; of a server, wherever they stand */
} xsend_conf;

typedef struct xsend_ctx {
    int over; /* the file was sent */
} xsend_ctx;

static ap_filter_rec_t *xsend_rec;

static void *xsend_create_server(apr_pool_t *p, server_rec *s)
{
    xsend_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->on = conf->ignore_etag = conf->ignore_last_modified = XSEND_UNSET;
    conf->paths = apr_array_make(p, 1, sizeof(const char *));
    return conf;
}

static void *xsend_create_dir(apr_pool_t *p, char *dir)
{
    return xsend_create_server(p, NULL);
}

static int xsend_flag(int base, int add)
{
    return add == XSEND_UNSET ? base : add;
}

static void *xsend_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const xsend_conf *base = base_conf, *add = add_conf;
    xsend_conf *conf = apr_palloc(p, sizeof *conf);

    conf->on = xsend_flag(base->on, add->on);
    conf->ignore_etag = xsend_flag(base->ignore_etag, add->ignore_etag);
    conf->ignore_last_modified = xsend_flag(base->ignore_last_modified, add->ignore_last_modified);
    conf->paths = apr_array_append(p, base->paths, add->paths);
    return conf;
}

/* ---- which file ---- */

static const char *xsend_folder_of(request_rec *r)
{
    return r->filename ? ap_make_dirstr_parent(r->pool, r->filename) : NULL;
}

static apr_status_t xsend_below(request_rec *r, const char *root, const char *name, char **path)
{
    return apr_filepath_merge(path, root, name, APR_FILEPATH_TRUENAME | APR_FILEPATH_NOTABOVEROOT,
                              r->pool);
}

static apr_status_t xsend_find(request_rec *r, const xsend_conf *server, const char *name,
                               char **path)
{
    const char *folder = xsend_folder_of(r);
    apr_status_t rv = folder ? xsend_below(r, folder, name, path) : APR_EBADPATH;

    for (int i = 0; rv != APR_SUCCESS && i < server->paths->nelts; i++)
        rv = xsend_below(r, APR_ARRAY_IDX(server->paths, i, const char *), name, path);
    return rv;
}

static apr_status_t xsend_open(request_rec *r, const xsend_conf *server, const char *name,
                               apr_file_t **file, apr_finfo_t *finfo)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const apr_int32_t sendfile =
        core->enable_sendfile != ENABLE_SENDFILE_OFF ? APR_SENDFILE_ENABLED : 0;
    char *path;
    apr_status_t rv = xsend_find(r, server, name, &path);

    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "xsendfile: unable to find file: %s", name);
        return rv;
    }
    /* a named pipe must not be waited for */
    rv = apr_file_open(file, path, APR_READ | APR_BINARY | APR_FOPEN_NONBLOCK | sendfile, 0,
                       r->pool);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "xsendfile: cannot open file: %s", path);
        return rv;
    }
    rv = apr_file_info_get(finfo, APR_FINFO_NORM, *file);
    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "xsendfile: unable to stat file: %s", path);
    else if (finfo->filetype != APR_REG)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv = APR_EBADPATH, r, "xsendfile: not a file %s",
                      path);
    else
        return APR_SUCCESS;
    apr_file_close(*file);
    return rv;
}

/* ---- the filter ---- */

/* The field goes, also where it names nothing. */
static const char *xsend_take_field(request_rec *r)
{
    const char *name = apr_table_get(r->headers_out, XSEND_FIELD);

    if (!name)
        name = apr_table_get(r->err_headers_out, XSEND_FIELD);
    apr_table_unset(r->headers_out, XSEND_FIELD);
    apr_table_unset(r->err_headers_out, XSEND_FIELD);
    return name && *name ? name : NULL;
}

/* Conditions and parts are those of the file. CGI programs put Range aside, see modules/cgid. */
static void xsend_condition(request_rec *r)
{
    const char *range = apr_table_get(r->notes, "brg-range");
    const int status = ap_meets_conditions(r);

    if (status != OK)
        r->status = status;
    else if (range && !apr_table_get(r->headers_in, "Range"))
        apr_table_setn(r->headers_in, "Range", range);
}

static void xsend_head(request_rec *r, const xsend_conf *conf, const apr_finfo_t *finfo)
{
    apr_table_unset(r->headers_out, "Content-Length");
    apr_table_unset(r->err_headers_out, "Content-Length");
    apr_table_unset(r->headers_out, "Content-Encoding");
    apr_table_unset(r->err_headers_out, "Content-Encoding");
    r->finfo = *finfo;
    if (conf->ignore_last_modified == 1 || !apr_table_get(r->headers_out, "Last-Modified")) {
        apr_table_unset(r->headers_out, "Last-Modified");
        r->mtime = 0;
        ap_update_mtime(r, finfo->mtime);
        ap_set_last_modified(r);
    }
    if (conf->ignore_etag == 1 || !apr_table_get(r->headers_out, "ETag")) {
        apr_table_unset(r->headers_out, "ETag");
        ap_set_etag(r);
    }
    ap_set_content_length(r, finfo->size);
    xsend_condition(r);
}

static apr_status_t xsend_file(ap_filter_t *f, apr_file_t *file, apr_off_t size)
{
    apr_bucket_brigade *bb = apr_brigade_create(f->r->pool, f->c->bucket_alloc);

    if (size)
        apr_brigade_insert_file(bb, file, 0, size, f->r->pool);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t xsend_pass_on(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static xsend_conf *xsend_conf_of(request_rec *r)
{
    return xsend_merge(r->pool, ap_get_module_config(r->server->module_config, &xsendfile_module),
                       ap_get_module_config(r->per_dir_config, &xsendfile_module));
}

static apr_status_t xsend_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    xsend_ctx *ctx = f->ctx;
    const xsend_conf *conf;
    const char *name;
    apr_file_t *file;
    apr_finfo_t finfo;

    if (ctx && ctx->over) { /* the program's own body */
        apr_brigade_cleanup(bb);
        return APR_SUCCESS;
    }
    if (r->main || r->status != HTTP_OK || !(name = xsend_take_field(r)))
        return xsend_pass_on(f, bb);
    apr_brigade_cleanup(bb);
    conf = xsend_conf_of(r);
    if (xsend_open(r, conf, name, &file, &finfo) != APR_SUCCESS) {
        ap_remove_output_filter(f);
        ap_die(HTTP_NOT_FOUND, r);
        return AP_FILTER_ERROR;
    }
    ctx = f->ctx = apr_pcalloc(r->pool, sizeof *ctx);
    ctx->over = 1;
    xsend_head(r, conf, &finfo);
    return xsend_file(f, file, finfo.size);
}

static void xsend_insert_filter(request_rec *r)
{
    const xsend_conf *server = ap_get_module_config(r->server->module_config, &xsendfile_module);
    const xsend_conf *dir = ap_get_module_config(r->per_dir_config, &xsendfile_module);

    if (xsend_flag(server->on, dir->on) == 1)
        ap_add_output_filter_handle(xsend_rec, NULL, r, r->connection);
}

/* ---- directives ---- */

static const char *xsend_set_flag(cmd_parms *cmd, void *mconfig, int on)
{
    char *conf =
        cmd->path ? mconfig : ap_get_module_config(cmd->server->module_config, &xsendfile_module);

    *(int *)(conf + (apr_size_t)cmd->info) = on;
    return NULL;
}

static const char *xsend_add_path(cmd_parms *cmd, void *mconfig, const char *path)
{
    xsend_conf *conf = ap_get_module_config(cmd->server->module_config, &xsendfile_module);

    APR_ARRAY_PUSH(conf->paths, const char *) = path;
    return NULL;
}

#define XSEND_MEMBER(name) ((void *)APR_OFFSETOF(xsend_conf, name))

static const command_rec xsend_commands[] = {
    AP_INIT_FLAG("XSendFile", xsend_set_flag, XSEND_MEMBER(on), OR_FILEINFO,
                 "whether X-Sendfile names files"),
    AP_INIT_FLAG("XSendFileIgnoreEtag", xsend_set_flag, XSEND_MEMBER(ignore_etag), OR_FILEINFO,
                 "whether the ETag of the program does not count"),
    AP_INIT_FLAG("XSendFileIgnoreLastModified", xsend_set_flag, XSEND_MEMBER(ignore_last_modified),
                 OR_FILEINFO, "whether the Last-Modified of the program does not count"),
    AP_INIT_TAKE1("XSendFilePath", xsend_add_path, NULL, RSRC_CONF | ACCESS_CONF,
                  "Allow to serve files from that Path. Must be absolute"),
    {0},
};

static void xsend_register_hooks(apr_pool_t *p)
{
    xsend_rec = ap_register_output_filter("XSENDFILE", xsend_filter, NULL, AP_FTYPE_CONTENT_SET);
    ap_hook_insert_filter(xsend_insert_filter, NULL, NULL, APR_HOOK_LAST + 1);
    brg_cache_declare(&xsendfile_module, NULL);
    brg_hooks_need_directive(&xsendfile_module, "insert_filter", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&xsendfile_module);
}

module AP_MODULE_DECLARE_DATA xsendfile_module = {
    STANDARD20_MODULE_STUFF, xsend_create_dir,     xsend_merge, xsend_create_server, xsend_merge,
    xsend_commands,          xsend_register_hooks, 0,
};
