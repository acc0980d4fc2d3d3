/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_STEPS_H
#define BRIGADE_MD_STEPS_H

/**
 * @file md_steps.h
 * The next step: of an order (RFC 8555, 7.1.6), and of a managed domain as time
 * goes on. Functions of their arguments alone. Threads: any. Blocking: no.
 */
#include "apr_tables.h"
#include "apr_time.h"

typedef enum md_status {
    MD_PENDING,
    MD_READY,
    MD_PROCESSING,
    MD_VALID,
    MD_INVALID, /**< and all that lead nowhere: expired, revoked, deactivated, unknown words */
} md_status;

/** By the word of the protocol; NULL: MD_INVALID. */
md_status md_status_of(const char *word);

/** A way to prove a name by a record that stays, which is not this program's to set. */
#define MD_DNS_PERSIST "dns-persist-01"

/** An authorization of an order. */
typedef struct md_authz {
    const char *url, *name;
    md_status status;
    int answered; /**< the authority was told to look */
    const char *token, *challenge_url;
    const char *issuer; /**< of dns-persist-01, which has no token: whom the record names */
    const char *type;   /**< of the challenge that was chosen */
    const char *problem;
    int slot; /**< of md_shared.h; -1: none */
} md_authz;

typedef struct md_order {
    const char *url, *finalize, *certificate, *problem;
    md_status status;
    int finalized;              /**< the request for a certificate was sent */
    apr_array_header_t *authzs; /**< md_authz */
    apr_time_t deadline;        /**< monotonic */
    int looks;                  /**< since the last progress */
} md_order;

typedef enum md_step {
    MD_STEP_ANSWER,   /**< set a challenge up, and say so */
    MD_STEP_LOOK,     /**< ask for an authorization once more, after md_order_wait() */
    MD_STEP_POLL,     /**< ask for the order once more, after md_order_wait() */
    MD_STEP_FINALIZE, /**< send the request for a certificate */
    MD_STEP_DOWNLOAD,
    MD_STEP_FAIL
} md_step;

/** @param which  [out] the authorization that is meant, for MD_STEP_ANSWER, LOOK and FAIL; -1: none */
md_step md_order_next(const md_order *order, apr_time_t now, int *which);

/** How long to wait. @param asked  the authority's wish (Retry-After); 0: nothing */
apr_interval_time_t md_order_wait(const md_order *order, apr_interval_time_t asked);

/** The first type of @a wanted (const char *) that is among @a offered; NULL: none. */
const char *md_challenge_choose(const apr_array_header_t *wanted,
                                const apr_array_header_t *offered);

/** A length of time, or a share of a certificate's life. */
typedef struct md_window {
    apr_interval_time_t length;
    int percent; /**< of a life; 0: length counts */
} md_window;

/** How much of a certificate's end a window is: never its whole life. */
apr_interval_time_t md_window_of(const md_window *window, apr_time_t from, apr_time_t until);

typedef enum md_mode { MD_MANUAL, MD_AUTO, MD_ALWAYS } md_mode;

/** The state of a managed domain. */
typedef struct md_state {
    md_mode mode;
    int used;               /**< a server has it */
    int complete;           /**< there is a certificate for all names, with the right keys */
    apr_time_t from, until; /**< of the certificate that ends first */
    apr_time_t ari_from, ari_until; /**< the authority's advice; 0: none */
    double chance;                  /**< 0 to 1: where in the advised time this server is */
    md_window window;               /**< MDRenewWindow */
    apr_time_t last_run;            /**< of the last job; 0: none */
    int errors;                     /**< attempts that failed, one after the other */
    apr_time_t next_try;            /**< not before, after an error; 0: none */
} md_state;

/** When to get a certificate: may be past; 0: never. */
apr_time_t md_renew_at(const md_state *state, apr_time_t now);

/** How long to wait after so many errors: MDRetryDelay, doubled with each, up to a day, and by @a chance up to half more. */
apr_interval_time_t md_retry_after(apr_interval_time_t delay, int errors, double chance);

#endif
