/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of limits: on requests, ranges, recursion and the resources of programs. */
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "http_config.h"
#include "http_core.h"
#include "unixd.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <errno.h>
#include "core_private.h"
#include "regex_limits.h"

/* ---- request heads ---- */

static const char *core_head_limit(cmd_parms *cmd, const char *arg, int *to, const char *note)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    apr_int64_t n;

    if (error)
        return error;
    if (core_number_begin(cmd, arg, 0, APR_INT32_MAX, &n))
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " \"", arg,
                           "\" must be a non-negative integer", note, NULL);
    BRG_ASSERT(n >= 0 && n <= APR_INT32_MAX);
    *to = (int)n;
    return NULL;
}

const char *core_set_limit_line(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_head_limit(cmd, arg, &cmd->server->limit_req_line, "");
}

const char *core_set_limit_fieldsize(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_head_limit(cmd, arg, &cmd->server->limit_req_fieldsize, "");
}

const char *core_set_limit_fields(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_head_limit(cmd, arg, &cmd->server->limit_req_fields, " (0 = no limit)");
}

/* ---- regular expressions ---- */

const char *core_set_regex_limit(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n;

    if (!error)
        error = core_number(cmd, arg, 1, REGEX_LIMIT_MAX, &n);
    if (!error)
        regex_limit_set((unsigned)n);
    return error;
}

/* ---- bodies ---- */

const char *core_set_limit_body(cmd_parms *cmd, void *dir, const char *arg)
{
    apr_int64_t n;

    if (core_number(cmd, arg, 0, APR_INT64_MAX, &n))
        return "LimitRequestBody requires a non-negative integer.";
    ((core_dir_config *)dir)->limit_req_body = n;
    return NULL;
}

const char *core_set_limit_xml_body(cmd_parms *cmd, void *dir, const char *arg)
{
    apr_int64_t n;

    if (core_number_begin(cmd, arg, 0, APR_INT64_MAX - 1, &n))
        return "LimitXMLRequestBody requires a non-negative integer.";
    ((core_dir_config *)dir)->limit_xml_body = (long)n;
    return NULL;
}

const char *core_set_read_buf_size(cmd_parms *cmd, void *dir, const char *arg)
{
    apr_int64_t n;
    const char *error = core_number(cmd, arg, 0, APR_UINT32_MAX, &n);

    if (!error)
        ((core_dir_config *)dir)->read_buf_size = (apr_size_t)n;
    return error;
}

/* ---- ranges ---- */

static const char *core_range_limit(cmd_parms *cmd, const char *arg, int *to)
{
    apr_int64_t n;

    if (!ap_cstr_casecmp(arg, "none"))
        *to = AP_MAXRANGES_NORANGES;
    else if (!ap_cstr_casecmp(arg, "default"))
        *to = AP_MAXRANGES_DEFAULT;
    else if (!ap_cstr_casecmp(arg, "unlimited"))
        *to = AP_MAXRANGES_UNLIMITED;
    else if (!core_number_begin(cmd, arg, 1, APR_INT32_MAX, &n))
        *to = (int)n;
    else
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " requires 'none', 'default', 'unlimited' or a positive integer", NULL);
    return NULL;
}

const char *core_set_max_ranges(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_range_limit(cmd, arg, &((core_dir_config *)dir)->max_ranges);
}

const char *core_set_max_overlaps(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_range_limit(cmd, arg, &((core_dir_config *)dir)->max_overlaps);
}

const char *core_set_max_reversals(cmd_parms *cmd, void *dir, const char *arg)
{
    return core_range_limit(cmd, arg, &((core_dir_config *)dir)->max_reversals);
}

/* ---- recursion ---- */

const char *core_set_recursion_limit(cmd_parms *cmd, void *dir, const char *redirects,
                                     const char *subrequests)
{
    core_server_config *c = core_conf(cmd);
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    apr_int64_t n, m;

    if (error)
        return error;
    if (core_number_begin(cmd, redirects, 1, APR_INT32_MAX, &n))
        return "The recursion limit must be greater than zero.";
    m = n;
    if (subrequests && core_number_begin(cmd, subrequests, 1, APR_INT32_MAX, &m))
        return "The recursion limit must be greater than zero.";
    c->redirect_limit = (int)n;
    c->subreq_limit = (int)m;
    return NULL;
}

/* ---- resources of programs that are started ---- */

/* The words for ap_unixd_set_rlimit(): "max", which negative numbers are to the system, too, or a number as digits. */
static const char *core_rlimit_word(cmd_parms *cmd, const char *arg)
{
    apr_int64_t n;

    if (!arg || !ap_cstr_casecmp(arg, "max"))
        return arg;
    n = brg_argument_number(cmd, arg);
    return n < 0 ? "max" : apr_psprintf(cmd->pool, "%" APR_INT64_T_FMT, n);
}

const char *core_set_rlimit(cmd_parms *cmd, void *dir, const char *soft, const char *hard)
{
    core_dir_config *d = dir;
    int which = (int)(apr_uintptr_t)cmd->info;
    struct rlimit **to = which == RLIMIT_CPU     ? &d->limit_cpu
                         : which == RLIMIT_NPROC ? &d->limit_nproc
                                                 : &d->limit_mem;

    BRG_ASSERT(soft != NULL && to != NULL);
    ap_unixd_set_rlimit(cmd, to, core_rlimit_word(cmd, soft), core_rlimit_word(cmd, hard), which);
    return NULL;
}
