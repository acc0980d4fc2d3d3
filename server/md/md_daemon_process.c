/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's process. It keeps three capabilities at most: to write to the store, whoever has it, and to let programs of the
 * administrator run as the user of server processes. */
#include "md_daemon_private.h"
#include "brigade/assert.h"
#include "brigade/log_service.h"
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t daemon_asked;

static void daemon_end(int signal)
{
    daemon_asked = 1;
}

static void daemon_signals(void)
{
    static const int defaults[] = {SIGCHLD, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    static const int ignored[] = {SIGHUP, SIGUSR1, SIGWINCH, SIGUSR2, SIGPIPE};
    sigset_t none;

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        signal(defaults[i], SIG_DFL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = daemon_end}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = daemon_end}, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int daemon_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void daemon_close_others(int *keep, int n)
{
    int from = STDERR_FILENO + 1;

    qsort(keep, (size_t)n, sizeof *keep, daemon_compare);
    for (int i = 0; i < n; i++) {
        if (keep[i] > from)
            close_range((unsigned)from, (unsigned)keep[i] - 1, 0);
        if (keep[i] >= from)
            from = keep[i] + 1;
    }
    close_range((unsigned)from, INT_MAX, 0);
}

static void daemon_drop_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    const unsigned keep = 1u << CAP_DAC_OVERRIDE | 1u << CAP_SETUID | 1u << CAP_SETGID;

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, data))
        return;
    data[0].effective = data[0].permitted = data[0].permitted & keep;
    data[1].effective = data[1].permitted = 0;
    data[0].inheritable = data[1].inheritable = 0;
    syscall(SYS_capset, &head, data);
}

int daemon_is_asked(void)
{
    return daemon_asked;
}

void daemon_become(const md_daemon *d)
{
    int keep[] = {d->control, brg_error_log_descriptor(d->s), md_demand_socket()};

    daemon_signals();
    prctl(PR_SET_NAME, "brigade-md");
    daemon_close_others(keep, (int)(sizeof keep / sizeof *keep));
    daemon_drop_capabilities();
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}
