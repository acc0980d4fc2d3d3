/* SPDX-License-Identifier: Apache-2.0 */
/* Names on demand, as the daemon has them: managed domains of one name that come when somebody asks
 * for them, and go when an order fails, or others need their place. A name that left comes again by
 * the store. A name that nobody asks for is not renewed after the next start. */
#include "md_daemon_private.h"
#include "md_job.h"
#include "md_store.h"
#include "http_log.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/wait.h>

APLOG_USE_MODULE(md);

#define DEMAND_LOOK 64       /* names in one look */
#define DEMAND_ASKING 64     /* names that a URL is asked for, or waits to be, at a time */
#define DEMAND_NO_SECONDS 60 /* a name that is not the host's is not looked at again for so long */
#define DEMAND_LATER_SECONDS 5 /* ... or one for which there is no room now */
#define DEMAND_IDLE (7200 * APR_USEC_PER_SEC)

/* ---- one name ---- */

static void demand_drop(md_daemon *d, daemon_domain *dd)
{
    apr_array_header_t *all = d->domains;

    BRG_ASSERT(dd->demand && !dd->job);
    for (int i = d->n; i < all->nelts; i++)
        if (APR_ARRAY_IDX(all, i, daemon_domain *) == dd) {
            APR_ARRAY_IDX(all, i, daemon_domain *) =
                APR_ARRAY_IDX(all, all->nelts - 1, daemon_domain *);
            all->nelts--;
            break;
        }
    if (dd->place >= 0)
        md_demand_free(dd->place);
    apr_hash_set(d->demand, dd->domain->name, APR_HASH_KEY_STRING, NULL);
    apr_pool_destroy(dd->own);
}

static void demand_refuse(md_daemon *d, daemon_domain *dd, int seconds)
{
    md_demand_refuse(dd->domain->name, seconds > 0 ? seconds : 1);
    demand_drop(d, dd);
}

static daemon_domain *demand_new(md_daemon *d, const md_demand *demand, const char *name)
{
    apr_pool_t *p;
    daemon_domain *dd;
    md_domain *domain;

    apr_pool_create(&p, d->pool);
    dd = apr_pcalloc(p, sizeof *dd);
    domain = apr_pmemdup(p, demand->like, sizeof *domain);
    domain->name = apr_pstrdup(p, name);
    domain->names = apr_array_make(p, 1, sizeof(const char *));
    APR_ARRAY_PUSH(domain->names, const char *) = domain->name;
    *dd = (daemon_domain){
        .domain = domain, .demand = demand, .own = p, .place = -1, .used = brg_monotonic_now()};
    apr_pool_create(&dd->pool, p);
    apr_hash_set(d->demand, domain->name, APR_HASH_KEY_STRING, dd);
    APR_ARRAY_PUSH(d->domains, daemon_domain *) = dd;
    return dd;
}

/* ---- its certificate ---- */

typedef struct demand_record {
    unsigned char data[MD_DEMAND_RECORD];
    size_t len;
} demand_record;

/* @param len  of @a der, which OpenSSL made */
static int record_add(demand_record *record, unsigned char *der, int len)
{
    const uint32_t n = (uint32_t)len;
    const int fits = len > 0 && record->len + sizeof n + n <= sizeof record->data;

    if (fits) {
        memcpy(record->data + record->len, &n, sizeof n);
        memcpy(record->data + record->len + sizeof n, der, n);
        record->len += sizeof n + n;
    }
    OPENSSL_clear_free(der, len > 0 ? (size_t)len : 0);
    return fits ? 0 : -1;
}

static int record_chain(demand_record *record, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    int failed = !bio, n = 0;
    X509 *x;

    while (!failed && (x = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        unsigned char *der = NULL;
        const int len = i2d_X509(x, &der);

        failed = record_add(record, der, len);
        X509_free(x);
        n++;
    }
    BIO_free(bio);
    ERR_clear_error();
    return failed || !n ? -1 : 0;
}

static int record_fill(demand_record *record, apr_pool_t *p, const md_store *store,
                       const md_domain *domain)
{
    const md_key_spec *spec = &APR_ARRAY_IDX(domain->set->keys, 0, md_key_spec);
    const char *pem = md_file_read(p, md_store_file(p, store, domain->name, "privkey", spec));
    const char *chain = md_file_read(p, md_store_file(p, store, domain->name, "pubcert", spec));
    EVP_PKEY *key = pem && chain ? md_key_of_pem(pem, NULL, 0) : NULL;
    unsigned char *der = NULL;
    int failed = 1;

    record->len = 0;
    if (key) {
        const int len = i2d_PrivateKey(key, &der);

        failed = record_add(record, der, len) || record_chain(record, chain);
    }
    EVP_PKEY_free(key);
    return failed;
}

/* @return 0; -1: it cannot be shown */
static int demand_show(md_daemon *d, daemon_domain *dd)
{
    demand_record record;
    const int failed = record_fill(&record, dd->pool, d->store, dd->domain);

    BRG_ASSERT(dd->place >= 0 && dd->state.complete);
    if (failed)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, dd->domain->server,
                     "%s: its certificate cannot be read, or is longer than %d bytes with its "
                     "chain",
                     dd->domain->name, MD_DEMAND_RECORD);
    else
        md_demand_ready(dd->place, record.data, record.len, dd->state.until);
    OPENSSL_cleanse(&record, sizeof record);
    return failed ? -1 : 0;
}

/* ---- its place ---- */

/* The name whose last request was longest ago. */
static daemon_domain *demand_idle(const md_daemon *d)
{
    daemon_domain *found = NULL;

    for (int i = d->n; i < d->domains->nelts; i++) {
        daemon_domain *dd = APR_ARRAY_IDX(d->domains, i, daemon_domain *);

        if (!dd->job && dd->place >= 0 && (!found || dd->used < found->used))
            found = dd;
    }
    return found && found->used + DEMAND_IDLE < brg_monotonic_now() ? found : NULL;
}

/* Names of which it is not known yet whether they are the host's. */
static int demand_asking(const md_daemon *d)
{
    int n = 0;

    for (int i = d->n; i < d->domains->nelts; i++)
        n += APR_ARRAY_IDX(d->domains, i, daemon_domain *)->place < 0;
    return n;
}

static int demand_make_room(md_daemon *d)
{
    daemon_domain *idle;

    if (d->domains->nelts - d->n - demand_asking(d) < md_demand_limit.names)
        return 0;
    if (!(idle = demand_idle(d)))
        return -1;
    demand_drop(d, idle);
    return 0;
}

/* The generic cell rate algorithm, as RequestLimit has it. */
static int demand_may_order(md_daemon *d)
{
    const apr_time_t now = brg_monotonic_now();
    const apr_interval_time_t all = apr_time_from_sec(md_demand_limit.rate_seconds);
    const apr_time_t next =
        (d->orders_paid > now ? d->orders_paid : now) + all / md_demand_limit.rate;

    if (next - now > all)
        return 0;
    d->orders_paid = next;
    return 1;
}

static void demand_no_room(md_daemon *d, daemon_domain *dd, const char *why)
{
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, dd->domain->server,
                 "%s: no certificate on demand now: %s of MDOnDemandLimits is reached",
                 dd->domain->name, why);
    demand_refuse(d, dd, DEMAND_NO_SECONDS);
}

/* The name is the host's: show its certificate, or let the next look at due jobs order it. */
static void demand_admit(md_daemon *d, daemon_domain *dd)
{
    const apr_time_t now = apr_time_now();

    BRG_ASSERT(dd->place < 0 && !dd->job);
    domain_read(d, dd);
    if (!dd->state.complete && dd->state.next_try > now) {
        demand_refuse(d, dd, (int)apr_time_sec(dd->state.next_try - now));
    } else if (demand_make_room(d) || (dd->place = md_demand_place(dd->domain->name)) < 0) {
        demand_no_room(d, dd, "names=");
    } else if (dd->state.complete) {
        if (demand_show(d, dd))
            demand_refuse(d, dd, DEMAND_NO_SECONDS);
    } else if (!demand_may_order(d)) {
        demand_no_room(d, dd, "rate=");
    } else {
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, dd->domain->server,
                     "%s: a client asked for the name: a certificate is ordered", dd->domain->name);
    }
}

/* ---- requests for names ---- */

static void demand_first(md_daemon *d, const md_demand *demand, const char *name)
{
    apr_pool_t *p;
    int allowed = 0;

    if (demand->kind == MD_ASK_URL) { /* a job asks it */
        if (demand_asking(d) < DEMAND_ASKING)
            demand_new(d, demand, name);
        else
            md_demand_refuse(name, DEMAND_LATER_SECONDS);
        return;
    }
    apr_pool_create(&p, d->pool);
    allowed = md_demand_allows(demand, name, p);
    apr_pool_destroy(p);
    if (allowed)
        demand_admit(d, demand_new(d, demand, name));
    else
        md_demand_refuse(name, DEMAND_NO_SECONDS);
}

static void demand_again(daemon_domain *dd)
{
    dd->used = brg_monotonic_now();
    if (dd->place >= 0)
        md_demand_touch(dd->place);
}

void md_demand_daemon_look(md_daemon *d)
{
    md_demand_asked asked;

    for (int i = 0; i < DEMAND_LOOK && !md_demand_take(&asked); i++) {
        daemon_domain *dd;

        if (!md_demand_name_is_sane(asked.name) || md_demand_is_refused(asked.name))
            continue;
        dd = apr_hash_get(d->demand, asked.name, APR_HASH_KEY_STRING);
        if (dd)
            demand_again(dd);
        else if (md_domain_of_name(asked.name))
            md_demand_refuse(asked.name, DEMAND_NO_SECONDS);
        else
            demand_first(d, APR_ARRAY_IDX(md_demands, asked.number, const md_demand *), asked.name);
    }
}

/* ---- jobs ---- */

static void demand_got(md_daemon *d, daemon_domain *dd)
{
    const apr_time_t now = apr_time_now();

    domain_read(d, dd);
    if (dd->state.complete && !demand_show(d, dd))
        return;
    demand_refuse(d, dd,
                  dd->state.next_try > now ? (int)apr_time_sec(dd->state.next_try - now)
                                           : DEMAND_NO_SECONDS);
}

void md_demand_daemon_over(md_daemon *d, daemon_domain *dd, int status)
{
    BRG_ASSERT(dd->demand && !dd->job);
    if (dd->place >= 0)
        demand_got(d, dd);
    else if (WIFEXITED(status) && !WEXITSTATUS(status))
        demand_admit(d, dd);
    else
        demand_refuse(d, dd, DEMAND_NO_SECONDS);
}

void md_demand_daemon_begin(md_daemon *d)
{
    BRG_ASSERT(!d->demand);
    d->demand = apr_hash_make(d->pool);
    if (md_demands->nelts)
        md_demand_clear();
}
