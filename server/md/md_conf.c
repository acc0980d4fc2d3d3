/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of managed domains, and their merging; words and lengths of time. */
#include "md_conf.h"
#include "md_head.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* a longer time counts as this */
#define MD_DURATION_MOST (APR_INT64_C(36500) * 86400 * APR_USEC_PER_SEC)

md_globals md_all;
apr_array_header_t *md_domains;

void md_globals_reset(apr_pool_t *p)
{
    md_all = (md_globals){.port_http = 80,
                          .port_https = 443,
                          .server_status = 1,
                          .certificate_status = 1,
                          .retry_delay = 5 * APR_USEC_PER_SEC,
                          .check_interval = 12 * 3600 * APR_USEC_PER_SEC,
                          .retry_failover = 13,
                          .dns_version = 1};
    md_domains = apr_array_make(p, 4, sizeof(md_domain *));
}

md_settings *md_settings_new(apr_pool_t *p)
{
    md_settings *s = apr_pcalloc(p, sizeof *s);

    s->mode = s->must_staple = s->require_https = s->transitive = MD_UNSET;
    s->profile_mandatory = s->ari = s->stapling = s->staple_others = MD_UNSET;
    return s;
}

#define MERGE_TEXT(field) \
    if (add->field)       \
    s->field = add->field
#define MERGE_NUMBER(field)     \
    if (add->field != MD_UNSET) \
    s->field = add->field

md_settings *md_settings_merge(apr_pool_t *p, const md_settings *base, const md_settings *add)
{
    md_settings *s = apr_pmemdup(p, base, sizeof *s);

    BRG_ASSERT(base && add);
    MERGE_TEXT(authorities);
    MERGE_TEXT(challenges);
    MERGE_TEXT(keys);
    MERGE_TEXT(contact);
    MERGE_TEXT(agreement);
    MERGE_TEXT(profile);
    MERGE_TEXT(dns_command);
    MERGE_TEXT(renew);
    MERGE_TEXT(warn);
    MERGE_TEXT(staple_renew);
    MERGE_TEXT(staple_keep);
    MERGE_NUMBER(mode);
    MERGE_NUMBER(must_staple);
    MERGE_NUMBER(require_https);
    MERGE_NUMBER(transitive);
    MERGE_NUMBER(profile_mandatory);
    MERGE_NUMBER(ari);
    MERGE_NUMBER(stapling);
    MERGE_NUMBER(staple_others);
    if (add->binding_set) {
        s->binding_set = 1;
        s->binding_kid = add->binding_kid;
        s->binding_hmac = add->binding_hmac;
    }
    if (add->proxy_set) {
        s->proxy_set = 1;
        s->proxy = add->proxy;
    }
    if (add->ca_file_set) {
        s->ca_file_set = 1;
        s->ca_file = add->ca_file;
    }
    return s;
}

/* ---- defaults ---- */

static const char *const settings_challenges[] = {"http-01", "tls-alpn-01", "dns-01"};

static apr_array_header_t *settings_default_challenges(apr_pool_t *p)
{
    apr_array_header_t *all = apr_array_make(p, 3, sizeof(const char *));

    for (int i = 0; i < 3; i++)
        APR_ARRAY_PUSH(all, const char *) = settings_challenges[i];
    return all;
}

static apr_array_header_t *settings_one(apr_pool_t *p, const char *text)
{
    apr_array_header_t *one = apr_array_make(p, 1, sizeof(const char *));

    APR_ARRAY_PUSH(one, const char *) = text;
    return one;
}

#define DEFAULT_NUMBER(field, value) \
    if (s->field == MD_UNSET)        \
    s->field = value

void md_settings_finish(apr_pool_t *p, md_domain *domain)
{
    md_settings *s = md_settings_merge(p, md_conf_of(domain->server)->set, domain->own);
    const char *why;

    BRG_ASSERT(domain->server && domain->own && !domain->set);
    if (!s->authorities)
        s->authorities = settings_one(p, md_authority(p, "letsencrypt", &why));
    if (!s->challenges)
        s->challenges = settings_default_challenges(p);
    if (!s->keys) {
        s->keys = apr_array_make(p, 1, sizeof(md_key_spec));
        APR_ARRAY_PUSH(s->keys, md_key_spec) = (md_key_spec){.bits = 2048};
    }
    if (!s->renew)
        s->renew = apr_pmemdup(p, &(md_window){.percent = 33}, sizeof(md_window));
    if (!s->warn)
        s->warn = apr_pmemdup(p, &(md_window){.percent = 10}, sizeof(md_window));
    DEFAULT_NUMBER(mode, MD_AUTO);
    DEFAULT_NUMBER(must_staple, 0);
    DEFAULT_NUMBER(require_https, MD_HTTPS_OFF);
    DEFAULT_NUMBER(transitive, 1);
    DEFAULT_NUMBER(profile_mandatory, 0);
    DEFAULT_NUMBER(ari, 1);
    domain->set = s;
    domain->contact = s->contact ? s->contact : domain->server->server_admin;
    if (domain->contact && !strcmp(domain->contact, DEFAULT_ADMIN))
        domain->contact = NULL; /* nobody set it */
}

md_domain *md_domain_of_name(const char *name)
{
    for (int i = 0; md_domains && i < md_domains->nelts; i++) {
        md_domain *domain = APR_ARRAY_IDX(md_domains, i, md_domain *);

        for (int k = 0; k < domain->names->nelts; k++)
            if (md_name_matches(APR_ARRAY_IDX(domain->names, k, const char *), name))
                return domain;
    }
    return NULL;
}

/* ---- words ---- */

/* Microseconds of a unit; as with Apache its first letter tells it, or the first two of "ms" and "mi". 0: none is meant. */
static apr_interval_time_t duration_unit(const char *name)
{
    switch (apr_tolower(name[0])) {
    case 'd':
        return 86400 * APR_USEC_PER_SEC;
    case 'h':
        return 3600 * APR_USEC_PER_SEC;
    case 's':
        return APR_USEC_PER_SEC;
    case 'm':
        return apr_tolower(name[1]) == 's'   ? 1000
               : apr_tolower(name[1]) == 'i' ? 60 * APR_USEC_PER_SEC
                                             : 0;
    default:
        return 0;
    }
}

int md_duration(const char *text, char unit, apr_interval_time_t *length)
{
    char *end, own[] = {unit, '\0'};
    apr_int64_t n, most;
    apr_interval_time_t of;

    BRG_ASSERT(unit == 'd' || unit == 's');
    errno = 0;
    n = apr_strtoi64(text, &end, 10);
    of = duration_unit(*end ? end : own);
    if (end == text || errno || !of)
        return -1;
    most = MD_DURATION_MOST / of;
    *length = (n > most ? most : n < -most ? -most : n) * of;
    return 0;
}

const char *md_window_read(const char *text, md_window *window)
{
    char *end;
    const long percent = strtol(text, &end, 10);

    *window = (md_window){0};
    if (*end == '%') {
        if (percent < 0)
            return "percent must be less than 100";
        if (percent >= 100)
            return "a length of 100% or more is not allowed.";
        window->percent = (int)percent;
        return NULL;
    }
    return md_duration(text, 'd', &window->length) ? "has unrecognized format" : NULL;
}

const char *md_authority(apr_pool_t *p, const char *text, const char **why)
{
    static const struct {
        const char *name, *url;
    } known[] = {{"LetsEncrypt", "https://acme-v02.api.letsencrypt.org/directory"},
                 {"LetsEncrypt-Test", "https://acme-staging-v02.api.letsencrypt.org/directory"},
                 {"Buypass", "https://api.buypass.com/acme/directory"},
                 {"Buypass-Test", "https://api.test4.buypass.no/acme/directory"}};
    const char *names = "";
    md_url url;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcasecmp(text, known[i].name))
            return known[i].url;
        names = apr_pstrcat(p, names, i ? " " : "", known[i].name, NULL);
    }
    if (!md_url_read(p, text, &url))
        return text;
    *why = apr_pstrcat(p, "The CA name '", text, "' is not known and it is not a URL either (",
                       strchr(text, ':') ? "none of http or https" : "missing uri scheme",
                       "). Known CA names are: ", names, ".", NULL);
    return NULL;
}
