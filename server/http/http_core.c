/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The http module: KeepAlive directives, the protocol's filters and hooks, and where they are put
 * on a request.
 */
#include "http_condition.h"
#include "http_error.h"
#include "filter_registry.h"
#include "hook_lists.h"
#include "brigade/response_cache.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>

AP_DECLARE_DATA ap_filter_rec_t *ap_http_input_filter_handle;
AP_DECLARE_DATA ap_filter_rec_t *ap_http_header_filter_handle;
AP_DECLARE_DATA ap_filter_rec_t *ap_chunk_filter_handle;
AP_DECLARE_DATA ap_filter_rec_t *ap_http_outerror_filter_handle;
AP_DECLARE_DATA ap_filter_rec_t *ap_byterange_filter_handle;
AP_DECLARE_DATA ap_filter_rec_t *ap_content_length_filter_handle;

APR_HOOK_STRUCT(APR_HOOK_LINK(pre_read_request) APR_HOOK_LINK(post_read_request)
                    APR_HOOK_LINK(log_transaction) APR_HOOK_LINK(http_scheme)
                        APR_HOOK_LINK(default_port))

AP_IMPLEMENT_HOOK_VOID(pre_read_request, (request_rec * r, conn_rec *c), (r, c))
HOOK_IMPLEMENT_RUN_ALL(int, post_read_request, (request_rec * r), (r), OK, DECLINED)
HOOK_IMPLEMENT_RUN_ALL(int, log_transaction, (request_rec * r), (r), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(const char *, http_scheme, (const request_rec *r), (r), NULL)
AP_IMPLEMENT_HOOK_RUN_FIRST(unsigned short, default_port, (const request_rec *r), (r), 0)

static const char *http_set_keep_alive_timeout(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIRECTORY | NOT_IN_LOCATION | NOT_IN_FILES);
    apr_interval_time_t timeout;

    if (err)
        return err;
    /* Milliseconds may be asked for with "ms"; a bare number is seconds. */
    if (ap_timeout_parameter_parse(arg, &timeout, "s") != APR_SUCCESS)
        return "KeepAliveTimeout has wrong format";
    cmd->server->keep_alive_timeout = timeout;
    cmd->server->keep_alive_timeout_set = 1;
    return NULL;
}

static const char *http_set_keep_alive(cmd_parms *cmd, void *dummy, int on)
{
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIRECTORY | NOT_IN_LOCATION | NOT_IN_FILES);

    if (err)
        return err;
    cmd->server->keep_alive = on;
    return NULL;
}

static const char *http_set_keep_alive_max(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIRECTORY | NOT_IN_LOCATION | NOT_IN_FILES);

    if (err)
        return err;
    cmd->server->keep_alive_max = atoi(arg);
    return NULL;
}

static const command_rec http_commands[] = {
    AP_INIT_TAKE1("KeepAliveTimeout", http_set_keep_alive_timeout, NULL, RSRC_CONF,
                  "Keep-Alive timeout duration (sec)"),
    AP_INIT_TAKE1("MaxKeepAliveRequests", http_set_keep_alive_max, NULL, RSRC_CONF,
                  "Maximum number of Keep-Alive requests per connection, or 0 for infinite"),
    AP_INIT_FLAG("KeepAlive", http_set_keep_alive, NULL, RSRC_CONF,
                 "Whether persistent connections should be On or Off"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL}};

static const char *http_scheme(const request_rec *r)
{
    const char *scheme = r->server->server_scheme;

    return scheme ? scheme : "http";
}

static apr_port_t http_port(const request_rec *r)
{
    const char *scheme = r->server->server_scheme;

    return scheme && !strcmp(scheme, "https") ? DEFAULT_HTTPS_PORT : DEFAULT_HTTP_PORT;
}

/* The filters of the protocol stand on the client's request; a redirect inside the server uses
 * the same chain. */
static int http_create_request(request_rec *r)
{
    BRG_ASSERT(r->connection && r->pool);
    if (!r->main && !r->prev) {
        ap_filter_rec_t *const recs[] = {
            ap_byterange_filter_handle, ap_content_length_filter_handle,
            ap_http_header_filter_handle, ap_http_outerror_filter_handle};

        filter_chain_begin(r, recs, sizeof recs / sizeof *recs);
    }
    return OK;
}

/* "OPTIONS *" asks about the server, not about a file. */
static int http_options_asterisk(request_rec *r)
{
    if (r->method_number != M_OPTIONS || !r->uri || r->uri[0] != '*' || r->uri[1])
        return DECLINED;
    http_upgrade_announce(r); /* no handler runs */
    return DONE;
}

static int http_trace(request_rec *r)
{
    return r->method_number == M_TRACE ? ap_send_http_trace(r) : DECLINED;
}

/* The dependencies of the answer as far as the protocol is concerned. The cache knows the offers in
 * a connection's first answer (http_answer.upgrade). */
static int http_depends(request_rec *r)
{
    const request_rec *at = r;

    for (; at; at = at->main ? at->main : at->prev) {
        const char *told = apr_table_get(at->headers_out, "Upgrade");

        if ((told && told != http_upgrade_of(at)) || apr_table_get(at->headers_in, "Upgrade"))
            return BRG_CACHE_VOLATILE;
    }
    return BRG_CACHE_STATIC;
}

/* The separator of multipart/byteranges: any will do that no file holds. */
static int http_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_uint64_t value;

    ap_random_insecure_bytes(&value, sizeof(value));
    ap_multipart_boundary = apr_psprintf(pconf, "%" APR_UINT64_T_HEX_FMT, value);
    http_upgrade_compose(pconf, s);
    return OK;
}

/* Random bytes are the kernel's: there is nothing to seed. */
AP_CORE_DECLARE(void) ap_init_rng(apr_pool_t *p)
{
}

AP_CORE_DECLARE(void) ap_random_parent_after_fork(void)
{
}

static void http_register_output_filters(void)
{
    ap_http_header_filter_handle =
        ap_register_output_filter("HTTP_HEADER", ap_http_header_filter, NULL, AP_FTYPE_PROTOCOL);
    ap_chunk_filter_handle =
        ap_register_output_filter("CHUNK", ap_http_chunk_filter, NULL, AP_FTYPE_TRANSCODE);
    ap_http_outerror_filter_handle = ap_register_output_filter(
        "HTTP_OUTERROR", ap_http_outerror_filter, NULL, AP_FTYPE_PROTOCOL);
    ap_byterange_filter_handle =
        ap_register_output_filter("BYTERANGE", ap_byterange_filter, NULL, AP_FTYPE_PROTOCOL);
    ap_content_length_filter_handle = ap_register_output_filter(
        "CONTENT_LENGTH", ap_content_length_filter, NULL, AP_FTYPE_PROTOCOL);
    ap_old_write_func =
        ap_register_output_filter("OLD_WRITE", ap_old_write_filter, NULL, AP_FTYPE_RESOURCE - 10);
}

static void http_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(http_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_optional_fn_retrieve(http_condition_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_map_to_storage(http_options_asterisk, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_map_to_storage(http_trace, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_http_scheme(http_scheme, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_default_port(http_port, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_create_request(http_create_request, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_handler(http_upgrade_handler, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_http_input_filter_handle =
        ap_register_input_filter("HTTP_IN", ap_http_filter, NULL, AP_FTYPE_PROTOCOL);
    http_register_output_filters();
    ap_method_registry_init(p);
    brg_cache_declare(&http_module, http_depends);
}

AP_DECLARE_MODULE(http) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, http_commands, http_register_hooks,
    AP_MODULE_FLAG_NONE};
