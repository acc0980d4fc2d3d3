/* SPDX-License-Identifier: Apache-2.0 */
/* Getting certificates, and asking when to renew them. */
#include "md_job.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(md);

#define JOB_ACCOUNT_BITS 3072
#define JOB_LOCK_US (120 * APR_USEC_PER_SEC)
#define JOB_ARI_AGAIN (6 * 3600 * APR_USEC_PER_SEC)
#define JOB_ARI_SOONEST (60 * APR_USEC_PER_SEC)

int md_job_errno(md_job *job, const char *what)
{
    return md_acme_fail(&job->acme, apr_pstrcat(job->p, what, ": ", strerror(errno), NULL));
}

/* The next one is asked after so many errors. */
static const char *job_authority(const md_job *job)
{
    const apr_array_header_t *all = job->domain->set->authorities;
    const int turn = job->record.errors / md_all.retry_failover;

    BRG_ASSERT(md_all.retry_failover > 0 && all->nelts > 0);
    return APR_ARRAY_IDX(all, turn % all->nelts, const char *);
}

static int job_open(md_job *job)
{
    const md_settings *set = job->domain->set;

    job->authority = job_authority(job);
    job->acme = (md_acme){
        .p = job->p,
        .directory = job->authority,
        .http = {.proxy = set->proxy, .ca_file = set->ca_file, .agent = ap_get_server_banner()},
        .problem_type = ""};
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, job->s, "Contacting ACME server for %s at %s",
                 job->domain->name, job->authority);
    return md_acme_open(&job->acme);
}

/* ---- accounts ---- */

static int account_new(md_job *job, const char *contact)
{
    const md_settings *set = job->domain->set;
    apr_array_header_t *contacts = apr_array_make(job->p, 1, sizeof(const char *));
    md_account account = {contacts, set->agreement, set->binding_kid, set->binding_hmac};
    md_stored_account stored = {0};

    BRG_ASSERT(!job->acme.key);
    if (contact)
        APR_ARRAY_PUSH(contacts, const char *) = contact;
    if (!(job->acme.key = md_key_make(&(md_key_spec){.bits = JOB_ACCOUNT_BITS})))
        return md_acme_fail(&job->acme, "no key for an account can be made");
    if (md_acme_account(&job->acme, &account))
        return -1;
    stored.url = job->acme.account;
    stored.key = job->acme.key;
    if (md_store_account_put(job->p, job->store, job->authority, contact, &stored))
        return md_job_errno(job, "the account cannot be kept");
    job->account = stored.id;
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, job->s, "%s: a new account at %s, kept as %s",
                 job->domain->name, job->authority, stored.id);
    return 0;
}

static const char *account_contact(md_job *job)
{
    const char *contact = job->domain->contact;

    return contact && !strchr(contact, ':') ? apr_pstrcat(job->p, "mailto:", contact, NULL)
                                            : contact;
}

/* Jobs share accounts: one of them makes it. */
static int job_account(md_job *job)
{
    const int lock = md_store_lock(job->p, job->store, "accounts.lock", JOB_LOCK_US);
    md_stored_account stored = {0};
    int rc = 0;

    BRG_ASSERT(job->authority && !job->acme.account);
    if (lock < 0)
        return md_job_errno(job, "the store's lock");
    if (!md_store_account(job->p, job->store, job->authority, &stored)) {
        job->acme.key = stored.key;
        job->acme.account = stored.url;
        job->account = stored.id;
    } else {
        rc = account_new(job, account_contact(job));
    }
    close(lock);
    return rc;
}

/* The authority forgot the account, or it was deactivated: the next attempt makes another. */
static void job_account_lost(md_job *job)
{
    if (job->account &&
        (!strcmp(job->acme.problem_type, "accountDoesNotExist") ||
         (job->acme.status == 401 && !strcmp(job->acme.problem_type, "unauthorized"))))
        md_store_account_lost(job->p, job->store, job->account);
}

/* ---- certificates ---- */

/* @return 0, -1: it is mandatory, and the authority has none such */
static int job_profile(md_job *job, const char **profile)
{
    const md_settings *set = job->domain->set;

    BRG_ASSERT(job->acme.index != NULL);
    *profile = set->profile;
    if (!set->profile || md_acme_has_profile(&job->acme, set->profile))
        return 0;
    *profile = NULL;
    if (set->profile_mandatory)
        return md_acme_fail(
            &job->acme, apr_psprintf(job->p, "%s: mandatory ACME profile '%s' is not offered by CA",
                                     job->domain->name, set->profile));
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, job->s,
                 "%s: ACME profile '%s' is not offered by CA, continuing without",
                 job->domain->name, set->profile);
    return 0;
}

/* The certificate of this kind of key that is to be replaced. */
static const char *job_replaces(md_job *job, const md_key_spec *spec)
{
    const char *pem =
        md_file_read(job->p, md_store_file(job->p, job->store, job->domain->name, "pubcert", spec));
    const md_cert *cert = pem && job->domain->set->ari ? md_cert_read(job->p, pem) : NULL;

    return cert ? cert->ari : NULL;
}

static int job_describe(md_job *job)
{
    const md_domain *domain = job->domain;
    const char *contact = account_contact(job);
    const char *text = apr_pstrcat(
        job->p, "{\n  \"name\": ", md_json_quote(job->p, domain->name),
        ",\n  \"domains\": ", md_json_list(job->p, domain->names), ",\n  \"contacts\": [",
        contact ? md_json_quote(job->p, contact) : "",
        "],\n  \"ca\": {\n    \"account\": ", md_json_quote(job->p, job->account),
        ",\n    \"proto\": \"ACME\",\n    \"url\": ", md_json_quote(job->p, job->authority),
        ",\n    \"urls\": ", md_json_list(job->p, domain->set->authorities),
        domain->set->agreement ? ",\n    \"agreement\": " : "",
        domain->set->agreement ? md_json_quote(job->p, domain->set->agreement) : "",
        "\n  },\n  \"state\": 2\n}\n", NULL);

    BRG_ASSERT(job->attempt && job->account);
    return md_file_write(job->p, apr_pstrcat(job->p, job->attempt, "/md.json", NULL), text)
               ? md_job_errno(job, "the store")
               : 0;
}

static int job_orders(md_job *job)
{
    const apr_array_header_t *keys = job->domain->set->keys;
    const char *profile;

    BRG_ASSERT(keys->nelts > 0 && job->attempt);
    if (job_profile(job, &profile))
        return -1;
    for (int i = 0; i < keys->nelts; i++) {
        const md_key_spec *spec = &APR_ARRAY_IDX(keys, i, md_key_spec);

        if (md_job_run(job, spec, profile, job_replaces(job, spec)))
            return -1;
    }
    return job_describe(job);
}

static int job_install(md_job *job)
{
    const apr_interval_time_t wait = md_all.lock_wait ? md_all.lock_wait : JOB_LOCK_US;
    const int lock = md_store_lock(job->p, job->store, "store.lock", wait);
    int rc;

    BRG_ASSERT(job->attempt != NULL);
    if (lock < 0)
        return md_job_errno(job, "the store's lock");
    rc = md_store_install(job->p, job->store, job->domain, job->attempt);
    if (!rc)
        md_store_unstage(job->p, job->store, job->domain->name);
    close(lock);
    return rc ? md_job_errno(job, "the certificate cannot be installed") : 0;
}

apr_time_t md_job_activation(apr_pool_t *p, const md_store *store, const md_domain *domain)
{
    apr_time_t from;
    int complete;
    const md_cert *used;

    if (!md_store_staged(p, store, domain, &from))
        return 0;
    used = md_store_certificate(p, store, domain, &complete);
    from += md_all.activation_delay;
    return used && complete && used->until < from ? used->until : from;
}

/* 1: it waits. Nothing else can be used meanwhile: it is used at once. */
static int job_stage(md_job *job)
{
    const char *name = job->domain->name;
    int complete;

    md_store_certificate(job->p, job->store, job->domain, &complete);
    if (md_all.activation_delay <= 0 || !complete ||
        md_store_stage(job->p, job->store, name, job->attempt))
        return 0;
    job->used_from = md_job_activation(job->p, job->store, job->domain);
    return job->used_from != 0;
}

int md_job_activate(md_job *job)
{
    apr_time_t from;

    job->acme.p = job->p;
    md_acme_forget(&job->acme);
    job->attempt = md_store_staged(job->p, job->store, job->domain, &from);
    return job->attempt ? job_install(job) : 0;
}

int md_job_get(md_job *job)
{
    int rc = -1;

    BRG_ASSERT(job->store && job->domain->set);
    job->acme.p = job->p; /* for errors before the authority is asked */
    md_acme_forget(&job->acme);
    if (md_command_tell(job->p, job->s, job->domain, "renewing"))
        return md_acme_fail(&job->acme, "the program of MDMessageCmd prevents it (renewing)");
    job->attempt = md_store_attempt(job->p, job->store, job->domain->name, (int)getpid());
    if (!job->attempt) {
        md_job_errno(job, "the store");
    } else if (!job_open(job) && !job_account(job)) {
        rc = job_orders(job) || (!job_stage(job) && job_install(job)) ? -1 : 0;
        if (rc)
            job_account_lost(job);
    }
    EVP_PKEY_free(job->acme.key);
    md_store_clean(job->p, job->store, job->domain->name);
    return rc;
}

/* ---- advice ---- */

int md_job_ask(md_job *job)
{
    md_record *r = &job->record;
    const apr_time_t now = apr_time_now();
    apr_time_t again = 0;
    int complete, rc;
    const md_cert *cert = md_store_certificate(job->p, job->store, job->domain, &complete);

    BRG_ASSERT(job->store && job->domain->set);
    r->ari_from = r->ari_until = 0;
    r->ari_for = cert ? cert->ari : NULL;
    if (!r->ari_for)
        return 0;
    rc = job_open(job) || md_acme_renewal_info(&job->acme, r->ari_for, &r->ari_from, &r->ari_until,
                                               &again, &r->ari_url);
    r->ari_again = again > now + JOB_ARI_SOONEST ? again : now + JOB_ARI_AGAIN;
    if (r->ari_from)
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, job->s,
                     "%s: the authority advises a renewal within a time%s%s", job->domain->name,
                     r->ari_url ? ", for explanation see " : "", r->ari_url ? r->ari_url : "");
    return rc ? -1 : 0;
}
