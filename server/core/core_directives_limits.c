/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of limits: on requests, ranges, recursion and the resources of programs. */
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "http_config.h"
#include "http_core.h"
#include "unixd.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stddef.h>
#include "core_private.h"
#include "regex_limits.h"

/* ---- request heads ---- */

/* cmd->info: the limit's place in a server_rec. */
const char *core_set_head_limit(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    const int fields = (apr_size_t)cmd->info == offsetof(server_rec, limit_req_fields);
    apr_int64_t n;

    if (error)
        return error;
    if (conf_number_begin(cmd, arg, 0, APR_INT32_MAX, &n))
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " \"", arg,
                           "\" must be a non-negative integer", fields ? " (0 = no limit)" : "",
                           NULL);
    *(int *)(void *)((char *)cmd->server + (apr_size_t)cmd->info) = (int)n;
    return NULL;
}

/* ---- regular expressions ---- */

const char *core_set_regex_limit(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n;

    if (!error)
        error = conf_number(cmd, arg, 1, REGEX_LIMIT_MAX, &n);
    if (!error)
        regex_limit_set((unsigned)n);
    return error;
}

/* ---- ranges ---- */

/* cmd->info: the limit's place in a core_dir_config. */
const char *core_set_range_limit(cmd_parms *cmd, void *dir, const char *arg)
{
    static const conf_word words[] = {{"none", AP_MAXRANGES_NORANGES},
                                      {"default", AP_MAXRANGES_DEFAULT},
                                      {"unlimited", AP_MAXRANGES_UNLIMITED},
                                      {NULL, 0}};
    int *to = (void *)((char *)dir + (apr_size_t)cmd->info);
    apr_int64_t n;

    if (conf_word_find(words, arg, to))
        return NULL;
    if (conf_number_begin(cmd, arg, 1, APR_INT32_MAX, &n))
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " requires 'none', 'default', 'unlimited' or a positive integer", NULL);
    *to = (int)n;
    return NULL;
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
    if (conf_number_begin(cmd, redirects, 1, APR_INT32_MAX, &n))
        return "The recursion limit must be greater than zero.";
    m = n;
    if (subrequests && conf_number_begin(cmd, subrequests, 1, APR_INT32_MAX, &m))
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
