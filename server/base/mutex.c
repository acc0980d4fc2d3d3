/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes that several processes share, and the Mutex directive that chooses how they are made.
 *
 * A module registers a type in pre_config, with its own defaults. The configuration may then change
 * mechanism and directory of one type or of all ("default"). In post_config the module creates the
 * mutex by its type. "default" is an entry of its own, so that the order of precedence is still known
 * then (mutex_effective).
 */
#include "trial.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "unixd.h"
#include "util_mutex.h"

#include "brigade/assert.h"
#include "apr_hash.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

typedef struct mutex_conf {
    apr_int32_t options; /* as registered */
    int set;             /* by the configuration */
    int none;
    int omit_pid;
    apr_lockmech_e mech;
    const char *dir;
} mutex_conf;

static apr_hash_t *mutex_types;

static mutex_conf *mutex_conf_make(apr_pool_t *p, apr_int32_t options)
{
    mutex_conf *m = apr_pcalloc(p, sizeof *m);

    m->options = options;
    m->mech = APR_LOCK_DEFAULT;
    m->dir = ap_runtime_dir_relative(p, "");
    m->none = (options & AP_MUTEX_DEFAULT_NONE) != 0;
    return m;
}

AP_DECLARE_NONSTD(void) ap_mutex_init(apr_pool_t *p)
{
    mutex_types = apr_hash_make(p);
    apr_pool_cleanup_register(p, &mutex_types, ap_pool_cleanup_set_null, apr_pool_cleanup_null);
    apr_hash_set(mutex_types, "default", APR_HASH_KEY_STRING, mutex_conf_make(p, 0));
}

AP_DECLARE(apr_status_t)
ap_mutex_register(apr_pool_t *pconf, const char *type, const char *default_dir,
                  apr_lockmech_e default_mech, apr_int32_t options)
{
    mutex_conf *m;

    if (options & ~(AP_MUTEX_ALLOW_NONE | AP_MUTEX_DEFAULT_NONE))
        return APR_EINVAL;
    if (!mutex_types)
        ap_mutex_init(pconf);
    m = mutex_conf_make(pconf, options);
    m->mech = default_mech;
    if (default_dir)
        m->dir = default_dir;
    apr_hash_set(mutex_types, apr_pstrdup(pconf, type), APR_HASH_KEY_STRING, m);
    return APR_SUCCESS;
}

/* ---- the directive ---- */

static const struct {
    const char *name;
    apr_lockmech_e mech;
    int takes_path;
} mutex_mechanisms[] = {
    {"default", APR_LOCK_DEFAULT, 0},      {"yes", APR_LOCK_DEFAULT, 0},
#if APR_HAS_FCNTL_SERIALIZE
    {"fcntl", APR_LOCK_FCNTL, 1},          {"file", APR_LOCK_FCNTL, 1},
#endif
#if APR_HAS_FLOCK_SERIALIZE
    {"flock", APR_LOCK_FLOCK, 1},
#endif
#if APR_HAS_POSIXSEM_SERIALIZE
    {"posixsem", APR_LOCK_POSIXSEM, 0},    {"sem", APR_LOCK_POSIXSEM, 0},
#endif
#if APR_HAS_SYSVSEM_SERIALIZE
    {"sysvsem", APR_LOCK_SYSVSEM, 0},
#endif
#if APR_HAS_PROC_PTHREAD_SERIALIZE
    {"pthread", APR_LOCK_PROC_PTHREAD, 0},
#endif
};

AP_DECLARE(apr_status_t)
ap_parse_mutex(const char *arg, apr_pool_t *pool, apr_lockmech_e *mutexmech, const char **mutexfile)
{
    const char *colon = strchr(arg, ':');
    const char *name = colon ? apr_pstrmemdup(pool, arg, (apr_size_t)(colon - arg)) : arg;

    *mutexfile = NULL;
    if (colon && !colon[1])
        return APR_BADARG;
    if (!ap_cstr_casecmp(name, "none") || !ap_cstr_casecmp(name, "no"))
        return APR_ENOLOCK;
    for (size_t i = 0; i < sizeof mutex_mechanisms / sizeof *mutex_mechanisms; i++) {
        if (ap_cstr_casecmp(name, mutex_mechanisms[i].name))
            continue;
        *mutexmech = mutex_mechanisms[i].mech;
        if (!colon)
            return APR_SUCCESS;
        if (!mutex_mechanisms[i].takes_path)
            return APR_ENOTIMPL;
        *mutexfile = ap_server_root_relative(pool, colon + 1);
        return *mutexfile ? APR_SUCCESS : APR_BADARG;
    }
    return APR_ENOTIMPL;
}

static const char *mutex_parse_error(const cmd_parms *cmd, apr_status_t rv, const char *arg)
{
    if (rv == APR_BADARG)
        return apr_psprintf(cmd->pool, "Invalid mutex file path in \"%s\"", arg);
    if (rv == APR_ENOTIMPL)
        return apr_psprintf(cmd->pool, "Invalid Mutex argument %s (%s)", arg,
                            AP_ALL_AVAILABLE_MUTEXES_STRING);
    return NULL;
}

static const char *mutex_set_type(const cmd_parms *cmd, const char *type, const mutex_conf *chosen)
{
    mutex_conf *m = apr_hash_get(mutex_types, type, APR_HASH_KEY_STRING);

    BRG_ASSERT(!chosen->none || !chosen->dir);
    if (!m)
        return apr_psprintf(cmd->pool, "Mutex type %s is not valid", type);
    if (chosen->none && !(m->options & AP_MUTEX_ALLOW_NONE))
        return apr_psprintf(cmd->pool, "None is not allowed for mutex type %s", type);
    m->set = 1;
    m->none = chosen->none;
    m->mech = chosen->mech;
    m->omit_pid = chosen->omit_pid;
    if (chosen->dir)
        m->dir = chosen->dir;
    return NULL;
}

AP_DECLARE_NONSTD(const char *) ap_set_mutex(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    mutex_conf chosen = {0};
    const char *mechanism, *type;
    int types = 0;
    apr_status_t rv;

    if (err)
        return err;
    mechanism = ap_getword_conf(cmd->pool, &arg);
    if (!*mechanism)
        return "Mutex requires at least a mechanism argument (" AP_ALL_AVAILABLE_MUTEXES_STRING ")";
    rv = ap_parse_mutex(mechanism, cmd->pool, &chosen.mech, &chosen.dir);
    chosen.none = rv == APR_ENOLOCK;
    err = mutex_parse_error(cmd, rv, mechanism);
    if (!err && chosen.dir && !ap_is_directory(cmd->temp_pool, chosen.dir))
        err = apr_pstrcat(cmd->pool, "Invalid Mutex directory in argument ", mechanism, NULL);
    if (!err && strstr(arg, "OmitPID"))
        chosen.omit_pid = 1;
    while (!err && *arg) {
        type = ap_getword_conf(cmd->pool, &arg);
        if (!*type || !ap_cstr_casecmp(type, "OmitPID"))
            continue;
        err = mutex_set_type(cmd, type, &chosen);
        types++;
    }
    return err || types ? err : mutex_set_type(cmd, "default", &chosen);
}

/* ---- creation ---- */

/* Settings in force for a type: its own, those for all, its registered defaults. */
static const mutex_conf *mutex_effective(const char *type, mutex_conf *merged)
{
    const mutex_conf *own = apr_hash_get(mutex_types, type, APR_HASH_KEY_STRING);
    const mutex_conf *all = apr_hash_get(mutex_types, "default", APR_HASH_KEY_STRING);

    BRG_ASSERT(all != NULL);
    if (!own || own->set || !all->set)
        return own;
    *merged = *all;
    merged->options = own->options;
    if (merged->none && !(own->options & AP_MUTEX_ALLOW_NONE)) {
        merged->none = 0;
        merged->mech = own->mech;
    }
    return merged;
}

static int mutex_needs_file(apr_lockmech_e mech)
{
    return mech == APR_LOCK_FLOCK || mech == APR_LOCK_FCNTL
#if APR_USE_FLOCK_SERIALIZE || APR_USE_FCNTL_SERIALIZE
           || mech == APR_LOCK_DEFAULT
#endif
        ;
}

static const char *mutex_file(apr_pool_t *p, const char *type, const mutex_conf *m,
                              const char *instance)
{
    const char *path;

    if (!mutex_needs_file(m->mech))
        return NULL;
    path = apr_pstrcat(p, ap_make_full_path(p, m->dir, type), instance ? "-" : "", instance, NULL);
    /* A trial must not take the file of the server that runs. */
    return m->omit_pid && !trial_runs() ? path
                                        : apr_psprintf(p, "%s.%" APR_PID_T_FMT, path, getpid());
}

/* Common part of both kinds of mutex. *file is NULL where the mechanism needs none; APR_ENOLOCK: no
 * mutex is wanted. */
static apr_status_t mutex_prepare(const char *type, const char *instance, server_rec *s,
                                  apr_pool_t *p, apr_lockmech_e *mech, const char **file)
{
    mutex_conf merged;
    const mutex_conf *m = mutex_types ? mutex_effective(type, &merged) : NULL;

    if (!m) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     APLOGNO(00022) "Can't create mutex of unknown type %s", type);
        return APR_EINVAL;
    }
    if (m->none)
        return APR_ENOLOCK;
    *mech = m->mech;
    *file = mutex_file(p, type, m, instance);
    BRG_ASSERT(!*file == !mutex_needs_file(*mech));
    return APR_SUCCESS;
}

/* Mechanism and file of a mutex to be made. 0: none is to be made, and *rv is the result. */
static int mutex_begin(const char *type, const char *instance_id, server_rec *s, apr_pool_t *p,
                       apr_int32_t options, apr_lockmech_e *mech, const char **file,
                       const char **name, apr_status_t *rv)
{
    *file = NULL;
    *rv = options ? APR_EINVAL : mutex_prepare(type, instance_id, s, p, mech, file);
    if (name)
        *name = *file;
    if (*rv == APR_SUCCESS)
        return 1;
    if (*rv == APR_ENOLOCK)
        *rv = APR_SUCCESS;
    return 0;
}

static apr_status_t mutex_not_created(const char *type, const char *file, apr_status_t rv,
                                      server_rec *s)
{
    ap_log_error(APLOG_MARK, APLOG_ERR, rv, s, APLOGNO(00023) "Couldn't create the %s mutex %s%s%s",
                 type, file ? "(file " : "", file ? file : "", file ? ") " : "");
    return rv;
}

static apr_status_t mutex_end(const char *type, apr_status_t rv, server_rec *s)
{
    if (rv != APR_SUCCESS)
        ap_log_error(
            APLOG_MARK, APLOG_ERR, rv, s,
            APLOGNO(
                00024) "Couldn't set permissions on the %s mutex; check User and Group directives",
            type);
    return rv;
}

/* Exactly one of @a global and @a proc is to be made. */
static apr_status_t mutex_make(apr_global_mutex_t **global, apr_proc_mutex_t **proc,
                               const char **name, const char *type, const char *instance_id,
                               server_rec *server, apr_pool_t *pool, apr_int32_t options)
{
    apr_lockmech_e mech;
    const char *file;
    apr_status_t rv;

    BRG_ASSERT(!global != !proc);
    if (!mutex_begin(type, instance_id, server, pool, options, &mech, &file, name, &rv))
        return rv;
    rv = global ? apr_global_mutex_create(global, file, mech, pool)
                : apr_proc_mutex_create(proc, file, mech, pool);
    if (rv != APR_SUCCESS)
        return mutex_not_created(type, file, rv, server);
    rv = global ? ap_unixd_set_global_mutex_perms(*global) : ap_unixd_set_proc_mutex_perms(*proc);
    return mutex_end(type, rv, server);
}

AP_DECLARE(apr_status_t)
ap_global_mutex_create(apr_global_mutex_t **mutex, const char **name, const char *type,
                       const char *instance_id, server_rec *server, apr_pool_t *pool,
                       apr_int32_t options)
{
    *mutex = NULL;
    return mutex_make(mutex, NULL, name, type, instance_id, server, pool, options);
}

AP_DECLARE(apr_status_t)
ap_proc_mutex_create(apr_proc_mutex_t **mutex, const char **name, const char *type,
                     const char *instance_id, server_rec *server, apr_pool_t *pool,
                     apr_int32_t options)
{
    *mutex = NULL;
    return mutex_make(NULL, mutex, name, type, instance_id, server, pool, options);
}

/* ---- -D DUMP_RUN_CFG ---- */

static const char *mutex_mechanism_name(const mutex_conf *m)
{
    if (m->none)
        return "none";
    for (size_t i = 0; i < sizeof mutex_mechanisms / sizeof *mutex_mechanisms; i++)
        if (m->mech == mutex_mechanisms[i].mech)
            return mutex_mechanisms[i].name;
    return "unknown";
}

AP_CORE_DECLARE(void) ap_dump_mutexes(apr_pool_t *p, server_rec *s, apr_file_t *out)
{
    for (apr_hash_index_t *i = apr_hash_first(p, mutex_types); i; i = apr_hash_next(i)) {
        const char *type = apr_hash_this_key(i);
        const mutex_conf *m = apr_hash_this_val(i);

        apr_file_printf(out, "Mutex %s: ", type);
        if (!m->set && strcmp(type, "default") != 0) {
            apr_file_puts("using_defaults\n", out);
            continue;
        }
        if (m->dir && *m->dir)
            apr_file_printf(out, "dir=\"%s\" ", ap_escape_quotes(p, m->dir));
        apr_file_printf(out, "mechanism=%s %s\n", mutex_mechanism_name(m),
                        m->omit_pid ? "[OmitPid]" : "");
    }
}
