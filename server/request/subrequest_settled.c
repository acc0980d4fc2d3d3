/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of sub-requests whose outcome may be used again: their dependencies, and whether these
 * are the same. */
#include "walk_private.h"
#include "conn.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "brigade/environment.h"
#include "brigade/response_cache.h"
#include "brigade/subrequest.h"
#include "file_open_private.h"
#include "placement.h"
#include <sys/stat.h>

/* The least that brg_file_is_same() compares. */
#define SETTLED_FINFO \
    (APR_FINFO_TYPE | APR_FINFO_IDENT | APR_FINFO_SIZE | APR_FINFO_MTIME | APR_FINFO_CTIME)

/* Of all requests that led to this one: their list is one. */
static int settled_fields(const request_rec *sub)
{
    const request_rec *first = sub, *up;
    apr_array_header_t *const *list;

    while ((up = request_led_to(first)) != NULL)
        first = up;
    list = request_vary_fields(first);
    return list && (!*list || (*list)->nelts == 0);
}

/* The walk names the file, and nothing else was looked at. */
static int settled_paths(const request_rec *sub)
{
    const request_dependencies *d = request_dependencies_of(sub);

    return d && request_names_of(sub) == 1 && !d->too_many && !d->folders && !d->chosen_for &&
           !d->query && !d->link_policy;
}

BRG_DECLARE(int) brg_sub_req_is_settled(request_rec *sub)
{
    BRG_ASSERT(sub->main != NULL);
    return sub->status == HTTP_OK && sub->finfo.filetype == APR_REG &&
           (sub->finfo.valid & SETTLED_FINFO) == SETTLED_FINFO && !sub->htaccess && !sub->user &&
           !sub->ap_auth_type && (!sub->path_info || !*sub->path_info) && settled_paths(sub) &&
           !policy_query_counts(sub) && !brg_env_may_be_read() &&
           brg_cache_ask(sub) < BRG_CACHE_VOLATILE && settled_fields(sub);
}

static apr_time_t settled_time(const struct timespec *t)
{
    return apr_time_from_sec(t->tv_sec) + t->tv_nsec / 1000;
}

BRG_DECLARE(int) brg_file_is_same(const request_rec *r, const char *path, const apr_finfo_t *finfo)
{
    struct stat now;

    BRG_ASSERT(path[0] == '/' && (finfo->valid & SETTLED_FINFO) == SETTLED_FINFO);
    if (request_is_debugged(r) || (conn_on_loop() && file_mounts_may_hang(path)))
        return 0;
    return !stat(path, &now) && now.st_ino == finfo->inode && now.st_dev == finfo->device &&
           now.st_size == finfo->size && settled_time(&now.st_mtim) == finfo->mtime &&
           settled_time(&now.st_ctim) == finfo->ctime;
}
