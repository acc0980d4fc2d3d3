/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storage of its own: objects by number, without a walk through the file system.
 *
 *     brigade-apxs -c -i -a mod_sample_storage.c
 *
 *     SampleObjects /objects /srv/objects          # in the server, or in a VirtualHost
 *
 *     curl http://localhost/objects/4711           # the file /srv/objects/11/4711
 *
 * The path is made from the number, so nothing has to be looked for: translate_name says which file it is, map_to_storage
 * that no directory is to be walked, and the handler opens the file and asks what it opened. That is one open and one fstat
 * for a response; a walk would look at each name first.
 *
 * <Directory> sections, access files and link options belong to the walk: they do not count here. <Location> does, and so do
 * all conditions of requests, ranges and filters.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"

module AP_MODULE_DECLARE_DATA sample_storage_module;

#define STORAGE_HANDLER "sample-object"
#define STORAGE_DIGITS 18

typedef struct storage_conf {
    const char *prefix, *folder; /* NULL: not set here */
} storage_conf;

static void *storage_create_conf(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(storage_conf));
}

static void *storage_merge_conf(apr_pool_t *p, void *main_server, void *virtual_host)
{
    return ((storage_conf *)virtual_host)->prefix ? virtual_host : main_server;
}

static const char *storage_set(cmd_parms *cmd, void *dir_conf, const char *prefix,
                               const char *folder)
{
    storage_conf *conf = ap_get_module_config(cmd->server->module_config, &sample_storage_module);

    if (prefix[0] != '/' || !prefix[1] || prefix[strlen(prefix) - 1] == '/')
        return "SampleObjects: the first argument begins with a slash, and does not end with one";
    conf->folder = ap_server_root_relative(cmd->pool, folder);
    if (!conf->folder)
        return apr_pstrcat(cmd->pool, "SampleObjects: invalid path ", folder, NULL);
    conf->prefix = prefix;
    return NULL;
}

static const command_rec storage_commands[] = {
    AP_INIT_TAKE2("SampleObjects", storage_set, NULL, RSRC_CONF, "a path of URLs, and a folder"),
    {.name = NULL}};

/* The number that stands behind the prefix, or NULL. */
static const char *storage_number(const storage_conf *conf, const char *uri)
{
    const apr_size_t len = conf->prefix ? strlen(conf->prefix) : 0;
    apr_size_t digits = 0;

    if (!len || strncmp(uri, conf->prefix, len) || uri[len] != '/')
        return NULL;
    uri += len + 1;
    while (apr_isdigit(uri[digits]))
        digits++;
    return digits && digits <= STORAGE_DIGITS && !uri[digits] ? uri : NULL;
}

/* The path has nothing of the URL but digits, so it cannot lead out of the folder. */
static int storage_translate(request_rec *r)
{
    const storage_conf *conf =
        ap_get_module_config(r->server->module_config, &sample_storage_module);
    const char *number = storage_number(conf, r->uri);
    apr_size_t len;

    if (!number)
        return DECLINED;
    len = strlen(number);
    r->filename = apr_pstrcat(r->pool, conf->folder, "/", len < 2 ? "0" : "",
                              len < 2 ? number : number + len - 2, "/", number, NULL);
    ap_set_module_config(r->request_config, &sample_storage_module, r->filename);
    return OK;
}

/* OK: no other module maps it, and the server's own walk does not run. */
static int storage_map(request_rec *r)
{
    if (!ap_get_module_config(r->request_config, &sample_storage_module))
        return DECLINED;
    r->handler = STORAGE_HANDLER;
    return OK;
}

/* @return OK with the file open and r->finfo of it */
static int storage_open(request_rec *r, apr_file_t **file)
{
    apr_status_t rv = apr_file_open(file, r->filename, APR_FOPEN_READ | APR_FOPEN_NONBLOCK,
                                    APR_FPROT_OS_DEFAULT, r->pool);

    if (rv != APR_SUCCESS)
        return APR_STATUS_IS_EACCES(rv) ? HTTP_FORBIDDEN : HTTP_NOT_FOUND;
    rv = apr_file_info_get(
        &r->finfo, APR_FINFO_TYPE | APR_FINFO_SIZE | APR_FINFO_MTIME | APR_FINFO_IDENT, *file);
    return rv == APR_SUCCESS && r->finfo.filetype == APR_REG ? OK : HTTP_NOT_FOUND;
}

static int storage_send(request_rec *r, apr_file_t *file)
{
    apr_bucket_alloc_t *list = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, list);

    apr_brigade_insert_file(bb, file, 0, r->finfo.size, r->pool);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(list));
    return ap_pass_brigade(r->output_filters, bb) == APR_SUCCESS ? OK : AP_FILTER_ERROR;
}

static int storage_answer(request_rec *r)
{
    apr_file_t *file;
    int status;

    if (!r->handler || strcmp(r->handler, STORAGE_HANDLER))
        return DECLINED;
    r->allowed |= AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET)
        return HTTP_METHOD_NOT_ALLOWED;
    if ((status = ap_discard_request_body(r)) != OK || (status = storage_open(r, &file)) != OK)
        return status;
    ap_set_content_type(r, "application/octet-stream");
    ap_update_mtime(r, r->finfo.mtime);
    ap_set_last_modified(r);
    ap_set_etag(r);
    ap_set_accept_ranges(r);
    ap_set_content_length(r, r->finfo.size);
    status = ap_meets_conditions(r);
    return status == OK ? storage_send(r, file) : status;
}

static void storage_register_hooks(apr_pool_t *p)
{
    ap_hook_translate_name(storage_translate, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_map_to_storage(storage_map, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(storage_answer, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(sample_storage) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, storage_create_conf, storage_merge_conf, storage_commands,
    storage_register_hooks,  0};
