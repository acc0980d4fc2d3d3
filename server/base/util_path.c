/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URL paths and file paths: dot segments, repeated slashes, prefixes and parents. All but the
 * functions that take a pool work in place.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_file_info.h"
#include "apr_strings.h"
#include "util_char.h"

/* The character at s and, in *len, how many bytes stand for it. *bad is set by a % that escapes
 * nothing. */
static char util_path_peek(const char *s, unsigned flags, size_t *len, int *bad)
{
    char c;

    *len = 1;
    if (*s != '%' || !(flags & AP_NORMALIZE_DECODE_UNRESERVED))
        return *s;
    if (!util_is(s[1], UTIL_C_HEX) || !util_is(s[2], UTIL_C_HEX)) {
        *bad = 1;
        return *s;
    }
    c = (char)(util_hex_value(s[1]) << 4 | util_hex_value(s[2]));
    if (!util_is(c, UTIL_C_UNRES))
        return *s;
    *len = 3;
    return c;
}

/* Bytes of "." or ".." with the slash after it at the start of a segment, 0 for another segment;
 * *up for "..". */
static size_t util_path_dots(const char *s, unsigned flags, int *up)
{
    size_t len, total;
    int bad = 0;
    char c;

    if (util_path_peek(s, flags, &len, &bad) != '.')
        return 0;
    total = len;
    c = util_path_peek(s + total, flags, &len, &bad);
    *up = c == '.';
    if (*up) {
        total += len;
        c = util_path_peek(s + total, flags, &len, &bad);
    }
    if (c == '\0')
        return total;
    return c == '/' ? total + 1 : 0;
}

/* Length of path[0..w) without its last segment; w ends a segment (or is 0). */
static size_t util_path_pop(const char *path, size_t w)
{
    BRG_ASSERT(w > 0);
    w--;
    while (w > 0 && path[w - 1] != '/')
        w--;
    return w;
}

/* Nearly all paths: nothing in it could be a dot segment, an empty one, or decoded. */
static int util_path_is_plain(const char *s)
{
    if (*s++ != '/' || *s == '/' || *s == '.')
        return 0;
    for (; *s; s++)
        if (*s == '%' || (*s == '/' && (s[1] == '/' || s[1] == '.')))
            return 0;
    return 1;
}

AP_DECLARE(int) ap_normalize_path(char *path, unsigned int flags)
{
    int ok = 1;
    size_t r = 0, w = 0;

    if (util_path_is_plain(path))
        return 1;
    if (path[0] != '/') {
        if (path[0] == '*' && path[1] == '\0')
            return 1;
        if (!(flags & AP_NORMALIZE_ALLOW_RELATIVE) || path[0] == '\0')
            return 0;
    } else {
        r = w = 1;
    }

    while (path[r]) {
        size_t len;
        int bad = 0;

        if (w == 0 || path[w - 1] == '/') {
            int up = 0;

            if ((flags & AP_NORMALIZE_MERGE_SLASHES) && path[r] == '/') {
                r++;
                continue;
            }
            len = util_path_dots(path + r, flags, &up);
            if (len) {
                r += len;
                if (up && w > 1)
                    w = util_path_pop(path, w);
                else if (up && (flags & AP_NORMALIZE_NOT_ABOVE_ROOT))
                    ok = 0;
                continue;
            }
        }
        path[w++] = util_path_peek(path + r, flags, &len, &bad);
        r += len;
        if (bad)
            ok = 0;
    }
    BRG_ASSERT(w <= r); /* the written bytes have been read */
    path[w] = '\0';
    return ok;
}

AP_DECLARE(void) ap_getparents(char *name)
{
    if (!ap_normalize_path(name, AP_NORMALIZE_NOT_ABOVE_ROOT | AP_NORMALIZE_ALLOW_RELATIVE))
        name[0] = '\0';
}

AP_DECLARE(void) ap_no2slash_ex(char *name, int is_fs_path)
{
    char *s = strstr(name, "//"), *d = s;

    if (!s)
        return;
    while (*s) {
        *d++ = *s;
        if (*s++ == '/')
            while (*s == '/')
                s++;
    }
    BRG_ASSERT(d <= s);
    *d = '\0';
}

AP_DECLARE(void) ap_no2slash(char *name)
{
    ap_no2slash_ex(name, 1);
}

AP_DECLARE(int) ap_count_dirs(const char *path)
{
    int n = 0;

    for (; (path = strchr(path, '/')) != NULL; path++)
        n++;
    return n;
}

AP_DECLARE(char *) ap_make_dirstr_prefix(char *d, const char *s, int n)
{
    if (n < 1) {
        *d++ = '/';
        *d = '\0';
        return d;
    }
    while (*s) {
        *d++ = *s;
        if (*s++ == '/' && --n == 0) {
            *d = '\0';
            return d;
        }
    }
    *d++ = '/';
    *d = '\0';
    return d;
}

AP_DECLARE(char *) ap_make_dirstr_parent(apr_pool_t *p, const char *s)
{
    const char *last = strrchr(s, '/');

    if (!last)
        return apr_pstrdup(p, "");
    return apr_pstrmemdup(p, s, (apr_size_t)(last + 1 - s));
}

AP_DECLARE(char *) ap_make_full_path(apr_pool_t *a, const char *dir, const char *f)
{
    size_t dir_len = strlen(dir), f_len = strlen(f);
    char *out = apr_palloc(a, dir_len + f_len + 2);

    memcpy(out, dir, dir_len);
    if (dir_len == 0 || dir[dir_len - 1] != '/')
        out[dir_len++] = '/';
    memcpy(out + dir_len, f, f_len + 1);
    return out;
}

AP_DECLARE(int) ap_os_is_path_absolute(apr_pool_t *p, const char *dir)
{
    return dir[0] == '/';
}

AP_DECLARE(int) ap_is_directory(apr_pool_t *p, const char *name)
{
    apr_finfo_t info;

    return apr_stat(&info, name, APR_FINFO_TYPE, p) == APR_SUCCESS && info.filetype == APR_DIR;
}

AP_DECLARE(int) ap_is_rdirectory(apr_pool_t *p, const char *name)
{
    apr_finfo_t info;

    return apr_stat(&info, name, APR_FINFO_LINK | APR_FINFO_TYPE, p) == APR_SUCCESS &&
           info.filetype == APR_DIR;
}

AP_DECLARE(apr_status_t)
ap_filepath_merge(char **newpath, const char *rootpath, const char *addpath, apr_int32_t flags,
                  apr_pool_t *p)
{
    return apr_filepath_merge(newpath, rootpath, addpath, flags, p);
}

/* Only systems where a path may name another host (UNC) have something to refuse here. */
AP_DECLARE(apr_status_t) ap_stat_check(const char *path, apr_pool_t *pool)
{
    return APR_SUCCESS;
}
