/* SPDX-License-Identifier: Apache-2.0 */
/* Which server has which managed domain. */
#include "md_demand.h"
#include "tls_conf.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(md);

#define NAME_MOST 255

/* ---- names ---- */

/* A host name, or one with a star for its first label, or an address: it becomes the name of a folder, and part of a request. */
static int name_is_sane(const char *name)
{
    const char *rest = !strncmp(name, "*.", 2) ? name + 2 : name;
    const size_t len = strlen(rest);

    return len > 0 && len < NAME_MOST - 2 && *rest != '.' && rest[len - 1] != '.' &&
           !strstr(rest, "..") &&
           (strspn(rest, "abcdefghijklmnopqrstuvwxyz0123456789-._") == len ||
            (rest == name && md_name_is_address(name)));
}

static int names_check(const md_domain *domain)
{
    for (int i = 0; i < domain->names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(domain->names, i, const char *);

        if (name_is_sane(name))
            continue;
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, domain->server,
                     "%s(line %d): \"%s\" is no host name, so it can be in no managed domain",
                     domain->file, domain->line, name);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static const char *names_common(const md_domain *a, const md_domain *b)
{
    for (int i = 0; i < a->names->nelts; i++)
        for (int k = 0; k < b->names->nelts; k++)
            if (!strcmp(APR_ARRAY_IDX(a->names, i, const char *),
                        APR_ARRAY_IDX(b->names, k, const char *)))
                return APR_ARRAY_IDX(a->names, i, const char *);
    return NULL;
}

static int names_overlap(void)
{
    for (int i = 0; i < md_domains->nelts; i++)
        for (int k = i + 1; k < md_domains->nelts; k++) {
            const md_domain *a = APR_ARRAY_IDX(md_domains, i, md_domain *),
                            *b = APR_ARRAY_IDX(md_domains, k, md_domain *);
            const char *name = names_common(a, b);

            if (!name)
                continue;
            ap_log_error(APLOG_MARK, APLOG_ERR, 0, b->server,
                         APLOGNO(10038) "two Managed Domains have an overlap in domain '%s', first "
                                        "definition in %s(line %d), second in %s(line %d)",
                         name, a->file, a->line, b->file, b->line);
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    return OK;
}

static int domain_has(const md_domain *domain, const char *name)
{
    for (int i = 0; name && i < domain->names->nelts; i++)
        if (md_name_matches(APR_ARRAY_IDX(domain->names, i, const char *), name))
            return 1;
    return 0;
}

/* ---- servers ---- */

static int server_matches(const server_rec *s, const md_domain *domain, apr_pool_t *p)
{
    if (domain_has(domain, md_name_canonical(p, s->server_hostname)))
        return 1;
    for (int i = 0; !md_all.server_names && s->names && i < s->names->nelts; i++)
        if (domain_has(domain, md_name_canonical(p, APR_ARRAY_IDX(s->names, i, const char *))))
            return 1;
    return 0;
}

static void domain_cover(md_domain *domain, const server_rec *s, const char *word, apr_pool_t *p)
{
    const char *name = md_name_canonical(p, word);

    if (domain_has(domain, name) || md_demand_has_pattern(s, name))
        return;
    if (domain->set->transitive) {
        APR_ARRAY_PUSH(domain->names, const char *) = name;
        return;
    }
    ap_log_error(
        APLOG_MARK, APLOG_WARNING, 0, s,
        APLOGNO(10040) "Virtual Host %s:%d matches Managed Domain '%s', but the name/alias "
                       "%s itself is not managed. A requested MD certificate will not match "
                       "ServerName.",
        s->server_hostname, s->port, domain->name, name);
}

/* Apache's mod_ssl has settings of its own. */
static int server_has_tls(const server_rec *s)
{
    return ssl_module.module_index >= 0 && tls_conf_of(s)->enabled == 1;
}

static void domain_take(md_domain *domain, server_rec *s, apr_pool_t *p)
{
    BRG_ASSERT(domain->set && s->server_hostname);
    md_conf_of(s)->domain = domain;
    domain->servers_n++;
    if (server_has_tls(s) && ap_is_allowed_protocol(NULL, NULL, s, "acme-tls/1"))
        domain->tls_ports = 1;
    domain_cover(domain, s, s->server_hostname, p);
    for (int i = 0; s->names && i < s->names->nelts; i++)
        domain_cover(domain, s, APR_ARRAY_IDX(s->names, i, const char *), p);
}

static int server_assign(server_rec *s, apr_pool_t *p)
{
    md_domain *found = NULL;
    int n = 0;

    for (int i = 0; s->server_hostname && i < md_domains->nelts; i++) {
        md_domain *domain = APR_ARRAY_IDX(md_domains, i, md_domain *);

        if (!server_matches(s, domain, p))
            continue;
        found = found ? found : domain;
        n++;
    }
    if (n > 1 && server_has_tls(s)) {
        ap_log_error(
            APLOG_MARK, APLOG_ERR, 0, s,
            APLOGNO(10042) "conflict: %d MDs match to SSL VirtualHost %s, there can at most "
                           "be one.",
            n, s->server_hostname);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (found)
        domain_take(found, s, p);
    return OK;
}

static int domain_has_tls(const md_domain *domain, const server_rec *s)
{
    for (; s; s = s->next)
        if (md_conf_of(s)->domain == domain && server_has_tls(s))
            return 1;
    return 0;
}

static int domain_check(const md_domain *domain, const server_rec *main_server)
{
    const int certs = domain->static_certs ? domain->static_certs->nelts : 0,
              keys = domain->static_keys ? domain->static_keys->nelts : 0;

    BRG_ASSERT(domain->servers_n >= 0);
    if (!certs && keys) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, domain->server,
                     APLOGNO(10171) "The Managed Domain '%s' has MDCertificateKeyFile(s) but no "
                                    "MDCertificateFile.",
                     domain->name);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (certs != keys) {
        ap_log_error(
            APLOG_MARK, APLOG_ERR, 0, domain->server,
            APLOGNO(10170) "The Managed Domain '%s' needs one MDCertificateKeyFile for each "
                           "MDCertificateFile.",
            domain->name);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (!domain->servers_n)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, domain->server,
                     APLOGNO(10045) "No VirtualHost matches Managed Domain %s", domain->name);
    else if (domain->set->require_https > MD_HTTPS_OFF && !domain_has_tls(domain, main_server)) {
        ap_log_error(
            APLOG_MARK, APLOG_ERR, 0, domain->server,
            APLOGNO(10105) "MD %s does not match any VirtualHost with 'SSLEngine on', but is "
                           "configured to require https. This cannot work.",
            domain->name);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static int domains_check(const server_rec *main_server)
{
    int status = OK;

    for (int i = 0; i < md_domains->nelts && status == OK; i++)
        status = domain_check(APR_ARRAY_IDX(md_domains, i, md_domain *), main_server);
    return status;
}

int md_servers_assign(apr_pool_t *p, server_rec *main_server)
{
    int status = OK;

    for (int i = 0; i < md_domains->nelts && status == OK; i++) {
        md_domain *domain = APR_ARRAY_IDX(md_domains, i, md_domain *);

        md_settings_finish(p, domain);
        status = names_check(domain);
    }
    if (status == OK)
        status = names_overlap();
    for (server_rec *s = main_server; s && status == OK; s = s->next)
        if (s->is_virtual || md_all.base_server)
            status = server_assign(s, p);
    if (status == OK)
        status = names_overlap(); /* with the added names */
    return status == OK ? domains_check(main_server) : status;
}
