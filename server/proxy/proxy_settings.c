/* SPDX-License-Identifier: Apache-2.0 */
/* Settings for a request, whatever its backend. */
#include "proxy_private.h"
#include "proxy_gateway_private.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

void proxy_settings_for(const request_rec *r, proxy_request_settings *to)
{
    const proxy_dir_conf *d = proxy_dir_of(r);

    memset(to, 0, sizeof *to);
    to->preserve_host = d->preserve_host == 1;
    to->status_field = d->status_field == 1;
    to->add_fields = d->add_fields != 0;
    to->pass_continue = d->pass_continue != 0;
    to->fcgi_redirect_field = proxy_fcgi_redirect_field(r);
    proxy_scgi_settings(r, to);
}

int proxy_overrides(const request_rec *r, int status)
{
    const proxy_dir_conf *d = proxy_dir_of(r);

    if (d->override != 1 || status < 400 || status >= 600)
        return 0;
    if (!d->override_statuses)
        return 1;
    for (int i = 0; i < d->override_statuses->nelts; i++)
        if (APR_ARRAY_IDX(d->override_statuses, i, int) == status)
            return 1;
    return 0;
}

apr_interval_time_t proxy_timeout(const proxy_worker *worker, const server_rec *s)
{
    const proxy_server_settings *settings = proxy_settings_of(s);

    if (worker->params.set & PROXY_PARAM_TIMEOUT)
        return worker->params.timeout;
    return settings->timeout ? settings->timeout : s->timeout;
}

apr_interval_time_t proxy_connect_timeout(const proxy_worker *worker, const server_rec *s)
{
    return worker->params.set & PROXY_PARAM_CONNECT_TIMEOUT ? worker->params.connect_timeout
                                                            : proxy_timeout(worker, s);
}

/* ws: and wss: let WebSocket pass where the configuration does not say. */
int proxy_may_upgrade(const request_rec *r, const proxy_worker *worker, const char *protocol)
{
    const char *allowed = worker->params.upgrade;
    const char *filename = r->filename;

    if (worker->params.set & PROXY_PARAM_UPGRADE) {
        if (!strcasecmp(allowed, "NONE"))
            return 0;
        return *allowed == '*' || !strcasecmp(allowed, protocol);
    }
    if (strcasecmp(protocol, "WebSocket") != 0)
        return 0;
    return worker->scheme == PROXY_SCHEME_WS || worker->scheme == PROXY_SCHEME_WSS ||
           (filename &&
            (!strncasecmp(filename, "proxy:ws:", 9) || !strncasecmp(filename, "proxy:wss:", 10)));
}
