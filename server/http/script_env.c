/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of CGI scripts and their kin (RFC 3875, with Apache's additions). */
#include "httpd.h"
#include "core_settings.h"
#include "script_vars.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_hash.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(core);

/* ---- names ---- */

/* HTTP_ and the field's name. Only letters, digits and hyphens go through: two fields that differ
 * in other characters must not become one variable. @return 0 for such a field */
static size_t script_name_put(char *to, const char *field, size_t len)
{
    char *at = mempcpy(to, "HTTP_", 5);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)((field[i] | 0x20) - 'a') < 26)
            *at++ = (char)(field[i] & ~0x20);
        else if ((unsigned char)(field[i] - '0') < 10)
            *at++ = field[i];
        else if (field[i] == '-')
            *at++ = '_';
        else
            return 0;
    return (size_t)(at - to);
}

/* @param name  in lower case */
static int script_is_field(const char *field, size_t len, const char *name, size_t name_len)
{
    return len == name_len && (*field | 0x20) == *name && !ap_cstr_casecmpn(field, name, len);
}

#define SCRIPT_IS(field, len, name) script_is_field(field, len, name, sizeof(name) - 1)

size_t script_variable_name(char *to, const char *field, size_t len, int credentials)
{
    BRG_ASSERT(len);
    if (SCRIPT_IS(field, len, "content-type"))
        return (size_t)((char *)mempcpy(to, "CONTENT_TYPE", 12) - to);
    if (SCRIPT_IS(field, len, "content-length"))
        return (size_t)((char *)mempcpy(to, "CONTENT_LENGTH", 14) - to);
    if (SCRIPT_IS(field, len, "proxy")) /* HTTP_PROXY means something else to many libraries */
        return 0;
    if (!credentials &&
        (SCRIPT_IS(field, len, "authorization") || SCRIPT_IS(field, len, "proxy-authorization")))
        return 0; /* passwords are not for every reader of an environment */
    return script_name_put(to, field, len);
}

int script_passes_credentials(const request_rec *r)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);

    return conf->cgi_pass_auth == AP_CGI_PASS_AUTH_ON;
}

AP_DECLARE(char **) ap_create_environment(apr_pool_t *p, apr_table_t *t)
{
    const apr_array_header_t *vars = apr_table_elts(t);
    char **env = apr_palloc(p, ((apr_size_t)vars->nelts + 2) * sizeof *env);
    const char *tz = apr_table_get(t, "TZ") ? NULL : getenv("TZ");
    int n = 0;

    if (tz)
        env[n++] = apr_pstrcat(p, "TZ=", tz, NULL);
    for (int i = 0; i < vars->nelts; i++) {
        const apr_table_entry_t *var = &APR_ARRAY_IDX(vars, i, apr_table_entry_t);
        char *at;

        if (!var->key)
            continue;
        env[n] = apr_pstrcat(p, var->key, "=", var->val ? var->val : "", NULL);
        at = env[n++];
        if (apr_isdigit(*at))
            *at = '_'; /* no shell takes such a name */
        for (; *at != '='; at++)
            if (!apr_isalnum(*at))
                *at = '_';
    }
    env[n] = NULL;
    return env;
}

/* ---- common variables ---- */

static void script_set(apr_table_t *env, const char *name, const char *value)
{
    if (value)
        apr_table_addn(env, name, value);
}

static void script_add_field(const request_rec *r, apr_table_t *env, const apr_table_entry_t *field,
                             int credentials)
{
    const size_t len = strlen(field->key);
    char *name = apr_palloc(r->pool, len + sizeof "HTTP_");
    const size_t n = script_variable_name(name, field->key, len, credentials);

    name[n] = '\0';
    if (n)
        script_set(env, name, field->val);
}

/* Of the server's own environment, which nothing changes while it serves. */
typedef struct script_own {
    const char *path, *libraries; /* the latter may be NULL */
} script_own;

static const script_own *script_paths(void)
{
    static _Thread_local script_own own;

    if (!own.path) {
        own.path = getenv("PATH");
        own.libraries = getenv("LD_LIBRARY_PATH");
        if (!own.path)
            own.path = DEFAULT_PATH;
    }
    return &own;
}

/* In the order of Apache, which SSI's printenv shows. */
static void script_add_server(request_rec *r, apr_table_t *env)
{
    const char *path = apr_table_get(r->subprocess_env, "PATH");

    script_set(env, "PATH", path ? path : script_paths()->path);
    script_set(env, "LD_LIBRARY_PATH", script_paths()->libraries);
    script_set(env, "SERVER_SIGNATURE", ap_psignature("", r));
    script_set(env, "SERVER_SOFTWARE", core_software());
    script_set(env, "SERVER_NAME", ap_escape_html(r->pool, ap_get_server_name_for_url(r)));
    script_set(env, "SERVER_ADDR", r->connection->local_ip);
    script_set(env, "SERVER_PORT", apr_itoa(r->pool, ap_get_server_port(r)));
    script_set(env, "REMOTE_HOST", ap_get_useragent_host(r, REMOTE_HOST, NULL));
    script_set(env, "REMOTE_ADDR", r->useragent_ip);
    script_set(env, "DOCUMENT_ROOT", ap_document_root(r));
    script_set(env, "REQUEST_SCHEME", ap_http_scheme(r));
    script_set(env, "CONTEXT_PREFIX", ap_context_prefix(r));
    script_set(env, "CONTEXT_DOCUMENT_ROOT", ap_context_document_root(r));
    script_set(env, "SERVER_ADMIN", r->server->server_admin);
    script_set(env, "SCRIPT_FILENAME", r->filename);
}

static void script_add_user(request_rec *r, apr_table_t *env)
{
    if (r->user) {
        script_set(env, "REMOTE_USER", r->user);
    } else {
        const request_rec *from = r->prev;

        while (from && !from->user)
            from = from->prev;
        script_set(env, "REDIRECT_REMOTE_USER", from ? from->user : NULL);
    }
    script_set(env, "AUTH_TYPE", r->ap_auth_type);
    script_set(env, "REMOTE_IDENT", ap_get_remote_logname(r));
}

static void script_add_client_port(request_rec *r, apr_table_t *env)
{
    if (r->useragent_addr)
        script_set(env, "REMOTE_PORT", apr_itoa(r->pool, r->useragent_addr->port));
}

static void script_add_redirect(request_rec *r, apr_table_t *env)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);

    if (!r->prev)
        return;
    script_set(env, "REDIRECT_URL",
               conf->qualify_redirect_url == AP_CORE_CONFIG_ON
                   ? ap_construct_url(r->pool, r->prev->uri, r->prev)
                   : r->prev->uri);
    script_set(env, "REDIRECT_QUERY_STRING", r->prev->args);
}

/* 1: one of the first @a n names of @a table comes once more in it, in any case, or there are too many to tell. */
static int script_names_repeat(const apr_table_t *table, int n)
{
    const apr_array_header_t *all = apr_table_elts(table);
    const apr_table_entry_t *e = (const void *)all->elts;

    BRG_ASSERT(n <= all->nelts);
    if (n > SCRIPT_COMPARED)
        return 1;
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < all->nelts; k++)
            if (e[i].key_checksum == e[k].key_checksum && !strcasecmp(e[i].key, e[k].key))
                return 1;
    return 0;
}

/* Variables of before are replaced by those of the same name. */
AP_DECLARE(void) ap_add_common_vars(request_rec *r)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_in);
    apr_table_t *env = r->subprocess_env;
    const int before = apr_table_elts(env)->nelts, credentials = script_passes_credentials(r);

    for (int i = 0; i < fields->nelts; i++) {
        const apr_table_entry_t *field = &APR_ARRAY_IDX(fields, i, apr_table_entry_t);

        if (field->key && *field->key)
            script_add_field(r, env, field, credentials);
    }
    script_add_server(r, env);
    script_add_client_port(r, env);
    script_add_user(r, env);
    script_add_redirect(r, env);
    /* Variables of the server differ, and those of fields whose names do. */
    if (before &&
        (script_names_repeat(env, before) || script_names_repeat(r->headers_in, fields->nelts)))
        apr_table_compress(env, APR_OVERLAP_TABLES_SET);
}

/* ---- CGI ---- */

AP_DECLARE(int) ap_find_path_info(const char *uri, const char *path_info)
{
    apr_size_t u = strlen(uri), p = strlen(path_info);

    while (u && p && uri[u - 1] == path_info[p - 1]) {
        u--;
        p--;
        if (uri[u] == '/') { /* as many as there are, in either */
            for (; u && uri[u - 1] == '/'; u--) {
            }
            for (; p && path_info[p - 1] == '/'; p--) {
            }
        }
    }
    while (uri[u] && uri[u] != '/')
        u++;
    return (int)u;
}

/* The request target as the client sent it. */
static char *script_original_uri(const request_rec *r)
{
    const char *start, *end;

    if (!r->the_request)
        return apr_pstrdup(r->pool, r->uri ? r->uri : "/");
    start = r->the_request + strcspn(r->the_request, " \t");
    start += strspn(start, " \t");
    end = start + strcspn(start, " \t");
    return apr_pstrmemdup(r->pool, start, (apr_size_t)(end - start));
}

static const char *script_request_uri(request_rec *r)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);
    const char *rule = conf->cgi_var_rules
                           ? apr_hash_get(conf->cgi_var_rules, "REQUEST_URI", APR_HASH_KEY_STRING)
                           : NULL;

    if (rule && !strcmp(rule, "current-uri"))
        return apr_uri_unparse(r->pool, &r->parsed_uri, APR_URI_UNP_OMITSITEPART);
    for (const request_rec *at = r; at; at = at->prev) {
        const char *uri = apr_table_get(at->notes, SCRIPT_URI_NOTE);

        if (uri)
            return uri;
    }
    return script_original_uri(r);
}

/* apr_table_setn(); apr_table_addn() where nothing of the name can be there. */
typedef void script_put_fn(apr_table_t *env, const char *name, const char *value);

static void script_set_names(request_rec *r, script_put_fn *put)
{
    apr_table_t *env = r->subprocess_env;
    int has_info = r->path_info && *r->path_info;

    if (!strcmp(r->protocol, "INCLUDED")) {
        /* Its path_info is that of the page that includes it, and no part of its own URI. */
        put(env, "SCRIPT_NAME", r->uri);
    } else if (!has_info) {
        put(env, "SCRIPT_NAME", r->uri);
        return;
    } else {
        int info = ap_find_path_info(r->uri, r->path_info);

        put(env, "SCRIPT_NAME", apr_pstrmemdup(r->pool, r->uri, (apr_size_t)info));
    }
    if (has_info)
        put(env, "PATH_INFO", r->path_info);
}

static void script_put_cgi(request_rec *r, script_put_fn *put)
{
    apr_table_t *env = r->subprocess_env;

    BRG_ASSERT(env && r->protocol);
    put(env, "GATEWAY_INTERFACE", "CGI/1.1");
    put(env, "SERVER_PROTOCOL", r->protocol);
    put(env, "REQUEST_METHOD", r->method);
    put(env, "QUERY_STRING", r->args ? r->args : "");
    put(env, "REQUEST_URI", script_request_uri(r));
    script_set_names(r, put);

    if (r->path_info && *r->path_info) {
        request_rec *sub = ap_sub_req_lookup_uri(ap_escape_uri(r->pool, r->path_info), r, NULL);

        if (sub->filename)
            put(env, "PATH_TRANSLATED", apr_pstrcat(r->pool, sub->filename, sub->path_info, NULL));
        ap_destroy_sub_req(sub);
    }
}

AP_DECLARE(void) ap_add_cgi_vars(request_rec *r)
{
    script_put_cgi(r, apr_table_setn);
}

/* 1: one of the names of script_put_cgi() may be there. */
static int script_has_cgi(const apr_table_t *env)
{
    static const char *const prefixes[] = {"GATEWAY_", "SERVER_P", "REQUEST_",
                                           "QUERY_ST", "SCRIPT_N", "PATH_"};
    const apr_array_header_t *all = apr_table_elts(env);

    for (int i = 0; i < all->nelts; i++) {
        const char *key = APR_ARRAY_IDX(all, i, apr_table_entry_t).key;

        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
            if ((*key & ~0x20) == *prefixes[k] &&
                !strncasecmp(key, prefixes[k], strlen(prefixes[k])))
                return 1;
    }
    return 0;
}

void script_add_all(request_rec *r)
{
    const int has_some = script_has_cgi(r->subprocess_env);

    ap_add_common_vars(r); /* no name of which is one of the others */
    script_put_cgi(r, has_some ? apr_table_setn : apr_table_addn);
}
