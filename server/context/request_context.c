/* SPDX-License-Identifier: Apache-2.0 */
/* Small services around a request: notes, allowed methods, recursion, what the input holds. */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "configuration.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include <stddef.h>

APLOG_USE_MODULE(core);

/* ---- notes ---- */

/* Grows while modules are initialised; fixed before the first request. */
static apr_size_t request_notes_n = AP_NUM_STD_NOTES;

static apr_status_t request_notes_reset(void *data)
{
    request_notes_n = AP_NUM_STD_NOTES;
    return APR_SUCCESS;
}

AP_DECLARE(apr_size_t) ap_register_request_note(void)
{
    if (apr_hook_global_pool) {
        apr_pool_cleanup_register(apr_hook_global_pool, NULL, request_notes_reset,
                                  apr_pool_cleanup_null);
    }
    return request_notes_n++;
}

AP_DECLARE(void **) ap_get_request_note(request_rec *r, apr_size_t note_num)
{
    core_request_config *conf;

    if (note_num >= request_notes_n || !r->request_config)
        return NULL;
    conf = ap_get_core_module_config(r->request_config);
    return conf ? &conf->notes[note_num] : NULL;
}

/* Filter instances that a request has without an allocation: those of HTTP and a few more. */
#define REQUEST_FILTERS 10

/* The parts of one allocation. */
typedef struct request_conf_block {
    core_request_config conf;
    apr_bucket_brigade bb;
    unsigned filters_used;
    const char *volatile_module, *volatile_why; /* see request_mark_volatile(); NULL: not marked */
    int may_block;
    int may_move, moves;  /* its handler may be, and wants to be, called again by a worker */
    int fails;            /* with moves: the error that the worker answers with instead, or OK */
    int may_defer;        /* its phases may go on on a worker */
    int lookups_may_fail; /* so may those of its sub-requests, which are then made once more */
    request_files files;
    apr_array_header_t *vary;
    request_dated dated;
    request_dependencies depends;
    int offered;         /* offer is set */
    request_offer offer; /* from here on not cleared */
    ap_filter_t filters[REQUEST_FILTERS];
    void *notes[];
} request_conf_block;

int request_conf_create(request_rec *r)
{
    request_conf_block *block =
        apr_palloc(r->pool, sizeof *block + request_notes_n * sizeof(void *));
    core_request_config *conf = &block->conf;

    BRG_ASSERT(!r->main || ap_get_core_module_config(r->main->request_config));
    memset(block, 0, offsetof(request_conf_block, offer));
    memset(block->notes, 0, request_notes_n * sizeof(void *));
    conf->notes = block->notes;
    conf->deliver_script = 1;
    if (r->main) {
        const core_request_config *main_conf = ap_get_core_module_config(r->main->request_config);

        conf->bb = main_conf->bb;
    } else {
        block->bb.p = r->pool;
        block->bb.bucket_alloc = r->connection->bucket_alloc;
        APR_RING_INIT(&block->bb.list, apr_bucket, link);
        conf->bb = &block->bb;
    }
    ap_set_core_module_config(r->request_config, conf);
    return OK;
}

static request_conf_block *request_block_of(const request_rec *r)
{
    request_conf_block *block =
        r->request_config ? ap_get_core_module_config(r->request_config) : NULL;

    /* Only our own have their notes right behind them. */
    return block && block->conf.notes == block->notes ? block : NULL;
}

void request_mark_volatile(request_rec *r, const char *who, const char *why)
{
    for (; r; r = r->prev ? r->prev : r->main) {
        request_conf_block *block = request_block_of(r);

        if (block && !block->volatile_why) {
            block->volatile_why = why;
            block->volatile_module = who;
        }
    }
}

const char *request_volatile_why(const request_rec *r, const char **who)
{
    const request_conf_block *block = request_block_of(r);

    *who = block ? block->volatile_module : NULL;
    return block ? block->volatile_why : NULL;
}

void request_mark_blocking(request_rec *r)
{
    for (; r; r = r->prev ? r->prev : r->main) {
        request_conf_block *block = request_block_of(r);

        if (block)
            block->may_block = 1;
    }
}

int request_may_block(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return !block || block->may_block;
}

void request_allow_rerun(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->may_move = 1;
}

int request_mark_rerun(request_rec *r)
{
    request_conf_block *block = r->main || r->prev ? NULL : request_block_of(r);

    if (!block || !block->may_move)
        return 0;
    request_mark_blocking(r);
    return block->moves = 1;
}

void request_rerun_fails(request_rec *r, int status)
{
    request_conf_block *block = request_block_of(r);

    BRG_ASSERT(block && block->moves);
    block->fails = status;
}

int request_is_left(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return block && block->moves;
}

int request_takes_rerun(request_rec *r, int *status)
{
    request_conf_block *block = request_block_of(r);

    BRG_ASSERT(status && *status != SUSPENDED);
    if (!block)
        return 0;
    block->may_move = 0;
    if (!block->moves)
        return 0;
    *status = block->fails;
    block->moves = block->fails = 0;
    return 1;
}

void request_allow_defer(request_rec *r, int on)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->may_defer = on;
}

int request_may_leave_thread(const request_rec *r)
{
    const request_conf_block *block = r->main || r->prev ? NULL : request_block_of(r);

    return block && (block->may_defer || block->may_move);
}

void request_allow_lookups_to_fail(request_rec *r, int on)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->lookups_may_fail = on;
}

int request_lookup_may_fail(const request_rec *r)
{
    const request_conf_block *block;

    if (!r->main)
        return 0;
    while (r->main || r->prev)
        r = r->prev ? r->prev : r->main;
    block = request_block_of(r);
    return block && block->may_move && block->lookups_may_fail;
}

request_files *request_files_of(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->files : NULL;
}

/* Whoever has a module say what it does wants to read it for every request. */
int request_is_debugged(const request_rec *r)
{
    const struct ap_logconf *log = ap_get_request_logconf(r);

    if (log->level > APLOG_INFO)
        return 1;
    for (int i = 0; log->module_levels && i < conf_vector_slots(); i++)
        if (log->module_levels[i] > APLOG_INFO)
            return 1;
    return 0;
}

int request_depends(request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return !block || block->volatile_why ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

apr_array_header_t **request_vary_fields(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->vary : NULL;
}

request_dated *request_dated_field(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->dated : NULL;
}

request_offer *request_offer_begin(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    if (!block)
        return NULL;
    memset(&block->offer, 0, sizeof block->offer);
    block->offered = 1;
    return &block->offer;
}

request_offer *request_offer_of(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block && block->offered ? &block->offer : NULL;
}

void request_offer_drop(request_rec *r)
{
    for (; r; r = r->main ? r->main : r->prev) {
        request_conf_block *block = request_block_of(r);

        if (block)
            block->offered = 0;
    }
}

/* ---- what it looked at in the file system ---- */

static request_conf_block *request_first_block(const request_rec *r)
{
    while (r->prev || r->main)
        r = r->prev ? r->prev : r->main;
    return request_block_of(r);
}

const request_dependencies *request_dependencies_of(const request_rec *r)
{
    const request_conf_block *block = request_first_block(r);

    return block ? &block->depends : NULL;
}

void request_link_policy_counts(const request_rec *r)
{
    request_conf_block *block = request_first_block(r);

    if (block)
        block->depends.link_policy = 1;
}

/* A path is looked at several times within a short while, if at all; a second mention is harmless. */
#define DEPENDS_COMPARED 16

static int depends_already(const request_dependencies *d, const char *path)
{
    int n = d->more ? d->more->nelts : 0;

    if (!strcmp(d->first, path))
        return 1;
    for (int i = n > DEPENDS_COMPARED ? n - DEPENDS_COMPARED : 0; i < n; i++)
        if (!strcmp(APR_ARRAY_IDX(d->more, i, const char *), path))
            return 1;
    return 0;
}

BRG_DECLARE(void) brg_cache_depends_on(request_rec *r, const char *path)
{
    request_conf_block *block = request_first_block(r);
    request_dependencies *d = block ? &block->depends : NULL;
    apr_pool_t *p;

    if (!d || d->too_many)
        return;
    if (!path) {
        d->too_many = 1;
        return;
    }
    if (!d->first && !r->main && !r->prev) { /* nearly always the only one: it lives as long */
        d->first = path;
        return;
    }
    if (d->first && depends_already(d, path))
        return;
    while (r->prev || r->main)
        r = r->prev ? r->prev : r->main;
    p = r->pool;
    if (!d->first) {
        d->first = apr_pstrdup(p, path);
        return;
    }
    if (!d->more)
        d->more = apr_array_make(p, 8, sizeof(char *));
    d->too_many = d->more->nelts >= REQUEST_DEPENDENCIES_MOST;
    if (!d->too_many)
        APR_ARRAY_PUSH(d->more, const char *) = apr_pstrdup(p, path);
}

BRG_DECLARE(int)
brg_cache_dependencies(const request_rec *r, int from, const char **paths, int most)
{
    const request_dependencies *d = request_dependencies_of(r);
    int n = d && d->first ? 1 + (d->more ? d->more->nelts : 0) : 0;

    if (!d || d->too_many)
        return -1;
    for (int i = from; i < n && i - from < most; i++)
        paths[i - from] = i ? APR_ARRAY_IDX(d->more, i - 1, const char *) : d->first;
    return n;
}

BRG_DECLARE(void)
brg_cache_dated_field(request_rec *r, const char *name, apr_interval_time_t after)
{
    request_dated *dated = request_dated_field(r);

    if (!dated || (dated->name && (strcmp(dated->name, name) || dated->after != after))) {
        request_mark_volatile(r, "core.c", "two modules set dates that go with the time");
        return;
    }
    dated->name = name;
    dated->after = after;
}

ap_filter_t *request_conf_filter(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    if (!block || block->filters_used == REQUEST_FILTERS)
        return apr_palloc(r->pool, sizeof(ap_filter_t));
    BRG_ASSERT(block->filters_used < REQUEST_FILTERS);
    return &block->filters[block->filters_used++];
}

void request_conf_end(request_rec *r)
{
    core_request_config *conf =
        r->request_config ? ap_get_core_module_config(r->request_config) : NULL;

    if (conf && conf->bb)
        apr_brigade_cleanup(conf->bb);
}

/* ---- what the core's per-request configuration tells ---- */

static core_request_config *request_conf_of(const request_rec *r)
{
    return ap_get_core_module_config(r->request_config);
}

AP_DECLARE(const char *) ap_document_root(request_rec *r)
{
    const core_request_config *conf = request_conf_of(r);
    const core_server_config *sconf = ap_get_core_module_config(r->server->module_config);

    return conf && conf->document_root ? conf->document_root : sconf->ap_document_root;
}

AP_DECLARE(void) ap_set_document_root(request_rec *r, const char *document_root)
{
    request_conf_of(r)->document_root = document_root;
}

AP_DECLARE(const char *) ap_context_prefix(request_rec *r)
{
    const core_request_config *conf = request_conf_of(r);

    return conf->context_prefix ? conf->context_prefix : "";
}

AP_DECLARE(const char *) ap_context_document_root(request_rec *r)
{
    const core_request_config *conf = request_conf_of(r);

    return conf->context_document_root ? conf->context_document_root : ap_document_root(r);
}

AP_DECLARE(void)
ap_set_context_info(request_rec *r, const char *context_prefix, const char *context_document_root)
{
    core_request_config *conf = request_conf_of(r);

    if (context_prefix)
        conf->context_prefix = context_prefix;
    if (context_document_root)
        conf->context_document_root = context_document_root;
}

/* A response for one status, set by a module: a URL, a path, or else a text, which is marked by a
 * quote. */
AP_DECLARE(void) ap_custom_response(request_rec *r, int status, const char *string)
{
    core_request_config *conf = request_conf_of(r);
    int is_place = ap_is_url(string) || *string == '/';

    if (!conf->response_code_strings) {
        conf->response_code_strings =
            apr_pcalloc(r->pool, RESPONSE_CODES * sizeof *conf->response_code_strings);
    }
    conf->response_code_strings[ap_index_of_response(status)] =
        apr_pstrcat(r->pool, is_place ? "" : "\"", string, NULL);
}
