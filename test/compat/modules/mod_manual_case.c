/* SPDX-License-Identifier: Apache-2.0 */
/* Filters in both directions that a directive puts on the chains, and a handler that sends the body
 * back. */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_lib.h"
#include "apr_strings.h"

#include <string.h>

module AP_MODULE_DECLARE_DATA manual_case_module;

typedef struct case_conf {
    int out, in;
} case_conf;

static void *case_create(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(case_conf));
}

static const char *case_set(cmd_parms *cmd, void *unused, int on)
{
    case_conf *conf = ap_get_module_config(cmd->server->module_config, &manual_case_module);

    *(int *)((char *)conf + (apr_size_t)cmd->info) = on;
    return NULL;
}

static const command_rec case_commands[] = {
    AP_INIT_FLAG("ManualCaseOut", case_set, (void *)APR_OFFSETOF(case_conf, out), RSRC_CONF,
                 "On or Off"),
    AP_INIT_FLAG("ManualCaseIn", case_set, (void *)APR_OFFSETOF(case_conf, in), RSRC_CONF,
                 "On or Off"),
    {NULL}};

static apr_status_t case_each(ap_filter_t *f, apr_bucket_brigade *bb)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb), *next; b != APR_BRIGADE_SENTINEL(bb); b = next) {
        const char *data;
        apr_size_t len;
        char *copy;

        next = APR_BUCKET_NEXT(b);
        if (APR_BUCKET_IS_METADATA(b))
            continue;
        if (apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return APR_EGENERAL;
        next = APR_BUCKET_NEXT(b);
        copy = apr_bucket_alloc(len ? len : 1, f->c->bucket_alloc);
        for (apr_size_t i = 0; i < len; i++)
            copy[i] = (char)apr_toupper(data[i]);
        APR_BUCKET_INSERT_BEFORE(
            b, apr_bucket_heap_create(copy, len, apr_bucket_free, f->c->bucket_alloc));
        apr_bucket_delete(b);
    }
    return APR_SUCCESS;
}

static apr_status_t case_out(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_status_t rv = case_each(f, bb);

    return rv == APR_SUCCESS ? ap_pass_brigade(f->next, bb) : rv;
}

static apr_status_t case_in(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                            apr_read_type_e block, apr_off_t most)
{
    apr_status_t rv = ap_get_brigade(f->next, bb, mode, block, most);

    return rv == APR_SUCCESS ? case_each(f, bb) : rv;
}

static void case_insert(request_rec *r)
{
    const case_conf *conf = ap_get_module_config(r->server->module_config, &manual_case_module);

    if (conf->out)
        ap_add_output_filter("ManualCaseOut", NULL, r, r->connection);
    if (conf->in)
        ap_add_input_filter("ManualCaseIn", NULL, r, r->connection);
}

/* Reads the body with the functions for clients' blocks, or brigade by brigade. */
static int case_read_brigades(request_rec *r)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    int eos = 0;

    while (!eos) {
        apr_status_t rv =
            ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_BLOCK_READ, 7);

        if (rv != APR_SUCCESS)
            return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb);
             b = APR_BUCKET_NEXT(b)) {
            const char *data;
            apr_size_t len;

            eos |= APR_BUCKET_IS_EOS(b);
            if (!APR_BUCKET_IS_METADATA(b) &&
                apr_bucket_read(b, &data, &len, APR_BLOCK_READ) == APR_SUCCESS)
                ap_rwrite(data, (int)len, r);
        }
        apr_brigade_cleanup(bb);
    }
    return OK;
}

static int case_handler(request_rec *r)
{
    char buf[100];
    long n;
    int status;

    if (!r->handler || strcmp(r->handler, "manual-echo"))
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    if (r->args && !strcmp(r->args, "brigades"))
        return case_read_brigades(r);
    status = ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK);
    if (status != OK || !ap_should_client_block(r))
        return status;
    while ((n = ap_get_client_block(r, buf, sizeof buf)) > 0)
        ap_rwrite(buf, (int)n, r);
    return n < 0 ? HTTP_BAD_REQUEST : OK;
}

static void case_hooks(apr_pool_t *p)
{
    ap_hook_insert_filter(case_insert, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(case_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_register_output_filter("ManualCaseOut", case_out, NULL, AP_FTYPE_RESOURCE);
    ap_register_input_filter("ManualCaseIn", case_in, NULL, AP_FTYPE_RESOURCE);
}

module AP_MODULE_DECLARE_DATA manual_case_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, case_create, NULL, case_commands, case_hooks, 0};
