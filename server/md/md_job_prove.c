/* SPDX-License-Identifier: Apache-2.0 */
/* Challenges: http-01 and tls-alpn-01 are answered by server processes out of md_shared.h, dns-01 by a program, dns-persist-01 by a record that
 * is there. */
#include "md_dns.h"
#include "md_job.h"
#include "md_jose.h"
#include "md_shared.h"
#include "ap_listen.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <string.h>

APLOG_USE_MODULE(md);

/* ---- possible challenges ---- */

static int ways_listen(int port)
{
    for (const ap_listen_rec *l = port ? ap_listeners : NULL; l; l = l->next)
        if (l->bind_addr && l->bind_addr->port == port)
            return 1;
    return 0;
}

static const char *ways_lack(const md_domain *domain, const char *type)
{
    if (!strcmp(type, "http-01"))
        return ways_listen(md_all.port_http)
                   ? NULL
                   : " The http: challenge 'http-01' is disabled because the server seems not "
                     "reachable on public port 80.";
    if (!strcmp(type, "tls-alpn-01")) {
        if (!ways_listen(md_all.port_https))
            return " The https: challenge 'tls-alpn-01' is disabled because the server seems not "
                   "reachable on public port 443.";
        return domain->tls_ports ? NULL
                                 : " The https: challenge 'tls-alpn-01' is disabled because the "
                                   "Protocols configuration does not include the 'acme-tls/1' "
                                   "protocol.";
    }
    if (!strcmp(type, "dns-01"))
        return domain->set->dns_command || md_dns
                   ? NULL
                   : " The DNS challenge 'dns-01' is disabled because the "
                     "directive 'MDChallengeDns01' is not configured.";
    if (!strcmp(type, MD_DNS_PERSIST))
        return NULL;
    return " There are challenges 'http-01', 'tls-alpn-01', 'dns-01' and 'dns-persist-01'.";
}

apr_array_header_t *md_job_ways(md_job *job)
{
    const apr_array_header_t *wanted = job->domain->set->challenges;
    apr_array_header_t *ways = apr_array_make(job->p, 3, sizeof(const char *));
    const char *lacks = "";

    for (int i = 0; i < wanted->nelts; i++) {
        const char *type = APR_ARRAY_IDX(wanted, i, const char *);
        const char *lack = ways_lack(job->domain, type);

        if (lack)
            lacks = apr_pstrcat(job->p, lacks, lack, NULL);
        else
            APR_ARRAY_PUSH(ways, const char *) = type;
    }
    if (ways->nelts)
        return ways;
    md_acme_fail(&job->acme, apr_pstrcat(job->p,
                                         "None of the ACME challenge methods configured for this "
                                         "domain are suitable.",
                                         lacks, NULL));
    return NULL;
}

/* ---- one challenge ---- */

static int prove_publish(md_job *job, md_authz *authz, const md_challenge *challenge)
{
    BRG_ASSERT(authz->slot < 0 && *challenge->name);
    authz->slot = md_shared_prove(challenge);
    return authz->slot >= 0
               ? 0
               : md_acme_fail(&job->acme, "too many challenges are under way at a time");
}

static int prove_copy(md_job *job, char *to, size_t room, const char *text)
{
    BRG_ASSERT(room > 0);
    if (!text || strlen(text) >= room)
        return md_acme_fail(&job->acme, "the challenge is too long");
    strcpy(to, text);
    return 0;
}

static int prove_alpn(md_job *job, md_challenge *c, const char *name, const char *authorization)
{
    EVP_PKEY *key = md_key_make(&(md_key_spec){.curve = "secp256r1"});
    int rc = -1;

    if (key)
        rc = prove_copy(job, c->cert, sizeof c->cert,
                        md_cert_alpn(job->p, key, name, authorization)) ||
             prove_copy(job, c->key, sizeof c->key, md_key_pem(job->p, key, NULL, 0));
    EVP_PKEY_free(key);
    return rc;
}

/* Of the record. NULL: the account's key cannot be used */
static const char *dns_text(md_job *job, const md_authz *authz)
{
    const char *authorization = md_key_authorization(job->p, authz->token, job->acme.key);
    unsigned char digest[32];

    return authorization && EVP_Digest(authorization, strlen(authorization), digest, NULL,
                                       EVP_sha256(), NULL)
               ? md_base64url(job->p, digest, sizeof digest)
               : NULL;
}

/* MDChallengeDns01Version 2 tells the value of a record when it is taken back, too. */
static int prove_dns_command(md_job *job, const md_authz *authz, const char *word)
{
    const int setup = !strcmp(word, "setup");
    const char *text = dns_text(job, authz);
    const char *more[4] = {word, authz->name, NULL, NULL};

    BRG_ASSERT(job->domain->set->dns_command && authz->token);
    if (!text)
        return -1;
    if (setup || md_all.dns_version == 2)
        more[2] = text;
    return md_command_run(job->p, job->s, job->domain->set->dns_command, more);
}

/* The record stays, and the administrator sets it, once: it is logged each time. */
static int prove_persist(const md_job *job, const md_authz *authz)
{
    const apr_array_header_t *names = job->domain->names;
    const char *policy = "";

    BRG_ASSERT(authz->issuer && job->acme.account);
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);

        if (!strncmp(name, "*.", 2) && !strcmp(name + 2, authz->name))
            policy = "; policy=wildcard";
    }
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, job->s,
                 "%s: dns-persist-01 looks for the record  _validation-persist.%s. IN TXT "
                 "\"%s; accounturi=%s%s\"",
                 job->domain->name, authz->name, authz->issuer, job->acme.account, policy);
    return 0;
}

static int prove_begin(md_job *job, const md_authz *authz)
{
    if (md_command_tell(
            job->p, job->s, job->domain,
            apr_pstrcat(job->p, "challenge-setup:", authz->type, ":", authz->name, NULL)))
        return md_acme_fail(&job->acme,
                            "the program of MDMessageCmd prevents it (challenge-setup)");
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, job->s, "%s: set up challenge '%s' for %s",
                 job->domain->name, authz->type, authz->name);
    return 0;
}

/* A client of tls-alpn-01 names this in place of an address: RFC 8738, 6. */
static const char *prove_name(md_job *job, const md_authz *authz)
{
    unsigned char b[16];
    char *name = apr_palloc(job->p, 2 * 2 * sizeof b + sizeof "ip6.arpa");

    if (strcmp(authz->type, "tls-alpn-01") != 0)
        return authz->name;
    if (inet_pton(AF_INET6, authz->name, b) == 1) {
        for (int i = 0; i < 32; i++)
            apr_snprintf(name + 2 * i, 3, "%x.", b[15 - i / 2] >> i % 2 * 4 & 15);
        return strcpy(name + 64, "ip6.arpa") - 64;
    }
    if (inet_pton(AF_INET, authz->name, b) != 1)
        return authz->name;
    return apr_psprintf(job->p, "%u.%u.%u.%u.in-addr.arpa", b[3], b[2], b[1], b[0]);
}

int md_job_prove(md_job *job, md_authz *authz)
{
    const char *authorization;
    md_challenge c = {0};

    BRG_ASSERT((authz->token || authz->issuer) && authz->type && authz->name);
    if (prove_begin(job, authz))
        return -1;
    if (!strcmp(authz->type, MD_DNS_PERSIST))
        return prove_persist(job, authz);
    authorization = md_key_authorization(job->p, authz->token, job->acme.key);
    if (!authorization)
        return md_acme_fail(&job->acme, "the account's key cannot be used");
    if (!strcmp(authz->type, "dns-01") && job->domain->set->dns_command)
        return prove_dns_command(job, authz, "setup")
                   ? md_acme_fail(&job->acme, "the program of MDChallengeDns01 failed")
                   : 0;
    if (prove_copy(job, c.name, sizeof c.name, prove_name(job, authz)))
        return -1;
    if (!strcmp(authz->type, "dns-01"))
        return prove_copy(job, c.text, sizeof c.text, dns_text(job, authz))
                   ? -1
                   : prove_publish(job, authz, &c);
    if (!strcmp(authz->type, "http-01")
            ? prove_copy(job, c.token, sizeof c.token, authz->token) ||
                  prove_copy(job, c.proof, sizeof c.proof, authorization)
            : prove_alpn(job, &c, authz->name, authorization))
        return md_acme_fail(&job->acme, "the challenge cannot be set up");
    return prove_publish(job, authz, &c);
}

void md_job_proven(md_job *job, md_authz *authz)
{
    if (authz->slot >= 0)
        md_shared_proven(authz->slot);
    else if (authz->answered && authz->type && !strcmp(authz->type, "dns-01") &&
             job->domain->set->dns_command)
        prove_dns_command(job, authz, "teardown");
    authz->slot = -1;
}
