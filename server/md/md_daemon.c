/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: when jobs are due, how they begin and end. */
#include "md_daemon_private.h"
#include "md_job.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/process.h"
#include "brigade/assert.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

APLOG_USE_MODULE(md);

#define DAEMON_JOB_US (900 * APR_USEC_PER_SEC) /* a job that takes longer is ended */
#define DAEMON_LOOK_MS 100                     /* while jobs run */
#define DAEMON_HOUR (3600 * APR_USEC_PER_SEC)  /* the date may be set meanwhile */
#define DAEMON_WARN (24 * DAEMON_HOUR)
#define DAEMON_UNUSED (30 * 24 * DAEMON_HOUR) /* a name on demand is renewed no more */

/* ---- knowledge ---- */

static void public_text(char *to, size_t room, const char *text)
{
    apr_cpystrn(to, text ? text : "", room);
}

/* Names on demand are in a table of their own. */
static void domain_tell(const daemon_domain *dd)
{
    if (!dd->demand)
        md_shared_tell(dd->domain->index, &dd->public);
}

static void domain_publish(daemon_domain *dd, const md_cert *cert, const md_record *record)
{
    md_public *p = &dd->public;

    BRG_ASSERT(dd->domain->set->authorities->nelts > 0);
    *p = (md_public){.known = 1,
                     .complete = dd->state.complete,
                     .working = dd->job && dd->kind == JOB_GET,
                     .errors = record->errors,
                     .from = cert ? cert->from : 0,
                     .until = cert ? cert->until : 0,
                     .renew_at = md_renew_at(&dd->state, apr_time_now()),
                     .last_run = record->last_run,
                     .next_run = record->next_try,
                     .ari_from = record->ari_from,
                     .ari_until = record->ari_until};
    public_text(p->serial, sizeof p->serial, cert ? cert->serial : NULL);
    public_text(p->fingerprint, sizeof p->fingerprint, cert ? cert->fingerprint : NULL);
    public_text(p->problem, sizeof p->problem, record->problem);
    public_text(p->authority, sizeof p->authority,
                APR_ARRAY_IDX(dd->domain->set->authorities, 0, const char *));
    domain_tell(dd);
}

/* Where in the advised time: the same for a certificate as long as it is there. */
static double domain_chance(const md_cert *cert)
{
    unsigned value = 0;

    BRG_ASSERT(cert->fingerprint != NULL);
    if (sscanf(cert->fingerprint, "%4x", &value) != 1)
        return 0.5;
    return value / 65536.0;
}

void domain_read(md_daemon *d, daemon_domain *dd)
{
    const md_domain *domain = dd->domain;
    md_record record;
    md_cert *cert;
    int complete;

    BRG_ASSERT(!dd->job && dd->pool);
    apr_pool_clear(dd->pool);
    cert = md_store_certificate(dd->pool, d->store, domain, &complete);
    md_record_read(dd->pool, d->store, domain, &record);
    dd->state = (md_state){.mode = domain->static_certs ? MD_MANUAL : (md_mode)domain->set->mode,
                           .used = domain->servers_n > 0,
                           .complete = complete,
                           .window = *domain->set->renew,
                           .errors = record.errors,
                           .last_run = record.last_run,
                           .next_try = record.next_try};
    dd->ari_again = 0;
    dd->use = md_job_activation(dd->pool, d->store, domain);
    if (cert) {
        dd->state.from = cert->from;
        dd->state.until = cert->until;
        dd->state.chance = domain_chance(cert);
    }
    if (cert && cert->ari && complete && domain->set->ari && dd->state.mode != MD_MANUAL) {
        const int known = record.ari_for && !strcmp(record.ari_for, cert->ari);

        dd->ari_again = known && record.ari_again ? record.ari_again : apr_time_now();
        dd->state.ari_from = known ? record.ari_from : 0;
        dd->state.ari_until = known ? record.ari_until : 0;
    }
    domain_publish(dd, cert, &record);
}

static void domain_warn(md_daemon *d, daemon_domain *dd, apr_time_t now)
{
    const md_state *s = &dd->state;
    const apr_time_t left = s->until - apr_time_now();

    if (!s->until || now < dd->warn ||
        left > md_window_of(dd->domain->set->warn, s->from, s->until))
        return;
    dd->warn = now + DAEMON_WARN;
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, d->s,
                 "%s: the certificate expires in %d days, and was not renewed so far",
                 dd->domain->name, (int)(left / (86400 * APR_USEC_PER_SEC)));
    md_command_tell(dd->pool, d->s, dd->domain, "expiring");
}

/* ---- a job ---- */

static void job_tell(md_job *job, int rc)
{
    const md_record *r = &job->record;

    BRG_ASSERT(job->domain != NULL);
    if (!rc)
        return;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, job->s, APLOGNO(10056) "processing %s: %s",
                 job->domain->name, r->problem);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, job->s,
                 APLOGNO(10057) "%s: encountered error for the %d. time, next run in %d seconds",
                 job->domain->name, r->errors, (int)apr_time_sec(r->next_try - apr_time_now()));
}

static void job_tell_use(md_job *job)
{
    char date[APR_RFC822_DATE_LEN];

    apr_rfc822_date(date, job->used_from);
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, job->s,
                 "The Managed Domain %s has a new certificate; it is used from %s on",
                 job->domain->name, job->used_from ? date : "now");
    if (!job->used_from)
        md_command_tell(job->p, job->s, job->domain, "installed");
}

static int job_get(md_job *job)
{
    const int rc = md_job_get(job);

    if (rc) {
        md_record_error(job->p, job->domain, &job->record, job->acme.problem, job->acme.retry_at);
        job_tell(job, rc);
        md_command_tell(job->p, job->s, job->domain, "errored");
        return rc;
    }
    job->record.errors = 0;
    job->record.problem = NULL;
    job->record.next_try = 0;
    job->record.last_run = apr_time_now();
    md_record_write(job->p, job->store, job->domain, &job->record); /* the daemon may be ended */
    md_command_tell(job->p, job->s, job->domain, "renewed");
    job_tell_use(job);
    return 0;
}

static int job_use(md_job *job)
{
    const int rc = md_job_activate(job);

    if (rc) {
        md_record_error(job->p, job->domain, &job->record, job->acme.problem, 0);
        job_tell(job, rc);
        return rc;
    }
    job_tell_use(job);
    return 0;
}

static int job_ask(md_job *job)
{
    const int rc = md_job_ask(job);

    if (rc)
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, job->s, "%s: no advice on renewal: %s",
                     job->domain->name, job->acme.problem ? job->acme.problem : "");
    return rc;
}

/* @return as job_get() */
static int job_may(md_job *job, const md_demand *demand)
{
    return md_demand_allows_url(demand, job->domain->name, job->p) ? 0 : -1;
}

static int job_get_named(md_job *job, const daemon_domain *dd)
{
    const md_demand *demand = dd->demand;

    if (!demand || !dd->state.until || md_demand_allows_still(demand, job->domain->name, job->p))
        return job_get(job);
    md_record_error(job->p, job->domain, &job->record, "the name is not this host's any more", 0);
    job_tell(job, -1);
    return -1;
}

static int job_do(md_job *job, const daemon_domain *dd, int kind)
{
    switch (kind) {
    case JOB_GET:
        return job_get_named(job, dd);
    case JOB_USE:
        return job_use(job);
    case JOB_MAY:
        return job_may(job, dd->demand);
    default:
        return job_ask(job);
    }
}

static void __attribute__((noreturn)) job_run(md_daemon *d, daemon_domain *dd, int kind)
{
    md_job job = {.s = dd->domain->server, .store = d->store, .domain = dd->domain};
    int rc;

    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == d->supervisor)
        _exit(1);
    apr_pool_create(&job.p, NULL);
    md_record_read(job.p, d->store, dd->domain, &job.record);
    rc = job_do(&job, dd, kind);
    if (kind != JOB_MAY)
        md_record_write(job.p, d->store, dd->domain, &job.record);
    _exit(rc ? 1 : 0);
}

static void job_begin(md_daemon *d, daemon_domain *dd, int kind)
{
    const pid_t pid = fork();

    BRG_ASSERT(!dd->job && d->working < DAEMON_JOBS);
    if (!pid)
        job_run(d, dd, kind);
    if (pid < 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, d->s, "%s: no process for a job",
                     dd->domain->name);
        dd->state.next_try = apr_time_now() + 60 * APR_USEC_PER_SEC;
        return;
    }
    dd->job = pid;
    dd->kind = kind;
    dd->until = brg_monotonic_now() + DAEMON_JOB_US;
    dd->public.working = kind == JOB_GET;
    domain_tell(dd);
    d->working++;
}

/* A job that did not end by itself could not say so. */
static void job_died(md_daemon *d, daemon_domain *dd, int status)
{
    md_record record;
    apr_pool_t *p;

    BRG_ASSERT(!dd->job && !WIFEXITED(status));
    apr_pool_create(&p, d->pool);
    md_record_read(p, d->store, dd->domain, &record);
    md_record_error(p, dd->domain, &record, "the job came to no end", 0);
    record.ari_again = apr_time_now() + DAEMON_HOUR;
    md_record_write(p, d->store, dd->domain, &record);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, d->s, "%s: the job died (status %d)", dd->domain->name,
                 status);
    md_store_clean(p, d->store, dd->domain->name);
    apr_pool_destroy(p);
}

static void job_over(md_daemon *d, daemon_domain *dd, int status)
{
    BRG_ASSERT(dd->job > 0 && d->working > 0);
    md_shared_forget((int)dd->job);
    dd->job = 0;
    d->working--;
    if (!WIFEXITED(status))
        job_died(d, dd, status);
    if (dd->demand) {
        md_demand_daemon_over(d, dd, status);
        return;
    }
    domain_read(d, dd);
    md_staple_jobs_changed(d->staples, dd->domain);
}

static daemon_domain *daemon_at(const md_daemon *d, int i)
{
    return APR_ARRAY_IDX(d->domains, i, daemon_domain *);
}

static void jobs_reap(md_daemon *d)
{
    const apr_time_t now = brg_monotonic_now();

    for (int i = d->domains->nelts - 1; i >= 0; i--) { /* a name on demand may go */
        daemon_domain *dd = daemon_at(d, i);
        int status;

        if (!dd->job)
            continue;
        if (now >= dd->until)
            kill(dd->job, SIGKILL);
        if (waitpid(dd->job, &status, WNOHANG) == dd->job)
            job_over(d, dd, status);
    }
}

static void jobs_end(md_daemon *d)
{
    for (int i = 0; i < d->domains->nelts; i++)
        if (daemon_at(d, i)->job)
            kill(daemon_at(d, i)->job, SIGTERM);
}

/* ---- waiting ---- */

/* @return when there is something to do for this one next; 0: never */
static apr_time_t domain_due(const daemon_domain *dd, apr_time_t now, int *kind)
{
    const apr_time_t renew = md_renew_at(&dd->state, now), ask = dd->ari_again;

    if (dd->demand && dd->place < 0) {
        *kind = JOB_MAY;
        return now;
    }
    if (dd->demand && brg_monotonic_now() - dd->used > DAEMON_UNUSED)
        return 0;
    if (dd->use && dd->state.complete) {
        *kind = JOB_USE;
        return dd->use > dd->state.next_try ? dd->use : dd->state.next_try;
    }
    *kind = ask && ask > dd->state.next_try && (!renew || (ask < renew && renew > now)) ? JOB_ASK
                                                                                        : JOB_GET;
    return *kind == JOB_ASK ? ask : renew;
}

/* @return how long nothing will be due */
static apr_interval_time_t jobs_look(md_daemon *d)
{
    apr_interval_time_t wait = DAEMON_HOUR;

    if (md_all.check_interval < wait)
        wait = md_all.check_interval;
    for (int i = 0; i < d->domains->nelts; i++) {
        daemon_domain *dd = daemon_at(d, i);
        const apr_time_t now = apr_time_now();
        apr_time_t due;
        int kind;

        if (dd->job)
            continue;
        domain_warn(d, dd, brg_monotonic_now());
        due = domain_due(dd, now, &kind);
        if (due && due <= now && d->working < DAEMON_JOBS)
            job_begin(d, dd, kind);
        else if (due && due - now < wait)
            wait = due > now ? due - now : 0;
    }
    return wait;
}

/* @return 0: the supervisor, or its configuration, is gone */
static int daemon_wait(md_daemon *d, apr_interval_time_t wait)
{
    struct pollfd polled[] = {{.fd = d->control, .events = POLLIN},
                              {.fd = md_demand_socket(), .events = POLLIN}};
    int ms = wait / 1000 > 3600000 ? 3600000 : (int)(wait / 1000) + 1;

    BRG_ASSERT(d->control >= 0 && d->working >= 0);
    if ((d->working || md_staple_jobs_working(d->staples)) && (ms > DAEMON_LOOK_MS || wait <= 0))
        ms = DAEMON_LOOK_MS;
    return poll(polled, 2, ms) <= 0 || !polled[0].revents;
}

static void daemon_begin(md_daemon *d)
{
    BRG_ASSERT(!d->domains && (md_domains->nelts || md_staples->nelts || md_demands->nelts));
    d->n = md_domains->nelts;
    d->domains = apr_array_make(d->pool, d->n + 1, sizeof(daemon_domain *));
    for (int i = 0; i < d->n; i++) {
        daemon_domain *dd = apr_pcalloc(d->pool, sizeof *dd);

        APR_ARRAY_PUSH(d->domains, daemon_domain *) = dd;
        dd->domain = APR_ARRAY_IDX(md_domains, i, md_domain *);
        apr_pool_create(&dd->pool, d->pool);
        md_store_clean(dd->pool, d->store, dd->domain->name);
        domain_read(d, dd);
    }
    d->staples = md_staple_jobs_begin(d->s, d->store, d->supervisor, d->pool);
    md_demand_daemon_begin(d);
}

void md_daemon_run(server_rec *s, const md_store *store, int control, pid_t supervisor)
{
    md_daemon d = {.s = s, .store = store, .control = control, .supervisor = supervisor};
    int goes_on = 1;

    daemon_become(&d);
    apr_pool_create(&d.pool, NULL);
    daemon_begin(&d);
    if (md_all.initial_delay)
        goes_on = daemon_wait(&d, md_all.initial_delay);
    while (goes_on && !daemon_is_asked() && getppid() == supervisor) {
        jobs_reap(&d);
        md_staple_jobs_reap(d.staples);
        md_demand_daemon_look(&d);
        goes_on = daemon_wait(&d, md_staple_jobs_look(d.staples, jobs_look(&d)));
    }
    jobs_end(&d);
    md_staple_jobs_end(d.staples);
    _exit(0);
}
