/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of this process and thread, asked for once: a line of the log is no reason for two system calls. */
#include "log_private.h"
#include <pthread.h>
#include <unistd.h>

static pid_t process_id; /* 0: not asked since the process began */
static __thread pid_t thread_id;

static void process_begins(void)
{
    process_id = 0;
    thread_id = 0;
}

static void process_watch_forks(void)
{
    pthread_atfork(NULL, NULL, process_begins);
}

pid_t log_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pid_t id = __atomic_load_n(&process_id, __ATOMIC_RELAXED);

    if (id)
        return id;
    pthread_once(&once, process_watch_forks);
    id = getpid();
    __atomic_store_n(&process_id, id, __ATOMIC_RELAXED);
    return id;
}

pid_t log_thread(void)
{
    if (!thread_id) {
        (void)log_process(); /* has forks watched */
        thread_id = gettid();
    }
    return thread_id;
}
