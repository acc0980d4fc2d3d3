/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_STORE_H
#define BRIGADE_MD_STORE_H

/**
 * @file md_store.h
 * Accounts, keys and certificates in files, laid out as Apache's mod_md lays them out (version 3.0):
 *
 *   md_store.json              the version, and the pass phrase of keys of accounts
 *   accounts/ACME-HOST-0000/   account.json, account.pem
 *   domains/NAME/              md.json; privkey.pem and pubcert.pem; of an elliptic curve privkey.CURVE.pem and
 *                              pubcert.CURVE.pem; the same with "fallback-" until there is a certificate
 *   archive/NAME.1/            the former content
 *
 * and beside that, of our own:
 *
 *   live/NAME/                 links to the files that are in use
 *   jobs/NAME.json             time and result of the last attempt
 *   jobs/NAME.N/               files of an attempt so far
 *   jobs/NAME.staged/          its result, before that goes live
 *   ocsp/NAME/ocsp-ID.json     OCSP responses, as Apache's (md_ocsp.h)
 *
 * A certificate and its key take the place of those before in one step. All belongs to the user of the supervisor; server
 * processes cannot read it. Blocking: reads and writes files. Threads: main, and processes of jobs. Functions return 0, or
 * -1 with errno.
 */
#include "md_conf.h"

typedef struct md_store {
    const char *folder;
    const unsigned char *pass; /**< of keys of accounts */
    apr_size_t pass_len;
} md_store;

/** Make the folders, if they are not there. */
int md_store_open(apr_pool_t *p, const char *folder, md_store *store);

/** A file as text in @a p; NULL: it cannot be read. */
const char *md_file_read(apr_pool_t *p, const char *file);

/** Replace a file, with a mode of 0600. */
int md_file_write(apr_pool_t *p, const char *file, const char *text);

/** The name of a file of a managed domain. @param prefix  "privkey" or "pubcert", "fallback-" before it */
const char *md_store_file(apr_pool_t *p, const md_store *store, const char *name,
                          const char *prefix, const md_key_spec *spec);

/** The link to it in live/. */
const char *md_store_link(apr_pool_t *p, const md_store *store, const char *name,
                          const char *prefix, const md_key_spec *spec);

/** Make stand-ins for missing certificates of @a domain, and the links in live/. */
int md_store_prepare(apr_pool_t *p, const md_store *store, const md_domain *domain);

/** Point the links of live/ to the present files. */
int md_store_go_live(apr_pool_t *p, const md_store *store, const md_domain *domain);

/** A managed domain's certificates: the one that ends first. @param complete  [out] 1: there is one
 * of each kind, for all names, with its key. @return NULL: no certificate */
md_cert *md_store_certificate(apr_pool_t *p, const md_store *store, const md_domain *domain,
                              int *complete);

/** A folder for an attempt of @a job (a number of its own), empty. NULL: errno */
const char *md_store_attempt(apr_pool_t *p, const md_store *store, const char *name, int job);

/** The result of an attempt takes its place in domains/, and goes live. */
int md_store_install(apr_pool_t *p, const md_store *store, const md_domain *domain,
                     const char *attempt);

/** The result of an attempt waits in jobs/NAME.staged for its time (MDActivationDelay). */
int md_store_stage(apr_pool_t *p, const md_store *store, const char *name, const char *attempt);

/** The staged certificate, as an attempt. @param from  [out] when its certificate began. @return
 * NULL: nothing does */
const char *md_store_staged(apr_pool_t *p, const md_store *store, const md_domain *domain,
                            apr_time_t *from);

/** Nothing waits any more. */
void md_store_unstage(apr_pool_t *p, const md_store *store, const char *name);

/** Remove folders of attempts that are over. */
void md_store_clean(apr_pool_t *p, const md_store *store, const char *name);

/** An account at an authority. */
typedef struct md_stored_account {
    const char *id, *url;
    EVP_PKEY *key; /**< to be freed */
} md_stored_account;

/** Find one. @return 0; -1: not found */
int md_store_account(apr_pool_t *p, const md_store *store, const char *authority,
                     md_stored_account *account);

/** Keep a new one; account->id is set. */
int md_store_account_put(apr_pool_t *p, const md_store *store, const char *authority,
                         const char *contact, md_stored_account *account);

/** An account that the authority does not know any more is not used again. */
void md_store_account_lost(apr_pool_t *p, const md_store *store, const char *id);

/** Wait until no other process has the lock, at most @a wait. @return a descriptor to be closed; -1: errno */
int md_store_lock(apr_pool_t *p, const md_store *store, const char *name, apr_interval_time_t wait);

#endif
