/* SPDX-License-Identifier: Apache-2.0 */
/* One order. md_order_next() names each step. */
#include "md_job.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/assert.h"
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(md);

#define ORDER_SECONDS 600

typedef struct job_order {
    md_job *job;
    md_order order;
    const md_key_spec *spec;
    const apr_array_header_t *ways;
    EVP_PKEY *key;
    apr_interval_time_t asked; /* Retry-After */
} job_order;

static void order_wait(job_order *o)
{
    apr_sleep(md_order_wait(&o->order, o->asked));
    o->asked = 0;
}

static md_authz *order_authz(job_order *o, int which)
{
    BRG_ASSERT(which >= 0 && which < o->order.authzs->nelts);
    return &APR_ARRAY_IDX(o->order.authzs, which, md_authz);
}

/* Some authorizations are valid from an earlier order. */
static int order_answer(job_order *o, md_authz *authz)
{
    md_job *job = o->job;

    BRG_ASSERT(authz->status == MD_PENDING && !authz->answered);
    if (!authz->challenge_url) {
        if (md_acme_look(&job->acme, authz, o->ways, &o->asked))
            return -1;
        o->asked = 0;
        if (authz->status != MD_PENDING)
            return 0;
    }
    return md_job_prove(job, authz) || md_acme_answer(&job->acme, authz) ? -1 : 0;
}

static int order_look(job_order *o, md_authz *authz)
{
    const md_status before = authz->status;
    int rc;

    BRG_ASSERT(authz->answered);
    order_wait(o);
    rc = md_acme_look(&o->job->acme, authz, o->ways, &o->asked);
    o->order.looks = !rc && authz->status != before ? 0 : o->order.looks + 1;
    if (!rc && authz->status != MD_PENDING)
        md_job_proven(o->job, authz);
    return rc;
}

static int order_poll(job_order *o)
{
    order_wait(o);
    return md_acme_poll(&o->job->acme, &o->order, &o->asked);
}

static int order_finalize(job_order *o)
{
    md_job *job = o->job;
    const char *csr;

    BRG_ASSERT(!o->key && o->order.status == MD_READY);
    if (!(o->key = md_key_make(o->spec)))
        return md_acme_fail(&job->acme, "no key of MDPrivateKeys can be made");
    csr = md_csr(job->p, o->key, job->domain->names, job->domain->set->must_staple == 1);
    if (!csr)
        return md_acme_fail(&job->acme, "no request for a certificate can be made");
    return md_acme_finalize(&job->acme, &o->order, csr);
}

/* @return NULL, or why it is not taken */
static const char *order_objection(job_order *o, const char *pem)
{
    apr_pool_t *p = o->job->p;
    const md_cert *cert = md_cert_read(p, pem);
    const char *lacks = cert ? md_cert_lacks(cert, o->job->domain->names) : NULL;

    if (!cert)
        return "what the authority sends is no certificate";
    if (!md_cert_is_for_key(pem, o->key))
        return "Certificate and private key do not match.";
    if (lacks)
        return apr_pstrcat(p, "the certificate that the authority sends is not for ", lacks, NULL);
    return cert->until <= apr_time_now() ? "the certificate that the authority sends is expired"
                                         : NULL;
}

static int order_keep(job_order *o, const char *pem)
{
    md_job *job = o->job;
    const char *suffix = md_key_suffix(job->p, o->spec);
    const char *objection = order_objection(o, pem), *key;

    BRG_ASSERT(o->key != NULL);
    if (objection)
        return md_acme_fail(&job->acme, objection);
    key = md_key_pem(job->p, o->key, NULL, 0);
    if (!key ||
        md_file_write(job->p, apr_pstrcat(job->p, job->attempt, "/privkey", suffix, ".pem", NULL),
                      key) ||
        md_file_write(job->p, apr_pstrcat(job->p, job->attempt, "/pubcert", suffix, ".pem", NULL),
                      pem))
        return md_job_errno(job, "the certificate cannot be kept");
    return 0;
}

static int order_download(job_order *o)
{
    const char *pem = md_acme_download(&o->job->acme, &o->order);

    return pem ? order_keep(o, pem) : -1;
}

static int order_failed(job_order *o, int which)
{
    md_job *job = o->job;
    const md_authz *authz = which >= 0 ? order_authz(o, which) : NULL;

    if (authz)
        return md_acme_fail(
            &job->acme,
            apr_psprintf(job->p,
                         "domain authorization for %s failed, CA considers answer to challenge "
                         "invalid%s%s.",
                         authz->name ? authz->name : "?", authz->problem ? ": " : "",
                         authz->problem ? authz->problem : ""));
    if (o->order.status == MD_INVALID)
        return md_acme_fail(&job->acme,
                            apr_pstrcat(job->p, "ACME server order status is 'invalid'.",
                                        o->order.problem ? " " : "",
                                        o->order.problem ? o->order.problem : "", NULL));
    if (o->order.status == MD_VALID)
        return md_acme_fail(&job->acme,
                            o->order.finalized
                                ? "Order valid, but certificate url is missing."
                                : "the authority's order is valid before a key was sent to it");
    return md_acme_fail(&job->acme, "the authority takes too long");
}

/* @return 1: it is done; 0: go on; -1: failed */
static int order_step(job_order *o)
{
    int which;

    switch (md_order_next(&o->order, brg_monotonic_now(), &which)) {
    case MD_STEP_ANSWER:
        return order_answer(o, order_authz(o, which));
    case MD_STEP_LOOK:
        return order_look(o, order_authz(o, which));
    case MD_STEP_POLL:
        return order_poll(o);
    case MD_STEP_FINALIZE:
        return order_finalize(o);
    case MD_STEP_DOWNLOAD:
        return order_download(o) ? -1 : 1;
    default:
        return order_failed(o, which);
    }
}

static int order_begin(job_order *o, const char *profile, const char *replaces)
{
    md_job *job = o->job;
    int rc = md_acme_order(&job->acme, job->domain->names, profile, replaces, &o->order);

    /* RFC 9773, 5: it was replaced by another order, or the authority does not know it. */
    if (rc && replaces && job->acme.status / 100 == 4 && job->acme.status != 429) {
        md_acme_forget(&job->acme);
        rc = md_acme_order(&job->acme, job->domain->names, profile, NULL, &o->order);
    }
    return rc;
}

int md_job_run(md_job *job, const md_key_spec *spec, const char *profile, const char *replaces)
{
    job_order o = {.job = job, .spec = spec, .ways = md_job_ways(job)};
    int rc;

    BRG_ASSERT(job->attempt && job->acme.account);
    if (!o.ways)
        return -1;
    o.order.deadline = brg_monotonic_now() + apr_time_from_sec(ORDER_SECONDS);
    rc = order_begin(&o, profile, replaces);
    while (!rc)
        rc = order_step(&o);
    for (int i = 0; o.order.authzs && i < o.order.authzs->nelts; i++)
        md_job_proven(job, order_authz(&o, i));
    BRG_ASSERT(rc < 0 || o.key); /* an installed certificate has its key */
    EVP_PKEY_free(o.key);
    return rc > 0 ? 0 : -1;
}
