/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listings of directories that have no index file, where Options +Indexes allows them.
 */
#include "autoindex_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/files.h"
#include "brigade/hooks.h"
#include "brigade/pages.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(autoindex);

#define AI_LOOP_BYTES 4096 /* of a directory that a loop reads: one block of most file systems */

/* One "X=v" of the query. @return the rest behind it; NULL if it is not an option of listings: the
 * rest is ignored. */
static const char *ai_query_letter(const char *query, char name, const char *values, char *value)
{
    if (query[0] != name || query[1] != '=' || !query[2] || !strchr(values, query[2]) ||
        (query[3] && query[3] != ';' && query[3] != '&'))
        return NULL;
    *value = query[2];
    return query + (query[3] ? 4 : 3);
}

/* @a is_form: encoded as browsers encode forms. */
static const char *ai_query_pattern(request_rec *r, const char *query, const char **pattern,
                                    const char **shown, int is_form)
{
    apr_size_t len;
    char *text;

    if (query[0] != 'P' || query[1] != '=')
        return NULL;
    query += 2;
    len = strcspn(query, ";&");
    text = apr_pstrmemdup(r->pool, query, len);
    *pattern = NULL;
    if (len && (is_form ? ap_unescape_urlencoded(text) : ap_unescape_url(text)) == OK && *text) {
        *pattern = text;
        *shown = is_form ? ap_escape_urlencoded(r->pool, text) : ap_escape_uri(r->pool, text);
    }
    query += len;
    return *query ? query + 1 : query;
}

/* The client's wishes, unless IgnoreClient forbids them. */
static void ai_apply_query(request_rec *r, ai_view *view)
{
    const char *query = r->args ? r->args : "", *next, *shown = "";
    char fancy = '\0', version = '\0';

    while (*query)
        if ((next = ai_query_letter(query, 'C', "NMSD", &view->key)) ||
            (next = ai_query_letter(query, 'O', "AD", &view->direction)) ||
            (next = ai_query_letter(query, 'F', "012", &fancy)) ||
            (next = ai_query_letter(query, 'V', "01", &version)) ||
            (next = ai_query_pattern(r, query, &view->pattern, &shown, view->modern)))
            query = next;
        else
            break;
    if (fancy) {
        view->modern = 0; /* a format of Apache's was asked for */
        view->opts = view->conf->opts;
        view->opts &= ~(AI_FANCY | AI_TABLE);
        view->opts |= fancy == '0' ? 0 : fancy == '1' ? AI_FANCY : AI_FANCY | AI_TABLE;
    }
    if (version)
        view->opts = version == '1' ? view->opts | AI_VERSION_SORT : view->opts & ~AI_VERSION_SORT;
    view->link_args = apr_pstrcat(r->pool, fancy ? apr_psprintf(r->pool, ";F=%c", fancy) : "",
                                  version ? apr_psprintf(r->pool, ";V=%c", version) : "",
                                  view->pattern ? ";P=" : "", view->pattern ? shown : "", NULL);
}

/* Apache's default is that of HTTP/1.0. */
static const char *ai_charset(const ai_view *view)
{
    return view->conf->charset      ? view->conf->charset
           : !view->by_default_utf8 ? "ISO-8859-1"
                                    : "utf-8";
}

int ai_is_utf8(const ai_view *view)
{
    return ap_cstr_casecmp(ai_charset(view), "utf-8") == 0;
}

static void ai_set_type(request_rec *r, const ai_view *view)
{
    const char *type = view->conf->type ? view->conf->type : "text/html";
    const char *charset = ai_charset(view);

    if (*charset)
        type = apr_pstrcat(r->pool, type, ";charset=", charset, NULL);
    ap_set_content_type_ex(r, type, 1);
}

const char *ai_folder_uri(request_rec *r)
{
    apr_size_t len = strlen(r->uri);

    while (len > 1 && r->uri[len - 1] == '/')
        len--;
    return apr_pstrmemdup(r->pool, r->uri, len);
}

/* The frame's files are shown inside HTML, so ask for types that can be, whatever the client
 * accepts for itself. */
static void ai_write_page(request_rec *r, const ai_view *view, const apr_array_header_t *entries)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");
    const char *encoding = apr_table_get(r->headers_in, "Accept-Encoding");
    int framed = view->conf->header || view->conf->readme;

    if (framed) {
        apr_table_setn(r->headers_in, "Accept", "text/html, text/plain");
        apr_table_unset(r->headers_in, "Accept-Encoding");
    }
    ai_head(r, view);
    if (view->modern)
        ai_modern_list(r, view, entries);
    else
        ai_list(r, view, entries);
    ai_tail(r, view);
    if (!framed)
        return;
    if (accept)
        apr_table_setn(r->headers_in, "Accept", accept);
    else
        apr_table_unset(r->headers_in, "Accept");
    if (encoding)
        apr_table_setn(r->headers_in, "Accept-Encoding", encoding);
}

/* 403 for missing permissions, as in Apache; 503 if the server lacks descriptors or memory. */
static int ai_open_status(apr_status_t rv)
{
    if (APR_STATUS_IS_EMFILE(rv) || APR_STATUS_IS_ENFILE(rv) || APR_STATUS_IS_ENOMEM(rv))
        return HTTP_SERVICE_UNAVAILABLE;
    return APR_STATUS_IS_EACCES(rv) || APR_STATUS_IS_ENOENT(rv) ? HTTP_FORBIDDEN
                                                                : HTTP_INTERNAL_SERVER_ERROR;
}

static int ai_index(request_rec *r, const ai_conf *conf)
{
    const int modern = brg_pages_of(r) != BRG_PAGES_APACHE;
    ai_view view = {.conf = conf,
                    .opts = modern ? ai_modern_opts(conf) : conf->opts,
                    .modern = modern,
                    .by_default_utf8 = modern,
                    .link_args = ""};
    apr_array_header_t *entries;
    apr_status_t rv;
    apr_dir_t *dir;

    view.key = conf->default_key ? conf->default_key : 'N';
    view.direction = conf->default_direction ? conf->default_direction : 'A';
    rv = apr_dir_open(&dir, r->filename, r->pool);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01275) "Can't open directory for index: %s", r->filename);
        return ai_open_status(rv);
    }
    apr_dir_close(dir);
    ai_set_type(r, &view);
    if (view.opts & AI_TRACK_MODIFIED) {
        ap_update_mtime(r, r->finfo.mtime);
        ap_set_last_modified(r);
        ap_set_etag(r);
    }
    if (r->header_only)
        return OK;
    if (view.opts & AI_IGNORE_CLIENT)
        view.opts |= AI_SUPPRESS_COLSORT;
    else
        ai_apply_query(r, &view);
    entries = ai_entries(r, &view, &rv);
    if (!entries && APR_STATUS_IS_EAGAIN(rv))
        return OK; /* called again on a worker */
    if (!entries) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01275) "Can't open directory for index: %s", r->filename);
        return ai_open_status(rv);
    }
    ai_write_page(r, &view, entries);
    return OK;
}

static int ai_is_asked(const request_rec *r)
{
    return brg_handler_is(r, DIR_MAGIC_TYPE);
}

static int ai_handler(request_rec *r)
{
    const ai_conf *conf;
    const char *names;
    int errstatus;

    if (!ai_is_asked(r))
        return DECLINED;
    r->allowed |= AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET)
        return DECLINED;
    if (!(ap_allow_options(r) & OPT_INDEXES)) {
        names = apr_table_get(r->notes, "dir-index-names");
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01276) "Cannot serve directory %s: No matching DirectoryIndex (%s) "
                                     "found, and server-generated directory index forbidden by "
                                     "Options directive",
                      r->filename, names ? names : "none");
        return HTTP_FORBIDDEN;
    }
    if ((errstatus = ap_discard_request_body(r)) != OK)
        return errstatus;
    if (ai_modern_is_part(r) && brg_pages_of(r) != BRG_PAGES_APACHE)
        return ai_modern_part(r);
    conf = ap_get_module_config(r->per_dir_config, &autoindex_module);
    if (*r->filename && r->filename[strlen(r->filename) - 1] != '/')
        r->filename = apr_pstrcat(r->pool, r->filename, "/", NULL);
    return ai_index(r, conf);
}

/* Reading a directory has no form that does not wait for the disk, and takes as long as the
 * directory is large. So a loop lists only small directories, on a local disk, and asks for no
 * other file's content; and only where a worker can take over (ai_is_for_worker()). */
static int ai_may_use_loop(request_rec *r)
{
    const ai_conf *conf = ap_get_module_config(r->per_dir_config, &autoindex_module);

    return !r->main && !r->prev && r->finfo.filetype == APR_DIR && r->finfo.size <= AI_LOOP_BYTES &&
           !conf->header && !conf->readme && !(conf->opts & AI_SCAN_HTML_TITLES) &&
           !brg_folder_may_hang(r->filename);
}

/* A listing depends on every file in its directory, so it is not stored, and dependencies are not collected. */
static void ai_insert_filter(request_rec *r)
{
    if (!ai_is_asked(r) || r->method_number != M_GET)
        return;
    brg_cache_depends_on(r, NULL);
    if (!ai_may_use_loop(r))
        brg_request_needs_worker(r);
}

/* A listing depends on every file in its directory, so it is not stored. */
static int ai_depends(request_rec *r)
{
    return ai_is_asked(r) && !ap_is_HTTP_REDIRECT(r->status) ? BRG_CACHE_VOLATILE
                                                             : BRG_CACHE_STATIC;
}

static void ai_register_hooks(apr_pool_t *p)
{
    ap_hook_insert_filter(ai_insert_filter, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(ai_handler, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&autoindex_module, ai_depends);
    brg_handlers_are_for(&autoindex_module, DIR_MAGIC_TYPE);
}

module AP_MODULE_DECLARE_DATA autoindex_module = {
    STANDARD20_MODULE_STUFF, ai_create, ai_merge, NULL, NULL, ai_directives, ai_register_hooks, 0,
};
