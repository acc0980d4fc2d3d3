/* SPDX-License-Identifier: Apache-2.0 */
/* Results of stat() for callers besides the walk: from the walk's look, or the loop's known folders
 * on the way. */
#include "folder_private.h"
#include "file_open_private.h"
#include "request_context.h"
#include "walk_dir_private.h"
#include "brigade/files.h"
#include <string.h>

/* The folder, or the name in the last known one. */
static apr_status_t stat_in(folder_table *t, folder *f, const char *path, const char *name,
                            apr_finfo_t *finfo, const request_rec *r, apr_int32_t wanted)
{
    const size_t len = strcspn(name, "/");

    if (!*name && (f->link == FOLDER_PLAIN || !(wanted & APR_FINFO_LINK)))
        return folder_info(t, f, r, finfo) ? APR_SUCCESS : AP_DECLINED;
    if (!*name)
        return AP_DECLINED;
    if (folder_lacks(t, f, name, len))
        return APR_ENOENT;
    if (name[len] || (wanted & APR_FINFO_LINK) ||
        !folder_file_find(t, path, (size_t)(name - path) + len, finfo))
        return AP_DECLINED;
    return APR_SUCCESS;
}

static apr_status_t stat_known(folder_table *t, const char *path, apr_finfo_t *finfo,
                               const request_rec *r, apr_int32_t wanted)
{
    folder *f = folder_step(t, NULL, path, 1, 0, 0), *next = f;
    const char *name = path + 1;

    while (next && *name) {
        const size_t len = strcspn(name, "/");

        next = folder_step(t, f, path, (size_t)(name - path) + len, len, 0);
        if (next) {
            f = next;
            name += len + (name[len] == '/');
        }
    }
    return f ? stat_in(t, f, path, name, finfo, r, wanted) : AP_DECLINED;
}

/* r->filename as its walk left it. */
static apr_status_t stat_of_walk(const request_rec *r, const char *path, apr_finfo_t *finfo,
                                 apr_int32_t wanted)
{
    const request_files *files = request_files_of(r);

    if (!files || !files->walked || (wanted & APR_FINFO_LINK) || r->filename != files->walked ||
        strcmp(path, r->filename) != 0 || r->finfo.filetype == APR_LNK)
        return AP_DECLINED;
    if (r->finfo.filetype == APR_NOFILE)
        return APR_ENOENT;
    *finfo = r->finfo;
    return APR_SUCCESS;
}

BRG_DECLARE(apr_status_t)
brg_file_stat(apr_finfo_t *finfo, request_rec *r, const char *path, apr_int32_t wanted)
{
    apr_status_t rv = stat_of_walk(r, path, finfo, wanted);
    folder_table *t;

    if (rv == AP_DECLINED && path[0] == '/' && walk_is_canonical(path) &&
        (t = folders_of(r)) != NULL && !file_mounts_may_hang(path))
        rv = stat_known(t, path, finfo, r, wanted);
    if (rv == APR_SUCCESS && (wanted & ~(finfo->valid | APR_FINFO_LINK)))
        rv = AP_DECLINED;
    return rv == AP_DECLINED ? apr_stat(finfo, path, wanted, r->pool) : rv;
}
