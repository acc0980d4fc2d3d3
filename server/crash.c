/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatal signals. The handler may run with the heap, locks and stdio in any state, so it writes with
 * nothing but write(2) from a buffer of its own, and then lets the signal have its default effect
 * (a core file in CoreDumpDirectory, where one is configured). The supervisor sees the death and
 * starts another process.
 */
#include "crash.h"

#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define CRASH_LINE_BYTES 1024

static _Thread_local const char *crash_line, *crash_host;

void crash_serving(const char *line, const char *host)
{
    crash_line = line;
    crash_host = host;
}

/* ---- a line without any library ---- */

typedef struct crash_text {
    char buf[CRASH_LINE_BYTES];
    size_t n;
} crash_text;

static void crash_put(crash_text *t, const char *s)
{
    for (; s && *s && t->n < sizeof t->buf - 1; s++)
        t->buf[t->n++] = *s >= 0x20 && *s < 0x7f ? *s : '?';
}

static void crash_put_number(crash_text *t, unsigned long value)
{
    char digits[24];
    size_t i = sizeof digits - 1;

    digits[i] = '\0';
    do
        digits[--i] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    crash_put(t, digits + i);
}

static const char *crash_signal_name(int sig)
{
    switch (sig) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGABRT:
        return "SIGABRT";
    case SIGILL:
        return "SIGILL";
    case SIGFPE:
        return "SIGFPE";
    default:
        return "signal";
    }
}

static void crash_report(int sig)
{
    crash_text t = {.n = 0};

    crash_put(&t, "[core:crit] [pid ");
    crash_put_number(&t, (unsigned long)getpid());
    crash_put(&t, ":tid ");
    crash_put_number(&t, (unsigned long)gettid());
    crash_put(&t, "] fatal signal ");
    crash_put(&t, crash_signal_name(sig));
    if (crash_line) {
        crash_put(&t, " while serving \"");
        crash_put(&t, crash_line);
        crash_put(&t, "\"");
    }
    if (crash_host) {
        crash_put(&t, " for ");
        crash_put(&t, crash_host);
    }
    t.buf[t.n++] = '\n';
    if (write(STDERR_FILENO, t.buf, t.n) < 0)
        return;
}

static void crash_handler(int sig)
{
    crash_report(sig);
    if (ap_coredumpdir_configured && chdir(ap_coredump_dir) < 0)
        errno = 0; /* then the core file, if any, lands elsewhere */
    /* SA_RESETHAND restored the default action; it strikes when this handler returns. */
    raise(sig);
}

static void crash_install(int sig)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sigemptyset(&sa.sa_mask);
    sa.sa_handler = crash_handler;
    sa.sa_flags = (int)SA_RESETHAND;
    if (sigaction(sig, &sa, NULL) < 0)
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, ap_server_conf, "sigaction(%s)",
                     crash_signal_name(sig));
}

AP_DECLARE(apr_status_t) ap_fatal_signal_setup(server_rec *s, apr_pool_t *in_pconf)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};

    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        crash_install(fatal[i]);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_fatal_signal_child_setup(server_rec *s)
{
    return APR_SUCCESS;
}
