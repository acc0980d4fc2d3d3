/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_EXCHANGE_PRIVATE_H
#define BRIGADE_PROXY_EXCHANGE_PRIVATE_H

/**
 * @file exchange_private.h
 * Between the files of the exchange.
 */
#include "proxy_exchange.h"

/** It is over; the handler returns @a status. */
void exchange_done(proxy_exchange *x, int status);

/** Close the connection, if there is one. */
void exchange_drop(proxy_exchange *x);

/** Give the worker back, if it is not yet. */
void exchange_release(proxy_exchange *x);

/** The backend failed. Another try is begun, or the exchange is over. @param text  may be NULL (exchange_fail.c) */
void exchange_fail(proxy_exchange *x, proxy_failure why, apr_status_t error, const char *text);

/** The connection goes back to its place, or is closed where it cannot be used again. */
void exchange_give_back(proxy_exchange *x);

/** Send what the socket takes of x->out. @return 1: something was sent */
int exchange_send(proxy_exchange *x);

/** Begin with what is kept of the body: after codec->begin(). */
void exchange_body_begin(proxy_exchange *x);

/** The next try: a worker, its codec and its origin. @return OK or a status */
int proxy_next_try(proxy_exchange *x);

#endif
