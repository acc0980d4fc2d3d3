/* SPDX-License-Identifier: Apache-2.0 */
/* Names that nothing here has: handlers, formats of logs, protocols, balancers, kinds of caches; and quotes that do not end. */
#include "core_doubts_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_protocol.h"

static int names_is(const ap_directive_t *node, const char *name)
{
    return !ap_cstr_casecmp(node->directive, name);
}

int core_doubts_known(brg_nearest *nearest, const char *const known[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!ap_cstr_casecmp(nearest->word, known[i]))
            return 1;
        brg_nearest_offer(nearest, known[i]);
    }
    return 0;
}

/* ---- handlers ---- */

static void names_handler(core_doubts *d, const ap_directive_t *node)
{
    static const char *const known[] = {
        "server-status", "server-info",  "balancer-manager", "cache-manager",    "cgi-script",
        "proxy-server",  "type-map",     "default-handler",  "redirect-handler", "send-as-is",
        "imap-file",     "ldap-status",  "md-status",        "metrics",          "ready",
        "lua-script",    "fcgid-script", "perl-script",      "isapi-handler",    "none"};
    const char *name = core_doubts_word(d, node, 0);
    brg_nearest nearest = {name, NULL, 0};

    if (!core_doubts_known(&nearest, known, sizeof known / sizeof *known) && nearest.name &&
        strlen(name) > 4)
        core_doubts_say(d, node, "%s: no module here has a handler %s%s", node->directive, name,
                        brg_nearest_question(d->p, &nearest));
}

/* ---- formats of logs ---- */

static void names_offer_format(core_doubts *d, const ap_directive_t *node)
{
    const char *name = core_doubts_word(d, node, 1);

    BRG_ASSERT(d->nearest && d->nearest->word);
    if ((names_is(node, "LogFormat") || names_is(node, "ErrorLogFormat")) && *name) {
        brg_nearest_offer(d->nearest, name);
        d->found |= !strcmp(d->nearest->word, name);
    }
}

static void names_log(core_doubts *d, const ap_directive_t *node)
{
    static const char *const known[] = {
        "common", "combined", "vhost_combined", "vhost_common", "combinedio",
        "json",   "ecs",      "squid",          "referer",      "agent"};
    const char *name = core_doubts_word(d, node, 1);
    brg_nearest nearest = {name, NULL, 0};

    if (!*name || strpbrk(name, "%=: "))
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(name, known[i]))
            return;
        brg_nearest_offer(&nearest, known[i]);
    }
    d->nearest = &nearest;
    d->found = 0;
    core_doubts_each(d, ap_conftree, names_offer_format);
    if (!d->found)
        core_doubts_say(d, node,
                        "CustomLog: no LogFormat has the name %s, so each line is that word%s",
                        name, brg_nearest_question(d->p, &nearest));
}

/* ---- protocols ---- */

static void names_protocols(core_doubts *d, const ap_directive_t *node)
{
    static const char *const known[] = {"h3", "h2", "h2c", "http/1.1", "acme-tls/1", "spdy/3"};
    const char *args = core_doubts_args(node);

    while (*args) {
        const char *word = ap_getword_conf(d->p, &args);
        int is_known = 0;

        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= !ap_cstr_casecmp(word, known[i]);
        if (!is_known)
            core_doubts_say(
                d, node,
                "Protocols: no module here speaks %s; write h3 for HTTP/3, h2 for HTTP/2 over TLS, "
                "h2c for HTTP/2 in the clear, http/1.1",
                word);
    }
}

/* ---- balancers ---- */

/* Whether a section names a member, or leaves room for members from balancer-manager. */
static int names_has_members(const ap_directive_t *section)
{
    for (const ap_directive_t *node = section->first_child; node; node = node->next)
        if (names_is(node, "BalancerMember") ||
            (names_is(node, "ProxySet") && strstr(core_doubts_args(node), "growth=")))
            return 1;
    return 0;
}

static void names_offer_balancer(core_doubts *d, const ap_directive_t *node)
{
    const char *url = core_doubts_word(d, node, 0);
    size_t len;

    BRG_ASSERT(d->nearest && d->nearest->word);
    if (names_is(node, "BalancerMember") && !ap_cstr_casecmpn(url, "balancer://", 11)) {
        /* BalancerMember balancer://app http://... outside of a section */
    } else if (!names_is(node, "<Proxy") || ap_cstr_casecmpn(url, "balancer://", 11)) {
        return;
    }
    len = strcspn(url + 11, "/>");
    url = apr_pstrmemdup(d->p, url + 11, len);
    if (ap_cstr_casecmp(d->nearest->word, url))
        brg_nearest_offer(d->nearest, url);
    d->found |= !ap_cstr_casecmp(d->nearest->word, url) &&
                (*node->directive != '<' || names_has_members(node));
}

static void names_balancer(core_doubts *d, const ap_directive_t *node)
{
    const char *url = NULL;
    brg_nearest nearest = {NULL, NULL, 0};

    for (int i = 0; i < 3 && !url; i++)
        if (!ap_cstr_casecmpn(core_doubts_word(d, node, i), "balancer://", 11))
            url = core_doubts_word(d, node, i) + 11;
    if (!url || strchr(url, '$'))
        return;
    nearest.word = apr_pstrmemdup(d->p, url, strcspn(url, "/"));
    d->nearest = &nearest;
    d->found = 0;
    core_doubts_each(d, ap_conftree, names_offer_balancer);
    if (!d->found)
        core_doubts_say(d, node,
                        "%s: balancer://%s has no member: no section <Proxy \"balancer://%s\"> "
                        "names one by BalancerMember, so requests get 503%s",
                        node->directive, nearest.word, nearest.word,
                        brg_nearest_question(d->p, &nearest));
}

/* ---- caches ---- */

static void names_cache(core_doubts *d, const ap_directive_t *node)
{
    const char *type = core_doubts_word(d, node, 0);

    if (*type != '/' && strcmp(type, "memory") && strcmp(type, "disk") && strcmp(type, "socache") &&
        ap_cstr_casecmp(type, "public") && ap_cstr_casecmp(type, "private"))
        core_doubts_say(
            d, node,
            "CacheEnable: there is no kind of cache %s; write memory (which all processes "
            "share), disk, or socache (which machines share)",
            type);
}

/* ---- quotes ---- */

/* 1 if a word begins with a quote that does not end. */
static int names_is_open(const char *at)
{
    while (*at) {
        char quote;

        while (apr_isspace(*at))
            at++;
        quote = *at == '"' || *at == '\'' ? *at++ : 0;
        if (!quote) {
            at += strcspn(at, " \t");
            continue;
        }
        while (*at && *at != quote)
            at += *at == '\\' && at[1] ? 2 : 1;
        if (!*at)
            return 1;
        at++;
    }
    return 0;
}

static void names_quotes(core_doubts *d, const ap_directive_t *node)
{
    static const char *const free_text[] = {"ErrorDocument", "SecRule", "SecAction", "PerlSetVar",
                                            "SecRuleUpdateTargetById"};

    for (size_t i = 0; i < sizeof free_text / sizeof *free_text; i++)
        if (names_is(node, free_text[i]))
            return;
    if (*node->directive != '<' && names_is_open(core_doubts_args(node)))
        core_doubts_say(d, node, "%s: a quote does not end: %s; write one behind the text",
                        node->directive, core_doubts_args(node));
}

/* ---- host names ---- */

static void names_host(core_doubts *d, const ap_directive_t *node)
{
    const char *name = core_doubts_word(d, node, 0);
    const char *at = strstr(name, "://");

    if (at && at[3 + strcspn(at + 3, "/")])
        core_doubts_say(d, node, "ServerName: %s is a URL; write %s", name,
                        apr_pstrmemdup(d->p, at + 3, strcspn(at + 3, "/")));
}

/* ---- media types ---- */

static void names_type(core_doubts *d, const ap_directive_t *node)
{
    const char *type = core_doubts_word(d, node, 0);

    if (*type == '.' || !strchr(type, '/'))
        core_doubts_say(d, node, "AddType: %s is no media type; write AddType TYPE/SUBTYPE .ENDING",
                        type);
}

void core_doubts_names(core_doubts *d, const ap_directive_t *node)
{
    static const struct {
        const char *name;
        void (*look)(core_doubts *d, const ap_directive_t *node);
    } looks[] = {{"SetHandler", names_handler},
                 {"AddHandler", names_handler},
                 {"CustomLog", names_log},
                 {"GlobalLog", names_log},
                 {"Protocols", names_protocols},
                 {"ProxyPass", names_balancer},
                 {"ProxyPassReverse", names_balancer},
                 {"CacheEnable", names_cache},
                 {"ServerName", names_host},
                 {"AddType", names_type}};

    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (names_is(node, looks[i].name))
            looks[i].look(d, node);
    names_quotes(d, node);
}
