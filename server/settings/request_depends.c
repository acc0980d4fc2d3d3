/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files and folders that a request looked at. The list is kept with the first request: sub-requests
 * and internal redirects add to the same one.
 */
#include "request_context_private.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"

/* The first one, where the list is; or the first that this thread has, whose list nobody asks for. */
static const request_rec *depends_first(const request_rec *r)
{
    const request_rec *up;

    while ((up = request_led_to(r)) != NULL)
        r = up;
    return r;
}

static request_conf_block *request_first_block(const request_rec *r)
{
    return request_block_of(depends_first(r));
}

const request_dependencies *request_dependencies_of(const request_rec *r)
{
    const request_conf_block *block = request_first_block(r);

    return block ? &block->depends : NULL;
}

void request_dependencies_since(const request_rec *r, uint64_t seen)
{
    request_conf_block *block = request_first_block(r);

    if (block && !block->depends.since)
        block->depends.since = seen;
}

void request_link_policy_counts(const request_rec *r)
{
    request_conf_block *block = request_first_block(r);

    if (block)
        block->depends.link_policy = 1;
}

void request_query_counts(const request_rec *r)
{
    request_conf_block *block = request_first_block(r);

    if (block)
        block->depends.query = 1;
}

void request_set_unplanned(const request_rec *r, const char *why)
{
    request_conf_block *block = request_first_block(r);

    if (block && !block->depends.unplanned)
        block->depends.unplanned = why;
}

void request_set_unplanned_filter(const request_rec *r, const char *name)
{
    request_conf_block *block = request_first_block(r);

    if (block && !block->depends.unplanned) {
        block->depends.unplanned = "a filter is on the answer's way";
        block->depends.unplanned_filter = name;
    }
}

void request_name_counts(const request_rec *r)
{
    request_conf_block *block = request_first_block(r);

    if (block)
        block->depends.name = 1;
}

BRG_DECLARE(void) brg_cache_depends_on_name(request_rec *r)
{
    request_name_counts(r);
}

BRG_DECLARE(void) brg_cache_depends_on_query(request_rec *r)
{
    request_query_counts(r);
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

    if (!d)
        return;
    d->named++;
    if (d->too_many)
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
    p = depends_first(r)->pool;
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

/* A sub-request has no list of its own, so that its count is free for this. */
void request_names_begin(const request_rec *sub)
{
    const request_dependencies *d = request_dependencies_of(sub);
    request_conf_block *own = request_block_of(sub);

    if (d && own)
        own->depends.named = d->named;
}

uint32_t request_names_of(const request_rec *sub)
{
    const request_dependencies *d = request_dependencies_of(sub);
    const request_conf_block *own = request_block_of(sub);

    return d && own ? d->named - own->depends.named : 0;
}

BRG_DECLARE(void) brg_cache_depends_on_names(request_rec *r, const char *folder)
{
    request_conf_block *block = request_first_block(r);
    request_dependencies *d = block ? &block->depends : NULL;
    apr_pool_t *p = depends_first(r)->pool;

    if (!d)
        return;
    if (!d->folders)
        d->folders = apr_array_make(p, 1, sizeof(char *));
    if (!r->main && !r->prev)
        d->chosen_for = apr_pstrdup(p, r->uri);
    for (int i = 0; i < d->folders->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(d->folders, i, const char *), folder))
            return;
    d->too_many |= d->folders->nelts >= REQUEST_DEPENDENCIES_MOST;
    if (!d->too_many)
        APR_ARRAY_PUSH(d->folders, const char *) = apr_pstrdup(p, folder);
}

BRG_DECLARE(void) brg_cache_leads_to(request_rec *r, const char *uri)
{
    request_conf_block *block = r->main || r->prev ? NULL : request_first_block(r);

    if (!block)
        return;
    if (!block->depends.led_from)
        block->depends.led_from = apr_pstrdup(r->pool, r->uri);
    block->depends.led_to = uri;
}

BRG_DECLARE(int)
brg_cache_dependencies(const request_rec *r, int from, const char **paths, int most)
{
    const request_dependencies *d = request_dependencies_of(r);
    int n = d && d->first ? 1 + (d->more ? d->more->nelts : 0) : 0;

    if (!d || d->too_many || d->folders)
        return -1;
    for (int i = from; i < n && i - from < most; i++)
        paths[i - from] = i ? APR_ARRAY_IDX(d->more, i - 1, const char *) : d->first;
    return n;
}
