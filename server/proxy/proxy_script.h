/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_SCRIPT_H
#define BRIGADE_PROXY_SCRIPT_H

/**
 * @file proxy_script.h
 * Shared by FastCGI, SCGI and uwsgi: variables of CGI go to the backend, and a
 * head as of a CGI program comes back (RFC 3875, 6).
 */
#include "proxy_exchange.h"
#include "proxy_script_format.h"

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
 * @return bytes taken; beyond SCRIPT_HEAD_MOST nothing is, and x->answer.bad is set
 */
apr_size_t script_head_take(proxy_exchange *x, script_head *head, const char *data, apr_size_t len,
                            int *done);

/** Bytes of the head at the front of @a data; 0: its end is not there. */
apr_size_t script_head_size(const char *data, apr_size_t len);

#define SCRIPT_HEAD_ROOM 2048 /**< bytes of a media type, and of values that are joined */

/**
 * A whole head as fields, in the order of the full way, Content-Type last. Its line is the status and a phrase.
 * @param now   what is modified later than this is not known
 * @param room  [out] for SCRIPT_HEAD_ROOM bytes, which fields point to
 * @return 0: a request_rec has to be made to know what becomes of it (proxy_script_head.c)
 */
int script_head_parse(http_head *head, const char *text, size_t len, apr_time_t now, char *room);

/** The head is whole: the answer's status and fields are told. @return APR_SUCCESS; else x->answer.bad is set */
apr_status_t script_head_read(proxy_exchange *x, script_head *head);

/** 1: x->answer.code may end a request; else x->answer.bad is set. A script has no interim answers, and no other protocol. */
int script_status_is_final(proxy_exchange *x);

#endif
