/* SPDX-License-Identifier: Apache-2.0 */
/* The core's per-server settings: made, merged, read. As in core_config.c, ours follow Apache's
 * struct. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_settings.h"
#include "setting.h"

#define CORE_FLUSH_THRESHOLD 65535
#define CORE_FLUSH_PIPELINED 5

#define CORE_SERVER_TAG 0x434f5352

typedef struct core_server_full {
    core_server_config pub; /* first: modules have a pointer to it */
    uint32_t tag;
    brg_core_conf ours;
    unsigned flush_threshold_set : 1, flush_pipelined_set : 1;
} core_server_full;

static core_server_full *core_full_of(const server_rec *s)
{
    core_server_full *full = ap_get_core_module_config(s->module_config);

    BRG_ASSERT_TAG(full, CORE_SERVER_TAG);
    return full;
}

static void core_server_defaults(apr_pool_t *p, core_server_config *c)
{
    c->access_name = apr_pstrdup(p, DEFAULT_ACCESS_FNAME);
    c->ap_document_root = DOCUMENT_LOCATION;
    /* Unlike Apache's, ours does not echo requests unless it was asked to. */
    c->trace_enable = AP_TRACE_DISABLE;
    c->accf_map = apr_table_make(p, 5);
    apr_table_setn(c->accf_map, "http", "data");
    apr_table_setn(c->accf_map, "https", "data");
}

static void core_ours_init(brg_core_conf *ours, int is_virtual)
{
    ours->file_cache_validate = is_virtual ? BRG_VALIDATE_UNSET : BRG_VALIDATE_INOTIFY;
    ours->file_cache_bytes = is_virtual ? -1 : BRG_FILE_CACHE_BY_MEMORY;
    ours->file_cache_max_file_bytes = is_virtual ? -1 : BRG_DEFAULT_FILE_CACHE_MAX_FILE_BYTES;
    ours->file_cache_entries_n = is_virtual ? -1 : BRG_DEFAULT_FILE_CACHE_ENTRIES;
}

void *core_create_server_config(apr_pool_t *p, server_rec *s)
{
    core_server_full *full = apr_pcalloc(p, sizeof *full);
    core_server_config *c = &full->pub;

    full->tag = CORE_SERVER_TAG;
    c->trace_enable = AP_TRACE_UNSET;
    c->protocols_honor_order = -1;
    c->merge_slashes = AP_CORE_CONFIG_UNSET;
    c->strict_host_check = AP_CORE_CONFIG_UNSET;
    c->sec_dir = apr_array_make(p, 8, sizeof(ap_conf_vector_t *));
    c->sec_url = apr_array_make(p, 8, sizeof(ap_conf_vector_t *));
    c->protocols = apr_array_make(p, 2, sizeof(const char *));
    c->flush_max_threshold = CORE_FLUSH_THRESHOLD;
    c->flush_max_pipelined = CORE_FLUSH_PIPELINED;
    if (!s->is_virtual)
        core_server_defaults(p, c);
    core_ours_init(&full->ours, s->is_virtual);
    return full;
}

#define CORE_INHERIT(field, unset) \
    if (to->field == (unset))      \
    to->field = base->field

static void core_inherit_values(core_server_config *to, const core_server_config *base)
{
    CORE_INHERIT(gprof_dir, NULL);
    CORE_INHERIT(access_name, NULL);
    CORE_INHERIT(ap_document_root, NULL);
    CORE_INHERIT(redirect_limit, 0);
    CORE_INHERIT(subreq_limit, 0);
    CORE_INHERIT(protocol, NULL);
    CORE_INHERIT(error_log_format, NULL);
    CORE_INHERIT(error_log_conn, NULL);
    CORE_INHERIT(error_log_req, NULL);
    CORE_INHERIT(trace_enable, AP_TRACE_UNSET);
    CORE_INHERIT(merge_trailers, AP_MERGE_TRAILERS_UNSET);
    CORE_INHERIT(protocols_honor_order, -1);
    CORE_INHERIT(http09_enable, AP_HTTP09_UNSET);
    CORE_INHERIT(http_conformance, AP_HTTP_CONFORMANCE_UNSET);
    CORE_INHERIT(http_methods, AP_HTTP_METHODS_UNSET);
    CORE_INHERIT(merge_slashes, AP_CORE_CONFIG_UNSET);
    CORE_INHERIT(strict_host_check, AP_CORE_CONFIG_UNSET);
    if (!to->protocols->nelts)
        to->protocols = base->protocols;
}

static void core_inherit_ours(brg_core_conf *to, const brg_core_conf *base)
{
    if (to->file_cache_validate == BRG_VALIDATE_UNSET) {
        to->file_cache_validate = base->file_cache_validate;
        to->file_cache_age_us = base->file_cache_age_us;
    }
    CORE_INHERIT(file_cache_bytes, -1);
    CORE_INHERIT(file_cache_max_file_bytes, -1);
    CORE_INHERIT(file_cache_entries_n, -1);
}

void *core_merge_server_configs(apr_pool_t *p, void *base_, void *virt_)
{
    const core_server_full *base = base_;
    core_server_full *to = apr_pmemdup(p, virt_, sizeof *to);

    BRG_ASSERT_TAG(base, CORE_SERVER_TAG);
    BRG_ASSERT_TAG(to, CORE_SERVER_TAG);
    core_inherit_values(&to->pub, &base->pub);
    core_inherit_ours(&to->ours, &base->ours);
    BRG_ASSERT(to->ours.file_cache_validate != BRG_VALIDATE_UNSET &&
               to->ours.file_cache_entries_n >= 0);
    if (!to->flush_threshold_set)
        to->pub.flush_max_threshold = base->pub.flush_max_threshold;
    if (!to->flush_pipelined_set)
        to->pub.flush_max_pipelined = base->pub.flush_max_pipelined;
    to->pub.accf_map = to->pub.accf_map && base->pub.accf_map
                           ? apr_table_overlay(p, to->pub.accf_map, base->pub.accf_map)
                           : base->pub.accf_map;
    to->pub.sec_dir = apr_array_append(p, base->pub.sec_dir, to->pub.sec_dir);
    to->pub.sec_url = apr_array_append(p, base->pub.sec_url, to->pub.sec_url);
    return to;
}

const brg_core_conf *core_conf_of(const server_rec *s)
{
    return &core_full_of(s)->ours;
}

brg_core_conf *core_conf_writable(server_rec *s)
{
    return &core_full_of(s)->ours;
}

const char *core_set_flush_threshold(cmd_parms *cmd, void *dir, const char *arg)
{
    core_server_full *full = core_full_of(cmd->server);
    apr_int64_t n;
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (!error)
        error = conf_number(cmd, arg, 0, APR_UINT32_MAX, &n);
    if (error)
        return error;
    full->pub.flush_max_threshold = (apr_size_t)n;
    full->flush_threshold_set = 1;
    return NULL;
}

const char *core_set_flush_pipelined(cmd_parms *cmd, void *dir, const char *arg)
{
    core_server_full *full = core_full_of(cmd->server);
    apr_int64_t n;
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (!error)
        error = conf_number(cmd, arg, -1, APR_INT32_MAX, &n);
    if (error)
        return error;
    full->pub.flush_max_pipelined = (apr_int32_t)n;
    full->flush_pipelined_set = 1;
    return NULL;
}
