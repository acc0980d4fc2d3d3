/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of the file cache: what Apache does not have. Sizes may end in K, M or G. */
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "core_private.h"
#include "file_window.h"

const char *core_set_cache_validate(cmd_parms *cmd, void *dir, const char *arg)
{
    brg_core_conf *conf = core_conf_writable(cmd->server);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t seconds;

    if (error)
        return error;
    if (!ap_cstr_casecmp(arg, "inotify")) {
        conf->file_cache_validate = BRG_VALIDATE_INOTIFY;
    } else if (!ap_cstr_casecmp(arg, "stat")) {
        conf->file_cache_validate = BRG_VALIDATE_STAT;
    } else if (!core_number(cmd, arg, 1, 86400, &seconds)) {
        conf->file_cache_validate = BRG_VALIDATE_AGE;
        conf->file_cache_age_us = apr_time_from_sec(seconds);
    } else {
        return "FileCacheValidate must be inotify, stat, or a number of seconds (1 to 86400)";
    }
    return NULL;
}

static const char *core_size(cmd_parms *cmd, const char *arg, apr_off_t *to)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n;

    if (!error)
        error = core_bytes(cmd, arg, &n);
    if (!error)
        *to = (apr_off_t)n;
    return error;
}

const char *core_set_cache_size(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_size(cmd, arg, &core_conf_writable(cmd->server)->file_cache_bytes);
}

const char *core_set_cache_max_file(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_size(cmd, arg, &core_conf_writable(cmd->server)->file_cache_max_file_bytes);
}

/* @a least, @a most: of the number of bytes */
static const char *core_limit(cmd_parms *cmd, const char *arg, apr_off_t least, apr_off_t most,
                              size_t *to)
{
    apr_off_t n = 0;
    const char *error = core_size(cmd, arg, &n);

    if (!error && (n < least || n > most))
        return apr_psprintf(cmd->pool,
                            "%s must be from %" APR_OFF_T_FMT " to %" APR_OFF_T_FMT " bytes",
                            cmd->cmd->name, least, most);
    if (!error)
        *to = (size_t)n;
    return error;
}

const char *core_set_window_least(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_limit(cmd, arg, 1, APR_INT32_MAX, &file_limits_now.window_least);
}

const char *core_set_window_size(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_limit(cmd, arg, 65536, 1 << 30, &file_limits_now.window_bytes);
}

const char *core_set_sendfile_least(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_limit(cmd, arg, 1, APR_INT32_MAX, &file_limits_now.sendfile_least);
}

const char *core_set_cache_entries(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n;

    if (!error)
        error = core_number(cmd, arg, 0, 1 << 24, &n);
    if (!error)
        core_conf_writable(cmd->server)->file_cache_entries_n = (int)n;
    return error;
}
