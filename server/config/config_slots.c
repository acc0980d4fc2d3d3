/* SPDX-License-Identifier: Apache-2.0 */
/* Setters for directives that store one value: cmd->info is the offset of the field. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_main.h"
#include "apr_strings.h"
#include <errno.h>
#include <limits.h>
#include "configuration.h"

static void *conf_field(const cmd_parms *cmd, void *struct_ptr)
{
    return (char *)struct_ptr + (apr_size_t)cmd->info;
}

AP_DECLARE_NONSTD(const char *)
ap_set_string_slot(cmd_parms *cmd, void *struct_ptr, const char *arg)
{
    *(const char **)conf_field(cmd, struct_ptr) = arg;
    return NULL;
}

AP_DECLARE_NONSTD(const char *)
ap_set_string_slot_lower(cmd_parms *cmd, void *struct_ptr, const char *arg_)
{
    char *arg = apr_pstrdup(cmd->pool, arg_);

    ap_str_tolower(arg);
    *(char **)conf_field(cmd, struct_ptr) = arg;
    return NULL;
}

AP_DECLARE_NONSTD(const char *)
ap_set_int_slot(cmd_parms *cmd, void *struct_ptr, const char *arg)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(arg, &end, 10);
    if (errno == ERANGE || value < INT_MIN || value > INT_MAX)
        return apr_psprintf(cmd->pool, "Integer value \"%s\" for %s is out of range", arg,
                            cmd->cmd->name);
    if (end == arg || *end)
        return apr_psprintf(cmd->pool, "Integer invalid number: \"%s\" for %s", arg,
                            cmd->cmd->name);
    *(int *)conf_field(cmd, struct_ptr) = (int)value;
    return NULL;
}

AP_DECLARE_NONSTD(const char *) ap_set_flag_slot(cmd_parms *cmd, void *struct_ptr, int arg)
{
    *(int *)conf_field(cmd, struct_ptr) = arg ? 1 : 0;
    return NULL;
}

AP_DECLARE_NONSTD(const char *) ap_set_flag_slot_char(cmd_parms *cmd, void *struct_ptr, int arg)
{
    *(char *)conf_field(cmd, struct_ptr) = arg ? 1 : 0;
    return NULL;
}

AP_DECLARE_NONSTD(const char *)
ap_set_file_slot(cmd_parms *cmd, void *struct_ptr, const char *file)
{
    const char *path = ap_server_root_relative(cmd->pool, file);

    if (!path)
        return apr_pstrcat(cmd->pool, "Invalid file path ", file, NULL);
    *(const char **)conf_field(cmd, struct_ptr) = path;
    return NULL;
}

AP_DECLARE_NONSTD(const char *)
ap_set_deprecated(cmd_parms *cmd, void *struct_ptr, const char *arg)
{
    return cmd->cmd->errmsg;
}

/* ---- paths ---- */

static char *conf_path_below(apr_pool_t *p, const char *root, const char *fname)
{
    char *path = NULL;
    apr_status_t rv;

    if (!root)
        return apr_pstrdup(p, fname);
    rv = apr_filepath_merge(&path, root, fname, APR_FILEPATH_TRUENAME, p);
    if (path && (rv == APR_SUCCESS || APR_STATUS_IS_EPATHWILD(rv) || APR_STATUS_IS_ENOENT(rv) ||
                 APR_STATUS_IS_ENOTDIR(rv)))
        return path;
    return NULL;
}

AP_DECLARE(char *) ap_server_root_relative(apr_pool_t *p, const char *fname)
{
    return conf_path_below(p, ap_server_root, fname);
}

AP_DECLARE(char *) ap_runtime_dir_relative(apr_pool_t *p, const char *fname)
{
    const char *dir = ap_runtime_dir ? ap_runtime_dir : DEFAULT_REL_RUNTIMEDIR;

    return conf_path_below(p, ap_server_root_relative(p, dir), fname);
}

/* ---- data that outlives a generation ---- */

AP_DECLARE(void *) ap_retained_data_create(const char *key, apr_size_t size)
{
    void *data = apr_pcalloc(ap_pglobal, size);

    apr_pool_userdata_set(data, apr_pstrdup(ap_pglobal, key), apr_pool_cleanup_null, ap_pglobal);
    return data;
}

AP_DECLARE(void *) ap_retained_data_get(const char *key)
{
    void *data = NULL;

    apr_pool_userdata_get(&data, key, ap_pglobal);
    return data;
}

AP_DECLARE_NONSTD(apr_status_t) ap_pool_cleanup_set_null(void *data)
{
    *(void **)data = NULL;
    return APR_SUCCESS;
}
