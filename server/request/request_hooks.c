/* SPDX-License-Identifier: Apache-2.0 */
/* The core's hooks in the phases of a request. They run behind those of modules. */
#include "request_parts.h"
#include "core_settings.h"
#include "request_context.h"
#include "walk_private.h"
#include "folder_private.h"
#include "file_open_private.h"
#include "auth_helpers.h"
#include "expr_depends.h"
#include "ap_expr.h"
#include "http_log.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/loop.h"
#include "apr_strings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

/* ---- translate_name ---- */

static int translate_has_prefix(const char *uri, const char *prefix, int len)
{
    return len > 0 && !strncmp(uri, prefix, (apr_size_t)len) &&
           (prefix[len - 1] == '/' || uri[len] == '/' || !uri[len]);
}

/* No empty segment, none that is or starts like "." or "..": it can be appended as it is. */
static int translate_is_plain(const char *path)
{
    if (*path == '.' || *path == '/')
        return 0;
    for (; *path; path++)
        if (*path == '/' && (path[1] == '/' || path[1] == '.'))
            return 0;
    return 1;
}

static apr_status_t translate_join(request_rec *r, const char *root, const char *path)
{
    apr_size_t root_len, path_len;
    char *name;

    BRG_ASSERT(path[0] != '/');
    if (root[0] != '/' || !translate_is_plain(path)) {
        return apr_filepath_merge(&r->filename, root, path,
                                  APR_FILEPATH_TRUENAME | APR_FILEPATH_SECUREROOT, r->pool);
    }
    root_len = strlen(root);
    path_len = strlen(path);
    if (root[root_len - 1] == '/')
        root_len--;
    name = apr_palloc(r->pool, root_len + path_len + 2);
    memcpy(name, root, root_len);
    name[root_len] = '/';
    memcpy(name + root_len + 1, path, path_len + 1);
    r->filename = name;
    return APR_SUCCESS;
}

AP_DECLARE_NONSTD(int) ap_core_translate(request_rec *r)
{
    const core_server_config *conf = ap_get_core_module_config(r->server->module_config);
    const char *path = r->uri;
    apr_status_t rv;

    if (r->proxyreq)
        return HTTP_FORBIDDEN;
    if (!path || (path[0] != '/' && strcmp(path, "*"))) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00126) "Invalid URI in request '%s' '%s'", path ? path : "-",
                      r->the_request ? r->the_request : "-");
        return HTTP_BAD_REQUEST;
    }
    if (r->server->path && translate_has_prefix(path, r->server->path, r->server->pathlen))
        path += r->server->pathlen;
    while (*path == '/')
        path++;
    rv = translate_join(r, conf->ap_document_root ? conf->ap_document_root : "/", path);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, APLOGNO(00127) "Cannot map %s to file",
                      r->the_request ? r->the_request : r->uri);
        return HTTP_FORBIDDEN;
    }
    r->canonical_filename = r->filename;
    return OK;
}

/* ---- map_to_storage ---- */

static int storage_is_file(request_rec *r)
{
    int status = ap_directory_walk(r);

    return status == OK ? ap_file_walk(r) : status;
}

/* ---- type_checker, access_checker: no module refused ---- */

static int phase_ok(request_rec *r)
{
    return OK;
}

/* ---- fixups ---- */

static int type_set_handler(request_rec *r, const core_dir_config *conf)
{
    const char *handler = conf->handler, *err = NULL;

    if (conf->expr_handler) {
        if (expr_name_all(r, conf->expr_handler))
            request_mark_volatile(r, "core.c", "the expression of SetHandler looks at the request");
        handler = ap_expr_str_exec(r, conf->expr_handler, &err);
        if (err) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(03154) "Can't evaluate handler expression: %s", err);
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    }
    if (handler && strcmp(handler, "none"))
        r->handler = handler;
    return OK;
}

/* SetHandler, ForceType and AcceptPathInfo outweigh results by the file's name. */
static int type_override(request_rec *r)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);

    if (!r->main && (conf->hostname_lookups == HOSTNAME_LOOKUP_ON ||
                     conf->hostname_lookups == HOSTNAME_LOOKUP_DOUBLE)) {
        /* Now, while the request may wait: logs are written by event loops. */
        ap_get_useragent_host(r, REMOTE_NAME, NULL);
        request_mark_volatile(r, "core.c", "HostnameLookups asks for the name of the client");
    }
    if (conf->mime_type && strcmp(conf->mime_type, "none"))
        ap_set_content_type_ex(r, conf->mime_type, 1);
    /* Values other than the three mean that it was not configured. */
    if (r->used_path_info == AP_REQ_DEFAULT_PATH_INFO &&
        (conf->accept_path_info == AP_REQ_ACCEPT_PATH_INFO ||
         conf->accept_path_info == AP_REQ_REJECT_PATH_INFO))
        r->used_path_info = conf->accept_path_info;
    return type_set_handler(r, conf);
}

/* ---- insert_filter ---- */

/* SetOutputFilter and SetInputFilter: names with semicolons between. */
static void filter_configured(request_rec *r, const char *names,
                              ap_filter_t *(*add)(const char *, void *, request_rec *, conn_rec *))
{
    const char *name;

    while (*names && (name = ap_getword(r->pool, &names, ';')) != NULL)
        if (*name)
            add(name, NULL, r, r->connection);
}

static void filters_insert(request_rec *r)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);

    if (conf->output_filters)
        filter_configured(r, conf->output_filters, ap_add_output_filter);
    if (conf->input_filters)
        filter_configured(r, conf->input_filters, ap_add_input_filter);
}

/* ---- registration ---- */

static int request_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                               server_rec *s)
{
    ap_setup_auth_internal(ptemp);
    walk_merge_open(pconf);
    file_mounts_open();
    return OK;
}

void request_register_hooks(apr_pool_t *p)
{
    /* The core registers first: promises of modules are counted from here. */
    ap_clear_auth_internal();
    subreq_register_filters();

    ap_hook_post_config(request_post_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_optional_fn_retrieve(auth_helpers_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_create_request(request_conf_create, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_create_request(folder_request_begin, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_translate_name(ap_core_translate, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_map_to_storage(storage_is_file, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_dirwalk_stat(walk_stat, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_check_access(phase_ok, NULL, NULL, APR_HOOK_REALLY_LAST, AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_type_checker(phase_ok, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_fixups(type_override, NULL, NULL, APR_HOOK_REALLY_FIRST);
    brg_hook_turn_end(file_mounts_turn, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_insert_filter(filters_insert, NULL, NULL, APR_HOOK_MIDDLE);
}
