/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of the daemon, and of the DNS server beside it. */
#include "md_daemon.h"
#include "md_demand.h"
#include "md_dns.h"
#include "md_shared.h"
#include "md_staple.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(md);

/* a daemon that dies sooner is not started again at once */
#define STARTER_SOON_US (10 * APR_USEC_PER_SEC)

typedef struct md_starter {
    int which; /* STARTER_* */
    apr_pool_t *pool;
    const md_store *store;
    int control[2]; /* of the supervisor, of the daemon */
    pid_t supervisor;
    apr_proc_t process; /* pid 0: none */
    apr_time_t started;
} md_starter;

enum { STARTER_DAEMON, STARTER_DNS, STARTERS };

static const char *const starter_names[] = {"the daemon of managed domains",
                                            "the DNS server of MDDnsResponder"};
static md_starter *starters[STARTERS];

static void starter_told(int reason, void *data, apr_wait_t status);

static void starter_close(md_starter *c, int end)
{
    BRG_ASSERT(end == 0 || end == 1);
    if (c->control[end] >= 0)
        close(c->control[end]);
    c->control[end] = -1;
}

/* The daemon alone writes files that others read. */
static void starter_hand(const md_starter *c, int on)
{
    if (c->which != STARTER_DAEMON)
        return;
    md_shared_hand(on);
    md_staple_hand(on);
    md_demand_hand(on);
}

static apr_status_t starter_spawn(md_starter *c, server_rec *s)
{
    apr_status_t rv = APR_SUCCESS;
    pid_t pid;

    BRG_ASSERT(!c->process.pid && c->control[0] < 0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, c->control))
        return errno;
    starter_hand(c, 1);
    pid = fork();
    if (pid < 0)
        rv = errno;
    if (!pid) {
        close(c->control[0]);
        if (c->which == STARTER_DNS)
            md_dns_run(s, c->control[1], c->supervisor);
        md_daemon_run(s, c->store, c->control[1], c->supervisor);
    }
    starter_hand(c, 0);
    starter_close(c, 1);
    c->started = brg_monotonic_now();
    if (rv) {
        starter_close(c, 0);
        return rv;
    }
    c->process = (apr_proc_t){.pid = pid};
    apr_proc_other_child_register(&c->process, starter_told, c, NULL, c->pool);
    return APR_SUCCESS;
}

static void starter_told(int reason, void *data, apr_wait_t status)
{
    md_starter *c = data;

    if (reason != APR_OC_REASON_DEATH && reason != APR_OC_REASON_LOST)
        return;
    apr_proc_other_child_unregister(c);
    c->process.pid = 0;
    starter_close(c, 0);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                 "%s died (status %d); another one is started", starter_names[c->which], status);
}

static apr_status_t starter_end(void *data)
{
    md_starter *c = data;

    if (starters[c->which] == c)
        starters[c->which] = NULL;
    starter_close(c, 0);
    if (getpid() != c->supervisor || !c->process.pid)
        return APR_SUCCESS;
    apr_proc_other_child_unregister(c);
    kill(c->process.pid, SIGTERM);
    return APR_SUCCESS;
}

static apr_status_t starter_begin(int which, server_rec *s, const md_store *store,
                                  apr_pool_t *pconf)
{
    md_starter *c = apr_pcalloc(pconf, sizeof *c);
    apr_status_t rv;

    BRG_ASSERT(!starters[which]);
    *c = (md_starter){
        .which = which, .pool = pconf, .store = store, .supervisor = getpid(), .control = {-1, -1}};
    apr_pool_pre_cleanup_register(pconf, c, starter_end);
    starters[which] = c;
    rv = starter_spawn(c, s);
    if (rv)
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s, "%s cannot be started", starter_names[which]);
    return rv;
}

apr_status_t md_daemon_start(server_rec *s, const md_store *store, apr_pool_t *pconf)
{
    const apr_status_t rv = starter_begin(STARTER_DAEMON, s, store, pconf);

    return rv == APR_SUCCESS && md_dns ? starter_begin(STARTER_DNS, s, store, pconf) : rv;
}

void md_daemon_look(server_rec *s)
{
    for (int i = 0; i < STARTERS; i++) {
        md_starter *c = starters[i];

        if (c && c->supervisor == getpid() && !c->process.pid &&
            brg_monotonic_now() - c->started > STARTER_SOON_US)
            starter_spawn(c, s);
    }
}

void md_daemon_leave(void)
{
    for (int i = 0; i < STARTERS; i++)
        if (starters[i] && starters[i]->supervisor != getpid())
            starter_close(starters[i], 0);
}
