/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for stock modules of Apache 2.4 whose phases only look at the request, the configuration and
 * local files. A rule declares for its module, so that the module's presence alone sends no request to a
 * worker. Rules are conservative: an uncertain answer is VOLATILE.
 *
 * Modules that check passwords, which may take long on purpose (bcrypt), have rules, too: the phases of
 * a request stop before authentication on a loop and continue on a worker (request.c). */
#include "coding.h"
#include "brigade/assert.h"
#include "connection.h"
#include "stock_policy.h"
#include "configuration.h"
#include "module_rows.h"
#include "conn.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_cfgtree.h"
#include "apr_strings.h"
#include <stdatomic.h>
#include <string.h>

/* Files above this size are compressed by a worker: other connections of the loop would wait too long. */
#define STOCK_DEFLATE_BYTES (128 * 1024)

/* The response depends on the user where the configuration asks for one. */
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

/* 1 if negotiation chose the file: its name differs from the last segment of the target. r->uri is no help, it may
 * name an index file by now. */
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

/* MultiViews and type maps choose by request fields. Of x-gzip and gzip the response has the name that the client
 * uses. */
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

static int stock_takes_coding(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Accept-Encoding") ||
           apr_table_get(r->subprocess_env, "force-gzip");
}

/* A loop compresses a backend's answer as it comes, with our own filters, too. */
static int stock_takes_pieces(const request_rec *r, const ap_filter_t *f)
{
    brg_coding_step step = {.coding = coding_of_filter(f->frec)};

    if (!r->handler || strncmp(r->handler, "proxy", 5) != 0 || step.coding == BRG_CODING_ZSTD)
        return 0;
    (void)stock_coding_tell(r->server, &step);
    return brg_coder_is_quick(&step.coder);
}

static int stock_compression_waits(request_rec *r)
{
    if (r->finfo.filetype == APR_REG && r->finfo.size <= STOCK_DEFLATE_BYTES)
        return 0;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if ((coding_is_likely(f) && stock_takes_coding(r) && !stock_takes_pieces(r, f)) ||
            !ap_cstr_casecmp(f->frec->name, "inflate"))
            return 1;
    return 0;
}

/* ---- connections ---- */

/* Modules of other protocols take no part in a connection without filters of theirs. */
static int stock_plain_connection(request_rec *r)
{
    return connection_is_plain(r->connection) ? BRG_CACHE_STATIC : BRG_CACHE_VOLATILE;
}

/* ---- hosts ---- */

static int stock_is_absent(const void *unused, const char *value, apr_size_t len)
{
    return value ? -1 : 0;
}

/* It takes the host from either field, where a proxy sent it, and so another virtual host may answer.
 * The address that it yields counts for logs, as with mod_remoteip. */
static int stock_rpaf(request_rec *r)
{
    static const char *const names[] = {"X-Forwarded-Host", "X-Host"};

    for (size_t i = 0; stock_is_marked("mod_rpaf-2.0.c") && i < sizeof names / sizeof *names; i++) {
        if (apr_table_get(r->headers_in, names[i]))
            return BRG_CACHE_VOLATILE;
        brg_cache_vary(r, names[i], stock_is_absent, NULL);
    }
    return BRG_CACHE_STATIC;
}

/* ---- names and targets ---- */

static int stock_is_proxied(const request_rec *r)
{
    return r->proxyreq || (r->filename && !strncmp(r->filename, "proxy:", 6)) ||
           (r->handler &&
            (!strcmp(r->handler, "proxy-server") || !strncmp(r->handler, "proxy:", 6)));
}

/* Which targets ProxyPass names follows from the target and the configuration alone. */
static int stock_proxy(request_rec *r)
{
    return stock_is_proxied(r) ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

static int stock_proxy_waits(request_rec *r)
{
    return stock_is_proxied(r);
}

/* A '~', plain or escaped: the target may name a user, whom mod_userdir looks up in the system's database. */
static int stock_may_name_user(const request_rec *r)
{
    return r->uri && (strchr(r->uri, '~') || strstr(r->uri, "%7"));
}

static int stock_userdir(request_rec *r)
{
    for (const request_rec *q = r; q; q = q->prev)
        if (stock_may_name_user(q))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

/* If the file is not there, mod_speling looks for files with a similar name. */
static int stock_speling(request_rec *r)
{
    return stock_is_marked("mod_speling.c") &&
                   (r->finfo.filetype == APR_NOFILE || (r->path_info && *r->path_info))
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

/* The handler of mod_actions redirects, and cannot be called twice for that. */
static int stock_action_waits(request_rec *r)
{
    return stock_is_marked("mod_actions.c");
}

/* The handler of type maps redirects, too. */
static int stock_type_map_waits(request_rec *r)
{
    return stock_is_type_map(r);
}

static int stock_cache(request_rec *r)
{
    for (const request_rec *q = r; q; q = q->prev)
        if (stock_cache_enabled(q))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static int stock_cache_waits(request_rec *r)
{
    return stock_cache_enabled(r);
}

/* ---- the table ---- */

#define PHP_HANDLERS "application/x-httpd-php application/x-httpd-php-source php-script"

#define SHARED
#define SECOND
#define VITAL
#define NOT_APACHES
#define OTHER_MPM
#define IDLE
#define QUERY_FREE
#define NAME_FREE
#define EARLY_ALIKE
#define NEEDS(id)
#define FAMILY(id)
#define SERVED_BY(id)
#define PLAIN_FILTERS(list)
#define DIRECTIVES(list)
#define DIRECTIVES_OF(who, list)
#define RULE(...) .is_known = 1, __VA_ARGS__
#define MODULE(id, file, ...) {.name = file ".c", __VA_ARGS__},
#define BUILTIN(id, linkage, ...) MODULE(id, __VA_ARGS__)

/* Rows without a rule are not known. */
static const stock_rule rules[] = {
#include "module_rows.def"
};

/* mod_remoteip changes the client's address where a request has its field: such a request is not answered by an answer that
 * depends on addresses (changed_fields_in()); for logs of responses from memory, policy_observe() runs its hook. */
#define RULES_N (sizeof rules / sizeof *rules)

int stock_rule_authenticates(const stock_rule *rule)
{
    return rule && rule->depends == stock_authentication;
}

/* ---- which directives change a rule ---- */

/* A directive of stock_rule.unless in an .htaccess file ends a rule until the process ends. Any thread may read such
 * a file. */
static struct {
    atomic_uchar is_void, is_marked;
} stock_state[RULES_N];
static atomic_int stock_voids; /* some rule is void */

static int stock_has_word(const char *list, const char *name)
{
    return module_list_has(list, name, strlen(name));
}

/* "off" is how most directives say that nothing is to be done. */
static int stock_is_use(const ap_directive_t *d, const char *list)
{
    return stock_has_word(list, d->directive) && !(d->args && !ap_cstr_casecmp(d->args, "off"));
}

static int stock_is_used(const ap_directive_t *d, const char *list)
{
    for (; list && d; d = d->next)
        if (stock_is_use(d, list) || stock_is_used(d->first_child, list))
            return 1;
    return 0;
}

static const stock_rule *stock_rule_named(const char *name)
{
    for (size_t i = 0; i < RULES_N; i++)
        if (rules[i].is_known && !strcmp(rules[i].name, name))
            return &rules[i];
    return NULL;
}

int stock_rule_is_void(const stock_rule *rule)
{
    BRG_ASSERT(!rule || (rule >= rules && rule < rules + RULES_N));
    return rule && atomic_load_explicit(&stock_state[rule - rules].is_void, memory_order_relaxed);
}

int stock_rules_are_void(void)
{
    return atomic_load_explicit(&stock_voids, memory_order_relaxed);
}

int stock_rule_says_static(const stock_rule *rule)
{
    return rule->depends == stock_static;
}

int stock_is_marked(const char *name)
{
    const stock_rule *rule = stock_rule_named(name);

    BRG_ASSERT(rule != NULL && rule->marks != NULL);
    return atomic_load_explicit(&stock_state[rule - rules].is_marked, memory_order_relaxed);
}

void stock_policy_directive(const module *m, const cmd_parms *cmd, ap_conf_vector_t *section,
                            const ap_directive_t *d)
{
    const stock_rule *rule;

    BRG_ASSERT(m->name != NULL && d != NULL);
    if (!m->dynamic_load_handle)
        return;
    if (!strcmp(m->name, "mod_rewrite.c"))
        stock_rewrite_directive(cmd, section, d->directive, d->args);
    if (!strcmp(m->name, "mod_cache.c"))
        stock_cache_directive(cmd, d->directive, d->args);
    if (!strcmp(m->name, "mod_remoteip.c"))
        stock_remoteip_directive(cmd, d->directive, d->args);
    if (!strcmp(m->name, "mod_deflate.c") || !strcmp(m->name, "mod_brotli.c"))
        stock_coding_directive(m, cmd, d->directive, d->args);
    if (!conf_is_htaccess(cmd) || !(rule = stock_rule_named(m->name)))
        return;
    if (stock_is_use(d, rule->unless))
        atomic_store_explicit(&stock_state[rule - rules].is_void, 1, memory_order_relaxed);
    atomic_store_explicit(&stock_voids, 1, memory_order_relaxed);
    if (stock_is_use(d, rule->marks))
        atomic_store_explicit(&stock_state[rule - rules].is_marked, 1, memory_order_relaxed);
}

const stock_rule *stock_rule_of(const module *m)
{
    const stock_rule *rule;

    if (!m->dynamic_load_handle || m->version != MODULE_MAGIC_NUMBER_MAJOR ||
        !(rule = stock_rule_named(m->name)) || stock_is_used(ap_conftree, rule->unless))
        return NULL;
    if (stock_is_used(ap_conftree, rule->marks))
        atomic_store_explicit(&stock_state[rule - rules].is_marked, 1, memory_order_relaxed);
    return rule;
}

int stock_rule_waits(const stock_rule *rule, request_rec *r)
{
    BRG_ASSERT(rule >= rules && rule < rules + RULES_N);
    if (rule->handlers && r->handler && stock_has_word(rule->handlers, r->handler))
        return 1;
    return rule->waits && rule->waits(r);
}
