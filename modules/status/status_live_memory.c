/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "?memory=live" and "?memory=live-json": the holders of memory now. The pools of the process as a
 * tree, by name, scope and memory system, with the growth of each since the last look; and where a
 * memory system knows them, the places in the code that hold most.
 */
#include "status_memory.h"
#include "status_private.h"
#include "http_config.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/memory.h"
#include "brigade/memory_tree.h"
#include "brigade/response_cache.h"
#include "brigade/sms.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define LIVE_SITES 20 /* of a memory system */

/* A look, and the one before. */
typedef struct live_look {
    brg_pool_tree now, before;
    apr_time_t at, before_at; /* 0: there was none */
    int silent;               /* event loops that gave no answer */
} live_look;

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
static brg_pool_tree live_last;
static apr_time_t live_last_at;

/* A row of the last look alone is shown, too: it shrank to nothing. */
static void live_add_gone(live_look *look)
{
    brg_pool_tree gone = look->before;

    for (int i = 0; i < gone.n; i++)
        gone.node[i].pools = gone.node[i].bytes = gone.node[i].held = gone.node[i].largest = 0;
    gone.left_out = gone.at_workers = 0;
    brg_pool_tree_merge(&look->now, &gone);
}

static live_look *live_take(request_rec *r)
{
    live_look *look = apr_pcalloc(r->pool, sizeof *look);

    look->silent = brg_pool_tree_look(&look->now);
    look->at = apr_time_now();
    pthread_mutex_lock(&live_lock);
    look->before = live_last;
    look->before_at = live_last_at;
    live_last = look->now;
    live_last_at = look->at;
    pthread_mutex_unlock(&live_lock);
    live_add_gone(look);
    return look;
}

static int live_is(const brg_pool_tree *a, int i, const brg_pool_tree *b, int j)
{
    for (; i >= 0 && j >= 0; i = a->node[i].above, j = b->node[j].above)
        if (a->node[i].scope != b->node[j].scope || strcmp(a->node[i].name, b->node[j].name) ||
            strcmp(a->node[i].system, b->node[j].system))
            return 0;
    return i < 0 && j < 0;
}

/* Bytes that the pools of a node have more than at the last look, or less. */
static apr_int64_t live_grown(const live_look *look, int i)
{
    uint64_t before = 0;

    for (int j = 0; j < look->before.n; j++)
        if (live_is(&look->now, i, &look->before, j))
            before = look->before.node[j].bytes;
    return look->before_at ? (apr_int64_t)(look->now.node[i].bytes - before) : 0;
}

static int live_depth(const brg_pool_tree *t, int i)
{
    int depth = 0;

    while ((i = t->node[i].above) >= 0)
        depth++;
    return depth;
}

typedef void live_node_fn(request_rec *r, const live_look *look, int i);

/* Each node, behind the one above it. */
static void live_walk(request_rec *r, const live_look *look, int above, live_node_fn *with)
{
    for (int i = above + 1; i < look->now.n; i++)
        if (look->now.node[i].above == above) {
            with(r, look, i);
            live_walk(r, look, i, with);
        }
}

/* ---- text ---- */

static void text_node(request_rec *r, const live_look *look, int i)
{
    const brg_pool_node *node = &look->now.node[i];
    const int indent = 2 * live_depth(&look->now, i);

    ap_rprintf(r,
               "%*s%-*s %8" APR_UINT64_T_FMT " %12" APR_UINT64_T_FMT " %12" APR_UINT64_T_FMT
               " %12" APR_UINT64_T_FMT " %+12" APR_INT64_T_FMT "  %s, %s\n",
               indent, "", 40 - indent, node->name, (apr_uint64_t)node->pools,
               (apr_uint64_t)node->bytes, (apr_uint64_t)node->held, (apr_uint64_t)node->largest,
               live_grown(look, i), brg_scope_name(node->scope), node->system);
}

static void text_sites(request_rec *r, const char *name, const char *spec, const brg_sms *s)
{
    brg_sms_figures figures;
    brg_sms_site site[LIVE_SITES];
    int n;

    ap_rprintf(r, "%s: %s\n", name, spec);
    if (!s)
        return;
    brg_sms_statistics(s, &figures);
    ap_rprintf(r, "    live %" APR_UINT64_T_FMT " bytes, at most %" APR_UINT64_T_FMT "\n",
               (apr_uint64_t)figures.live_bytes, (apr_uint64_t)figures.high_water_bytes);
    n = brg_sms_sites(s, site, LIVE_SITES);
    for (int i = 0; i < n; i++)
        ap_rprintf(r,
                   "    %" APR_UINT64_T_FMT " bytes in %" APR_UINT64_T_FMT
                   " blocks, from %s; largest %" APR_UINT64_T_FMT
                   ", oldest %u s, %" APR_UINT64_T_FMT " since the last look\n",
                   (apr_uint64_t)site[i].bytes, (apr_uint64_t)site[i].blocks, site[i].place,
                   (apr_uint64_t)site[i].largest, site[i].oldest, (apr_uint64_t)site[i].more);
}

static void text_write(request_rec *r, const live_look *look)
{
    brg_host_system host;

    ap_set_content_type_ex(r, "text/plain; charset=utf-8", 1);
    ap_rprintf(r, "Server process %ld. Growth is ", (long)getpid());
    if (look->before_at)
        ap_rprintf(r, "of %.1f s.", (double)(look->at - look->before_at) / APR_USEC_PER_SEC);
    else
        ap_rputs("told from the second look on.", r);
    ap_rprintf(r,
               " Not looked into: %" APR_UINT64_T_FMT
               " connections that workers have, %" APR_UINT64_T_FMT
               " pools and connections, %d event loops.\n\n%-40s %8s %12s %12s %12s %12s\n",
               (apr_uint64_t)look->now.at_workers, (apr_uint64_t)look->now.left_out, look->silent,
               "Pools", "number", "bytes", "held", "largest", "growth");
    live_walk(r, look, -1, text_node);
    ap_rputs("\nPlaces of live blocks, known where a scope has the memory system \"tracking\":\n",
             r);
    for (int scope = 0; scope < BRG_SCOPES_N; scope++)
        text_sites(r, brg_scope_name(scope), brg_scope_spec((brg_scope)scope),
                   brg_scope_system((brg_scope)scope, 0));
    for (int n = 0; brg_host_system_get(n, &host); n++)
        text_sites(r, host.name, host.spec, host.system);
}

/* ---- JSON ---- */

static void json_node(request_rec *r, const live_look *look, int i)
{
    const brg_pool_node *node = &look->now.node[i];

    ap_rputs(i ? ",\n{" : "\n{", r);
    status_json_string(r, "name", node->name);
    ap_rprintf(r, ",\"depth\":%d,\"scope\":\"%s\",", live_depth(&look->now, i),
               brg_scope_name(node->scope));
    status_json_string(r, "system", node->system);
    ap_rprintf(r,
               ",\"pools\":%" APR_UINT64_T_FMT ",\"bytes\":%" APR_UINT64_T_FMT
               ",\"held\":%" APR_UINT64_T_FMT ",\"largest\":%" APR_UINT64_T_FMT
               ",\"growth\":%" APR_INT64_T_FMT "}",
               (apr_uint64_t)node->pools, (apr_uint64_t)node->bytes, (apr_uint64_t)node->held,
               (apr_uint64_t)node->largest, live_grown(look, i));
}

/* @return sites written so far */
static int json_sites(request_rec *r, const char *name, const brg_sms *s, int written)
{
    brg_sms_site site[LIVE_SITES];
    const int n = s ? brg_sms_sites(s, site, LIVE_SITES) : 0;

    for (int i = 0; i < n; i++, written++) {
        ap_rputs(written ? ",\n{" : "\n{", r);
        status_json_string(r, "of", name);
        status_json_next(r, "place", site[i].place);
        status_json_next(r, "module", site[i].module);
        ap_rprintf(r,
                   ",\"blocks\":%" APR_UINT64_T_FMT ",\"bytes\":%" APR_UINT64_T_FMT
                   ",\"largest\":%" APR_UINT64_T_FMT ",\"oldest_s\":%u,\"more\":%" APR_UINT64_T_FMT
                   "}",
                   (apr_uint64_t)site[i].blocks, (apr_uint64_t)site[i].bytes,
                   (apr_uint64_t)site[i].largest, site[i].oldest, (apr_uint64_t)site[i].more);
    }
    return written;
}

static void json_write(request_rec *r, const live_look *look)
{
    brg_host_system host;
    int written = 0;

    ap_set_content_type_ex(r, "application/json", 1);
    ap_rprintf(r,
               "{\"pid\":%ld,\"since_s\":%.3f,\"at_workers\":%" APR_UINT64_T_FMT
               ",\"left_out\":%" APR_UINT64_T_FMT ",\"silent_loops\":%d,\"pools\":[",
               (long)getpid(),
               look->before_at ? (double)(look->at - look->before_at) / APR_USEC_PER_SEC : 0.0,
               (apr_uint64_t)look->now.at_workers, (apr_uint64_t)look->now.left_out, look->silent);
    live_walk(r, look, -1, json_node);
    ap_rputs("],\n\"sites\":[", r);
    for (int scope = 0; scope < BRG_SCOPES_N; scope++)
        written =
            json_sites(r, brg_scope_name(scope), brg_scope_system((brg_scope)scope, 0), written);
    for (int n = 0; brg_host_system_get(n, &host); n++)
        written = json_sites(r, host.name, host.system, written);
    ap_rputs("]}\n", r);
}

int status_live_memory_handle(request_rec *r, int as_json)
{
    live_look *look;

    if (!brg_memory_reported())
        return HTTP_NOT_FOUND;
    r->allowed = AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET)
        return HTTP_METHOD_NOT_ALLOWED;
    if (brg_request_rerun_on_worker(r)) /* it waits for the event loops */
        return OK;
    if (brg_thread_is_loop())
        return HTTP_SERVICE_UNAVAILABLE;
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    look = live_take(r);
    if (as_json)
        json_write(r, look);
    else
        text_write(r, look);
    return OK;
}
