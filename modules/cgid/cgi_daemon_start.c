/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of the daemon. Both ends of the socket stay open here: requests wait in it while another daemon is
 * started. When the configuration goes, both are closed; the daemon then lives as long as server processes have the socket.
 */
#include "cgi_daemon.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <errno.h>
#include <unistd.h>
#include <sys/socket.h>

extern module cgid_module;
APLOG_USE_MODULE(cgid);

/* a daemon that dies sooner is not started again at once */
#define STARTER_SOON_US APR_USEC_PER_SEC

typedef struct cgi_starter {
    apr_pool_t *pool;
    int sockets[2]; /* of server processes, of the daemon */
    pid_t supervisor;
    apr_proc_t process; /* pid 0: none */
    apr_time_t started;
} cgi_starter;

static cgi_starter *starter;

static void starter_told(int reason, void *data, apr_wait_t status);

static void starter_close(cgi_starter *c, int end)
{
    if (c->sockets[end] >= 0)
        close(c->sockets[end]);
    c->sockets[end] = -1;
}

static apr_status_t starter_spawn(cgi_starter *c, server_rec *s)
{
    const pid_t pid = fork();

    if (pid < 0)
        return errno;
    if (!pid) {
        close(c->sockets[0]);
        cgi_daemon_run(s, c->sockets[1], c->supervisor);
    }
    c->process = (apr_proc_t){.pid = pid};
    c->started = brg_monotonic_now();
    apr_proc_other_child_register(&c->process, starter_told, c, NULL, c->pool);
    return APR_SUCCESS;
}

static void starter_again(cgi_starter *c, server_rec *s)
{
    const apr_status_t rv = starter_spawn(c, s);

    if (rv)
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     APLOGNO(01253) "mod_cgid: Couldn't spawn cgid daemon process");
}

static void starter_told(int reason, void *data, apr_wait_t status)
{
    cgi_starter *c = data;

    if (reason != APR_OC_REASON_DEATH && reason != APR_OC_REASON_LOST)
        return;
    apr_proc_other_child_unregister(c);
    c->process.pid = 0;
    ap_log_error(APLOG_MARK, APLOG_CRIT, 0, ap_server_conf,
                 APLOGNO(01239) "cgid daemon process died, restarting");
    if (brg_monotonic_now() - c->started > STARTER_SOON_US)
        starter_again(c, ap_server_conf);
}

static apr_status_t starter_end(void *data)
{
    cgi_starter *c = data;

    if (starter == c)
        starter = NULL;
    starter_close(c, 0);
    starter_close(c, 1);
    if (getpid() == c->supervisor && c->process.pid)
        apr_proc_other_child_unregister(c);
    return APR_SUCCESS;
}

apr_status_t cgi_daemon_start(server_rec *s, apr_pool_t *pconf)
{
    cgi_starter *c = apr_pcalloc(pconf, sizeof *c);
    apr_status_t rv;

    BRG_ASSERT(!starter);
    *c = (cgi_starter){.pool = pconf, .supervisor = getpid(), .sockets = {-1, -1}};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, c->sockets))
        return errno;
    apr_pool_pre_cleanup_register(pconf, c, starter_end);
    starter = c;
    rv = starter_spawn(c, s);
    if (rv)
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     APLOGNO(01253) "mod_cgid: Couldn't spawn cgid daemon process");
    return rv;
}

void cgi_daemon_look(server_rec *s)
{
    if (starter && !starter->process.pid &&
        brg_monotonic_now() - starter->started > STARTER_SOON_US)
        starter_again(starter, s);
}

void cgi_daemon_leave(void)
{
    if (starter && starter->supervisor != getpid())
        starter_close(starter, 1);
}

int cgi_daemon_socket(void)
{
    return starter ? starter->sockets[0] : -1;
}
