/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIXD_H
#define UNIXD_H

/** @file unixd.h  Users, limits and signals of Unix. */
#include "httpd.h"
#include "http_config.h"
#include "scoreboard.h"
#include "ap_listen.h"

#include <sys/types.h>
#include <sys/time.h>
#include <sys/resource.h>
#include <sys/ipc.h>
#include <pwd.h>
#include <grp.h>
#include <signal.h>

#include "apr_hooks.h"
#include "apr_thread_proc.h"
#include "apr_proc_mutex.h"
#include "apr_global_mutex.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whom a program runs as. */
typedef struct {
    uid_t uid;
    gid_t gid;
    int userdir; /**< in that user's public directory */
} ap_unix_identity_t;
/** For suexec. First that is not NULL. */
AP_DECLARE_HOOK(ap_unix_identity_t *, get_suexec_identity, (const request_rec *r))

#ifndef DEFAULT_USER
/** User where the configuration has none. */
#define DEFAULT_USER "#-1"
#endif
#ifndef DEFAULT_GROUP
/** Group where the configuration has none. */
#define DEFAULT_GROUP "#-1"
#endif

/** Whom server processes run as. */
typedef struct {
    const char *user_name;
    const char *group_name;
    uid_t user_id;
    gid_t group_id;
    int suexec_enabled;
    const char *chroot_dir;
    const char *suexec_disabled_reason;
} unixd_config_rec;
/** User, Group and Chroot. */
AP_DECLARE_DATA extern unixd_config_rec ap_unixd_config;

/** Directives RLimit*: soft and hard limit, numbers or "max", to *plimit. Bad ones are logged. */
AP_DECLARE(void)
ap_unixd_set_rlimit(cmd_parms *cmd, struct rlimit **plimit, const char *arg, const char *arg2,
                    int type);
/* Give a mutex to the user of the server processes. */
AP_DECLARE(apr_status_t) ap_unixd_set_proc_mutex_perms(apr_proc_mutex_t *pmutex);
AP_DECLARE(apr_status_t) ap_unixd_set_global_mutex_perms(apr_global_mutex_t *gmutex);
/** An accept_function: the socket in *accepted is in @a ptrans. APR_EGENERAL: give the process up. */
AP_DECLARE(apr_status_t) ap_unixd_accept(void **accepted, ap_listen_rec *lr, apr_pool_t *ptrans);

/** Send a signal to a group of processes. */
#define ap_unixd_killpg(x, y) (killpg((x), (y)))
#define ap_os_killpg(x, y) (killpg((x), (y)))

/** State of the MPM that outlives restarts. */
typedef struct {
    void *baton;
    int volatile mpm_state; /**< AP_MPMQ_STARTING and kin */
    int volatile shutdown_pending; /**< set by signal handlers, as the next two */
    int volatile restart_pending;
    int volatile is_ungraceful;
    ap_generation_t my_generation;
    int module_loads;
    int was_graceful;
    int num_buckets, max_buckets;
} ap_unixd_mpm_retained_data;
AP_DECLARE(ap_unixd_mpm_retained_data *) ap_unixd_mpm_get_retained_data(void);
/** Let the MPM's signals be noted in its retained data. */
AP_DECLARE(void) ap_unixd_mpm_set_signals(apr_pool_t *pconf, int once_process);

#ifdef __cplusplus
}
#endif
#endif
