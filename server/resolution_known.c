/* SPDX-License-Identifier: Apache-2.0 */
/* Stock modules of Apache 2.4 whose phases do nothing but look at the request, the configuration
 * and local files. With a declaration in their stead, their presence alone sends no request to a
 * worker thread. Answers are conservative: what is not certain is VOLATILE.
 *
 * Authentication may take long on purpose (bcrypt): the phases of a request stop before it and go
 * on on a worker (request.c), so the modules for it may stand here. */
#include "resolution_known.h"
#include "resolution_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_cfgtree.h"
#include "apr_strings.h"
#include <string.h>

#define KNOWN_DEFLATE_BYTES \
    (128 * 1024) /* more is compressed on a worker: other connections would wait too long */

/* Who it is matters only where somebody is asked for. */
static int known_authentication(request_rec *r)
{
    if (r->user || r->ap_auth_type || ap_auth_type(r))
        return BRG_RESOLUTION_VOLATILE;
    return BRG_RESOLUTION_STATIC;
}

static const char *known_last_segment(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* 1 unless the file has the name that was asked for. r->uri may be that of an index file by now,
 * which was chosen. */
static int known_name_was_chosen(request_rec *r)
{
    const char *asked, *got = known_last_segment(r->filename);
    apr_size_t len;

    while (r->prev)
        r = r->prev;
    len = r->unparsed_uri ? strcspn(r->unparsed_uri, "?") : 0;
    asked = len ? known_last_segment(apr_pstrmemdup(r->pool, r->unparsed_uri, len)) : NULL;
    return !asked || !got || strcmp(asked, got) != 0;
}

static int known_is_type_map(const request_rec *r)
{
    return (r->handler && !strcmp(r->handler, "type-map")) ||
           (r->content_type && !strcmp(r->content_type, "application/x-type-map"));
}

/* MultiViews and type maps choose by request fields; x-gzip or gzip, too, is as the client names
 * it. */
static int known_negotiation(request_rec *r)
{
    if (r->content_encoding || r->vlist_validator)
        return BRG_RESOLUTION_VOLATILE;
    for (const request_rec *q = r->prev; q; q = q->prev)
        if (known_is_type_map(q))
            return BRG_RESOLUTION_VOLATILE;
    if ((ap_allow_options(r) & OPT_MULTI) &&
        (r->finfo.filetype == APR_NOFILE || known_name_was_chosen(r)))
        return BRG_RESOLUTION_VOLATILE;
    return BRG_RESOLUTION_STATIC;
}

static int known_static(request_rec *r)
{
    return BRG_RESOLUTION_STATIC;
}

static int known_never_waits(request_rec *r)
{
    return 0;
}

static int known_takes_coding(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Accept-Encoding") ||
           apr_table_get(r->subprocess_env, "force-gzip");
}

static int known_compression_waits(request_rec *r)
{
    if (r->finfo.filetype == APR_REG && r->finfo.size <= KNOWN_DEFLATE_BYTES)
        return 0;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if ((resolution_filter_coding(f->frec) && known_takes_coding(r)) ||
            !ap_cstr_casecmp(f->frec->name, "inflate"))
            return 1;
    return 0;
}

static int known_script_waits(request_rec *r)
{
    return r->handler && !strcmp(r->handler, "cgi-script");
}

static const known_module_rule rules[] = {
    {"mod_allowmethods.c", known_static, NULL, NULL},
    {"mod_auth_basic.c", known_authentication, NULL, NULL},
    {"mod_authn_anon.c", known_authentication, NULL, NULL},
    {"mod_authn_core.c", known_authentication, NULL, NULL},
    {"mod_authn_file.c", known_authentication, NULL, NULL},
    {"mod_authz_groupfile.c", known_authentication, NULL, NULL},
    {"mod_authz_owner.c", known_authentication, NULL, NULL},
    {"mod_authz_user.c", known_authentication, NULL, NULL},
    {"mod_brotli.c", known_static, known_compression_waits, NULL},
    {"mod_cgi.c", known_static, known_script_waits, NULL},
    {"mod_cgid.c", known_static, known_script_waits, NULL},
    {"mod_deflate.c", known_static, known_compression_waits, NULL},
    {"mod_negotiation.c", known_negotiation, NULL, NULL},
    {"mod_rewrite.c", NULL, known_never_waits,
     "RewriteMap"}, /* a map may ask a program or a database */
    {"mod_unique_id.c", NULL, known_never_waits, NULL},
    {"mod_vhost_alias.c", NULL, known_never_waits, NULL},
};

static int known_is_used(const ap_directive_t *d, const char *name)
{
    for (; d; d = d->next)
        if (!ap_cstr_casecmp(d->directive, name) || known_is_used(d->first_child, name))
            return 1;
    return 0;
}

const known_module_rule *known_rule_of(const module *m)
{
    if (!m->dynamic_load_handle || m->version != MODULE_MAGIC_NUMBER_MAJOR)
        return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].name, m->name))
            return rules[i].unless && known_is_used(ap_conftree, rules[i].unless) ? NULL
                                                                                  : &rules[i];
    return NULL;
}
