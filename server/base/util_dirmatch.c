/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the files that a directive names: one file, a whole directory tree, or all that match a
 * pattern with wildcards in any component. Names are handed over in the order of strcmp.
 */
#include <stdlib.h>
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "apr_fnmatch.h"
#include "apr_file_info.h"
#include "apr_strings.h"

#define UTIL_DIR_DEPTH 20u /* nested directories, against links that lead back */

static const char *util_prefix(const ap_dir_match_t *w)
{
    return w->prefix ? w->prefix : "";
}

static int util_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a directory that match the pattern (all if NULL), sorted. */
static const char *util_list_dir(ap_dir_match_t *w, const char *path, const char *pattern,
                                 apr_array_header_t **names)
{
    apr_dir_t *dir;
    apr_finfo_t entry;
    apr_status_t rv = apr_dir_open(&dir, path, w->ptemp);

    if (rv != APR_SUCCESS)
        return apr_psprintf(w->p, "%sCould not open directory %s: %pm", util_prefix(w), path, &rv);
    *names = apr_array_make(w->ptemp, 16, sizeof(char *));
    while (apr_dir_read(&entry, APR_FINFO_NAME, dir) == APR_SUCCESS) {
        if (strcmp(entry.name, ".") == 0 || strcmp(entry.name, "..") == 0)
            continue;
        if (!pattern || apr_fnmatch(pattern, entry.name, APR_FNM_PERIOD) == APR_SUCCESS)
            APR_ARRAY_PUSH(*names, char *) = apr_pstrdup(w->ptemp, entry.name);
    }
    apr_dir_close(dir);
    qsort((*names)->elts, (size_t)(*names)->nelts, sizeof(char *), util_by_name);
    return NULL;
}

static const char *util_walk_dir(ap_dir_match_t *w, const char *path)
{
    apr_array_header_t *names;
    const char *err;
    int i;

    if (++w->depth > UTIL_DIR_DEPTH)
        return apr_psprintf(w->p,
                            "%sDirectory '%s' exceeds the maximum include directory nesting level "
                            "of %u. You have probably a recursion somewhere.",
                            util_prefix(w), path, UTIL_DIR_DEPTH);
    err = util_list_dir(w, path, NULL, &names);
    for (i = 0; !err && i < names->nelts; i++)
        err = ap_dir_nofnmatch(
            w, ap_make_full_path(w->p, path, APR_ARRAY_IDX(names, i, const char *)));
    BRG_ASSERT(w->depth > 0);
    w->depth--;
    return err;
}

AP_DECLARE(const char *) ap_dir_nofnmatch(ap_dir_match_t *w, const char *fname)
{
    apr_finfo_t info;
    apr_status_t rv = apr_stat(&info, fname, APR_FINFO_TYPE, w->ptemp);

    if (rv != APR_SUCCESS) {
        if (w->flags & AP_DIR_FLAG_OPTIONAL)
            return NULL;
        return apr_psprintf(w->p, "%sCould not access '%s': %pm", util_prefix(w), fname, &rv);
    }
    /* a link that leads to a directory is one file: it may lead upwards */
    if ((w->flags & AP_DIR_FLAG_RECURSIVE) && ap_is_rdirectory(w->ptemp, fname))
        return util_walk_dir(w, fname);
    return w->cb(w, fname);
}

/* Directories below path that match the first component of the pattern go on with the rest of it.
 */
static const char *util_match_dir(ap_dir_match_t *w, const char *path, const char *pattern,
                                  const char *rest)
{
    apr_array_header_t *names;
    const char *err = util_list_dir(w, path, pattern, &names);
    int i;

    if (err)
        return (w->flags & AP_DIR_FLAG_OPTIONAL) ? NULL : err;
    if (names->nelts == 0 && !(w->flags & AP_DIR_FLAG_OPTIONAL))
        return apr_psprintf(w->p, "%sNo matches for the wildcard '%s' in '%s', failing",
                            util_prefix(w), pattern, path);
    for (i = 0; !err && i < names->nelts; i++) {
        const char *full = ap_make_full_path(w->p, path, APR_ARRAY_IDX(names, i, const char *));

        if (!rest)
            err = ap_dir_nofnmatch(w, full);
        else if (ap_is_directory(w->ptemp, full))
            err = ap_dir_fnmatch(w, full, rest);
    }
    return err;
}

AP_DECLARE(const char *)
ap_dir_fnmatch(ap_dir_match_t *w, const char *path, const char *fname)
{
    const char *first, *rest;

    for (;;) {
        rest = strchr(fname, '/');
        first = rest ? apr_pstrmemdup(w->ptemp, fname, (apr_size_t)(rest - fname)) : fname;
        while (rest && *rest == '/')
            rest++;
        if (rest && !*rest)
            rest = NULL;
        if (apr_fnmatch_test(first))
            return util_match_dir(w, path ? path : ".", first, rest);
        if (!path)
            path = *first ? first : "/";
        else if (*first)
            path = ap_make_full_path(w->p, path, first);
        if (!rest)
            return ap_dir_nofnmatch(w, path);
        fname = rest;
    }
}
