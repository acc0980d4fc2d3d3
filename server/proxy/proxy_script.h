/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_SCRIPT_H
#define BRIGADE_PROXY_SCRIPT_H

/**
 * @file proxy_script.h
 * What FastCGI, SCGI and uwsgi have in common: variables of CGI go to the backend, and a head as of a CGI program comes back
 * (RFC 3875, 6).
 */
#include "proxy_exchange.h"

#define SCRIPT_HEAD_MOST (64 * 1024) /**< bytes of a script's head */

/** A head that arrives in pieces. */
typedef struct script_head {
    char *text; /**< NULL: nothing came */
    apr_size_t len, cap;
    uint8_t blank; /**< 1: the last byte was a line's end; 2: and CR followed */
} script_head;

/**
 * Take head bytes.
 * @param done  [out] 1: the head ends within @a data
 * @return bytes taken; beyond SCRIPT_HEAD_MOST nothing is, and x->bad is set
 */
apr_size_t script_head_take(proxy_exchange *x, script_head *head, const char *data, apr_size_t len,
                            int *done);

/** The head is whole: the answer's status and fields are told. @return APR_SUCCESS; else x->bad is set */
apr_status_t script_head_read(proxy_exchange *x, script_head *head);

/** 1: x->code may end a request; else x->bad is set. A script has no interim answers, and no other protocol. */
int script_status_is_final(proxy_exchange *x);

#endif
