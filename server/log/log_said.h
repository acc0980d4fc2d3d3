/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOG_LOG_SAID_H
#define BRIGADE_LOG_LOG_SAID_H

/**
 * @file log_said.h
 * Messages about requests that have no request_rec, since memory answers them: lines in the built-in form, as ap_log_rerror() writes
 * them.
 *
 * Threads: any. Blocking: as ap_log_rerror().
 */
#include "httpd.h"
#include "brigade/transaction.h"

#define LOG_SAID_MOST 1500 /**< bytes of a message and of the referer, together */
#define LOG_ID_BYTES 24    /**< of an id as text */

/** A request. */
typedef struct log_said {
    const server_rec *s;
    conn_rec *c;
    apr_time_t now;
    brg_text referer;      /**< at NULL: none */
    int shows_id;          /**< lines have the request's id */
    int was_said;          /**< a message about it is written */
    char id[LOG_ID_BYTES]; /**< "": not yet */
} log_said;

/** 1: messages about @a said, with s, c, now, referer and shows_id, are written by log_say(). 0: this error log has another form, or a hook
 * sees it. Nothing is done yet but for the connection's id. */
int log_said_begin(log_said *said);

/** Write @a text, of which nothing is escaped, if the level is wanted. The status is 0, the client is told nothing. */
void log_say(log_said *said, int module_index, int level, const char *text);

/** Lines of the calling thread are written: a loop's wait for the end of its turn, or another line of the error log. Also for a handler of
 * fatal signals. */
void log_said_write(void);

/** turn_end hook. */
void log_said_turn_end(apr_time_t now);

/** The request's id; NULL: no message was written. It lives as long as @a said. */
const char *log_said_id(log_said *said);

#endif
