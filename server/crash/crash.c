/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatal signals. When the handler runs, heap, locks and stdio may be in any state. So it uses only
 * write(2), from a buffer of its own, and then lets the signal have its default effect (a core file in
 * CoreDumpDirectory, where one is configured). The supervisor starts another process.
 */
#include "crash.h"
#include "brigade/assert.h"
#include "brigade/client_mask.h"
#include "conf_position.h"
#include "crash_private.h"
#include "log_said.h"

#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

_Thread_local const request_rec *crash_request;
_Thread_local int crash_socket = -1;

void crash_stack_begin(void *stack, stack_t *old)
{
    stack_t ours = {.ss_sp = stack, .ss_size = CRASH_STACK_BYTES};

    BRG_ASSERT(stack != NULL && old != NULL);
    /* A sanitizer has put one there already. */
    if (sigaltstack(NULL, old) == 0 && old->ss_flags & SS_DISABLE)
        sigaltstack(&ours, NULL);
    else
        old->ss_flags = SS_ONSTACK;
}

void crash_stack_end(const stack_t *old)
{
    BRG_ASSERT(old->ss_flags == SS_ONSTACK || (old->ss_flags & SS_DISABLE));
    if (old->ss_flags & SS_DISABLE)
        sigaltstack(old, NULL);
}

/* ---- a line without any library ---- */

void crash_put(crash_text *t, const char *s)
{
    for (; s && *s && t->n < sizeof t->buf - 1; s++)
        t->buf[t->n++] = *s >= 0x20 && *s < 0x7f ? *s : '?';
}

void crash_put_number(crash_text *t, unsigned long value)
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

static void crash_put_hex(crash_text *t, size_t value)
{
    char digits[24];
    size_t i = sizeof digits - 1;

    digits[i] = '\0';
    do
        digits[--i] = "0123456789abcdef"[value % 16];
    while ((value /= 16) != 0);
    crash_put(t, "0x");
    crash_put(t, digits + i);
}

void crash_begin(crash_text *t)
{
    t->n = 0;
    crash_put(t, "[core:crit] [pid ");
    crash_put_number(t, (unsigned long)getpid());
    crash_put(t, ":tid ");
    crash_put_number(t, (unsigned long)gettid());
    crash_put(t, "] ");
}

void crash_end(crash_text *t)
{
    t->buf[t->n++] = '\n';
    if (write(STDERR_FILENO, t->buf, t->n) < 0)
        return;
}

static void crash_put_directive(crash_text *t)
{
    const conf_position site = conf_position_now();

    if (!site.file)
        return;
    crash_put(t, " in the directive ");
    crash_put(t, site.directive);
    crash_put(t, " on line ");
    crash_put_number(t, (unsigned long)site.line);
    crash_put(t, " of ");
    crash_put(t, site.file);
}

void crash_put_serving(crash_text *t)
{
    const request_rec *r = crash_request;

    if (r && r->connection) {
        crash_put(t, " on connection ");
        crash_put_number(t, (unsigned long)r->connection->id);
        if (!brg_client_mask_of_logs()) {
            crash_put(t, " from ");
            crash_put(t, r->connection->client_ip);
        }
    } else if (crash_socket >= 0) {
        crash_put(t, " on the connection of socket ");
        crash_put_number(t, (unsigned long)crash_socket);
    }
    if (r && r->the_request) {
        crash_put(t, " while serving \"");
        crash_put(t, r->the_request);
        crash_put(t, "\"");
    }
    if (r && r->hostname) {
        crash_put(t, " for ");
        crash_put(t, r->hostname);
    }
    if (r && r->handler) {
        crash_put(t, ", handler ");
        crash_put(t, r->handler);
    }
}

static void crash_tell_request(int sig)
{
    crash_text t;

    crash_begin(&t);
    crash_put(&t, "fatal signal ");
    crash_put(&t, crash_signal_name(sig));
    crash_put_directive(&t);
    crash_put_serving(&t);
    crash_end(&t);
}

void crash_put_site(crash_text *t, const char *verb, const crash_site *site)
{
    crash_put(t, verb);
    crash_put(t, site->module ? " in module " : " in the server");
    crash_put(t, site->module);
    if (site->called) {
        crash_put(t, ", called from ");
        crash_put(t, site->called);
    }
    if (site->filter) {
        crash_put(t, site->is_input ? ", input filter " : ", output filter ");
        crash_put(t, site->filter);
    } else if (site->hook) {
        crash_put(t, ", hook ");
        crash_put(t, site->hook);
    }
    crash_put(t, site->file ? ", at " : ", at no code: ");
    crash_put(t, site->file && !*site->file ? "the program" : site->file);
    crash_put(t, site->file ? "+" : "");
    crash_put_hex(t, site->offset);
}

static void crash_tell_site(void *context)
{
    crash_site site;
    crash_text t;

    crash_where(context, &site);
    crash_begin(&t);
    crash_put_site(&t, "crashed", &site);
    crash_end(&t);
}

static void (*crash_last_act)(void);

void crash_last_resort(void (*act)(void))
{
    crash_last_act = act;
}

/* It may wait for a lock that the crash left taken. */
static void crash_act(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(CRASH_LAST_SECONDS);
    crash_last_act();
}

/* The first thread that crashes reports; then the process ends. Its data may be damaged: a fault in
 * one step calls this again, and the next step is taken. No assertion stands here and below: a
 * failed one is such a fault. */
static void crash_handler(int sig, siginfo_t *info, void *context)
{
    static _Atomic pid_t thread;
    static volatile int step;
    static int first_sig;
    static void *first_context;
    pid_t none = 0, self = gettid();

    crash_look_failed();
    if (!atomic_compare_exchange_strong(&thread, &none, self) && none != self)
        for (;;)
            pause();
    if (step == 0) {
        first_sig = sig;
        first_context = context;
        step = 1;
        log_said_write();
        crash_tell_request(first_sig);
    }
    if (step == 1) {
        step = 2;
        crash_tell_site(first_context);
    }
    if (step == 2 && crash_last_act) {
        step = 3;
        crash_act();
    }
    if (ap_coredumpdir_configured && chdir(ap_coredump_dir) < 0)
        errno = 0; /* then the core file, if any, lands elsewhere */
    signal(first_sig, SIG_DFL);
    raise(first_sig);
}

static void crash_install(int sig)
{
    struct sigaction sa;

    BRG_ASSERT(sig > 0 && sig < NSIG);
    memset(&sa, 0, sizeof sa);
    sigemptyset(&sa.sa_mask);
    sa.sa_sigaction = crash_handler;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    if (sigaction(sig, &sa, NULL) < 0)
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, ap_server_conf, "sigaction(%s)",
                     crash_signal_name(sig));
}

AP_DECLARE(apr_status_t) ap_fatal_signal_setup(server_rec *s, apr_pool_t *in_pconf)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};

    static char stack[CRASH_STACK_BYTES];
    stack_t old;

    crash_where_prepare();
    crash_stack_begin(stack, &old);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        crash_install(fatal[i]);
    crash_look_begin();
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_fatal_signal_child_setup(server_rec *s)
{
    return APR_SUCCESS;
}
