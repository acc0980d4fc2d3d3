/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MAIN_TRIAL_H
#define BRIGADE_CLI_MAIN_TRIAL_H

/**
 * @file main_trial.h
 * A site that answers this process alone (main_try.c): the configuration is read as for a start, and its hooks run, but no
 * log and no socket of the network is opened; a process of its own serves. For `-D DUMP_CACHE`, `--explain`, `--compare-memory` and
 * `--profile`. All on the
 * main thread, but the functions of main_trial.
 */
#include "httpd.h"
#include "response_cache.h"

/** -D: of the answer to the URL of `-D DUMP_CACHE` the status alone is printed. For the children of
 * `--advice`. */
#define MAIN_TRIAL_STATUS "BRIGADE_TRIAL_STATUS"

/** The client side, in the process that serves. */
typedef struct main_trial {
    void (*client)(void); /**< sends the requests, on a thread outside the server */
    int (*tell)(
        /** nothing went wrong, and the loop has ended: prints the result. @return the exit status
         */
        void);
    cache_teller_fn *teller; /**< of stored answers, or NULL */
    const char *method;      /**< NULL: GET */
    const char *fields;      /**< more request fields, each with its end of line; NULL: none */
    const char *host;        /**< the Host field; NULL: the URL's */
    const char *from;        /**< the client's address; NULL: the server's own */
    const char *socket;      /**< a file by which others reach it, too; NULL: none does */
} main_trial;

/** Read the configuration, twice, as for a start: many modules defer work to the second run. Ends
 * the program where it cannot be used. */
void main_trial_read(process_rec *process);

/** Serve, and have @a asks ask for @a url. Once in a process. @return the exit status: 2 if it cannot be done, which is said */
int main_trial_run(process_rec *process, const char *url, const main_trial *asks);

/** For main_trial.client: @a n requests for the URL, the last of which closes the connection. From @a p */
char *main_trial_requests(apr_pool_t *p, int n);

/** For main_trial.client: send them on a new connection, and read until it is closed. @return NULL,
 * or the error. Blocks. */
const char *main_trial_ask(const char *requests);

/** 1: clients of this host speak TLS (SSLEngine on). (main_trial_tls.c) */
int main_trial_host_has_tls(const server_rec *s);

/** Send requests over TLS on a connected socket, whoever answers, and read until it is closed; the
 * caller closes it. (main_trial_tls.c)
 * @param name  the server's, or NULL. @return NULL, or the error. Blocks. */
const char *main_trial_ask_tls(int fd, const char *name, const char *requests);

/** For main_trial.client: one request; or some connections, so that the answer is stored if it may be. */
void main_trial_once(void);
void main_trial_rounds(void);

/** A cache_teller_fn that keeps the reason for main_trial_why(); other tellers call it. */
void main_trial_teller(void *baton, request_rec *r, const policy_reason *reason);

/** 1: the answer is kept in memory. */
int main_trial_is_kept(void);
/** Why not, or by which fields of the request it differs; "" if there is nothing to say. @param reason  [out] the module; NULL: none is, or it is kept */
const char *main_trial_why(apr_pool_t *p, const char **reason);

/** @name The lines that keep an answer out of memory (main_try_lines.c) */
/** @{ */

/** Before the configuration is read: lines in force are noted. */
void main_lines_watch(process_rec *process);

/** In the process that serves: the first answer is over. */
void main_lines_note(const request_rec *r);

/** In the process that serves: the module @a who is the reason; NULL: no module is. */
void main_lines_blame(const char *who);

/** Print the lines of that module that are the reason, and the fate of the answer without them. In
 * the process that read the configuration; starts this program some times. */
void main_lines_report(process_rec *process);

/** 1: this is such a start. Before the configuration is read. */
int main_lines_are_left_out(void);
/** @} */

#endif
