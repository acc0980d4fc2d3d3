/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a listing. Each file is looked up by a subrequest, so that a listing shows nothing
 * that the client could not fetch, under the type that it would be served with.
 */
#include "autoindex_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_fnmatch.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/memory.h"
#include "brigade/pages.h"
#include "brigade/response_cache.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

APLOG_USE_MODULE(autoindex);

#define AI_LOOP_ENTRIES 100 /* of a folder that a loop reads */
#define AI_LOOP_STEP 8      /* entries between two looks whether it had to wait */
#define AI_LOOP_WAITS 4     /* that may have another reason than a disk */
#define AI_TITLE_READ 8191  /* bytes at the start of a document in which its title is looked for */

int ai_is_html(const request_rec *r)
{
    const char *type = r->content_type ? ap_field_noparam(r->pool, r->content_type) : "";

    return strcasecmp(type, "text/html") == 0 || strcasecmp(type, "application/xhtml+xml") == 0;
}

static char *ai_find_tag(char *text, const char *tag)
{
    apr_size_t len = strlen(tag);

    for (; *text; text++)
        if (*text == *tag && strncasecmp(text, tag, len) == 0)
            return text;
    return NULL;
}

static const char *ai_title(request_rec *r)
{
    char text[AI_TITLE_READ + 1], *title, *end;
    apr_size_t len = AI_TITLE_READ;
    apr_file_t *file;
    const char *type;

    if (r->status != HTTP_OK || !r->content_type || r->content_encoding)
        return NULL;
    type = ap_field_noparam(r->pool, r->content_type);
    if ((!ai_is_html(r) && strcasecmp(type, "text/x-server-parsed-html") != 0) ||
        apr_file_open(&file, r->filename, APR_FOPEN_READ, APR_FPROT_OS_DEFAULT, r->pool))
        return NULL;
    if (apr_file_read(file, text, &len) != APR_SUCCESS)
        len = 0;
    apr_file_close(file);
    text[len] = '\0';
    title = ai_find_tag(text, "<title>");
    if (!title)
        return NULL;
    title += sizeof("<title>") - 1;
    end = ai_find_tag(title, "</title>");
    if (end)
        *end = '\0';
    for (end = title; *end; end++)
        if (*end == '\n' || *end == '\r')
            *end = ' ';
    return apr_pstrdup(r->pool, title);
}

/* A document's title is text here, in which character references count and mark-up does not. Apache
 * shows both. */
static const char *ai_title_text(request_rec *r)
{
    static const char amp[] = "&amp;";
    const char *title = ai_title(r), *from;
    char *text, *to;

    if (!title)
        return NULL;
    text = to = apr_pstrdup(r->pool, brg_html_text(r->pool, title));
    for (from = text; *from;) {
        *to++ = *from;
        from += strncmp(from, amp, sizeof(amp) - 1) == 0 ? sizeof(amp) - 1 : 1;
    }
    *to = '\0';
    return text;
}

static ai_entry *ai_entry_new(request_rec *r)
{
    ai_entry *entry = apr_pcalloc(r->pool, sizeof(*entry));

    entry->size = -1;
    entry->time = -1;
    return entry;
}

/* Icons and descriptions of a folder go by its own name, without the slash that marks it: not by that
 * of its index file, which the sub-request may have come to. */
static void ai_use_folder_name(request_rec *r, request_rec *sub, const char *name)
{
    sub->filename = apr_pstrcat(sub->pool, r->filename, name, NULL);
}

static void ai_fill_fancy(ai_entry *entry, request_rec *r, request_rec *sub, const ai_view *view,
                          const char *folder)
{
    const ai_conf *conf = view->conf;
    const char *desc;

    if (!(view->opts & AI_SUPPRESS_LAST_MOD))
        entry->time = sub->finfo.mtime;
    if (folder) {
        ai_use_folder_name(r, sub, folder);
        entry->icon = ai_find(conf->icons, sub, 1);
        entry->alt = ai_find(conf->alts, sub, 1);
        if (!entry->icon)
            entry->icon = ai_find_name(conf->icons, "^^DIRECTORY^^");
        if (!entry->alt && !(entry->alt = ai_find_name(conf->alts, "^^DIRECTORY^^")))
            entry->alt = "DIR";
        entry->kind = "dir";
    } else {
        entry->icon = ai_find(conf->icons, sub, 0);
        entry->alt = ai_find(conf->alts, sub, 0);
        entry->kind = ai_kind(sub);
        entry->size = sub->finfo.size;
    }
    if (view->opts & AI_SUPPRESS_DESC)
        return;
    desc = ai_find_desc(conf, sub->filename);
    if (!desc && !folder && (view->opts & AI_SCAN_HTML_TITLES))
        desc = view->modern ? ai_title_text(sub) : ai_title(sub);
    entry->desc = desc ? apr_pstrdup(r->pool, desc) : NULL;
}

static int ai_is_visible(const request_rec *sub, const ai_view *view)
{
    if (sub->finfo.filetype != APR_DIR && sub->finfo.filetype != APR_REG)
        return 0;
    return sub->status == OK || ap_is_HTTP_SUCCESS(sub->status) ||
           ap_is_HTTP_REDIRECT(sub->status) ||
           ((view->opts & AI_SHOW_FORBIDDEN) &&
            (sub->status == HTTP_UNAUTHORIZED || sub->status == HTTP_FORBIDDEN));
}

/* A folder's index file takes the folder's place in the sub-request, but the line is the folder's:
 * it stays one if the directory says so, or if the found file lies below the name. */
static int ai_is_dir(const request_rec *r, const apr_finfo_t *dirent, const request_rec *sub)
{
    apr_size_t dir_len, name_len;
    const char *below;

    if (sub->finfo.filetype == APR_DIR ||
        ((dirent->valid & APR_FINFO_TYPE) && dirent->filetype == APR_DIR))
        return 1;
    if ((dirent->valid & APR_FINFO_TYPE) && dirent->filetype == APR_REG)
        return 0;
    dir_len = strlen(r->filename);
    name_len = strlen(dirent->name);
    BRG_ASSERT(dir_len && r->filename[dir_len - 1] == '/'); /* ai_handler() sees to it */
    if (strncmp(sub->filename, r->filename, dir_len) != 0)
        return 0;
    below = sub->filename + dir_len;
    return strncmp(below, dirent->name, name_len) == 0 && below[name_len] == '/';
}

static ai_entry *ai_entry_of(request_rec *r, const apr_finfo_t *dirent, const ai_view *view)
{
    const char *name = dirent->name;
    request_rec *sub;
    ai_entry *entry;
    int is_dir;

    if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
        return NULL;
    if (name[0] == '.' && view->by_default_utf8 && !(view->opts & AI_SHOW_DOT_FILES))
        return NULL; /* Apache shows them; IndexIgnore hides them there */
    if (view->pattern && apr_fnmatch(view->pattern, name, APR_FNM_NOESCAPE | APR_FNM_PERIOD))
        return NULL;
    if (view->conf->ignores->nelts &&
        ai_is_ignored(view->conf, ap_make_full_path(r->pool, r->filename, name)))
        return NULL;
    sub = ap_sub_req_lookup_dirent(dirent, r, AP_SUBREQ_NO_ARGS, NULL);
    if (!sub)
        return NULL;
    if (!ai_is_visible(sub, view)) {
        ap_destroy_sub_req(sub);
        return NULL;
    }
    entry = ai_entry_new(r);
    is_dir = ai_is_dir(r, dirent, sub);
    if (view->opts & AI_FANCY) {
        ai_fill_fancy(entry, r, sub, view, is_dir ? name : NULL);
        entry->is_dir = is_dir && (view->opts & AI_FOLDERS_FIRST);
    }
    entry->is_folder = is_dir;
    entry->name = apr_pstrcat(r->pool, name, is_dir ? "/" : NULL, NULL);
    ap_destroy_sub_req(sub);
    return entry;
}

/* "Parent Directory", except at the top of the site. */
static ai_entry *ai_parent(request_rec *r, const ai_view *view)
{
    const ai_conf *conf = view->conf;
    char *uri = ap_make_full_path(r->pool, r->uri, "../"), *path;
    ai_entry *entry;

    if (!ap_normalize_path(uri, AP_NORMALIZE_ALLOW_RELATIVE | AP_NORMALIZE_NOT_ABOVE_ROOT))
        return NULL;
    path = ap_make_full_path(r->pool, r->filename, "..");
    if (ai_is_ignored(conf, path))
        return NULL;
    entry = ai_entry_new(r);
    entry->is_parent = 1;
    entry->name = uri;
    if (view->opts & AI_FANCY) {
        entry->kind = "up";
        entry->icon = ai_find_name(conf->icons, path);
        entry->alt = ai_find_name(conf->alts, path);
        if (!entry->icon)
            entry->icon = ai_find_name(conf->icons, "^^DIRECTORY^^");
        if (!entry->alt && !(entry->alt = ai_find_name(conf->alts, "^^DIRECTORY^^")))
            entry->alt = "PARENTDIR";
        entry->desc = ai_find_desc(conf, path);
    }
    return entry;
}

static int ai_sign(apr_int64_t a, apr_int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Names that differ in case only still have an order. */
static int ai_compare_names(const ai_entry *a, const ai_entry *b, int opts, int modern)
{
    int rv = 0;

    if (modern && (opts & AI_VERSION_SORT) && (opts & AI_IGNORE_CASE) &&
        (rv = ai_collate(a->name, b->name)))
        return rv;
    if (opts & AI_VERSION_SORT) {
        if (opts & AI_IGNORE_CASE)
            rv = apr_strnatcasecmp(a->name, b->name);
        return rv ? rv : apr_strnatcmp(a->name, b->name);
    }
    if (opts & AI_IGNORE_CASE)
        rv = strcasecmp(a->name, b->name);
    return rv ? rv : strcmp(a->name, b->name);
}

static int ai_compare(const void *va, const void *vb, void *vview)
{
    const ai_entry *a = *(ai_entry *const *)va, *b = *(ai_entry *const *)vb, *swap;
    const ai_view *view = vview;
    int rv = 0;

    if (a->is_parent || b->is_parent)
        return b->is_parent - a->is_parent;
    if (a->is_dir != b->is_dir)
        return a->is_dir ? -1 : 1;
    if (view->direction == 'D') {
        swap = a;
        a = b;
        b = swap;
    }
    if (view->key == 'M') {
        rv = ai_sign(a->time, b->time);
    } else if (view->key == 'S') {
        rv = ai_sign(a->size, b->size);
    } else if (view->key == 'D') {
        const char *da = a->desc ? a->desc : "", *db = b->desc ? b->desc : "";
        rv = view->opts & AI_VERSION_SORT ? apr_strnatcmp(da, db) : strcmp(da, db);
    }
    return rv ? rv : ai_compare_names(a, b, view->opts, view->modern);
}

/* 1: the calling thread has read from a disk since then, or waited for something more than once. */
static int ai_has_waited(const struct rusage *then)
{
    struct rusage now;

    return getrusage(RUSAGE_THREAD, &now) == 0 &&
           (now.ru_inblock != then->ru_inblock || now.ru_nvcsw - then->ru_nvcsw > AI_LOOP_WAITS);
}

/* A loop stops where it takes long: many entries, a disk that has to be asked for them, or a link, which
 * may lead anywhere. */
static int ai_is_for_worker(request_rec *r, const struct rusage *began, int n,
                            const apr_finfo_t *dirent)
{
    int slow = n % AI_LOOP_STEP == AI_LOOP_STEP - 1 && ai_has_waited(began);

    return (slow || n >= AI_LOOP_ENTRIES || dirent->filetype == APR_LNK) &&
           brg_request_rerun_on_worker(r);
}

/* A file that has gone, or that the server may not see, is no error. */
static void ai_left_out(request_rec *r, const char *name, apr_status_t rv)
{
    int usual = APR_STATUS_IS_ENOENT(rv) || APR_STATUS_IS_EACCES(rv);

    ap_log_rerror(APLOG_MARK, usual ? APLOG_INFO : APLOG_WARNING, rv, r,
                  "left out of the listing of %s: %s", r->filename, name);
}

apr_array_header_t *ai_entries(request_rec *r, ai_view *view, apr_status_t *rv)
{
    apr_array_header_t *entries = apr_array_make(r->pool, 32, sizeof(ai_entry *));
    ai_entry *entry = ai_parent(r, view);
    int on_loop = brg_thread_is_loop();
    struct rusage began;
    apr_finfo_t dirent;
    apr_dir_t *dir;

    /* HTMLTable implies FancyIndexing, but for the parent's row, which Apache has made by then. */
    if (view->opts & AI_TABLE)
        view->opts |= AI_FANCY;
    *rv = apr_dir_open(&dir, r->filename, r->pool);
    if (*rv != APR_SUCCESS)
        return NULL;
    if (entry)
        APR_ARRAY_PUSH(entries, ai_entry *) = entry;
    on_loop = on_loop && getrusage(RUSAGE_THREAD, &began) == 0;
    for (int n = 0;; n++) {
        errno = 0;
        *rv = apr_dir_read(&dirent, APR_FINFO_MIN | APR_FINFO_NAME, dir);
        if (*rv == APR_INCOMPLETE) {
            ai_left_out(r, dirent.name, errno); /* not even lstat() knows anything of it */
            continue;
        }
        if (*rv != APR_SUCCESS || brg_pool_refused(r->pool))
            break; /* after a refusal of memory no list is sent */
        if (on_loop && ai_is_for_worker(r, &began, n, &dirent)) {
            *rv = APR_EAGAIN;
            break;
        }
        if ((entry = ai_entry_of(r, &dirent, view)))
            APR_ARRAY_PUSH(entries, ai_entry *) = entry;
    }
    apr_dir_close(dir);
    if (APR_STATUS_IS_EAGAIN(*rv))
        return NULL;
    if (*rv != APR_SUCCESS && !APR_STATUS_IS_ENOENT(*rv) && !brg_pool_refused(r->pool))
        return NULL; /* a part of a directory is not shown as if it were the whole */
    *rv = APR_SUCCESS;
    qsort_r(entries->elts, (size_t)entries->nelts, sizeof(ai_entry *), ai_compare, view);
    return entries;
}
