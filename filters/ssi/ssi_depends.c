/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependencies of a page's output: files, request fields, and things that cannot be watched. The
 * outermost request collects it for all pages that it includes. Once something cannot be watched
 * (SSI_DEPENDS_VOLATILE), nothing more is collected.
 */
#include "ssi_depends_private.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_date.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

void ssi_depends_top(ssi_top *top, int what)
{
    BRG_ASSERT_TAG(top, SSI_TOP_TAG);
    top->depends |= what;
}

void ssi_depends(include_ctx_t *ctx, int what)
{
    ssi_depends_top(ctx->intern->top, what);
}

/* @a path lives as long as top->r. */
static void depends_add(ssi_top *top, const char *path, const apr_finfo_t *finfo)
{
    apr_pool_t *p = top->r->pool;

    if (finfo && finfo->mtime > top->newest)
        top->newest = finfo->mtime;
    if (!top->paths)
        top->paths = apr_array_make(p, 8, sizeof(char *));
    ssi_names_add(&top->paths_seen, p, path);
    APR_ARRAY_PUSH(top->paths, const char *) = path;
    if (top->kept_page)
        ssi_rendering_part(top, path, finfo);
}

void ssi_depends_path(ssi_top *top, const char *path, const apr_finfo_t *finfo)
{
    BRG_ASSERT_TAG(top, SSI_TOP_TAG);
    if (top->depends & SSI_DEPENDS_VOLATILE)
        return;
    if (!path || *path != '/') {
        top->depends |= SSI_DEPENDS_VOLATILE;
        return;
    }
    if (ssi_names_has(&top->paths_seen, path)) {
        if (finfo && finfo->mtime > top->newest)
            top->newest = finfo->mtime;
        return;
    }
    depends_add(top, apr_pstrdup(top->r->pool, path), finfo);
}

/* ---- variables ---- */

/* Variables of the connection and of the time. All others come from the URI, the configuration and
 * the file, or from modules, which declare their dependencies. */
static const char *const depends_volatile[] = {"DATE_LOCAL",      "DATE_GMT",     "REQUEST_METHOD",
                                               "SERVER_PROTOCOL", "SERVER_ADDR",  "SERVER_PORT",
                                               "CONTENT_LENGTH",  "CONTENT_TYPE", "AUTH_TYPE",
                                               "UNIQUE_ID",       "HTTPS",        "REQUEST_SCHEME"};

static const char *depends_field_name(apr_pool_t *p, const char *var)
{
    char *name = apr_pstrdup(p, var), last = '-';

    for (char *c = name; *c; last = *c++)
        *c = *c == '_' ? '-' : (char)(last == '-' ? apr_toupper(*c) : apr_tolower(*c));
    return name;
}

/* The caller notes the value. */
static void depends_vary(ssi_top *top, const char *field)
{
    BRG_ASSERT(!(top->depends & SSI_DEPENDS_VOLATILE));
    top->depends |= SSI_DEPENDS_FIELDS;
    if (!top->vary)
        top->vary = apr_array_make(top->r->pool, 4, sizeof(char *));
    for (int i = 0; i < top->vary->nelts; i++)
        if (!strcasecmp(APR_ARRAY_IDX(top->vary, i, const char *), field))
            return;
    APR_ARRAY_PUSH(top->vary, const char *) = apr_pstrdup(top->r->pool, field);
}

void ssi_depends_field(ssi_top *top, const char *name)
{
    if ((top->depends & SSI_DEPENDS_VOLATILE) || !strcasecmp(name, "Host"))
        return;
    depends_vary(top, name);
    ssi_rendering_read(top, name, apr_table_get(top->r->headers_in, name), SSI_READ_FIELD);
}

void ssi_depends_variable(include_ctx_t *ctx, const char *name)
{
    ssi_top *top = ctx->intern->top;

    if ((top->depends & SSI_DEPENDS_VOLATILE) || !strncasecmp(name, "DOCUMENT_", 9))
        return;
    if (!strncasecmp(name, "HTTP_", 5)) {
        if (strcasecmp(name + 5, "HOST"))
            depends_vary(top, depends_field_name(top->r->pool, name + 5));
        return;
    }
    if (!strncasecmp(name, "REMOTE_", 7) || !strncasecmp(name, "SSL_", 4) ||
        !strncasecmp(name, "REDIRECT_", 9)) {
        top->depends |= SSI_DEPENDS_VOLATILE;
        return;
    }
    for (size_t i = 0; i < sizeof depends_volatile / sizeof *depends_volatile; i++)
        if (apr_toupper(name[0]) == depends_volatile[i][0] &&
            !strcasecmp(name, depends_volatile[i]))
            top->depends |= SSI_DEPENDS_VOLATILE;
}

/* Paths on the look-up's way to sub->filename: a directory, index files that do not exist. */
static void depends_looked_at(ssi_top *top, const request_rec *sub)
{
    const char *paths[16];
    int n = top->cache_paths_n, most = (int)(sizeof paths / sizeof *paths), all;

    BRG_ASSERT(top->kept_page && top->paths);
    do {
        all = brg_cache_dependencies(sub, n, paths, most);
        for (int i = 0; n + i < all && i < most && top->kept_page; i++) {
            const char *path = paths[i];

            if (!strcmp(path, sub->filename) || ssi_names_has(&top->paths_seen, path))
                continue;
            path = apr_pstrdup(top->r->pool, path);
            ssi_names_add(&top->paths_seen, top->r->pool, path);
            ssi_rendering_looked_at(top, path);
        }
        n += most;
    } while (n < all);
    if (all < 0)
        top->depends |= SSI_DEPENDS_VOLATILE;
    top->cache_paths_n = all;
}

/* If the modules that took part in a look-up declare so, its outcome depends on files alone. Its path is
 * watched whether a file was found or not. A file that was chosen among others is sent past this filter, and the
 * choice is not among the paths. */
void ssi_depends_lookup(include_ctx_t *ctx, request_rec *sub)
{
    ssi_top *top = ctx->intern->top;

    if (top->depends & SSI_DEPENDS_VOLATILE)
        return;
    if ((sub->finfo.filetype != APR_REG && sub->finfo.filetype != APR_NOFILE) ||
        (sub->status != HTTP_OK && sub->status != HTTP_NOT_FOUND) ||
        brg_cache_dependencies(sub, 0, NULL, 0) < 0) {
        top->depends |= SSI_DEPENDS_VOLATILE;
        return;
    }
    if (brg_cache_ask(sub) == BRG_CACHE_VOLATILE)
        top->depends |= SSI_DEPENDS_MODULES;
    ssi_depends_path(top, sub->filename, sub->finfo.filetype == APR_REG ? &sub->finfo : NULL);
    if (top->kept_page && !(top->depends & SSI_DEPENDS_VOLATILE)) {
        depends_looked_at(top, sub);
        ssi_rendering_htaccess(top, sub, ctx->r->htaccess);
    }
}

int ssi_is_stored(request_rec *sub)
{
    return sub->status == HTTP_OK && sub->finfo.filetype == APR_NOFILE &&
           ap_run_quick_handler(sub, 1) == OK;
}

void ssi_depends_stored(include_ctx_t *ctx, request_rec *sub)
{
    ssi_top *top = ctx->intern->top;
    const char *date = apr_table_get(sub->headers_out, "Last-Modified");
    const apr_time_t modified = date ? apr_date_parse_http(date) : APR_DATE_BAD;

    BRG_ASSERT_TAG(top, SSI_TOP_TAG);
    top->depends |= brg_cache_is_part(sub) && brg_cache_ask(sub) != BRG_CACHE_VOLATILE
                        ? SSI_DEPENDS_STORED
                        : SSI_DEPENDS_MODULES;
    if (modified == APR_DATE_BAD)
        top->depends |= SSI_DEPENDS_UNDATED;
    else if (modified > top->newest)
        top->newest = modified;
}

/* As ssi_depends_lookup(): the walk of a look-up names its file, and here nothing else was named. */
void ssi_depends_file(include_ctx_t *ctx, const char *path, const apr_finfo_t *finfo)
{
    ssi_top *top = ctx->intern->top;

    if (top->depends & SSI_DEPENDS_VOLATILE || ssi_names_has(&top->paths_seen, path))
        return;
    path = apr_pstrdup(top->r->pool, path);
    brg_cache_depends_on(ctx->r, path);
    depends_add(top, path, finfo);
    if (top->kept_page)
        top->cache_paths_n = brg_cache_dependencies(ctx->r, 0, NULL, 0);
}
