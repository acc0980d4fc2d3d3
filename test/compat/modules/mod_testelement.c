/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of pages by a module of its own, which uses all that mod_include offers to others:
 *
 *     <!--#tell ... -->      attributes decoded
 *     <!--#tell-raw ... -->  as they are written
 *
 * Each attribute is shown, its variables replaced as its name says: drop, leave (unknown names
 * stay), short (seven bytes at most), plain (not at all). flush and error do what they say, state
 * shows the page's state, and var="name" sets a variable.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_request.h"
#include "mod_include.h"
#include "apr_strings.h"

#include <string.h>

static APR_OPTIONAL_FN_TYPE(ap_ssi_get_tag_and_value) * element_next;
static APR_OPTIONAL_FN_TYPE(ap_ssi_parse_string) * element_parse;

static void element_add(include_ctx_t *ctx, apr_bucket_brigade *bb, const char *text)
{
    /* In ctx->pool: ctx->dpool is cleared before the bucket is sent. */
    text = apr_pstrcat(ctx->pool, "[", text, "]", NULL);
    APR_BRIGADE_INSERT_TAIL(
        bb, apr_bucket_pool_create(text, strlen(text), ctx->pool, bb->bucket_alloc));
}

static const char *element_state(include_ctx_t *ctx)
{
    return apr_psprintf(ctx->dpool, "printing %d, argc %u, nesting %d, %s, %s, %s",
                        !!(ctx->flags & SSI_FLAG_PRINTING), ctx->argc, ctx->if_nesting_level,
                        ctx->error_str, ctx->time_str, ctx->r->uri);
}

static void element_one(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb, const char *tag,
                        const char *value)
{
    char room[8];

    if (!value)
        element_add(ctx, bb, apr_pstrcat(ctx->dpool, tag, " without a value", NULL));
    else if (!strcmp(tag, "drop"))
        element_add(ctx, bb, element_parse(ctx, value, NULL, 0, SSI_EXPAND_DROP_NAME));
    else if (!strcmp(tag, "leave"))
        element_add(ctx, bb, element_parse(ctx, value, NULL, 0, SSI_EXPAND_LEAVE_NAME));
    else if (!strcmp(tag, "short"))
        element_add(ctx, bb, element_parse(ctx, value, room, sizeof room, SSI_EXPAND_DROP_NAME));
    else if (!strcmp(tag, "var"))
        apr_table_set(ctx->r->subprocess_env, value, "set by an element");
    else if (!strcmp(tag, "state"))
        element_add(ctx, bb, element_state(ctx));
    else if (!strcmp(tag, "flush"))
        ctx->flush_now = 1;
    else if (!strcmp(tag, "error"))
        SSI_CREATE_ERROR_BUCKET(ctx, f, bb);
    else
        element_add(ctx, bb, apr_pstrcat(ctx->dpool, tag, "=", value, NULL));
}

static apr_status_t element_run(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb,
                                int decode)
{
    char *tag, *value;

    if (!(ctx->flags & SSI_FLAG_PRINTING))
        return APR_SUCCESS;
    for (;;) {
        element_next(ctx, &tag, &value, decode);
        if (!tag)
            return APR_SUCCESS;
        element_one(ctx, f, bb, tag, value);
        if (!value)
            return APR_SUCCESS;
    }
}

static apr_status_t element_tell(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    return element_run(ctx, f, bb, SSI_VALUE_DECODED);
}

static apr_status_t element_tell_raw(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    return element_run(ctx, f, bb, SSI_VALUE_RAW);
}

static int element_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    APR_OPTIONAL_FN_TYPE(ap_register_include_handler) *add =
        APR_RETRIEVE_OPTIONAL_FN(ap_register_include_handler);

    element_next = APR_RETRIEVE_OPTIONAL_FN(ap_ssi_get_tag_and_value);
    element_parse = APR_RETRIEVE_OPTIONAL_FN(ap_ssi_parse_string);
    if (!add || !element_next || !element_parse)
        return HTTP_INTERNAL_SERVER_ERROR;
    add("tell", element_tell);
    add("tell-raw", element_tell_raw);
    return OK;
}

static void element_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(element_post_config, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA testelement_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, element_register_hooks, 0,
};
