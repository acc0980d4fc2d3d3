/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_negotiation: type maps (handler type-map) and MultiViews. The chosen variant replaces the
 * request, as a file that was asked for by its name.
 */
#include "neg_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_strings.h"
#include "brigade/directive.h"
#include "brigade/files.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

APLOG_USE_MODULE(negotiation);

typedef struct neg_server {
    int cache; /* CacheNegotiatedDocs; -1: not set */
} neg_server;

static void *neg_create_server(apr_pool_t *p, server_rec *s)
{
    neg_server *conf = apr_palloc(p, sizeof *conf);

    conf->cache = -1;
    return conf;
}

static void *neg_merge_server(apr_pool_t *p, void *base, void *add)
{
    return ((const neg_server *)add)->cache < 0 ? base : add;
}

static void *neg_create(apr_pool_t *p, char *dir)
{
    neg_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->force = NEG_FORCE_UNSET;
    return conf;
}

static void *neg_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const neg_conf *base = base_conf, *add = add_conf;
    neg_conf *conf = apr_palloc(p, sizeof *conf);

    conf->force = add->force == NEG_FORCE_UNSET ? base->force : add->force;
    conf->languages = add->languages ? add->languages : base->languages;
    return conf;
}

/* ---- directives ---- */

static const char *neg_set_priority(cmd_parms *cmd, void *mconfig, const char *language)
{
    neg_conf *conf = mconfig;

    if (!conf->languages)
        conf->languages = apr_array_make(cmd->pool, 4, sizeof(const char *));
    APR_ARRAY_PUSH(conf->languages, const char *) = language;
    return NULL;
}

static const char *neg_set_force(cmd_parms *cmd, void *mconfig, const char *word)
{
    neg_conf *conf = mconfig;
    const int before = conf->force;

    if (!ap_cstr_casecmp(word, "None")) {
        if (before > 0)
            return "Cannot combine ForceLanguagePriority options with None";
        conf->force = NEG_FORCE_NONE;
    } else if (!ap_cstr_casecmp(word, "Prefer")) {
        if (before == NEG_FORCE_NONE)
            return "Cannot combine ForceLanguagePriority options None and Prefer";
        conf->force = (before > 0 ? before : 0) | NEG_FORCE_PREFER;
    } else if (!ap_cstr_casecmp(word, "Fallback")) {
        if (before == NEG_FORCE_NONE)
            return "Cannot combine ForceLanguagePriority options None and Fallback";
        conf->force = (before > 0 ? before : 0) | NEG_FORCE_FALLBACK;
    } else {
        return apr_pstrcat(cmd->pool, "Invalid ForceLanguagePriority option ", word, NULL);
    }
    return NULL;
}

static const char *neg_set_cache(cmd_parms *cmd, void *dummy, int on)
{
    ((neg_server *)ap_get_module_config(cmd->server->module_config, &negotiation_module))->cache =
        on;
    return NULL;
}

/* ---- the answer ---- */

static negotiation *neg_begin(request_rec *r)
{
    negotiation *n = apr_pcalloc(r->pool, sizeof *n);

    n->r = r;
    n->conf = ap_get_module_config(r->per_dir_config, &negotiation_module);
    n->folder = ap_make_dirstr_parent(r->pool, r->filename);
    n->variants = apr_array_make(r->pool, 4, sizeof(neg_variant));
    n->transparent = r->method_number == M_GET && (!r->path_info || !*r->path_info);
    neg_read_client(n);
    return n;
}

/* Proxies of HTTP/1.0 know no Vary. */
static void neg_keep_from_caches(request_rec *r)
{
    const neg_server *conf = ap_get_module_config(r->server->module_config, &negotiation_module);

    if (conf->cache != 1 && r->proto_num < HTTP_VERSION(1, 1))
        r->no_cache = 1;
}

/* Every value of a field is a kind of its own: which of them the choice goes by depends on all variants. */
static void neg_note_choice(request_rec *r)
{
    static const char *const fields[] = {"Accept", "Accept-Charset", "Accept-Encoding",
                                         "Accept-Language", "Negotiate"};

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        brg_cache_vary(r, fields[i], NULL, NULL);
}

static int neg_may_take(const negotiation *n, const neg_variant *chosen)
{
    return !n->transparent || (n->may_choose && neg_is_sure(n, chosen));
}

/* @param chosen  [in, out] neg_choose()
 * @return OK: *chosen is the variant; or the status of the answer */
static int neg_decide(negotiation *n, neg_variant **chosen)
{
    neg_keep_from_caches(n->r);
    if (*chosen && neg_may_take(n, *chosen)) {
        neg_set_fields(n, *chosen, OK);
        return OK;
    }
    if (*chosen || (n->transparent && n->knows_lists)) {
        *chosen = NULL;
        neg_set_fields(n, NULL, HTTP_MULTIPLE_CHOICES);
        return HTTP_MULTIPLE_CHOICES;
    }
    neg_set_fields(n, NULL, HTTP_NOT_ACCEPTABLE);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, n->r, APLOGNO(00690) "no acceptable variant: %s",
                  n->r->filename);
    return HTTP_NOT_ACCEPTABLE;
}

/* ---- type maps ---- */

static int neg_is_map(const request_rec *r)
{
    return brg_handler_is(r, NEG_TYPE_MAP) || brg_handler_is(r, NEG_TYPE_MAP_MEDIA);
}

static int neg_read_file(negotiation *n, apr_file_t **file)
{
    request_rec *r = n->r;
    apr_finfo_t finfo;
    apr_size_t len;
    char *text;
    apr_status_t rv = apr_file_open(file, r->filename, APR_READ, APR_OS_DEFAULT, r->pool);

    if (rv == APR_SUCCESS)
        rv = apr_file_info_get(&finfo, APR_FINFO_SIZE, *file);
    if (rv == APR_SUCCESS && finfo.size > NEG_MAP_MOST)
        rv = APR_ENOMEM;
    if (rv == APR_SUCCESS) {
        len = (apr_size_t)finfo.size;
        text = apr_palloc(r->pool, len + 1);
        rv = len ? apr_file_read_full(*file, text, len, &len) : APR_SUCCESS;
        if (rv == APR_SUCCESS || APR_STATUS_IS_EOF(rv)) {
            text[len] = '\0';
            return neg_read_map(n, text, len);
        }
    }
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, APLOGNO(00683) "cannot access type map file: %s",
                  r->filename);
    return HTTP_FORBIDDEN;
}

/* A variant that stands in the map itself. */
static int neg_send_body(const negotiation *n, const neg_variant *v, apr_file_t *file)
{
    request_rec *r = n->r;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    int status;

    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, M_OPTIONS, M_POST, -1);
    ap_set_content_type_ex(r,
                           v->charset && *v->charset
                               ? apr_pstrcat(r->pool, v->type, "; charset=", v->charset, NULL)
                               : v->type,
                           1);
    r->content_languages = v->languages;
    r->content_encoding = v->encoding;
    ap_set_accept_ranges(r);
    ap_set_content_length(r, v->length);
    if ((status = ap_meets_conditions(r)) != OK)
        return status;
    if ((status = ap_discard_request_body(r)) != OK)
        return status;
    apr_brigade_insert_file(bb, file, v->body, v->length, r->pool);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    return ap_pass_brigade_fchk(r, bb, NULL);
}

static const char *neg_target(const request_rec *r, const neg_variant *v)
{
    const char *uri = v->file;

    if (*uri != '/')
        uri = apr_pstrcat(r->pool, ap_make_dirstr_parent(r->pool, r->uri), v->file, NULL);
    uri = ap_escape_uri(r->pool, uri);
    if (r->path_info && *r->path_info) {
        /* the path behind the map goes on to the variant */
        uri = apr_pstrcat(
            r->pool,
            ap_escape_uri(r->pool,
                          ap_make_dirstr_parent(
                              r->pool, apr_pstrmemdup(r->pool, r->uri,
                                                      strlen(r->uri) - strlen(r->path_info)))),
            ap_escape_uri(r->pool, v->file), ap_escape_uri(r->pool, r->path_info), NULL);
    }
    return r->args ? apr_pstrcat(r->pool, uri, "?", r->args, NULL) : uri;
}

static void neg_take(request_rec *r, request_rec *sub)
{
    char *list = r->vlist_validator;

    sub->vlist_validator = list;
    r->mtime = 0;
    ap_internal_fast_redirect(sub, r);
    r->vlist_validator = list;
    r->mtime = sub->mtime;
}

#define NEG_TAKEN_NOTE "negotiation-taken" /* a file has taken the place of a map */

/* 1 if no filter would make anything else of the file. */
static int neg_is_plain(request_rec *sub)
{
    int plain;

    ap_run_insert_filter(sub);
    plain = brg_output_is_plain(sub);
    while (sub->output_filters != sub->proto_output_filters)
        ap_remove_output_filter(sub->output_filters);
    return plain;
}

/* A plain file takes the place of its map at once, and its answers may be stored; for all else
 * there is a request of its own, as with Apache. @return NULL: not such a file */
static request_rec *neg_plain_file(request_rec *r, const char *target)
{
    request_rec *sub;

    if (r->main || r->prev || r->method_number != M_GET)
        return NULL;
    sub = ap_sub_req_lookup_uri(target, r, NULL);
    if (sub->status == HTTP_OK && sub->finfo.filetype == APR_REG &&
        (!sub->handler || !strcmp(sub->handler, "default-handler")) &&
        (!sub->path_info || !*sub->path_info) && neg_is_plain(sub))
        return sub;
    ap_destroy_sub_req(sub);
    return NULL;
}

/* Logs tell of the map. */
static int neg_send_file(request_rec *r, request_rec *sub)
{
    char *uri = r->uri, *args = r->args;
    int status;

    neg_take(r, sub);
    apr_table_setn(r->notes, NEG_TAKEN_NOTE, "1");
    apr_table_setn(r->subprocess_env, "REDIRECT_STATUS", "200");
    status = ap_invoke_handler(r);
    r->uri = uri;
    r->args = args;
    return status;
}

static int neg_map_handler(request_rec *r)
{
    request_rec *sub = NULL;
    neg_variant *chosen;
    const char *target;
    negotiation *n;
    apr_file_t *file;
    int status;

    if (!neg_is_map(r))
        return DECLINED;
    n = neg_begin(r);
    neg_note_choice(r);
    if ((status = neg_read_file(n, &file)) != OK)
        return status;
    chosen = neg_choose(n);
    target = chosen && !chosen->has_body ? neg_target(r, chosen) : NULL;
    if (target && neg_may_take(n, chosen))
        sub = neg_plain_file(r, target);
    /* Other variants are made by a worker; nothing was done to r so far. */
    if (!sub && brg_request_rerun_on_worker(r))
        return OK;
    if ((status = neg_decide(n, &chosen)) != OK)
        return status;
    if (chosen->has_body)
        return neg_send_body(n, chosen, file);
    r->vlist_validator = ap_make_etag(r, 0);
    if (sub)
        return neg_send_file(r, sub);
    ap_internal_redirect(target, r);
    return OK;
}

/* ---- MultiViews ---- */

static int neg_wants_views(request_rec *r)
{
    return r->finfo.filetype == APR_NOFILE && r->filename && !r->proxyreq &&
           (ap_allow_options(r) & OPT_MULTI);
}

static void neg_validate_folder(const negotiation *n)
{
    request_rec *r = n->r;
    apr_finfo_t finfo;

    if (brg_file_stat(&finfo, r, n->folder, APR_FINFO_MIN) != APR_SUCCESS)
        return;
    r->mtime = finfo.mtime;
    r->vlist_validator = ap_make_etag(r, 0);
}

static int neg_views(request_rec *r)
{
    negotiation *n;
    neg_variant *chosen;
    int status;

    if (!neg_wants_views(r))
        return DECLINED;
    n = neg_begin(r);
    brg_cache_depends_on_names(r, n->folder);
    status = neg_read_folder(n);
    if (status != OK)
        return status;
    if (!n->variants->nelts)
        return DECLINED;
    neg_note_choice(r);
    if (n->variants->nelts == 1 && APR_ARRAY_IDX(n->variants, 0, neg_variant).sub->handler &&
        !strcmp(APR_ARRAY_IDX(n->variants, 0, neg_variant).sub->handler, NEG_TYPE_MAP)) {
        neg_take(r, APR_ARRAY_IDX(n->variants, 0, neg_variant).sub);
        return OK;
    }
    chosen = neg_choose(n);
    if ((status = neg_decide(n, &chosen)) != OK)
        return status;
    if (chosen->sub->status != HTTP_OK)
        return chosen->sub->status;
    neg_validate_folder(n);
    neg_take(r, chosen->sub);
    return OK;
}

/* The first name of the coding in the client's list, behind as many letters ("x-"). */
static const char *neg_coding_asked(const apr_array_header_t *asked, const char *coding,
                                    size_t behind)
{
    for (int i = 0; i < asked->nelts; i++) {
        const char *name = APR_ARRAY_IDX(asked, i, neg_range).name;

        if ((!behind || !strncmp(name, "x-", 2)) && !strcmp(name + behind, coding))
            return name;
    }
    return NULL;
}

#define NEG_CODING_NOTE "negotiation-coding" /* the file's coding, under the client's name for it */

/* The client gets the name of the coding that it uses. */
static int neg_fix_encoding(request_rec *r)
{
    const char *coding = r->content_encoding, *name;
    apr_array_header_t *asked;

    if (!coding || !*coding)
        return DECLINED;
    apr_table_setn(r->notes, NEG_CODING_NOTE, "1");
    asked = neg_ranges(r->pool, apr_table_get(r->headers_in, "Accept-Encoding"));
    if (!asked || !asked->nelts)
        return DECLINED;
    if (coding[0] == 'x' && coding[1] == '-')
        coding += 2;
    name = neg_coding_asked(asked, coding, 0);
    if (!name)
        name = neg_coding_asked(asked, coding, 2);
    if (name)
        r->content_encoding = name;
    return DECLINED;
}

/* ---- where it runs ---- */

static int neg_is_named; /* by a LoadModule line */

static int neg_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    neg_is_named = brg_module_is_named(&negotiation_module);
    return OK;
}

/* A map's handler may redirect, on a worker; it can be called twice for that, but not for a request below another. */
static int neg_fixup(request_rec *r)
{
    if (neg_is_map(r) && (r->main || r->prev))
        brg_request_needs_worker(r);
    /* A configuration that does not name the module keeps the names of codings that it gives. */
    return neg_is_named ? neg_fix_encoding(r) : DECLINED;
}

static int neg_depends(request_rec *r)
{
    /* A coding that a handler chooses later is not this module's. */
    if (apr_table_get(r->notes, NEG_CODING_NOTE))
        brg_cache_vary(r, "Accept-Encoding", NULL, NULL);
    for (const request_rec *q = r; q; q = q->prev)
        if (neg_is_map(q) && !apr_table_get(q->notes, NEG_TAKEN_NOTE))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static apr_int64_t neg_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                            const char *filename, const char *path_info, int is_file)
{
    const core_dir_config *core = ap_get_core_module_config(dir);

    return core->opts & OPT_MULTI ? BRG_CACHE_NAME_COUNTS : 0;
}

static const command_rec neg_commands[] = {
    AP_INIT_FLAG("CacheNegotiatedDocs", neg_set_cache, NULL, RSRC_CONF,
                 "Either 'on' or 'off' (default)"),
    AP_INIT_ITERATE("LanguagePriority", neg_set_priority, NULL, OR_FILEINFO,
                    "space-delimited list of MIME language abbreviations"),
    AP_INIT_ITERATE("ForceLanguagePriority", neg_set_force, NULL, OR_FILEINFO,
                    "Force LanguagePriority elections, either None, or Fallback and/or Prefer"),
    {0},
};

static void neg_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(neg_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(neg_fixup, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_type_checker(neg_views, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(neg_map_handler, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&negotiation_module, neg_depends);
    brg_cache_name_declare(&negotiation_module, neg_name);
    brg_handlers_are_for(&negotiation_module, NEG_TYPE_MAP " " NEG_TYPE_MAP_MEDIA);
    brg_cache_leaves_query(&negotiation_module);
}

module AP_MODULE_DECLARE_DATA negotiation_module = {
    STANDARD20_MODULE_STUFF, neg_create,   neg_merge,          neg_create_server,
    neg_merge_server,        neg_commands, neg_register_hooks, 0,
};
