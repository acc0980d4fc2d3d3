/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in force in a folder, for one server: made by the first walk that comes there, held by all that use it. */
#include "folder_private.h"
#include "conn.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define VIEW_POOL_BYTES 8192 /* approximate memory of an access file */

/* ---- of a folder ---- */

void folder_view_release(folder_view *v)
{
    while (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) {
        folder_view *above = v->above;

        BRG_ASSERT(v->owner.n == 0);
        if (v->own.pool)
            apr_pool_destroy(v->own.pool);
        free(v);
        v = above;
    }
}

void folder_view_take(folder_view *v)
{
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
}

folder_view *folder_view_create(folder_table *t, folder *f, const server_rec *s, folder_view *above)
{
    const char *path = watch_folder_path(f->dir);
    size_t len = strlen(path);
    folder_view *v = calloc(1, sizeof *v + len + 2);

    if (!v)
        return NULL;
    BRG_ASSERT(!above || above->server == s);
    atomic_init(&v->refs, 1);
    memcpy(v->dir, path, len);
    if (len > 1)
        v->dir[len] = '/';
    v->server = s;
    if ((v->above = above) != NULL)
        folder_view_take(above);
    v->own.loop = loop_self();
    v->bytes = sizeof *v + len;
    return v;
}

apr_pool_t *folder_view_pool(folder_view *v)
{
    if (!v->own.pool && apr_pool_create_unmanaged_ex(&v->own.pool, NULL, NULL) != APR_SUCCESS)
        v->own.pool = NULL;
    return v->own.pool;
}

void folder_view_add(folder_table *t, folder *f, folder_view *v)
{
    if (v->own.pool)
        v->bytes += VIEW_POOL_BYTES;
    v->keep = v->own.pool || !v->above ? &v->own : v->above->keep;
    BRG_ASSERT(v->server && !v->next);
    v->next = f->views;
    f->views = v;
    folders_account(t, (long)v->bytes);
}

void folder_view_drop(folder_table *t, folder_view *v)
{
    watch_remove(folders_watch(t), &v->owner);
    folder_view_release(v);
}

folder_view *folder_view_find(folder_table *t, folder *f, const server_rec *s,
                              const folder_view *above)
{
    folder_view **p = &f->views, *v;

    while ((v = *p) != NULL && v->server != s)
        p = &v->next;
    if (!v || (v->above == above && !watch_changed(folders_watch(t), &v->owner)))
        return v;
    *p = v->next;
    folders_account(t, -(long)v->bytes);
    folder_view_drop(t, v);
    return NULL;
}

void folder_views_end(folder_table *t, folder *f)
{
    folder_view *v;

    while ((v = f->views) != NULL) {
        f->views = v->next;
        folders_account(t, -(long)v->bytes);
        folder_view_drop(t, v);
    }
}

/* ---- of a request ---- */

static apr_status_t view_request_ends(void *data)
{
    request_files *files = data;

    for (const folder_hold *hold = files->folders; hold; hold = hold->next)
        folder_view_release(hold->view);
    files->folders = NULL;
    if (files->wanted)
        folder_names_release(files->wanted);
    files->wanted = NULL;
    return APR_SUCCESS;
}

/* Registered before all others of the request's pool, which may look at the configuration: it runs behind them. */
int folder_request_begin(request_rec *r)
{
    const brg_loop *loop = loop_self();
    request_files *files = loop && loop->folders ? request_files_of(r) : NULL;

    if (files) {
        files->may_hold = 1;
        apr_pool_cleanup_register(r->pool, files, view_request_ends, apr_pool_cleanup_null);
    }
    return OK;
}

void folder_view_hold(request_rec *r, folder_view *v)
{
    request_files *files = request_files_of(r);
    folder_hold *hold;

    if (!files || (files->folders && files->folders->view == v))
        return;
    BRG_ASSERT(v->conf != NULL);
    hold = apr_palloc(r->pool, sizeof *hold);
    *hold = (folder_hold){v, files->folders};
    if (files->may_hold)
        folder_view_take(v);
    files->folders = hold;
}

walk_keep *walk_keep_of(const request_rec *r, const ap_conf_vector_t *conf)
{
    const request_files *files = request_files_of(r);
    const folder_view *v = files && files->folders ? files->folders->view : NULL;

    return v && (v->conf == conf || walk_keep_has(v->keep, conf)) ? v->keep : NULL;
}
