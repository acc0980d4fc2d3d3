/* SPDX-License-Identifier: Apache-2.0 */
/* Values of ssl_var_lookup() beside variables of TLS, as mod_ssl's manual has them for SSLRequire:
 * the request's, times, fields and the environment. Their values are those of expressions. */
#include "tls_request_private.h"
#include "ap_expr.h"
#include "http_ssl.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <strings.h>

static int vars_is_of_request(const char *name)
{
    static const char *const names[] = {
        "API_VERSION",  "AUTH_TYPE",        "DOCUMENT_ROOT",   "HTTP_ACCEPT",
        "HTTP_COOKIE",  "HTTP_FORWARDED",   "HTTP_HOST",       "HTTP_PROXY_CONNECTION",
        "HTTP_REFERER", "HTTP_USER_AGENT",  "IS_SUBREQ",       "PATH_INFO",
        "QUERY_STRING", "REMOTE_ADDR",      "REMOTE_HOST",     "REMOTE_IDENT",
        "REMOTE_USER",  "REQUEST_FILENAME", "REQUEST_METHOD",  "REQUEST_SCHEME",
        "REQUEST_URI",  "SCRIPT_FILENAME",  "SERVER_ADMIN",    "SERVER_NAME",
        "SERVER_PORT",  "SERVER_PROTOCOL",  "SERVER_SOFTWARE", "THE_REQUEST",
        "TIME",         "TIME_DAY",         "TIME_HOUR",       "TIME_MIN",
        "TIME_MON",     "TIME_SEC",         "TIME_WDAY",       "TIME_YEAR"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i]))
            return 1;
    return 0;
}

static const char *vars_environment(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->notes, name);

    if (!value)
        value = apr_table_get(r->subprocess_env, name);
    return value ? value : getenv(name);
}

const char *tls_vars_of_request(apr_pool_t *p, request_rec *r, const char *name)
{
    const void *function = NULL, *data = NULL;
    const char *error = NULL, *value;
    ap_expr_lookup_parms asked = {.type = AP_EXPR_FUNC_VAR, .name = name, .pool = p, .ptemp = p};
    ap_expr_eval_ctx_t at = {.r = r, .c = r->connection, .s = r->server, .p = p, .err = &error};

    BRG_ASSERT(r->connection && r->server);
    if (!strncasecmp(name, "ENV:", 4))
        return vars_environment(r, name + 4);
    if (!strncasecmp(name, "HTTP:", 5))
        return apr_table_get(r->headers_in, name + 5);
    if (!vars_is_of_request(name))
        return NULL;
    asked.func = &function;
    asked.data = &data;
    asked.err = &error;
    if (ap_expr_lookup_default(&asked) != OK)
        return NULL;
    value = ((ap_expr_var_func_t *)(uintptr_t)function)(&at, data);
    return value && *value ? value : NULL;
}
