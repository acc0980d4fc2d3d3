/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about valid lines that are hardly meant: names that two virtual hosts of an address have, ports of https without TLS, filters and codings that
 * nobody knows. A warning is written where there is no doubt about the doubt. */
#include "core_doubts_private.h"
#include "core_private.h"
#include "proxy.h"
#include "ap_listen.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "http_main.h"
#include "util_filter.h"
#include "ap_mpm.h"

APLOG_USE_MODULE(core);

void core_doubts_tell(const core_doubts *d, const char *file, int line, const char *what)
{
    ap_log_error(APLOG_MARK, APLOG_WARNING | (d->to ? 0 : APLOG_STARTUP), 0, d->to, "%s:%d: %s",
                 file, line, what);
}

void core_doubts_say(const core_doubts *d, const ap_directive_t *node, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    core_doubts_tell(d, node->filename, node->line_num, apr_pvsprintf(d->p, format, args));
    va_end(args);
}

const char *core_doubts_word(const core_doubts *d, const ap_directive_t *node, int n)
{
    const char *args = core_doubts_args(node);
    char *word = apr_pstrdup(d->p, "");
    size_t len;

    while (n-- >= 0)
        word = ap_getword_conf(d->p, &args);
    len = strlen(word);
    if (*node->directive == '<' && len && word[len - 1] == '>')
        word[len - 1] = '\0';
    return word;
}

static const char *doubts_place(apr_pool_t *p, const char *file, int line)
{
    return apr_psprintf(p, "%s:%d", file, line);
}

server_rec *core_doubts_server(const core_doubts *d, const ap_directive_t *node)
{
    for (; node; node = node->parent) {
        server_rec *s =
            ap_cstr_casecmp(node->directive, "<VirtualHost")
                ? NULL
                : apr_hash_get(d->places, doubts_place(d->p, node->filename, node->line_num),
                               APR_HASH_KEY_STRING);

        if (s)
            return s;
    }
    return d->main;
}

void core_doubts_each(core_doubts *d, const ap_directive_t *tree,
                      void (*visit)(core_doubts *d, const ap_directive_t *node))
{
    for (; tree; tree = tree->next) {
        visit(d, tree);
        core_doubts_each(d, tree->first_child, visit);
    }
}

const ap_directive_t *core_doubts_line(const core_doubts *d, const server_rec *s, const char *name)
{
    const ap_directive_t *tree = ap_conftree, *found = NULL;

    if (s != d->main) {
        const ap_directive_t *node = apr_hash_get(d->nodes, &s, sizeof(s));

        tree = node ? node->first_child : NULL;
    }
    for (; tree; tree = tree->next)
        if (!ap_cstr_casecmp(tree->directive, name))
            found = tree;
    return found;
}

/* ---- names ---- */

static void doubts_name(core_doubts *d, apr_hash_t *owners, const server_rec *s,
                        const server_addr_rec *at, const char *name)
{
    char ip[64];
    const server_rec *first;
    char *key;

    apr_sockaddr_ip_getbuf(ip, sizeof ip, at->host_addr);
    key = apr_psprintf(d->p, "%s %u %s", ip, at->host_port, name);
    ap_str_tolower(key);
    first = apr_hash_get(owners, key, APR_HASH_KEY_STRING);
    if (!first)
        apr_hash_set(owners, key, APR_HASH_KEY_STRING, s);
    else if (first != s)
        core_doubts_tell(
            d, s->defn_name, (int)s->defn_line_number,
            apr_psprintf(d->p,
                         "the name %s is already that of the virtual host at %s:%u on the same "
                         "address, which gets its requests",
                         name, first->defn_name, first->defn_line_number));
}

/* A host without a ServerName has a name that nobody chose. */
static void doubts_names(core_doubts *d)
{
    apr_hash_t *owners = apr_hash_make(d->p);

    for (const server_rec *s = d->main->next; s; s = s->next) {
        const int named = core_doubts_line(d, s, "ServerName") != NULL;

        for (const server_addr_rec *at = s->addrs; at; at = at->next) {
            if (named)
                doubts_name(d, owners, s, at, s->server_hostname);
            for (int i = 0; s->names && i < s->names->nelts; i++)
                doubts_name(d, owners, s, at, APR_ARRAY_IDX(s->names, i, const char *));
        }
    }
}

/* ---- TLS ---- */

static int doubts_is_https(apr_port_t port)
{
    int https = 0;

    for (const ap_listen_rec *l = ap_listeners; port && l; l = l->next)
        if (l->bind_addr->port == port)
            https = l->protocol ? !strcmp(l->protocol, "https") : port == 443;
    return https;
}

static void doubts_tls_of(core_doubts *d, const server_rec *s)
{
    const ap_directive_t *engine = core_doubts_line(d, s, "SSLEngine");

    if (!engine)
        engine = core_doubts_line(d, d->main, "SSLEngine");
    if (engine && ap_cstr_casecmp(core_doubts_args(engine), "off"))
        return;
    for (const server_addr_rec *at = s->addrs; at; at = at->next)
        if (doubts_is_https(at->host_port)) {
            core_doubts_tell(
                d, s->defn_name, (int)s->defn_line_number,
                apr_psprintf(d->p,
                             "port %u is one of https, and SSLEngine is not on: this virtual host "
                             "answers there without TLS",
                             at->host_port));
            return;
        }
}

static void doubts_tls(core_doubts *d)
{
    /* These bring TLS of their own. */
    if (ap_exists_directive(d->p, "GnuTLSEnable") || ap_exists_directive(d->p, "NSSEngine") ||
        ap_exists_directive(d->p, "TLSEngine"))
        return;
    for (const server_rec *s = d->main->next; s; s = s->next)
        doubts_tls_of(d, s);
}

/* ---- filters and codings ---- */

static void doubts_filters(core_doubts *d, const ap_directive_t *node, int input)
{
    const char *args = core_doubts_args(node);
    char *state, *list = ap_getword_conf(d->p, &args);

    if (!ap_cstr_casecmp(list, "none"))
        return;
    for (const char *name = apr_strtok(list, ";", &state); name;
         name = apr_strtok(NULL, ";", &state)) {
        brg_nearest nearest = {name, NULL, 0};

        if (input ? ap_get_input_filter_handle(name) : ap_get_output_filter_handle(name))
            continue;
        brg_nearest_offer_filters(&nearest, input);
        core_doubts_say(d, node, "%s: no module here has a filter %s%s", node->directive, name,
                        brg_nearest_question(d->p, &nearest));
    }
}

static void doubts_coding(core_doubts *d, const ap_directive_t *node)
{
    static const char *const known[] = {"gzip",   "x-gzip", "compress",  "x-compress",   "deflate",
                                        "br",     "zstd",   "identity",  "bzip2",        "x-bzip2",
                                        "x-bzip", "xz",     "x-xz",      "lzma",         "x-lzma",
                                        "dcb",    "dcz",    "aes128gcm", "pack200-gzip", "exi"};
    const char *name = core_doubts_word(d, node, 0);
    brg_nearest nearest = {name, NULL, 0};

    if (!core_doubts_known(&nearest, known, sizeof known / sizeof *known) && nearest.name &&
        strlen(name) > 3)
        core_doubts_say(d, node, "%s: %s is no coding that clients know%s", node->directive, name,
                        brg_nearest_question(d->p, &nearest));
}

/* ---- proxied paths ---- */

static void doubts_proxy(core_doubts *d, const ap_directive_t *node)
{
    const char *what = proxy_line_doubt(d->p, node);

    if (what)
        core_doubts_tell(d, node->filename, node->line_num, what);
}

static void doubts_words(core_doubts *d, const ap_directive_t *node)
{
    core_doubts_names(d, node);
    core_doubts_urls(d, node);
    core_doubts_auth(d, node);
    if (!ap_cstr_casecmp(node->directive, "SetOutputFilter") ||
        !ap_cstr_casecmp(node->directive, "AddOutputFilter"))
        doubts_filters(d, node, 0);
    else if (!ap_cstr_casecmp(node->directive, "SetInputFilter") ||
             !ap_cstr_casecmp(node->directive, "AddInputFilter"))
        doubts_filters(d, node, 1);
    else if (!ap_cstr_casecmp(node->directive, "AddEncoding"))
        doubts_coding(d, node);
    else
        doubts_proxy(d, node);
}

/* ---- when ---- */

/* Which lines are whose. */
static void doubts_place_hosts(core_doubts *d)
{
    d->places = apr_hash_make(d->p);
    d->nodes = apr_hash_make(d->p);
    for (server_rec *s = d->main->next; s; s = s->next)
        apr_hash_set(d->places, doubts_place(d->p, s->defn_name, (int)s->defn_line_number),
                     APR_HASH_KEY_STRING, s);
    for (const ap_directive_t *node = ap_conftree; node; node = node->next) {
        server_rec *s = core_doubts_server(d, node);

        if (s != d->main)
            apr_hash_set(d->nodes, apr_pmemdup(d->p, &s, sizeof(s)), sizeof(s), node);
    }
}

static void doubts_look(apr_pool_t *p, server_rec *main_server, server_rec *to)
{
    core_doubts d = {.main = main_server, .to = to};

    BRG_ASSERT(main_server && !main_server->is_virtual);
    apr_pool_create(&d.p, p);
    doubts_place_hosts(&d);
    doubts_names(&d);
    doubts_tls(&d);
    core_doubts_ports(&d);
    core_doubts_each(&d, ap_conftree, doubts_words);
    core_doubts_documents(&d);
    core_doubts_roots(&d);
    apr_pool_destroy(d.p);
}

static void doubts_test(apr_pool_t *pconf, server_rec *s)
{
    if (ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST)
        doubts_look(pconf, s, NULL);
}

/* A start reads twice: the second reading counts. */
static int doubts_start(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    if (ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_PRE_CONFIG)
        doubts_look(ptemp, s, s);
    return OK;
}

void core_doubts_register(void)
{
    ap_hook_test_config(doubts_test, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(doubts_start, NULL, NULL, APR_HOOK_REALLY_LAST);
}
