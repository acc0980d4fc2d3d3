/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_JOB_H
#define BRIGADE_MD_JOB_H

/**
 * @file md_job.h
 * A job: a process of the daemon that gets the certificates of one managed domain, or asks when to renew them.
 *
 * md_job.c          authorities, accounts, the order of steps
 * md_job_run.c      one order, from its beginning to the certificate
 * md_job_prove.c    challenges are set up and taken back
 * md_command.c      programs of the administrator
 * md_record.c       records of jobs
 */
#include "md_acme.h"
#include "md_store.h"

/** The record of a managed domain between jobs, in jobs/NAME.json. */
typedef struct md_record {
    apr_time_t last_run, next_try; /**< 0: none */
    int errors;                    /**< one after the other */
    const char *problem;           /**< of the last; NULL: none */
    const char *settings;          /**< the configuration of that time */
    const char *ari_for;           /**< the certificate that the advice is for; NULL: no advice */
    apr_time_t ari_from, ari_until, ari_again;
    const char *ari_url;
} md_record;

/** Read the record; it is empty if other settings were configured then. */
void md_record_read(apr_pool_t *p, const md_store *store, const md_domain *domain,
                    md_record *record);
void md_record_write(apr_pool_t *p, const md_store *store, const md_domain *domain,
                     const md_record *record);

/** The text of that file. @param text  NULL: no file. Its strings live as long as @a p */
void md_record_parse(apr_pool_t *p, const char *text, const md_domain *domain, md_record *record);
const char *md_record_text(apr_pool_t *p, const md_record *record);

/** Count an error, and say when the next attempt is made. @param retry_at  the authority's wish; 0: none */
void md_record_error(apr_pool_t *p, const md_domain *domain, md_record *record, const char *problem,
                     apr_time_t retry_at);

/** A job as it runs. */
typedef struct md_job {
    apr_pool_t *p;
    server_rec *s; /**< for the log */
    const md_store *store;
    const md_domain *domain;
    md_acme acme;
    md_record record;
    const char *authority;
    const char *attempt;  /**< the folder of this attempt */
    const char *account;  /**< its name in the store */
    apr_time_t used_from; /**< the new certificate goes live then; 0: at once */
} md_job;

/** Get certificates. @return 0; -1: job->acme.problem */
int md_job_get(md_job *job);

/** Make a staged certificate go live. @return 0; -1: job->acme.problem */
int md_job_activate(md_job *job);

/** When the staged certificate goes live: MDActivationDelay after its beginning, but not after the
 * end of the present one.
 * @return 0: nothing waits */
apr_time_t md_job_activation(apr_pool_t *p, const md_store *store, const md_domain *domain);

/** Ask when to renew. */
int md_job_ask(md_job *job);

/** Log, and keep as a problem, that the system refused something. @return -1 */
int md_job_errno(md_job *job, const char *what);

/* ---- md_job_run.c ---- */

/** Order a certificate for a new key of this kind, and put both into job->attempt. @param replaces  or NULL */
int md_job_run(md_job *job, const md_key_spec *spec, const char *profile, const char *replaces);

/* ---- md_job_prove.c ---- */

/** Ways to prove names that are possible here: const char *. NULL: none, job->acme.problem */
apr_array_header_t *md_job_ways(md_job *job);
int md_job_prove(md_job *job, md_authz *authz);
void md_job_proven(md_job *job, md_authz *authz);

/* ---- md_command.c ---- */

/** Run a program with further arguments, as the user of server processes; it gets MD_COMMAND_SECONDS.
 * @return its exit code; -1: it did not run, or not to its end */
#define MD_COMMAND_SECONDS 60
int md_command_run(apr_pool_t *p, server_rec *s, const char *command, const char *const *more);

/** Report the event to MDMessageCmd, and "renewed" to MDNotifyCmd. @return 0; -1: the program
 * refuses */
int md_command_tell(apr_pool_t *p, server_rec *s, const md_domain *domain, const char *event);

#endif
