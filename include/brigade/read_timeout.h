/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_READ_TIMEOUT_H
#define BRIGADE_READ_TIMEOUT_H

/**
 * @file brigade/read_timeout.h
 * Limits on how long a client may take to send a request. The event loops keep them without a
 * thread or a connection filter; mod_reqtimeout supplies the values from RequestReadTimeout.
 */
#include "httpd.h"
#include "apr_optional.h"

/** One stage of reading. All 0: no limit beyond Timeout. */
typedef struct brg_read_timeout {
    apr_interval_time_t first_us; /**< time allowed at first, microseconds; 0 = no limit */
    apr_interval_time_t max_us;   /**< ceiling to which progress extends it; 0 = none given */
    int min_rate;                 /**< bytes that extend the time by one second; 0 = no extension */
} brg_read_timeout;

typedef struct brg_read_timeouts {
    brg_read_timeout handshake, header, body;
} brg_read_timeouts;

/**
 * Fill @a out with the limits of server @a s. Optional function, registered by mod_reqtimeout,
 * retrieved by the core after the configuration was read. Threads: any. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(void, brg_read_timeouts_of, (const server_rec *s, brg_read_timeouts *out));

#endif
