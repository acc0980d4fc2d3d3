/* SPDX-License-Identifier: Apache-2.0 */
/* A module that is at home in one thread only: what child_init left there has to be seen wherever
 * it is called, as interpreters want it that know nothing of threads. The query says what the
 * handler does: "hold FILE" waits until FILE is there, "ask" tells what ap_mpm_query() says,
 * anything else answers with the process's number and the body. */
#include "httpd.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_mpm.h"
#include "mpm_common.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(alone);

static _Thread_local int at_home;
static int away; /* calls on other threads */

static void alone_see(const char *where)
{
    if (at_home)
        return;
    away++;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL, "another thread: %s", where);
}

static apr_status_t alone_cleanup(void *what)
{
    alone_see(what);
    return APR_SUCCESS;
}

static void alone_child_init(apr_pool_t *p, server_rec *s)
{
    at_home = 1;
    apr_pool_cleanup_register(p, "end of the process", alone_cleanup, apr_pool_cleanup_null);
}

static int alone_stopping_seen;

static void alone_child_stopping(apr_pool_t *p, int graceful)
{
    alone_see("child_stopping");
    if (!alone_stopping_seen++)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, NULL, "stopping: %s",
                     graceful ? "gracefully" : "at once");
}

static int alone_ask(request_rec *r)
{
    for (int i = 1; i <= 18; i++) {
        int value = -1;
        apr_status_t rv = ap_mpm_query(i, &value);

        if (i != AP_MPMQ_HARD_LIMIT_DAEMONS) /* here there is room for ending generations */
            ap_rprintf(r, "%d: %d %d\n", i, rv, value);
    }
    ap_rprintf(r, "%s\n", ap_show_mpm());
    return OK;
}

static int alone_echo(request_rec *r)
{
    char buf[4096];
    long n;
    int status = ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK);

    if (status != OK)
        return status;
    ap_rprintf(r, "%d %d\n", (int)getpid(), away);
    if (ap_should_client_block(r))
        while ((n = ap_get_client_block(r, buf, sizeof buf)) > 0)
            ap_rwrite(buf, (int)n, r);
    return OK;
}

static int alone_handler(request_rec *r)
{
    const char *args = r->args ? r->args : "";

    if (!r->handler || strcmp(r->handler, "alone"))
        return DECLINED;
    alone_see("handler");
    apr_pool_cleanup_register(r->pool, "end of the request", alone_cleanup, apr_pool_cleanup_null);
    apr_pool_cleanup_register(r->connection->pool, "end of the connection", alone_cleanup,
                              apr_pool_cleanup_null);
    ap_set_content_type(r, "text/plain");
    if (!strcmp(args, "ask"))
        return alone_ask(r);
    if (!strncmp(args, "hold=", 5))
        while (access(args + 5, F_OK))
            usleep(2000);
    return alone_echo(r);
}

static int alone_request(request_rec *r)
{
    alone_see("a hook of the request");
    return DECLINED;
}

static int alone_connection(conn_rec *c, void *csd)
{
    alone_see("pre_connection");
    return DECLINED;
}

/* With -D NO_THREADS: as PHP does it. */
static int alone_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    int threads = AP_MPMQ_NOT_SUPPORTED;

    if (!ap_exists_config_define("NO_THREADS"))
        return OK;
    ap_mpm_query(AP_MPMQ_IS_THREADED, &threads);
    return threads == AP_MPMQ_NOT_SUPPORTED ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

static void alone_register(apr_pool_t *p)
{
    ap_hook_pre_config(alone_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(alone_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_stopping(alone_child_stopping, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_connection(alone_connection, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(alone_request, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(alone_request, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(alone_request, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(alone_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA alone_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, alone_register, AP_MODULE_FLAG_NONE};
