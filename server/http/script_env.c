/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of CGI scripts and their kin (RFC 3875, with Apache's additions). */
#include "httpd.h"
#include "core_settings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_hash.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(core);

/* ---- names ---- */

/* HTTP_ and the field's name. Only letters, digits and hyphens go through: two fields that differ
 * in other characters must not become one variable. @return NULL for such a field */
static char *script_field_variable(apr_pool_t *p, const char *field)
{
    apr_size_t len = strlen(field);
    char *name = apr_palloc(p, len + 6), *at = name + 5;

    BRG_ASSERT(field && *field);
    memcpy(name, "HTTP_", 5);
    for (; *field; field++)
        if (apr_isalnum(*field))
            *at++ = (char)apr_toupper(*field);
        else if (*field == '-')
            *at++ = '_';
        else
            return NULL;
    *at = '\0';
    return name;
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

static void script_add_field(const request_rec *r, apr_table_t *env, const apr_table_entry_t *field)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);
    const char *name;

    if (!ap_cstr_casecmp(field->key, "Content-Type"))
        script_set(env, "CONTENT_TYPE", field->val);
    else if (!ap_cstr_casecmp(field->key, "Content-Length"))
        script_set(env, "CONTENT_LENGTH", field->val);
    else if (!ap_cstr_casecmp(field->key, "Proxy"))
        return; /* HTTP_PROXY means something else to many libraries */
    else if ((!ap_cstr_casecmp(field->key, "Authorization") ||
              !ap_cstr_casecmp(field->key, "Proxy-Authorization")) &&
             conf->cgi_pass_auth != AP_CGI_PASS_AUTH_ON)
        return; /* passwords are not for everyone who can read an environment */
    else if ((name = script_field_variable(r->pool, field->key)) != NULL)
        script_set(env, name, field->val);
}

/* In the order of Apache, which SSI's printenv shows. */
static void script_add_server(request_rec *r, apr_table_t *env)
{
    const char *path = apr_table_get(r->subprocess_env, "PATH");

    if (!path && (path = getenv("PATH")) == NULL)
        path = DEFAULT_PATH;
    script_set(env, "PATH", apr_pstrdup(r->pool, path));
    script_set(env, "LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH"));
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

#define SCRIPT_SLOTS 256 /* of script_slot(); twice as many as there are variables, as a rule */

/* Of the first four letters, the length and the last two, whatever their case. */
static unsigned script_slot(const apr_table_entry_t *e)
{
    const size_t len = strlen(e->key);
    unsigned hash = e->key_checksum ^ (unsigned)len << 3;

    if (len > 1)
        hash ^= ((unsigned char)e->key[len - 1] & 0xdfu) << 9 ^
                ((unsigned char)e->key[len - 2] & 0xdfu) << 17;
    return hash * 2654435761u >> 24;
}

/* 1: two names of @a env are the same but for case, or there are too many to tell. */
static int script_names_repeat(const apr_table_t *env)
{
    const apr_array_header_t *all = apr_table_elts(env);
    const apr_table_entry_t *e = (const void *)all->elts;
    uint8_t taken[SCRIPT_SLOTS] = {0}; /* by hash: 1 and the entry's index */

    if (all->nelts > SCRIPT_SLOTS / 2)
        return 1;
    for (int i = 0; i < all->nelts; i++) {
        unsigned slot = script_slot(&e[i]);

        for (; taken[slot]; slot = (slot + 1) % SCRIPT_SLOTS)
            if (!strcasecmp(e[taken[slot] - 1].key, e[i].key))
                return 1;
        taken[slot] = (uint8_t)(i + 1);
    }
    return 0;
}

/* What was in the environment before is replaced by what has the same name now. */
AP_DECLARE(void) ap_add_common_vars(request_rec *r)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_in);
    apr_table_t *env = r->subprocess_env;
    const int direct = apr_is_empty_table(env);

    for (int i = 0; i < fields->nelts; i++) {
        const apr_table_entry_t *field = &APR_ARRAY_IDX(fields, i, apr_table_entry_t);

        if (field->key)
            script_add_field(r, env, field);
    }
    script_add_server(r, env);
    script_add_client_port(r, env);
    script_add_user(r, env);
    script_add_redirect(r, env);
    if (!direct && script_names_repeat(env))
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
    return script_original_uri(r);
}

static void script_set_names(request_rec *r)
{
    apr_table_t *env = r->subprocess_env;
    int has_info = r->path_info && *r->path_info;

    if (!strcmp(r->protocol, "INCLUDED")) {
        /* Its path_info is that of the page that includes it, and no part of its own URI. */
        apr_table_setn(env, "SCRIPT_NAME", r->uri);
    } else if (!has_info) {
        apr_table_setn(env, "SCRIPT_NAME", r->uri);
        return;
    } else {
        int info = ap_find_path_info(r->uri, r->path_info);

        apr_table_setn(env, "SCRIPT_NAME", apr_pstrmemdup(r->pool, r->uri, (apr_size_t)info));
    }
    if (has_info)
        apr_table_setn(env, "PATH_INFO", r->path_info);
}

AP_DECLARE(void) ap_add_cgi_vars(request_rec *r)
{
    apr_table_t *env = r->subprocess_env;

    apr_table_setn(env, "GATEWAY_INTERFACE", "CGI/1.1");
    apr_table_setn(env, "SERVER_PROTOCOL", r->protocol);
    apr_table_setn(env, "REQUEST_METHOD", r->method);
    apr_table_setn(env, "QUERY_STRING", r->args ? r->args : "");
    apr_table_setn(env, "REQUEST_URI", script_request_uri(r));
    script_set_names(r);

    if (r->path_info && *r->path_info) {
        request_rec *sub = ap_sub_req_lookup_uri(ap_escape_uri(r->pool, r->path_info), r, NULL);

        if (sub->filename) {
            apr_table_setn(env, "PATH_TRANSLATED",
                           apr_pstrcat(r->pool, sub->filename, sub->path_info, NULL));
        }
        ap_destroy_sub_req(sub);
    }
}
