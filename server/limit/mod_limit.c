/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_limit: how many requests, connections and bytes of whom there may be. The memory of all limits is made before the first
 * server process, lies in a file in memory, and is there again after a reload or an upgrade.
 */
#include "limit.h"
#include "limit_private.h"
#include "kept_memory.h"
#include "trial.h"
#include "stock_policy.h"
#include "mpm_common.h"
#include "http_log.h"
#include "scoreboard.h"
#include "ap_mpm.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

APLOG_USE_MODULE(limit);

#define LIMIT_MEMORY "request-limits-1"

limit_table limit_shared;
static int limits_of_phases;                   /* for all paths */
static const apr_array_header_t *limits_below; /* limit *, of paths; NULL: none */

/* ---- identity of a limit ---- */

static uint64_t id_add(uint64_t id, const char *s)
{
    for (; s && *s; s++)
        id = (id ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return (id ^ 0xff) * UINT64_C(1099511628211);
}

/* By its place and its name, so that a reload finds its counts. Vhosts of one name are told apart
 * by their number. */
static uint64_t limit_id(const limit *l)
{
    uint64_t id = id_add(UINT64_C(14695981039346656037), l->name);

    id = id_add(id, l->server->is_virtual ? l->server->server_hostname : "");
    id = (id ^ (l->server->is_virtual ? l->server->port : 0)) * UINT64_C(1099511628211);
    id = id_add(id, l->path);
    return id ? id : 1;
}

static uint64_t limit_unique_id(int n)
{
    uint64_t id = limit_id(APR_ARRAY_IDX(limit_all, n, const limit *));

    for (int i = 0; i < n; i++)
        if (APR_ARRAY_IDX(limit_all, i, const limit *)->id == id) {
            id += UINT64_C(0x9e3779b97f4a7c15);
            id += !id;
            i = -1;
        }
    return id;
}

static int limits_take_rows(void)
{
    unsigned char taken[LIMIT_ROWS] = {0};

    for (int i = 0; i < limit_all->nelts; i++) {
        limit *l = APR_ARRAY_IDX(limit_all, i, limit *);
        int row;

        l->id = limit_unique_id(i);
        row = limit_row_of(&limit_shared, l->id, l->name, taken);
        BRG_ASSERT(row >= 0); /* there are no more limits than rows */
        l->row = (uint32_t)row;
    }
    return OK;
}

/* ---- their memory ---- */

static void *limits_memory(size_t bytes)
{
    static void *mapped;
    static size_t mapped_bytes;

    if (mapped && mapped_bytes == bytes)
        return mapped;
    if (mapped)
        munmap(mapped, mapped_bytes); /* only this process's view: serving processes have theirs */
    mapped = kept_memory_map(LIMIT_MEMORY, bytes);
    mapped_bytes = bytes;
    return mapped;
}

/* Where the scoreboard is, the number of server processes is known. */
static int limits_begin(apr_pool_t *p, ap_scoreboard_e type)
{
    int processes = 1;
    void *memory;

    memset(&limit_shared, 0, sizeof limit_shared);
    if (!limit_all || trial_runs())
        return OK;
    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &processes);
    if (processes < 1)
        processes = 1;
    memory = limits_memory(limit_table_bytes((uint32_t)limit_keys, (uint32_t)processes));
    if (!memory ||
        limit_table_open(&limit_shared, memory, (uint32_t)limit_keys, (uint32_t)processes)) {
        memset(&limit_shared, 0, sizeof limit_shared);
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, NULL,
                     "no memory that processes share for RequestLimit");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return limits_take_rows();
}

static void limits_child_status(server_rec *s, pid_t pid, ap_generation_t generation, int slot,
                                mpm_child_status state)
{
    if (limit_shared.header && slot >= 0 && state == MPM_CHILD_EXITED)
        limit_count_forget(&limit_shared, (uint32_t)slot);
}

/* ---- configuration ---- */

static apr_status_t limits_forget(void *unused)
{
    limit_all = NULL;
    limit_keys = 65536;
    return APR_SUCCESS;
}

static int limits_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    limits_forget(NULL);
    apr_pool_cleanup_register(pconf, NULL, limits_forget, apr_pool_cleanup_null);
    return OK;
}

/* It may be another path where sections are found. */
static int path_is_odd(const char *path)
{
    return path[0] != '/' || strchr(path, '%') || strstr(path, "//") || strstr(path, "/.");
}

static int path_is_below(const char *path, const char *location)
{
    const size_t len = strlen(location);

    BRG_ASSERT(len > 0);
    return !strncmp(path, location, len) &&
           (location[len - 1] == '/' || path[len] == '/' || !path[len]);
}

int limit_is_of_phases(const char *path)
{
    if (limits_of_phases || !path || !limits_below)
        return limits_of_phases;
    if (path_is_odd(path))
        return 1;
    for (int i = 0; i < limits_below->nelts; i++)
        if (path_is_below(path, APR_ARRAY_IDX(limits_below, i, const limit *)->location))
            return 1;
    return 0;
}

static void limits_find_of_phases(apr_pool_t *p)
{
    apr_array_header_t *below = apr_array_make(p, 1, sizeof(const limit *));

    limits_of_phases = 0;
    for (int i = 0; limit_all && i < limit_all->nelts; i++) {
        const limit *l = APR_ARRAY_IDX(limit_all, i, const limit *);

        if (l->measure == LIMIT_CONNECTIONS || !(l->path || l->what == LIMIT_USER))
            continue;
        if (l->location)
            APR_ARRAY_PUSH(below, const limit *) = l;
        else
            limits_of_phases = 1;
    }
    limits_below = below->nelts ? below : NULL;
}

static int limits_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    limit_clients_change = changed_fields_are_there();
    limits_find_of_phases(pconf);
    limit_conn_watch(pconf);
    return OK;
}

static void limit_register_hooks(apr_pool_t *p)
{
    limit_request_register();
    limit_bandwidth_register();
    limit_status_register();
    ap_hook_pre_config(limits_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(limits_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(limits_begin, NULL, NULL, APR_HOOK_LAST);
    ap_hook_child_status(limits_child_status, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&limit_module, NULL);
    brg_hooks_need_directive(&limit_module, "post_read_request access_checker fixups insert_filter",
                             NULL, BRG_HOOKS_EVERYWHERE);
}

module AP_MODULE_DECLARE_DATA limit_module = {
    STANDARD20_MODULE_STUFF, limit_dir_create, limit_conf_merge,     limit_conf_create,
    limit_conf_merge,        limit_directives, limit_register_hooks, 0,
};
