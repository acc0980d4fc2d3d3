/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block behind r->request_config: notes of modules, and marks of the core about a request. The files it
 * looked at are in request_depends.c, values that modules set for it in request_info.c.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "configuration.h"
#include "request_context_private.h"
#include "brigade/assert.h"
#include "brigade/auth.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include "apr_hooks.h"
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

int request_conf_create(request_rec *r)
{
    request_conf_block *block =
        apr_palloc(r->pool, sizeof *block + request_notes_n * sizeof(void *));
    core_request_config *conf = &block->marks.conf;

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

const apr_size_t request_marks_to_notes = offsetof(request_conf_block, notes);

request_conf_block *request_block_of(const request_rec *r)
{
    return (request_conf_block *)(void *)request_marks_of(r);
}

request_rec *request_led_to(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return block && block->apart ? NULL : r->prev ? r->prev : r->main;
}

void request_set_apart(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    BRG_ASSERT(r->main != NULL);
    if (block)
        block->apart = 1;
}

void request_mark_volatile(request_rec *r, const char *who, const char *why)
{
    for (; r; r = request_led_to(r)) {
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

void request_set_announces(request_rec *r, int on)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->announces = on;
}

int request_announces(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return block && block->announces;
}

void request_set_connection(request_rec *r, int before, const char *value)
{
    request_conf_block *block = request_block_of(r);

    BRG_ASSERT(before >= 0);
    if (!block)
        return;
    block->fields_before = before;
    block->connection = value;
}

const char *request_connection(const request_rec *r, int *before)
{
    const request_conf_block *block = request_block_of(r);

    *before = block ? block->fields_before : 0;
    return block ? block->connection : NULL;
}

void request_body_failed(request_rec *r, int status)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->body_status = status;
}

int request_body_status(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return block ? block->body_status : OK;
}

void request_mark_stored(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->stored = 1;
}

BRG_DECLARE(int) brg_request_is_stored(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return block && block->stored;
}

BRG_DECLARE(void) brg_cache_each_time(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->each_time = 1;
}

BRG_DECLARE(void) brg_cache_part_is_guarded(request_rec *r)
{
    int is_part = 0;

    for (request_rec *up = request_led_to(r); up; r = up, up = request_led_to(r)) {
        request_conf_block *block = request_block_of(up);

        is_part |= !r->prev;
        if (block && is_part)
            block->guarded = 1;
    }
}

int request_has_guarded_part(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return !block || block->guarded;
}

int request_runs_each_time(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return !block || block->each_time;
}

void request_mark_blocking(request_rec *r)
{
    for (; r; r = request_led_to(r)) {
        request_conf_block *block = request_block_of(r);

        if (block)
            block->marks.may_block = 1;
    }
}

static void request_count_part(request_rec *r, int n)
{
    for (; r; r = request_led_to(r)) {
        request_conf_block *block = request_block_of(r);

        if (block) /* one that became a request of its own does not count any more */
            block->marks.parts_wait =
                block->marks.parts_wait > -n ? block->marks.parts_wait + n : 0;
    }
}

void request_mark_part_waits(request_rec *sub)
{
    request_marks *m = request_marks_of(sub);

    BRG_ASSERT(sub->main);
    if (!m || m->waits_as_part)
        return;
    m->waits_as_part = 1;
    request_count_part(sub, 1);
}

void request_end_part(request_rec *sub)
{
    const request_marks *m = request_marks_of(sub);

    if (m && m->parts_wait)
        request_count_part(sub, -m->parts_wait);
}

void request_mark_reads(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->marks.reads = 1;
}

void request_mark_bodyless(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    BRG_ASSERT(!r->main && !r->prev);
    if (block)
        block->marks.bodyless = 1;
}

int request_mark_rerun(request_rec *r)
{
    request_conf_block *block = r->main ? NULL : request_block_of(r);

    if (!block || !block->marks.may_rerun || (r->prev && !block->marks.follows))
        return 0;
    request_mark_blocking(r);
    return block->reruns = 1;
}

void request_rerun_fails(request_rec *r, int status)
{
    request_conf_block *block = request_block_of(r);

    BRG_ASSERT(block && block->reruns);
    block->rerun_status = status;
}

int request_is_left(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);

    return block && (block->reruns || block->marks.left);
}

int request_takes_rerun(request_rec *r, int *status)
{
    request_conf_block *block = request_block_of(r);

    BRG_ASSERT(status && *status != SUSPENDED);
    if (!block)
        return 0;
    block->marks.may_rerun = 0;
    if (!block->reruns)
        return 0;
    *status = block->rerun_status;
    block->reruns = block->rerun_status = 0;
    return 1;
}

void request_allow_lookups_to_fail(request_rec *r, int on)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->marks.lookups_may_fail = on;
}

int request_lookup_may_fail(const request_rec *r)
{
    const request_conf_block *block;

    if (!r->main)
        return 0;
    while (r->main || r->prev)
        r = r->prev ? r->prev : r->main;
    block = request_block_of(r);
    return block && block->marks.may_rerun && block->marks.lookups_may_fail;
}

request_wait_place request_wait_place_of(const request_rec *r)
{
    const request_conf_block *block = request_block_of((request_rec *)(uintptr_t)r);

    return block ? (request_wait_place)block->marks.waits_in : REQUEST_WAITS_IN_HANDLER;
}

BRG_DECLARE(void) brg_auth_would_wait(request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->auth_waits = 1;
}

BRG_DECLARE(int) brg_auth_waits(request_rec *r)
{
    request_conf_block *block = request_block_of(r);
    const int waits = block && block->auth_waits;

    if (block)
        block->auth_waits = 0;
    return waits;
}

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

apr_array_header_t **request_changed_fields(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->changed : NULL;
}

apr_array_header_t **request_messages(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->messages : NULL;
}

apr_array_header_t **request_stored_parts(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->parts : NULL;
}

request_dated *request_dated_field(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->dated : NULL;
}

void request_sink_offer(request_rec *r, const request_sink *sink)
{
    request_conf_block *block = request_block_of(r);

    if (block)
        block->sink = sink;
}

const request_sink *request_sink_of(const request_rec *r)
{
    const request_conf_block *block = request_block_of(r);
    const request_sink *sink = block ? block->sink : NULL;

    return sink && r->output_filters == sink->filter ? sink : NULL;
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
    for (; r; r = request_led_to(r)) {
        request_conf_block *block = request_block_of(r);

        if (block)
            block->offered = 0;
    }
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

const char **request_length_text(const request_rec *r)
{
    request_conf_block *block = request_block_of(r);

    return block ? &block->length_text : NULL;
}

ap_filter_t *request_conf_filters(request_rec *r, unsigned n)
{
    request_conf_block *block = request_block_of(r);
    ap_filter_t *first;

    if (!block || block->filters_used + n > REQUEST_FILTERS)
        return apr_palloc(r->pool, n * sizeof(ap_filter_t));
    first = &block->filters[block->filters_used];
    block->filters_used += n;
    return first;
}

void request_conf_end(request_rec *r)
{
    core_request_config *conf =
        r->request_config ? ap_get_core_module_config(r->request_config) : NULL;

    if (conf && conf->bb)
        apr_brigade_cleanup(conf->bb);
}
