/* SPDX-License-Identifier: Apache-2.0 */
/* Of -t: addresses that another program listens at, at which a start would fail. Those of the server that runs by this configuration's
 * PidFile are its own. */
#include "httpd.h"
#include "ap_listen.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "listen_sockets.h"
#include "main_parts.h"
#include "mpm_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

static int listen_is_taken(const ap_listen_rec *l)
{
    const apr_sockaddr_t *addr = l->bind_addr;
    const int on = 1, alone = listen_v6only(l);
    const int fd = socket(addr->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int taken;

    if (fd < 0)
        return 0;
    if (addr->family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &alone, sizeof alone);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    taken = bind(fd, (const struct sockaddr *)&addr->sa, addr->salen) && errno == EADDRINUSE;
    close(fd);
    return taken;
}

/* The line that names the port. */
static const ap_directive_t *listen_line(apr_pool_t *p, apr_port_t port)
{
    for (const ap_directive_t *d = ap_conftree; d; d = d->next) {
        const char *args = d->args, *word, *colon;

        if (ap_cstr_casecmp(d->directive, "Listen"))
            continue;
        word = ap_getword_conf(p, &args);
        colon = strrchr(word, ':');
        if (atoi(colon ? colon + 1 : word) == port)
            return d;
    }
    return NULL;
}

static void listen_tell(apr_pool_t *p, const apr_sockaddr_t *addr)
{
    const ap_directive_t *line = listen_line(p, addr->port);

    if (line)
        ap_log_error(
            APLOG_MARK, APLOG_WARNING | APLOG_STARTUP, 0, NULL,
            "%s:%d: Listen %s: another program listens there (ss -ltnp 'sport = :%u' names "
            "it): a start would fail; end that one, or take another port",
            line->filename, line->line_num, line->args, addr->port);
}

void main_listen_report(apr_pool_t *p, server_rec *s)
{
    if (ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_CONFIG_TEST || getenv("LISTEN_FDS") ||
        mpm_runs(p))
        return;
    for (const ap_listen_rec *l = ap_listeners; l; l = l->next)
        if (l->bind_addr->family != AF_UNIX && listen_is_taken(l))
            listen_tell(p, l->bind_addr);
}
