/* SPDX-License-Identifier: Apache-2.0 */
/* %{NAME} in test strings and substitutions. A variable's dependencies are noted when it is read:
 * variables without a note follow from the host, the target's path and the configuration. */
#include "rewrite_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_user.h"
#include "ap_mmn.h"
#include "brigade/response_cache.h"

#include <stdlib.h>
#include <string.h>

/* ---- request fields ---- */

static const char *const rewrite_fields[][2] = {{"HTTP_USER_AGENT", "User-Agent"},
                                                {"HTTP_REFERER", "Referer"},
                                                {"HTTP_COOKIE", "Cookie"},
                                                {"HTTP_FORWARDED", "Forwarded"},
                                                {"HTTP_HOST", "Host"},
                                                {"HTTP_PROXY_CONNECTION", "Proxy-Connection"},
                                                {"HTTP_ACCEPT", "Accept"}};

static const char *rewrite_named_field(const char *name)
{
    for (size_t i = 0; i < sizeof rewrite_fields / sizeof *rewrite_fields; i++)
        if (!strcmp(name, rewrite_fields[i][0]))
            return rewrite_fields[i][1];
    return NULL;
}

const char *rewrite_field_of(apr_pool_t *p, const char *text)
{
    apr_size_t len = strlen(text);
    const char *field;
    char *name;

    if (len < 4 || strncmp(text, "%{", 2) || strcspn(text + 2, "}$%\\") != len - 3)
        return NULL;
    name = apr_pstrmemdup(p, text + 2, len - 3);
    if (!strncasecmp(name, "HTTP:", 5))
        return strcasecmp(name + 5, "Host") ? name + 5 : NULL;
    ap_str_toupper(name);
    field = rewrite_named_field(name);
    return field && strcmp(field, "Host") ? field : NULL;
}

void rewrite_note_field(const rewrite_run *run, const char *name)
{
    const char *has = run->directory ? apr_table_get(run->r->notes, BRG_REWRITE_FIELDS_NOTE) : NULL;

    if (run->directory && !run->no_vary && strcasecmp(name, "Host") &&
        (!has || !ap_find_token(run->r->pool, has, name)))
        apr_table_merge(run->r->notes, BRG_REWRITE_FIELDS_NOTE, name);
}

const char *rewrite_header(rewrite_run *run, const char *name)
{
    const char *value = apr_table_get(run->r->headers_in, name);

    rewrite_note_field(run, name);
    if (value && strcasecmp(name, "Host"))
        run->vary_this = run->vary_this
                             ? apr_pstrcat(run->r->pool, run->vary_this, ", ", name, NULL)
                             : apr_pstrdup(run->r->pool, name);
    return value;
}

/* One whose value counts. The host is a part of the key of stored responses. */
static const char *rewrite_field(rewrite_run *run, const char *name)
{
    if (strcasecmp(name, "Host"))
        brg_cache_vary(run->r, apr_pstrdup(run->r->pool, name), NULL, NULL);
    return rewrite_header(run, name);
}

/* ---- time ---- */

static const char *rewrite_time(request_rec *r, const char *part)
{
    apr_time_exp_t tm;

    rewrite_is_volatile(r);
    apr_time_exp_lt(&tm, apr_time_now());
    if (!*part)
        return apr_psprintf(r->pool, "%04d%02d%02d%02d%02d%02d", tm.tm_year + 1900, tm.tm_mon + 1,
                            tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    if (!strcmp(part, "_YEAR"))
        return apr_psprintf(r->pool, "%04d", tm.tm_year + 1900);
    if (!strcmp(part, "_MON"))
        return apr_psprintf(r->pool, "%02d", tm.tm_mon + 1);
    if (!strcmp(part, "_DAY"))
        return apr_psprintf(r->pool, "%02d", tm.tm_mday);
    if (!strcmp(part, "_HOUR"))
        return apr_psprintf(r->pool, "%02d", tm.tm_hour);
    if (!strcmp(part, "_MIN"))
        return apr_psprintf(r->pool, "%02d", tm.tm_min);
    if (!strcmp(part, "_SEC"))
        return apr_psprintf(r->pool, "%02d", tm.tm_sec);
    if (!strcmp(part, "_WDAY"))
        return apr_psprintf(r->pool, "%d", tm.tm_wday);
    return NULL;
}

/* ---- the client ---- */

static const char *rewrite_owner(request_rec *r, int group)
{
    char *name;
    apr_status_t status = APR_ENOENT;

    rewrite_is_volatile(r);
    if (group && (r->finfo.valid & APR_FINFO_GROUP))
        status = apr_gid_name_get(&name, r->finfo.group, r->pool);
    else if (!group && (r->finfo.valid & APR_FINFO_USER))
        status = apr_uid_name_get(&name, r->finfo.user, r->pool);
    return status == APR_SUCCESS ? name : "<unknown>";
}

static const char *rewrite_of_client(request_rec *r, const char *name)
{
    const char *value = NULL;

    if (!strcmp(name, "REMOTE_ADDR"))
        value = r->useragent_ip;
    else if (!strcmp(name, "CONN_REMOTE_ADDR"))
        value = r->connection->client_ip;
    else if (!strcmp(name, "REMOTE_PORT"))
        value = apr_itoa(r->pool, r->useragent_addr->port);
    else if (!strcmp(name, "REMOTE_HOST"))
        value = ap_get_useragent_host(r, REMOTE_NAME, NULL);
    else if (!strcmp(name, "REMOTE_IDENT"))
        value = ap_get_remote_logname(r);
    else if (!strcmp(name, "REMOTE_USER"))
        value = r->user;
    else if (!strcmp(name, "AUTH_TYPE"))
        value = r->ap_auth_type;
    else if (!strcmp(name, "SERVER_ADDR"))
        value = r->connection->local_ip;
    else if (!strcmp(name, "SCRIPT_USER"))
        value = rewrite_owner(r, 0);
    else if (!strcmp(name, "SCRIPT_GROUP"))
        value = rewrite_owner(r, 1);
    else
        return NULL;
    rewrite_is_volatile(r);
    return value ? value : "";
}

/* ---- the request ---- */

static const char *rewrite_request_line(request_rec *r, const char *name)
{
    if (!strcmp(name, "THE_REQUEST"))
        brg_cache_depends_on_query(r);
    brg_cache_vary(r, BRG_CACHE_VARY_LINE, NULL, NULL);
    return !strcmp(name, "THE_REQUEST")      ? r->the_request
           : !strcmp(name, "REQUEST_METHOD") ? r->method
                                             : r->protocol;
}

static const char *rewrite_of_request(request_rec *r, const char *name)
{
    if (!strcmp(name, "REQUEST_URI"))
        return r->uri;
    if (!strcmp(name, "REQUEST_FILENAME") || !strcmp(name, "SCRIPT_FILENAME"))
        return r->filename;
    if (!strcmp(name, "PATH_INFO"))
        return r->path_info;
    if (!strcmp(name, "IS_SUBREQ"))
        return r->main ? "true" : "false";
    if (!strcmp(name, "REQUEST_SCHEME"))
        return ap_http_scheme(r);
    if (!strcmp(name, "CONTEXT_PREFIX"))
        return ap_context_prefix(r);
    if (!strcmp(name, "CONTEXT_DOCUMENT_ROOT"))
        return ap_context_document_root(r);
    if (!strcmp(name, "DOCUMENT_ROOT"))
        return ap_document_root(r);
    if (!strcmp(name, "QUERY_STRING")) {
        brg_cache_depends_on_query(r);
        return r->args;
    }
    if (!strcmp(name, "THE_REQUEST") || !strcmp(name, "REQUEST_METHOD") ||
        !strcmp(name, "SERVER_PROTOCOL"))
        return rewrite_request_line(r, name);
    return NULL;
}

static const char *rewrite_of_server(request_rec *r, const char *name)
{
    if (!strcmp(name, "HTTPS"))
        return ap_ssl_conn_is_ssl(r->connection) ? "on" : "off";
    if (!strcmp(name, "SERVER_NAME"))
        return ap_get_server_name_for_url(r);
    if (!strcmp(name, "SERVER_PORT"))
        return apr_itoa(r->pool, ap_get_server_port(r));
    if (!strcmp(name, "SERVER_ADMIN"))
        return r->server->server_admin;
    if (!strcmp(name, "SERVER_SOFTWARE"))
        return ap_get_server_banner();
    if (!strcmp(name, "API_VERSION"))
        return apr_psprintf(r->pool, "%d:%d", MODULE_MAGIC_NUMBER_MAJOR, MODULE_MAGIC_NUMBER_MINOR);
    return NULL;
}

static const char *rewrite_ipv6(rewrite_run *run)
{
    int is = 0;

#if APR_HAVE_IPV6
    const apr_sockaddr_t *addr = run->r->useragent_addr;

    is = addr->family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED((struct in6_addr *)addr->ipaddr_ptr);
#endif
    rewrite_is_volatile(run->r);
    REWRITE_LOG(run->r, 1, run->directory, "IPV6='%s'", is ? "on" : "off");
    return is ? "on" : "off";
}

/* ---- look-ahead ---- */

int rewrite_may_look_up(const request_rec *r)
{
    return !r->main ||
           (r->main->uri != NULL && r->uri != NULL && strcmp(r->main->uri, r->uri) != 0);
}

/* The URI that a rule works at, from the folder of its section. */
static const char *rewrite_ahead_uri(const rewrite_run *run)
{
    const rewrite_conf *conf;

    if (*run->uri == '/' || !run->directory)
        return run->uri;
    conf = ap_get_module_config(run->r->per_dir_config, &rewrite_module);
    return apr_pstrcat(run->r->pool, conf->base ? conf->base : conf->directory, run->uri, NULL);
}

static const char *rewrite_look_ahead(rewrite_run *run, char *name, int by_file)
{
    request_rec *r = run->r, *ahead;
    const char *path, *value;

    rewrite_is_volatile(r);
    if (!run->uri || !rewrite_may_look_up(r))
        return "";
    if (by_file && run->directory && *run->uri != '/')
        path = apr_pstrcat(r->pool, run->directory, run->uri, NULL);
    else
        path = by_file ? run->uri : rewrite_ahead_uri(run);
    ahead = by_file ? ap_sub_req_lookup_file(path, r, NULL) : ap_sub_req_lookup_uri(path, r, NULL);
    run->r = ahead;
    value = apr_pstrdup(r->pool, rewrite_variable(run, name));
    run->r = r;
    ap_destroy_sub_req(ahead);
    REWRITE_LOG(r, 5, run->directory, "lookahead: path=%s var=%s -> val=%s", path, name, value);
    return value;
}

/* ---- by name ---- */

static const char *rewrite_env(request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->notes, name);

    if (ap_strcasestr(name, "UNIQUE_ID")) /* also behind REDIRECT_ */
        rewrite_is_volatile(r);
    if (ap_strcasestr(name, "_URL") || ap_strcasestr(name, "_URI"))
        brg_cache_depends_on_name(r); /* REDIRECT_URL, SCRIPT_URL ... */
    if (ap_strcasestr(name, "QUERY_STRING"))
        brg_cache_depends_on_query(r);
    if (!value)
        value = apr_table_get(r->subprocess_env, name);
    return value ? value : getenv(name);
}

static const char *rewrite_prefixed(rewrite_run *run, char *name)
{
    request_rec *r = run->r;

    if (!strncasecmp(name, "ENV:", 4))
        return rewrite_env(r, name + 4);
    if (!strncasecmp(name, "SSL:", 4)) {
        rewrite_is_volatile(r);
        return ap_ssl_var_lookup(r->pool, r->server, r->connection, r, name + 4);
    }
    if (!strncasecmp(name, "HTTP:", 5))
        return rewrite_field(run, name + 5);
    if (!strncasecmp(name, "LA-U:", 5))
        return rewrite_look_ahead(run, name + 5, 0);
    if (!strncasecmp(name, "LA-F:", 5))
        return rewrite_look_ahead(run, name + 5, 1);
    return NULL;
}

const char *rewrite_variable(rewrite_run *run, char *name)
{
    const char *value = NULL, *field;

    if (strchr(name, ':')) {
        value = rewrite_prefixed(run, name);
        return value ? value : "";
    }
    ap_str_toupper(name);
    if ((field = rewrite_named_field(name)) != NULL)
        value = rewrite_field(run, field);
    else if (!strncmp(name, "TIME", 4))
        value = rewrite_time(run->r, name + 4);
    else if (!strcmp(name, "IPV6"))
        value = rewrite_ipv6(run);
    else if (!(value = rewrite_of_request(run->r, name)) &&
             !(value = rewrite_of_server(run->r, name)))
        value = rewrite_of_client(run->r, name);
    return value ? value : "";
}

/* Names of clients and of users are asked for elsewhere. */
void rewrite_note_waits(const char *text)
{
    static const char *const names[] = {"REMOTE_HOST", "REMOTE_IDENT", "SCRIPT_USER",
                                        "SCRIPT_GROUP"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ap_strcasestr(text, names[i]))
            brg_phases_need_worker();
}
