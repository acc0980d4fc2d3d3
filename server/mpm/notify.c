/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to systemd, over its socket. */
#include "notify.h"
#include "clock.h"

#include "brigade/assert.h"
#include "brigade/status.h"
#include "http_log.h"
#include "http_main.h"

#include "apr_strings.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define NOTIFY_STATUS_US apr_time_from_sec(10)
#define NOTIFY_BYTES 512

static struct {
    int fd; /* -1: nobody wants to know */
    struct sockaddr_un address;
    socklen_t address_len;
    char *environment[3];            /* NAME=VALUE, in the heap */
    apr_interval_time_t watchdog_us; /* how often to say that the supervisor works; 0 = never */
    apr_time_t watchdog, status;     /* when next; status: 0 before READY */
    int stands; /* no event loop turns: the watchdog is not told that all is well */
} notify = {.fd = -1};

/* ---- the socket ---- */

static int notify_address(const char *name)
{
    size_t len = strlen(name);

    BRG_ASSERT(len > 0);
    if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof notify.address.sun_path)
        return -1;
    notify.address.sun_family = AF_UNIX;
    memcpy(notify.address.sun_path, name, len);
    if (*name == '@')
        notify.address.sun_path[0] = '\0';
    notify.address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return 0;
}

static void notify_open(const char *name)
{
    int error = EAFNOSUPPORT; /* such as vsock: of machines' managers */

    if (notify_address(name) == 0) {
        notify.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        error = errno;
    }
    if (notify.fd < 0)
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, error, NULL,
                     "NOTIFY_SOCKET %s: the service manager is not told of this server's state",
                     name);
}

static void notify_say(const char *text)
{
    BRG_ASSERT(strlen(text) < NOTIFY_BYTES);
    if (notify.fd < 0)
        return;
    if (sendto(notify.fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&notify.address,
               notify.address_len) < 0)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, errno, NULL, "the service manager was not told: %s",
                     text);
}

/* ---- the environment ---- */

/* Microseconds within which the manager wants to hear something; 0: it does not, or not of this process. */
static apr_interval_time_t notify_watchdog(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    apr_int64_t us = usec ? apr_atoi64(usec) : 0;

    if (pid && apr_atoi64(pid) != getpid())
        return 0;
    return us > 0 ? us : 0;
}

static void notify_keep_environment(const char *name)
{
    char usec[64];

    BRG_ASSERT(!notify.environment[0]);
    if (asprintf(&notify.environment[0], "NOTIFY_SOCKET=%s", name) < 0)
        notify.environment[0] = NULL;
    if (!notify.watchdog_us || !notify.environment[0])
        return;
    apr_snprintf(usec, sizeof usec, "WATCHDOG_USEC=%" APR_TIME_T_FMT, 2 * notify.watchdog_us);
    notify.environment[1] = strdup(usec);
}

void notify_begin(void)
{
    const char *name = getenv("NOTIFY_SOCKET");

    BRG_ASSERT(notify.fd < 0);
    if (name && *name)
        notify_open(name);
    if (notify.fd >= 0) {
        notify.watchdog_us = notify_watchdog() / 2;
        notify_keep_environment(name);
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

char *const *notify_environment(void)
{
    return notify.environment;
}

/* ---- messages ---- */

void notify_ready(void)
{
    apr_time_t now = clock_monotonic();
    char text[NOTIFY_BYTES];

    if (notify.fd < 0)
        return;
    apr_snprintf(text, sizeof text, "READY=1\nMAINPID=%" APR_PID_T_FMT "\nSTATUS=Serving requests",
                 getpid());
    notify_say(text);
    notify.status = now + NOTIFY_STATUS_US;
    if (notify.watchdog_us && !notify.watchdog)
        notify.watchdog = now + notify.watchdog_us;
}

void notify_reloading(void)
{
    char text[NOTIFY_BYTES];

    apr_snprintf(text, sizeof text,
                 "RELOADING=1\nMONOTONIC_USEC=%" APR_TIME_T_FMT
                 "\nSTATUS=Reading the configuration",
                 clock_monotonic());
    notify_say(text);
}

void notify_stopping(void)
{
    notify.status = 0;
    notify_say("STOPPING=1\nSTATUS=Finishing requests");
}

void notify_stands(int stands)
{
    if (notify.stands == stands)
        return;
    notify.stands = stands;
    if (notify.fd < 0 || !notify.watchdog)
        return;
    ap_log_error(APLOG_MARK, stands ? APLOG_ALERT : APLOG_NOTICE, 0, ap_server_conf,
                 stands ? "no event loop comes to the end of its turn: the service manager's "
                          "watchdog is not told any more that the server works"
                        : "an event loop turns again: the service manager's watchdog is told so");
    notify_say(stands ? "STATUS=No event loop comes to the end of its turn"
                      : "STATUS=Serving requests");
}

static void notify_status(void)
{
    brg_status_totals totals;
    char text[NOTIFY_BYTES];

    BRG_ASSERT(notify.fd >= 0);
    if (notify.stands || brg_status_sum(&totals))
        return;
    apr_snprintf(text, sizeof text,
                 "STATUS=Requests: %" APR_UINT64_T_FMT ", open connections: %" APR_UINT64_T_FMT
                 ", server processes: %d, configuration: %d",
                 totals.counts.accesses, totals.counts.connections, totals.processes_n,
                 totals.config_generation);
    notify_say(text);
}

void notify_look(void)
{
    apr_time_t now = clock_monotonic();

    BRG_ASSERT(!notify.watchdog || notify.watchdog_us > 0);
    if (notify.watchdog && now >= notify.watchdog) {
        if (!notify.stands)
            notify_say("WATCHDOG=1");
        notify.watchdog = now + notify.watchdog_us;
    }
    if (notify.status && now >= notify.status) {
        notify_status();
        notify.status = now + NOTIFY_STATUS_US;
    }
}

apr_time_t notify_due(void)
{
    if (!notify.watchdog || !notify.status)
        return notify.watchdog + notify.status;
    return notify.watchdog < notify.status ? notify.watchdog : notify.status;
}
