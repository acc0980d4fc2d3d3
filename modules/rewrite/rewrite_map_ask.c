/* SPDX-License-Identifier: Apache-2.0 */
/* Maps that ask others: programs, started with the server, which get a key a line and answer with a line; and
 * databases, by mod_dbd's functions. Requests wait for both on workers. */
#include "rewrite_private.h"
#include "apr_dbd.h"
#include "apr_global_mutex.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_main.h"
#include "mod_dbd.h"
#include "util_mutex.h"

#include <string.h>

APLOG_USE_MODULE(rewrite);

#define REWRITE_MUTEX "rewrite-map"

static apr_global_mutex_t *rewrite_lock; /* for the pipes of programs; NULL: there are none */

int rewrite_programs_pre_config(apr_pool_t *p)
{
    rewrite_lock = NULL;
    return ap_mutex_register(p, REWRITE_MUTEX, NULL, APR_LOCK_DEFAULT, 0) == APR_SUCCESS
               ? OK
               : HTTP_INTERNAL_SERVER_ERROR;
}

/* ---- programs ---- */

static void rewrite_child_error(apr_pool_t *p, apr_status_t error, const char *text)
{
    ap_log_error(APLOG_MARK, APLOG_ERR, error, ap_server_conf, APLOGNO(00653) "%s", text);
}

static apr_status_t rewrite_program_attributes(apr_pool_t *p, const rewrite_map *map,
                                               apr_procattr_t **attr)
{
    apr_status_t status = apr_procattr_create(attr, p);

    if (status == APR_SUCCESS)
        status = apr_procattr_io_set(*attr, APR_FULL_BLOCK, APR_FULL_BLOCK, APR_NO_PIPE);
    if (status == APR_SUCCESS)
        status = apr_procattr_dir_set(*attr, ap_make_dirstr_parent(p, map->argv[0]));
    if (status == APR_SUCCESS && map->user)
        status = apr_procattr_user_set(*attr, map->user, "");
    if (status == APR_SUCCESS && map->group)
        status = apr_procattr_group_set(*attr, map->group);
    if (status == APR_SUCCESS)
        status = apr_procattr_cmdtype_set(*attr, APR_PROGRAM);
    if (status == APR_SUCCESS)
        status = apr_procattr_child_errfn_set(*attr, rewrite_child_error);
    if (status == APR_SUCCESS)
        status = apr_procattr_error_check_set(*attr, 1);
    return status;
}

static apr_status_t rewrite_program_run(apr_pool_t *p, rewrite_map *map)
{
    apr_proc_t *proc = apr_pcalloc(p, sizeof *proc);
    apr_procattr_t *attr;
    apr_status_t status = rewrite_program_attributes(p, map, &attr);

    if (status == APR_SUCCESS)
        status = apr_proc_create(proc, map->argv[0], (const char *const *)map->argv, NULL, attr, p);
    if (status != APR_SUCCESS)
        return status;
    apr_pool_note_subprocess(p, proc, APR_KILL_AFTER_TIMEOUT);
    map->to = proc->in;
    map->from = proc->out;
    return APR_SUCCESS;
}

/* The maps of one server. @return -1 if one could not be started */
static int rewrite_programs_of(apr_pool_t *p, const rewrite_conf *conf, int *any)
{
    apr_hash_index_t *at = conf->on && conf->maps ? apr_hash_first(p, conf->maps) : NULL;

    for (; at; at = apr_hash_next(at)) {
        rewrite_map *map = apr_hash_this_val(at);
        apr_status_t status;

        if (map->kind != REWRITE_MAP_PROGRAM || !*map->argv[0])
            continue;
        *any = 1;
        if (map->to) /* by a server from which this one has it */
            continue;
        if ((status = rewrite_program_run(p, map)) != APR_SUCCESS) {
            ap_log_error(APLOG_MARK, APLOG_ERR, status, ap_server_conf,
                         APLOGNO(00654) "mod_rewrite: could not start RewriteMap program %s",
                         map->file);
            return -1;
        }
    }
    return 0;
}

int rewrite_programs_start(apr_pool_t *p, server_rec *s)
{
    int any = 0;

    for (server_rec *at = s; at; at = at->next)
        if (rewrite_programs_of(p, ap_get_module_config(at->module_config, &rewrite_module), &any))
            return HTTP_INTERNAL_SERVER_ERROR;
    if (any &&
        ap_global_mutex_create(&rewrite_lock, NULL, REWRITE_MUTEX, NULL, s, p, 0) != APR_SUCCESS)
        return HTTP_INTERNAL_SERVER_ERROR;
    return OK;
}

void rewrite_programs_child(apr_pool_t *p, server_rec *s)
{
    apr_status_t status;

    if (!rewrite_lock)
        return;
    status = apr_global_mutex_child_init(&rewrite_lock, apr_global_mutex_lockfile(rewrite_lock), p);
    if (status != APR_SUCCESS) {
        ap_log_error(
            APLOG_MARK, APLOG_CRIT, status, s,
            APLOGNO(00666) "mod_rewrite: could not init rewrite_mapr_lock_acquire in child");
        rewrite_lock = NULL;
    }
}

/* A line, without its end, in r->pool. NULL: the program is gone. */
static const char *rewrite_read_line(request_rec *r, apr_file_t *from)
{
    apr_size_t room = 128, len = 0, n = 1;
    char *line = apr_palloc(r->pool, room), c;

    while (apr_file_read(from, &c, &n) == APR_SUCCESS && n == 1) {
        if (c == '\n') {
            line[len] = '\0';
            return line;
        }
        if (len + 1 == room) {
            char *longer = apr_palloc(r->pool, room * 2);

            memcpy(longer, line, len);
            line = longer;
            room *= 2;
        }
        BRG_ASSERT(len + 1 < room);
        line[len++] = c;
    }
    return NULL;
}

static const char *rewrite_exchange(request_rec *r, const rewrite_map *map, const char *key)
{
    struct iovec parts[2] = {{(void *)key, strlen(key)}, {(void *)"\n", 1}};
    apr_size_t written;

    BRG_ASSERT(map->kind == REWRITE_MAP_PROGRAM && map->to && map->from);
    if (apr_file_writev_full(map->to, parts, 2, &written) != APR_SUCCESS)
        return NULL;
    return rewrite_read_line(r, map->from);
}

/* A key with a line's end in it would be two. */
const char *rewrite_program_ask(request_rec *r, const rewrite_map *map, const char *key)
{
    const char *value;
    apr_status_t status;

    if (!map->to || !map->from || strchr(key, '\n'))
        return NULL;
    if (rewrite_lock && (status = apr_global_mutex_lock(rewrite_lock)) != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, status, r,
                      APLOGNO(00659) "apr_global_mutex_lock(rewrite_mapr_lock_acquire) failed");
        return NULL;
    }
    value = rewrite_exchange(r, map, key);
    if (rewrite_lock && (status = apr_global_mutex_unlock(rewrite_lock)) != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, status, r,
                      APLOGNO(00660) "apr_global_mutex_unlock(rewrite_mapr_lock_acquire) failed");
        return NULL;
    }
    return value && strcasecmp(value, "NULL") ? value : NULL;
}

/* ---- databases ---- */

int rewrite_dbd_prepare(server_rec *s, const char *query)
{
    APR_OPTIONAL_FN_TYPE(ap_dbd_prepare) *prepare = APR_RETRIEVE_OPTIONAL_FN(ap_dbd_prepare);

    if (!prepare || !APR_RETRIEVE_OPTIONAL_FN(ap_dbd_acquire))
        return 0;
    prepare(s, query, query);
    return 1;
}

/* Of the first column of all rows one is picked at random. */
static const char *rewrite_dbd_value(request_rec *r, const ap_dbd_t *db, apr_dbd_results_t *found,
                                     apr_status_t *status)
{
    const char *value = NULL;
    apr_dbd_row_t *row = NULL;
    apr_uint32_t n = 0;

    while ((*status = apr_dbd_get_row(db->driver, r->pool, found, &row, -1)) == APR_SUCCESS)
        if (++n == 1 || ap_random_pick(1, n) == 1)
            value = apr_pstrdup(r->pool, apr_dbd_get_entry(db->driver, row, 0));
    if (*status == APR_SUCCESS || *status == -1)
        *status = APR_SUCCESS;
    return value;
}

static const char *rewrite_dbd_ask(request_rec *r, const rewrite_map *map, const char *key)
{
    APR_OPTIONAL_FN_TYPE(ap_dbd_acquire) *acquire = APR_RETRIEVE_OPTIONAL_FN(ap_dbd_acquire);
    ap_dbd_t *db = acquire ? acquire(r) : NULL;
    apr_dbd_prepared_t *statement;
    apr_dbd_results_t *found = NULL;
    const char *value;
    apr_status_t status;

    if (!db) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02963) "rewritemap: No db handle available! Check your database "
                                     "access");
        return NULL;
    }
    statement = apr_hash_get(db->prepared, map->query, APR_HASH_KEY_STRING);
    status = apr_dbd_pvselect(db->driver, r->pool, db->handle, &found, statement, 0, key, NULL);
    if (status != 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00657) "rewritemap: error %s querying for %s",
                      apr_dbd_error(db->driver, db->handle, status), key);
        return NULL;
    }
    value = rewrite_dbd_value(r, db, found, &status);
    if (status != APR_SUCCESS)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00658) "rewritemap: error %s looking up %s",
                      apr_dbd_error(db->driver, db->handle, status), key);
    return status == APR_SUCCESS ? value : NULL;
}

const char *rewrite_dbd_find(request_rec *r, const rewrite_map *map, const char *key)
{
    const char *value = rewrite_dbd_ask(r, map, key);

    if (value)
        REWRITE_LOG(r, 5, NULL, "SQL map lookup OK: map %s key=%s, val=%s", map->name, key, value);
    else
        REWRITE_LOG(r, 5, NULL, "SQL map lookup FAILED: map %s key=%s", map->name, key);
    return value;
}
