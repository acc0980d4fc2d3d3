/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_headers: Header and RequestHeader.
 *
 * Rules run at one of two moments. Early: right after the request line and headers were read, with
 * the server's configuration. Late: request headers as the last fixup, response headers when the
 * first part of the response passes an output filter, so that the handler's fields can still be
 * changed. Error responses get the "always" rules only, through a filter of their own.
 */
#include "headers_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"

APLOG_USE_MODULE(headers);

static ap_filter_rec_t *headers_output_handle, *headers_error_handle;

static void *headers_create_conf(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(headers_conf));
}

static void *headers_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const headers_conf *base = base_conf, *add = add_conf;
    headers_conf *conf = apr_palloc(p, sizeof(*conf));
    int i;

    for (i = HEADERS_REQUEST; i <= HEADERS_ALWAYS; i++)
        if (base->rules[i] && add->rules[i])
            conf->rules[i] = apr_array_append(p, base->rules[i], add->rules[i]);
        else
            conf->rules[i] = base->rules[i] ? base->rules[i] : add->rules[i];
    conf->varies = base->varies || add->varies;
    conf->asks = base->asks || add->asks;
    conf->varies_early = base->varies_early || add->varies_early;
    return conf;
}

static const headers_conf *headers_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &headers_module);
}

static int headers_run_early(request_rec *r)
{
    const headers_conf *conf = headers_conf_of(r);

    if (!headers_apply(r, r->headers_in, conf->rules[HEADERS_REQUEST], 1) ||
        !headers_apply(r, r->err_headers_out, conf->rules[HEADERS_ALWAYS], 1) ||
        !headers_apply(r, r->headers_out, conf->rules[HEADERS_SUCCESS], 1))
        return HTTP_INTERNAL_SERVER_ERROR;
    return DECLINED;
}

static int headers_run_request_rules(request_rec *r)
{
    const headers_conf *conf = headers_conf_of(r);

    if (!headers_apply(r, r->headers_in, conf->rules[HEADERS_REQUEST], 0))
        return HTTP_INTERNAL_SERVER_ERROR;
    return DECLINED;
}

static apr_status_t headers_output_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    const headers_conf *conf = headers_conf_of(f->r);

    BRG_ASSERT(f->r && f->next);
    ap_log_rerror(APLOG_MARK, APLOG_TRACE4, 0, f->r,
                  APLOGNO(01502) "headers: ap_headers_output_filter()");
    headers_apply(f->r, f->r->err_headers_out, conf->rules[HEADERS_ALWAYS], 0);
    headers_apply(f->r, f->r->headers_out, conf->rules[HEADERS_SUCCESS], 0);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t headers_error_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    const headers_conf *conf = headers_conf_of(f->r);

    BRG_ASSERT(f->r && f->next);
    ap_log_rerror(APLOG_MARK, APLOG_TRACE4, 0, f->r,
                  APLOGNO(01503) "headers: ap_headers_error_filter()");
    headers_apply(f->r, f->r->err_headers_out, conf->rules[HEADERS_ALWAYS], 0);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static void headers_insert_output_filter(request_rec *r)
{
    const headers_conf *conf = headers_conf_of(r);

    if (conf->rules[HEADERS_SUCCESS] || conf->rules[HEADERS_ALWAYS])
        ap_add_output_filter_handle(headers_output_handle, NULL, r, r->connection);
}

static void headers_insert_error_filter(request_rec *r)
{
    if (headers_conf_of(r)->rules[HEADERS_ALWAYS])
        ap_add_output_filter_handle(headers_error_handle, NULL, r, r->connection);
}

/* Without a file name a quick handler answered, before rules that are not early. */
static int headers_are_told(request_rec *r, const apr_array_header_t *rules)
{
    for (int i = 0; rules && i < rules->nelts; i++) {
        const headers_rule *rule = &APR_ARRAY_IDX(rules, i, headers_rule);

        if ((r->filename || rule->early) && !headers_rule_is_told(r, rule))
            return 0;
    }
    return 1;
}

static int headers_depends(request_rec *r)
{
    const headers_conf *conf = headers_conf_of(r);
    const int told = ap_get_module_config(r->request_config, &headers_module) != NULL;

    if (!told && (r->filename ? conf->varies : conf->varies_early))
        return BRG_CACHE_VOLATILE;
    if (conf->asks && (!headers_are_told(r, conf->rules[HEADERS_SUCCESS]) ||
                       !headers_are_told(r, conf->rules[HEADERS_ALWAYS])))
        return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static void headers_register_hooks(apr_pool_t *p)
{
    headers_output_handle = ap_register_output_filter("FIXUP_HEADERS_OUT", headers_output_filter,
                                                      NULL, AP_FTYPE_CONTENT_SET);
    headers_error_handle = ap_register_output_filter("FIXUP_HEADERS_ERR", headers_error_filter,
                                                     NULL, AP_FTYPE_CONTENT_SET);
    ap_hook_insert_filter(headers_insert_output_filter, NULL, NULL, APR_HOOK_LAST);
    ap_hook_insert_error_filter(headers_insert_error_filter, NULL, NULL, APR_HOOK_LAST);
    ap_hook_fixups(headers_run_request_rules, NULL, NULL, APR_HOOK_LAST);
    ap_hook_post_read_request(headers_run_early, NULL, NULL, APR_HOOK_FIRST);
    brg_cache_declare(&headers_module, headers_depends);
    headers_told_register();
    brg_hooks_need_directive(&headers_module, "post_read_request fixups insert_filter", NULL,
                             BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA headers_module = {
    STANDARD20_MODULE_STUFF,
    headers_create_conf,
    headers_merge_conf,
    NULL,
    NULL,
    headers_commands,
    headers_register_hooks,
    0,
};
