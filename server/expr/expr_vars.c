/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's variables of expressions.
 */
#include <string.h>
#include "expr_private.h"
#include "core_settings.h"
#include "request_context.h"
#include "ap_mmn.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_ssl.h"
#include "mod_http2.h"
#include "util_time.h"
#include "apr_optional.h"
#include "apr_strings.h"
#include "apr_user.h"
#include "brigade/assert.h"

typedef enum expr_var {
    EXPR_V_METHOD,
    EXPR_V_SCHEME,
    EXPR_V_URI,
    EXPR_V_FILENAME,
    EXPR_V_LAST_MODIFIED,
    EXPR_V_SCRIPT_USER,
    EXPR_V_SCRIPT_GROUP,
    EXPR_V_PATH_INFO,
    EXPR_V_QUERY,
    EXPR_V_IS_SUBREQ,
    EXPR_V_THE_REQUEST,
    EXPR_V_REMOTE_ADDR,
    EXPR_V_REMOTE_PORT,
    EXPR_V_REMOTE_HOST,
    EXPR_V_REMOTE_USER,
    EXPR_V_REMOTE_IDENT,
    EXPR_V_SERVER_NAME,
    EXPR_V_SERVER_PORT,
    EXPR_V_SERVER_ADMIN,
    EXPR_V_PROTOCOL,
    EXPR_V_DOCUMENT_ROOT,
    EXPR_V_AUTH_TYPE,
    EXPR_V_CONTENT_TYPE,
    EXPR_V_HANDLER,
    EXPR_V_STATUS,
    EXPR_V_REQUEST_LOG_ID,
    EXPR_V_CONTEXT_PREFIX,
    EXPR_V_CONTEXT_ROOT,
    /* from here on: also without a request */
    EXPR_V_HTTPS,
    EXPR_V_HTTP2,
    EXPR_V_IPV6,
    EXPR_V_CONN_LOG_ID,
    EXPR_V_CONN_REMOTE_ADDR,
    EXPR_V_SOFTWARE,
    EXPR_V_API,
    EXPR_V_TIME_YEAR,
    EXPR_V_TIME_MON,
    EXPR_V_TIME_DAY,
    EXPR_V_TIME_HOUR,
    EXPR_V_TIME_MIN,
    EXPR_V_TIME_SEC,
    EXPR_V_TIME_WDAY,
    EXPR_V_TIME
} expr_var;

/* The value follows from the path; where a redirect inside the server led, from that of the redirect, which is the same for all names that
 * are led there alike. */
static void vars_tell_name(const request_rec *r)
{
    if (!r->prev)
        request_name_counts(r);
}

static const char *expr_var_owner(ap_expr_eval_ctx_t *ctx, int user)
{
    const apr_finfo_t *info = &ctx->r->finfo;
    char *name = NULL;

    BRG_ASSERT(ctx->r);
    vars_tell_name(ctx->r);
    if (user && (info->valid & APR_FINFO_USER))
        apr_uid_name_get(&name, info->user, ctx->p);
    else if (!user && (info->valid & APR_FINFO_GROUP))
        apr_gid_name_get(&name, info->group, ctx->p);
    return name;
}

/* 20101231235959 */
static const char *expr_var_stamp(ap_expr_eval_ctx_t *ctx, apr_time_t t)
{
    apr_time_exp_t tm;

    ap_explode_recent_localtime(&tm, t);
    return apr_psprintf(ctx->p, "%02d%02d%02d%02d%02d%02d%02d", tm.tm_year / 100 + 19,
                        tm.tm_year % 100, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                        tm.tm_sec);
}

static const char *expr_var_request(ap_expr_eval_ctx_t *ctx, expr_var id)
{
    request_rec *r = ctx->r;

    BRG_ASSERT(ctx->r);
    switch (id) {
    case EXPR_V_METHOD:
        return r->method;
    case EXPR_V_SCHEME:
        return ap_http_scheme(r);
    case EXPR_V_URI:
        vars_tell_name(r);
        return r->uri;
    case EXPR_V_FILENAME:
        vars_tell_name(r);
        return r->filename ? r->filename : r->uri;
    case EXPR_V_LAST_MODIFIED:
        vars_tell_name(r);
        return expr_var_stamp(ctx, r->mtime);
    case EXPR_V_SCRIPT_USER:
        return expr_var_owner(ctx, 1);
    case EXPR_V_SCRIPT_GROUP:
        return expr_var_owner(ctx, 0);
    case EXPR_V_PATH_INFO:
        vars_tell_name(r);
        return r->path_info;
    case EXPR_V_QUERY:
        request_query_counts(r);
        return r->args;
    case EXPR_V_IS_SUBREQ:
        return r->main ? "true" : "false";
    case EXPR_V_THE_REQUEST:
        request_query_counts(r);
        request_name_counts(r);
        return r->the_request;
    case EXPR_V_PROTOCOL:
        return r->protocol;
    case EXPR_V_CONTENT_TYPE:
        return r->content_type;
    case EXPR_V_HANDLER:
        return r->handler;
    case EXPR_V_STATUS:
        return apr_itoa(ctx->p, r->status);
    case EXPR_V_REQUEST_LOG_ID:
        return r->log_id;
    default:
        return NULL;
    }
}

/* The client, the server, and the target of the request. */
static const char *expr_var_site(ap_expr_eval_ctx_t *ctx, expr_var id)
{
    request_rec *r = ctx->r;

    switch (id) {
    case EXPR_V_REMOTE_ADDR:
        return r->useragent_ip;
    case EXPR_V_REMOTE_PORT:
        return apr_psprintf(ctx->p, "%u", r->useragent_addr->port);
    case EXPR_V_REMOTE_HOST:
        return ap_get_useragent_host(r, REMOTE_NAME, NULL);
    case EXPR_V_REMOTE_USER:
        return r->user;
    case EXPR_V_REMOTE_IDENT:
        return ap_get_remote_logname(r);
    case EXPR_V_AUTH_TYPE:
        return r->ap_auth_type;
    case EXPR_V_SERVER_NAME:
        return ap_get_server_name_for_url(r);
    case EXPR_V_SERVER_PORT:
        return apr_psprintf(ctx->p, "%u", ap_get_server_port(r));
    case EXPR_V_SERVER_ADMIN:
        return r->server->server_admin;
    case EXPR_V_DOCUMENT_ROOT:
        return ap_document_root(r);
    case EXPR_V_CONTEXT_PREFIX:
        return ap_context_prefix(r);
    case EXPR_V_CONTEXT_ROOT:
        return ap_context_document_root(r);
    default:
        return NULL;
    }
}

static const char *expr_var_of_heads(const ap_expr_eval_ctx_t *ctx, const expr_subject *heads,
                                     expr_var id)
{
    switch (id) {
    case EXPR_V_METHOD:
        return heads->asked ? apr_pstrmemdup(ctx->p, heads->asked->method, heads->asked->method_len)
                            : "GET";
    case EXPR_V_STATUS:
        return heads->answered ? apr_itoa(ctx->p, heads->answered->code) : NULL;
    case EXPR_V_SERVER_NAME:
        return ctx->s ? ctx->s->server_hostname : NULL;
    case EXPR_V_SERVER_ADMIN:
        return ctx->s ? ctx->s->server_admin : NULL;
    default:
        return NULL;
    }
}

static const char *expr_var_request_func(ap_expr_eval_ctx_t *ctx, const void *data)
{
    expr_var id = (expr_var)((const expr_offer *)data)->id;
    const expr_subject *heads = expr_subject_of(ctx);
    const char *value;

    if (!ctx->r)
        return heads ? expr_var_of_heads(ctx, heads, id) : NULL;
    value = expr_var_request(ctx, id);
    return value ? value : expr_var_site(ctx, id);
}

static int expr_var_is_ipv6(const ap_expr_eval_ctx_t *ctx)
{
#if APR_HAVE_IPV6
    const apr_sockaddr_t *addr = ctx->c->client_addr;

    return addr->family == AF_INET6 &&
           !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)addr->ipaddr_ptr);
#else
    return 0;
#endif
}

static int expr_var_is_http2(const ap_expr_eval_ctx_t *ctx)
{
    APR_OPTIONAL_FN_TYPE(http2_is_h2) *is_h2 = APR_RETRIEVE_OPTIONAL_FN(http2_is_h2);

    return is_h2 && is_h2(ctx->c);
}

static const char *expr_var_conn_func(ap_expr_eval_ctx_t *ctx, const void *data)
{
    if (!ctx->c)
        return NULL;
    switch ((expr_var)((const expr_offer *)data)->id) {
    case EXPR_V_HTTPS:
        return ap_ssl_conn_is_ssl(ctx->c) ? "on" : "off";
    case EXPR_V_HTTP2:
        return expr_var_is_http2(ctx) ? "on" : "off";
    case EXPR_V_IPV6:
        return expr_var_is_ipv6(ctx) ? "on" : "off";
    case EXPR_V_CONN_LOG_ID:
        return ctx->c->log_id;
    case EXPR_V_CONN_REMOTE_ADDR:
        return ctx->c->client_ip;
    default:
        return NULL;
    }
}

static const char *expr_var_server_func(ap_expr_eval_ctx_t *ctx, const void *data)
{
    if (((const expr_offer *)data)->id == EXPR_V_SOFTWARE)
        return core_software();
    return APR_STRINGIFY(MODULE_MAGIC_NUMBER_MAJOR);
}

/* The time is that of the request, so that it stands still while the request is processed. */
static const char *expr_var_time_func(ap_expr_eval_ctx_t *ctx, const void *data)
{
    apr_time_t now = ctx->r ? ctx->r->request_time : apr_time_now();
    apr_time_exp_t tm;

    ap_explode_recent_localtime(&tm, now);
    switch ((expr_var)((const expr_offer *)data)->id) {
    case EXPR_V_TIME_YEAR:
        return apr_psprintf(ctx->p, "%02d%02d", tm.tm_year / 100 + 19, tm.tm_year % 100);
    case EXPR_V_TIME_MON:
        return apr_psprintf(ctx->p, "%02d", tm.tm_mon + 1);
    case EXPR_V_TIME_DAY:
        return apr_psprintf(ctx->p, "%02d", tm.tm_mday);
    case EXPR_V_TIME_HOUR:
        return apr_psprintf(ctx->p, "%02d", tm.tm_hour);
    case EXPR_V_TIME_MIN:
        return apr_psprintf(ctx->p, "%02d", tm.tm_min);
    case EXPR_V_TIME_SEC:
        return apr_psprintf(ctx->p, "%02d", tm.tm_sec);
    case EXPR_V_TIME_WDAY:
        return apr_psprintf(ctx->p, "%d", tm.tm_wday);
    default:
        return expr_var_stamp(ctx, now);
    }
}

/* Request headers; the name of the field follows the name of the variable in this table. */
static const char *const expr_header_names[] = {
    "Accept", "Cookie", "Forwarded", "Host", "Proxy-Connection", "Referer", "User-Agent",
};

static const char *expr_var_header_func(ap_expr_eval_ctx_t *ctx, const void *data);

const char *expr_var_field(const ap_expr_t *node)
{
    return node->func == (const void *)expr_var_header_func
               ? expr_header_names[((const expr_offer *)node->data)->id]
               : NULL;
}

static const char *expr_var_header_func(ap_expr_eval_ctx_t *ctx, const void *data)
{
    return expr_f_req(ctx, NULL, expr_header_names[((const expr_offer *)data)->id]);
}

#define HEADER(name, index)                                                \
    {                                                                      \
        name, (const void *)expr_var_header_func, EXPR_O_HEAD, index, NULL \
    }
#define REQUEST(name, id)                                      \
    {                                                          \
        name, (const void *)expr_var_request_func, 0, id, NULL \
    }
#define SITE(name, id)                                                   \
    {                                                                    \
        name, (const void *)expr_var_request_func, EXPR_O_SITE, id, NULL \
    }
#define ANSWER(name, id)                                                                 \
    {                                                                                    \
        name, (const void *)expr_var_request_func, EXPR_O_SITE | EXPR_O_ANSWER, id, NULL \
    }
#define FIXED(name, id)                                                    \
    {                                                                      \
        name, (const void *)expr_var_request_func, EXPR_O_STATIC, id, NULL \
    }
#define CONN(name, id)                                      \
    {                                                       \
        name, (const void *)expr_var_conn_func, 0, id, NULL \
    }
#define SERVER(name, id)                                                  \
    {                                                                     \
        name, (const void *)expr_var_server_func, EXPR_O_STATIC, id, NULL \
    }
#define TIME(name, id)                                      \
    {                                                       \
        name, (const void *)expr_var_time_func, 0, id, NULL \
    }

const expr_offer expr_core_vars[] = {
    HEADER("HTTP_ACCEPT", 0),
    HEADER("HTTP_COOKIE", 1),
    HEADER("HTTP_FORWARDED", 2),
    HEADER("HTTP_HOST", 3),
    HEADER("HTTP_PROXY_CONNECTION", 4),
    HEADER("HTTP_REFERER", 5),
    HEADER("HTTP_USER_AGENT", 6),
    {"REQUEST_METHOD", (const void *)expr_var_request_func, EXPR_O_HEAD | EXPR_O_LINE,
     EXPR_V_METHOD, NULL},
    SITE("REQUEST_SCHEME", EXPR_V_SCHEME),
    FIXED("REQUEST_URI", EXPR_V_URI),
    FIXED("DOCUMENT_URI", EXPR_V_URI),
    FIXED("REQUEST_FILENAME", EXPR_V_FILENAME),
    FIXED("SCRIPT_FILENAME", EXPR_V_FILENAME),
    ANSWER("LAST_MODIFIED", EXPR_V_LAST_MODIFIED),
    REQUEST("SCRIPT_USER", EXPR_V_SCRIPT_USER),
    REQUEST("SCRIPT_GROUP", EXPR_V_SCRIPT_GROUP),
    FIXED("PATH_INFO", EXPR_V_PATH_INFO),
    FIXED("QUERY_STRING", EXPR_V_QUERY),
    SITE("IS_SUBREQ", EXPR_V_IS_SUBREQ),
    {"THE_REQUEST", (const void *)expr_var_request_func, EXPR_O_LINE, EXPR_V_THE_REQUEST, NULL},
    {"REMOTE_ADDR", (const void *)expr_var_request_func, EXPR_O_CLIENT, EXPR_V_REMOTE_ADDR, NULL},
    REQUEST("REMOTE_PORT", EXPR_V_REMOTE_PORT),
    REQUEST("REMOTE_HOST", EXPR_V_REMOTE_HOST),
    REQUEST("REMOTE_USER", EXPR_V_REMOTE_USER),
    REQUEST("REMOTE_IDENT", EXPR_V_REMOTE_IDENT),
    SITE("SERVER_NAME", EXPR_V_SERVER_NAME),
    SITE("SERVER_PORT", EXPR_V_SERVER_PORT),
    FIXED("SERVER_ADMIN", EXPR_V_SERVER_ADMIN),
    {"SERVER_PROTOCOL", (const void *)expr_var_request_func, EXPR_O_LINE, EXPR_V_PROTOCOL, NULL},
    SITE("DOCUMENT_ROOT", EXPR_V_DOCUMENT_ROOT),
    REQUEST("AUTH_TYPE", EXPR_V_AUTH_TYPE),
    ANSWER("CONTENT_TYPE", EXPR_V_CONTENT_TYPE),
    SITE("HANDLER", EXPR_V_HANDLER),
    ANSWER("REQUEST_STATUS", EXPR_V_STATUS),
    REQUEST("REQUEST_LOG_ID", EXPR_V_REQUEST_LOG_ID),
    SITE("CONTEXT_PREFIX", EXPR_V_CONTEXT_PREFIX),
    SITE("CONTEXT_DOCUMENT_ROOT", EXPR_V_CONTEXT_ROOT),
    {"HTTPS", (const void *)expr_var_conn_func, EXPR_O_SITE, EXPR_V_HTTPS, NULL},
    {"HTTP2", (const void *)expr_var_conn_func, EXPR_O_SITE, EXPR_V_HTTP2, NULL},
    CONN("IPV6", EXPR_V_IPV6),
    CONN("CONN_LOG_ID", EXPR_V_CONN_LOG_ID),
    CONN("CONN_REMOTE_ADDR", EXPR_V_CONN_REMOTE_ADDR),
    SERVER("SERVER_SOFTWARE", EXPR_V_SOFTWARE),
    SERVER("API_VERSION", EXPR_V_API),
    TIME("TIME_YEAR", EXPR_V_TIME_YEAR),
    TIME("TIME_MON", EXPR_V_TIME_MON),
    TIME("TIME_DAY", EXPR_V_TIME_DAY),
    TIME("TIME_HOUR", EXPR_V_TIME_HOUR),
    TIME("TIME_MIN", EXPR_V_TIME_MIN),
    TIME("TIME_SEC", EXPR_V_TIME_SEC),
    TIME("TIME_WDAY", EXPR_V_TIME_WDAY),
    TIME("TIME", EXPR_V_TIME),
    {NULL, NULL, 0, 0, NULL},
};
