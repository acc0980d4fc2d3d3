/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOG_SERVICE_H
#define BRIGADE_LOG_SERVICE_H

/**
 * @file brigade/log_service.h
 * Logs that go to a service of the machine, a datagram for each line: syslog (RFC 3164, as syslog(3) sends it) and the journal
 * of systemd (its native protocol).
 *
 *   syslog[:[FACILITY][:[TAG][:SOCKET]]]
 *   journald[:[TAG][:SOCKET]]
 *
 * Unlike syslog(3) nothing here waits unless it is told to, and nothing is shared by a process.
 */
#include "httpd.h"
#include "apr_pools.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct brg_log_service brg_log_service;

/** 1 if @a name is that of a service. Threads: any. */
BRG_DECLARE(int) brg_log_service_is_named(const char *name);

/**
 * @param name  for which brg_log_service_is_named()
 * @param out   [out] in @a p
 * @return NULL, or its error
 */
BRG_DECLARE(const char *)
brg_log_service_parse(apr_pool_t *p, const char *name, brg_log_service **out);

/** A descriptor to send with, to any service; closed with @a p. @return 0, or errno */
BRG_DECLARE(apr_status_t) brg_log_service_open(apr_pool_t *p, int *fd);

/** How long BRG_LOG_SERVICE_BRIEFLY waits at most. */
#define BRG_LOG_SERVICE_BRIEF_MS 100

typedef enum brg_log_service_wait {
    BRG_LOG_SERVICE_NOT,     /**< on event loops */
    BRG_LOG_SERVICE_BRIEFLY, /**< while the service is slow */
    BRG_LOG_SERVICE_LONG     /**< as long as it takes */
} brg_log_service_wait;

/**
 * Send one line.
 * @param level  of syslog(3), LOG_EMERG to LOG_DEBUG
 * @param line   without its end
 * @return 0; errno: it is lost (EAGAIN: the service is slow, others: it is away)
 * Threads: any.
 */
BRG_DECLARE(apr_status_t)
brg_log_service_send(const brg_log_service *service, int fd, int level, const char *line,
                     apr_size_t len, brg_log_service_wait wait);

/**
 * The descriptor that lines of the error log of @a s go to, of a file, a program or a service; -1:
 * no log. For a process that closes all others.
 */
BRG_DECLARE(int) brg_error_log_descriptor(const server_rec *s);

#ifdef __cplusplus
}
#endif
#endif
