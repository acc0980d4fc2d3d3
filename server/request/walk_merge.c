/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges of configuration vectors, each made once.
 *
 * A walk merges its sections with each other and then the whole onto the configuration in force
 * before: defaults + ((s1 + s2) + s3). Merges need not be associative (AuthMerging is not), so this
 * order is part of the behaviour. The result of every step is kept under its pair of operands, so
 * the pairs form a tree whose paths are the lists of sections seen so far.
 *
 * Where both operands belong to the configuration, the result does too: it goes to a table of the
 * whole process that is read without a lock and only ever grows, up to a bound (a configuration
 * with many <If> sections can have more combinations than are worth keeping). A merge with an .htaccess file that the loop
 * knows is kept beside that file (folder_view.c); else by the request, for its sub-requests and redirects.
 */
#include "walk_private.h"
#include "apr_allocator.h"
#include "counted_lock.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "loop.h"
#include "brigade/explain.h"
#include "configuration.h"
#include <pthread.h>
#include <stdatomic.h>

#define MERGE_SLOTS 4096u
#define MERGE_MAX (MERGE_SLOTS / 2)
#define MERGE_KEPT_MOST 64 /* of one keep */

typedef struct merge_entry {
    const ap_conf_vector_t *base, *sec;
    ap_conf_vector_t *result;
} merge_entry;

/* Readers load with acquire, which pairs with the release by which an entry is published. */
static _Atomic(merge_entry *) merge_table[MERGE_SLOTS];
/* The set of all results in merge_table: further possible bases. */
static _Atomic(const ap_conf_vector_t *) merge_results[MERGE_SLOTS];

/* For adding: guards the following, and the allocations from the pool. */
static pthread_mutex_t merge_lock = PTHREAD_MUTEX_INITIALIZER;
static apr_pool_t *merge_pool; /* NULL: nothing is kept; set before threads start */
static unsigned merge_used;

/* A merge that a request keeps, in its AP_NOTE_DIRECTORY_WALK, or a keep. */
typedef struct merge_note {
    merge_entry entry;
    struct merge_note *next;
} merge_note;

static unsigned merge_hash(const void *a, const void *b)
{
    uint64_t x = (uint64_t)(uintptr_t)a * 0x9E3779B97F4A7C15u;

    x = (x ^ (uint64_t)(uintptr_t)b) * 0xC2B2AE3D27D4EB4Fu;
    return (unsigned)(x >> 40);
}

static apr_status_t merge_close(void *data)
{
    merge_pool = NULL;
    merge_used = 0;
    for (unsigned i = 0; i < MERGE_SLOTS; i++) {
        atomic_store_explicit(&merge_table[i], NULL, memory_order_relaxed);
        atomic_store_explicit(&merge_results[i], NULL, memory_order_relaxed);
    }
    return APR_SUCCESS;
}

void walk_merge_open(apr_pool_t *pconf)
{
    apr_allocator_t *allocator;

    if (merge_pool)
        apr_pool_destroy(merge_pool);
    /* An allocator of its own: threads add to this pool while others may use pconf's. */
    if (apr_allocator_create(&allocator) != APR_SUCCESS)
        return;
    if (apr_pool_create_ex(&merge_pool, pconf, NULL, allocator) != APR_SUCCESS) {
        apr_allocator_destroy(allocator);
        merge_pool = NULL;
        return;
    }
    apr_allocator_owner_set(allocator, merge_pool);
    apr_pool_tag(merge_pool, "merged sections");
    apr_pool_cleanup_register(merge_pool, NULL, merge_close, apr_pool_cleanup_null);
}

static ap_conf_vector_t *merge_find(const ap_conf_vector_t *base, const ap_conf_vector_t *sec)
{
    for (unsigned at = merge_hash(base, sec);; at++) {
        const merge_entry *e =
            atomic_load_explicit(&merge_table[at % MERGE_SLOTS], memory_order_acquire);

        if (!e)
            return NULL;
        if (e->base == base && e->sec == sec)
            return e->result;
    }
}

static int merge_is_result(const ap_conf_vector_t *conf)
{
    for (unsigned at = merge_hash(conf, NULL);; at++) {
        const ap_conf_vector_t *known =
            atomic_load_explicit(&merge_results[at % MERGE_SLOTS], memory_order_acquire);

        if (!known || known == conf)
            return known != NULL;
    }
}

static void merge_publish(merge_entry *e)
{
    unsigned at = merge_hash(e->result, NULL);

    BRG_ASSERT(e->base && e->sec && e->result);
    BRG_ASSERT(merge_used > 0 && merge_used <= MERGE_MAX); /* so that searches find a free slot */
    while (atomic_load_explicit(&merge_results[at % MERGE_SLOTS], memory_order_relaxed))
        at++;
    atomic_store_explicit(&merge_results[at % MERGE_SLOTS], e->result, memory_order_release);
    at = merge_hash(e->base, e->sec);
    while (atomic_load_explicit(&merge_table[at % MERGE_SLOTS], memory_order_relaxed))
        at++;
    atomic_store_explicit(&merge_table[at % MERGE_SLOTS], e, memory_order_release);
}

static ap_conf_vector_t *merge_add(ap_conf_vector_t *base, ap_conf_vector_t *sec)
{
    ap_conf_vector_t *result;

    BRG_ASSERT(merge_pool != NULL);
    lock_counted(&merge_lock, LOCK_SECTIONS);
    result = merge_find(base, sec); /* another thread may have been first */
    if (!result && merge_used < MERGE_MAX) {
        merge_entry *e = apr_palloc(merge_pool, sizeof *e);

        result = ap_merge_per_dir_configs(merge_pool, base, sec);
        *e = (merge_entry){base, sec, result};
        merge_used++;
        merge_publish(e);
    }
    pthread_mutex_unlock(&merge_lock);
    return result;
}

static ap_conf_vector_t *merge_for_request(request_rec *r, ap_conf_vector_t *base,
                                           ap_conf_vector_t *sec)
{
    merge_note *note;

    for (request_rec *q = r; q; q = request_led_to(q)) {
        void **list = ap_get_request_note(q, AP_NOTE_DIRECTORY_WALK);

        for (note = list ? *list : NULL; note; note = note->next)
            if (note->entry.base == base && note->entry.sec == sec)
                return note->entry.result;
    }
    note = apr_palloc(r->pool, sizeof *note);
    note->entry = (merge_entry){base, sec, ap_merge_per_dir_configs(r->pool, base, sec)};
    if (request_files_of(r))
        request_files_of(r)->merges = 1;
    void **list = ap_get_request_note(r, AP_NOTE_DIRECTORY_WALK);
    if (list) {
        note->next = *list;
        *list = note;
    }
    return note->entry.result;
}

/* ---- beside access files ---- */

int walk_keep_has(const walk_keep *keep, const ap_conf_vector_t *conf)
{
    const merge_note *note = atomic_load_explicit(&keep->list, memory_order_acquire);

    while (note && note->entry.result != conf)
        note = note->next;
    return note != NULL;
}

static merge_note *keep_add(walk_keep *keep, ap_conf_vector_t *base, ap_conf_vector_t *sec)
{
    merge_note *note;

    if (keep->n >= MERGE_KEPT_MOST || !keep->loop || loop_self() != keep->loop)
        return NULL;
    if (!keep->pool && apr_pool_create_unmanaged_ex(&keep->pool, NULL, NULL) != APR_SUCCESS) {
        keep->n = MERGE_KEPT_MOST; /* the request's own results must never be an operand here */
        return NULL;
    }
    note = apr_palloc(keep->pool, sizeof *note);
    note->entry = (merge_entry){base, sec, ap_merge_per_dir_configs(keep->pool, base, sec)};
    note->next = atomic_load_explicit(&keep->list, memory_order_relaxed);
    atomic_store_explicit(&keep->list, note, memory_order_release);
    keep->n++;
    return note;
}

/* NULL: the request keeps it */
static ap_conf_vector_t *merge_in_keep(walk_keep *keep, ap_conf_vector_t *base,
                                       ap_conf_vector_t *sec)
{
    merge_note *note = atomic_load_explicit(&keep->list, memory_order_acquire);

    while (note && (note->entry.base != base || note->entry.sec != sec))
        note = note->next;
    if (!note)
        note = keep_add(keep, base, sec);
    return note ? note->entry.result : NULL;
}

ap_conf_vector_t *walk_merge(request_rec *r, ap_conf_vector_t *base, ap_conf_vector_t *sec,
                             int are_config, walk_keep *keep)
{
    ap_conf_vector_t *result = NULL;

    if (are_config && merge_pool) {
        result = merge_find(base, sec);
        if (!result)
            result = merge_add(base, sec);
    }
    if (!result && keep)
        result = merge_in_keep(keep, base, sec);
    return result ? result : merge_for_request(r, base, sec);
}

int walk_is_config(const request_rec *r, const ap_conf_vector_t *conf)
{
    return conf == r->server->lookup_defaults || merge_is_result(conf);
}

void walk_fold_add(request_rec *r, walk_fold *fold, ap_conf_vector_t *sec, int sec_is_config)
{
    BRG_EXPLAIN(r, conf_explained_section(sec), NULL);
    if (!fold->sum) {
        fold->sum = sec;
        fold->is_config = sec_is_config;
        return;
    }
    fold->is_config = fold->is_config && sec_is_config;
    fold->sum = walk_merge(r, fold->sum, sec, fold->is_config, fold->keep);
}

ap_conf_vector_t *walk_fold_onto(request_rec *r, const walk_fold *fold, ap_conf_vector_t *base)
{
    if (!fold->sum)
        return base;
    return walk_merge(r, base, fold->sum, fold->is_config && walk_is_config(r, base), fold->keep);
}
