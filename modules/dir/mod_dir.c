/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_dir: index files, the slash after a directory's name, and the fallback resource.
 *
 * All is done as the last fixup: by then the URI's file is known. An index file is found by asking
 * for it in a sub-request, which then takes the place of the request itself.
 */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

#include <stdlib.h>
#include <stddef.h>
#include <string.h>

APLOG_USE_MODULE(dir);

extern module AP_MODULE_DECLARE_DATA dir_module;

enum { DIR_UNSET = -1, DIR_OFF = 0, DIR_ON = 1 };

typedef struct dir_conf {
    apr_array_header_t *index_names; /**< char *; NULL = not given here */
    const char *fallback;            /**< NULL = not given, "disabled" = none */
    int slash;
    int check_handler;
    int index_redirect; /**< DIR_UNSET, DIR_OFF or the status to redirect with */
} dir_conf;

static char dir_default_index[] = "index.html";

/* r->request_config of a request whose Location was completed from Host. */
static char dir_location_varies;

static void *dir_create_conf(apr_pool_t *p, char *dir)
{
    dir_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->slash = DIR_UNSET;
    conf->check_handler = DIR_UNSET;
    conf->index_redirect = DIR_UNSET;
    return conf;
}

static void *dir_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const dir_conf *base = base_conf, *add = add_conf;
    dir_conf *conf = apr_palloc(p, sizeof(*conf));

    conf->index_names = add->index_names ? add->index_names : base->index_names;
    conf->fallback = add->fallback ? add->fallback : base->fallback;
    conf->slash = add->slash == DIR_UNSET ? base->slash : add->slash;
    conf->check_handler =
        add->check_handler == DIR_UNSET ? base->check_handler : add->check_handler;
    conf->index_redirect =
        add->index_redirect == DIR_UNSET ? base->index_redirect : add->index_redirect;
    return conf;
}

static const char *dir_set_index(cmd_parms *cmd, void *mconfig, const char *args)
{
    dir_conf *conf = mconfig;
    const char *word = ap_getword_conf(cmd->pool, &args);

    if (conf->index_names == NULL)
        conf->index_names = apr_array_make(cmd->pool, 2, sizeof(char *));
    if (*args == '\0' && strcasecmp(word, "disabled") == 0) {
        apr_array_clear(conf->index_names);
        return NULL;
    }
    while (*word) {
        APR_ARRAY_PUSH(conf->index_names, const char *) = word;
        word = ap_getword_conf(cmd->pool, &args);
    }
    return NULL;
}

static const char *dir_set_slash(cmd_parms *cmd, void *mconfig, int on)
{
    ((dir_conf *)mconfig)->slash = on ? DIR_ON : DIR_OFF;
    return NULL;
}

static const char *dir_set_check_handler(cmd_parms *cmd, void *mconfig, int on)
{
    ((dir_conf *)mconfig)->check_handler = on ? DIR_ON : DIR_OFF;
    return NULL;
}

static const char *dir_set_index_redirect(cmd_parms *cmd, void *mconfig, const char *word)
{
    static const struct {
        const char *name;
        int status;
    } names[] = {
        {"on", HTTP_MOVED_TEMPORARILY},        {"off", DIR_OFF},
        {"permanent", HTTP_MOVED_PERMANENTLY}, {"temp", HTTP_MOVED_TEMPORARILY},
        {"seeother", HTTP_SEE_OTHER},
    };
    dir_conf *conf = mconfig;
    apr_size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(word, names[i].name) == 0) {
            conf->index_redirect = names[i].status;
            return NULL;
        }
    }
    if (!apr_isdigit(*word))
        return "DirectoryIndexRedirect ON|OFF|permanent|temp|seeother|3xx";
    conf->index_redirect = atoi(word);
    if (!ap_is_HTTP_REDIRECT(conf->index_redirect))
        return "DirectoryIndexRedirect only accepts values between 300 and 399";
    return NULL;
}

/* Send the client to another (escaped) path of this server. */
static int dir_redirect(request_rec *r, const char *path, int status)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);

    apr_table_setn(r->headers_out, "Location", ap_construct_url(r->pool, path, r));
    if (core->use_canonical_name == USE_CANONICAL_NAME_DNS) /* of the connection's address */
        ap_set_module_config(r->request_config, &dir_module, &dir_location_varies);
    return status;
}

static const char *dir_with_args(const request_rec *r, const char *uri)
{
    return r->args ? apr_pstrcat(r->pool, uri, "?", r->args, NULL) : uri;
}

/* Only a regular file will do: a name that is missing shows as path info of something that is not.
 */
static int dir_is_servable(const request_rec *sub)
{
    return sub->status == HTTP_OK && ((sub->handler && strcmp(sub->handler, "proxy-server") == 0) ||
                                      sub->finfo.filetype == APR_REG);
}

/* The sub-request's answer becomes the request's: a redirect, or a refusal of the last candidate.
 */
static int dir_adopt_answer(request_rec *r, request_rec *sub)
{
    int status = sub->status;

    BRG_ASSERT(sub->main == r);
    apr_pool_join(r->pool, sub->pool);
    r->notes = apr_table_overlay(r->pool, r->notes, sub->notes);
    r->headers_out = apr_table_overlay(r->pool, r->headers_out, sub->headers_out);
    r->err_headers_out = apr_table_overlay(r->pool, r->err_headers_out, sub->err_headers_out);
    return status;
}

static int dir_falls_back(const dir_conf *conf)
{
    return conf->fallback && strcasecmp(conf->fallback, "disabled") != 0;
}

static int dir_fallback(request_rec *r, const dir_conf *conf)
{
    request_rec *sub;
    int status = DECLINED;

    if (!dir_falls_back(conf))
        return DECLINED;
    sub = ap_sub_req_lookup_uri(dir_with_args(r, conf->fallback), r, r->output_filters);
    if (dir_is_servable(sub)) {
        ap_internal_fast_redirect(sub, r);
        return OK;
    }
    if (ap_is_HTTP_REDIRECT(sub->status))
        return dir_adopt_answer(r, sub);
    if (sub->status && sub->status != HTTP_NOT_FOUND && sub->status != HTTP_OK)
        status = sub->status;
    ap_destroy_sub_req(sub);
    return status;
}

typedef struct dir_search {
    int error; /**< status of a candidate that failed other than by not being there; OK = none */
    int done;  /**< the status below answers the request */
    int status;
} dir_search;

static void dir_try_index(request_rec *r, const dir_conf *conf, const char *name, int is_last,
                          dir_search *search)
{
    request_rec *sub = ap_sub_req_lookup_uri(dir_with_args(r, name), r, r->output_filters);

    BRG_ASSERT(!search->done && sub->main == r);
    search->done = 1;
    if (dir_is_servable(sub)) {
        if (conf->index_redirect > DIR_OFF) {
            search->status =
                dir_redirect(r, ap_escape_uri(r->pool, sub->uri), conf->index_redirect);
            ap_destroy_sub_req(sub);
        } else {
            ap_internal_fast_redirect(sub, r);
            search->status = OK;
        }
        return;
    }
    if (ap_is_HTTP_REDIRECT(sub->status) ||
        (is_last && (sub->status == HTTP_NOT_ACCEPTABLE || sub->status == HTTP_UNAUTHORIZED))) {
        search->status = dir_adopt_answer(r, sub);
        return;
    }
    search->done = 0;
    if (sub->status && sub->status != HTTP_NOT_FOUND && sub->status != HTTP_OK)
        search->error = sub->status;
    ap_destroy_sub_req(sub);
}

/* The index names for the listing, for mod_autoindex. */
static const char *dir_note_of_names(request_rec *r, const dir_conf *conf)
{
    return conf->index_names ? apr_array_pstrcat(r->pool, conf->index_names, ',')
                             : dir_default_index;
}

static int dir_index(request_rec *r, const dir_conf *conf)
{
    static const char *const default_names[] = {dir_default_index};
    const char *const *names = default_names;
    dir_search search = {OK, 0, OK};
    int i, n = 1;

    if (conf->index_names) {
        names = (const char *const *)conf->index_names->elts;
        n = conf->index_names->nelts;
    }
    for (i = 0; i < n; i++) {
        dir_try_index(r, conf, names[i], i == n - 1, &search);
        if (search.done)
            return search.status;
    }
    if (search.error != OK)
        return search.error;
    apr_table_setn(r->notes, "dir-index-names", dir_note_of_names(r, conf));
    return DECLINED; /* a missing name fell back by itself, as the sub-request for it */
}

/* Has another handler taken over the directory? */
static int dir_is_taken(const request_rec *r, const dir_conf *conf)
{
    return r->handler &&
           (strcmp(r->handler, "redirect-handler") == 0 || /* of mod_rewrite */
            (conf->check_handler == DIR_ON && strcmp(r->handler, DIR_MAGIC_TYPE) != 0));
}

static int dir_fixup_directory(request_rec *r, const dir_conf *conf)
{
    apr_size_t len = strlen(r->uri);

    BRG_ASSERT(r->finfo.filetype == APR_DIR);
    if (r->handler == NULL)
        r->handler = DIR_MAGIC_TYPE; /* no type of the directory itself: a listing is still due */
    if (len == 0 || r->uri[len - 1] != '/') {
        if (conf->slash == DIR_OFF ||
            (r->method_number != M_GET && apr_table_get(r->subprocess_env, "redirect-carefully")))
            return DECLINED;
        return dir_redirect(
            r, dir_with_args(r, apr_pstrcat(r->pool, ap_escape_uri(r->pool, r->uri), "/", NULL)),
            HTTP_MOVED_PERMANENTLY);
    }
    if (dir_is_taken(r, conf)) {
        if (r->content_type && strcmp(r->content_type, DIR_MAGIC_TYPE) == 0)
            r->content_type = NULL; /* it was only a hint to this module and to listings */
        return DECLINED;
    }
    return dir_index(r, conf);
}

static int dir_fixup(request_rec *r)
{
    const dir_conf *conf = ap_get_module_config(r->per_dir_config, &dir_module);

    if (r->finfo.filetype == APR_DIR)
        return dir_fixup_directory(r, conf);
    if (r->finfo.filetype == APR_NOFILE && r->handler == NULL)
        return dir_fallback(r, conf);
    return DECLINED;
}

static int dir_depends(request_rec *r)
{
    return ap_get_module_config(r->request_config, &dir_module) ? BRG_CACHE_VOLATILE
                                                                : BRG_CACHE_STATIC;
}

static const command_rec dir_commands[] = {
    AP_INIT_TAKE1("FallbackResource", ap_set_string_slot, (void *)offsetof(dir_conf, fallback),
                  OR_INDEXES, "Set a default handler"),
    AP_INIT_RAW_ARGS("DirectoryIndex", dir_set_index, NULL, OR_INDEXES, "a list of file names"),
    AP_INIT_FLAG("DirectorySlash", dir_set_slash, NULL, OR_INDEXES, "On or Off"),
    AP_INIT_FLAG("DirectoryCheckHandler", dir_set_check_handler, NULL, OR_INDEXES, "On or Off"),
    AP_INIT_TAKE1("DirectoryIndexRedirect", dir_set_index_redirect, NULL, OR_INDEXES,
                  "On, Off, or a 3xx status code."),
    {0},
};

static void dir_register_hooks(apr_pool_t *p)
{
    ap_hook_fixups(dir_fixup, NULL, NULL, APR_HOOK_LAST);
    brg_cache_declare(&dir_module, dir_depends);
}

module AP_MODULE_DECLARE_DATA dir_module = {
    STANDARD20_MODULE_STUFF,
    dir_create_conf,
    dir_merge_conf,
    NULL,
    NULL,
    dir_commands,
    dir_register_hooks,
    0,
};
