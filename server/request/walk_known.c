/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory walk through known folders: no system call for anything that has not changed since
 * an earlier request.
 *
 * For each folder there is a view: the result of walk_dir.c up to it, for one server. A walk takes
 * that of the last folder that is known, and goes on behind it as ever. A folder that cannot be
 * known, whose access file has an error, or whose link Options does not allow, ends the known way:
 * walk_dir.c goes on from there.
 */
#include "walk_dir_private.h"
#include "configuration.h"
#include "file_open_private.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "brigade/explain.h"
#include "apr_strings.h"
#include "http_request.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_REFUSED_US apr_time_from_sec(10)

/* --explain is told of each section: all are looked for. */
static folder_table *known_table(const dir_walk *w)
{
    request_rec *r = w->r;

    return !brg_explain && r->per_dir_config == r->server->lookup_defaults &&
                   !file_mounts_may_hang(w->path)
               ? folders_of(r)
               : NULL;
}

/* ---- making a view ---- */

/* @return -1: the access files cannot be watched; 0: no file; 1: there may be one */
static int known_watch_access(const dir_walk *w, folder_view *v)
{
    apr_pool_t *p = w->r->pool;
    const char *list = w->access_name, *name;
    int found = 0;

    while (*list && *(name = ap_getword_conf(p, &list)) != '\0') {
        const char *path = ap_make_full_path(p, v->dir, name);

        if (watch_add(folders_watch(w->table), &v->owner, path, 0))
            return -1;
        if (faccessat(AT_FDCWD, path, F_OK, 0) != 0 && (errno == ENOENT || errno == ENOTDIR))
            continue;
        if (watch_is_layered(path))
            return -1;
        found = 1;
    }
    return found;
}

/* Results of known_access() beside OK and statuses. */
#define KNOWN_NOT DECLINED
#define KNOWN_ONCE DONE /* each request has to read the access file for itself: this one did */

static int known_read_access(dir_walk *w, folder_view *v, const conf_htaccess_scope *scope)
{
    const unsigned unrepeatable = conf_unrepeatable_noted();
    apr_pool_t *p = folder_view_pool(v);
    ap_conf_vector_t *found = NULL;
    int res;

    if (!p)
        return KNOWN_NOT;
    res = conf_htaccess_read(&found, p, w->r, scope, v->dir, w->access_name);
    if (res != OK)
        return res;
    v->own_seen.htaccess = found;
    if (found)
        walk_dir_take(w, found, 0);
    if (unrepeatable == conf_unrepeatable_noted())
        return OK;
    walk_dir_each_time(w->r);
    return KNOWN_ONCE;
}

static int known_access(dir_walk *w, folder_view *v)
{
    const core_dir_config *core = walk_dir_core(w);
    const conf_htaccess_scope scope = {(int)core->override & ~OR_UNSET, core->override_opts,
                                       core->override_list};
    int found;

    v->seen = v->above ? v->above->seen : NULL;
    if (!scope.override && (!scope.override_list || apr_is_empty_table(scope.override_list)))
        return OK;
    if (walk_would_wait(w->r, ++w->searched) || (found = known_watch_access(w, v)) < 0)
        return KNOWN_NOT;
    v->own_seen = (struct htaccess_result){.dir = v->dir,
                                           .override = scope.override,
                                           .override_opts = scope.override_opts,
                                           .override_list = scope.override_list,
                                           .next = v->seen};
    v->seen = &v->own_seen;
    return found ? known_read_access(w, v, &scope) : OK;
}

/* w is as it was before, but for its scratch memory. */
static void known_restore(dir_walk *w, const dir_walk *before)
{
    char *scratch = w->scratch;
    apr_size_t cut = w->cut;

    *w = *before;
    w->scratch = scratch;
    w->cut = cut;
}

static void known_view_settle(dir_walk *w, folder *f, folder_view *v)
{
    (void)walk_dir_core(w);
    v->conf = w->conf;
    v->next_sec = w->next_sec;
    folder_view_add(w->table, f, v);
    BRG_ASSERT(v->conf && v->keep);
    w->found.keep = v->keep;
    v->found = w->found;
}

/* @return OK, KNOWN_NOT, KNOWN_ONCE, or the status that ends the request */
static int known_view_make(dir_walk *w, folder *f, folder_view *above, folder_view **out)
{
    const dir_walk before = *w;
    folder_view *v = folder_view_create(w->table, f, w->r->server, above);
    int res;

    if (!v)
        return KNOWN_NOT;
    w->found.keep = &v->own;
    walk_dir_sections(w, w->pos, w->level);
    res = known_access(w, v);
    if (res == OK) {
        known_view_settle(w, f, v);
        *out = v;
        return OK;
    }
    f->refused = folders_now(w->table) + KNOWN_REFUSED_US;
    if (res == KNOWN_ONCE) {
        (void)walk_dir_core(w);
        v->conf = w->conf;
        v->keep = &v->own;
        folder_view_hold(w->r, v);
        *out = v;
    } else {
        known_restore(w, &before);
    }
    folder_view_drop(w->table, v);
    return res;
}

static int known_view(dir_walk *w, folder *f, folder_view *above, folder_view **out)
{
    folder_view *v = folder_view_find(w->table, f, w->r->server, above);

    if (!v)
        return folders_now(w->table) < f->refused ? KNOWN_NOT : known_view_make(w, f, above, out);
    w->found = v->found;
    w->conf = v->conf;
    w->next_sec = v->next_sec;
    *out = v;
    return OK;
}

/* ---- behind the last folder ---- */

static int known_is_given(const request_rec *r)
{
    return r->finfo.filetype != APR_NOFILE && r->finfo.filetype != APR_LNK;
}

/* The name is that of the folder. @return DONE; OK: the file system is asked */
static int known_is_folder(dir_walk *w)
{
    apr_finfo_t info;

    if (!known_is_given(w->r)) {
        if (!folder_info(w->table, w->folder, w->r, &info))
            return OK;
        w->r->finfo = info;
    }
    w->end = w->len;
    return DONE;
}

/* The component before w->end is not there. The times of its directory tell mod_negotiation of new and removed variants. */
static int known_is_missing(dir_walk *w)
{
    request_rec *r = w->r;
    apr_finfo_t info;

    memset(&r->finfo, 0, sizeof r->finfo);
    if (w->end + (w->end < w->len) == w->len && folder_info(w->table, w->folder, r, &info))
        r->finfo = info;
    r->finfo.filetype = APR_NOFILE;
    return DONE;
}

/* @return DONE: the path behind w->folder is known, too */
static int known_component(dir_walk *w)
{
    request_rec *r = w->r;
    const int opts = walk_dir_core(w)->opts;
    apr_finfo_t info;

    BRG_ASSERT(w->folder && w->pos <= w->end && w->end <= w->len);
    if (known_is_given(r))
        return OK;
    if (folder_lacks(w->table, w->folder, w->path + w->pos, w->end - w->pos)) {
        if (!(opts & OPT_SYM_LINKS) || w->links)
            walk_dir_note_links(w, w->level, opts);
        return known_is_missing(w);
    }
    if ((opts & (OPT_SYM_LINKS | OPT_SYM_OWNER)) != OPT_SYM_LINKS || w->links ||
        !folder_file_find(w->table, w->path, w->end, &info))
        return OK;
    r->finfo = info;
    r->finfo.fname = r->filename;
    r->finfo.pool = r->pool;
    request_files_of(r)->known = 1;
    return DONE;
}

/* ---- the way ---- */

/* May the component that leads from w->folder to f be a link? */
static int known_link_is_allowed(dir_walk *w, const folder *f)
{
    const int opts = walk_dir_core(w)->opts;

    if ((opts & (OPT_SYM_LINKS | OPT_SYM_OWNER)) != OPT_SYM_LINKS)
        request_link_policy_counts(w->r);
    if (f->link != FOLDER_PLAIN && !(opts & OPT_SYM_LINKS) &&
        !(opts & OPT_SYM_OWNER && f->link == FOLDER_LINK_SAME_OWNER))
        return 0;
    if (!(opts & OPT_SYM_LINKS) || w->links)
        walk_dir_note_links(w, w->level, opts);
    return 1;
}

/* The access files that were found on the way count as read by r. */
static void known_note_seen(request_rec *r, const folder_view *v)
{
    const struct htaccess_result *had = r->htaccess, *h;

    for (h = had; h && h != v->seen; h = h->next) {
    }
    if (!v->seen || h)
        return;
    for (h = v->seen; h && h != had; h = h->next) {
    }
    if (h == had) {
        r->htaccess = v->seen;
        return;
    }
    for (h = v->seen; h; h = h->next) {
        struct htaccess_result *copy = apr_pmemdup(r->pool, h, sizeof *h);

        copy->next = r->htaccess;
        r->htaccess = copy;
    }
}

/* One folder further. @return OK: w->folder is the next one; KNOWN_NOT; KNOWN_ONCE: it is, and no further; or a status */
static int known_step(dir_walk *w, folder_view **view)
{
    const apr_size_t pos = w->folder ? w->end + 1 : 1;
    const apr_size_t len = w->folder ? w->end : 1;
    folder *f = folder_step(w->table, w->folder, w->path, len, w->folder ? w->end - w->pos : 0,
                            !w->folder || w->end < w->len);
    dir_walk at;
    int res;

    BRG_ASSERT(!w->folder || (w->pos <= w->end && w->end <= w->len));
    if (!f || (w->folder && !known_link_is_allowed(w, f)))
        return KNOWN_NOT;
    at = *w;
    w->pos = pos;
    w->level += w->folder != NULL;
    res = known_view(w, f, *view, view);
    if (res != OK && res != KNOWN_ONCE) {
        known_restore(w, &at);
        return res;
    }
    w->folder = f;
    w->taken = 1;
    return res;
}

static int known_walk(dir_walk *w, folder_view **view)
{
    int kept = (*view = walk_memo_known(w)) != NULL, res = kept ? OK : known_step(w, view);

    for (; res == OK; kept = 0, res = known_step(w, view)) {
        const char *slash;

        BRG_ASSERT(w->folder && *view);
        if (w->pos >= w->len)
            return known_is_folder(w);
        slash = memchr(w->path + w->pos, '/', w->len - w->pos);
        w->end = slash ? (apr_size_t)(slash - w->path) : w->len;
        if (!kept && w->end + (w->end < w->len) == w->len)
            walk_memo_keep(w, *view);
        if ((res = known_component(w)) != OK)
            return res;
    }
    return res == KNOWN_NOT || res == KNOWN_ONCE ? OK : res;
}

/* ---- views held by earlier requests ---- */

/* Bytes of the path that lead to the folder of v; 0: it is not on the way. */
static apr_size_t held_reaches(const dir_walk *w, const folder_view *v)
{
    const apr_size_t len = strlen(v->dir), have = len > w->len ? w->len : len;

    return v->server == w->r->server && len <= w->len + 1 && !strncmp(w->path, v->dir, have) ? len
                                                                                             : 0;
}

/* The view nearest to the file among those that r, or a request that led to it, came through. */
static folder_view *held_view(const dir_walk *w)
{
    folder_view *found = NULL;
    apr_size_t most = 0;

    for (const request_rec *r = w->r; r; r = request_led_to(r)) {
        const request_files *files = request_files_of(r);

        for (const folder_hold *h = files ? files->folders : NULL; h; h = h->next)
            for (folder_view *v = h->view; v; v = v->above)
                if (held_reaches(w, v) > most) {
                    most = held_reaches(w, v);
                    found = v;
                }
    }
    return found;
}

static void held_note_links(dir_walk *w, const folder_view *v)
{
    unsigned level = w->level;

    for (v = v->above; v; v = v->above) {
        const core_dir_config *core = ap_get_core_module_config(v->conf);

        level--;
        if ((core->opts & (OPT_SYM_LINKS | OPT_SYM_OWNER)) != OPT_SYM_LINKS)
            request_link_policy_counts(w->r);
        if (!(core->opts & OPT_SYM_LINKS))
            walk_dir_note_links(w, level, core->opts);
    }
}

/* A worker goes on with the loop's result; and a sub-request or redirect has the same configuration
 * object: whether access control runs once more depends on it. */
static void known_held(dir_walk *w)
{
    folder_view *v = w->r->per_dir_config == w->r->server->lookup_defaults ? held_view(w) : NULL;

    if (!v)
        return;
    BRG_ASSERT(v->conf && v->server == w->r->server);
    w->found = v->found;
    w->conf = v->conf;
    w->next_sec = v->next_sec;
    w->pos = strlen(v->dir);
    w->taken = 1;
    for (const folder_view *up = v->above; up; up = up->above)
        w->level++;
    held_note_links(w, v);
    folder_view_hold(w->r, v);
    known_note_seen(w->r, v);
}

/* 1: a request that led here keeps merges of its own, which are to be found again. */
static int known_leader_merges(const request_rec *r)
{
    while ((r = request_led_to(r)) != NULL) {
        const request_files *files = request_files_of(r);

        if (!files || files->merges)
            return 1;
    }
    return 0;
}

int walk_known(dir_walk *w)
{
    folder_view *view = NULL;
    int res;

    w->table = known_leader_merges(w->r) ? NULL : known_table(w);
    if (!w->table) {
        known_held(w);
        return OK;
    }
    res = known_walk(w, &view);
    if (!w->folder || (res != OK && res != DONE))
        return res;
    BRG_ASSERT(view != NULL);
    folder_used(w->table, w->folder);
    folder_view_hold(w->r, view);
    known_note_seen(w->r, view);
    return res;
}
