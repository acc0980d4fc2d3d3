/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread is that does not come to an end: another thread, or the supervisor, asks it by a signal, and it writes the
 * answer itself. So a request pays nothing for it.
 *
 * The signal is SIGURG: a process without the handler, such as a program that was just started, ignores it.
 */
#include "crash_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_main.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define LOOK_SIGNAL SIGURG
#define LOOK_WORKER 1u
#define LOOK_INDEX_SHIFT 1
#define LOOK_SECONDS_SHIFT 32

static _Thread_local sigjmp_buf *look_back;

void crash_look_failed(void)
{
    if (look_back)
        siglongjmp(*look_back, 1);
}

static void look_tell(uint64_t asked, void *context)
{
    crash_site site;
    crash_text t;

    crash_begin(&t);
    crash_put(&t, asked & LOOK_WORKER ? "worker thread " : "event loop ");
    crash_put_number(&t, (uint32_t)asked >> LOOK_INDEX_SHIFT);
    crash_put(&t, ", after ");
    crash_put_number(&t, asked >> LOOK_SECONDS_SHIFT);
    crash_put(&t, asked & LOOK_WORKER ? " s of processor time" : " s in one turn");
    crash_put_serving(&t);
    crash_where(context, &site);
    crash_put(&t, ": ");
    crash_put_site(&t, "it is", &site);
    crash_end(&t);
}

/* A stack that cannot be read ends the look, not the process: the thread may be well. */
static void look_handler(int sig, siginfo_t *info, void *context)
{
    const int error = errno;
    sigjmp_buf back;

    if (info->si_code != SI_QUEUE || look_back)
        return;
    if (!sigsetjmp(back, 1)) {
        look_back = &back;
        look_tell((uintptr_t)info->si_value.sival_ptr, context);
    }
    look_back = NULL;
    errno = error;
}

void crash_look_begin(void)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sigemptyset(&sa.sa_mask);
    sa.sa_sigaction = look_handler;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    if (sigaction(LOOK_SIGNAL, &sa, NULL) < 0)
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, ap_server_conf, "sigaction(SIGURG)");
}

int crash_look_ask(pid_t pid, pid_t thread, int is_worker, unsigned index, unsigned seconds)
{
    siginfo_t info;

    BRG_ASSERT(pid > 0);
    memset(&info, 0, sizeof info);
    info.si_signo = LOOK_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr =
        (void *)(uintptr_t)((uint64_t)seconds << LOOK_SECONDS_SHIFT |
                            (uint64_t)index << LOOK_INDEX_SHIFT | (is_worker ? LOOK_WORKER : 0));
    return (int)syscall(SYS_rt_tgsigqueueinfo, pid, thread, LOOK_SIGNAL, &info);
}
