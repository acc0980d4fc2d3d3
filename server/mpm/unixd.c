/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user that serves: User, Group, ChrootDir, Suexec, and the drop of privileges in a new server
 * process.
 *
 * In a server that an ordinary user starts none of this has an effect. The directives are then accepted
 * with a notice, so that a configuration that was written for root works unchanged.
 */
#include "ambient.h"
#include "brigade/response_cache.h"
#include "unixd.h"

#include "ap_mpm.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "mod_unixd.h"
#include "mpm_common.h"

#include "apr_portable.h"
#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <unistd.h>

APLOG_USE_MODULE(unixd);

APR_HOOK_STRUCT(APR_HOOK_LINK(get_suexec_identity))
AP_IMPLEMENT_HOOK_RUN_FIRST(ap_unix_identity_t *, get_suexec_identity, (const request_rec *r), (r),
                            NULL)

#define UNIXD_UNSET ((uid_t)-1)

AP_DECLARE_DATA unixd_config_rec ap_unixd_config;

static int unixd_noticed;

/* ---- names ---- */

static apr_status_t unixd_lookup_user(const char *name, uid_t *uid, const char **canonical)
{
    struct passwd *pw;

    if (*name == '#') {
        *uid = (uid_t)strtoul(name + 1, NULL, 10);
        pw = getpwuid(*uid);
        *canonical = pw ? pw->pw_name : NULL;
        return APR_SUCCESS;
    }
    if (!(pw = getpwnam(name)))
        return APR_ENOENT;
    *uid = pw->pw_uid;
    *canonical = pw->pw_name;
    return APR_SUCCESS;
}

AP_DECLARE(uid_t) ap_uname2id(const char *name)
{
    struct passwd *pw;

    if (*name == '#')
        return (uid_t)strtol(name + 1, NULL, 10);
    if (!(pw = getpwnam(name))) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP, 0, NULL, APLOGNO(00543) "%s: bad user name %s",
                     ap_server_argv0, name);
        exit(1);
    }
    return pw->pw_uid;
}

AP_DECLARE(gid_t) ap_gname2id(const char *name)
{
    struct group *gr;

    if (*name == '#')
        return (gid_t)strtol(name + 1, NULL, 10);
    if (!(gr = getgrnam(name))) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP, 0, NULL, APLOGNO(00544) "%s: bad group name %s",
                     ap_server_argv0, name);
        exit(1);
    }
    return gr->gr_gid;
}

/* ---- directives ---- */

static void unixd_notice(const cmd_parms *cmd)
{
    if (unixd_noticed)
        return;
    unixd_noticed = 1;
    ap_log_error(APLOG_MARK, APLOG_NOTICE | APLOG_STARTUP, 0, cmd->server,
                 "User, Group and ChrootDir have no effect: the server was not started as root");
}

/* To be told only of settings that the configuration asks for and does not get. */
static int unixd_runs_as_group(gid_t gid)
{
    gid_t groups[64];
    int n = getgroups(64, groups);

    for (int i = 0; i < n; i++)
        if (groups[i] == gid)
            return 1;
    return getegid() == gid;
}

static const char *unixd_set_user(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *canonical = NULL;

    if (err)
        return err;
    if (unixd_lookup_user(arg, &ap_unixd_config.user_id, &canonical) != APR_SUCCESS) {
        if (geteuid() == 0)
            return apr_psprintf(cmd->pool, "bad user name %s", arg);
        unixd_notice(cmd);
        ap_unixd_config.user_id = geteuid();
    }
    if (geteuid() != 0 && ap_unixd_config.user_id != geteuid())
        unixd_notice(cmd);
    ap_unixd_config.user_name = canonical ? apr_pstrdup(cmd->pool, canonical) : arg;
    return NULL;
}

static const char *unixd_set_group(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    struct group *gr;

    if (err)
        return err;
    ap_unixd_config.group_name = arg;
    if (*arg == '#')
        ap_unixd_config.group_id = (gid_t)strtoul(arg + 1, NULL, 10);
    else if ((gr = getgrnam(arg)) != NULL)
        ap_unixd_config.group_id = gr->gr_gid;
    else if (geteuid() == 0)
        return apr_psprintf(cmd->pool, "bad group name %s", arg);
    if (geteuid() != 0 && !unixd_runs_as_group(ap_unixd_config.group_id))
        unixd_notice(cmd);
    return NULL;
}

static const char *unixd_set_chroot(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (err)
        return err;
    if (geteuid() != 0)
        unixd_notice(cmd);
    if (!ap_is_directory(cmd->pool, arg))
        return "ChrootDir must be a valid directory";
    ap_unixd_config.chroot_dir = arg;
    return NULL;
}

static const char *unixd_set_suexec(cmd_parms *cmd, void *dummy, int on)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (err)
        return err;
    if (on && !ap_unixd_config.suexec_enabled)
        return apr_pstrcat(
            cmd->pool, "suEXEC isn't supported: ", ap_unixd_config.suexec_disabled_reason, NULL);
    if (!on) {
        ap_unixd_config.suexec_enabled = 0;
        ap_unixd_config.suexec_disabled_reason = "Suexec directive is Off";
    }
    return NULL;
}

#if defined(RLIMIT_CPU)
static const char *unixd_parse_limit(const char *arg, rlim_t *value)
{
    char *end;

    if (!arg)
        return NULL;
    if (!ap_cstr_casecmp(arg, "max")) {
        *value = RLIM_INFINITY;
        return NULL;
    }
    *value = (rlim_t)apr_strtoi64(arg, &end, 10);
    return *end || end == arg ? "a number or \"max\" is required" : NULL;
}

AP_DECLARE(void)
ap_unixd_set_rlimit(cmd_parms *cmd, struct rlimit **plimit, const char *arg, const char *arg2,
                    int type)
{
    struct rlimit *limit = apr_pcalloc(cmd->pool, sizeof *limit);
    rlim_t soft = 0, hard = 0;
    const char *err = unixd_parse_limit(arg, &soft);

    *plimit = limit;
    if (getrlimit(type, limit) != 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR | APLOG_STARTUP, errno, cmd->server,
                     APLOGNO(02172) "%s: getrlimit failed", cmd->cmd->name);
        return;
    }
    if (!err)
        err = unixd_parse_limit(arg2, &hard);
    if (err) {
        ap_log_error(APLOG_MARK, APLOG_ERR | APLOG_STARTUP, 0, cmd->server, "%s: %s",
                     cmd->cmd->name, err);
        return;
    }
    if (arg2 && geteuid() != 0) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE | APLOG_STARTUP, 0, cmd->server,
                     "%s: the hard limit can only be set by root", cmd->cmd->name);
        arg2 = NULL;
    }
    limit->rlim_cur = soft;
    if (arg2)
        limit->rlim_max = hard;
    if (limit->rlim_cur > limit->rlim_max)
        limit->rlim_cur = limit->rlim_max;
}
#endif

/* ---- mutexes ---- */

static apr_status_t unixd_chown_file(const char *name)
{
    if (name && geteuid() == 0 &&
        chown(name, ap_unixd_config.user_id, ap_unixd_config.group_id) < 0)
        return errno;
    return APR_SUCCESS;
}

static apr_status_t unixd_chown_semaphore(int id)
{
    struct semid_ds buf;
    union {
        int val;
        struct semid_ds *buf;
        unsigned short *array;
    } arg = {.buf = &buf};

    memset(&buf, 0, sizeof buf);
    buf.sem_perm.uid = ap_unixd_config.user_id;
    buf.sem_perm.gid = ap_unixd_config.group_id;
    buf.sem_perm.mode = 0600;
    return geteuid() == 0 && semctl(id, 0, IPC_SET, arg) < 0 ? errno : APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_unixd_set_proc_mutex_perms(apr_proc_mutex_t *pmutex)
{
    apr_os_proc_mutex_t os;
    apr_lockmech_e mech = apr_proc_mutex_mech(pmutex);

    /* With fcntl the children have the parent's descriptor, and APR has removed the file. */
    if (mech == APR_LOCK_FLOCK)
        return unixd_chown_file(apr_proc_mutex_lockfile(pmutex));
    if (mech != APR_LOCK_SYSVSEM || apr_os_proc_mutex_get(&os, pmutex) != APR_SUCCESS)
        return APR_SUCCESS;
    return unixd_chown_semaphore(os.crossproc);
}

AP_DECLARE(apr_status_t) ap_unixd_set_global_mutex_perms(apr_global_mutex_t *gmutex)
{
    apr_os_global_mutex_t os;

    if (apr_os_global_mutex_get(&os, gmutex) != APR_SUCCESS)
        return APR_SUCCESS;
    return ap_unixd_set_proc_mutex_perms(os.proc_mutex);
}

/* ---- dropping privileges ---- */

static int unixd_fail(server_rec *s, const char *what)
{
    ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s, "%s: cannot give up root", what);
    return -1;
}

static int unixd_enter_root(server_rec *s)
{
    if (!ap_unixd_config.chroot_dir)
        return OK;
    if (chdir(ap_unixd_config.chroot_dir) != 0) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s, APLOGNO(02159) "Can't chdir to %s",
                     ap_unixd_config.chroot_dir);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (chroot(ap_unixd_config.chroot_dir) != 0 || chdir("/") != 0) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s, APLOGNO(02160) "Can't chroot to %s",
                     ap_unixd_config.chroot_dir);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static int unixd_leave_ambient(server_rec *s)
{
    if (!ambient_leave(ap_coredumpdir_configured))
        return 0;
    ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s,
                 "cannot give up the capabilities that the service manager gave: does its filter "
                 "of system calls allow capset?");
    return -1;
}

AP_DECLARE(int) ap_unixd_setup_child(void)
{
    server_rec *s = ap_server_conf;
    const char *name = ap_unixd_config.user_name;
    uid_t uid = ap_unixd_config.user_id;
    gid_t gid = ap_unixd_config.group_id;

    if (geteuid() != 0)
        return unixd_leave_ambient(s);
    /* initgroups needs /etc/group, which a chroot may lack. */
    if (setgid(gid) < 0)
        return unixd_fail(s, "setgid");
    if ((name && *name != '#' ? initgroups(name, gid) : setgroups(1, &gid)) < 0)
        return unixd_fail(s, "initgroups");
    if (unixd_enter_root(s) != OK)
        return -1;
    if (setuid(uid) < 0)
        return unixd_fail(s, "setuid");
    if (uid != 0 && setuid(0) == 0)
        return unixd_fail(s, "setuid was not final");
    /* A change of user forbids core files; allow them where a place for them is configured. */
    if (ap_coredumpdir_configured && prctl(PR_SET_DUMPABLE, 1) != 0)
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s,
                     APLOGNO(02163) "set dumpable failed - this child will not coredump after "
                                    "software errors");
    return 0;
}

static int unixd_drop_privileges(apr_pool_t *p, server_rec *s)
{
    return ap_unixd_setup_child() == 0 ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

AP_DECLARE(int) ap_sys_privileges_handlers(int inc)
{
    static int handlers;
    return handlers += inc;
}

/* ---- accept, for code that has only Apache's listeners ---- */

AP_DECLARE(apr_status_t) ap_unixd_accept(void **accepted, ap_listen_rec *lr, apr_pool_t *ptrans)
{
    apr_socket_t *csd = NULL;
    apr_status_t rv = apr_socket_accept(&csd, lr->sd, ptrans);

    *accepted = csd;
    if (rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv) || APR_STATUS_IS_EINTR(rv) ||
        APR_STATUS_IS_ECONNABORTED(rv) || APR_STATUS_IS_ECONNRESET(rv))
        return rv;
    ap_log_error(APLOG_MARK, APLOG_ERR, rv, ap_server_conf,
                 APLOGNO(02179) "apr_socket_accept: (client socket)");
    return rv;
}

/* ---- the module ---- */

static void unixd_look_for_suexec(void)
{
    ap_unixd_config.suexec_enabled = 0;
    ap_unixd_config.suexec_disabled_reason = "this server starts no programs under other users";
}

static int unixd_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    memset(&ap_unixd_config, 0, sizeof ap_unixd_config);
    ap_unixd_config.user_id = UNIXD_UNSET;
    ap_unixd_config.group_id = (gid_t)UNIXD_UNSET;
    ap_unixd_config.user_name = DEFAULT_USER;
    ap_unixd_config.group_name = DEFAULT_GROUP;
    unixd_noticed = 0;
    unixd_look_for_suexec();
    ap_sys_privileges_handlers(1);
    return OK;
}

/* Started as root the server needs a user to serve as: Apache's default, #-1, is no user. */
static int unixd_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    struct passwd *pw;

    if (geteuid() != 0)
        return OK;
    if (ap_unixd_config.user_id == UNIXD_UNSET) {
        if (!(pw = getpwnam("www-data")) && !(pw = getpwnam("nobody"))) {
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ALERT, 0, NULL,
                         "started as root without User: name the user that is to serve");
            return HTTP_INTERNAL_SERVER_ERROR;
        }
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_NOTICE, 0, NULL,
                     "started as root without User: serving as %s", pw->pw_name);
        ap_unixd_config.user_id = pw->pw_uid;
        ap_unixd_config.user_name = apr_pstrdup(pconf, pw->pw_name);
    }
    if (ap_unixd_config.group_id == (gid_t)UNIXD_UNSET) {
        pw = getpwuid(ap_unixd_config.user_id);
        ap_unixd_config.group_id = pw ? pw->pw_gid : (gid_t)65534;
    }
    return OK;
}

static void unixd_register_hooks(apr_pool_t *p)
{
    brg_cache_declare(&unixd_module, NULL);
    ap_hook_pre_config(unixd_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_check_config(unixd_check_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_drop_privileges(unixd_drop_privileges, NULL, NULL, APR_HOOK_LAST);
}

static const command_rec unixd_commands[] = {
    AP_INIT_TAKE1("User", unixd_set_user, NULL, RSRC_CONF,
                  "effective user id of the server processes"),
    AP_INIT_TAKE1("Group", unixd_set_group, NULL, RSRC_CONF,
                  "effective group id of the server processes"),
    AP_INIT_TAKE1("ChrootDir", unixd_set_chroot, NULL, RSRC_CONF,
                  "directory that becomes the root of the server processes"),
    AP_INIT_FLAG("Suexec", unixd_set_suexec, NULL, RSRC_CONF,
                 "whether programs may be started under other users"),
    {.name = NULL},
};

module AP_MODULE_DECLARE_DATA unixd_module = {
    .version = MODULE_MAGIC_NUMBER_MAJOR,
    .minor_version = MODULE_MAGIC_NUMBER_MINOR,
    .module_index = -1,
    .name = "mod_unixd.c",
    .magic = MODULE_MAGIC_COOKIE,
    .cmds = unixd_commands,
    .register_hooks = unixd_register_hooks,
};
