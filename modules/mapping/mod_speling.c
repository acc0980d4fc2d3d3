/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_speling: a name that is not there, but nearly, is redirected to; of several that are as near, the client gets a list.
 */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_file_io.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <stdlib.h>
#include <string.h>

#define SPELING_UNSET (-1)

extern module speling_module;
APLOG_USE_MODULE(speling);

/* How near a name is, the nearest first. */
typedef enum speling_reason {
    SPELING_CASE,
    SPELING_TRANSPOSED,
    SPELING_MISSING,
    SPELING_EXTRA,
    SPELING_MISTYPED,
    SPELING_BASE,
    SPELING_OTHER
} speling_reason;

static const char *const speling_words[] = {
    "miscapitalized",  "transposed characters", "character missing",
    "extra character", "mistyped character",    "common basename",
};

/* As with Apache, a section with one of the directives inherits none of the others. */
typedef struct speling_conf {
    int on, case_only, by_base; /* SPELING_UNSET */
} speling_conf;

typedef struct speling_name {
    const char *name;
    speling_reason reason;
} speling_name;

typedef struct speling_search {
    request_rec *r;
    const speling_conf *conf;
    const char *bad;           /* the name that is not there */
    const char *folder, *url;  /* where it would be; with a slash at the end */
    apr_array_header_t *names; /* of speling_name */
} speling_search;

static void *speling_create(apr_pool_t *p, char *dir)
{
    speling_conf *conf = apr_palloc(p, sizeof *conf);

    conf->on = conf->case_only = conf->by_base = SPELING_UNSET;
    return conf;
}

/* ---- names ---- */

static speling_reason speling_distance(const char *bad, const char *name)
{
    while (*bad && apr_tolower(*bad) == apr_tolower(*name)) {
        bad++;
        name++;
    }
    if (*bad && *name) {
        if (bad[1] && apr_tolower(bad[0]) == apr_tolower(name[1]) &&
            apr_tolower(bad[1]) == apr_tolower(name[0]) && !strcasecmp(bad + 2, name + 2))
            return SPELING_TRANSPOSED;
        if (!strcasecmp(bad + 1, name + 1))
            return SPELING_MISTYPED;
    }
    if (*bad && !strcasecmp(bad + 1, name))
        return SPELING_EXTRA;
    return *name && !strcasecmp(bad, name + 1) ? SPELING_MISSING : SPELING_OTHER;
}

static int speling_same_base(const char *bad, const char *name)
{
    const size_t len = strcspn(bad, ".");

    return strcspn(name, ".") == len && !strncasecmp(bad, name, len);
}

static speling_reason speling_compare(const speling_search *s, const char *name)
{
    speling_reason reason = SPELING_OTHER;

    if (!strcasecmp(s->bad, name))
        return SPELING_CASE;
    if (s->conf->case_only != 1) /* the common basename is a setting of its own */
        reason = speling_distance(s->bad, name);
    if (reason == SPELING_OTHER && s->conf->by_base != 0 && speling_same_base(s->bad, name))
        return SPELING_BASE;
    return reason;
}

/* @return 0: the name is there, as a link to nowhere, and to redirect to it would have no end */
static int speling_read(speling_search *s)
{
    apr_finfo_t entry;
    apr_dir_t *dir;
    int is_missing = 1;

    if (apr_dir_open(&dir, s->folder, s->r->pool) != APR_SUCCESS)
        return 0;
    while (is_missing && apr_dir_read(&entry, APR_FINFO_DIRENT, dir) == APR_SUCCESS) {
        const speling_reason reason = speling_compare(s, entry.name);

        is_missing = strcmp(s->bad, entry.name) != 0;
        if (reason != SPELING_OTHER)
            APR_ARRAY_PUSH(s->names, speling_name) =
                (speling_name){apr_pstrdup(s->r->pool, entry.name), reason};
    }
    apr_dir_close(dir);
    return is_missing;
}

static int speling_order(const void *a, const void *b)
{
    const speling_name *of_a = a, *of_b = b;

    return of_a->reason != of_b->reason ? (int)of_a->reason - (int)of_b->reason
                                        : strcmp(of_a->name, of_b->name);
}

/* ---- the answer ---- */

static const char *speling_url(const speling_search *s, const speling_name *n)
{
    const request_rec *r = s->r;

    return apr_pstrcat(r->pool, s->url, n->name, r->path_info ? r->path_info : "", NULL);
}

static int speling_redirect(const speling_search *s, const speling_name *n, const char *referer)
{
    request_rec *r = s->r;
    const char *url = ap_escape_uri(r->pool, speling_url(s, n));

    BRG_ASSERT(n->reason < SPELING_BASE);
    if (r->args)
        url = apr_pstrcat(r->pool, url, "?", r->args, NULL);
    apr_table_setn(r->headers_out, "Location", ap_construct_url(r->pool, url, r));
    if (referer)
        ap_log_rerror(APLOG_MARK, APLOG_INFO, APR_SUCCESS, r,
                      APLOGNO(03224) "Fixed spelling: %s to %s from %s", r->uri, url, referer);
    else
        ap_log_rerror(APLOG_MARK, APLOG_INFO, APR_SUCCESS, r,
                      APLOGNO(03225) "Fixed spelling: %s to %s%s", r->uri, url, "");
    return HTTP_MOVED_PERMANENTLY;
}

static const char *speling_list(const speling_search *s, const char *referer)
{
    static const char further[] =
        "</ul>\nFurthermore, the following related documents were found:\n<ul>\n";
    apr_pool_t *p = s->r->pool;
    const speling_name *names = (const speling_name *)s->names->elts;
    const char *text = apr_pstrcat(
        p, "The document name you requested (<code>", ap_escape_html(p, s->r->uri),
        "</code>) could not be found on this server.\nHowever, we found documents with names "
        "similar to the one you requested.<p>Available documents:\n<ul>\n",
        NULL);

    for (int i = 0; i < s->names->nelts; i++) {
        const char *url = speling_url(s, &names[i]);

        BRG_ASSERT(names[i].reason < SPELING_OTHER);
        if (i && names[i].reason == SPELING_BASE && names[i - 1].reason != SPELING_BASE)
            text = apr_pstrcat(p, text, further, NULL);
        text = apr_pstrcat(p, text, "<li><a href=\"", ap_escape_uri(p, url), "\">",
                           ap_escape_html(p, url), "</a> (", speling_words[names[i].reason], ")\n",
                           NULL);
        apr_table_mergen(s->r->subprocess_env, "VARIANTS",
                         apr_pstrcat(p, "\"", ap_escape_uri(p, url), "\";\"",
                                     speling_words[names[i].reason], "\"", NULL));
    }
    text = apr_pstrcat(p, text, "</ul>\n", NULL);
    return referer ? apr_pstrcat(p, text,
                                 "Please consider informing the owner of the referring page <tt>",
                                 ap_escape_html(p, referer), "</tt> about the broken link.\n", NULL)
                   : text;
}

static int speling_choices(const speling_search *s, const char *referer)
{
    request_rec *r = s->r;

    apr_table_setn((r->main ? r->main : r)->notes, "variant-list", speling_list(s, referer));
    if (referer)
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(03226) "Spelling fix: %s: %d candidates from %s", r->uri,
                      s->names->nelts, referer);
    else
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(03227) "Spelling fix: %s: %d candidates%s", r->uri, s->names->nelts,
                      "");
    return HTTP_MULTIPLE_CHOICES;
}

/* The name stands in the file and in the target; they may differ where the target was mapped. */
static int speling_find_name(speling_search *s)
{
    request_rec *r = s->r;
    const char *slash = strrchr(r->filename, '/'), *rest;
    size_t uri, len;

    if (!slash || (r->uri[0] == '/' && !r->uri[1]))
        return 0;
    s->folder = apr_pstrmemdup(r->pool, r->filename, (apr_size_t)(slash + 1 - r->filename));
    s->bad = slash + 1;
    rest = apr_pstrcat(r->pool, s->bad, r->path_info ? r->path_info : "", NULL);
    uri = strlen(r->uri);
    len = strlen(rest);
    if (len > uri || strcmp(rest, r->uri + uri - len) != 0)
        return 0;
    s->url = apr_pstrmemdup(r->pool, r->uri, uri - len);
    return 1;
}

static int speling_fixup(request_rec *r)
{
    speling_search s = {.r = r, .conf = ap_get_module_config(r->per_dir_config, &speling_module)};
    const char *referer;
    const speling_name *names;

    if (s.conf->on != 1 || r->method_number != M_GET || r->finfo.filetype != APR_NOFILE ||
        !r->filename || r->proxyreq)
        return DECLINED;
    s.names = apr_array_make(r->pool, 8, sizeof(speling_name));
    if (!speling_find_name(&s) || !speling_read(&s) || !s.names->nelts)
        return DECLINED;
    BRG_ASSERT(s.folder && s.url && s.bad);
    qsort(s.names->elts, (size_t)s.names->nelts, sizeof(speling_name), speling_order);
    names = (const speling_name *)s.names->elts;
    referer = apr_table_get(r->headers_in, "Referer");
    if (names[0].reason != SPELING_BASE &&
        (s.names->nelts == 1 || names[0].reason != names[1].reason))
        return speling_redirect(&s, names, referer);
    return speling_choices(&s, referer);
}

/* A name that is not there depends on its folder. */
static int speling_depends(request_rec *r)
{
    const speling_conf *conf = ap_get_module_config(r->per_dir_config, &speling_module);

    return conf->on == 1 && (r->finfo.filetype == APR_NOFILE || (r->path_info && *r->path_info))
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

/* ---- directives ---- */

static const char *speling_set(cmd_parms *cmd, void *mconfig, int on)
{
    *(int *)((char *)mconfig + (apr_size_t)cmd->info) = on;
    return NULL;
}

#define SPELING_MEMBER(name) ((void *)APR_OFFSETOF(speling_conf, name))

static const command_rec speling_commands[] = {
    AP_INIT_FLAG("CheckSpelling", speling_set, SPELING_MEMBER(on), OR_OPTIONS,
                 "whether or not to fix miscapitalized/misspelled requests"),
    AP_INIT_FLAG("CheckCaseOnly", speling_set, SPELING_MEMBER(case_only), OR_OPTIONS,
                 "whether or not to fix only miscapitalized requests"),
    AP_INIT_FLAG("CheckBasenameMatch", speling_set, SPELING_MEMBER(by_base), OR_OPTIONS,
                 "whether or not to fix files with the same base name"),
    {0},
};

static void speling_register_hooks(apr_pool_t *p)
{
    ap_hook_fixups(speling_fixup, NULL, NULL, APR_HOOK_LAST);
    brg_cache_declare(&speling_module, speling_depends);
    brg_hooks_need_directive(&speling_module, "fixups", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&speling_module);
}

module AP_MODULE_DECLARE_DATA speling_module = {
    STANDARD20_MODULE_STUFF, speling_create,         NULL, NULL, NULL,
    speling_commands,        speling_register_hooks, 0,
};
