/* SPDX-License-Identifier: Apache-2.0 */
/* The core's per-directory settings: made, merged, read. Settings that Apache's public struct has no room
 * for follows it in core_dir_full, which only this file allocates. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_settings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

#define CORE_PATH_INFO_UNSET 3
#define CORE_UNSET (-1)

#define CORE_DIR_TAG 0x434f4449

typedef struct core_dir_full {
    core_dir_config pub; /* first: modules have a pointer to it */
    uint32_t tag;
    int encoded_slashes_set;
    brg_pages pages;
} core_dir_full;

void *core_create_dir_config(apr_pool_t *p, char *dir)
{
    core_dir_full *full = apr_pcalloc(p, sizeof *full);
    core_dir_config *d = &full->pub;

    full->tag = CORE_DIR_TAG;
    /* Outside all sections links are followed unless something else is said. */
    d->opts = dir ? OPT_UNSET : OPT_UNSET | OPT_SYM_LINKS;
    full->encoded_slashes_set = !dir; /* virtual hosts do not inherit AllowEncodedSlashes */
    d->override = OR_UNSET | OR_NONE;
    d->override_opts = OPT_UNSET | OPT_ALL | OPT_SYM_OWNER | OPT_MULTI;
    d->content_md5 = AP_CORE_CONFIG_UNSET;
    d->accept_path_info = CORE_PATH_INFO_UNSET;
    d->use_canonical_name = USE_CANONICAL_NAME_UNSET;
    d->use_canonical_phys_port = USE_CANONICAL_PHYS_PORT_UNSET;
    d->hostname_lookups = HOSTNAME_LOOKUP_UNSET;
    d->limit_req_body = CORE_UNSET;
    d->limit_xml_body = CORE_UNSET;
    d->add_default_charset = ADD_DEFAULT_CHARSET_UNSET;
    d->add_default_charset_name = DEFAULT_ADD_DEFAULT_CHARSET_NAME;
    d->enable_mmap = ENABLE_MMAP_UNSET;
    d->enable_sendfile = ENABLE_SENDFILE_UNSET;
    d->max_ranges = d->max_overlaps = d->max_reversals = AP_MAXRANGES_UNSET;
    d->cgi_pass_auth = AP_CGI_PASS_AUTH_UNSET;
    d->qualify_redirect_url = AP_CORE_CONFIG_UNSET;
    return full;
}

/* ---- merging, by kind ---- */

static void core_merge_options(core_dir_config *to, const core_dir_config *base,
                               const core_dir_config *over)
{
    if (!(over->opts & OPT_UNSET)) {
        to->opts = over->opts;
        to->opts_add = over->opts_add;
        to->opts_remove = over->opts_remove;
        return;
    }
    to->opts_add = (allow_options_t)((base->opts_add & ~over->opts_remove) | over->opts_add);
    to->opts_remove = (allow_options_t)((base->opts_remove & ~over->opts_add) | over->opts_remove);
    to->opts = (allow_options_t)((base->opts & ~to->opts_remove) | to->opts_add);
    /* "+IncludesNOEXEC" below "Includes" takes exec away. */
    if ((base->opts & OPT_INC_WITH_EXEC) && (over->opts_add & OPT_INCLUDES) &&
        !(over->opts_add & OPT_INC_WITH_EXEC)) {
        to->opts &= (allow_options_t)~OPT_INC_WITH_EXEC;
        to->opts_add &= (allow_options_t)~OPT_INC_WITH_EXEC;
        to->opts_remove |= OPT_INC_WITH_EXEC;
    }
}

static void core_merge_override(core_dir_config *to, const core_dir_config *over)
{
    if (!(over->override & OR_UNSET))
        to->override = over->override;
    if (!(over->override_opts & OPT_UNSET))
        to->override_opts = over->override_opts;
    if (over->override_list)
        to->override_list = over->override_list;
}

static void core_merge_etag(core_dir_config *to, const core_dir_config *base,
                            const core_dir_config *over)
{
    if (over->etag_bits != ETAG_UNSET) {
        to->etag_bits = over->etag_bits;
        to->etag_add = over->etag_add;
        to->etag_remove = over->etag_remove;
        return;
    }
    to->etag_add = (base->etag_add & ~over->etag_remove) | over->etag_add;
    to->etag_remove = (base->etag_remove & ~over->etag_add) | over->etag_remove;
}

static apr_array_header_t *core_merge_sections(apr_pool_t *p, apr_array_header_t *base,
                                               apr_array_header_t *over)
{
    if (!base || !over)
        return base ? base : over;
    return apr_array_append(p, base, over);
}

static apr_hash_t *core_merge_hashes(apr_pool_t *p, apr_hash_t *base, apr_hash_t *over)
{
    if (!base || !over)
        return base ? base : over;
    return apr_hash_overlay(p, over, base);
}

/* The section's own members, which are never inherited. */
static void core_merge_identity(core_dir_config *to, const core_dir_config *over)
{
    to->d = over->d;
    to->d_is_fnmatch = over->d_is_fnmatch;
    to->d_components = over->d_components;
    to->r = over->r;
    to->refs = over->refs;
    to->condition = over->condition;
    to->condition_ifelse = over->condition_ifelse;
}

#define CORE_TAKE(field, unset) \
    if (over->field != (unset)) \
    to->field = over->field

static void core_merge_values(core_dir_config *to, const core_dir_config *over)
{
    CORE_TAKE(hostname_lookups, HOSTNAME_LOOKUP_UNSET);
    CORE_TAKE(content_md5, AP_CORE_CONFIG_UNSET);
    CORE_TAKE(accept_path_info, CORE_PATH_INFO_UNSET);
    CORE_TAKE(use_canonical_name, USE_CANONICAL_NAME_UNSET);
    CORE_TAKE(use_canonical_phys_port, USE_CANONICAL_PHYS_PORT_UNSET);
    CORE_TAKE(limit_cpu, NULL);
    CORE_TAKE(limit_mem, NULL);
    CORE_TAKE(limit_nproc, NULL);
    CORE_TAKE(limit_req_body, CORE_UNSET);
    CORE_TAKE(limit_xml_body, CORE_UNSET);
    CORE_TAKE(server_signature, srv_sig_unset);
    CORE_TAKE(mime_type, NULL);
    CORE_TAKE(output_filters, NULL);
    CORE_TAKE(input_filters, NULL);
    CORE_TAKE(enable_mmap, ENABLE_MMAP_UNSET);
    CORE_TAKE(enable_sendfile, ENABLE_SENDFILE_UNSET);
    CORE_TAKE(max_ranges, AP_MAXRANGES_UNSET);
    CORE_TAKE(max_overlaps, AP_MAXRANGES_UNSET);
    CORE_TAKE(max_reversals, AP_MAXRANGES_UNSET);
    CORE_TAKE(cgi_pass_auth, AP_CGI_PASS_AUTH_UNSET);
    CORE_TAKE(qualify_redirect_url, AP_CORE_CONFIG_UNSET);
    CORE_TAKE(read_buf_size, 0);
    if (over->add_default_charset != ADD_DEFAULT_CHARSET_UNSET) {
        to->add_default_charset = over->add_default_charset;
        to->add_default_charset_name = over->add_default_charset_name;
    }
    if (over->handler || over->expr_handler) {
        to->handler = over->handler;
        to->expr_handler = over->expr_handler;
    }
}

static void core_merge_log(apr_pool_t *p, core_dir_config *to, const core_dir_config *base,
                           const core_dir_config *over)
{
    if (!over->log)
        return;
    to->log = over->log;
    if (base->log) {
        to->log = ap_new_log_config(p, over->log);
        ap_merge_log_config(base->log, to->log);
    }
}

static void core_merge_ours(core_dir_full *to, const core_dir_full *over)
{
    if (over->encoded_slashes_set) {
        to->encoded_slashes_set = 1;
        to->pub.allow_encoded_slashes = over->pub.allow_encoded_slashes;
        to->pub.decode_encoded_slashes = over->pub.decode_encoded_slashes;
    }
    if (over->pages != BRG_PAGES_UNSET)
        to->pages = over->pages;
}

void *core_merge_dir_configs(apr_pool_t *p, void *base_, void *over_)
{
    const core_dir_config *base = base_, *over = over_;
    core_dir_full *full = apr_pmemdup(p, base_, sizeof *full);
    core_dir_config *to = &full->pub;

    BRG_ASSERT_TAG(full, CORE_DIR_TAG);
    BRG_ASSERT_TAG((const core_dir_full *)over_, CORE_DIR_TAG);
    core_merge_identity(to, over);
    core_merge_options(to, base, over);
    core_merge_override(to, over);
    core_merge_etag(to, base, over);
    core_merge_values(to, over);
    core_merge_log(p, to, base, over);
    to->sec_file = core_merge_sections(p, base->sec_file, over->sec_file);
    to->sec_if = core_merge_sections(p, base->sec_if, over->sec_if);
    to->response_code_exprs =
        core_merge_hashes(p, base->response_code_exprs, over->response_code_exprs);
    to->cgi_var_rules = core_merge_hashes(p, base->cgi_var_rules, over->cgi_var_rules);
    core_merge_ours(full, over_);
    return full;
}

/* ---- reading ---- */

void core_set_encoded_slashes(core_dir_config *d, int allow, int decode)
{
    BRG_ASSERT_TAG((core_dir_full *)d, CORE_DIR_TAG);
    ((core_dir_full *)d)->encoded_slashes_set = 1;
    d->allow_encoded_slashes = allow ? 1 : 0;
    d->decode_encoded_slashes = decode ? 1 : 0;
}

void core_set_pages(core_dir_config *d, brg_pages pages)
{
    BRG_ASSERT_TAG((core_dir_full *)d, CORE_DIR_TAG);
    BRG_ASSERT(pages != BRG_PAGES_UNSET);
    ((core_dir_full *)d)->pages = pages;
}

brg_pages core_pages_of(const core_dir_config *d)
{
    const core_dir_full *full = (const core_dir_full *)d;

    BRG_ASSERT_TAG(full, CORE_DIR_TAG);
    if (full->pages != BRG_PAGES_UNSET)
        return full->pages;
    return conf_is_of_apache() ? BRG_PAGES_APACHE : BRG_PAGES_MODERN;
}

brg_pages brg_pages_of(const request_rec *r)
{
    return core_pages_of(core_dir_conf_of(r));
}

const struct ap_logconf *core_log_config(apr_pool_t *p, const server_rec *s,
                                         const core_dir_config *d)
{
    struct ap_logconf *l = d->log;

    if (l && l->level == CONF_LEVEL_UNSET) {
        l = ap_new_log_config(p, l);
        ap_merge_log_config(&s->log, l);
    }
    return l;
}
