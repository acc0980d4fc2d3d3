/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_ACME_H
#define BRIGADE_MD_ACME_H

/**
 * @file md_acme.h
 * A conversation with an authority (RFC 8555). Threads: the process of a job. Blocking: each request waits for its answer.
 * Functions return 0, or -1 with acme->problem.
 */
#include "md_http.h"
#include "md_json.h"
#include "md_steps.h"
#include <openssl/evp.h>

typedef struct md_acme {
    apr_pool_t *p;
    md_http http;
    const char *directory; /**< its URL */
    const md_json *index;  /**< its answer there */
    const char *nonce;     /**< the next; NULL: to be asked for */
    EVP_PKEY *key;         /**< the account's */
    const char *account;   /**< URL; NULL: not known yet */
    const char *problem;   /**< in words */
    /** the rest behind "urn:ietf:params:acme:error:"; "": another type */
    const char *problem_type;
    int status;          /**< of the answer that had the problem; 0: there was none */
    apr_time_t retry_at; /**< the authority asks not to be asked before; 0: it does not say */
} md_acme;

/** Data for a new account. */
typedef struct md_account {
    const apr_array_header_t *contacts;     /**< const char *, with "mailto:" */
    const char *agreement;                  /**< MDCertificateAgreement; NULL: none */
    const char *binding_kid, *binding_hmac; /**< MDExternalAccountBinding; NULL: none */
} md_account;

/** Read the directory. */
int md_acme_open(md_acme *acme);

/** Find the account of acme->key, or make one: acme->account. */
int md_acme_account(md_acme *acme, const md_account *account);

/** A new order for @a names (const char *). @param profile NULL: none; @param replaces  of RFC 9773; NULL: none */
int md_acme_order(md_acme *acme, const apr_array_header_t *names, const char *profile,
                  const char *replaces, md_order *order);

/** 1 if the directory offers a profile. */
int md_acme_has_profile(const md_acme *acme, const char *profile);

/** Ask for an order, or one of its authorizations, once more. @param retry  [out] Retry-After as a length of time; 0: none */
int md_acme_poll(md_acme *acme, md_order *order, apr_interval_time_t *retry);
int md_acme_look(md_acme *acme, md_authz *authz, const apr_array_header_t *wanted,
                 apr_interval_time_t *retry);

/** Tell the authority that a challenge can be looked at. */
int md_acme_answer(md_acme *acme, md_authz *authz);

/** Send the request for a certificate, as md_csr() has it. */
int md_acme_finalize(md_acme *acme, md_order *order, const char *csr);

/** The certificate with its chain, as PEM in acme->p; NULL: acme->problem. */
const char *md_acme_download(md_acme *acme, const md_order *order);

/** Advice on renewal (RFC 9773). @param ari  md_cert.ari. @param url  [out] an explanation, or NULL */
int md_acme_renewal_info(md_acme *acme, const char *ari, apr_time_t *from, apr_time_t *until,
                         apr_time_t *again, const char **url);

/** Say that something failed; the first time counts. @return -1 */
int md_acme_fail(md_acme *acme, const char *problem);

/** Earlier errors are forgotten. */
void md_acme_forget(md_acme *acme);

#endif
