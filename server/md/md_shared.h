/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_SHARED_H
#define BRIGADE_MD_SHARED_H

/**
 * @file md_shared.h
 * Data of the daemon and its jobs for all processes: challenges to be answered,
 * and the state of each managed domain. Server processes can read it alone. A generation of the
 * server has one. Blocking: no.
 */
#include "apr_pools.h"
#include "apr_time.h"

#define MD_CHALLENGES 128 /**< at a time */
#define MD_NAME 256
#define MD_PROOF 400
#define MD_CERT 2400
#define MD_KEY 512
#define MD_TEXT 512

/** A challenge; texts that are not there are empty. */
typedef struct md_challenge {
    char name[MD_NAME];   /**< that is proven, without "*." */
    char token[MD_NAME];  /**< http-01 */
    char proof[MD_PROOF]; /**< http-01: the key authorization */
    char cert[MD_CERT];   /**< tls-alpn-01, PEM */
    char key[MD_KEY];     /**< tls-alpn-01, PEM */
    char text[64];        /**< dns-01, for the DNS server of this program: of its record */
} md_challenge;

/** The state of a managed domain. */
typedef struct md_public {
    int known;    /**< it was looked at */
    int complete; /**< there is a certificate for all its names */
    int working;  /**< a job is under way */
    int errors;
    apr_time_t from, until, renew_at, last_run, next_run;
    apr_time_t ari_from, ari_until;
    char serial[80], fingerprint[72], authority[MD_TEXT];
    char problem[MD_TEXT];
} md_public;

/** For @a n managed domains (0: OCSP responses are all there is), as long as @a p. Threads: main. */
apr_status_t md_shared_begin(int n, apr_pool_t *p);

/** The next process that is forked may write (1), or not (0). Threads: main. */
void md_shared_hand(int on);

/* ---- the daemon and its jobs ---- */

void md_shared_tell(int index, const md_public *state);

/** @return i, the number of a slot; -1: all are taken */
int md_shared_prove(const md_challenge *challenge);
void md_shared_proven(int i);

/** Take all challenges of a job back. */
void md_shared_forget(int pid);

/* ---- readers, in any process and thread ---- */

/** Copy memory whose writer makes @a version odd while it writes. @return 1: the copy is of one
 * piece */
int md_shared_copy(void *to, const void *from, size_t bytes, const _Atomic unsigned *version);

/** @return 0, or -1: it is just being written */
int md_shared_state(int index, md_public *state);

/** 1 if there may be challenges: all that a request costs otherwise. */
int md_shared_has_challenges(void);

/** Texts of records for a name: at most MD_DNS_TEXTS of MD_DNS_TEXT bytes (md_dns.h). @return how many */
int md_shared_dns(const char *name, char texts[][sizeof(((md_challenge *)0)->text)]);

/** The challenge for a name. @param token  NULL: of tls-alpn-01. @return 0, or -1: no challenge */
int md_shared_challenge(const char *name, const char *token, md_challenge *challenge);

#endif
