/* SPDX-License-Identifier: Apache-2.0 */
/* Stock modules of Apache 2.4 whose phases do nothing but look at the request, the configuration
 * and local files. With a declaration in their stead, their presence alone sends no request to a
 * worker thread. Answers are conservative: what is not certain is VOLATILE.
 *
 * Authentication may take long on purpose (bcrypt): the phases of a request stop before it and go
 * on on a worker (request.c), so the modules for it may stand here. */
#include "coding.h"
#include "connection.h"
#include "stock_policy.h"
#include "configuration.h"
#include "conn.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_cfgtree.h"
#include "apr_strings.h"
#include <stdatomic.h>
#include <string.h>

#define STOCK_DEFLATE_BYTES \
    (128 * 1024) /* more is compressed on a worker: other connections would wait too long */

/* Who it is matters only where somebody is asked for. */
static int stock_authentication(request_rec *r)
{
    if (r->user || r->ap_auth_type || ap_auth_type(r))
        return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static const char *stock_last_segment(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* 1 unless the file has the name that was asked for. r->uri may be that of an index file by now,
 * which was chosen. */
static int stock_name_was_chosen(request_rec *r)
{
    const char *asked, *got = stock_last_segment(r->filename);
    apr_size_t len;

    while (r->prev)
        r = r->prev;
    len = r->unparsed_uri ? strcspn(r->unparsed_uri, "?") : 0;
    asked = len ? stock_last_segment(apr_pstrmemdup(r->pool, r->unparsed_uri, len)) : NULL;
    return !asked || !got || strcmp(asked, got) != 0;
}

static int stock_is_type_map(const request_rec *r)
{
    return (r->handler && !strcmp(r->handler, "type-map")) ||
           (r->content_type && !strcmp(r->content_type, "application/x-type-map"));
}

/* MultiViews and type maps choose by request fields; x-gzip or gzip, too, is as the client names
 * it. */
static int stock_negotiation(request_rec *r)
{
    if (r->content_encoding || r->vlist_validator)
        return BRG_CACHE_VOLATILE;
    for (const request_rec *q = r->prev; q; q = q->prev)
        if (stock_is_type_map(q))
            return BRG_CACHE_VOLATILE;
    if ((ap_allow_options(r) & OPT_MULTI) &&
        (r->finfo.filetype == APR_NOFILE || stock_name_was_chosen(r)))
        return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static int stock_static(request_rec *r)
{
    return BRG_CACHE_STATIC;
}

static int stock_never_waits(request_rec *r)
{
    return 0;
}

static int stock_takes_coding(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Accept-Encoding") ||
           apr_table_get(r->subprocess_env, "force-gzip");
}

static int stock_compression_waits(request_rec *r)
{
    if (r->finfo.filetype == APR_REG && r->finfo.size <= STOCK_DEFLATE_BYTES)
        return 0;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if ((coding_of_filter(f->frec) && stock_takes_coding(r)) ||
            !ap_cstr_casecmp(f->frec->name, "inflate"))
            return 1;
    return 0;
}

static int stock_script_waits(request_rec *r)
{
    return r->handler && !strcmp(r->handler, "cgi-script");
}

/* On a connection without filters, of no other protocol, they have nothing to say. */
static int stock_plain_connection(request_rec *r)
{
    return connection_is_plain(r->connection) ? BRG_CACHE_STATIC : BRG_CACHE_VOLATILE;
}

/* Its handler redirects, and cannot be called twice for that. */
static int stock_type_map_waits(request_rec *r)
{
    return stock_is_type_map(r);
}

static const stock_rule rules[] = {
    {"mod_allowmethods.c", stock_static, NULL, NULL, 0},
    {"mod_auth_basic.c", stock_authentication, NULL, NULL, 0},
    {"mod_authn_anon.c", stock_authentication, NULL, NULL, 0},
    {"mod_authn_core.c", stock_authentication, NULL, NULL, 0},
    {"mod_authn_file.c", stock_authentication, NULL, NULL, 0},
    {"mod_authz_groupfile.c", stock_authentication, NULL, NULL, 0},
    {"mod_authz_owner.c", stock_authentication, NULL, NULL, 0},
    {"mod_authz_user.c", stock_authentication, NULL, NULL, 0},
    {"mod_brotli.c", stock_static, stock_compression_waits, NULL, 0},
    {"mod_cgi.c", stock_static, stock_script_waits, NULL, 0},
    {"mod_cgid.c", stock_static, stock_script_waits, NULL, 0},
    {"mod_http2.c", stock_plain_connection, NULL, NULL, 1},
    {"mod_ssl.c", stock_plain_connection, NULL, "SSLRequire", 1},
    {"mod_deflate.c", stock_static, stock_compression_waits, NULL, 0},
    {"mod_negotiation.c", stock_negotiation, stock_type_map_waits, NULL, 0},
    {"mod_rewrite.c", stock_rewrite, NULL, "RewriteMap",
     0}, /* a map may ask a program or a database */
    {"mod_unique_id.c", NULL, stock_never_waits, NULL, 0},
    {"mod_vhost_alias.c", NULL, stock_never_waits, NULL, 0},
};

static int stock_is_used(const ap_directive_t *d, const char *name)
{
    for (; d; d = d->next)
        if (!ap_cstr_casecmp(d->directive, name) || stock_is_used(d->first_child, name))
            return 1;
    return 0;
}

int stock_rule_authenticates(const stock_rule *rule)
{
    return rule && rule->depends == stock_authentication;
}

static atomic_uint stock_voided; /* a bit per rule */

int stock_rule_is_void(const stock_rule *rule)
{
    return rule && atomic_load_explicit(&stock_voided, memory_order_relaxed) >> (rule - rules) & 1;
}

void stock_policy_directive(const module *m, const cmd_parms *cmd, ap_conf_vector_t *section,
                            const ap_directive_t *d)
{
    if (m->dynamic_load_handle && !strcmp(m->name, "mod_rewrite.c"))
        stock_rewrite_directive(cmd, section, d->directive, d->args);
    if (!m->dynamic_load_handle || !conf_is_htaccess(cmd))
        return;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].unless && !strcmp(rules[i].name, m->name) &&
            !ap_cstr_casecmp(rules[i].unless, d->directive))
            atomic_fetch_or_explicit(&stock_voided, 1u << i, memory_order_relaxed);
}

const stock_rule *stock_rule_of(const module *m)
{
    if (!m->dynamic_load_handle || m->version != MODULE_MAGIC_NUMBER_MAJOR)
        return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].name, m->name))
            return rules[i].unless && stock_is_used(ap_conftree, rules[i].unless) ? NULL
                                                                                  : &rules[i];
    return NULL;
}
