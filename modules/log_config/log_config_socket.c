/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs that go to syslog or the journal (brigade/log_service.h). The log's own writer thread waits while the service is slow;
 * while it is away lines are lost and counted, and the next line tries again.
 */
#include "log_config_writer.h"
#include "brigade/assert.h"
#include <syslog.h>

apr_status_t log_socket_write(const log_file *file, const struct iovec *vec, int vec_n,
                              unsigned *left)
{
    /* A loop does not wait. */
    const brg_log_service_wait wait = file->writer ? BRG_LOG_SERVICE_LONG : BRG_LOG_SERVICE_NOT;
    apr_status_t rv = APR_SUCCESS, one;
    unsigned lost = 0;

    BRG_ASSERT(file->service != NULL);
    for (int i = 0; i < vec_n; i++) {
        const char *at = vec[i].iov_base, *end = at + vec[i].iov_len;

        while (at < end) {
            const char *feed = memchr(at, '\n', (apr_size_t)(end - at));

            one = brg_log_service_send(file->service, file->fd, LOG_INFO, at,
                                       (apr_size_t)((feed ? feed : end) - at), wait);
            if (one != APR_SUCCESS) {
                rv = one;
                lost++;
            }
            at = feed ? feed + 1 : end;
        }
    }
    *left = lost;
    return rv;
}
