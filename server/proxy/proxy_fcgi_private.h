/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PROXY_FCGI_PRIVATE_H
#define BRIGADE_PROXY_PROXY_FCGI_PRIVATE_H

/**
 * @file proxy_fcgi_private.h
 * FastCGI's records, for the codec (proxy_fcgi.c), and for exchanges of a plan (proxy_fcgi_ahead.c).
 * Threads: the exchange's. Blocking: no.
 */
#include "proxy_script.h"

enum {
    FCGI_BEGIN_REQUEST = 1,
    FCGI_END_REQUEST = 3,
    FCGI_PARAMS = 4,
    FCGI_STDIN = 5,
    FCGI_STDOUT = 6,
    FCGI_STDERR = 7
};

#define FCGI_VERSION_1 1
#define FCGI_RESPONDER 1
#define FCGI_KEEP_CONN 1
#define FCGI_ID 1             /**< the only request of its connection */
#define FCGI_HEADER 8         /**< bytes of a record's header */
#define FCGI_RECORD 65528     /**< bytes of content in a record that is sent */
#define FCGI_PARAMS_ROOM 2048 /**< bytes of variables, at first */
#define FCGI_STDERR_MOST 8192 /**< bytes of a line in the error log */

/** Of an exchange; zeroed at first. */
typedef struct fcgi_state {
    script_head head;
    char *errors; /**< text of STDERR that is not logged yet */
    uint16_t errors_n;
    uint16_t left;                     /**< bytes of its content to come */
    unsigned char header[FCGI_HEADER]; /**< of the record that comes */
    uint8_t header_n;
    uint8_t padding; /**< bytes behind its content */
    uint8_t type;
    uint8_t in_record;
    uint8_t ended;    /**< END_REQUEST was complete */
    uint8_t bodiless; /**< the end of STDIN left with the beginning */
} fcgi_state;

/** The record that began is over, if all of it was taken. */
void fcgi_record_ends(proxy_exchange *x, fcgi_state *s);

/** Take the head of an answer, as a whole, without a request_rec: what is beyond the ordinary is left to one.
 * @return as proxy_codec.take() */
apr_status_t fcgi_take_ahead(proxy_exchange *x, fcgi_state *s);

#endif
