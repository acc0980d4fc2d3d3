/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_STAPLE_H
#define BRIGADE_MD_STAPLE_H

/**
 * @file md_staple.h
 * OCSP stapling: certificates that want responses, and their responses in memory
 * of all processes. The daemon gets responses (md_daemon_staple.h) and writes them here; server
 * processes can read them alone.
 *
 * Blocking: no.
 */
#include "md_conf.h"
#include "md_ocsp.h"

#define MD_STAPLE_OTHER "other" /**< the folder of certificates that are in no managed domain */

/** A certificate. The configuration's, as long as it. */
typedef struct md_staple {
    const char *name;        /**< of the managed domain, or MD_STAPLE_OTHER */
    const md_domain *domain; /**< NULL: it is in none */
    const md_key_spec *spec; /**< one of @a domain's, which the store has; NULL: @a pem is all */
    const char *pem;         /**< the chain */
    const md_settings *set;
} md_staple;

/** The state of its response. */
typedef struct md_staple_state {
    unsigned char id[MD_OCSP_ID];
    int known; /**< there is a certificate that names a responder */
    int revoked, errors;
    apr_time_t from, until; /**< of the response; 0: no response */
    apr_time_t next_run;    /**< 0: none */
    char problem[256];
} md_staple_state;

extern apr_array_header_t *md_staples; /**< md_staple */

/** Forget those of the configuration before. Threads: main. */
void md_staple_reset(apr_pool_t *p);

/** 1 if a server or a managed domain has stapling. */
int md_staple_is_wanted(server_rec *main_server);

/** The hook: take the certificate of a server. @return OK or DECLINED. Threads: main. */
int md_staple_prime(server_rec *s, apr_pool_t *p, const char *id, apr_size_t id_len,
                    const char *pem);

/** Memory for all that were taken, as long as @a p. Threads: main. */
apr_status_t md_staple_share(apr_pool_t *p);

/** The next process that is forked may write (1), or not (0). Threads: main. */
void md_staple_hand(int on);

/* ---- the daemon, or its job for this one ---- */

/** @param der  the response, @a len bytes; NULL: as before */
void md_staple_tell(int index, const md_staple_state *state, const unsigned char *der,
                    apr_size_t len);

/* ---- readers, in any process and thread ---- */

/** @return 0, or -1: it is just being written */
int md_staple_state_of(int index, md_staple_state *state);

/** The response for a certificate. @param der  [out] MD_OCSP_MOST bytes of room
 * @return its length; 0: none now; -1: nobody gets one */
int md_staple_response(const unsigned char *id, apr_time_t now, unsigned char *der);

#endif
