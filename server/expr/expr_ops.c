/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's operators of expressions: tests of text and files, sub-requests, patterns, addresses.
 */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>
#include "expr_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "brigade/files.h"
#include "http_request.h"
#include "apr_fnmatch.h"
#include "apr_file_info.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "request_context.h"

static int expr_op_n(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return *arg != '\0';
}

static int expr_op_z(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return *arg == '\0';
}

static int expr_op_truth(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    static const char *const lies[] = {"", "0", "off", "false", "no"};
    size_t i;

    for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
        if (ap_cstr_casecmp(arg, lies[i]) == 0)
            return 0;
    return 1;
}

/* Type of the named file, APR_NOFILE without such a file; *size is set for others. */
static apr_filetype_e expr_file_type(ap_expr_eval_ctx_t *ctx, const char *name, int link,
                                     apr_off_t *size)
{
    apr_finfo_t info;
    apr_int32_t wanted = APR_FINFO_TYPE | APR_FINFO_SIZE | (link ? APR_FINFO_LINK : 0);
    apr_status_t rv;

    if (!*name)
        return APR_NOFILE;
    if (ctx->r && *name == '/')
        brg_cache_depends_on(ctx->r, name);
    else if (ctx->r)
        request_mark_volatile(ctx->r, "core.c", "an expression looks for a file without a path");
    rv =
        ctx->r ? brg_file_stat(&info, ctx->r, name, wanted) : apr_stat(&info, name, wanted, ctx->p);
    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
        return APR_NOFILE;
    *size = info.size;
    return info.filetype;
}

static int expr_op_dir(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_off_t size;

    return expr_file_type(ctx, arg, 0, &size) == APR_DIR;
}

static int expr_op_exists(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_off_t size;

    return expr_file_type(ctx, arg, 0, &size) != APR_NOFILE;
}

static int expr_op_file(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_off_t size;

    return expr_file_type(ctx, arg, 0, &size) == APR_REG;
}

static int expr_op_filled(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_off_t size = 0;

    return expr_file_type(ctx, arg, 0, &size) == APR_REG && size > 0;
}

static int expr_op_link(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_off_t size;

    return expr_file_type(ctx, arg, 1, &size) == APR_LNK;
}

static int expr_op_executable(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return *arg && access(arg, X_OK) == 0;
}

/* Is this a sub-request for the subject of a request above it? */
static int expr_is_echo(const request_rec *r)
{
    const request_rec *up;

    for (up = r->main; up; up = up->main)
        if (up->uri && r->uri && strcmp(up->uri, r->uri) == 0)
            return 1;
    return 0;
}

/* An expression that applies to the target of its own question would ask for ever: it gets "no" the second time.
 */
static int expr_may_ask(ap_expr_eval_ctx_t *ctx, const char *arg)
{
    if (!ctx->r || !*arg || expr_is_echo(ctx->r))
        return 0;
    if (ap_is_recursion_limit_exceeded(ctx->r)) {
        *ctx->err = "Recursion limit reached";
        return 0;
    }
    return 1;
}

static int expr_op_url(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    request_rec *sub;
    int found;

    if (!expr_may_ask(ctx, arg))
        return 0;
    sub = ap_sub_req_lookup_uri(arg, ctx->r, NULL);
    BRG_ASSERT(sub->main == ctx->r);
    found = sub->status < HTTP_BAD_REQUEST;
    ap_destroy_sub_req(sub);
    return found;
}

static int expr_op_accessible(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    request_rec *sub;
    int found;

    /* before the request itself has a file name, there is nothing to look it up from */
    if (!expr_may_ask(ctx, arg) || !ctx->r->filename)
        return 0;
    sub = ap_sub_req_lookup_file(arg, ctx->r, NULL);
    BRG_ASSERT(sub->main == ctx->r);
    found = sub->status == HTTP_OK && sub->finfo.filetype != APR_NOFILE;
    ap_destroy_sub_req(sub);
    return found;
}

/* The network that a constant argument names. */
static int expr_prepare_subnet(ap_expr_lookup_parms *parms)
{
    apr_ipsubnet_t *subnet = NULL;
    char *address, *mask;

    if (!parms->arg) {
        *parms->err = apr_psprintf(parms->ptemp, "-%s requires subnet/netmask as constant argument",
                                   parms->name);
        return !OK;
    }
    address = apr_pstrdup(parms->ptemp, parms->arg);
    mask = strchr(address, '/');
    if (mask)
        *mask++ = '\0';
    if (apr_ipsubnet_create(&subnet, address, mask, parms->pool) != APR_SUCCESS) {
        *parms->err = "parsing of subnet/netmask failed";
        return !OK;
    }
    BRG_ASSERT(subnet != NULL);
    *parms->data = subnet;
    return OK;
}

static int expr_op_remote(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_sockaddr_t *from = ctx->r ? ctx->r->useragent_addr : ctx->c ? ctx->c->client_addr : NULL;

    BRG_ASSERT(data != NULL);
    return from && apr_ipsubnet_test((apr_ipsubnet_t *)data, from);
}

/* Only addresses are compared: a host name would send the thread waiting for DNS. */
static int expr_op_ipmatch(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg1,
                           const char *arg2)
{
    unsigned char bytes[16];
    apr_sockaddr_t *address;

    BRG_ASSERT(data != NULL);
    if (inet_pton(AF_INET, arg1, bytes) != 1 && inet_pton(AF_INET6, arg1, bytes) != 1)
        return 0;
    return apr_sockaddr_info_get(&address, arg1, APR_UNSPEC, 0, 0, ctx->p) == APR_SUCCESS &&
           apr_ipsubnet_test((apr_ipsubnet_t *)data, address);
}

static int expr_op_strmatch(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg1,
                            const char *arg2)
{
    return apr_fnmatch(arg2, arg1, 0) == APR_SUCCESS;
}

static int expr_op_strcmatch(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg1,
                             const char *arg2)
{
    return apr_fnmatch(arg2, arg1, APR_FNM_CASE_BLIND) == APR_SUCCESS;
}

static int expr_op_fnmatch(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg1,
                           const char *arg2)
{
    return apr_fnmatch(arg2, arg1, APR_FNM_PATHNAME) == APR_SUCCESS;
}

#define OFFER(name, func, flags)                 \
    {                                            \
        name, (const void *)func, flags, 0, NULL \
    }
#define FILE_TEST(name, func) OFFER(name, func, EXPR_O_RESTRICTED | EXPR_O_TELLS)

const expr_offer expr_core_unary[] = {
    OFFER("n", expr_op_n, EXPR_O_STATIC),
    OFFER("z", expr_op_z, EXPR_O_STATIC),
    OFFER("T", expr_op_truth, EXPR_O_STATIC),
    {"R", (const void *)expr_op_remote, EXPR_O_CLIENT, 0, expr_prepare_subnet},
    FILE_TEST("d", expr_op_dir),
    FILE_TEST("e", expr_op_exists),
    FILE_TEST("f", expr_op_file),
    FILE_TEST("s", expr_op_filled),
    FILE_TEST("L", expr_op_link),
    FILE_TEST("h", expr_op_link),
    OFFER("x", expr_op_executable, EXPR_O_RESTRICTED),
    OFFER("U", expr_op_url, 0),
    OFFER("A", expr_op_url, 0),
    OFFER("F", expr_op_accessible, 0),
    OFFER(NULL, NULL, 0),
};

const expr_offer expr_core_binary[] = {
    {"ipmatch", (const void *)expr_op_ipmatch, EXPR_O_STATIC, 0, expr_prepare_subnet},
    OFFER("strmatch", expr_op_strmatch, EXPR_O_STATIC),
    OFFER("strcmatch", expr_op_strcmatch, EXPR_O_STATIC),
    OFFER("fnmatch", expr_op_fnmatch, EXPR_O_STATIC),
    OFFER(NULL, NULL, 0),
};
