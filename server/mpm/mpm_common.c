/* SPDX-License-Identifier: Apache-2.0 */
/* ap_mpm.h and mpm_common.h: the hooks, and the directives that every process model shares. */
#include "mpm_settings.h"
#include "pidfile.h"
#include "core_settings.h"
#include "setting.h"
#include "brigade/assert.h"
#include "brigade/directive.h"

#include "ap_mpm.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"

#include "apr_portable.h"
#include "apr_strings.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

APLOG_USE_MODULE(core);

/* clang-format off */
APR_HOOK_STRUCT(
    APR_HOOK_LINK(mpm)
    APR_HOOK_LINK(monitor)
    APR_HOOK_LINK(drop_privileges)
    APR_HOOK_LINK(mpm_query)
    APR_HOOK_LINK(mpm_register_timed_callback)
    APR_HOOK_LINK(mpm_get_name)
    APR_HOOK_LINK(end_generation)
    APR_HOOK_LINK(child_status)
    APR_HOOK_LINK(suspend_connection)
    APR_HOOK_LINK(resume_connection)
    APR_HOOK_LINK(child_stopping)
    APR_HOOK_LINK(get_mgmt_items)
)

AP_IMPLEMENT_HOOK_RUN_FIRST(int, mpm, (apr_pool_t *pconf, apr_pool_t *plog, server_rec *s),
                            (pconf, plog, s), DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, monitor, (apr_pool_t *p, server_rec *s), (p, s), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, drop_privileges, (apr_pool_t *pchild, server_rec *s), (pchild, s),
                          OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, mpm_query, (int query_code, int *result, apr_status_t *status),
                            (query_code, result, status), DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(apr_status_t, mpm_register_timed_callback,
                            (apr_time_t t, ap_mpm_callback_fn_t *cbfn, void *baton),
                            (t, cbfn, baton), APR_ENOTIMPL)
AP_IMPLEMENT_HOOK_RUN_FIRST(const char *, mpm_get_name, (void), (), NULL)
AP_IMPLEMENT_HOOK_VOID(end_generation, (server_rec *s, ap_generation_t gen), (s, gen))
AP_IMPLEMENT_HOOK_VOID(child_status, (server_rec *s, pid_t pid, ap_generation_t gen, int slot,
                                      mpm_child_status state), (s, pid, gen, slot, state))
AP_IMPLEMENT_HOOK_VOID(suspend_connection, (conn_rec *c, request_rec *r), (c, r))
AP_IMPLEMENT_HOOK_VOID(resume_connection, (conn_rec *c, request_rec *r), (c, r))
AP_IMPLEMENT_HOOK_VOID(child_stopping, (apr_pool_t *pchild, int graceful), (pchild, graceful))
AP_IMPLEMENT_HOOK_RUN_ALL(int, get_mgmt_items, (apr_pool_t *p, const char *val, apr_hash_t *ht),
                          (p, val, ht), OK, DECLINED)
/* clang-format on */

AP_DECLARE_DATA int ap_max_requests_per_child;
AP_DECLARE_DATA const char *ap_pid_fname;
AP_DECLARE_DATA char ap_coredump_dir[MAX_STRING_LEN];
AP_DECLARE_DATA int ap_coredumpdir_configured;
AP_DECLARE_DATA int ap_graceful_shutdown_timeout;
AP_DECLARE_DATA apr_uint32_t ap_max_mem_free;
AP_DECLARE_DATA apr_size_t ap_thread_stacksize;

#define MPM_DEFAULT_MAX_MEM_FREE (2048 * 1024)

/* ---- queries ---- */

AP_DECLARE(apr_status_t) ap_mpm_query(int query_code, int *result)
{
    apr_status_t rv;

    return ap_run_mpm_query(query_code, result, &rv) == DECLINED ? APR_EGENERAL : rv;
}

AP_DECLARE(apr_status_t)
ap_mpm_register_timed_callback(apr_time_t t, ap_mpm_callback_fn_t *cbfn, void *baton)
{
    return ap_run_mpm_register_timed_callback(t, cbfn, baton);
}

AP_DECLARE(const char *) ap_check_mpm(void)
{
    return NULL; /* ours is always there */
}

AP_DECLARE(apr_status_t)
ap_os_create_privileged_process(const request_rec *r, apr_proc_t *newproc, const char *progname,
                                const char *const *args, const char *const *env,
                                apr_procattr_t *attr, apr_pool_t *p)
{
    return apr_proc_create(newproc, progname, args, env, attr, p);
}

void ap_sock_disable_nagle(apr_socket_t *s)
{
    apr_status_t rv = apr_socket_opt_set(s, APR_TCP_NODELAY, 1);

    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, ap_server_conf,
                     APLOGNO(00542) "apr_socket_opt_set: (TCP_NODELAY)");
}

/* ---- shared directives ---- */

#define MPM_STACK_MOST (1L << 30)

/* A number outside of the bounds becomes the nearest that is not; from @a refused down it is refused. */
static const char *mpm_apaches_number(cmd_parms *cmd, const char *arg, long refused, long min,
                                      long max, long *value)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n;

    BRG_ASSERT(min <= max);
    if (!err)
        err = conf_number_begin(cmd, arg, refused, APR_INT64_MAX, &n);
    if (!err)
        *value = (long)brg_argument_clamp(cmd, n, min, max);
    return err;
}

const char *ap_mpm_set_max_requests(cmd_parms *cmd, void *dummy, const char *arg)
{
    long n;
    const char *err = mpm_apaches_number(cmd, arg, LONG_MIN, 0, INT_MAX, &n);

    if (!err)
        ap_max_requests_per_child = (int)n;
    return err;
}

const char *ap_mpm_set_pidfile(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (err)
        return err;
    if (!*arg)
        return "PidFile needs a file name";
    ap_pid_fname = arg;
    return NULL;
}

void ap_mpm_dump_pidfile(apr_pool_t *p, apr_file_t *out)
{
    const char *name = ap_pid_fname ? ap_pid_fname : DEFAULT_PIDLOG;

    apr_file_printf(out, "PidFile: \"%s\"\n",
                    pidfile_wanted(name) ? ap_server_root_relative(p, name) : name);
}

const char *ap_mpm_set_coredumpdir(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *path;
    apr_finfo_t finfo;

    if (err)
        return err;
    if (!(path = ap_server_root_relative(cmd->temp_pool, arg)))
        return apr_pstrcat(cmd->pool, "Invalid CoreDumpDirectory path ", arg, NULL);
    if (apr_stat(&finfo, path, APR_FINFO_TYPE, cmd->pool) != APR_SUCCESS ||
        finfo.filetype != APR_DIR)
        return apr_pstrcat(cmd->pool, "CoreDumpDirectory ", path,
                           " does not exist or is not a directory", NULL);
    apr_cpystrn(ap_coredump_dir, path, sizeof ap_coredump_dir);
    ap_coredumpdir_configured = 1;
    return NULL;
}

AP_DECLARE(const char *)
ap_mpm_set_graceful_shutdown(cmd_parms *cmd, void *dummy, const char *arg)
{
    long n;
    const char *err = mpm_apaches_number(cmd, arg, LONG_MIN, 0, INT_MAX, &n);

    if (!err)
        ap_graceful_shutdown_timeout = (int)n;
    return err;
}

const char *ap_mpm_set_max_mem_free(cmd_parms *cmd, void *dummy, const char *arg)
{
    long n;
    const char *err = mpm_apaches_number(cmd, arg, 0, 0, INT_MAX / 1024, &n);

    if (!err) /* 0 means without limit, which is APR's meaning too */
        ap_max_mem_free = (apr_uint32_t)n * 1024;
    return err;
}

const char *ap_mpm_set_thread_stacksize(cmd_parms *cmd, void *dummy, const char *arg)
{
    long n;
    const char *err = mpm_apaches_number(cmd, arg, 0, 0, MPM_STACK_MOST, &n);

    if (!err) /* 0: as large as the system makes them */
        ap_thread_stacksize =
            (apr_size_t)(n ? brg_argument_clamp(cmd, n, PTHREAD_STACK_MIN, MPM_STACK_MOST) : 0);
    return err;
}

/* A directive that a configuration does not name has its default again. */
void mpm_common_pre_config(apr_pool_t *pconf)
{
    ap_max_requests_per_child = 0;
    ap_pid_fname = DEFAULT_PIDLOG;
    ap_coredump_dir[0] = '\0';
    if (ap_server_root)
        apr_cpystrn(ap_coredump_dir, ap_server_root, sizeof ap_coredump_dir);
    ap_coredumpdir_configured = 0;
    ap_graceful_shutdown_timeout = 0;
    ap_max_mem_free = MPM_DEFAULT_MAX_MEM_FREE;
    ap_thread_stacksize = 0;
}
